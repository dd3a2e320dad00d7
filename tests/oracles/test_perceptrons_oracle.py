"""Checks of the perceptron oracles themselves: what holds for all, those that remove, Forgetron and the tight ones."""

import numpy as np
import pytest

from .bpa import VARIANTS, BPAOracle
from .bsgd import kernel_matrix
from .perceptrons import (
    FORGETRON_SHARE,
    MULTI_CLASS_STRATEGIES,
    STRATEGIES,
    PerceptronOracle,
    forgetron_psi,
    forgetron_shrinkage,
)
from .states import (
    FAR_APART,
    N_STATES,
    learn,
    noisy_problem,
    set_model,
    stream,
)

# ----------------------------------------------------------------------------------------------------
# What holds for all


def any_oracle(name, *, budget, n_outputs=1, **changes):
    """A perceptron by its strategy, or a BPA by its variant."""
    settings = {"gamma": 0.5, "degree": 2} | changes
    if name in VARIANTS:
        return BPAOracle(name, budget=budget, **settings)
    return PerceptronOracle(name, budget, n_outputs=n_outputs, **settings)


@pytest.mark.parametrize(("kernel", "budget"), [("rbf", 1), ("poly", 2), ("linear", 7), ("rbf", 7)])
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
        assert (one.violated, one.dropped, one.projected) == (other.violated, other.dropped, other.projected)
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

    oracle = PerceptronOracle("random", 3, draw_dropped=second)
    steps = learn(oracle, FAR_APART, [1, -1, 1, -1, 1])
    assert asked == [3, 3]
    assert [step.dropped for step in steps] == [None, None, None, 1, 1]
    np.testing.assert_array_equal(oracle.rows, FAR_APART[[0, 4, 2]])
    np.testing.assert_array_equal(oracle.coef[:, 0], [1, 1, 1])
    assert oracle.births == [1, 5, 3]


def test_random_is_uniform_over_the_old_ones():
    oracle = PerceptronOracle("random", 4, draw_dropped=np.random.default_rng(5))
    steps = learn(oracle, 100.0 * np.arange(4004)[:, None], np.ones(4004))
    counts = np.bincount([step.dropped for step in steps[4:]], minlength=5)
    assert counts[4] == 0
    assert np.all(np.abs(counts[:4] - 1000) < 120)  # four standard deviations


def test_budget_removes_the_best_classified_without_itself():
    oracle = set_model(PerceptronOracle("budget", 3), [[0.0], [0.1], [100.0]], [1, 1, -1])
    step = oracle.learn_one([200.0], -1)
    # the first two support each other equally: the first goes, and the newcomer takes its slot
    assert step.dropped == 0
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
        if step.dropped is None:
            continue
        removals += 1
        confidences = []
        for j in range(len(rows)):
            others = np.delete(np.arange(len(rows)), j)
            k = kernel_matrix(rows[j], [rows[i] for i in others], kernel="rbf", gamma=0.5)[0]
            confidences.append(np.sign(alpha[j]) * (k @ alpha[others]))
        assert confidences[step.dropped] == pytest.approx(max(confidences), rel=1e-9)
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
    assert first.dropped is None
    # 2 phi - phi^2 <= 15/16 gives phi = 1 - 1/4
    assert (second.dropped, second.phi, second.psi) == (0, pytest.approx(0.75), pytest.approx(15 / 16))
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
        if step.dropped is not None:
            oldest = int(np.argmin(births))
            gram = kernel_matrix(rows, rows, kernel=kernel, gamma=0.3, degree=2, coef0=0.5)
            sigma, mu = abs(alpha[oldest]), np.sign(alpha[oldest]) * (gram @ alpha)[oldest]
            spoiled += forgetron_psi(step.phi * sigma, step.phi * mu)
            assert step.dropped == oldest
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
        if step.dropped is None:
            continue
        removals += 1
        validation = [(row, *count) for row, count in zip(rows, counts, strict=True)]
        errors = []
        for r in range(len(rows)):
            others = [j for j in range(len(rows)) if j != r]
            errors.append(errors_of([rows[j] for j in others], alpha[others], validation))
        assert step.dropped == min(range(len(rows)), key=lambda r: (errors[r], births[r]))
        assert step.score == min(errors)
    assert removals > 20


def test_tighter_small_example():
    """The pair at 0 supports each other. Removing the lone negative, which 0 would call positive, costs an error."""
    oracle = set_model(PerceptronOracle("tighter", 3), [[100.0], [0.0], [0.1]], [-1, 1, 1])
    step = oracle.learn_one([200.0], -1)
    assert (step.dropped, step.score, step.runner_up) == (1, 0, 0)


def test_tighter_takes_tiny_values_for_zero():
    """Without the positive at 6, f is -e^-36 there: less than the rounding errors of larger models, so no error."""
    oracle = set_model(PerceptronOracle("tighter", 2), [[0.0], [6.0]], [-1, 1])
    step = oracle.learn_one([100.0], -1)
    assert (step.dropped, step.score, step.runner_up) == (1, 0, 1)


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
    assert (step.dropped, step.score, step.runner_up) == (1, 0, 1)
    # its negative is counted by the SV at 8.5, which moves into its slot
    np.testing.assert_array_equal(oracle.rows, [[0.0], [8.5], [8.0]])
    np.testing.assert_array_equal(oracle.counts, [[3, 0], [0, 2], [1, 0]])


def test_tightest_weighs_what_tighter_counts_once():
    """A busy place and an empty one: tighter does not tell them apart, tightest keeps the busy one."""
    rows, alpha = [[0.0], [100.0], [200.0]], [-1, -1, -1]
    tighter = set_model(PerceptronOracle("tighter", 3), rows, alpha)
    tightest = set_model(PerceptronOracle("tightest", 3), rows, alpha)
    tightest.counts = np.array([[0.0, 9.0], [0.0, 2.0], [4.0, 5.0]])
    assert tighter.learn_one([300.0], -1).dropped == 0
    step = tightest.learn_one([300.0], -1)
    # errors now: 4 at the third SV. Without it the place is called positive: 5. Without the newcomer: 4 + 1.
    assert (step.dropped, step.score, step.runner_up) == (2, 5, 5)
    # nothing is nearer than anything else at this distance: the first SV takes the counts over
    np.testing.assert_array_equal(tightest.counts, [[4, 14], [0, 2], [0, 1]])
