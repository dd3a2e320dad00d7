"""Stochastic subgradient steps: against the oracle, averages over windows, resuming, and convergence."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import asset as oracle
from sklearn.svm import SVC, LinearSVC, LinearSVR

from frugalsvm.lowrank.losses import EpsilonInsensitive, Hinge, SquaredEpsilonInsensitive, SquaredHinge
from frugalsvm.lowrank.subgradient import (
    RobustStep,
    average_from,
    average_last,
    average_suffix,
    enclosing_radius,
    estimated_scale,
    last_iterate,
    learn,
    new_state,
    no_average,
    robust_step,
    solution,
    strong_step,
)

EPSILON = 0.1
LOSSES = {
    "hinge": Hinge(),
    "squared_hinge": SquaredHinge(),
    "epsilon_insensitive": EpsilonInsensitive(EPSILON),
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive(EPSILON),
}
RULES = ["robust", "strong"]
PENALTY = 0.01
EVERY_AVERAGE = {
    "none": no_average(),
    "from": average_from(200),
    "suffix": average_suffix(),
    "last": average_last(37),
    "last 1": average_last(1),
}

each_rule = pytest.mark.parametrize("rule", RULES)
each_loss = pytest.mark.parametrize("loss", list(LOSSES))
with_and_without_intercept = pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])


class Problem:
    """Rows of length about 1, targets of several outputs, and weights, a few of which are 0."""

    def __init__(self, n_outputs=1, loss="hinge", n_rows=200, d=7, weighted=True, seed=0):
        rng = np.random.default_rng(seed)
        self.loss = loss
        self.V = (rng.normal(size=(n_rows, d)) / np.sqrt(d)).astype(np.float32)
        scores = rng.normal(size=(n_outputs, d)) @ self.V.T + 0.3 + 0.3 * rng.normal(size=(n_outputs, n_rows))
        is_class = loss in ("hinge", "squared_hinge")
        self.targets = (np.where(scores > 0, 1.0, -1.0) if is_class else scores).astype(np.float32)
        self.weights = np.ones(n_rows, np.float32)
        if weighted:
            self.weights = rng.choice([0.0, 0.5, 1.0, 2.5], size=n_rows, p=[0.1, 0.3, 0.4, 0.2]).astype(np.float32)
        self.rng = rng

    def order(self, n_steps):
        return self.rng.integers(len(self.V), size=n_steps)

    def rule(self, name, intercept, penalty=PENALTY):
        if name == "strong":
            return strong_step(penalty, intercept)
        return robust_step(penalty, estimated_scale(self.V, intercept, self.weights), intercept)

    def start(self, averaging=None):
        return new_state(len(self.targets), self.V.shape[1], no_average() if averaging is None else averaging)

    def learn(self, rule, order, state):
        learn(LOSSES[self.loss], rule, self.V, self.targets, self.weights, order, state)
        return state

    def oracle_iterates(self, rule, order, k):
        options = {"weights": self.weights, "loss": self.loss, "epsilon": EPSILON, "radius": rule.radius}
        common = (self.V, self.targets[k], order, rule.penalty, rule.intercept)
        if isinstance(rule, RobustStep):
            scale = oracle.estimated_scale(self.V, rule.intercept, self.weights)
            return list(oracle.asset_iterates(*common, rule.intercept_bound, scale, **options))
        return list(oracle.asset_star_iterates(*common, **options))

    def objective(self, penalty, w, b, k=0, penalise_intercept=False):
        V = self.V.astype(np.float64)
        common = {"loss": self.loss, "epsilon": EPSILON, "weights": self.weights}
        return oracle.objective(V, self.targets[k], penalty, w, b, penalise_intercept=penalise_intercept, **common)


def assert_same(found, k, expected, rtol=1e-6):
    """Weights and intercept of output k."""
    weights, intercepts = found
    w, b = expected
    np.testing.assert_allclose(weights[k], w, rtol=rtol, atol=rtol * np.linalg.norm(w))
    np.testing.assert_allclose(intercepts[k], b, rtol=rtol, atol=rtol * np.linalg.norm(w))


def assert_bitwise_equal(first, second):
    for name, a, b in zip(first._fields, first, second, strict=True):
        np.testing.assert_array_equal(a, b, err_msg=name, strict=True)


class TestAgainstOracle:
    @each_rule
    @each_loss
    @with_and_without_intercept
    @pytest.mark.parametrize("weighted", [False, True], ids=["no weights", "weights"])
    @pytest.mark.parametrize("n_outputs", [1, 3])
    def test_last_iterate_and_average(self, rule, loss, intercept, weighted, n_outputs):
        problem = Problem(n_outputs, loss, weighted=weighted)
        order, step = problem.order(1000), problem.rule(rule, intercept)
        state = problem.learn(step, order, problem.start(average_from(300)))
        for k in range(n_outputs):
            iterates = problem.oracle_iterates(step, order, k)
            assert_same(last_iterate(state), k, oracle.average(iterates, None))
            assert_same(solution(state), k, oracle.average(iterates, 300))
        assert state.clock[0] == len(iterates)
        assert intercept or not solution(state)[1].any()

    @each_rule
    @pytest.mark.parametrize("penalty", [1e-6, 3.0, 1e3])
    def test_penalties(self, rule, penalty):
        # a large one makes the first robust steps longer than 1 / penalty: w changes its sign
        problem = Problem()
        order, step = problem.order(1000), problem.rule(rule, True, penalty)
        state = problem.learn(step, order, problem.start(average_from(10)))
        iterates = problem.oracle_iterates(step, order, 0)
        assert_same(last_iterate(state), 0, oracle.average(iterates, None))
        assert_same(solution(state), 0, oracle.average(iterates, 10))

    def test_signatures_of_the_paper(self):
        problem = Problem()
        order, step = problem.order(500), problem.rule("robust", True)
        found = solution(problem.learn(step, order, problem.start(average_from(100))))
        scale, B = oracle.estimated_scale(problem.V, True, problem.weights), PENALTY**-0.5 + 1.0
        common = (problem.V, problem.targets[0], order, PENALTY, True)
        assert_same(found, 0, oracle.asset(*common, B, scale, 100, weights=problem.weights))
        found = solution(problem.learn(problem.rule("strong", True), order, problem.start()))
        assert_same(found, 0, oracle.asset_star(*common, weights=problem.weights))

    @with_and_without_intercept
    def test_estimated_scale(self, intercept):
        problem = Problem()
        for weights in (None, problem.weights):
            found = estimated_scale(problem.V, intercept, weights)
            assert found == pytest.approx(oracle.estimated_scale(problem.V, intercept, weights), rel=1e-12)


class TestOracle:
    """The oracle itself, where a formula can be wrong in both."""

    @each_loss
    @pytest.mark.parametrize("t", [-1.0, 1.0])
    def test_slopes_are_derivatives(self, loss, t):
        h = 1e-6
        for f in np.linspace(-2.03, 2.07, 40):
            difference = (
                (oracle.loss_value(loss, EPSILON, t, f + h) - oracle.loss_value(loss, EPSILON, t, f - h)) / h / 2
            )
            assert oracle.slope(loss, EPSILON, t, f) == pytest.approx(difference, abs=1e-4)

    def test_first_steps_by_hand(self):
        V, targets = np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([1.0, -1.0])
        # penalty 1/4: radius 2; B = 1: D_X = sqrt(5); the second step is 5 / sqrt(2) of 2 long, beyond ball and bound
        first, second = oracle.asset_iterates(V, targets, [0, 1], 0.25, True, 1.0, np.sqrt(5.0))
        assert (first.eta, list(first.w), first.b) == (1.0, [1.0, 0.0], 1.0)
        eta = 1.0 / np.sqrt(2.0)
        assert second.eta == pytest.approx(eta)
        np.testing.assert_allclose(second.w, [1.0 - eta / 4.0, -2.0 * eta])
        assert second.b == pytest.approx(1.0 - eta)

    def test_first_star_steps_by_hand(self):
        V, targets = np.array([[1.0], [0.5]]), np.array([1.0, -1.0])
        first, second = oracle.asset_star_iterates(V, targets, [0, 1], 0.25, True)
        # eta = 4: (4, 4), and back to length 2
        np.testing.assert_allclose([*first.w, first.b], [2.0**0.5, 2.0**0.5])
        assert second.eta == pytest.approx(2.0)
        np.testing.assert_allclose([*second.w, second.b], np.array([0.5**0.5 - 1.0, 0.5**0.5 - 2.0]))


def first_averaged(name, t):
    """The first iterate that counts after t steps; None for the last iterate alone."""
    if name == "from":
        return 200 if t >= 200 else None
    if name == "suffix":
        opened = 2 ** int(np.log2(t))
        return max(opened // 2, 1)
    if name.startswith("last"):
        n = EVERY_AVERAGE[name].length
        return max((t - 1) // n * n + 1 - n, 1)
    return None


class TestAverages:
    @each_rule
    @pytest.mark.parametrize("name", list(EVERY_AVERAGE))
    def test_windows(self, rule, name):
        problem = Problem(2)
        step, state = problem.rule(rule, True), problem.start(EVERY_AVERAGE[name])
        order = problem.order(600)
        order = order[problem.weights[order] > 0][:300]
        iterates = [problem.oracle_iterates(step, order, k) for k in range(2)]
        for t in range(1, 301):
            problem.learn(step, order[t - 1 : t], state)
            first = first_averaged(name, t)
            for k in range(2):
                taken = iterates[k][:t][-1:] if first is None else iterates[k][first - 1 : t]
                etas = np.array([iterate.eta for iterate in taken])
                w = etas @ np.array([iterate.w for iterate in taken]) / etas.sum()
                b = etas @ np.array([iterate.b for iterate in taken]) / etas.sum()
                assert_same(solution(state), k, (w, b))

    @pytest.mark.parametrize("t", [1, 2, 3, 4, 100, 127, 128, 129, 255, 256])
    def test_suffix_is_half_to_three_quarters(self, t):
        share = (t - first_averaged("suffix", t) + 1) / t
        assert 0.5 <= share <= 0.75 + 1.0 / t or t < 4

    def test_solution_leaves_the_state_alone(self):
        problem = Problem(2)
        step, state = problem.rule("robust", True), problem.start(average_suffix())
        problem.learn(step, problem.order(100), state)
        before = pickle.loads(pickle.dumps(state))
        weights, intercepts = solution(state)
        weights[:], intercepts[:] = 7.0, 7.0
        weights, intercepts = last_iterate(state)
        weights[:], intercepts[:] = 7.0, 7.0
        assert_bitwise_equal(before, state)

    def test_before_the_first_step(self):
        for averaging in EVERY_AVERAGE.values():
            weights, intercepts = solution(new_state(2, 3, averaging))
            np.testing.assert_array_equal(weights, np.zeros((2, 3)))
            np.testing.assert_array_equal(intercepts, np.zeros(2))


class TestStream:
    @settings(max_examples=25)
    @given(
        cuts=st.lists(st.integers(0, 700), max_size=6),
        rule=st.sampled_from(RULES),
        name=st.sampled_from(list(EVERY_AVERAGE)),
        through_pickle=st.booleans(),
    )
    def test_batches_and_resuming_are_one_call(self, cuts, rule, name, through_pickle):
        problem = Problem(3)
        step, order = problem.rule(rule, True), problem.order(700)
        whole = problem.learn(step, order, problem.start(EVERY_AVERAGE[name]))
        state = problem.start(EVERY_AVERAGE[name])
        for part in np.split(order, sorted(cuts)):
            problem.learn(step, part, state)
            if through_pickle:
                state = pickle.loads(pickle.dumps(state))
        assert_bitwise_equal(whole, state)

    @each_rule
    def test_weight_zero_is_no_example(self, rule):
        problem = Problem(2)
        step, order = problem.rule(rule, True), problem.order(1000)
        state = problem.learn(step, order, problem.start(average_suffix()))
        kept = order[problem.weights[order] > 0]
        assert state.clock[0] == len(kept) < len(order)
        assert_bitwise_equal(problem.learn(step, kept, problem.start(average_suffix())), state)

    @each_rule
    def test_outputs_do_not_see_each_other(self, rule):
        problem = Problem(3)
        step, order = problem.rule(rule, True), problem.order(1000)
        together = solution(problem.learn(step, order, problem.start(average_suffix())))
        for k in range(3):
            state = new_state(1, problem.V.shape[1], average_suffix())
            own = np.ascontiguousarray(problem.targets[k : k + 1])
            learn(Hinge(), step, problem.V, own, problem.weights, order, state)
            np.testing.assert_array_equal(together[0][k], solution(state)[0][0])
            np.testing.assert_array_equal(together[1][k], solution(state)[1][0])


class TestFeasible:
    @settings(max_examples=30)
    @given(
        rule=st.sampled_from(RULES),
        loss=st.sampled_from(["hinge", "squared_hinge"]),
        intercept=st.booleans(),
        log_penalty=st.floats(-6.0, 3.0),
        log_size=st.floats(-3.0, 3.0),
        seed=st.integers(0, 100),
    )
    def test_projection(self, rule, loss, intercept, log_penalty, log_size, seed):
        problem = Problem(2, loss, d=3, seed=seed)
        problem.V *= np.float32(10.0**log_size)
        step, state = problem.rule(rule, intercept, 10.0**log_penalty), problem.start(average_suffix())
        for part in np.split(problem.order(200), 50):
            problem.learn(step, part, state)
            for weights, intercepts in (last_iterate(state), solution(state)):
                squares = np.square(weights).sum(axis=1)
                if rule == "strong":
                    squares += np.square(intercepts)
                else:
                    assert np.all(np.abs(intercepts) <= step.intercept_bound * (1.0 + 1e-12))
                assert np.all(squares <= step.radius**2 * (1.0 + 1e-12))

    def test_rules(self):
        step = robust_step(0.04, 2.0, True)
        assert step == (0.04, 5.0, True, 6.0, pytest.approx(np.sqrt(61.0) / 2.0))
        assert robust_step(0.04, 2.0, True, intercept_bound=12) == (0.04, 5.0, True, 12.0, 6.5)
        assert robust_step(0.04, 2.0, False, intercept_bound=12) == (0.04, 5.0, False, 0.0, 2.5)
        assert robust_step(1, 1, False, radius=3) == (1.0, 3.0, False, 0.0, 3.0)
        assert strong_step(0.04, True) == (0.04, 5.0, True)
        assert strong_step(0.04, False, radius=1) == (0.04, 1.0, False)
        for penalty, scale in [(0.0, 1.0), (1.0, 0.0), (np.nan, 1.0)]:
            with pytest.raises(ValueError, match="positive"):
                robust_step(penalty, scale, True)
        with pytest.raises(ValueError, match="positive"):
            strong_step(-1.0, True)

    def test_enclosing_radius_of_the_hinge_is_the_papers(self):
        problem = Problem(3, weighted=False)
        assert enclosing_radius(Hinge(), 0.04, problem.targets) == pytest.approx(5.0)
        assert enclosing_radius(Hinge(), 0.04, problem.targets, 4 * problem.weights) == pytest.approx(10.0)

    @each_loss
    def test_enclosing_radius_holds_the_optimum(self, loss):
        problem = Problem(1, loss)
        problem.targets *= np.float32(1.0 if "hinge" in loss else 20.0)
        for penalty in (1e-3, 0.1, 10.0):
            for intercept in (False, True):
                w, b = optimum(problem, penalty, intercept)
                assert np.hypot(np.linalg.norm(w), b) <= enclosing_radius(
                    LOSSES[loss], penalty, problem.targets, problem.weights
                )


def optimum(problem, penalty, intercept):
    """By liblinear: weights, and the intercept as the weight of a constant feature, penalised."""
    V = np.hstack([problem.V.astype(np.float64), np.full((len(problem.V), 1), float(intercept))])
    settings = {"C": 1.0 / (penalty * np.count_nonzero(problem.weights)), "fit_intercept": False, "tol": 1e-6}
    settings |= {"loss": problem.loss, "dual": True, "max_iter": 1_000_000, "random_state": 0}
    model = LinearSVC(**settings) if "hinge" in problem.loss else LinearSVR(epsilon=EPSILON, **settings)
    *w, b = np.ravel(model.fit(V, problem.targets[0].astype(np.float64), problem.weights).coef_)
    return np.array(w), b


class TestLongRun:
    @each_rule
    def test_a_million_steps(self, rule):
        problem = Problem(2, n_rows=50, d=3)
        step, state = problem.rule(rule, True, 0.1), problem.start(average_suffix())
        for _ in range(10):
            problem.learn(step, problem.order(100_000), state)
            assert np.all((np.abs(state.scales) > 1e-13) & (np.abs(state.scales) < 1e13))
            np.testing.assert_allclose(np.square(state.directions).sum(axis=1), state.squared_norms, rtol=1e-12)
        assert all(np.isfinite(part).all() for part in state)

    @pytest.mark.parametrize("penalty", [0.5, 1e4])
    def test_scale_stays_finite_without_slopes(self, penalty):
        # nothing but shrinking: of a vector by factors near 1, and of zero by factors far below -1
        problem = Problem(1, "epsilon_insensitive")
        step, state = robust_step(penalty, 1e-3, True), problem.start(average_suffix())
        if penalty == 0.5:
            problem.learn(step, problem.order(10), state)
        learn(EpsilonInsensitive(1e9), step, problem.V, problem.targets, problem.weights, problem.order(20_000), state)
        assert 1e-13 < abs(state.scales[0]) < 1e13
        assert np.isfinite(solution(state)[0]).all()
        assert np.linalg.norm(last_iterate(state)[0]) <= step.radius * (1.0 + 1e-12)

    def test_absorbed_scales_change_nothing(self):
        # eta * penalty falls from 20 to 0.4: w turns and grows at first, then shrinks to almost nothing again and again
        problem = Problem(2)
        order = problem.order(3000)
        scale = 0.08
        step = robust_step(0.5, scale, True)
        step = step._replace(penalty=20.0 / step.numerator)
        state, n_absorbed = problem.start(average_from(300)), 0
        for part in order[:, None]:
            before = abs(state.scales[0])
            problem.learn(step, part, state)
            n_absorbed += abs(state.scales[0]) > 1e6 * before or before > 1e6 * abs(state.scales[0])
        assert n_absorbed > 10
        options = {"weights": problem.weights, "radius": step.radius}
        for k in range(2):
            common = (problem.V, problem.targets[k], order, step.penalty, True, step.intercept_bound, scale)
            assert_same(solution(state), k, oracle.asset(*common, 300, **options))
            assert_same(last_iterate(state), k, oracle.asset(*common, None, **options))


class TestConvergence:
    @pytest.mark.parametrize(("rule", "intercept"), [("robust", True), ("robust", False), ("strong", False)])
    def test_hinge(self, rule, intercept):
        problem = Problem(n_rows=300, d=5, weighted=False)
        if intercept:
            exact = SVC(kernel="linear", C=1.0 / (PENALTY * len(problem.V)), tol=1e-8)
            exact.fit(problem.V.astype(np.float64), problem.targets[0])
            best = problem.objective(PENALTY, exact.coef_[0], exact.intercept_[0])
        else:
            best = problem.objective(PENALTY, *optimum(problem, PENALTY, intercept=False))
        state, gaps = problem.start(average_suffix()), []
        for n_steps in (1_000, 9_000, 90_000, 900_000):
            problem.learn(problem.rule(rule, intercept), problem.order(n_steps), state)
            weights, intercepts = solution(state)
            gaps.append(problem.objective(PENALTY, weights[0], intercepts[0]) / best - 1.0)
        assert gaps[-1] > -1e-6  # no better than the optimum
        # a thousand times the steps: about a thirtieth by the rate of 1 / sqrt(t), with room for chance
        assert gaps[-1] < gaps[0] / 10
        assert gaps[-1] < (5e-3 if rule == "robust" else 2e-4)

    @each_loss
    def test_penalised_intercept_of_all_losses(self, loss):
        problem, penalty = Problem(loss=loss), 0.1
        best = problem.objective(penalty, *optimum(problem, penalty, intercept=True), penalise_intercept=True)
        state = problem.learn(strong_step(penalty, True), problem.order(300_000), problem.start(average_suffix()))
        weights, intercepts = solution(state)
        found = problem.objective(penalty, weights[0], intercepts[0], penalise_intercept=True)
        assert -1e-6 < found / best - 1.0 < 1e-3
