"""Checks of the oracle of the tracking SVMs, against the paper's definitions, its lemma and a general solver."""

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar

from .bsgd import kernel_matrix
from .tracking import BatchTrackingOracle, TrackingOracle, dual, duality_bound, normalised_gap, primal

# process, cached
ALGORITHMS = {"algorithm 1": (False, False), "algorithm 2": (True, False), "section 5.2": (True, True)}


def noisy_problem(n=60, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 > 0.4, 1, -1)
    return X, np.where(rng.random(n) < noise, -y, y)


def make_oracle(algorithm, seed=0, cls=TrackingOracle, **changes):
    process, cached = ALGORITHMS[algorithm]
    draw = np.random.default_rng(seed).integers
    return cls(**({"process": process, "cached": cached, "gamma": 0.7, "C": 2.0, "n_steps": 5, "draw": draw} | changes))


def learn(oracle, X, y):
    return [oracle.learn_one(row, label) for row, label in zip(X, y, strict=True)]


def gram_of(X, gamma=0.7):
    return kernel_matrix(X, X, kernel="rbf", gamma=gamma)


class Recorder:
    """Draws, and remembers what was asked for and answered."""

    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)
        self.asked, self.answered = [], []

    def __call__(self, n):
        self.asked.append(n)
        self.answered.append(int(self.rng.integers(n)))
        return self.answered[-1]


# ----------------------------------------------------------------------------------------------------
# The algorithms, line by line


def printed_algorithm(X, y, *, C, K, draws, process):
    """Algorithms 1 and 2 as printed, with everything computed anew; alpha and the mean after every example."""
    gram, draws = gram_of(X), iter(draws)
    alpha, history = np.zeros(len(y)), []

    def g(i):
        return 1.0 - y[i] * np.sum(alpha * y * gram[:, i])

    for t in range(len(y)):
        if process:
            alpha[t] = max(0.0, min(C, g(t) / gram[t, t]))
        mean = np.zeros(len(y))
        for k in range(1, K + 1):
            i = next(draws)
            alpha[i] += max(-alpha[i], min(C - alpha[i], g(i) / gram[i, i]))
            mean = (k - 1) / k * mean + alpha / k
        history.append((alpha[: t + 1].copy(), mean[: t + 1]))
    return history


@pytest.mark.parametrize("n_steps", [1, 7])
@pytest.mark.parametrize("algorithm", ["algorithm 1", "algorithm 2"])
def test_the_printed_algorithms(algorithm, n_steps):
    X, y = noisy_problem(40)
    draw = Recorder()
    oracle = make_oracle(algorithm, n_steps=n_steps, draw=draw)
    states = []
    for row, label in zip(X, y, strict=True):
        step = oracle.learn_one(row, label)
        assert step.t == oracle.t == len(states) + 1
        assert [i for i, _ in step.moves] == [k + 1 for k in draw.answered[-n_steps:]]
        states.append((oracle.alpha.copy(), oracle.mean_alpha.copy()))
        np.testing.assert_allclose(
            oracle.decision(X), kernel_matrix(X, X[: step.t], kernel="rbf", gamma=0.7) @ (oracle.mean_alpha * oracle.y)
        )
    assert draw.asked == [t for t in range(1, 41) for _ in range(n_steps)]
    expected = printed_algorithm(X, y, C=2.0, K=n_steps, draws=draw.answered, process=oracle.process)
    for (alpha, mean), (expected_alpha, expected_mean) in zip(states, expected, strict=True):
        np.testing.assert_allclose(alpha, expected_alpha, atol=1e-10)
        np.testing.assert_allclose(mean, expected_mean, atol=1e-10)
    assert not np.allclose(oracle.alpha, oracle.mean_alpha) or n_steps == 1


def test_algorithm_2_sets_the_coefficient_of_the_newcomer_and_algorithm_1_does_not():
    X, y = noisy_problem(30)
    second, first = (make_oracle(name, draw=lambda n: 0) for name in ("algorithm 2", "algorithm 1"))
    ends = set()
    for t, (row, label) in enumerate(zip(X, y, strict=True)):
        g = 1.0 - label * second.last_decision(row)[0]
        step = second.learn_one(row, label)
        assert step.z == pytest.approx(1.0 - g)
        assert first.learn_one(row, label).process_step == 0.0
        if t > 0:  # draw always answers 0, so nobody else has touched it
            assert second.alpha[t] == step.process_step == pytest.approx(min(max(g, 0.0), 2.0))
            assert first.alpha[t] == 0.0
            ends.add(np.sign(second.alpha[t]) + (second.alpha[t] == 2.0))
    assert ends >= {0, 1}


def test_without_averaging_the_output_is_the_last_iterate():
    X, y = noisy_problem(30)
    averaged, last = (make_oracle("algorithm 2", average=average) for average in (True, False))
    learn(averaged, X, y)
    learn(last, X, y)
    np.testing.assert_array_equal(averaged.alpha, last.alpha)
    np.testing.assert_array_equal(last.decision(X), averaged.last_decision(X))
    assert np.max(np.abs(averaged.decision(X) - last.decision(X))) > 1e-3
    assert last.output_normalised_gap == last.normalised_gap != averaged.output_normalised_gap


# ----------------------------------------------------------------------------------------------------
# Section 5.2


def test_the_cached_variant_draws_support_vectors_only_and_forgets_the_others():
    X, y = noisy_problem(80)
    draw = Recorder()
    oracle = make_oracle("section 5.2", draw=draw, n_steps=1, C=1.0)
    forgotten, n_shortcuts = set(), 0
    for row, label in zip(X, y, strict=True):
        n_before, alpha = len(draw.asked), oracle.alpha.copy()
        g_old = {i: g for i, g in oracle.kept_gradients.items() if oracle.alpha[i - 1] == oracle.C}
        step = oracle.learn_one(row, label)
        candidates = [i + 1 for i in np.flatnonzero(np.append(alpha, step.process_step) > 0)]
        assert draw.asked[n_before:] == [len(candidates)]
        ((i, added),) = step.moves
        assert i == candidates[draw.answered[-1]]
        if step.process_step == 0.0 and i in g_old and g_old[i] >= 0.0:
            assert added == 0.0
            n_shortcuts += 1
        assert set(oracle.kept_gradients) == {k + 1 for k in np.flatnonzero(oracle.alpha > 0)}
        for k, g in oracle.kept_gradients.items():
            assert g == pytest.approx(1.0 - oracle.y[k - 1] * oracle.last_decision(oracle.rows[k - 1])[0])
        assert not forgotten & set(oracle.kept_gradients)
        forgotten |= {k + 1 for k in np.flatnonzero(oracle.alpha == 0)}
    assert n_shortcuts > 3
    assert len(forgotten) > 10


def test_a_forgotten_support_vector_is_in_the_mean_until_the_next_example():
    oracle = make_oracle("section 5.2", n_steps=40, C=5.0)
    seen = 0
    for row, label in zip(*noisy_problem(60), strict=True):
        before = oracle.alpha.copy()
        oracle.learn_one(row, label)
        gone = (before > 0) & (oracle.alpha[:-1] == 0)
        assert np.all(oracle.mean_alpha[:-1][(before == 0)] == 0.0)
        seen += np.count_nonzero(oracle.mean_alpha[:-1][gone])
    assert seen > 0


def test_the_cached_variant_without_any_support_vector_is_idle():
    oracle = make_oracle("section 5.2", n_steps=3, kernel="linear", draw=lambda n: pytest.fail("nothing to draw from"))
    step = oracle.learn_one([0.0, 0.0], 1)  # no length: PROCESS leaves it alone
    assert step.moves == [(None, 0.0)] * 3
    assert oracle.n_sv == 0
    assert oracle.normalised_gap == 1.0


def test_drawing_all_and_skipping_zeros_is_drawing_support_vectors():
    """The literal reading, with the draws that hit an alpha of 0 taken out, is the reading of the oracle."""
    X, y = noisy_problem(30)
    rng = np.random.default_rng(4)
    gram, C, alpha, literal_draws = gram_of(X), 2.0, np.zeros(30), []
    for t in range(30):
        g = 1.0 - y * (gram @ (alpha * y))
        alpha[t] = min(max(g[t], 0.0), C)
        useful = 0
        while useful < 5:
            i = int(rng.integers(t + 1))
            if alpha[i] == 0.0:
                continue  # shortcut
            literal_draws.append(int(np.flatnonzero(alpha > 0).tolist().index(i)))
            g = 1.0 - y * (gram @ (alpha * y))
            if not (alpha[i] == C and g[i] >= 0.0):
                alpha[i] = min(max(alpha[i] + g[i], 0.0), C)
            useful += 1
    draws = iter(literal_draws)
    oracle = make_oracle("section 5.2", draw=lambda n: next(draws))
    learn(oracle, X, y)
    np.testing.assert_allclose(oracle.alpha, alpha, atol=1e-10)


# ----------------------------------------------------------------------------------------------------
# Duality


def test_gap_is_the_sum_of_equation_4():
    rng = np.random.default_rng(0)
    X, y = noisy_problem(30)
    gram, C = gram_of(X), 1.5
    for _ in range(30):
        alpha = C * rng.choice([0.0, 1.0, rng.random()], size=30)
        g = 1.0 - y * (gram @ (alpha * y))
        terms = np.maximum((C - alpha) * g, -alpha * g)
        assert np.all(terms >= 0.0)
        assert normalised_gap(gram, y, alpha, C) == pytest.approx(terms.sum() / (C * 30), rel=1e-10)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_gaps_of_the_oracle_are_primal_minus_dual_and_positive(algorithm):
    X, y = noisy_problem(60)
    oracle = make_oracle(algorithm)
    for t, (row, label) in enumerate(zip(X, y, strict=True), start=1):
        oracle.learn_one(row, label)
        for decision, alpha, gap in (
            (oracle.last_decision, oracle.alpha, oracle.normalised_gap),
            (oracle.decision, oracle.mean_alpha, oracle.output_normalised_gap),
        ):
            f = decision(X[:t])
            norm2 = f @ (alpha * y[:t])
            direct = norm2 + 2.0 * np.maximum(0.0, 1.0 - y[:t] * f).sum() - alpha.sum()
            assert gap == pytest.approx(direct / (2.0 * t), rel=1e-10, abs=1e-13)
            assert gap > -1e-13


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_every_step_raises_the_dual_by_the_most_it_can(algorithm, kernel):
    class Watched(TrackingOracle):
        def ascend(self, i):
            before, alpha = dual(self.gram, self.y, self.alpha), self.alpha.copy()
            added = super().ascend(i)
            assert np.all((self.alpha >= 0.0) & (self.alpha <= self.C))
            assert np.flatnonzero(self.alpha != alpha).tolist() == ([i] if added else [])
            after = dual(self.gram, self.y, self.alpha)
            direction = np.eye(len(alpha))[i]
            for value in np.linspace(0.0, self.C, 9):
                other = dual(self.gram, self.y, alpha + (value - alpha[i]) * direction)
                assert other <= after + 1e-10 * (1.0 + abs(after))
            assert after > before or abs(added) < 1e-9
            return added

    oracle = make_oracle(algorithm, cls=Watched, kernel=kernel, degree=2, C=0.7)
    learn(oracle, *noisy_problem(40))
    assert oracle.n_sv > 5
    assert np.any(oracle.alpha == 0.7)


def mean_coordinate_gain(gram, y, alpha, C):
    """The expectation in lemma 1, each maximum found by a bounded search."""
    gains = []
    for i in range(len(y)):
        direction = np.eye(len(y))[i]
        found = minimize_scalar(
            lambda value, i=i, direction=direction: -dual(gram, y, alpha + (value - alpha[i]) * direction),
            bounds=(0.0, C),
            method="bounded",
            options={"xatol": 1e-10},
        )
        gains.append(-found.fun - dual(gram, y, alpha))
    return max(np.mean(gains), 0.0)


@pytest.mark.parametrize("C", [0.2, 1.0, 5.0])
def test_lemma_1(C):
    rng = np.random.default_rng(1)
    X, y = noisy_problem(12)
    ratios = []
    for gram in (gram_of(X), (X @ X.T) / np.max(np.sum(X**2, axis=1))):
        for _ in range(15):
            alpha = C * rng.choice([0.0, 1.0, rng.random()], size=12)
            bound = duality_bound(mean_coordinate_gain(gram, y, alpha, C), C)
            gap = normalised_gap(gram, y, alpha, C)
            assert gap <= bound + 1e-9
            ratios.append(gap / bound)
    assert max(ratios) > 0.3  # the bound is not idle


def test_lemma_1_is_nearly_tight_for_one_example():
    gram, y, alpha, C = np.ones((1, 1)), np.ones(1), np.zeros(1), 10.0
    bound = duality_bound(mean_coordinate_gain(gram, y, alpha, C), C)
    assert bound == pytest.approx(1.05)  # sqrt(2 x) + x / C with the gain x = 1/2
    assert normalised_gap(gram, y, alpha, C) == 1.0


def test_lemma_1_needs_rows_of_length_1():
    gram, y, alpha, C = np.array([[9.0]]), np.array([1.0]), np.zeros(1), 10.0
    assert normalised_gap(gram, y, alpha, C) > duality_bound(mean_coordinate_gain(gram, y, alpha, C), C)


def optimal_primal(gram, y, C):
    result = minimize(
        lambda a: -dual(gram, y, a),
        np.zeros(len(y)),
        jac=lambda a: y * (gram @ (a * y)) - 1.0,
        bounds=[(0.0, C)] * len(y),
        method="L-BFGS-B",
        options={"maxiter": 5000, "ftol": 1e-14, "gtol": 1e-8},
    )
    return -result.fun


@pytest.mark.parametrize("algorithm", ["algorithm 1", "algorithm 2"])
def test_theorems_2_and_3(algorithm):
    X, y = noisy_problem(50)
    gram, C, K = gram_of(X), 2.0, 20
    oracle = make_oracle(algorithm, n_steps=K)
    excess = []
    gained_by_process = 0.0
    for t, (row, label) in enumerate(zip(X, y, strict=True), start=1):
        g = 1.0 - label * oracle.last_decision(row)[0]
        step = oracle.learn_one(row, label)
        gained_by_process += step.process_step * g - 0.5 * step.process_step**2
        best = optimal_primal(gram[:t, :t], y[:t], C)
        excess.append((primal(gram[:t, :t], y[:t], oracle.mean_alpha, C) - best) / (C * t))
    assert min(excess) > -1e-6
    bound = duality_bound((best - gained_by_process) / (K * 50), C)
    assert 0.02 * bound < np.mean(excess) <= bound


def test_more_steps_and_process_lower_the_gap():
    X, y = noisy_problem(100)

    def mean_gap(algorithm, n_steps):
        gaps = []
        for seed in range(3):
            oracle = make_oracle(algorithm, seed=seed, n_steps=n_steps)
            for row, label in zip(X, y, strict=True):
                oracle.learn_one(row, label)
                gaps.append(oracle.normalised_gap)
        return np.mean(gaps)

    first = [mean_gap("algorithm 1", n_steps) for n_steps in (2, 8, 32)]
    second = [mean_gap("algorithm 2", n_steps) for n_steps in (2, 8, 32)]
    assert first[0] > 1.5 * first[1] > 2.25 * first[2]
    assert second[0] > 1.5 * second[1] > 2.25 * second[2]
    assert all(b < a for a, b in zip(first, second, strict=True))


# ----------------------------------------------------------------------------------------------------
# The batch counterpart


def test_batch_converges_to_the_box_qp():
    X, y = noisy_problem(40)
    batch = BatchTrackingOracle(X, y, C=2.0, gamma=2.0, draw=np.random.default_rng(0).integers)
    assert batch.normalised_gap == 1.0  # alpha = 0: P = C t, D = 0
    batch.run(6000)
    best = optimal_primal(gram_of(X, 2.0), y, 2.0)
    assert dual(batch.gram, batch.y, batch.alpha) == pytest.approx(best, rel=1e-6)
    assert batch.normalised_gap < 1e-4


def test_batch_averages_all_its_iterates():
    X, y = noisy_problem(20)
    draw = Recorder()
    batch = BatchTrackingOracle(X, y, C=2.0, gamma=0.7, draw=draw)
    iterates = []
    for _ in range(15):
        ((i, added),) = batch.run(1)
        assert i == draw.answered[-1] + 1
        previous = iterates[-1] if iterates else np.zeros(20)
        assert batch.alpha[i - 1] == previous[i - 1] + added
        iterates.append(batch.alpha.copy())
    assert draw.asked == [20] * 15
    np.testing.assert_allclose(batch.mean_alpha, np.mean(iterates, axis=0))
    np.testing.assert_allclose(batch.decision(X), batch.gram @ (batch.mean_alpha * y))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_steps": 0}, "n_steps"),
        ({"cached": True, "process": False}, "process=True"),
        ({"kernel": "x"}, "kernel"),
    ],
)
def test_wrong_settings(wrong, message):
    with pytest.raises(ValueError, match=message):
        TrackingOracle(**wrong)
