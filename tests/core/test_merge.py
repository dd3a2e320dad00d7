"""Merging: the best point, the bounds that prune the search, and the search for the best partner."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracles.bsgd import best_merge, merge_degradation, merge_minima

from frugalsvm.compiling.functions import entry
from frugalsvm.core.expansion import padded
from frugalsvm.core.kernels import RBF, kernel_row
from frugalsvm.core.losses import BinaryHinge, MulticlassHinge
from frugalsvm.core.merge import (
    FLAT,
    best_partner,
    best_point,
    between,
    degradation,
    gap,
    least_winning_kappa,
    log_kernel_value,
    lower_bound,
)


@entry
def best_points(A, C, B, log_kappa, h, lost):
    for i in range(A.size):
        h[i] = best_point(A[i], C[i], B[i], log_kappa[i])
        lost[i] = degradation(A[i], C[i], B[i], log_kappa[i], h[i])


@entry
def lower_bounds(kappa, size_ratio, cosine, out):
    for i in range(kappa.size):
        out[i] = lower_bound(kappa[i], size_ratio[i], cosine[i])


@entry
def winning_kappas(relative_loss, out):
    for i in range(out.size):
        out[i] = least_winning_kappa(relative_loss[i])


@entry
def helpers(kernel_values, logs, rows, m, n, h, target):
    for j in range(kernel_values.size):
        logs[j] = log_kernel_value(kernel_values, j)
    between(rows, m, n, h, target, 1)


def engine_merge(A, C, B, log_kappa):
    """Best h and degradation by the compiled code, element by element."""
    arrays = [np.ascontiguousarray(a, dtype=np.float64).ravel() for a in np.broadcast_arrays(A, C, B, log_kappa)]
    h, lost = np.empty_like(arrays[0]), np.empty_like(arrays[0])
    best_points(*arrays, h, lost)
    return h, lost


def least_degradation(A, C, B, log_kappa):
    """The least degradation over h in [0, 1] by brute force: a grid, then the best cell narrowed by thirds."""
    A, C, B, L = (a[..., None] for a in np.broadcast_arrays(A, C, B, log_kappa))

    def lost(h):
        return merge_degradation(h, A, B, C, L)

    grid = np.linspace(0.0, 1.0, 33)
    best = grid[lost(grid).argmin(axis=-1)][..., None]
    low, high = np.maximum(best - grid[1], 0.0), np.minimum(best + grid[1], 1.0)
    for _ in range(25):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        to_the_left = lost(left) < lost(right)
        low, high = np.where(to_the_left, low, left), np.where(to_the_left, right, high)
    candidates = np.concatenate([lost(0.5 * (low + high)), lost(np.array([0.0])), lost(np.array([1.0]))], axis=-1)
    return np.maximum(candidates.min(axis=-1), 0.0)


class TestBestPoint:
    """Against the oracle, which looks for all local minima."""

    def check(self, A, B, cosine, L, *, rtol=1e-8, flat=False):
        C = cosine * np.sqrt(A * B)
        h, lost = (float(a[0]) for a in engine_merge(A, C, B, L))
        expected_h, expected = best_merge(A, B, C, L)
        # Near kappa = 1 the degradation is made of rounding errors of A, B and C
        assert lost == pytest.approx(expected, rel=rtol, abs=1e-14 * (A + B) * -L)
        assert 0.0 <= h <= 1.0
        if len(merge_minima(A, B, C, L)) == 1 and L < -1e-6 and not flat:
            assert h == pytest.approx(expected_h, abs=1e-7)
        return h

    @pytest.mark.parametrize("cosine", [-1.0, -0.7, -0.3, 0.0, 0.2, 0.5, 0.9, 1.0])
    @pytest.mark.parametrize("ratio", [1e-6, 0.01, 0.2, 0.9, 1.1, 3.0, 1e4])
    def test_grid(self, cosine, ratio):
        for L in [-1e-10, -1e-5, -0.01, -0.1, -0.5, -0.9, -1.1, -1.45, -1.55, -2.1, -3.0, -5.0, -12.0, -40.0, -85.0]:
            self.check(1.7, 1.7 * ratio, cosine, L)

    @pytest.mark.parametrize("cosine", [-1.0, -0.5, -0.3, -0.2, 0.0, 0.2, 0.5, 0.6, 0.8, 1.0])
    @pytest.mark.parametrize("ratio", [1.0, 1.0 + 1e-12, 1.0 + 1e-6, 1.0001, 0.9999])
    def test_equal_sizes(self, cosine, ratio):
        """Here there may be two equally good points, and h = 1/2 may be the best or the worst."""
        # One minimum becomes two at -L = 1 + cosine, where the degradation is flat and h has few digits.
        for L in [-1e-10, -0.01, -0.5, -0.8, -1.0, -1.2, -1.3, -1.4, -1.6, -1.9, -2.2, -4.0, -10.0, -80.0]:
            self.check(1.0, ratio, cosine, L, rtol=1e-6, flat=True)

    @pytest.mark.parametrize("cosine", [-0.3, -0.2, 0.0, 0.2])
    def test_a_partner_smaller_by_a_rounding_error(self, cosine):
        for L in [-1.0, -1.2, -1.4]:
            self.check(1.0, 1.0 - 1e-12, cosine, L, rtol=1e-6, flat=True)

    @pytest.mark.parametrize("L", [-2.5, -6.0, -30.0])
    def test_of_two_equal_minima_the_one_near_the_partner(self, L):
        """h is the share of the dropped: below 1/2, the smaller h, as the oracle takes it."""
        h = self.check(1.0, 1.0, 1.0, L)
        assert len(merge_minima(1.0, 1.0, 1.0, L)) == 2
        assert h < 0.5

    @pytest.mark.parametrize("L", [-1e-12, -0.5, -3.0, -50.0])
    def test_opposed_coefficients_stay_at_the_larger(self, L):
        for ratio in [1.0, 1.5, 10.0]:
            assert self.check(1.0, ratio, -1.0, L) == 0.0

    def test_exchanging_the_two_mirrors_h(self):
        rng = np.random.default_rng(0)
        A, B, cosine = rng.lognormal(size=500), rng.lognormal(size=500), rng.uniform(-1, 1, 500)
        C, L = cosine * np.sqrt(A * B), -rng.exponential(2.0, 500)
        h, lost = engine_merge(A, C, B, L)
        mirrored, same = engine_merge(B, C, A, L)
        np.testing.assert_allclose(mirrored, 1.0 - h, atol=1e-12)
        np.testing.assert_allclose(same, lost, rtol=1e-9)

    def test_coinciding_vectors_lose_nothing(self):
        h, lost = engine_merge(1.0, 2.0, 4.0, 0.0)
        assert lost[0] == 0.0
        assert h[0] == pytest.approx(1.0 / 3.0)

    @settings(max_examples=200, derandomize=True)
    @given(
        log_a=st.floats(-12, 12),
        log_ratio=st.floats(-14, 14).filter(lambda r: abs(r) > 1e-3),  # equal sizes have their own tests
        cosine=st.floats(-1, 1),
        log_l=st.floats(-25, np.log(85)),
    )
    @example(log_a=0.0, log_ratio=0.01, cosine=1.0, log_l=np.log(2.3))  # two minima, nearly equal
    @example(log_a=0.0, log_ratio=-0.01, cosine=0.1, log_l=np.log(1.4))
    def test_random_pairs(self, log_a, log_ratio, cosine, log_l):
        A = float(np.exp(log_a))
        self.check(A, float(A * np.exp(log_ratio)), cosine, -float(np.exp(log_l)))

    def test_brute_force_of_these_tests_is_right(self):
        rng = np.random.default_rng(3)
        A, B, cosine = np.ones(300), rng.lognormal(sigma=0.5, size=300), rng.uniform(-1, 1, 300)
        C, L = cosine * np.sqrt(A * B), -rng.exponential(2.0, 300)
        expected = [best_merge(*pair)[1] for pair in zip(A, B, C, L, strict=True)]
        np.testing.assert_allclose(least_degradation(A, C, B, L), expected, rtol=1e-9)


class TestBounds:
    """The lower bound of degradation / A: the header of ``merge.py`` leaves its proof to the grid here."""

    KAPPA = np.concatenate(
        [
            np.geomspace(1e-12, 0.01, 40),
            np.linspace(0.01, 0.999, 400),
            1 - np.geomspace(1e-3, 1e-9, 20),
            np.exp([-2.0, -1.0]) * (1 - 1e-12),  # on both sides of the places where the form changes
            np.exp([-2.0, -1.0]) * (1 + 1e-12),
        ]
    )
    RATIOS = np.concatenate([[1.0], 1 + np.geomspace(1e-6, 1e6, 37)])

    def bounds(self, ratio, cosine):
        arrays = np.broadcast_arrays(self.KAPPA, ratio, cosine)
        out = np.empty(arrays[0].shape)
        lower_bounds(*(np.ascontiguousarray(a).ravel() for a in arrays), out.ravel())
        return out

    @pytest.mark.parametrize("cosine", np.linspace(0.0, 1.0, 11).round(3))
    def test_never_above_the_degradation(self, cosine):
        ratios = self.RATIOS[:, None]
        bound = self.bounds(ratios, cosine)
        least = least_degradation(1.0, cosine * np.sqrt(ratios), ratios, np.log(self.KAPPA))
        assert np.all(bound <= least * (1 + 1e-9) + 1e-14)

    @pytest.mark.parametrize("cosine", [-1.0, -0.6, -0.2, -0.01])
    def test_opposed_coefficients_lose_more_than_orthogonal_ones(self, cosine):
        """Cosines below 0 are clipped before they come to the bound."""
        ratios = self.RATIOS[:, None]
        least = least_degradation(1.0, cosine * np.sqrt(ratios), ratios, np.log(self.KAPPA))
        assert np.all(self.bounds(ratios, 0.0) <= least * (1 + 1e-9) + 1e-14)

    @pytest.mark.parametrize(("ratio", "cosine"), [(1.0, 1.0), (1.0, 0.0), (1e6, 1.0)])
    def test_not_far_below_it(self, ratio, cosine):
        """A bound of zero would be true, and useless."""
        least = least_degradation(1.0, cosine * np.sqrt(ratio), ratio, np.log(self.KAPPA))
        assert np.all(self.bounds(ratio, cosine) > 0.85 * least - 1e-14)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_the_quick_bound_is_below_it(self, dtype):
        ratios, kappa = self.RATIOS[:, None], self.KAPPA.astype(dtype)
        gaps = np.empty(len(kappa))
        find_gaps(kappa, dtype(1.0), dtype(FLAT), gaps)
        quick = 2.0 * np.square(gaps * np.sqrt(ratios) / (1.0 + np.sqrt(ratios)))
        least = least_degradation(1.0, np.sqrt(ratios), ratios, np.log(kappa.astype(np.float64)))
        assert np.all(quick <= least * (1 + 1e-5) + 1e-14)
        near = kappa > 0.8
        assert np.all(quick[0, near] > 0.4 * least[0, near] - 1e-14)  # a bound of zero would be true, and useless

    def test_no_farther_vector_wins(self):
        """Below the least winning kappa, no sizes and no cosine lose less than what the search has already."""
        losses = np.linspace(0.001, 0.999, 200)
        kappa = np.empty_like(losses)
        winning_kappas(losses, kappa)
        assert np.all(np.diff(kappa) < 0.0)
        below = np.log(kappa * (1 - 1e-9))
        for cosine in [1.0, 0.9, 0.5, 0.0]:
            for ratio in self.RATIOS[::3]:
                least = least_degradation(1.0, cosine * np.sqrt(ratio), ratio, below)
                assert np.all(least >= losses * (1 - 1e-9))

    def test_least_winning_kappa_when_all_is_lost(self):
        """A partner at no distance of note loses A: nobody is too far away to be as good."""
        kappa = np.empty(2)
        winning_kappas(np.array([1.0, 1.5]), kappa)
        assert not kappa.any()


@entry
def find_gaps(kappa, one, flat, out):
    for i in range(kappa.size):
        out[i] = gap(kappa[i], one, flat)


@entry
def search(loss, kernel, rows, coefs, weights, sizes, vectors, work, partners, lost):
    """The partner search in many states, each with its kernel row computed as in training."""
    products, norms, kernel_values, overlaps, closeness = work
    n_states, n_slots = sizes.shape
    for s in range(n_states):
        m = vectors[s]
        for j in range(n_slots):
            products[j] = rows.dtype.type(0)
            norms[j] = rows.dtype.type(0)
            for f in range(rows.shape[2]):
                products[j] += rows[s, m, f] * rows[s, j, f]
                norms[j] += rows[s, j, f] * rows[s, j, f]
        kernel_row(kernel, products, norms, norms[m], kernel_values, n_slots)
        partners[s], _, lost[s] = best_partner(
            loss, coefs[s], weights[s], sizes[s], kernel_values, m, n_slots, overlaps, closeness
        )


GAMMA = 0.5


def random_states(rng, n_states, n_outputs, n_slots, dtype):
    """Clouds of support vectors with coefficients as learners make them; the dropped is a smallest one."""
    n_features = 3
    spread = rng.choice([0.3, 1.0, 2.0], size=(n_states, 1, 1))
    rows = (spread * rng.normal(size=(n_states, n_slots, n_features))).astype(dtype)
    if n_outputs == 1:
        coefs = rng.choice([-1.0, 1.0], size=(n_states, 1, n_slots))
    else:  # a newcomer pushes one class up and another one down
        coefs = np.zeros((n_states, n_outputs, n_slots))
        state, slot = np.indices((n_states, n_slots))
        up = rng.integers(n_outputs, size=(n_states, n_slots))
        down = (up + rng.integers(1, n_outputs, size=(n_states, n_slots))) % n_outputs
        coefs[state, up, slot], coefs[state, down, slot] = 1.0, -1.0
        mixed = rng.random((n_states, 1, n_slots)) < 0.5  # merged vectors have more than two
        coefs += mixed * rng.normal(scale=0.3, size=coefs.shape)
    # Of one size, or of many
    coefs *= np.exp(rng.choice([0.0, 0.7], size=(n_states, 1, 1)) * rng.normal(size=(n_states, 1, n_slots)))
    sizes = np.square(coefs).sum(axis=1)
    return rows, coefs, sizes, sizes.argmin(axis=1)


def brute_force(rows, coefs, sizes, vectors):
    """The least degradation with every partner in float64, inf for those that are none."""
    states = np.arange(len(rows))
    exact = rows.astype(np.float64)
    log_kappa = -GAMMA * np.square(exact - exact[states, vectors][:, None]).sum(axis=2)
    overlaps = (coefs * coefs[states, :, vectors][:, :, None]).sum(axis=1)
    lost = least_degradation(sizes[states, vectors][:, None], overlaps, sizes, log_kappa)
    lost[states, vectors] = np.inf
    if coefs.shape[1] == 1:
        same = overlaps > 0.0
        same[states, vectors] = False
        allowed = same | ~same.any(axis=1, keepdims=True)
        lost[~allowed] = np.inf
    return lost


class TestBestPartner:
    """The pruned search against all partners: the same one but for near-ties, and never a bad one."""

    def compare(self, n_outputs, dtype, *, n_states=4000, n_slots=16, seed=0, chunk=1000):
        """How many states got the partner of the brute force, and the worst ratio of what was lost to the least."""
        rng = np.random.default_rng(seed)
        loss = BinaryHinge() if n_outputs == 1 else MulticlassHinge(n_outputs)
        # As in training, with room for a multiple of 16 slots, and whatever was there before in the rest
        capacity = padded(n_slots)
        in_type = [np.full(capacity, 0.999, dtype) for _ in range(4)]
        work = (*in_type[:3], np.full(capacity, 0.999), in_type[3])
        n_same, worst = 0, 0.0
        for _ in range(n_states // chunk):
            rows, coefs, sizes, vectors = random_states(rng, chunk, n_outputs, n_slots, dtype)
            partners, reported = np.zeros(chunk, np.int64), np.zeros(chunk)
            weights = np.zeros((chunk, n_outputs, capacity), dtype)  # empty slots have none
            weights[:, :, :n_slots] = coefs
            search(loss, RBF(GAMMA), rows, coefs, weights, sizes, vectors, work, partners, reported)
            lost = brute_force(rows, coefs, sizes, vectors)
            taken, least = lost[np.arange(chunk), partners], lost.min(axis=1)
            n_same += np.sum(taken <= least * (1 + 1e-8))
            worst = max(worst, np.max(taken / least), np.max(np.abs(reported / taken - 1.0)) + 1.0)
        return n_same / n_states, worst

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("n_outputs", [1, 4])
    def test_agrees_with_brute_force(self, n_outputs, dtype):
        same, worst = self.compare(n_outputs, dtype)
        assert same >= 0.999
        assert worst <= 1.001

    @pytest.mark.parametrize("n_outputs", [1, 4])
    def test_few_candidates(self, n_outputs):
        """The best of three may be far away: where the bounds are not tight, or there is none of the same sign."""
        same, worst = self.compare(n_outputs, np.float64, n_slots=4)
        assert same >= 0.999
        assert worst <= 1.001
