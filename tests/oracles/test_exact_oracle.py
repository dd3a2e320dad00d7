"""Checks of the exact SVM oracles, against LIBSVM, each other and the conditions of optimality."""

import numpy as np
import pytest
from sklearn.svm import SVC

from .bsgd import kernel_matrix
from .exact import Adiabatic, bias, breakpoints, demands, kkt_violation, objective, optimum

# LIBSVM keeps kernel values in single precision: that limits the agreement with it.
LIBSVM = 1e-5


def noisy_problem(n=40, seed=0, noise=0.15):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0.0, 1, -1)
    return X, np.where(rng.random(n) < noise, -y, y)


def twin_problem(n=25, seed=0, C=2.0):
    """Points with random weights, a few of them one-sided; kernel matrix and weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    s_plus, s_minus = rng.integers(0, 4, size=(2, n)).astype(float)
    return X, kernel_matrix(X, X, kernel="rbf", gamma=0.8), s_plus, s_minus, breakpoints(C, s_plus, s_minus)


def svc_on_twins(K, s_plus, s_minus, C):
    """beta and b by LIBSVM, on the 2n weighted examples that the twins stand for."""
    n = len(K)
    weights = np.concatenate([s_plus, s_minus])
    used = np.flatnonzero(weights > 0.0)
    y, points = np.repeat([1, -1], n)[used], used % n
    svc = SVC(C=C, kernel="precomputed", tol=1e-10).fit(K[np.ix_(points, points)], y, sample_weight=weights[used])
    beta = np.zeros(n)
    np.add.at(beta, points[svc.support_], svc.dual_coef_[0])
    return beta, svc.intercept_[0]


def learner(X, y, weights=None, **changes):
    machine = Adiabatic(**({"C": 3.0, "gamma": 0.8} | changes))
    for row, label, weight in zip(X, y, np.ones(len(y)) if weights is None else weights, strict=True):
        machine.learn(row, label, weight)
    return machine


def violation(machine):
    return kkt_violation(machine.gram, machine.beta, machine.b, *machine.ends)


# ----------------------------------------------------------------------------------------------------
# The conditions


@pytest.mark.parametrize(
    ("s_plus", "s_minus", "beta", "least", "largest"),
    [
        (2.0, 0.0, 0.0, 1.0, np.inf),  # a positive example: reserve, margin, error
        (2.0, 0.0, 3.0, 1.0, 1.0),
        (2.0, 0.0, 20.0, -np.inf, 1.0),
        (0.0, 2.0, 0.0, -np.inf, -1.0),  # a negative one
        (0.0, 2.0, -3.0, -1.0, -1.0),
        (0.0, 2.0, -20.0, -1.0, np.inf),
        (2.0, 1.0, -10.0, 1.0, np.inf),  # a twin: lower, kink and upper are -10, 10 and 20
        (2.0, 1.0, 0.0, 1.0, 1.0),
        (2.0, 1.0, 10.0, -1.0, 1.0),
        (2.0, 1.0, 15.0, -1.0, -1.0),
        (2.0, 1.0, 20.0, -np.inf, -1.0),
        (0.0, 0.0, 0.0, -np.inf, np.inf),  # no weight: nothing is asked
    ],
)
def test_what_is_demanded_of_f(s_plus, s_minus, beta, least, largest):
    ends = breakpoints(10.0, [s_plus], [s_minus])
    assert [float(demand[0]) for demand in demands(np.array([beta]), *ends)] == [least, largest]


@pytest.mark.parametrize("seed", range(5))
def test_the_gain_is_that_of_the_best_two_alphas(seed):
    rng = np.random.default_rng(seed)
    _, K, s_plus, s_minus, (lower, kink, upper) = twin_problem(seed=seed)
    beta = rng.uniform(lower, upper)
    alpha_plus = np.where(beta < kink, beta + 2.0 * s_minus, 2.0 * s_plus)  # C = 2
    alpha_minus = alpha_plus - beta
    assert np.all((alpha_minus >= -1e-12) & (alpha_minus <= -lower + 1e-12))
    expected = 0.5 * beta @ K @ beta - np.sum(alpha_plus + alpha_minus)
    np.testing.assert_allclose(objective(K, beta, lower, upper), expected)


def test_perturbed_optima_violate_the_conditions():
    rng = np.random.default_rng(0)
    _, K, _, _, ends = twin_problem()
    lower, _, upper = ends
    beta, b = optimum(K, *ends)
    assert kkt_violation(K, beta, b, *ends) < 1e-10
    assert kkt_violation(K, beta, b + 0.01, *ends) > 0.005
    assert kkt_violation(K, beta, b - 0.01, *ends) > 0.005
    least = objective(K, beta, lower, upper)
    for _ in range(50):
        i, j = rng.choice(len(beta), size=2, replace=False)
        moved = beta.copy()
        step = 0.1 * min(upper[i] - beta[i], beta[j] - lower[j])
        moved[i] += step
        moved[j] -= step
        if step > 1e-6:
            assert objective(K, moved, lower, upper) > least
            assert kkt_violation(K, moved, bias(K, moved, *ends), *ends) > 1e-9
    outside = beta.copy()
    outside[0] = upper[0] + 1.0
    assert kkt_violation(K, outside, b, *ends) >= 1.0


# ----------------------------------------------------------------------------------------------------
# The optimum


@pytest.mark.parametrize("C", [0.05, 2.0, 30.0])
@pytest.mark.parametrize("seed", range(4))
def test_optimum_is_that_of_the_weighted_twins(seed, C):
    _, K, s_plus, s_minus, ends = twin_problem(seed=seed, C=C)
    beta, b = optimum(K, *ends)
    assert kkt_violation(K, beta, b, *ends) < 1e-10
    svc_beta, svc_b = svc_on_twins(K, s_plus, s_minus, C)
    np.testing.assert_allclose(K @ beta, K @ svc_beta, atol=LIBSVM * max(1.0, C))
    assert kkt_violation(K, beta, svc_b, *ends) < LIBSVM * max(1.0, C)  # b itself may not be unique
    assert objective(K, beta, ends[0], ends[2]) <= objective(K, svc_beta, ends[0], ends[2]) + 1e-9


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_optimum_with_duplicates_and_singular_kernels(kernel):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = np.round(2.0 * rng.normal(size=(30, 2))) / 2.0
        K = kernel_matrix(X, X, kernel=kernel, degree=2)
        ends = breakpoints(10.0 ** rng.uniform(-2, 2), *rng.integers(0, 3, size=(2, 30)))
        beta, b = optimum(K, *ends)
        assert kkt_violation(K, beta, b, *ends) < 1e-9


@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_one_class(label):
    _, K, *_ = twin_problem(6)
    beta, b = optimum(K, *breakpoints(1.0, np.full(6, label > 0), np.full(6, label < 0)))
    assert np.all(beta == 0.0)
    assert b == label


def test_bias_without_a_point_on_the_margin_is_in_the_middle():
    K = np.eye(2)
    ends = breakpoints(0.25, [1.0, 0.0], [0.0, 1.0])
    beta, b = optimum(K, *ends)
    np.testing.assert_array_equal(beta, [0.25, -0.25])  # f - b = 0.25, -0.25: b is between -0.75 and 0.75
    assert b == 0.0
    np.testing.assert_allclose(bias(K, beta, *ends), 0.0)
    assert kkt_violation(K, beta, 0.75, *ends) < 1e-12
    assert kkt_violation(K, beta, 0.76, *ends) > 0.005
    assert bias(K[:0, :0], beta[:0], *(end[:0] for end in ends)) == 0.0


# ----------------------------------------------------------------------------------------------------
# Adiabatic learning and unlearning


@pytest.mark.parametrize("C", [0.2, 3.0, 50.0])
@pytest.mark.parametrize("seed", range(3))
def test_learning_keeps_the_conditions_and_ends_in_the_optimum(seed, C):
    X, y = noisy_problem(seed=seed)
    machine = Adiabatic(C=C, gamma=0.8)
    for n, (row, label) in enumerate(zip(X, y, strict=True), start=1):
        machine.learn(row, label)
        assert violation(machine) < 1e-9
        assert sorted([*machine.S, *machine.E, *machine.R]) == list(range(n))
        assert set(np.flatnonzero(machine.alpha == C)) >= machine.E
        assert set(np.flatnonzero(machine.alpha == 0.0)) >= machine.R
    beta, b = optimum(machine.gram, *machine.ends)
    np.testing.assert_allclose(machine.beta, beta, atol=1e-9 * C)
    np.testing.assert_allclose(machine.b, b, atol=1e-9)
    svc = SVC(C=C, gamma=0.8, tol=1e-10).fit(X, y)
    points = np.random.default_rng(9).normal(size=(50, 2))
    np.testing.assert_allclose(machine.decision(points), svc.decision_function(points), atol=LIBSVM * max(1.0, C))


@pytest.mark.parametrize("seed", range(3))
def test_weighted_examples(seed):
    X, y = noisy_problem(seed=seed)
    weights = np.random.default_rng(seed).uniform(0.3, 3.0, size=len(y))
    machine = learner(X, y, weights)
    svc = SVC(C=3.0, gamma=0.8, tol=1e-10).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(machine.decision(X), svc.decision_function(X), atol=3.0 * LIBSVM)


@pytest.mark.parametrize("seed", range(3))
def test_unlearning_is_as_never_learned(seed):
    X, y = noisy_problem(seed=seed)
    machine = learner(X, y)
    stay = list(range(len(y)))
    for c in np.random.default_rng(seed).integers(0, 20, size=20):
        machine.unlearn(int(c))
        stay.pop(int(c))
        assert violation(machine) < 1e-9
    np.testing.assert_array_equal(machine.rows, X[stay])
    fresh = learner(X[stay], y[stay])
    np.testing.assert_allclose(machine.beta, fresh.beta, atol=1e-9)
    np.testing.assert_allclose(machine.b, fresh.b, atol=1e-9)
    svc = SVC(C=3.0, gamma=0.8, tol=1e-10).fit(X[stay], y[stay])
    np.testing.assert_allclose(machine.decision(X), svc.decision_function(X), atol=3.0 * LIBSVM)


def test_unlearning_reverses_learning():
    X, y = noisy_problem(30)
    machine = learner(X[:-1], y[:-1])
    beta, b = machine.beta, machine.b
    machine.learn(X[-1], -y[-1])  # on the wrong side: it has work to do
    assert np.abs(machine.beta[:-1] - beta).max() > 0.01
    machine.unlearn(29)
    np.testing.assert_allclose(machine.beta, beta, atol=1e-10)
    np.testing.assert_allclose(machine.b, b, atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_classes_one_after_the_other_and_down_to_nothing(seed):
    X, y = noisy_problem(25, seed=seed)
    order = np.argsort(y, kind="stable")
    machine = Adiabatic(C=3.0, gamma=0.8)
    for row, label in zip(X[order], y[order], strict=True):
        machine.learn(row, label)
        assert violation(machine) < 1e-9
    np.testing.assert_allclose(machine.decision(X), learner(X, y).decision(X), atol=1e-9)
    while machine.rows:
        machine.unlearn(0)
        assert violation(machine) < 1e-9
    assert not machine.S | machine.E | machine.R
