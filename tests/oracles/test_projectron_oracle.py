"""Checks of the oracles of Projectron, Projectron++ and SILK: the problems they solve, and small examples."""

import numpy as np
import pytest
from scipy.optimize import minimize

from .bpa import projection_on
from .bsgd import DEPENDENCE, kernel_matrix
from .perceptrons import (
    PerceptronOracle,
    implicit_step,
    margin_error_step,
)
from .states import (
    N_STATES,
    learn,
    minimise_with_slack,
    noisy_problem,
    random_state,
    set_model,
    squared_norm,
    stream,
)


def test_projection_is_the_nearest_point_of_the_span():
    rng = np.random.default_rng(0)
    for _ in range(50):
        rows, alpha, x, _ = random_state(rng)
        oracle = set_model(PerceptronOracle("projectron", 5, gamma=0.5), rows, alpha)
        combination, residual, projected_norm2 = oracle._projection(x)
        all_rows = np.vstack([rows, x])

        def distance2(d, all_rows=all_rows):
            return squared_norm(all_rows, np.append(-d, 1.0), 0.5)

        assert residual**2 == pytest.approx(distance2(combination), abs=1e-12)
        assert projected_norm2 == pytest.approx(squared_norm(rows, combination, 0.5))
        assert residual**2 == pytest.approx(1.0 - projected_norm2)
        numerical = minimize(distance2, np.zeros(5), method="BFGS", options={"gtol": 1e-9})
        assert distance2(combination) <= numerical.fun + 1e-12
        assert distance2(combination) == pytest.approx(numerical.fun, abs=1e-7)


@pytest.mark.parametrize("strategy", ["projectron", "projectron++"])
@pytest.mark.parametrize("threshold", [0.0, 0.1, 0.4, 0.9])
def test_projectron_threshold(strategy, threshold):
    """A mistake is projected up to the threshold, and added beyond."""
    oracle = PerceptronOracle(strategy, None, gamma=0.5, threshold=threshold)
    for _, _, step in stream(oracle, *noisy_problem()):
        if step.violated and step.margin <= 0.0 and step.t > 1:
            assert step.projected == (step.residual <= threshold)
            assert step.added != step.projected
            assert step.tau == 1.0
        if step.margin > 0.0:
            assert not step.added
    gram = oracle._gram()
    for j in range(1, len(gram)):  # each SV was that far from the span of those before
        assert projection_on(gram, j, list(range(j)))[1] > threshold**2


def test_projectron_threshold_buys_sparsity():
    X, labels = noisy_problem(n=300)
    sizes = []
    for threshold in (0.05, 0.2, 0.5):
        oracle = PerceptronOracle("projectron", None, gamma=0.5, threshold=threshold)
        learn(oracle, X, labels)
        sizes.append(len(oracle.rows))
    assert sizes[0] > sizes[1] > sizes[2] > 0


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_projection_changes_values_at_the_svs_as_the_addition_would(n_outputs):
    """<P K(x, .), K(x_j, .)> = K(x, x_j): at the SVs, the projected and the plain update are the same."""
    oracle = PerceptronOracle("projectron", 6, gamma=0.5, n_outputs=n_outputs)
    X, labels = noisy_problem(n_outputs)
    projections = 0
    for x, y in zip(X, labels, strict=True):
        rows = list(oracle.rows)
        before = oracle.decision(rows) if rows else None
        step = oracle.learn_one(x, y)
        if step.projected:
            projections += 1
            k = kernel_matrix(rows, x, kernel="rbf", gamma=0.5)[:, 0]
            change = np.outer(k, oracle._direction(y, step.rival)).reshape(before.shape)
            np.testing.assert_allclose(oracle.decision(rows), before + change, atol=1e-8)
    assert projections > 20


def test_projectron_takes_in_the_first_example_whatever_the_threshold():
    oracle = PerceptronOracle("projectron", 3, threshold=2.0)
    assert oracle.learn_one([0.0], 1).added
    assert oracle.learn_one([50.0], -1).projected


@pytest.mark.parametrize("strategy", ["projectron", "projectron++"])
def test_a_repeated_example_is_projected_on_itself(strategy):
    oracle = set_model(PerceptronOracle(strategy, None), [[0.0], [1.0]], [1, -1])
    step = oracle.learn_one([1.0], 1)
    assert step.projected
    assert step.residual == 0.0
    np.testing.assert_allclose(oracle.coef[:, 0], [1, 0], atol=1e-12)


def test_margin_error_step_is_passive_aggressive_inside_the_span():
    """Without a residual to fear, tau is the step of argmin 0.5 ||h - f||^2 + hinge(h), h in the span."""
    rng = np.random.default_rng(1)
    clipped = 0
    for _ in range(N_STATES):
        rows, alpha, x, y = random_state(rng)
        alpha *= rng.uniform(0.1, 2.0)
        gram = kernel_matrix(rows, rows, kernel="rbf", gamma=0.5)
        k = kernel_matrix(rows, x, kernel="rbf", gamma=0.5)[:, 0]
        y = 1 if k @ alpha >= 0 else -1
        loss = 1.0 - y * (k @ alpha)
        if loss <= 0.0:
            continue
        combination = np.linalg.solve(gram, k)
        tau = margin_error_step(loss, 0.3, k @ combination, np.inf)
        numerical, _ = minimise_with_slack(gram, np.zeros(5), y * k, loss, 1.0)
        np.testing.assert_allclose(tau * y * combination, numerical, atol=1e-6)
        clipped += tau == 1.0
    assert 5 < clipped < N_STATES - 5


def test_margin_error_step_is_the_longest_that_cannot_do_harm():
    """2 tau (l - ||delta|| / threshold) - tau^2 ||P||^2 >= 0, up to the passive-aggressive step."""
    rng = np.random.default_rng(2)
    shortened = 0
    for _ in range(1000):
        loss, residual = rng.uniform(0.0, 1.0, size=2)
        threshold, norm2 = rng.uniform(0.2, 3.0), rng.uniform(0.05, 2.0)
        tau = margin_error_step(loss, residual, norm2, threshold)
        passive_aggressive = min(1.0, loss / norm2)
        progress = loss - residual / threshold
        assert 0.0 <= tau <= passive_aggressive
        assert 2.0 * tau * progress - tau**2 * norm2 >= -1e-12
        if tau < passive_aggressive * (1.0 - 1e-9):
            shortened += tau > 0.0
            longer = tau + 1e-6
            assert 2.0 * longer * progress - longer**2 * norm2 < 0.0
    assert shortened > 50


def test_margin_error_step_at_the_ends_of_the_threshold():
    assert margin_error_step(0.5, 0.1, 2.0, 0.0) == 0.0
    assert margin_error_step(0.5, 0.0, 2.0, 0.0) == 0.25
    assert margin_error_step(0.5, 0.1, 2.0, np.inf) == 0.25
    assert margin_error_step(0.5, 0.1, 0.0, np.inf) == 0.0
    assert margin_error_step(0.5, 0.4, 0.2, 0.8) == 0.0  # l = ||delta|| / threshold: nothing to gain
    assert margin_error_step(0.9, 0.1, 0.5, 0.5) == 1.0


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_projectron2_never_leaves_a_small_competitor(n_outputs):
    """The statement the step is derived from: the distance to any g with ||g|| <= U shrinks, or g has a loss.

    U is 1 / threshold; sqrt(2) times smaller for the stacked feature, whose threshold is as much larger.
    """
    rng = np.random.default_rng(4)
    threshold, gamma = 0.3, 0.5
    oracle = PerceptronOracle("projectron++", None, gamma=gamma, threshold=threshold, n_outputs=n_outputs)
    X, labels = noisy_problem(n_outputs, n=250)
    radius = 1.0 / threshold / (1.0 if n_outputs == 1 else np.sqrt(2.0))
    checked = 0
    for x, y in zip(X, labels, strict=True):
        rows, before = list(oracle.rows), oracle.coef.copy()
        step = oracle.learn_one(x, y)
        if not step.projected or step.margin <= 0.0:
            continue
        checked += 1
        extra = rng.normal(size=(4, 2))
        points = np.vstack([rows, extra, x])
        gram = kernel_matrix(points, points, kernel="rbf", gamma=gamma)
        pad = np.zeros((5, n_outputs))
        old, new = np.vstack([before, pad]), np.vstack([oracle.coef, pad])
        for _ in range(20):
            g = rng.normal(size=old.shape)
            g *= radius / np.sqrt(np.sum(g * (gram @ g)))
            values = gram[-1] @ g
            margin = y * values[0] if n_outputs == 1 else values[y] - values[step.rival]
            loss = max(0.0, 1.0 - margin)
            gained = np.sum((old - g) * (gram @ (old - g))) - np.sum((new - g) * (gram @ (new - g)))
            assert gained >= -2.0 * step.tau * loss - 1e-8
    assert checked > 10


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_projectron2_margin_error_does_not_overshoot(n_outputs):
    oracle = PerceptronOracle("projectron++", 15, gamma=0.5, n_outputs=n_outputs)
    margin_errors = 0
    for x, y, step in stream(oracle, *noisy_problem(n_outputs)):
        if step.projected and step.margin > 0.0:
            margin_errors += 1
            values = oracle.decision(x)[0]
            after = y * values if n_outputs == 1 else values[y] - values[step.rival]
            n_copies = 1 if n_outputs == 1 else 2
            assert after == pytest.approx(
                step.margin + step.tau * n_copies * (1.0 - step.residual**2), abs=2 * DEPENDENCE
            )
            assert after <= 1.0 + 1e-7
    assert margin_errors > 10


def test_projectron2_without_threshold_waits_until_it_is_full():
    oracle = PerceptronOracle("projectron++", 2)
    first, second, third, fourth = learn(oracle, [[0.0], [0.5], [1.5], [0.5]], [1, 1, -1, 1])
    assert first.added
    assert second.violated
    assert not second.added
    assert not second.projected
    assert third.added
    assert fourth.projected
    assert 0.0 < fourth.margin < 1.0


# ----------------------------------------------------------------------------------------------------
# SILK


@pytest.mark.parametrize("lam", [0.0, 0.01, 2.0])
def test_implicit_step_solves_its_problem(lam):
    """argmin 0.5 ||h - f||^2 + eta (lam/2 ||h||^2 + hinge(h)), over all functions of the SVs and x."""
    rng = np.random.default_rng(6)
    kinds = set()
    for _ in range(N_STATES):
        rows, alpha, x, y = random_state(rng)
        eta = np.exp(rng.normal())
        points, start = np.vstack([rows, x]), np.append(alpha, 0.0)
        gram = kernel_matrix(points, points, kernel="rbf", gamma=0.5)
        margin = y * (gram @ start)[-1]
        shrinkage, tau = implicit_step(margin, 1.0, eta, lam)
        expected = shrinkage * start + tau * y * np.eye(6)[-1]
        numerical, _ = minimise_with_slack((1.0 + eta * lam) * gram, gram @ start, y * gram[-1], 1.0, eta)
        np.testing.assert_allclose(expected, numerical, atol=1e-5)
        kinds.add("none" if tau == 0.0 else "clipped" if tau == shrinkage * eta else "inside")
    assert kinds == {"none", "clipped", "inside"}


def test_silk_small_example():
    oracle = PerceptronOracle("silk", 2, eta=0.5, lam=0.5)
    s = 0.8
    first = oracle.learn_one([0.0], 1)
    assert (first.tau, first.violated) == (pytest.approx(s * 0.5), True)
    second = oracle.learn_one([0.0], 1)  # y f = 0.4: shrunk to 0.32, and 0.4 more is allowed
    assert second.tau == pytest.approx(0.4)
    np.testing.assert_allclose(oracle.coef[:, 0], [0.32, 0.4])
    third = oracle.learn_one([100.0], -1)  # the first coefficient, 0.256, is the smallest
    assert third.dropped == 0
    assert third.score == pytest.approx(0.256)
    np.testing.assert_allclose(oracle.coef[:, 0], [-0.4, 0.32])
    assert oracle.births == [3, 2]


def test_silk_shrinks_without_a_loss_and_drops_a_small_newcomer():
    oracle = set_model(PerceptronOracle("silk", 2, eta=1.0, lam=0.25), [[0.0], [100.0]], [2.0, 3.0])
    quiet = oracle.learn_one([0.0], 1)
    assert not quiet.violated
    np.testing.assert_allclose(oracle.coef[:, 0], [1.6, 2.4])
    # where y f = 1.28 exp(-x^2) = 0.9 after the shrinking: tau = 0.1
    newcomer = [np.sqrt(np.log(1.28 / 0.9))]
    step = oracle.learn_one(newcomer, 1)
    assert (step.tau, step.dropped, step.added) == (pytest.approx(0.1), 2, True)
    np.testing.assert_allclose(oracle.coef[:, 0], [1.28, 1.92])
