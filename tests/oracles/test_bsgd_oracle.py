"""Checks of the BSGD oracle itself, against the paper's statements and against direct evaluation."""

from functools import partial

import numpy as np
import pytest

from . import states
from .bsgd import (
    BSGDOracle,
    best_merge,
    kernel_matrix,
    merge_degradation,
    merge_factors,
    merge_minima,
    merge_slope,
)

LEARNERS = ["pegasos", "norma", "perceptron"]
# kernels that each maintenance can be used with
MAINTENANCE_AND_KERNEL = [
    ("removal", "rbf"),
    ("removal", "poly"),
    ("removal", "linear"),
    ("projection", "rbf"),
    ("projection", "poly"),
    ("merging", "rbf"),
]


noisy_problem = partial(states.noisy_problem, n=70, d=3)


def make_oracle(learner, maintenance, *, n_outputs=1, kernel="rbf", budget=8, **changes):
    settings = {"gamma": 0.4, "degree": 2, "coef0": 1.0, "alpha": 0.01, "eta0": 0.5} | changes
    return BSGDOracle(
        learner=learner,
        maintenance=maintenance,
        budget=budget,
        n_outputs=n_outputs,
        kernel=kernel,
        **settings,
    )


def true_squared_norm(oracle, rows, coefficients):
    """||sum_j coefficients_j Phi(rows_j)||^2."""
    gram = kernel_matrix(rows, rows, kernel=oracle.kernel, gamma=oracle.gamma, degree=oracle.degree, coef0=oracle.coef0)
    return np.sum(coefficients * (gram @ coefficients))


def expected_beta(oracle, y, step, weight=1.0):
    beta = np.zeros(oracle.n_outputs)
    if oracle.n_outputs == 1:
        beta[0] = y * step.eta * weight
    else:
        beta[y] = step.eta * weight
        beta[step.rival] = -step.eta * weight
    return beta


# ----------------------------------------------------------------------------------------------------
# The steps


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize(("maintenance", "kernel"), MAINTENANCE_AND_KERNEL)
@pytest.mark.parametrize("learner", LEARNERS)
def test_degradation_is_the_true_norm_of_what_maintenance_changed(learner, maintenance, kernel, n_outputs):
    oracle = make_oracle(learner, maintenance, n_outputs=n_outputs, kernel=kernel)
    rng = np.random.default_rng(1)
    maintained, error_sum = 0, 0.0
    for x, y in zip(*noisy_problem(n_outputs), strict=True):
        rows_before, coef_before = list(oracle.rows), oracle.coef.copy()
        weight = rng.uniform(0.5, 2.0)
        step = oracle.learn_one(x, y, weight)

        # w_t after shrinking and addition, minus w_{t+1}: this is Delta_t
        shrunk = (1.0 - step.eta * oracle.lam) * coef_before
        rows = rows_before + [x] * step.violated + oracle.rows
        added = expected_beta(oracle, y, step, weight)[None, :][: int(step.violated)]
        delta = np.vstack([shrunk, added, -oracle.coef])
        scale = true_squared_norm(oracle, rows, np.abs(delta))
        assert step.degradation == pytest.approx(true_squared_norm(oracle, rows, delta), abs=1e-12 * scale)

        maintained += step.dropped is not None
        error_sum += np.sqrt(step.degradation) / step.eta
        assert len(oracle.rows) <= oracle.budget
        assert len(oracle.rows) == len(oracle.births) == len(oracle.coef) == len(oracle.average_coef)
        assert oracle.squared_norm == pytest.approx(true_squared_norm(oracle, oracle.rows, oracle.coef))
    assert maintained > 10
    assert oracle.gradient_error == pytest.approx(error_sum / oracle.t)


@pytest.mark.parametrize("n_outputs", [1, 4])
def test_unbudgeted_pegasos_is_the_literal_expansion(n_outputs):
    """(3.6) and (3.7), with the product over all later steps written out."""
    lam, gamma = 0.05, 0.4
    X, labels = noisy_problem(n_outputs, n=60)
    oracle = make_oracle("pegasos", "removal", n_outputs=n_outputs, budget=None, alpha=lam, gamma=gamma)
    betas = []
    for t, (x, y) in enumerate(zip(X, labels, strict=True), start=1):
        values = np.zeros(n_outputs)
        for j in range(1, t):
            shrinkage = np.prod([1.0 - 1.0 / k for k in range(j + 1, t)])
            values += betas[j - 1] * shrinkage * np.exp(-gamma * np.sum((X[j - 1] - x) ** 2))
        beta = np.zeros(n_outputs)
        if n_outputs == 1:
            if y * values[0] < 1:
                beta[0] = y / (lam * t)
        else:
            rival = max((i for i in range(n_outputs) if i != y), key=lambda i: values[i])
            if values[y] - values[rival] < 1:
                beta[[y, rival]] = 1 / (lam * t), -1 / (lam * t)
        betas.append(beta)
        np.testing.assert_allclose(oracle.decision(x[None, :]).ravel(), values, rtol=1e-10, atol=1e-10)
        step = oracle.learn_one(x, y)
        assert step.violated == bool(np.any(beta))
    svs = [j for j in range(len(X)) if np.any(betas[j])]
    T = len(X)
    # each factor 1 - 1/k telescopes: beta_j prod = (1 / (lambda j)) (j / T)
    np.testing.assert_allclose(oracle.coef, [betas[j] * (j + 1) / T for j in svs], rtol=1e-10)
    np.testing.assert_array_equal(oracle.rows, X[svs])
    assert oracle.births == [j + 1 for j in svs]


def test_learning_rates_of_table_2():
    assert make_oracle("pegasos", "removal", alpha=0.1).learning_rate(5) == pytest.approx(2.0)
    assert make_oracle("norma", "removal", eta0=3.0).learning_rate(9) == pytest.approx(1.0)
    perceptron = make_oracle("perceptron", "removal", eta0=3.0, alpha=0.1)
    assert perceptron.learning_rate(9) == 3.0
    assert perceptron.lam == 0.0


@pytest.mark.parametrize(("n_outputs", "expected"), [(1, 1.0), (2, np.sqrt(2.0))])
def test_removal_with_pegasos_and_rbf_has_constant_gradient_error(n_outputs, expected):
    """Section 6.1: ||E_t|| = 1 in the binary form; the two-column form has it for each of its columns."""
    oracle = make_oracle("pegasos", "removal", n_outputs=n_outputs)
    maintained = 0
    for x, y in zip(*noisy_problem(n_outputs, n=200), strict=True):
        oldest = int(np.argmin(oracle.births)) if oracle.births else None
        step = oracle.learn_one(x, y)
        if step.dropped is not None:
            maintained += 1
            assert np.sqrt(step.degradation) / step.eta == pytest.approx(expected, rel=1e-12)
            assert step.dropped == oldest  # all are tied in size
    assert maintained > 20
    assert oracle.gradient_error == pytest.approx(expected * maintained / 200)


def test_removal_takes_the_smallest_and_the_last_slot_moves():
    oracle = make_oracle("perceptron", "removal", budget=3, eta0=1.0)
    far_apart = 100.0 * np.arange(5)[:, None]  # so that f = 0 on each newcomer
    for x, weight in zip(far_apart[:3], [3.0, 1.0, 2.0], strict=True):
        assert oracle.learn_one(x, 1, weight).dropped is None
    step = oracle.learn_one(far_apart[3], -1, 4.0)
    assert (step.dropped, step.degradation) == (1, 1.0)
    assert [row[0] for row in oracle.rows] == [0.0, 300.0, 200.0]
    assert oracle.coef[:, 0].tolist() == [3.0, -4.0, 2.0]
    assert oracle.births == [1, 4, 3]
    # a newcomer smaller than all others goes itself, and nothing moves
    assert oracle.learn_one(far_apart[4], 1, 0.5).dropped == 3
    assert oracle.births == [1, 4, 3]


def test_merging_writes_to_the_partner_and_frees_the_slot_of_m():
    oracle = make_oracle("perceptron", "merging", budget=3, eta0=1.0, gamma=1.0)
    for x, y, weight in [(0.0, 1, 0.1), (50.0, 1, 2.0), (0.9, 1, 0.4)]:
        oracle.learn_one([x], y, weight)
    step = oracle.learn_one([100.0], -1, 3.0)
    # slot 0 is the smallest, slot 2 of the same sign is near; then the newcomer moves into slot 0
    assert (step.dropped, step.partner) == (0, 2)
    assert [row[0] for row in oracle.rows] == pytest.approx([100.0, 50.0, 0.9 * (1 - step.h)])
    u, v = merge_factors(step.h, -0.81)
    assert oracle.coef[:, 0].tolist() == pytest.approx([-3.0, 2.0, 0.1 * u + 0.4 * v])
    assert oracle.births == [4, 2, 4]
    assert step.degradation < step.runner_up == pytest.approx(0.01)


def test_binary_merging_takes_the_other_sign_only_if_it_must():
    oracle = make_oracle("perceptron", "merging", budget=2, eta0=1.0, gamma=1.0)
    for x, y in [(0.0, 1), (5.0, -1)]:
        oracle.learn_one([x], y)
    step = oracle.learn_one([0.1], -1)  # next to slot 0, but of the sign of slot 1
    assert (step.dropped, step.partner) == (2, 1)
    alone = make_oracle("perceptron", "merging", budget=1, eta0=1.0, gamma=1.0)
    alone.learn_one([0.0], 1)
    step = alone.learn_one([0.1], -1)
    # opposite signs: the best point of the segment is an end, and of two equal ends the smaller h
    assert (step.dropped, step.partner, step.h) == (1, 0, 0.0)
    assert step.degradation == pytest.approx(-np.expm1(-0.02))


def test_projection_and_merging_prefer_a_newcomer_of_equal_size():
    for maintenance in ("projection", "merging"):
        oracle = make_oracle("pegasos", maintenance, budget=3)
        steps = [oracle.learn_one(x, y) for x, y in zip(*noisy_problem(1, n=12), strict=True)]
        first = next(step for step in steps if step.dropped is not None)
        assert first.dropped == 3  # all sizes are equal at the first maintenance, up to rounding


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_projection_keeps_the_values_on_the_remaining_svs(kernel, n_outputs):
    """What an orthogonal projection loses is orthogonal to what was projected on; for the average too."""
    oracle = make_oracle("norma", "projection", kernel=kernel, n_outputs=n_outputs, average_from=0)
    checked = 0
    for x, y in zip(*noisy_problem(n_outputs), strict=True):
        rows_before, coef_before = list(oracle.rows), oracle.coef.copy()
        average_before = oracle.average_coef.copy()
        step = oracle.learn_one(x, y)
        if step.dropped is None:
            continue
        checked += 1
        full = np.vstack([(1 - step.eta * oracle.lam) * coef_before, expected_beta(oracle, y, step)])
        full_average = np.vstack([average_before, np.zeros(n_outputs)])
        gram = oracle._kernel(oracle.rows, [*rows_before, x])
        values = oracle._gram() @ oracle.coef
        np.testing.assert_allclose(values, gram @ full, rtol=1e-7, atol=1e-7)
        mean_values = gram @ full_average + (values - gram @ full_average) / oracle.t
        np.testing.assert_allclose(oracle._gram() @ oracle.average_coef, mean_values, rtol=1e-7, atol=1e-7)
    assert checked > 10


@pytest.mark.parametrize("budget", [None, 10])
def test_a_newcomer_in_the_span_is_projected_at_once(budget):
    # three dimensions: with the linear kernel a fourth SV is always in the span
    oracle = make_oracle("perceptron", "projection", kernel="linear", budget=budget)
    w = np.zeros(3)
    for x, y in zip(*noisy_problem(1, n=40), strict=True):
        step = oracle.learn_one(x, y)
        if step.violated:
            w += step.eta * y * x
        assert step.dependent == (step.dropped is not None)
        assert step.degradation < 1e-8
        np.testing.assert_allclose(oracle.decision(np.eye(3)), w, atol=1e-9)
    assert len(oracle.rows) == 3
    # a repeated row leaves its SV where it is, whatever the sizes
    repeated = make_oracle("perceptron", "projection", budget=budget, eta0=1.0)
    repeated.learn_one([0.0], 1, 0.25)
    step = repeated.learn_one([0.0], 1, 0.5)
    assert (step.dropped, step.dependent, repeated.births) == (1, True, [1])
    assert repeated.coef[0, 0] == pytest.approx(0.75)


def test_a_newcomer_without_length_is_not_kept_by_projection():
    oracle = make_oracle("perceptron", "projection", kernel="linear")
    step = oracle.learn_one([0.0, 0.0], 1)
    assert (step.violated, step.dropped, step.degradation) == (True, 0, 0.0)
    assert not oracle.rows


@pytest.mark.parametrize("maintenance", ["removal", "projection", "merging"])
@pytest.mark.parametrize("learner", LEARNERS)
def test_radius_is_kept_and_reached(learner, maintenance):
    oracle = make_oracle(learner, maintenance, radius=0.4)
    norms = []
    for x, y in zip(*noisy_problem(1), strict=True):
        oracle.learn_one(x, y)
        norms.append(np.sqrt(oracle.squared_norm))
    assert max(norms) == pytest.approx(0.4, rel=1e-9)


def test_weight_zero_is_skipped_and_weight_two_doubles_the_addition():
    oracle = make_oracle("pegasos", "removal")
    X, labels = noisy_problem(1, n=4)
    assert oracle.learn_one(X[0], labels[0], 0.0).t == 0
    assert (oracle.t, len(oracle.rows)) == (0, 0)
    assert oracle.learn_one(X[1], labels[1], 2.0).t == 1
    assert oracle.coef[0, 0] == pytest.approx(2.0 * labels[1] / 0.01)
    with pytest.raises(ValueError, match="negative"):
        oracle.learn_one(X[2], labels[2], -1.0)


def test_rival_is_the_first_of_equal_maxima():
    oracle = make_oracle("perceptron", "removal", n_outputs=4, eta0=1.0)
    assert oracle.learn_one([0.0], 0).rival == 1
    assert oracle.learn_one([100.0], 2).rival == 0
    np.testing.assert_array_equal(oracle.coef, [[1, -1, 0, 0], [-1, 0, 1, 0]])


# ----------------------------------------------------------------------------------------------------
# Averaging


@pytest.mark.parametrize("learner", LEARNERS)
def test_average_without_maintenance_is_the_mean_of_the_iterates(learner):
    start = 15
    oracle = make_oracle(learner, "removal", budget=None, n_outputs=3, radius=2.0, average_from=start)
    X, labels = noisy_problem(3, n=50)
    with pytest.raises(ValueError, match="averaged"):
        oracle.average_decision(X)
    snapshots = []
    for x, y in zip(X, labels, strict=True):
        oracle.learn_one(x, y)
        snapshots.append(oracle.decision(X))
    np.testing.assert_allclose(oracle.average_decision(X), np.mean(snapshots[start:], axis=0), atol=1e-11)


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("maintenance", ["removal", "merging"])
def test_average_goes_through_the_same_maintenance(maintenance, n_outputs):
    """Every SV keeps its share, a dropped's is dropped, and a merged one gets its best share on z."""
    start = 20
    oracle = make_oracle("norma", maintenance, n_outputs=n_outputs, average_from=start)
    checked = 0
    for x, y in zip(*noisy_problem(n_outputs), strict=True):
        shares = {tuple(row): share.copy() for row, share in zip(oracle.rows, oracle.average_coef, strict=True)}
        rows_before = [*oracle.rows, x]
        step = oracle.learn_one(x, y)
        for row, coef, share in zip(oracle.rows, oracle.coef, oracle.average_coef, strict=True):
            before = shares.get(tuple(row), np.zeros(n_outputs))
            if step.partner is not None and tuple(row) not in map(tuple, rows_before):
                pair = [tuple(rows_before[step.dropped]), tuple(rows_before[step.partner])]
                factors = oracle._kernel([row], pair)[0]
                before = sum(
                    factor * shares.get(key, np.zeros(n_outputs)) for factor, key in zip(factors, pair, strict=True)
                )
                checked += 1
            expected = before + (coef - before) / (step.t - start) if step.t > start else np.zeros(n_outputs)
            np.testing.assert_allclose(share, expected, rtol=1e-10, atol=1e-12)
        checked += maintenance == "removal" and step.dropped is not None
    assert checked > 10


# ----------------------------------------------------------------------------------------------------
# The merge point and its degradation


def random_pairs(n, seed=0):
    """A, B, C, L of random coefficient vectors, kappa from almost 1 to far below e^-2."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        a_m = rng.normal(size=3) * 10.0 ** rng.uniform(-1, 1)
        a_n = rng.normal(size=3) * 10.0 ** rng.uniform(-1, 1)
        if rng.random() < 0.4:
            a_n = a_m * rng.uniform(1, 5)
        yield a_m @ a_m, a_n @ a_n, a_m @ a_n, -(10.0 ** rng.uniform(-3, 1.5))


def test_stable_form_of_the_degradation_is_an_identity():
    h = np.linspace(0, 1, 41)
    for A, B, C, L in random_pairs(300):
        u, v = merge_factors(h, L)
        naive = A + B + 2 * C * np.exp(L) - (A * u**2 + 2 * C * u * v + B * v**2)
        np.testing.assert_allclose(merge_degradation(h, A, B, C, L), naive, rtol=0, atol=1e-14 * (A + B))


def test_stable_form_does_not_cancel_for_close_svs():
    """Equal SVs, h = 1/2: 2 (1 - sqrt kappa)^2, about (ln kappa)^2 / 2, far below the rounding of A + B."""
    L = -1e-7
    assert merge_degradation(0.5, 1.0, 1.0, 1.0, L) == pytest.approx(2 * np.expm1(L / 2) ** 2, rel=1e-6)


def test_slope_is_the_derivative():
    h, step = np.linspace(0.01, 0.99, 50), 1e-6
    for A, B, C, L in random_pairs(50):
        difference = merge_degradation(h + step, A, B, C, L) - merge_degradation(h - step, A, B, C, L)
        np.testing.assert_allclose(
            -4 * L * merge_slope(h, A, B, C, L), difference / (2 * step), atol=1e-7 * (A + B) * max(1, L * L)
        )


def test_best_merge_is_no_worse_than_any_point_of_a_dense_grid():
    h = np.linspace(0, 1, 20001)
    for A, B, C, L in random_pairs(300):
        best_h, degradation = best_merge(A, B, C, L)
        on_grid = merge_degradation(h, A, B, C, L)
        assert 0 <= best_h <= 1
        assert degradation <= on_grid.min() + 1e-13 * (A + B)
        assert degradation >= on_grid.min() - 1e-6 * (A + B)


def test_best_merge_point_in_the_known_cases():
    assert best_merge(1.0, 1.0, 1.0, -1.0)[0] == pytest.approx(0.5)  # equal, one mode
    assert best_merge(1.0, 9.0, 3.0, 0.0)[0] == pytest.approx(0.25)  # kappa = 1: a_m / (a_m + a_n)
    assert best_merge(1.0, 1.0, 1.0, -1e4)[0] == 0.0  # no overlap at all
    assert best_merge(0.0, 1.0, 0.0, -0.3) == (0.0, 0.0)  # nothing to lose
    minima = merge_minima(1.0, 1.0, 1.0, -3.0)  # two modes, mirror images
    assert len(minima) == 2
    assert sum(minima) == pytest.approx(1.0)
    for rounding in (-1e-15, 0.0, 1e-15):  # the smaller h also when rounding favours the other
        assert best_merge(1.0 + rounding, 1.0, 1.0 + rounding / 2, -3.0)[0] == pytest.approx(minima[0], abs=1e-9)


def test_negative_cosine_below_minus_kappa_is_projection_on_the_partner():
    for L in -np.geomspace(1e-4, 500.0, 27):
        for cosine in np.linspace(-1.0, -np.exp(L), 7):
            for ratio in [1.0, 1.001, 2.0, 100.0, 1e6]:
                h, degradation = best_merge(1.0, ratio**2, cosine * ratio, L)
                assert h == pytest.approx(0.0, abs=1e-7)
                assert degradation == pytest.approx(-np.expm1(2 * L), rel=1e-12)
