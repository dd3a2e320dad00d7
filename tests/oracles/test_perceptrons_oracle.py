"""Checks of the perceptron and BPA oracles themselves: against the problems they solve, and against small examples."""

import numpy as np
import pytest
from scipy.optimize import minimize

from .bpa import VARIANTS, BPAOracle, passive_aggressive_step, projection_on, update_without
from .bsgd import DEPENDENCE, kernel_matrix
from .perceptrons import (
    FORGETRON_SHARE,
    MULTI_CLASS_STRATEGIES,
    STRATEGIES,
    PerceptronOracle,
    forgetron_psi,
    forgetron_shrinkage,
    implicit_step,
    margin_error_step,
)

N_STATES = 200
# Points so far apart that the rbf kernel of any two is exactly 0.
FAR_APART = np.array([[0.0], [100.0], [200.0], [300.0], [400.0]])


def noisy_problem(n_outputs=1, n=150, d=2, seed=0):
    """Rows and labels with enough noise that mistakes never end."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    score = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.7 * rng.normal(size=n)
    if n_outputs == 1:
        return X, np.where(score > np.median(score), 1, -1)
    return X, np.digitize(score, np.quantile(score, np.arange(1, n_outputs) / n_outputs))


def stream(oracle, X, labels):
    """The steps, one after the other, so that the oracle can be looked at in between."""
    for x, y in zip(X, labels, strict=True):
        yield x, y, oracle.learn_one(x, y)


def learn(oracle, X, labels):
    return [step for _, _, step in stream(oracle, X, labels)]


def set_model(oracle, rows, alpha):
    """Puts the oracle in a state that no stream needs to have led to."""
    oracle.rows = [np.array(row, dtype=float) for row in rows]
    oracle.coef = np.array(alpha, dtype=float).reshape(len(rows), -1)
    oracle.births = list(range(1, len(rows) + 1))
    oracle.t = len(rows)
    return oracle


def squared_norm(rows, coefficients, gamma):
    gram = kernel_matrix(rows, rows, kernel="rbf", gamma=gamma)
    return float(coefficients @ gram @ coefficients)


def minimise_with_slack(quadratic, linear, constraint, offset, slack_weight):
    """min 0.5 z'Qz - b'z + c s over z and s, subject to s >= 0 and constraint'z + s >= offset, numerically.

    Returns z and the value. The variables are first made orthonormal, for which sequential quadratic programming finds
    nearly all digits.
    """
    root = np.linalg.cholesky(quadratic)  # z = root^-T v
    linear = np.linalg.solve(root, linear)
    constraint = np.linalg.solve(root, constraint)

    def value(vs):
        v, s = vs[:-1], vs[-1]
        return 0.5 * v @ v - linear @ v + slack_weight * s

    def slope(vs):
        return np.append(vs[:-1] - linear, slack_weight)

    row = np.append(constraint, 1.0)
    solution = minimize(
        value,
        np.append(np.zeros(len(linear)), max(offset, 0.0)),
        jac=slope,
        method="SLSQP",
        bounds=[(None, None)] * len(linear) + [(0.0, None)],
        constraints={"type": "ineq", "fun": lambda vs: row @ vs - offset, "jac": lambda vs: row},
        options={"ftol": 1e-15, "maxiter": 500},
    )
    return np.linalg.solve(root.T, solution.x[:-1]), float(solution.fun)


# ----------------------------------------------------------------------------------------------------
# What holds for all


def any_oracle(name, *, budget, n_outputs=1, **changes):
    """A perceptron by its strategy, or a BPA by its variant."""
    settings = {"gamma": 0.5, "degree": 2} | changes
    if name in VARIANTS:
        return BPAOracle(name, budget=budget, **settings)
    return PerceptronOracle(name, budget, n_outputs=n_outputs, **settings)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
@pytest.mark.parametrize("budget", [1, 2, 7])
@pytest.mark.parametrize("name", STRATEGIES + VARIANTS)
def test_budget_is_never_exceeded(name, budget, kernel):
    oracle = any_oracle(name, budget=budget, kernel=kernel)
    for t, (_, _, step) in enumerate(stream(oracle, *noisy_problem()), start=1):
        assert step.t == oracle.t == t
        assert len(oracle.rows) == len(oracle.coef) == len(oracle.births) <= budget
        assert len(set(oracle.births)) == len(oracle.births)
        assert np.all(np.isfinite(oracle.coef))


@pytest.mark.parametrize("n_outputs", [2, 4])
@pytest.mark.parametrize("margin", [0, 1])
@pytest.mark.parametrize("strategy", MULTI_CLASS_STRATEGIES)
def test_multi_class_budget_and_balance(strategy, margin, n_outputs):
    """What an update gives to one class it takes from another."""
    oracle = any_oracle(strategy, budget=7, n_outputs=n_outputs, margin=margin)
    steps = learn(oracle, *noisy_problem(n_outputs))
    assert len(oracle.rows) <= 7
    assert any(step.violated for step in steps[50:])
    np.testing.assert_allclose(oracle.coef.sum(axis=1), 0.0, atol=1e-9)


@pytest.mark.parametrize("strategy", ["stop", "random", "projectron"])
def test_two_classes_are_the_binary_case(strategy):
    """f_1 - f_0 is then twice the binary f: the same mistakes."""
    X, labels = noisy_problem()
    binary = any_oracle(strategy, budget=7)
    two_classes = any_oracle(strategy, budget=7, n_outputs=2)
    for x, y in zip(X, labels, strict=True):
        one, other = binary.learn_one(x, y), two_classes.learn_one(x, int(y > 0))
        assert (one.violated, one.victim, one.projected) == (other.violated, other.victim, other.projected)
    np.testing.assert_allclose(two_classes.coef[:, 1], binary.coef[:, 0], rtol=1e-9)
    np.testing.assert_allclose(two_classes.coef[:, 0], -binary.coef[:, 0], rtol=1e-9)


@pytest.mark.parametrize("margin", [0, 1])
@pytest.mark.parametrize("strategy", ["stop", "random", "forgetron", "budget", "tighter", "tightest", "projectron"])
def test_with_room_all_are_the_kernel_perceptron(strategy, margin):
    X, labels = noisy_problem(n=60)
    oracle = any_oracle(strategy, budget=None, margin=margin)
    svs = []
    for i, (x, y) in enumerate(zip(X, labels, strict=True)):
        value = sum(labels[j] * np.exp(-0.5 * np.sum((X[j] - x) ** 2)) for j in svs)
        step = oracle.learn_one(x, y)
        assert step.margin == pytest.approx(y * value, abs=1e-12)
        assert step.added == step.violated == (y * value < 1 if margin else y * value <= 0)
        if step.violated:
            svs.append(i)
    np.testing.assert_array_equal(oracle.rows, X[svs])
    np.testing.assert_array_equal(oracle.coef[:, 0], labels[svs])
    assert oracle.births == [i + 1 for i in svs]


@pytest.mark.parametrize(
    "arguments",
    [
        {"strategy": "oldest"},
        {"budget": 0},
        {"margin": 0.5},
        {"kernel": "cosine"},
        {"strategy": "forgetron", "n_outputs": 3},
    ],
)
def test_bad_arguments_of_the_perceptron(arguments):
    with pytest.raises(ValueError, match="got"):
        PerceptronOracle(**{"strategy": "stop", "budget": 3} | arguments)


@pytest.mark.parametrize("arguments", [{"variant": "all"}, {"C": 0.0}, {"budget": 0}])
def test_bad_arguments_of_bpa(arguments):
    with pytest.raises(ValueError, match="got"):
        BPAOracle(**arguments)


# ----------------------------------------------------------------------------------------------------
# Each learns


def checkerboard(n, seed):
    """2 x 2 squares: no line separates them."""
    X = np.random.default_rng(seed).uniform(-1.0, 1.0, size=(n, 2))
    return X, np.where(X[:, 0] * X[:, 1] > 0.0, 1, -1)


def blobs(n, seed, n_classes=2):
    rng = np.random.default_rng(seed)
    blob = rng.integers(n_classes, size=n)
    angles = 2.0 * np.pi * blob / n_classes
    X = 2.0 * np.column_stack([np.cos(angles), np.sin(angles)]) + 0.8 * rng.normal(size=(n, 2))
    return X, blob


def accuracy(oracle, X, labels):
    return np.mean(oracle.predict(X) == labels)


@pytest.mark.parametrize("name", STRATEGIES + VARIANTS)
def test_learns_a_checkerboard(name):
    oracle = any_oracle(name, budget=20, gamma=4.0)
    learn(oracle, *checkerboard(600, seed=1))
    assert accuracy(oracle, *checkerboard(1000, seed=2)) > 0.75


@pytest.mark.parametrize("name", STRATEGIES + VARIANTS)
def test_learns_two_blobs(name):
    X, blob = blobs(600, seed=1)
    oracle = any_oracle(name, budget=20)
    learn(oracle, X, 2 * blob - 1)
    X, blob = blobs(1000, seed=2)
    assert accuracy(oracle, X, 2 * blob - 1) > 0.9


@pytest.mark.parametrize("margin", [0, 1])
@pytest.mark.parametrize("strategy", MULTI_CLASS_STRATEGIES)
def test_learns_four_blobs(strategy, margin):
    oracle = any_oracle(strategy, budget=20, n_outputs=4, margin=margin)
    learn(oracle, *blobs(600, seed=1, n_classes=4))
    assert accuracy(oracle, *blobs(1000, seed=2, n_classes=4)) > 0.7


# ----------------------------------------------------------------------------------------------------
# Stop, random, budget


def test_stop_keeps_the_first():
    oracle = PerceptronOracle("stop", 2)
    steps = learn(oracle, FAR_APART, [1, -1, 1, -1, 1])
    assert [step.violated for step in steps] == [True] * 5
    assert [step.added for step in steps] == [True, True, False, False, False]
    np.testing.assert_array_equal(oracle.rows, FAR_APART[:2])
    np.testing.assert_array_equal(oracle.coef, [[1], [-1]])


def test_random_asks_for_an_old_one_and_the_last_moves_into_its_slot():
    asked = []

    def second(n_old):
        asked.append(n_old)
        return 1

    oracle = PerceptronOracle("random", 3, draw_victim=second)
    steps = learn(oracle, FAR_APART, [1, -1, 1, -1, 1])
    assert asked == [3, 3]
    assert [step.victim for step in steps] == [None, None, None, 1, 1]
    np.testing.assert_array_equal(oracle.rows, FAR_APART[[0, 4, 2]])
    np.testing.assert_array_equal(oracle.coef[:, 0], [1, 1, 1])
    assert oracle.births == [1, 5, 3]


def test_random_is_uniform_over_the_old_ones():
    oracle = PerceptronOracle("random", 4, draw_victim=np.random.default_rng(5))
    steps = learn(oracle, 100.0 * np.arange(4004)[:, None], np.ones(4004))
    counts = np.bincount([step.victim for step in steps[4:]], minlength=5)
    assert counts[4] == 0
    assert np.all(np.abs(counts[:4] - 1000) < 120)  # four standard deviations


def test_budget_removes_the_best_classified_without_itself():
    oracle = set_model(PerceptronOracle("budget", 3), [[0.0], [0.1], [100.0]], [1, 1, -1])
    step = oracle.learn_one([200.0], -1)
    # the first two support each other equally: the first goes, and the newcomer takes its slot
    assert step.victim == 0
    assert step.score == pytest.approx(-np.exp(-0.01))
    np.testing.assert_array_equal(oracle.rows, [[200.0], [0.1], [100.0]])
    assert oracle.births == [4, 2, 3]


def test_budget_against_models_without_each():
    oracle = PerceptronOracle("budget", 6, gamma=0.5)
    X, labels = noisy_problem()
    removals = 0
    for x, y in zip(X, labels, strict=True):
        rows, alpha = [*oracle.rows, x], np.append(oracle.coef[:, 0], y)
        step = oracle.learn_one(x, y)
        if step.victim is None:
            continue
        removals += 1
        confidences = []
        for j in range(len(rows)):
            others = np.delete(np.arange(len(rows)), j)
            k = kernel_matrix(rows[j], [rows[i] for i in others], kernel="rbf", gamma=0.5)[0]
            confidences.append(np.sign(alpha[j]) * (k @ alpha[others]))
        assert confidences[step.victim] == pytest.approx(max(confidences), rel=1e-9)
    assert removals > 20


# ----------------------------------------------------------------------------------------------------
# Forgetron


def test_forgetron_shrinkage_is_the_largest():
    """Against the inequality itself, on a fine grid of phi."""
    rng = np.random.default_rng(0)
    grid = np.linspace(0.0, 1.0, 2001)[1:]
    shrunk = 0
    for _ in range(1000):
        sigma, margin, slack = rng.uniform(0.01, 1.0), rng.normal(scale=2.0), rng.exponential(0.5)
        phi = forgetron_shrinkage(sigma, margin, slack)
        assert 0.0 < phi <= 1.0
        assert forgetron_psi(phi * sigma, phi * margin) <= slack + 1e-12
        allowed = grid[forgetron_psi(grid * sigma, grid * margin) <= slack - 1e-12]
        assert np.all(allowed <= phi)
        shrunk += phi < 1.0
        if phi < 1.0:
            assert forgetron_psi(phi * sigma, phi * margin) == pytest.approx(slack)
    assert 100 < shrunk < 900


@pytest.mark.parametrize("margin", [0.5, 0.5 - 1e-15, 0.5 + 1e-15])
def test_forgetron_shrinkage_where_the_quadratic_is_linear(margin):
    """sigma^2 = 2 sigma margin: Psi = 2 sigma phi."""
    assert forgetron_shrinkage(1.0, margin, 0.5) == pytest.approx(0.25)


def test_forgetron_small_example():
    """One SV, all far apart: mu = sigma, so Psi = 2 phi sigma - (phi sigma)^2."""
    oracle = PerceptronOracle("forgetron", 1)
    first, second, third = learn(oracle, FAR_APART[:3], [1, -1, 1])
    assert first.victim is None
    # 2 phi - phi^2 <= 15/16 gives phi = 1 - 1/4
    assert (second.victim, second.phi, second.psi) == (0, pytest.approx(0.75), pytest.approx(15 / 16))
    # with sigma = 3/4 and l = 3/4 phi: 2 l - l^2 <= 15/32 gives l = 1 - sqrt(17/32)
    assert third.phi == pytest.approx((1.0 - np.sqrt(17 / 32)) / 0.75)
    np.testing.assert_array_equal(oracle.rows, FAR_APART[2:3])
    np.testing.assert_allclose(oracle.coef, [[third.phi]])


@pytest.mark.parametrize("margin", [0, 1])
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_forgetron_invariant(kernel, margin):
    """Q <= (15/32) M at all times, with phi as large as that allows, and the oldest goes."""
    oracle = PerceptronOracle("forgetron", 10, kernel=kernel, gamma=0.3, degree=2, coef0=0.5, margin=margin)
    updates, spoiled, phis = 0, 0.0, []
    X, labels = noisy_problem(n=400)
    for x, y in zip(X, labels, strict=True):
        rows, alpha, births = [*oracle.rows, x], np.append(oracle.coef[:, 0], y), [*oracle.births, oracle.t + 1]
        step = oracle.learn_one(x, y)
        updates += step.violated
        if step.victim is not None:
            oldest = int(np.argmin(births))
            gram = kernel_matrix(rows, rows, kernel=kernel, gamma=0.3, degree=2, coef0=0.5)
            sigma, mu = abs(alpha[oldest]), np.sign(alpha[oldest]) * (gram @ alpha)[oldest]
            spoiled += forgetron_psi(step.phi * sigma, step.phi * mu)
            assert step.victim == oldest
            if step.phi < 1.0:
                assert spoiled == pytest.approx(FORGETRON_SHARE * updates)
            phis.append(step.phi)
            kept = np.delete(alpha, oldest) * step.phi
            np.testing.assert_allclose(np.sort(oracle.coef[:, 0]), np.sort(kept))
        assert oracle.n_updates == updates
        assert oracle.spoiled == pytest.approx(spoiled)
        assert spoiled <= FORGETRON_SHARE * updates * (1.0 + 1e-12)
    assert len(phis) > 50
    assert min(phis) < 1.0


def test_forgetron_damage_bound():
    """Adding x_r and removing it, shrunk, leaves at least 1 - Psi - 2 loss(g) of progress towards any g."""
    rng = np.random.default_rng(3)
    for _ in range(N_STATES):
        rows = rng.normal(size=(6, 2))
        gram = kernel_matrix(rows, rows, kernel="rbf")
        before, later, g = rng.normal(size=(3, 6))
        y, phi, sigma = rng.choice([-1, 1]), rng.uniform(0.1, 1.0), rng.uniform(0.1, 1.0)
        at_r = np.eye(6)[0] * y
        if y * (gram @ before)[0] > 0:
            before = -before

        def distance2(h, g=g, gram=gram):
            return (h - g) @ gram @ (h - g)

        added = distance2(before) - distance2(before + at_r)
        shrunk = phi * later
        removed = distance2(shrunk) - distance2(shrunk - phi * sigma * at_r)
        loss = max(0.0, 1.0 - y * (gram @ g)[0])
        psi = forgetron_psi(phi * sigma, y * (gram @ shrunk)[0])
        assert added + removed >= 1.0 - psi - 2.0 * loss - 1e-10


# ----------------------------------------------------------------------------------------------------
# Tighter and tightest


def errors_of(rows, alpha, validation):
    """Errors of a model on rows that come with numbers of positives and negatives."""
    wrong = 0
    for x, positives, negatives in validation:
        value = kernel_matrix(x, rows, kernel="rbf", gamma=0.5)[0] @ alpha
        wrong += negatives if value >= 0 else positives
    return wrong


@pytest.mark.parametrize("strategy", ["tighter", "tightest"])
def test_tight_perceptrons_against_models_without_each(strategy):
    oracle = PerceptronOracle(strategy, 6, gamma=0.5)
    X, labels = noisy_problem()
    removals = 0
    for x, y in zip(X, labels, strict=True):
        rows, alpha = [*oracle.rows, x], np.append(oracle.coef[:, 0], y)
        births = [*oracle.births, oracle.t + 1]
        if strategy == "tighter":
            counts = [(int(a > 0), int(a < 0)) for a in alpha]
        else:
            counts = [*oracle.counts, (y > 0, y < 0)]
        step = oracle.learn_one(x, y)
        if step.victim is None:
            continue
        removals += 1
        validation = [(row, *count) for row, count in zip(rows, counts, strict=True)]
        errors = []
        for r in range(len(rows)):
            others = [j for j in range(len(rows)) if j != r]
            errors.append(errors_of([rows[j] for j in others], alpha[others], validation))
        assert step.victim == min(range(len(rows)), key=lambda r: (errors[r], births[r]))
        assert step.score == min(errors)
    assert removals > 20


def test_tighter_small_example():
    """The pair at 0 supports each other. Removing the lone negative, which 0 would call positive, costs an error."""
    oracle = set_model(PerceptronOracle("tighter", 3), [[100.0], [0.0], [0.1]], [-1, 1, 1])
    step = oracle.learn_one([200.0], -1)
    assert (step.victim, step.score, step.runner_up) == (1, 0, 0)


def test_tighter_takes_tiny_values_for_zero():
    """Without the positive at 6, f is -e^-36 there: less than the rounding errors of larger models, so no error."""
    oracle = set_model(PerceptronOracle("tighter", 2), [[0.0], [6.0]], [-1, 1])
    step = oracle.learn_one([100.0], -1)
    assert (step.victim, step.score, step.runner_up) == (1, 0, 1)


def test_nearest_is_by_distance_in_feature_space():
    """With a linear kernel, 3.0 has the larger kernel value with 1.0, but 1.1 is nearer."""
    oracle = set_model(PerceptronOracle("tightest", 3, kernel="linear"), [[3.0], [1.1]], [1, 1])
    oracle.counts = np.zeros((2, 2))
    assert not oracle.learn_one([1.0], 1).violated
    np.testing.assert_array_equal(oracle.counts, [[0, 0], [1, 0]])


def test_tightest_counts_are_the_stream():
    oracle = PerceptronOracle("tightest", 5, gamma=0.5)
    X, labels = noisy_problem()
    for i in range(len(X)):
        oracle.learn_one(X[i], labels[i])
        seen = labels[: i + 1]
        np.testing.assert_array_equal(oracle.counts.sum(axis=0), [np.sum(seen > 0), np.sum(seen < 0)])
        assert len(oracle.counts) == len(oracle.rows)


def test_tightest_small_example():
    oracle = PerceptronOracle("tightest", 3)
    learn(oracle, [[0.0], [0.2], [0.3], [9.0]], [1, 1, 1, -1])  # the second and third are right: counted at 0.0
    np.testing.assert_array_equal(oracle.counts, [[3, 0], [0, 1]])
    learn(oracle, [[8.0]], [1])  # a mistake beside the lone negative
    np.testing.assert_array_equal(oracle.counts, [[3, 0], [0, 1], [1, 0]])
    step = oracle.learn_one([8.5], -1)  # halfway between them: a mistake, too
    # at 8.0 the model says 1 - e^-1 - e^-0.25 < 0, an error; without the SV at 9.0 there is none
    assert (step.victim, step.score, step.runner_up) == (1, 0, 1)
    # its negative is counted by the SV at 8.5, which moves into its slot
    np.testing.assert_array_equal(oracle.rows, [[0.0], [8.5], [8.0]])
    np.testing.assert_array_equal(oracle.counts, [[3, 0], [0, 2], [1, 0]])


def test_tightest_weighs_what_tighter_counts_once():
    """A busy place and an empty one: tighter does not tell them apart, tightest keeps the busy one."""
    rows, alpha = [[0.0], [100.0], [200.0]], [-1, -1, -1]
    tighter = set_model(PerceptronOracle("tighter", 3), rows, alpha)
    tightest = set_model(PerceptronOracle("tightest", 3), rows, alpha)
    tightest.counts = np.array([[0.0, 9.0], [0.0, 2.0], [4.0, 5.0]])
    assert tighter.learn_one([300.0], -1).victim == 0
    step = tightest.learn_one([300.0], -1)
    # errors now: 4 at the third SV. Without it the place is called positive: 5. Without the newcomer: 4 + 1.
    assert (step.victim, step.score, step.runner_up) == (2, 5, 5)
    # nothing is nearer than anything else at this distance: the first SV takes the counts over
    np.testing.assert_array_equal(tightest.counts, [[4, 14], [0, 2], [0, 1]])


# ----------------------------------------------------------------------------------------------------
# Projectron and Projectron++


def random_state(rng, n_sv=5, d=2, gamma=0.5):
    """SVs, coefficients and an example; nothing nearly dependent."""
    while True:
        rows = rng.normal(size=(n_sv + 1, d))
        if np.linalg.cond(kernel_matrix(rows, rows, kernel="rbf", gamma=gamma)) < 1e4:
            return rows[:-1], rng.normal(size=n_sv), rows[-1], int(rng.choice([-1, 1]))


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
    assert third.victim == 0
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
    assert (step.tau, step.victim, step.added) == (pytest.approx(0.1), 2, True)
    np.testing.assert_allclose(oracle.coef[:, 0], [1.28, 1.92])


# ----------------------------------------------------------------------------------------------------
# BPA


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
        assert numerical[step.victim] == pytest.approx(min(numerical), rel=1e-10, abs=1e-10)
        clipped += step.tau == C
    assert 30 < clipped < N_STATES - 30


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
        removals += step.victim is not None
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
    assert (step.victim, step.tau, step.degradation) == (1, 1.0, 0.25)
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
    assert step.victim == 1
    np.testing.assert_allclose(oracle.coef[:, 0], [0.2, 0.8 - 1.0])
    assert step.runner_up == pytest.approx(step.objective + 0.5 * 0.2**2 * (1.0 - np.exp(-0.5)))
