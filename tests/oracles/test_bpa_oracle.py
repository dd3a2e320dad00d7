"""Checks of the oracle of budgeted passive-aggressive learning: the problems it solves, and small examples."""

import numpy as np
import pytest

from .bpa import VARIANTS, BPAOracle, passive_aggressive_step, projection_on, update_without
from .bsgd import kernel_matrix
from .states import (
    FAR_APART,
    N_STATES,
    learn,
    minimise_with_slack,
    noisy_problem,
    random_state,
    set_model,
)


def random_bpa_state(rng):
    """SVs, coefficients, an example with a loss, and C: small ones, so that tau = C happens often."""
    while True:
        rows, alpha, x, y = random_state(rng, n_sv=int(rng.integers(1, 6)), gamma=rng.uniform(0.3, 1.5))
        gamma, C = rng.uniform(0.3, 1.5), np.exp(rng.normal())
        points = np.vstack([rows, x])
        gram = kernel_matrix(points, points, kernel="rbf", gamma=gamma)
        if np.linalg.cond(gram) < 1e4 and y * (gram[-1, :-1] @ alpha) < 0.99:
            return gram, np.append(alpha, 0.0), y, points, gamma, C


def numerical_update(gram, alpha, y, r, support, C):
    """beta and the objective for one r, by quadratic programming."""
    newcomer = len(alpha) - 1
    K, k_r, k_t = gram[np.ix_(support, support)], gram[support, r], gram[support, newcomer]
    margin_without_r = y * (gram[newcomer] @ alpha - alpha[r] * gram[newcomer, r])
    beta, value = minimise_with_slack(K, alpha[r] * k_r, y * k_t, 1.0 - margin_without_r, C)
    return beta, value + 0.5 * alpha[r] ** 2 * gram[r, r]


def support_of(variant, gram, r):
    """V by its definition."""
    newcomer = len(gram) - 1
    others = [j for j in range(newcomer) if j != r]
    if variant == "simple" or not others:
        return [newcomer]
    if variant == "nn":
        return [max(others, key=lambda j: gram[r, j]), newcomer]
    return [*others, newcomer]


@pytest.mark.parametrize("variant", VARIANTS)
def test_bpa_closed_forms_equal_a_numerical_solution(variant):
    """For every r the update and its objective; then the whole step, with the r of the least objective."""
    rng = np.random.default_rng(7)
    clipped = 0
    for _ in range(N_STATES):
        gram, alpha, y, points, gamma, C = random_bpa_state(rng)
        numerical = []
        for r in range(len(alpha) - 1):
            support = support_of(variant, gram, r)
            update = update_without(gram, alpha, y, r, support, C)
            beta, objective = numerical_update(gram, alpha, y, r, support, C)
            np.testing.assert_allclose(update.beta, beta, atol=1e-6)
            assert update.objective == pytest.approx(objective, rel=1e-10, abs=1e-10)
            numerical.append(objective)

        oracle = BPAOracle(variant, C=C, budget=len(alpha) - 1, gamma=gamma)
        step = set_model(oracle, points[:-1], alpha[:-1]).learn_one(points[-1], y)
        assert step.objective == pytest.approx(min(numerical), rel=1e-10, abs=1e-10)
        assert numerical[step.dropped] == pytest.approx(min(numerical), rel=1e-10, abs=1e-10)
        clipped += step.tau == C
    assert 12 < clipped < N_STATES - 12


def test_bpa_general_formulas_are_the_short_ones():
    """beta and tau before it is used that t is in V."""
    rng = np.random.default_rng(8)
    for _ in range(50):
        gram, alpha, y, _, _, C = random_bpa_state(rng)
        newcomer = len(alpha) - 1
        for variant in VARIANTS:
            r = int(rng.integers(newcomer))
            support = support_of(variant, gram, r)
            inverse = np.linalg.inv(gram[np.ix_(support, support)])
            k_r, k_t = gram[support, r], gram[support, newcomer]
            value = gram[newcomer] @ alpha - alpha[r] * gram[r, newcomer] + alpha[r] * k_t @ inverse @ k_r
            tau = min(C, max(0.0, 1.0 - y * value) / (k_t @ inverse @ k_t))
            beta = alpha[r] * inverse @ k_r + tau * y * inverse @ k_t
            np.testing.assert_allclose(update_without(gram, alpha, y, r, support, C).beta, beta, atol=1e-9)


def test_bpa_special_forms():
    """The forms of each variant in the module's header."""
    rng = np.random.default_rng(9)
    for _ in range(50):
        gram, alpha, _, _, _, _ = random_bpa_state(rng)
        t = len(alpha) - 1
        r = int(rng.integers(t))
        d, lost = projection_on(gram, r, [t])
        assert d[0] == pytest.approx(gram[r, t] / gram[t, t])
        assert lost == pytest.approx(gram[r, r] - gram[r, t] ** 2 / gram[t, t])
        inverse = np.linalg.inv(gram)
        others = [j for j in range(t + 1) if j != r]
        d, lost = projection_on(gram, r, others)
        np.testing.assert_allclose(d, -inverse[others, r] / inverse[r, r], atol=1e-9)
        assert lost == pytest.approx(1.0 / inverse[r, r])
        if t > 1:
            n = others[0]
            d, _ = projection_on(gram, r, [n, t])
            D = gram[n, n] * gram[t, t] - gram[n, t] ** 2
            assert d[0] == pytest.approx((gram[t, t] * gram[r, n] - gram[n, t] * gram[r, t]) / D)
            assert d[1] == pytest.approx((gram[n, n] * gram[r, t] - gram[n, t] * gram[r, n]) / D)


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_bpa_steps_along_a_stream(variant, kernel):
    """Objective and value at x_t, from the models before and after."""
    settings = {"kernel": kernel, "gamma": 0.5, "degree": 2, "coef0": 1.0}
    oracle = BPAOracle(variant, C=0.7, budget=5, **settings)
    X, labels = noisy_problem()
    removals = 0
    for x, y in zip(X, labels, strict=True):
        rows, alpha = list(oracle.rows), oracle.coef[:, 0].copy()
        step = oracle.learn_one(x, y)
        assert step.violated == (step.margin < 1.0)
        if not step.violated:
            np.testing.assert_array_equal(oracle.coef[:, 0], alpha)
            continue
        points = np.vstack([*rows, *oracle.rows])
        gram = kernel_matrix(points, points, **settings)
        change = np.append(-alpha, oracle.coef[:, 0])
        after = y * oracle.decision(x)[0]
        k_tt = kernel_matrix(x, x, **settings)[0, 0]
        assert step.tau == passive_aggressive_step(1.0 - step.margin, k_tt, 0.7)
        assert after == pytest.approx(step.margin + step.tau * k_tt, abs=1e-6)
        objective = 0.5 * change @ gram @ change + 0.7 * max(0.0, 1.0 - after)
        assert step.objective == pytest.approx(objective, rel=1e-5, abs=1e-6)
        assert step.runner_up >= step.objective * (1.0 - 1e-9)
        removals += step.dropped is not None
    assert removals > 30


def test_bpa_larger_support_loses_less():
    """The problems are nested: more of V, smaller minimum."""
    rng = np.random.default_rng(10)
    for _ in range(50):
        _, alpha, y, points, gamma, C = random_bpa_state(rng)
        objectives = []
        for variant in VARIANTS:
            oracle = BPAOracle(variant, C=C, budget=len(alpha) - 1, gamma=gamma)
            objectives.append(set_model(oracle, points[:-1], alpha[:-1]).learn_one(points[-1], y).objective)
        assert objectives[0] >= objectives[1] - 1e-12
        assert objectives[1] >= objectives[2] - 1e-12


def test_bpa_with_room_is_passive_aggressive():
    oracle = BPAOracle("simple", C=0.5, budget=10)
    first, second, third = learn(oracle, [[0.0], [0.0], [100.0]], [1, 1, -1])
    assert (first.tau, first.objective) == (0.5, pytest.approx(0.5 * 0.25 + 0.5 * 0.5))
    assert (second.tau, second.objective) == (0.5, pytest.approx(0.125))
    assert third.tau == 0.5
    np.testing.assert_array_equal(oracle.coef[:, 0], [0.5, 0.5, -0.5])
    assert not oracle.learn_one([0.0], 1).violated


def test_bpa_simple_small_example():
    """Far apart, nothing can be projected: the smallest goes."""
    oracle = set_model(BPAOracle("simple", C=1.0, budget=2), FAR_APART[:2], [1.0, -0.5])
    step = oracle.learn_one(FAR_APART[2], 1)
    assert (step.dropped, step.tau, step.degradation) == (1, 1.0, 0.25)
    assert step.objective == pytest.approx(0.5 + 0.125)
    assert step.runner_up == pytest.approx(0.5 + 0.5)
    np.testing.assert_allclose(oracle.coef[:, 0], [1.0, 1.0])


@pytest.mark.parametrize("variant", VARIANTS)
def test_bpa_repeated_example_costs_nothing(variant):
    """x_t is an SV already: its coefficient grows, whatever slot it ends in, and the others stay."""
    oracle = set_model(BPAOracle(variant, C=0.3, budget=3), [[0.0], [1.0], [2.5]], [0.5, -0.4, 0.3])
    before = oracle.decision([[0.0], [1.0], [2.5]])
    step = oracle.learn_one([1.0], -1)
    assert step.degradation == pytest.approx(0.0, abs=1e-12)
    change = -0.3 * kernel_matrix([[0.0], [1.0], [2.5]], [1.0], kernel="rbf")[:, 0]
    np.testing.assert_allclose(oracle.decision([[0.0], [1.0], [2.5]]), before + change, atol=1e-9)
    assert step.dependent == (variant == "projecting")
    assert len(oracle.rows) == 3


def test_bpa_nn_with_a_newcomer_on_the_neighbour():
    """x_t on top of n: V = {n, t} has a singular kernel matrix, and {t} will do."""
    oracle = set_model(BPAOracle("nn", C=1.0, budget=2), [[0.0], [0.5]], [0.2, 0.8])
    # without r = 1 (at x_t itself) nothing is lost; r = 0 has n = 1, on top of x_t
    step = oracle.learn_one([0.5], -1)
    assert step.dropped == 1
    np.testing.assert_allclose(oracle.coef[:, 0], [0.2, 0.8 - 1.0])
    assert step.runner_up == pytest.approx(step.objective + 0.5 * 0.2**2 * (1.0 - np.exp(-0.5)))
