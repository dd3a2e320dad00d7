"""Huber's, the squared and the pinball loss: their formulas, optima and bounds against the oracle, and streams."""

import numpy as np
import pytest
from oracles import regression_losses as oracle
from sklearn.kernel_ridge import KernelRidge

from frugalsvm.compiling.crew import ALONE
from frugalsvm.core.kernels import RBF
from frugalsvm.lowrank.backends.compiled import stored_rows
from frugalsvm.lowrank.continuation import solve
from frugalsvm.lowrank.losses import Huber, Pinball, Squared
from frugalsvm.lowrank.losses.compiled import along_lines, differentiate, total_losses
from frugalsvm.lowrank.nystroem import new_nystroem
from frugalsvm.lowrank.options import Options
from frugalsvm.lowrank.problem import Problem, Sample
from frugalsvm.lowrank.subgradient import average_from, learn, new_state, robust_step, solution
from frugalsvm.lowrank.whitening import MatrixWhitening

# The loss of two outputs, and what the oracle calls the parameter of each
LOSSES = {"huber": Huber(0.3), "squared": Squared(), "pinball": Pinball(np.array([0.2, 0.7]))}
PARAMETERS = {"huber": (0.3, 0.3), "squared": (None, None), "pinball": (0.2, 0.7)}
each_loss = pytest.mark.parametrize("name", oracle.NAMES)
N = 400
EDGES = np.array([0, N])


@pytest.fixture
def numbers():
    """Targets and scores of two outputs, and weights."""
    rng = np.random.default_rng(0)
    targets, scores = rng.normal(size=(2, 2, N)).astype(np.float32)
    return targets, scores, (rng.integers(0, 3, N) * 0.7).astype(np.float32)


def expected(function, name, targets, scores):
    pairs = zip(PARAMETERS[name], targets, scores, strict=True)
    return np.array([function(name, parameter, *own) for parameter, *own in pairs], np.float64)


class TestFormulas:
    @each_loss
    def test_values(self, name, numbers):
        targets, scores, weights = numbers
        values = expected(oracle.loss_value, name, targets, scores)
        np.testing.assert_allclose(LOSSES[name].values(np, targets, scores), values, atol=1e-5)
        totals = np.empty((2, 2))
        total_losses(ALONE, LOSSES[name], targets, scores, weights, np.array([0, N // 3, N]), totals)
        np.testing.assert_allclose(totals.sum(axis=0), values @ weights, rtol=1e-5)

    @each_loss
    def test_slopes_without_smoothing(self, name, numbers):
        targets, scores, weights = numbers
        slopes, curvatures = np.empty((2, 2, N), np.float32)
        differentiate(ALONE, LOSSES[name], 1e-4, 0.0, targets, scores, weights, EDGES, slopes, curvatures)
        away = np.abs(targets - scores) > 5e-3  # smoothing shows at the kink
        slope = weights * expected(oracle.slope, name, targets, scores)
        np.testing.assert_allclose(slopes[away], slope[away], atol=1e-5)
        assert (curvatures >= 0).all()

    @each_loss
    @pytest.mark.parametrize("width", [0.5, 0.1])
    def test_slopes_and_curvatures_are_finite_differences(self, name, width, numbers):
        targets, scores, _ = (each.astype(np.float64) for each in numbers)
        loss, h, ones = LOSSES[name], 1e-4, np.ones(N, np.float32)

        def smoothed(step):
            return loss.values(np, targets, scores + step) + loss.smoothing_excess(np, targets, scores + step, width)

        slopes, curvatures = np.empty((2, 2, N), np.float32)
        differentiate(ALONE, loss, width, 0.0, *numbers[:2], ones, EDGES, slopes, curvatures)
        below, at, above = smoothed(-h), smoothed(0.0), smoothed(h)
        bends = np.abs(np.abs(targets - scores) - max(width, 0.3)) < 2 * h  # where Huber's square ends
        np.testing.assert_allclose(slopes, (above - below) / (2 * h), atol=1e-3)
        np.testing.assert_allclose(curvatures[~bends], ((above - 2 * at + below) / h**2)[~bends], atol=0.01)

    @each_loss
    def test_smoothing_lies_above(self, name, numbers):
        excess = LOSSES[name].smoothing_excess(np, *numbers[:2], 0.5)
        assert excess.min() >= -1e-6
        assert excess.max() <= 0.5 * np.log(2)
        assert excess.any() == (name != "squared")

    @each_loss
    def test_along_a_line(self, name, numbers):
        targets, scores, weights = numbers
        changes = np.random.default_rng(1).normal(size=(2, N)).astype(np.float32)
        sums, steps = np.empty((1, 2, 2)), np.array([0.3, 2.0])
        args = targets, scores, changes, weights, steps, np.ones(2, bool), EDGES, sums
        along_lines(ALONE, LOSSES[name], 0.1, *args)
        moved = scores + np.float32(steps[:, None]) * changes
        slopes, curvatures = LOSSES[name].derivatives(np, 0.1, targets, moved)
        np.testing.assert_allclose(sums[0, 0], (slopes * changes) @ weights, rtol=1e-3, atol=0.01)
        np.testing.assert_allclose(sums[0, 1], (curvatures * changes**2) @ weights, rtol=1e-3, atol=0.05)

    @each_loss
    def test_no_dual_value_is_above_the_loss(self, name, numbers):
        """Young's inequality: ``weight loss(f) + dual f`` is nowhere below the conjugate, and at its minimum equal."""
        targets, scores, weights = (each.astype(np.float64) for each in numbers)
        loss = LOSSES[name]
        duals = loss.feasible(np, targets, np.random.default_rng(1).normal(size=(2, N)), weights)
        conjugates = loss.conjugates(np, targets, duals, weights)
        kept = weights > 0
        everywhere = (weights * loss.values(np, targets, scores) + duals * scores)[:, kept]
        assert (everywhere >= conjugates[:, kept] - 1e-7).all()
        places = (targets + step for step in np.linspace(-6, 6, 2001))
        values = [(weights * loss.values(np, targets, at) + duals * at)[:, kept] for at in places]
        np.testing.assert_allclose(np.min(values, axis=0), conjugates[:, kept], atol=0.01)


class Case:
    """Rows of a wave with noise that depends on the row, two outputs, and weights, some of them zero."""

    def __init__(self, n_rows=300, n_landmarks=20):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n_rows, 3)).astype(np.float32)
        y = np.sin(2 * X[:, 0]) + X[:, 1] + (0.2 + 0.3 * np.abs(X[:, 2])) * rng.normal(size=n_rows)
        self.targets = np.tile(y, (2, 1)).astype(np.float32)
        self.weights = rng.integers(0, 4, n_rows).astype(np.float32)
        feature_map = new_nystroem(RBF(0.5), X[:n_landmarks])
        self.rows = stored_rows(feature_map, X, np.arange(n_rows))
        self.whitening = MatrixWhitening(feature_map.whitening)
        self.V = (self.rows.block @ feature_map.whitening).astype(np.float64)

    def problem(self, name, penalty):
        return Problem(self.rows, self.targets, self.weights, LOSSES[name], penalty, self.whitening, True)

    def by_oracle(self, function, name, penalty, *args):
        """What a function of the oracle finds for each output."""
        rows = zip(PARAMETERS[name], self.targets, *args, strict=True)
        return [
            function(self.V, targets, self.weights, *own, penalty, name, parameter) for parameter, targets, *own in rows
        ]


@pytest.fixture(scope="module")
def case():
    return Case()


@each_loss
@pytest.mark.parametrize("C", [0.5, 10.0])
def test_optimum_and_bound(case, name, C):
    penalty = 1 / (C * len(case.V))
    problem = case.problem(name, penalty)
    found = solve(problem, Sample(*problem[:3]), Options(1e-5), np.random.default_rng(0))
    w, b = found.parameters[:, :-1], found.parameters[:, -1]
    np.testing.assert_allclose(found.objectives, case.by_oracle(oracle.objective, name, penalty, w, b), rtol=1e-4)
    optimum = np.array(case.by_oracle(oracle.optimum, name, penalty))
    assert (found.objectives <= optimum * 1.002).all()
    assert (found.bounds <= optimum * (1 + 1e-5)).all()
    assert (found.bounds >= optimum * 0.98).all()


def test_the_oracle_of_squares_is_kernel_ridge_regression(case):
    centred = case.targets[0] - case.targets[0].mean()
    V, ones = case.V - case.V.mean(axis=0), np.ones(len(case.V))
    penalty = 1 / (2 * len(V))
    exact = KernelRidge(alpha=penalty * len(V) / 2, kernel="linear").fit(V, centred)
    value = oracle.objective(V, centred, ones, V.T @ exact.dual_coef_, 0.0, penalty, "squared", None)
    assert oracle.optimum(case.V, case.targets[0], ones, penalty, "squared", None) == pytest.approx(value, rel=1e-6)


def test_as_many_rows_as_the_quantile_says_are_below(case):
    """Exactly, up to the rows that are fitted: the intercept is free."""
    problem = case.problem("pinball", 1 / len(case.V))
    scores = problem.scores(solve(problem, Sample(*problem[:3]), Options(1e-4), np.random.default_rng(0)).parameters)
    below = ((case.targets < scores) * case.weights).sum(axis=1) / case.weights.sum()
    np.testing.assert_allclose(below, [0.2, 0.7], atol=0.03)


@each_loss
def test_subgradient_steps_are_those_of_the_formula(case, name):
    penalty, order = 0.01, np.random.default_rng(0).integers(0, len(case.V), 200)
    rule = robust_step(penalty, 1.0, True, radius=5.0)
    V = case.V.astype(np.float32)
    state = new_state(2, V.shape[1], average_from(1))
    learn(LOSSES[name], rule, V, case.targets, case.weights, order, state)
    weights, intercepts = solution(state)
    for output, parameter in enumerate(PARAMETERS[name]):
        w, b, mean, total = np.zeros(V.shape[1]), 0.0, np.zeros(V.shape[1] + 1), 0.0
        for j, i in enumerate(order[case.weights[order] > 0], start=1):
            eta = rule.numerator / np.sqrt(j)
            g = case.weights[i] * oracle.slope(name, parameter, float(case.targets[output, i]), V[i] @ w + b)
            w = (1 - eta * penalty) * w - eta * g * V[i]
            w *= min(1.0, rule.radius / np.linalg.norm(w))
            b = np.clip(b - eta * g, -rule.intercept_bound, rule.intercept_bound)
            mean, total = mean + eta * np.append(w, b), total + eta
        np.testing.assert_allclose(np.append(weights[output], intercepts[output]), mean / total, rtol=1e-3, atol=1e-4)
