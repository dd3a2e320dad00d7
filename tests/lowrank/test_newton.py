"""The batch solver and its parts: derivatives, rows, landmarks, the Nystroem map, optima and their lower bounds."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.asset import LOSSES as NAMES
from oracles.asset import loss_value
from oracles.low_rank import nystroem_features, objective, optimum
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.svm import SVC, SVR, LinearSVC

from frugalsvm.core.kernels import RBF, Poly
from frugalsvm.lowrank.backends.compiled import (
    BLOCK_ROWS,
    COMPILED,
    CompiledStorage,
    ComputedRows,
    StoredRows,
    stored_rows,
)
from frugalsvm.lowrank.continuation import certified, solve
from frugalsvm.lowrank.duality import lower_bounds
from frugalsvm.lowrank.fourier import new_fourier
from frugalsvm.lowrank.hessian import Hessian, conjugate_gradients
from frugalsvm.lowrank.landmarks import place_landmarks
from frugalsvm.lowrank.losses import EpsilonInsensitive, Hinge, SquaredEpsilonInsensitive, SquaredHinge
from frugalsvm.lowrank.losses.compiled import along_lines, differentiate
from frugalsvm.lowrank.nystroem import bare_nystroem, kernel_rows, new_nystroem, with_whitening
from frugalsvm.lowrank.options import Options
from frugalsvm.lowrank.problem import Problem, Sample, Slopes
from frugalsvm.lowrank.training import Data, new_training
from frugalsvm.lowrank.whitening import MatrixWhitening, NoWhitening

EPSILON = 0.1
LOSSES = {
    "hinge": Hinge(),
    "squared_hinge": SquaredHinge(),
    "epsilon_insensitive": EpsilonInsensitive(EPSILON),
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive(EPSILON),
}
each_loss = pytest.mark.parametrize("loss", NAMES)


def slopes_at(task, scores, smoothing, cut):
    return Slopes(*COMPILED.slopes(task, scores, smoothing, cut))


with_and_without_intercept = pytest.mark.parametrize("intercept", [False, True], ids=["through zero", "intercept"])


class Case:
    """Rows of a noisy wave, and the Nystroem map of the first ones."""

    def __init__(self, loss, n_rows=300, n_landmarks=20, seed=0, *, n_outputs=1, weighted=False):
        rng = np.random.default_rng(seed)
        self.name, self.n_rows = loss, n_rows
        self.X = rng.normal(size=(n_rows, 3)).astype(np.float32)
        waves = np.stack([np.sin(2 * self.X[:, k % 3]) + self.X[:, (k + 1) % 3] for k in range(n_outputs)])
        values = waves + 0.3 * rng.normal(size=waves.shape) + 0.2
        self.targets = (np.where(values > 0, 1, -1) if "hinge" in loss else values).astype(np.float32)
        self.weights = (rng.integers(0, 4, n_rows) if weighted else np.ones(n_rows)).astype(np.float32)
        self.map = new_nystroem(RBF(0.5), self.X[:n_landmarks])
        self.rows = stored_rows(self.map, self.X, np.arange(n_rows))
        self.V = self.rows.block @ self.map.whitening
        self.unit = 1.0 if "hinge" in loss else float(self.targets.std())

    def task(self, C=1.0, intercept=True, **changes):
        penalty = 1.0 / (C * self.n_rows)
        task = Problem(
            self.rows,
            self.targets,
            self.weights,
            LOSSES[self.name],
            penalty,
            MatrixWhitening(self.map.whitening),
            intercept,
        )
        return task._replace(**changes)

    def solve(self, task, tolerance=5e-3):
        sample = Sample(task.rows, task.targets, task.weights)
        return solve(task, sample, Options(tolerance, unit=self.unit), np.random.default_rng(0))

    def objective(self, task, parameters, output=0):
        """By the oracle, in float64."""
        w, b = parameters[output, :-1], parameters[output, -1]
        return objective(self.V, self.targets[output], self.weights, w, b, task.penalty, self.name, EPSILON)

    def optimum(self, task, output=0):
        found = optimum(self.V, self.targets[output], self.weights, task.penalty, self.name, task.intercept, EPSILON)
        assert found.value - found.bound <= 1e-7 * found.value
        return found


class TestOracle:
    """The oracle of the optimum against the solvers that everybody trusts."""

    @pytest.mark.parametrize("weighted", [False, True])
    def test_hinge_is_svc(self, weighted):
        problem = Case("hinge", weighted=weighted)
        task = problem.task(C=2.0)
        exact = SVC(kernel="precomputed", C=2.0, tol=1e-8)
        kept = problem.weights > 0  # libsvm is wrong about precomputed kernels of rows without weight
        V = problem.V[kept]
        exact.fit(V @ V.T, problem.targets[0, kept], sample_weight=problem.weights[kept])
        w = exact.dual_coef_[0] @ V[exact.support_]
        found = problem.objective(task, np.append(w, exact.intercept_)[None])
        assert problem.optimum(task).value == pytest.approx(found, rel=1e-5)

    def test_tube_is_svr(self):
        problem = Case("epsilon_insensitive", weighted=True)
        task = problem.task(C=2.0)
        exact = SVR(kernel="precomputed", C=2.0, epsilon=EPSILON, tol=1e-8)
        kept = problem.weights > 0  # libsvm is wrong about precomputed kernels of rows without weight
        V = problem.V[kept]
        exact.fit(V @ V.T, problem.targets[0, kept], sample_weight=problem.weights[kept])
        w = exact.dual_coef_[0] @ V[exact.support_]
        found = problem.objective(task, np.append(w, exact.intercept_)[None])
        assert problem.optimum(task).value == pytest.approx(found, rel=1e-5)

    @pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
    def test_without_intercept_is_liblinear(self, loss):
        problem = Case(loss, weighted=True)
        task = problem.task(C=0.5, intercept=False)
        exact = LinearSVC(C=0.5, loss=loss, dual=True, fit_intercept=False, tol=1e-8, max_iter=1_000_000)
        exact.fit(problem.V, problem.targets[0], sample_weight=problem.weights)
        found = problem.objective(task, np.append(exact.coef_, 0.0)[None])
        assert problem.optimum(task).value == pytest.approx(found, rel=1e-6)


class TestDerivatives:
    def arrays(self, loss, n=500):
        rng = np.random.default_rng(1)
        scores = rng.normal(size=n) * 1.5
        targets = rng.choice([-1.0, 1.0], n) if "hinge" in loss else rng.normal(size=n)
        return SimpleNamespace(scores=scores, targets=targets, weights=rng.integers(0, 3, n) * 0.7, rng=rng)

    def smoothed(self, loss, a, scores, width):
        """The smoothed losses of all rows in float64."""
        values = LOSSES[loss].values(np, a.targets, scores)
        if loss.startswith("squared"):
            return values
        return values + LOSSES[loss].smoothing_excess(np, a.targets, scores, width)

    def differentiated(self, loss, a, width, cut=0.0):
        n = len(a.scores)
        targets, scores, weights = (x.astype(np.float32) for x in (a.targets, a.scores, a.weights))
        slopes, curvatures = np.empty((2, 1, n), np.float32)
        for rows in ((0, n // 3), (n // 3, n)):
            differentiate(LOSSES[loss], width, cut, targets[None], scores[None], weights, *rows, slopes, curvatures)
        return slopes[0], curvatures[0]

    @each_loss
    def test_values(self, loss):
        a = self.arrays(loss)
        found = LOSSES[loss].values(np, a.targets, a.scores)
        np.testing.assert_allclose(found, loss_value(loss, EPSILON, a.targets, a.scores), rtol=1e-12)

    @each_loss
    @pytest.mark.parametrize("width", [0.5, 0.1, 0.03])
    def test_slopes_and_curvatures_are_finite_differences(self, loss, width):
        a, h = self.arrays(loss), 1e-4
        # a squared loss has no curvature at its kinks, where differences across them mean nothing
        margin = 1 - a.targets * a.scores if "hinge" in loss else np.abs(a.targets - a.scores) - EPSILON
        smooth = (np.abs(margin) > 2 * h) | (not loss.startswith("squared"))
        slopes, curvatures = self.differentiated(loss, a, width)
        below, at, above = (self.smoothed(loss, a, a.scores + step, width) for step in (-h, 0.0, h))
        first, second = (above - below) / (2 * h), (above - 2 * at + below) / h**2
        np.testing.assert_allclose(slopes[smooth], (a.weights * first)[smooth], rtol=1e-3, atol=2e-4)
        np.testing.assert_allclose(curvatures[smooth], (a.weights * second)[smooth], rtol=1e-3, atol=1e-3 / width)

    @each_loss
    def test_smoothing_lies_above_by_at_most_h_log_2(self, loss):
        a, width = self.arrays(loss), 0.2
        excess = LOSSES[loss].smoothing_excess(np, a.targets, a.scores, width)
        if loss.startswith("squared"):  # which needs none
            assert not excess.any()
            return
        assert (excess > 0).all()
        assert (excess <= (1 if "hinge" in loss else 2) * width * np.log(2)).all()

    @pytest.mark.parametrize("loss", ["hinge", "epsilon_insensitive"])
    def test_cut(self, loss):
        a = self.arrays(loss)
        a.weights[:] = 1.0
        slopes, _ = self.differentiated(loss, a, 0.1)
        cut, _ = self.differentiated(loss, a, 0.1, cut=0.1)
        np.testing.assert_array_equal(cut, np.where(np.abs(slopes) > np.float32(0.1), slopes, 0))
        assert 0 < np.count_nonzero(cut) < np.count_nonzero(slopes)

    @each_loss
    @pytest.mark.parametrize("step", [0.0, 0.3, 2.0])
    def test_along_a_line(self, loss, step):
        a, width = self.arrays(loss), 0.1
        changes = a.rng.normal(size=len(a.scores))
        targets, scores, moves = (np.tile(x.astype(np.float32), (2, 1)) for x in (a.targets, a.scores, changes))
        sums, steps, active = np.empty((2, 2)), np.array([step, np.nan]), np.array([True, False])
        weights, n = a.weights.astype(np.float32), len(a.scores)
        along_lines(LOSSES[loss], width, targets, scores, moves, weights, steps, active, 0, n, sums)
        assert not sums[:, 1].any()
        found = tuple(sums[:, 0])
        a.scores = a.scores + step * changes
        slopes, curvatures = (each.astype(np.float64) for each in self.differentiated(loss, a, width))
        assert found == pytest.approx((slopes @ changes, curvatures @ changes**2), rel=1e-4, abs=1e-2)

    @each_loss
    @with_and_without_intercept
    def test_gradient_of_the_objective(self, loss, intercept):
        problem = Case(loss, weighted=True)
        task, width = problem.task(intercept=intercept), 0.2
        parameters = 0.3 * np.random.default_rng(2).normal(size=(1, task.n_features + 1))
        parameters[:, -1] *= intercept
        first = slopes_at(task, task.point_at(parameters).scores, width, 0.0).first

        def value(parameters):
            scores = problem.V @ parameters[0, :-1] + parameters[0, -1]
            a = SimpleNamespace(targets=problem.targets[0].astype(np.float64))
            losses = self.smoothed(loss, a, scores, width)
            return task.penalty / 2 * np.sum(parameters[:, :-1] ** 2) + np.mean(problem.weights * losses)

        found, h = task.gradient(parameters, Slopes(first, None)), 1e-5
        for j in range(task.n_features + intercept):
            step = np.zeros_like(parameters)
            step[0, j] = h
            difference = (value(parameters + step) - value(parameters - step)) / (2 * h)
            assert found[0, j] == pytest.approx(difference, rel=1e-3, abs=1e-4)
        assert intercept or found[0, -1] == 0.0


class TestDirections:
    @with_and_without_intercept
    def test_all_rows_make_the_hessian(self, intercept):
        problem = Case("squared_hinge", weighted=True)
        task = problem.task(intercept=intercept)
        second = np.random.default_rng(0).uniform(0.5, 2.0, size=(1, 300)).astype(np.float32)
        curvature = Hessian(task, second, Options(sample=40), np.random.default_rng(0))
        V = np.column_stack([problem.V, np.full(300, float(intercept))])
        hessian = V.T @ (V * second[0][:, None]) / 300
        hessian[np.arange(V.shape[1] - 1), np.arange(V.shape[1] - 1)] += task.penalty
        vector = np.random.default_rng(1).normal(size=(1, V.shape[1]))
        np.testing.assert_allclose(curvature.times(vector)[0], hessian @ vector[0], rtol=1e-3, atol=1e-4)

    def test_a_sample_has_the_curvature_of_all(self):
        problem = Case("hinge", n_rows=3000)
        second = np.random.default_rng(0).uniform(size=(1, 3000)).astype(np.float32)
        curvature = Hessian(problem.task(), second, Options(sample=20), np.random.default_rng(0))
        assert len(curvature.rows) == 20 * (problem.map.whitening.shape[1] + 1)
        assert curvature.weights.sum() == pytest.approx(second.mean(), rel=1e-5)

    @with_and_without_intercept
    def test_conjugate_gradients_solve_the_system(self, intercept):
        problem = Case("squared_hinge")
        task, rng = problem.task(intercept=intercept), np.random.default_rng(0)
        curvature = Hessian(task, np.ones((1, 300), np.float32), Options(sample=40), rng)
        gradients = rng.normal(size=(1, task.n_features + 1))
        gradients[:, -1] *= intercept
        directions, n_steps = conjugate_gradients(
            np, curvature, curvature.preconditioner(Options(), rng), gradients, 1e-3, 100
        )
        assert n_steps < 30
        residuals = curvature.times(directions) + gradients
        assert np.linalg.norm(residuals) < 0.01 * np.linalg.norm(gradients)

    def test_rows_without_curvature(self):
        task, rng = Case("hinge").task(), np.random.default_rng(0)
        curvature = Hessian(task, np.zeros((1, 300), np.float32), Options(sample=40), rng)
        vector = rng.normal(size=(1, task.n_features + 1))
        expected = np.append(task.penalty * vector[:, :-1], [[0.0]], axis=1)
        np.testing.assert_allclose(curvature.times(vector), expected)
        assert np.isfinite(curvature.preconditioner(Options(), rng).solve(vector)).all()


class TestOptimum:
    @each_loss
    @with_and_without_intercept
    @pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
    @pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
    def test_within_a_third_of_a_percent(self, loss, intercept, weighted, C):
        problem = Case(loss, 1000, 40, weighted=weighted)
        task = problem.task(C, intercept)
        best, found = problem.optimum(task).value, problem.solve(task)
        reached = problem.objective(task, found.parameters)
        assert best * (1 - 1e-6) <= reached <= best * (1 + 3e-3)
        assert found.objectives[0] == pytest.approx(reached, rel=1e-5)
        assert best * 0.98 <= found.bounds[0] <= best * (1 + 1e-5)
        assert intercept or found.parameters[0, -1] == 0.0

    @each_loss
    def test_more_rows(self, loss):
        """There are samples of all three sizes before all rows."""
        problem = Case(loss, 3000, 20, seed=1)
        task = problem.task(10.0)
        best, found = problem.optimum(task).value, problem.solve(task)
        assert best * (1 - 1e-6) <= problem.objective(task, found.parameters) <= best * (1 + 3e-3)

    @pytest.mark.parametrize("loss", ["hinge", "epsilon_insensitive"])
    def test_many_landmarks_and_a_large_C(self, loss):
        """Hard: few rows for each landmark, and little loss to smooth."""
        problem = Case(loss, 1000, 100)
        task = problem.task(1e4)
        best, found = problem.optimum(task).value, problem.solve(task, 1e-3)
        assert best * (1 - 1e-5) <= problem.objective(task, found.parameters) <= best * 1.02

    @settings(max_examples=80, derandomize=True)
    @given(
        loss=st.sampled_from(NAMES),
        log_C=st.floats(-2.0, 4.0),
        intercept=st.booleans(),
        weighted=st.booleans(),
        n_landmarks=st.sampled_from([5, 20, 60]),
        seed=st.integers(0, 5),
    )
    def test_bounds_hold(self, loss, log_C, intercept, weighted, n_landmarks, seed):
        problem = Case(loss, 300, n_landmarks, seed, weighted=weighted)
        task = problem.task(10.0**log_C, intercept)
        best, found = problem.optimum(task).value, problem.solve(task)
        # sums of kernel values in float32, divided by the root of an eigenvalue down to 1e-6
        assert found.bounds[0] <= best * (1 + 2e-4)
        assert problem.objective(task, found.parameters) >= best * (1 - 1e-6)

    @settings(max_examples=60, derandomize=True)
    @given(
        loss=st.sampled_from(NAMES),
        log_C=st.floats(-2.0, 4.0),
        log_size=st.floats(-2.0, 1.0),
        intercept=st.booleans(),
        lopsided=st.booleans(),
        seed=st.integers(0, 1000),
    )
    def test_any_dual_variables_give_a_bound(self, loss, log_C, log_size, intercept, lopsided, seed):
        problem = Case(loss, weighted=True)
        task = problem.task(10.0**log_C, intercept)
        best = problem.optimum(task)
        rng = np.random.default_rng(seed)
        duals = 10.0**log_size * rng.normal(size=(1, 300)) + lopsided
        if seed % 2:  # near the best ones
            scores = problem.V @ best.w + best.b
            duals = -slopes_at(task, scores[None].astype(np.float32), 0.03, 0.0).first + 0.01 * duals
        duals[:, problem.weights == 0] = 0.0
        assert 0.0 <= lower_bounds(task, duals.astype(np.float32))[0] <= best.value * (1 + 1e-4)

    @each_loss
    def test_exact_dual_variables_give_the_optimum(self, loss):
        problem = Case(loss)
        task = problem.task(1.0)
        best = problem.optimum(task)
        w, b = best.w[None], best.b
        width = 1e-4
        scores = (problem.V @ best.w + b)[None].astype(np.float32)
        duals = -slopes_at(task, scores, width, 0.0).first
        assert lower_bounds(task, duals)[0] == pytest.approx(best.value, rel=0.1)
        np.testing.assert_allclose(task.point_at(np.append(w, [[b]], axis=1)).scores, scores, atol=1e-3)

    def test_certified_leaves_the_parameters_alone(self):
        problem = Case("hinge")
        task = problem.task()
        parameters = problem.solve(task).parameters + 0.1
        before = parameters.copy()
        found = certified(task, parameters, Options(), np.random.default_rng(0))
        np.testing.assert_array_equal(parameters, before)
        np.testing.assert_array_equal(found.parameters, before)
        assert found.objectives[0] == pytest.approx(problem.objective(task, before), rel=1e-5)
        assert found.bounds[0] <= problem.optimum(task).value * (1 + 1e-5)

    def test_warm_start(self):
        problem = Case("hinge", 1000, 40)
        first = problem.solve(problem.task(1.0))
        task = problem.task(3.0)
        start = first.parameters.copy()
        found = solve(task, None, Options(), np.random.default_rng(0), start=first.parameters)
        np.testing.assert_array_equal(first.parameters, start)
        assert problem.objective(task, found.parameters) <= problem.optimum(task).value * 1.003

    @each_loss
    def test_outputs_are_solved_as_if_alone(self, loss):
        problem = Case(loss, 1000, 40, n_outputs=3)
        task = problem.task(1.0)
        together = problem.solve(task)
        for o in range(3):
            best = problem.optimum(task, o).value
            assert best * (1 - 1e-6) <= problem.objective(task, together.parameters, o) <= best * (1 + 6e-3)
            assert together.bounds[o] <= best * (1 + 1e-5)
            own = task._replace(targets=np.ascontiguousarray(task.targets[o : o + 1]))
            alone = problem.solve(own)
            difference = problem.V @ (together.parameters[o, :-1] - alone.parameters[0, :-1])
            assert np.abs(difference + together.parameters[o, -1] - alone.parameters[0, -1]).mean() < 0.05

    def test_max_iter_and_watch(self):
        problem = Case("hinge", 1000, 40)
        task, rng = problem.task(10.0), np.random.default_rng(0)
        sample = Sample(task.rows, task.targets, task.weights)
        seen = []
        few = solve(
            task, sample, Options(0.0, max_iter=2), rng, watch=lambda parameters, step: seen.append(parameters.copy())
        )
        assert len(seen) >= 4  # two stages on all rows
        assert few.n_iter <= 2 * (3 + 2 + 4) + 4
        stopped = solve(task, sample, Options(0.0, max_iter=2), rng, watch=lambda parameters, step: True)
        assert stopped.n_iter < few.n_iter

    @with_and_without_intercept
    @pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
    @pytest.mark.parametrize("offset", [3.0, 100.0, 1e4])
    def test_targets_far_from_zero(self, loss, offset, intercept):
        problem = Case(loss)
        problem.targets += np.float32(offset)
        task = problem.task(1.0, intercept)
        best, found = problem.optimum(task).value, problem.solve(task)
        assert problem.objective(task, found.parameters) <= best * 1.02
        assert found.bounds[0] <= best * (1 + 1e-4)


class TestWhitening:
    @each_loss
    def test_whitened_rows_are_the_same_task(self, loss):
        problem = Case(loss, 1000, 40)
        task = problem.task(1.0)
        white = stored_rows(problem.map, problem.X, np.arange(1000), problem.map.whitening)
        np.testing.assert_allclose(white.block, problem.V, atol=2e-3)
        narrow = task._replace(rows=white, whitening=NoWhitening(white.width))
        best = problem.optimum(task).value
        for each in (task, narrow):
            found = problem.solve(each)
            assert problem.objective(task, found.parameters) <= best * (1 + 3e-3)
            assert found.bounds[0] <= best * (1 + 1e-3)

    def test_narrow_maps_are_whitened_at_once(self):
        problem = Case("hinge", 1000, 40)
        data = Data(lambda: iter((problem.X,)), problem.X, problem.targets, problem.weights)
        for rank, narrow in ((13, True), (14, False)):
            feature_map = new_nystroem(RBF(0.5), problem.X[:40], rank=rank)
            training = new_training(
                CompiledStorage(feature_map, 1e9), data, Hinge(), True, 0.0, np.random.default_rng(0)
            )
            assert isinstance(training.problem.whitening, NoWhitening) == narrow
            assert training.problem.rows.width == (rank if narrow else 40)
            task = training.problem._replace(penalty=1e-3)
            found = solve(task, training.sample, Options(), np.random.default_rng(0))
            V = (problem.rows.block @ feature_map.whitening).astype(np.float64)
            best = optimum(V, problem.targets[0], problem.weights, 1e-3, "hinge", True).value
            w, b = found.parameters[0, :-1], found.parameters[0, -1]
            reached = objective(V, problem.targets[0], problem.weights, w, b, 1e-3, "hinge")
            assert best * (1 - 1e-5) <= reached <= best * (1 + 3e-3)

    @pytest.mark.parametrize("memory", [1e9, 1e4], ids=["in memory", "beyond"])
    def test_held_rows_are_not_learned(self, memory):
        problem = Case("hinge", 1000, 20)
        weights = np.arange(1, 1001, dtype=np.float32)  # as names of the rows
        data = Data(lambda: iter((problem.X,)), problem.X, problem.targets, weights)
        training = new_training(
            CompiledStorage(problem.map, memory), data, Hinge(), True, 0.1, np.random.default_rng(0)
        )
        held = set(training.validation.weights)
        assert len(held) == (100 if memory > 1e5 else 15)
        assert not held & set(training.problem.weights)
        assert not held & set(training.sample.weights)
        assert set(training.whole.weights) == set(weights)
        assert len(set(training.problem.weights) - {0}) == 1000 - len(held)
        for part in (training.validation, training.sample):
            places = part.weights.astype(int) - 1
            np.testing.assert_allclose(part.rows.block, problem.rows.block[places], atol=1e-6)
            np.testing.assert_array_equal(part.targets, problem.targets[:, places])


MAPS = {
    "rbf": lambda X: new_nystroem(RBF(0.3), X[:17]),
    "poly": lambda X: new_nystroem(Poly(0.5, 1.0, 2), X[:17]),
    "fourier": lambda X: new_fourier(X.shape[1], 19, 0.3, np.random.default_rng(0), False),
    "structured": lambda X: new_fourier(X.shape[1], 19, 0.3, np.random.default_rng(0), True),
}


class TestRows:
    @pytest.mark.parametrize("kind", MAPS)
    @pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
    @pytest.mark.parametrize("sizes", [(5000,), (1, 4999), (777, 4097, 126)], ids=str)
    @pytest.mark.parametrize("n_outputs", [1, 3])
    def test_computed_rows_are_stored_rows(self, kind, sparse, sizes, n_outputs):
        assert sum(sizes) == 5000 > BLOCK_ROWS
        rng = np.random.default_rng(0)
        X = rng.normal(size=(5000, 4)) * (rng.random((5000, 4)) < 0.6)
        feature_map = MAPS[kind](X)
        parts = np.split(X, np.cumsum(sizes)[:-1])
        blocks = [csr_array(part) for part in parts] if sparse else parts
        stored = stored_rows(feature_map, X, np.arange(5000))
        computed = ComputedRows(feature_map, lambda: iter(blocks), 5000)
        assert (computed.n_rows, computed.width) == (stored.n_rows, stored.width)

        coefficients = rng.normal(size=(n_outputs, stored.width))
        scores = [stored.scores(coefficients), computed.scores(coefficients)]
        scale = np.abs(scores[0]).max()
        np.testing.assert_allclose(scores[0], coefficients @ stored.block.T, atol=1e-5 * scale)
        np.testing.assert_allclose(scores[1], scores[0], atol=1e-5 * scale)

        for share in (0.0, 0.1, 0.9):
            weights = (rng.normal(size=(n_outputs, 5000)) * (rng.random(5000) < share)).astype(np.float32)
            exact = weights.astype(np.float64) @ stored.block.astype(np.float64)
            for rows in (stored, computed):
                np.testing.assert_allclose(rows.gradient(weights), exact, rtol=1e-4, atol=1e-3 * np.abs(X).max())

        for index in (np.array([0, 4095, 4096, 4999]), np.arange(0, 5000, 7), np.array([], int)):
            np.testing.assert_allclose(computed.take(index), stored.take(index), rtol=1e-5, atol=1e-5)
            np.testing.assert_array_equal(stored.take(index), stored.block[index])

    def test_order_and_given_memory(self):
        problem = Case("hinge", 5000, 20)
        order = np.random.default_rng(0).permutation(5000)
        memory = np.empty(5000 * 20 + 5, np.float32)
        rows = stored_rows(problem.map, problem.X, order, out=memory)
        assert np.shares_memory(rows.block, memory)
        np.testing.assert_allclose(rows.block, problem.rows.block[order], atol=1e-6)
        assert not np.shares_memory(stored_rows(problem.map, problem.X, order, out=memory[:10]).block, memory)
        head = rows.subsample(7)
        assert head.n_rows == 7
        np.testing.assert_array_equal(head.block, rows.block[:7])

    def test_solving_on_computed_rows(self):
        problem = Case("hinge", 1000, 20)
        task = problem.task()
        rows = ComputedRows(problem.map, lambda: iter(np.array_split(problem.X, 7)), 1000)
        sample = Sample(StoredRows(problem.rows.block[:400]), task.targets[:, :400], task.weights[:400])
        found = solve(task._replace(rows=rows), sample, Options(), np.random.default_rng(0))
        best = problem.optimum(task).value
        assert best * (1 - 1e-6) <= problem.objective(task, found.parameters) <= best * (1 + 3e-3)


class TestNystroem:
    @pytest.mark.parametrize("kernel", ["rbf", "poly"])
    @pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
    def test_features_are_the_oracles(self, kernel, sparse):
        X = np.random.default_rng(0).normal(size=(600, 3)).astype(np.float32)
        part, exact = {
            "rbf": (RBF(0.5), lambda A, B: rbf_kernel(A, B, gamma=0.5)),
            "poly": (Poly(0.5, 1.0, 2), lambda A, B: polynomial_kernel(A, B, degree=2, gamma=0.5, coef0=1.0)),
        }[kernel]
        feature_map = new_nystroem(part, X[:30], threshold=1e-4)
        raw = kernel_rows(feature_map, csr_array(X) if sparse else X, np.empty((600, 30), np.float32))
        rows64 = X.astype(np.float64)
        np.testing.assert_allclose(raw, exact(rows64, rows64[:30]), rtol=1e-4, atol=1e-5)
        V, exact_V = raw @ feature_map.whitening, nystroem_features(exact, rows64[:30], rows64, 1e-4)
        assert V.shape == exact_V.shape
        # eigenvectors have no sign, inner products have
        np.testing.assert_allclose(V @ V.T, exact_V @ exact_V.T, rtol=1e-3, atol=2e-3)

    def test_inner_products_on_the_landmarks_are_the_kernel(self):
        X = np.random.default_rng(0).normal(size=(40, 5)).astype(np.float32)
        feature_map = new_nystroem(RBF(0.5), X, threshold=0.0)
        assert feature_map.whitening.shape == (40, 40)
        V = kernel_rows(feature_map, X, np.empty((40, 40), np.float32)) @ feature_map.whitening
        np.testing.assert_allclose(V @ V.T, rbf_kernel(X.astype(np.float64), gamma=0.5), atol=1e-4)

    def test_threshold_and_rank(self):
        X = np.random.default_rng(0).normal(size=(50, 2))
        eigenvalues = np.linalg.eigvalsh(rbf_kernel(X, gamma=0.1))
        for threshold in (1e-2, 1e-4, 1e-6):
            kept = eigenvalues[eigenvalues > threshold * eigenvalues[-1]]
            assert 1 < len(kept) < 50
            np.testing.assert_allclose(new_nystroem(RBF(0.1), X, threshold).eigenvalues, kept, rtol=1e-6)
        few = new_nystroem(RBF(0.1), X, 1e-6, rank=5)
        np.testing.assert_allclose(few.eigenvalues, eigenvalues[-5:], rtol=1e-6)
        assert few.whitening.shape == (50, 5)
        assert new_nystroem(RBF(0.1), X, 1e-2, rank=1000).whitening.shape[1] < 50

    def test_many_landmarks(self):
        """By Cholesky's factor where no eigenvalue is small: other features, with the same inner products."""
        X = np.random.default_rng(0).normal(size=(600, 6))
        matrix = rbf_kernel(X, gamma=2.0)
        for threshold, by_factor in ((1e-7, True), (0.1, False)):
            feature_map = new_nystroem(RBF(2.0), X, threshold)
            assert (feature_map.eigenvalues is None) == by_factor
            V = matrix @ feature_map.whitening
            values, vectors = np.linalg.eigh(matrix)
            kept = values > threshold * values[-1]
            assert V.shape[1] == kept.sum()
            exact = (vectors[:, kept] * values[kept]) @ vectors[:, kept].T
            np.testing.assert_allclose(V @ V.T, exact, atol=1e-9)
        bare, coefficients = bare_nystroem(RBF(2.0), X), np.random.default_rng(1).normal(size=(1, 601))
        whole, parameters = with_whitening(bare, coefficients, 1e-7, None)
        back = parameters[:, :-1] @ whole.whitening.T
        np.testing.assert_allclose(back, coefficients[:, :-1], atol=1e-6)

    @pytest.mark.parametrize(("gamma", "is_narrow"), [(0.05, False), (0.01, True)])
    def test_many_landmarks_with_small_eigenvalues(self, gamma, is_narrow):
        """With a little on the diagonal instead of eigenvectors, unless few of these are left: the same values."""
        X = np.random.default_rng(0).normal(size=(700, 6))
        matrix = rbf_kernel(X, gamma=gamma)
        values = np.linalg.eigvalsh(matrix)
        n_kept = int((values > 1e-7 * values[-1]).sum())
        assert 50 < n_kept < 690
        feature_map = new_nystroem(RBF(gamma), X)
        assert feature_map.whitening.shape == (700, n_kept if is_narrow else 700)
        V = matrix @ feature_map.whitening
        np.testing.assert_allclose(V @ V.T, matrix, atol=2e-7 * values[-1])
        bare, coefficients = bare_nystroem(RBF(gamma), X), np.random.default_rng(1).normal(size=(2, 701))
        whole, parameters = with_whitening(bare, coefficients, 1e-7, None)
        scores = (matrix @ whole.whitening) @ parameters[:, :-1].T
        np.testing.assert_allclose(scores, matrix @ coefficients[:, :-1].T, atol=1e-5 * np.abs(scores).max())

    def test_duplicates_share_a_direction(self):
        X = np.random.default_rng(0).normal(size=(6, 3))
        feature_map = new_nystroem(RBF(0.5), np.repeat(X, 4, axis=0))
        assert feature_map.whitening.shape == (24, 6)
        V = kernel_rows(feature_map, X, np.empty((6, 24), np.float32)) @ feature_map.whitening
        np.testing.assert_allclose(V @ V.T, rbf_kernel(X, gamma=0.5), atol=1e-4)

    def test_nothing_to_learn_from(self):
        with pytest.raises(ValueError, match="All kernel values between landmarks are zero"):
            new_nystroem(Poly(1.0, 0.0, 2), np.zeros((3, 2)))


def quantisation_error(rows, centres):
    return np.square(rows[:, None] - centres[None]).sum(axis=2).min(axis=1).mean()


class TestLandmarks:
    @pytest.fixture
    def rows(self):
        rng = np.random.default_rng(0)
        return (rng.normal(size=(400, 2)) * 0.1 + 5 * rng.normal(size=(8, 2))[rng.integers(8, size=400)]).astype(
            np.float32
        )

    def test_uniform_is_the_first_rows(self, rows):
        np.testing.assert_array_equal(place_landmarks("uniform", rows, 10, np.random.default_rng(0)), rows[:10])

    @pytest.mark.parametrize("how", ["uniform", "kmeans++", "kmeans"])
    @pytest.mark.parametrize("n", [20, 30])
    def test_fewer_rows_than_landmarks(self, rows, how, n):
        np.testing.assert_array_equal(place_landmarks(how, rows[:20], n, np.random.default_rng(0)), rows[:20])

    def test_spread_out_rows_are_distinct_rows(self, rows):
        found = place_landmarks("kmeans++", rows, 100, np.random.default_rng(0))
        assert len(np.unique(found, axis=0)) == len(found) == 100
        assert {tuple(row) for row in found} <= {tuple(row) for row in rows}

    def test_each_blob_has_one(self, rows):
        """Eight landmarks in eight blobs that are far apart: few errors, where uniform rows miss some blobs."""
        for seed in range(5):
            rng = np.random.default_rng(seed)
            found = place_landmarks("kmeans++", rows, 8, rng)
            assert quantisation_error(rows, found) < quantisation_error(rows, rows[rng.permutation(400)[:8]])

    def test_means_have_less_error(self, rows):
        for seed in range(5):
            errors = [
                quantisation_error(rows, place_landmarks(how, rows, 20, np.random.default_rng(seed)))
                for how in ("kmeans++", "kmeans")
            ]
            assert errors[1] < 0.9 * errors[0]

    @pytest.mark.parametrize("how", ["kmeans++", "kmeans"])
    def test_duplicates(self, rows, how):
        few = np.random.default_rng(1).permutation(np.repeat(rows[:5], 40, axis=0))
        found = place_landmarks(how, few, 20, np.random.default_rng(0))
        np.testing.assert_allclose(np.unique(found, axis=0), np.unique(rows[:5], axis=0), rtol=1e-6)

    def test_many_rows(self):
        """More than are assigned at a time."""
        rows = np.random.default_rng(0).normal(size=(9000, 2)).astype(np.float32)
        found = place_landmarks("kmeans", rows, 3, np.random.default_rng(0))
        distances = np.square(rows[:, None] - found[None]).sum(axis=2)
        means = np.stack([rows[distances.argmin(axis=1) == k].mean(axis=0) for k in range(3)])
        assert quantisation_error(rows, means) <= quantisation_error(rows, found)
        assert quantisation_error(rows, found) < 1.1 * quantisation_error(rows, means)


@each_loss
def test_objectives_are_the_oracles(loss):
    problem = Case(loss, weighted=True, n_outputs=2)
    task = problem.task()
    parameters = np.random.default_rng(0).normal(size=(2, task.n_features + 1))
    found = task.objectives(task.point_at(parameters))
    np.testing.assert_allclose(found, [problem.objective(task, parameters, o) for o in range(2)], rtol=1e-5)
