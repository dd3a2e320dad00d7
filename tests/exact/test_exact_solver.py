"""The exact solver: optimal after every change, and the same whatever came before."""

from dataclasses import dataclass

import numpy as np
import pytest
from oracles.bsgd import kernel_matrix
from oracles.exact import Adiabatic, breakpoints, kkt_violation, objective, optimum
from oracles.exact import bias as oracle_bias
from sklearn.svm import SVC

from frugalsvm.core.kernels import RBF, Poly
from frugalsvm.exact.incremental import REFRESH, change_C, learn, left_out, restored, unlearn
from frugalsvm.exact.kkt import dual_objective, is_pinned, optimal_bias, violation
from frugalsvm.exact.memory import solver_bytes
from frugalsvm.exact.solver import capacity_of, new_solver, saved, solver_of

CACHE = 2**20
OPTIMAL = 1e-7  # violations; the solver leaves 1e-9 alone, and large kernel values are rounded
EQUAL = 1e-6  # decision values
LIBSVM = 3e-6  # times C and the largest kernel value, which it keeps in single precision
KERNELS = {
    # Of degree 1, so that it shares its machine code with the next: the solver knows kernels by their values only.
    "linear": (Poly(1.0, 0.0, 1), {"kernel": "linear"}),
    "poly": (Poly(0.5, 1.0, 3), {"kernel": "poly", "gamma": 0.5, "coef0": 1.0, "degree": 3}),
    "rbf": (RBF(0.7), {"kernel": "rbf", "gamma": 0.7}),
}
NAMES = list(KERNELS)
# For polynomials of a higher degree a few problems prove it.
by_speed = [pytest.param(name, marks=pytest.mark.slow) if name == "poly" else name for name in NAMES]


@dataclass
class Problem:
    """Weighted examples, a kernel and C."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    C: float
    kernel: str = "rbf"

    def __post_init__(self):
        self.engine_kernel, self.parameters = KERNELS[self.kernel]
        self.K = kernel_matrix(self.X, self.X, **self.parameters)

    def __len__(self):
        return len(self.y)

    @property
    def boxes(self):
        return self.C * self.weights

    def ends(self, rows):
        return breakpoints(
            self.C, np.where(self.y > 0, self.weights, 0.0)[rows], np.where(self.y < 0, self.weights, 0.0)[rows]
        )


def random_problem(seed, kernel):
    """Noise, duplicates with equal and with opposite labels, points on a grid, C from 0.01 to 1000, weights."""
    rng = np.random.default_rng(seed)
    n, n_features = int(rng.integers(20, 70)), int(rng.integers(1, 6))
    X = rng.normal(size=(n, n_features))
    if seed % 3 == 0:
        X = np.round(2 * X) / 2
    y = np.where(X[:, 0] * X[:, -1] + 0.3 * rng.normal(size=n) > 0.3, 1, -1)
    y = np.where(rng.random(n) < 0.15, -y, y)
    X[rng.integers(n, size=n // 4)] = X[rng.integers(n, size=n // 4)]
    weights = np.ones(n) if seed % 2 else np.round(rng.uniform(0, 3, n), 1)
    return Problem(X, y, weights, 10.0 ** rng.uniform(-2, 3), kernel)


def clean_problem(seed, kernel="rbf", n=40, C=3.0, weights=None):
    """Without duplicates."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    y = np.where(rng.random(n) < 0.15, -y, y)
    return Problem(X, y, np.ones(n) if weights is None else weights, C, kernel)


class Model:
    """A machine, and which rows of its problem it knows, in which slots."""

    def __init__(self, problem, rows=None, cache=CACHE, **sizes):
        self.problem, self.slots = problem, {}
        self.solver = new_solver(problem.X.shape[1], cache, **sizes)
        if rows is not None:
            self.learn(rows)

    def learn(self, rows):
        rows, p = np.asarray(rows), self.problem
        taken = np.zeros(len(rows), np.int64)
        self.solver = learn(p.engine_kernel, self.solver, p.X[rows], p.y[rows], p.boxes[rows], taken)
        self.slots.update(zip(rows.tolist(), taken.tolist(), strict=True))
        return self

    def unlearn(self, row):
        self.solver = unlearn(self.problem.engine_kernel, self.solver, self.slots.pop(row))

    def change_C(self, C):
        self.solver = change_C(self.problem.engine_kernel, self.solver, C / self.problem.C)
        self.problem.C = C

    @property
    def rows(self):
        return np.array(sorted(self.slots), np.int64)

    @property
    def beta(self):
        return self.solver.state.points.coef[0, [self.slots[row] for row in self.rows]]

    @property
    def bias(self):
        return optimal_bias(self.solver.state)

    def values(self):
        """f of all rows of the problem, known or not."""
        return self.problem.K[:, self.rows] @ self.beta + self.bias

    def violation(self):
        """With the bias of the solver; where all are at their ends up to rounding, the published one is another."""
        gram = self.problem.K[np.ix_(self.rows, self.rows)]
        return kkt_violation(gram, self.beta, self.solver.state.scalars[0]["bias"], *self.problem.ends(self.rows))

    def gap(self):
        """Primal minus dual objective, with the published bias."""
        p, rows, beta = self.problem, self.rows, self.beta
        hinge = np.maximum(0.0, 1.0 - p.y[rows] * self.values()[rows])
        return 0.5 * beta @ p.K[np.ix_(rows, rows)] @ beta + p.boxes[rows] @ hinge + self.objective()

    def objective(self):
        lower, _, upper = self.problem.ends(self.rows)
        return objective(self.problem.K[np.ix_(self.rows, self.rows)], self.beta, lower, upper)

    def check(self):
        state = self.solver.state
        assert self.violation() < OPTIMAL
        assert abs(self.gap()) < OPTIMAL * max(1.0, self.problem.boxes.sum())
        assert violation(state, self.bias) < OPTIMAL
        n = state.points.counts[0]["n_slots"]
        assert n - state.counts[0]["n_free"] == len(self.slots)
        assert np.count_nonzero(state.points.coef[0, :n]) == np.count_nonzero(self.beta)


def is_slow(seed):
    """Polynomials beyond the first problem, which has them learned, unlearned and moved to another C."""
    return seed > len(NAMES) and NAMES[seed % 3] == "poly"


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=pytest.mark.slow) if is_slow(seed) else seed for seed in range(51)]
)
class TestRandomProblems:
    def test_every_step_is_optimal(self, seed):
        problem = random_problem(seed, NAMES[seed % 3])
        rng = np.random.default_rng(seed)
        model = Model(problem)
        for row in rng.permutation(len(problem)):
            model.learn([row]).check()
        for row in rng.permutation(len(problem))[: len(problem) // 2]:
            model.unlearn(int(row))
            model.check()
        C = problem.C
        for other in (7 * C, 0.001 * C, C):
            model.change_C(other)
            model.check()
        for row in rng.permutation(model.rows):
            model.unlearn(int(row))
            model.check()
        assert model.bias == 0.0
        np.testing.assert_array_equal(model.solver.state.points.coef, 0.0)

    def test_optimum(self, seed):
        problem = random_problem(seed, NAMES[seed % 3])
        model, rows = Model(problem, np.arange(len(problem))), np.arange(len(problem))
        lower, kink, upper = problem.ends(rows)
        beta, bias = optimum(problem.K, lower, kink, upper)
        best = objective(problem.K, beta, lower, upper)
        assert model.objective() <= best + 1e-9 * max(1.0, abs(best))
        assert dual_objective(model.solver.state) == pytest.approx(-best, rel=1e-8, abs=1e-8)
        np.testing.assert_allclose(model.values() - model.bias, problem.K @ beta, rtol=EQUAL, atol=EQUAL)
        if is_pinned(model.solver.state):
            assert model.bias == pytest.approx(bias, abs=EQUAL)

    @pytest.mark.filterwarnings("ignore:Solver terminated early")
    def test_libsvm(self, seed):
        problem = random_problem(seed, NAMES[seed % 3])
        model = Model(problem, np.arange(len(problem)))
        used = np.flatnonzero(problem.weights)
        svc = SVC(C=problem.C, tol=1e-10, max_iter=10**6, **problem.parameters)
        svc.fit(problem.X[used], problem.y[used], sample_weight=problem.weights[used])
        beta = np.zeros(len(problem))
        beta[used[svc.support_]] = svc.dual_coef_[0]
        lower, _, upper = problem.ends(np.arange(len(problem)))
        best = objective(problem.K, beta, lower, upper)
        assert model.objective() <= best + 1e-9 * max(1.0, abs(best))
        scale = max(1.0, problem.C) * max(1.0, np.abs(problem.K).max())
        np.testing.assert_allclose(model.values() - model.bias, problem.K @ beta, atol=LIBSVM * scale)

    def test_unlearned_is_never_learned(self, seed):
        problem = random_problem(seed, NAMES[seed % 3])
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(problem))
        gone = order[: rng.integers(1, len(order))]
        model = Model(problem, np.arange(len(problem)))
        for row in gone:
            model.unlearn(int(row))
        fresh = Model(problem, np.setdiff1d(order, gone))
        np.testing.assert_allclose(model.values(), fresh.values(), rtol=EQUAL, atol=EQUAL)

    def test_another_C(self, seed):
        problem = random_problem(seed, NAMES[seed % 3])
        model = Model(problem, np.arange(len(problem)))
        for C in (0.02, 800.0, 1.0):
            model.change_C(C)
            fresh = Model(problem, np.arange(len(problem)))
            np.testing.assert_allclose(model.values(), fresh.values(), rtol=EQUAL, atol=EQUAL)

    def test_left_out(self, seed):
        problem = random_problem(seed, NAMES[seed % 3])
        model = Model(problem, np.arange(len(problem)))
        before = [array.copy() for array in saved(model.solver).arrays]
        for row in np.random.default_rng(seed).integers(len(problem), size=5):
            without = Model(problem, np.setdiff1d(np.arange(len(problem)), row))
            value = left_out(problem.engine_kernel, model.solver, model.slots[int(row)])
            assert value == pytest.approx(without.values()[row], rel=EQUAL, abs=EQUAL)
        for old, new in zip(before, saved(model.solver).arrays, strict=True):
            np.testing.assert_array_equal(old, new)


class TestAdiabaticOracle:
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("C", [0.2, 3.0, 50.0])
    def test_every_step_is_the_same(self, C, weighted):
        rng = np.random.default_rng(5)
        problem = clean_problem(1, C=C, weights=rng.uniform(0.3, 3.0, 40) if weighted else None)
        oracle, model = Adiabatic(C=C, **problem.parameters), Model(problem)
        for row in range(len(problem)):
            oracle.learn(problem.X[row], problem.y[row], problem.weights[row])
            model.learn([row])
            self.compare(model, oracle)
        for _ in range(30):
            place = int(rng.integers(len(oracle.rows)))
            oracle.unlearn(place)
            model.unlearn(int(model.rows[place]))
            self.compare(model, oracle)

    def compare(self, model, oracle):
        np.testing.assert_allclose(model.beta, oracle.beta, atol=1e-8 * max(1.0, model.problem.C))
        if oracle.S:
            assert model.solver.state.scalars[0]["bias"] == pytest.approx(oracle.b, abs=1e-7) or not is_pinned(
                model.solver.state
            )


class TestBias:
    @pytest.mark.parametrize("seed", range(12))
    def test_the_middle_of_all_that_are_optimal(self, seed):
        """In small boxes nobody is inside, so that there is a choice."""
        problem = clean_problem(seed, C=0.01)
        rows = np.concatenate([np.flatnonzero(problem.y == label)[:12] for label in (-1, 1)])
        model = Model(problem, rows)
        assert not is_pinned(model.solver.state)
        gram = problem.K[np.ix_(model.rows, model.rows)]
        assert model.bias == pytest.approx(oracle_bias(gram, model.beta, *problem.ends(model.rows)), abs=1e-9)
        for row in (rows[0], rows[-1]):
            model.unlearn(int(row))
        gram = problem.K[np.ix_(model.rows, model.rows)]
        assert model.bias == pytest.approx(oracle_bias(gram, model.beta, *problem.ends(model.rows)), abs=1e-9)

    def test_does_not_depend_on_the_order(self):
        problem = clean_problem(0, C=0.01)
        rows = np.concatenate([np.flatnonzero(problem.y == label)[:12] for label in (-1, 1)])
        biases = [Model(problem, np.random.default_rng(seed).permutation(rows)).bias for seed in range(5)]
        np.testing.assert_allclose(biases, biases[0], atol=1e-9)

    @pytest.mark.parametrize("label", [-1, 1])
    def test_one_class(self, label):
        problem = clean_problem(0)
        model = Model(problem, np.flatnonzero(problem.y == label))
        model.check()
        assert not model.beta.any()
        assert model.bias == label

    def test_nothing(self):
        assert Model(clean_problem(0)).bias == 0.0


class TestDegenerate:
    @pytest.mark.parametrize("kernel", by_speed)
    @pytest.mark.parametrize("shares", [(6, 6), (9, 3), (1, 11)])
    def test_all_examples_are_one_point(self, kernel, shares):
        y = np.repeat([1, -1], shares)
        problem = Problem(np.ones((12, 2)), y, np.ones(12), 2.0, kernel)
        model = Model(problem)
        for row in np.random.default_rng(0).permutation(12):
            model.learn([row]).check()
        expected = 0.0 if shares[0] == shares[1] else 1.0 if shares[0] > shares[1] else -1.0
        np.testing.assert_allclose(model.values(), expected, atol=1e-9)
        for row in range(12):
            model.unlearn(row)
            model.check()

    @pytest.mark.parametrize("n_features", [1, 2])
    def test_more_on_the_margin_than_dimensions(self, n_features):
        """Many points on the two lines of the margin."""
        rng = np.random.default_rng(0)
        X = rng.integers(-3, 4, size=(40, n_features)).astype(float)
        y = np.where(np.arange(40) % 2, 1, -1)
        X[:, 0] = y
        problem = Problem(X, y, np.ones(40), 1.0, "linear")
        model = Model(problem)
        for row in range(40):
            model.learn([row]).check()
        assert model.solver.state.counts[0]["n_margin"] <= n_features + 1
        np.testing.assert_allclose(model.values(), y, atol=1e-9)

    @pytest.mark.parametrize("kernel", by_speed)
    def test_empty_margin_set(self, kernel):
        """Pairs of opposite labels at one place: all are at their bounds."""
        X = np.repeat(np.random.default_rng(0).normal(size=(10, 2)), 2, axis=0)
        problem = Problem(X, np.tile([1, -1], 10), np.ones(20), 0.5, kernel)
        model = Model(problem)
        for row in range(20):
            model.learn([row]).check()
        np.testing.assert_allclose(model.values(), 0.0, atol=1e-9)

    @pytest.mark.parametrize("kernel", by_speed)
    def test_sorted_by_class(self, kernel):
        problem = clean_problem(2, kernel)
        model = Model(problem)
        for row in np.argsort(problem.y, kind="stable"):
            model.learn([row]).check()
        np.testing.assert_allclose(model.values(), Model(problem, np.arange(40)).values(), atol=EQUAL)

    @pytest.mark.parametrize("kernel", by_speed)
    def test_tiny_cache(self, kernel):
        problem = random_problem(5, kernel)
        small, large = Model(problem, cache=1, n_slots=16), Model(problem, np.arange(len(problem)))
        for row in range(len(problem)):
            small.learn([row]).check()
        assert len(small.solver.cache.slot) == 4
        np.testing.assert_allclose(small.values(), large.values(), atol=EQUAL)

    def test_features_of_very_different_sizes(self):
        """Kernel values up to 10^7: rounding is what limits the conditions."""
        problem = clean_problem(3, "linear", C=1.0)
        problem = Problem(problem.X * [1000.0, 1.0], problem.y, problem.weights, 10.0, "linear")
        model = Model(problem, np.arange(40))
        assert model.violation() < 1e-6
        for row in range(0, 40, 2):
            model.unlearn(row)
        assert model.violation() < 1e-6


class TestMachine:
    def test_one_by_one_is_as_one_batch(self):
        problem = random_problem(1, "rbf")
        whole, single = Model(problem, np.arange(len(problem))), Model(problem)
        for row in range(len(problem)):
            single.learn([row])
        np.testing.assert_allclose(single.values(), whole.values(), atol=1e-9)

    def test_slots_are_used_again(self):
        problem = clean_problem(0)
        model = Model(problem, np.arange(40))
        before = model.values()
        for _ in range(3):
            for row in range(5, 25):
                model.unlearn(row)
            model.learn(np.arange(5, 25)).check()
            assert model.solver.state.points.counts[0]["n_slots"] == 40
            np.testing.assert_allclose(model.values(), before, atol=EQUAL)

    def test_growing(self):
        """More points, and more on the margin, than there is room for in the beginning."""
        problem = clean_problem(0, n=500, C=1.0)
        model = Model(problem, np.arange(500), n_slots=1, room=2)
        model.check()
        assert capacity_of(model.solver) >= 500
        assert model.solver.state.margin_slots.size > model.solver.state.counts[0]["n_margin"] > 20
        np.testing.assert_allclose(model.values(), Model(problem, np.arange(500)).values(), atol=EQUAL)

    def test_rounding_errors_are_removed(self):
        problem = clean_problem(0)
        model = Model(problem, np.arange(40))
        state = model.solver.state
        state.scores[:40] += 1e-5 * np.random.default_rng(0).normal(size=40)
        state.counts[0]["n_since_refresh"] = REFRESH
        model.unlearn(int(np.flatnonzero(model.beta)[0]))
        assert 1e-6 < model.solver.state.scalars[0]["drift"] < 1e-4
        assert model.solver.state.counts[0]["n_since_refresh"] < 10
        model.check()

    def test_another_cache(self):
        problem = clean_problem(0)
        model = Model(problem, np.arange(30))
        for row in range(0, 30, 4):
            model.unlearn(row)
        model.solver = solver_of(model.solver.state, 2**16)
        model.learn(np.arange(30, 40)).check()

    def test_what_was_saved_comes_back(self):
        """Whatever has happened since, growing included."""
        problem = random_problem(7, "rbf")
        half = len(problem) // 2
        model = Model(problem, np.arange(half), n_slots=16)
        model.unlearn(3)
        before, values, slots = saved(model.solver), model.values(), dict(model.slots)
        model.learn(np.arange(half, len(problem)))
        for row in (0, 5, half):
            model.unlearn(row)
        model.change_C(0.1)
        model.solver, model.slots = restored(problem.engine_kernel, model.solver, before), slots
        problem.C = random_problem(7, "rbf").C
        np.testing.assert_allclose(model.values(), values, atol=1e-9)
        model.check()
        model.learn(np.arange(half, len(problem))).check()

    def test_no_room_for_the_margin_set(self):
        problem = clean_problem(0, n=100, C=100.0)
        model = Model(problem, np.arange(10), room=16)
        before = saved(model.solver)

        def refuse(room):
            raise MemoryError(room)

        taken = np.zeros(90, np.int64)
        part = slice(10, 100)
        with pytest.raises(MemoryError, match="16"):
            learn(
                problem.engine_kernel,
                model.solver,
                problem.X[part],
                problem.y[part],
                problem.boxes[part],
                taken,
                refuse,
            )
        model.solver = restored(problem.engine_kernel, model.solver, before)
        model.check()
        model.learn(np.arange(10, 100)).check()

    @pytest.mark.parametrize("n_slots", [16, 1000])
    @pytest.mark.parametrize("cache", [1, 2**20])
    def test_bytes(self, n_slots, cache):
        solver = new_solver(7, cache, n_slots, room=50)
        arrays = [*solver.state[1:], *solver.state.points, *saved(solver).arrays]
        arrays += [array for array in solver.cache if array is not solver.cache.buffer]
        total = sum(array.nbytes for array in arrays)
        assert total == pytest.approx(solver_bytes(n_slots, 50, 7, cache), rel=0.1)


def test_ctrl_c_is_heard_between_some_rows(monkeypatch):
    """Compiled code hears nothing: it learns no more rows at a time than take a moment."""
    from frugalsvm import IncrementalSVC
    from frugalsvm.exact import incremental

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 12))
    y = X[:, 0] > 0
    model = IncrementalSVC().fit(X[:100], y[:100])
    before, run, positions = model.decision_function(X), incremental._run, []

    def interrupted(kernel, source, labels, boxes, slots, start, *others):
        positions.append(start)
        if len(positions) == 4:
            raise KeyboardInterrupt
        return run(kernel, source, labels, boxes, slots, start, *others)

    monkeypatch.setattr(incremental, "_run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert np.diff(positions).max() <= 32
    np.testing.assert_array_equal(model.decision_function(X), before)
