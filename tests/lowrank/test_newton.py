"""The batch solver: derivatives, directions, optima and their lower bounds."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from newton_support import EPSILON, LOSSES, Case, each_loss, slopes_at, with_and_without_intercept
from oracles.asset import LOSSES as NAMES
from oracles.asset import loss_value
from sklearn.svm import SVC, SVR, LinearSVC

from frugalsvm.arrays.namespace import HOST
from frugalsvm.compiling.crew import ALONE, Crew
from frugalsvm.lowrank.backends.compiled import COMPILED, Compiled
from frugalsvm.lowrank.continuation import certified, solve
from frugalsvm.lowrank.duality import lower_bounds
from frugalsvm.lowrank.hessian import Hessian, NearMargin, conjugate_gradients
from frugalsvm.lowrank.losses.compiled import along_lines, differentiate
from frugalsvm.lowrank.options import Options
from frugalsvm.lowrank.problem import Sample, Slopes
from frugalsvm.lowrank.whitening import whitening_with


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
        edges = np.array([0, n // 3, n])
        differentiate(ALONE, LOSSES[loss], width, cut, targets[None], scores[None], weights, edges, slopes, curvatures)
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
        parts, steps, active = np.empty((2, 2, 2)), np.array([step, np.nan]), np.array([True, False])
        weights, n = a.weights.astype(np.float32), len(a.scores)
        edges = np.array([0, n // 4, n])
        along_lines(ALONE, LOSSES[loss], width, targets, scores, moves, weights, steps, active, edges, parts)
        sums = parts.sum(axis=0)
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

    @pytest.mark.parametrize("count", [1, 2, 4, 7])
    @pytest.mark.parametrize("shape", [(1, 70_001), (10, 9_001), (3, 7), (2, 1)])
    def test_rows_near_the_margin_are_those_of_whole_arrays(self, shape, count):
        backend = Compiled()
        backend.passes.crew = Crew(count)  # on however few cores
        second = np.random.default_rng(0).random(shape, np.float32) ** 40
        expected, found = NearMargin(HOST, second, 1e-3), backend.near_margin(second, 1e-3)
        np.testing.assert_array_equal(found.index, expected.index)
        some = expected.index[::2]
        weights, single = found.curvatures(some)
        np.testing.assert_allclose(weights, expected.curvatures(some)[0], rtol=1e-12)
        np.testing.assert_array_equal(single, weights.astype(np.float32))
        np.testing.assert_array_equal(weights, COMPILED.near_margin(second, 1e-3).curvatures(some)[0])

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

    @with_and_without_intercept
    @pytest.mark.parametrize("n_outputs", [1, 3])
    @pytest.mark.parametrize("whitened", [False, True])
    def test_compiled_conjugate_gradients_are_the_same(self, whitened, n_outputs, intercept):
        problem = Case("squared_hinge", n_outputs=n_outputs)
        whitening = whitening_with(problem.map.whitening if whitened else None, problem.rows.width)
        task, rng = problem.task(intercept=intercept, whitening=whitening), np.random.default_rng(0)
        second = rng.uniform(size=(n_outputs, 300)).astype(np.float32)
        second[-1, :100] = 0.0
        curvature = Hessian(task, second, Options(), rng)
        gradients = rng.normal(size=(n_outputs, task.n_features + 1))
        gradients[:, -1] *= intercept
        made = SimpleNamespace(made=curvature.preconditioner(Options(), rng))
        for n_steps in (1, 2, 50):
            expected = conjugate_gradients(np, curvature, made.made, gradients, 1e-2, n_steps)
            found = curvature.directions(made, gradients, 1e-2, n_steps)
            assert found[1] == expected[1]
            scale = np.abs(expected[0]).max()
            np.testing.assert_allclose(found[0], expected[0], rtol=1e-3, atol=1e-4 * scale)

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


@each_loss
def test_objectives_are_the_oracles(loss):
    problem = Case(loss, weighted=True, n_outputs=2)
    task = problem.task()
    parameters = np.random.default_rng(0).normal(size=(2, task.n_features + 1))
    found = task.objectives(task.point_at(parameters))
    np.testing.assert_allclose(found, [problem.objective(task, parameters, o) for o in range(2)], rtol=1e-5)
