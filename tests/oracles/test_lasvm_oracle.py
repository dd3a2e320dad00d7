"""Checks of the oracle of LASVM-G, LASVM-NC, LASVM-I and FULL SVM, against definitions and general solvers."""

from copy import deepcopy

import numpy as np
import pytest
from scipy.optimize import minimize

from .bsgd import kernel_matrix
from .lasvm import LASVMOracle, coordinate_step, dual, hinge_primal, pair_step, ramp_dual, ramp_primal

VARIANTS = ["g", "nc", "i", "full"]
STEPS = ["pair", "single"]
KERNELS = ["rbf", "poly", "linear"]


def noisy_problem(n=70, d=2, seed=0, noise=0.15):
    """A curved boundary and flipped labels: there are outliers on both sides."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 > 0.4, 1, -1)
    return X, np.where(rng.random(n) < noise, -y, y)


def make_oracle(variant, cls=LASVMOracle, **changes):
    settings = {"C": 3.0, "s": -0.3, "gamma": 0.7, "degree": 2, "warm_up": 10, "clean_every": 20, "max_non_sv": 8}
    return cls(variant, **(settings | changes))


def learn(oracle, X, y):
    return [oracle.learn_one(row, label) for row, label in zip(X, y, strict=True)]


def direct_gap(oracle):
    """Primal minus dual from (1), (2) and (15) to (17)."""
    model = oracle.gram, oracle.y, oracle.alpha
    if oracle.variant == "nc":
        ramp = oracle.C, oracle.s, oracle.flipped
        return ramp_primal(*model, *ramp) - ramp_dual(*model, *ramp)
    return hinge_primal(*model, oracle.C) - dual(*model)


def box_qp(gram, y, low, high):
    """The maximum of the dual in a box by a general bounded minimiser."""
    result = minimize(
        lambda a: 0.5 * a @ gram @ a - y @ a,
        np.zeros(len(y)),
        jac=lambda a: gram @ a - y,
        bounds=list(zip(low, high, strict=True)),
        method="L-BFGS-B",
        options={"maxiter": 20000, "maxfun": 40000, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 30},
    )
    return result.x


class AscendingOracle(LASVMOracle):
    """Fails as soon as a step lowers the dual, leaves a box, or lets the gradients drift."""

    n_moves = 0

    def _move(self, steps):
        before = self.dual_objective
        promised = self._promised_gain(steps)
        super()._move(steps)
        gained = self.dual_objective - before
        assert gained == pytest.approx(promised, abs=1e-10 * (1.0 + abs(before)))
        assert promised > 0.0 or not any(steps.values())
        np.testing.assert_allclose(self.g, self.y - self.gram @ self.alpha, rtol=0, atol=1e-9)
        assert np.all(self.low <= self.alpha)
        assert np.all(self.alpha <= self.high)
        self.n_moves += any(steps.values())

    def _promised_gain(self, steps):
        slots = list(steps)
        step = np.array([steps[k] for k in slots])
        return float(self.g[slots] @ step - 0.5 * step @ self.gram[np.ix_(slots, slots)] @ step)


# ----------------------------------------------------------------------------------------------------
# Single steps


def random_pair(rng):
    """Gradients, a positive definite 2 x 2 kernel (sometimes nearly singular), and a box around 0."""
    K_ii, K_jj = rng.uniform(0.2, 2.0, size=2)
    correlation = rng.choice([rng.uniform(-1, 1), 1.0 - 10.0 ** rng.uniform(-15, -3), 1.0, -1.0, 0.0])
    K = K_ii, correlation * np.sqrt(K_ii * K_jj), K_jj
    widths = rng.uniform(0.0, 2.0, size=(2, 2)) * rng.choice([0.0, 1.0, 1.0], size=(2, 2))
    return rng.normal(size=2), K, -widths[0], widths[1]


def pair_gain(g, K, a, b):
    return g[0] * a + g[1] * b - 0.5 * (K[0] * a**2 + 2.0 * K[1] * a * b + K[2] * b**2)


@pytest.mark.parametrize("seed", range(5))
def test_pair_step_is_the_maximum_of_the_two_variable_problem(seed):
    rng = np.random.default_rng(seed)
    n_inside = 0
    for _ in range(100):
        g, K, low, high = random_pair(rng)
        a, b = pair_step(g, K, low, high)
        assert low[0] <= a <= high[0]
        assert low[1] <= b <= high[1]
        gain = pair_gain(g, K, a, b)
        # a grid with all corners, then a finer one around its best point
        corner_low, corner_high = low, high
        for _ in range(4):
            A, B = np.meshgrid(*np.linspace(corner_low, corner_high, 41).T, indexing="ij")
            values = pair_gain(g, K, A, B)
            best = np.unravel_index(np.argmax(values), values.shape)
            assert values[best] <= gain + 1e-12
            centre, width = np.array([A[best], B[best]]), (corner_high - corner_low) / 20
            corner_low, corner_high = np.maximum(low, centre - width), np.minimum(high, centre + width)
        assert gain == pytest.approx(values[best], abs=1e-5)
        n_inside += low[0] < a < high[0] and low[1] < b < high[1]
    assert 0 < n_inside < 100


def test_pair_step_ends_exactly_at_the_ends_of_the_box():
    low, high = np.array([-0.1, -0.3]), np.array([0.2, 0.7])
    assert pair_step((50.0, 50.0), (1.0, 0.1, 1.0), low, high) == (0.2, 0.7)
    assert pair_step((-50.0, 50.0), (1.0, 0.1, 1.0), low, high) == (-0.1, 0.7)
    a, b = pair_step((50.0, 0.2), (1.0, 0.5, 1.0), low, high)
    assert a == 0.2
    assert b == pytest.approx(0.2 - 0.5 * 0.2)


def test_pair_step_with_two_equal_rows_of_opposite_labels():
    # g_i a + g_j b - (a + b)^2 / 2 with g_i = 1, g_j = -1: the farther apart the better
    assert pair_step((1.0, -1.0), (1.0, 1.0, 1.0), (0.0, -2.0), (2.0, 0.0)) == (2.0, -2.0)
    # nearly equal rows: the maximum inside is not computed, one on an edge is as good
    g, K = (0.5, 0.5), (1.0, 1.0 - 1e-14, 1.0)
    a, b = pair_step(g, K, (-2.0, -2.0), (2.0, 2.0))
    assert 2.0 in (abs(a), abs(b))
    assert pair_gain(g, K, a, b) == pytest.approx(pair_gain(g, K, 0.25, 0.25), abs=1e-12)


@pytest.mark.parametrize(
    ("g", "k", "expected"), [(1.0, 2.0, 0.5), (9.0, 2.0, 3.0), (-9.0, 2.0, -1.0), (1.0, 0.0, 0.0), (1.0, -1.0, 0.0)]
)
def test_coordinate_step(g, k, expected):
    assert coordinate_step(g, k, -1.0, 3.0) == expected


def test_a_step_to_the_end_of_the_box_ends_exactly_there():
    C, alpha = 1.0 + 2.0**-52, 2.0**-53
    assert alpha + (C - alpha) != C
    oracle = make_oracle("full", C=C)
    oracle.learn_one([0.0, 0.0], 1)
    oracle.alpha[0] = alpha
    oracle._move({0: C - alpha})
    assert oracle.alpha[0] == C


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_step_raises_the_dual_and_keeps_boxes_and_gradients(variant, steps, kernel):
    oracle = make_oracle(variant, AscendingOracle, steps=steps, kernel=kernel, C=0.5)
    X, y = noisy_problem(70)
    moves = sum((step.process_step != 0.0) + step.n_reprocess for step in learn(oracle, X, y))
    assert oracle.n_moves == moves > 10
    assert all(np.isin(oracle.alpha[np.abs(oracle.alpha) > 0.5 - 1e-9], [-0.5, 0.5]))  # exactly the bound
    oracle.finish(1e-3)
    assert oracle.violations().max() <= 1e-3


def test_the_pair_is_the_worst_violator_and_its_best_partner():
    X, y = noisy_problem(40)
    oracle = make_oracle("full", steps="pair", C=1.0)
    learn(oracle, X, y)
    checked = 0
    while checked < 25:
        alpha, g = oracle.alpha.copy(), oracle.g.copy()
        movable = np.where(g > 0, alpha < oracle.high, alpha > oracle.low)
        worst = np.max(np.abs(g[movable]))
        pair = oracle.reprocess(1e-8)
        if pair is None:
            break
        i = oracle.slot_of(pair[0])
        assert movable[i]
        assert abs(g[i]) == pytest.approx(worst, rel=1e-11)
        K, low, high = oracle.gram, oracle.low - alpha, oracle.high - alpha
        best_i = np.clip(g[i] / K[i, i], low[i], high[i])
        clipped = best_i != g[i] / K[i, i]
        r = g - K[i] * best_i
        curvature = np.diag(K) - (0.0 if clipped else 1.0) * K[i] ** 2 / K[i, i]
        curvature[i] = 1.0
        d = np.clip(r / curvature, low, high)
        gains = d * (r - curvature * d / 2)
        gains[i] = -np.inf
        if pair[1] is not None:
            assert gains[oracle.slot_of(pair[1])] == pytest.approx(gains.max(), rel=1e-9)
        checked += 1
    assert checked > 10


def test_a_lone_member_is_moved_alone_and_without_the_pair_test_of_the_paper():
    oracle = make_oracle("g", C=5.0)
    oracle.learn_one([0.0, 0.0], 1)
    assert oracle.alpha.tolist() == [1.0]
    oracle.alpha[:], oracle.g[:] = 0.4, 0.6  # a single free SV that is not optimal
    assert oracle.reprocess(1e-3) == (1, None, pytest.approx(0.6), 0.0)
    assert oracle.reprocess(1e-3) is None


def test_rows_of_no_length_are_never_moved_and_do_not_stop_the_others():
    oracle = make_oracle("full", kernel="linear", C=1.0)
    X, y = noisy_problem(30)
    X[::3] = 0.0
    learn(oracle, X, y)
    oracle.finish(1e-6)
    still = np.all(np.array(oracle.rows) == 0.0, axis=1)
    assert still.sum() == 10
    assert np.all(oracle.alpha[still] == 0.0)
    f = oracle.decision(X)
    moving = box_qp(oracle.gram, oracle.y, oracle.low, oracle.high)
    np.testing.assert_allclose(f, oracle.gram @ moving, atol=1e-4)
    assert oracle.duality_gap == pytest.approx(10 * oracle.C, abs=1e-3)


# ----------------------------------------------------------------------------------------------------
# The gap


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_gap_is_primal_minus_dual_and_never_negative(variant, kernel):
    X, y = noisy_problem(120)
    oracle = make_oracle(variant, kernel=kernel)
    most_flipped = 0
    for row, label in zip(X, y, strict=True):
        step = oracle.learn_one(row, label)
        most_flipped = max(most_flipped, oracle.flipped.sum())
        scale = hinge_primal(oracle.gram, oracle.y, oracle.alpha, oracle.C)
        assert oracle.duality_gap == pytest.approx(direct_gap(oracle), rel=1e-10, abs=1e-12 * scale)
        assert oracle.duality_gap >= 0.0
        if not step.cleaned:
            assert step.gap_after == oracle.duality_gap
    assert (most_flipped > 0) == (variant == "nc")


def test_gap_is_right_away_from_the_path_of_the_learner():
    rng = np.random.default_rng(3)
    X, y = noisy_problem(40)
    oracle = make_oracle("nc", max_non_sv=100)
    learn(oracle, X, y)
    for _ in range(50):
        oracle.flipped = rng.random(40) < 0.4
        oracle.alpha = oracle.labels * oracle.C * rng.choice([0.0, 1.0, rng.random()], size=40)
        oracle.g = oracle.y - oracle.gram @ oracle.alpha
        assert oracle.duality_gap == pytest.approx(direct_gap(oracle), rel=1e-10)
        assert oracle.duality_gap > 0.0


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_loop_goes_on_until_the_gap_is_at_the_target_and_no_longer(variant, steps):
    X, y = noisy_problem(100)
    oracle = make_oracle(variant, steps=steps, tau=1e-9)
    seen_loop = 0
    for row, label in zip(X, y, strict=True):
        h = oracle.C * oracle.y * oracle.g
        spread2 = np.sum(h**2) - np.sum(h) ** 2 / oracle.n_sv if oracle.n_sv else 0.0
        step = oracle.learn_one(row, label)
        if step.skipped:
            assert np.isnan(step.target)
            continue
        assert step.target == pytest.approx(max(oracle.C, np.sqrt(max(spread2, 0.0))))
        assert step.gap_after <= step.target
        assert step.n_reprocess == len(step.pairs)
        seen_loop += step.n_reprocess > 0
    assert seen_loop > 5


def test_the_loop_stops_at_tau():
    oracle = make_oracle("full", tau=0.3)
    learn(oracle, *noisy_problem(60))
    assert oracle.violations().max() > 0.3
    assert oracle._close_gap(0.0) != []
    assert 0.01 < oracle.violations().max() <= 0.3
    assert oracle.duality_gap > 0.0
    assert oracle._close_gap(0.0) == []
    oracle.finish(0.01)
    assert oracle.violations().max() <= 0.01


def test_pair_steps_need_fewer_reprocess():
    X, y = noisy_problem(100)
    counts = {steps: sum(s.n_reprocess for s in learn(make_oracle("full", steps=steps), X, y)) for steps in STEPS}
    assert counts["pair"] < counts["single"] / 2


# ----------------------------------------------------------------------------------------------------
# Convergence


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize(("variant", "seed"), [("full", 0), ("full", 1), ("nc", 0), ("g", 1)])
def test_finish_solves_the_box_qp_of_the_members(variant, seed, steps):
    X, y = noisy_problem(60, seed=seed, noise=0.05)
    oracle = make_oracle(variant, steps=steps, C=5.0, gamma=2.0)
    learn(oracle, X, y)
    if variant == "nc":  # flip some that will not be outliers, so that their coefficients matter
        oracle.flipped = np.arange(len(oracle.ids)) % 3 == 0
        oracle.low, oracle.high = np.minimum(0, 5.0 * oracle.labels), np.maximum(0, 5.0 * oracle.labels)
        oracle.alpha, oracle.g = np.zeros(len(oracle.ids)), oracle.y.copy()
    oracle.finish(1e-7)
    assert np.count_nonzero(oracle.alpha[oracle.flipped]) >= 3 * (variant == "nc")
    best = box_qp(oracle.gram, oracle.y, oracle.low, oracle.high)
    assert oracle.dual_objective == pytest.approx(dual(oracle.gram, oracle.y, best), rel=1e-8)
    np.testing.assert_allclose(oracle.decision(X), kernel_matrix(X, oracle.rows, **oracle.kernel) @ best, atol=1e-4)
    assert oracle.duality_gap < 1e-4


def test_more_epochs_of_full_come_nearer_to_the_batch_solution():
    X, y = noisy_problem(60)
    oracle = make_oracle("full", tau=1e-6)
    learn(oracle, X, y)
    best = dual(oracle.gram, oracle.y, box_qp(oracle.gram, oracle.y, oracle.low, oracle.high))
    behind = [best - oracle.dual_objective]
    for _ in range(3):
        for id in range(1, 61):
            oracle.relearn(id)
        behind.append(best - oracle.dual_objective)
    assert behind[0] > behind[1] > behind[2] > behind[3] >= -1e-9
    assert behind[3] < 0.3 * behind[0]
    assert oracle.t == oracle.n_admitted == 60


def test_relearn_is_a_coordinate_step_and_the_gap_loop():
    X, y = noisy_problem(60)
    oracle = make_oracle("nc", max_non_sv=100)
    learn(oracle, X, y)
    flipped = oracle.flipped.copy()
    for id in oracle.ids:
        k = oracle.slot_of(id)
        alpha, g, target = oracle.alpha[k], oracle.g[k], oracle.gap_target
        step = oracle.relearn(id)
        assert step.t == id
        assert step.z == pytest.approx(1.0 - oracle.y[k] * g)
        assert step.target == target
        assert step.process_step == pytest.approx(np.clip(alpha + g, oracle.low[k], oracle.high[k]) - alpha, abs=1e-12)
        assert step.gap_after <= target or oracle.violations().max() <= oracle.tau
    np.testing.assert_array_equal(oracle.flipped, flipped)
    with pytest.raises(ValueError, match="not a member"):
        oracle.relearn(61)


# ----------------------------------------------------------------------------------------------------
# The variants


def paper_run(X, y, *, C, s, warm_up, gamma, tau):
    """LASVM-NC in the paper's terms: beta, the boxes of (17), a_k = alpha_k y_k + beta_k; single steps, no CLEAN."""
    gram = np.exp(-gamma * np.sum((X[:, None] - X[None]) ** 2, axis=2))
    alpha, beta = np.zeros(len(y)), np.zeros(len(y))

    def step(k):
        g = y[k] - gram[k] @ alpha
        low, high = (end(0, C * y[k]) - beta[k] * y[k] for end in (min, max))
        if g < 0:
            alpha[k] += max(low - alpha[k], g / gram[k, k])
        else:
            alpha[k] += min(high - alpha[k], g / gram[k, k])

    for t in range(len(y)):
        n_sv = np.count_nonzero(alpha)
        beta[t] = C if y[t] * (gram[t] @ alpha) < s and n_sv > warm_up else 0.0
        old, now = np.arange(t), np.arange(t + 1)
        h = C * y[old] * (y - gram @ alpha)[old]
        target = max(C, np.sqrt(max(0.0, h @ h - h.sum() ** 2 / n_sv))) if n_sv else C
        step(t)
        while True:
            u = y[now] * (y - gram @ alpha)[now]
            a = alpha[now] * y[now] + beta[now]
            if np.sum(C * np.maximum(0, u) - a * u) <= target:
                break
            # a_k < C: u_k may pull it up; a_k > 0: it may pull it down
            violation = np.maximum(np.where(a < C, u, -np.inf), np.where(a > 0, -u, -np.inf))
            if violation.max() <= tau:
                break
            step(int(np.argmax(violation)))
    return alpha, beta


@pytest.mark.parametrize("seed", range(4))
def test_the_flip_is_beta_of_the_paper(seed):
    X, y = noisy_problem(70, seed=seed)
    settings = {"C": 3.0, "s": -0.3, "warm_up": 10, "gamma": 0.7, "tau": 1e-3}
    oracle = LASVMOracle("nc", steps="single", max_non_sv=1000, **settings)
    steps = learn(oracle, X, y)
    alpha, beta = paper_run(X, y, **settings)
    np.testing.assert_array_equal(oracle.flipped, beta > 0)
    assert oracle.flipped.any()
    assert [step.flipped for step in steps] == oracle.flipped.tolist()
    np.testing.assert_allclose(oracle.alpha, alpha, atol=1e-9)
    np.testing.assert_array_equal(oracle.low, np.minimum(0, 3.0 * y) - beta * y)
    np.testing.assert_array_equal(oracle.high, np.maximum(0, 3.0 * y) - beta * y)


@pytest.mark.parametrize("variant", VARIANTS)
def test_which_examples_are_skipped_flipped_and_counted(variant):
    X, y = noisy_problem(150)
    oracle = make_oracle(variant, max_non_sv=10_000)
    left = right = admitted = late_left = early_left = 0
    for t, (row, label) in enumerate(zip(X, y, strict=True), start=1):
        z, n_sv, n_members = label * oracle.decision(row)[0], oracle.n_sv, len(oracle.ids)
        step = oracle.learn_one(row, label)
        assert (step.t, step.z) == (t, pytest.approx(z, abs=1e-12))
        outlier = z < -0.3 and n_sv > 10
        assert step.skipped == (variant == "i" and (z > 1 or outlier))
        assert step.flipped == (variant == "nc" and outlier)
        assert len(oracle.ids) == n_members + (not step.skipped)
        if step.flipped:
            assert step.process_step == 0.0
        if not step.skipped:
            admitted += 1
            left += z < -0.3
            right += z > 1
            assert (oracle.ids[-1], oracle.y[-1]) == (t, label)
        late_left += outlier
        early_left += z < -0.3 and not outlier
    assert (oracle.n_admitted, oracle.admitted_left, oracle.admitted_right) == (admitted, left, right)
    assert late_left > 3
    assert early_left > 0
    assert oracle.t == 150


def test_clean_removes_the_non_svs_farthest_from_the_margin():
    X, y = noisy_problem(200, noise=0.05)
    oracle = make_oracle("g", clean_every=30, max_non_sv=5)
    z_seen, n_cleans = {}, 0
    left = right = 0
    for row, label in zip(X, y, strict=True):
        members = deepcopy(oracle)
        members.clean_every = 10_000
        members.learn_one(row, label)  # the same step without CLEAN
        step = oracle.learn_one(row, label)
        z_seen[step.t] = step.z
        non_sv = sorted((abs(g), id) for g, a, id in zip(members.g, members.alpha, members.ids, strict=True) if a == 0)
        expected = sorted(id for _, id in non_sv[5:]) if step.t % 30 == 0 else []
        assert step.cleaned == expected
        assert oracle.ids == [id for id in members.ids if id not in expected]
        np.testing.assert_array_equal(oracle.alpha[oracle.alpha != 0], members.alpha[members.alpha != 0])
        n_cleans += bool(expected)
        left += sum(z_seen[id] < -0.3 for id in expected)
        right += sum(z_seen[id] > 1 for id in expected)
    assert n_cleans >= 3
    assert (oracle.cleaned_left, oracle.cleaned_right) == (left, right)
    assert right > 0
    np.testing.assert_allclose(oracle.g, oracle.y - oracle.decision(oracle.rows), atol=1e-9)


def test_clean_keeps_the_older_of_equals_and_full_never_cleans():
    oracle = make_oracle("g", C=1.0, clean_every=6, max_non_sv=2)
    for _ in range(5):
        oracle.learn_one([0.0, 0.0], 1)  # the first one becomes an SV at the margin, the others stay at 0
    assert oracle.alpha.tolist() == [1.0, 0.0, 0.0, 0.0, 0.0]
    oracle.learn_one([9.0, 9.0], -1)
    assert oracle.ids == [1, 2, 3, 6]
    full = make_oracle("full", clean_every=6, max_non_sv=2)
    for _ in range(12):
        full.learn_one([0.0, 0.0], 1)
    assert len(full.ids) == 12


def test_nc_is_sparser_than_g_under_label_noise():
    X, y = noisy_problem(200, noise=0.2)
    n_sv = {}
    for variant in ("g", "nc", "i"):
        oracle = make_oracle(variant, max_non_sv=1000, s=-0.5)
        learn(oracle, X, y)
        n_sv[variant] = oracle.n_sv
    assert n_sv["nc"] < 0.8 * n_sv["g"]
    assert n_sv["i"] < 0.8 * n_sv["g"]


@pytest.mark.parametrize("wrong", [{"variant": "x"}, {"steps": "triple"}, {"kernel": "x"}, {"s": 1.0}])
def test_wrong_settings(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        LASVMOracle(**({"variant": "g"} | wrong))
