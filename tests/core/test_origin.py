"""The reference point of rows: where it is, when it moves, what it keeps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

import frugalsvm.lowrank.landmark_blocks
import frugalsvm.lowrank.products
from frugalsvm.core.capabilities import offers
from frugalsvm.core.expansion import exact_kernel, moved_rows, new_expansion
from frugalsvm.core.kernels import RBF, Linear, Poly
from frugalsvm.core.moments import joined_moments, moments_of
from frugalsvm.core.seen_rows import (
    FAR_ROWS,
    cancellation,
    followed,
    lost_digits,
    new_origin,
    origin_at,
    relative,
    some_rows,
)
from frugalsvm.lowrank.fourier import features, new_fourier
from frugalsvm.lowrank.maps import linear_values, moved_map
from frugalsvm.lowrank.nystroem import new_nystroem
from frugalsvm.lowrank.products import ColumnBlocks


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(500, 3))


class TestMoments:
    @given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.floats(-1e4, 1e4))
    @settings(max_examples=30)
    def test_parts_are_the_whole(self, seed, n_first, offset):
        X = np.random.default_rng(seed).normal(size=(50, 4)) + offset
        parts = joined_moments(moments_of(X[:n_first]), moments_of(X[n_first:]))
        for moments in (parts, moments_of(X), moments_of(csr_matrix(X))):
            np.testing.assert_allclose(moments.mean, X.mean(axis=0), rtol=1e-10, atol=1e-10)
            np.testing.assert_allclose(moments.var, X.var(axis=0), rtol=1e-7)

    def test_offsets_of_features_do_not_count(self, rows):
        assert moments_of(rows + np.array([1e5, 0, -1e5])).variance == pytest.approx(moments_of(rows).variance)


class TestWhereItIs:
    def test_zero_for_ordinary_rows(self, rows):
        for X in (rows, rows + 2.0, np.abs(rows), rows.astype(np.float32)):
            assert new_origin(X, X.dtype).is_zero

    def test_median_of_rows_that_are_far(self, rows):
        X = (rows + np.array([1000.0, 0.0, 0.0])).astype(np.float32)
        X[0] = 1e8  # an outlier
        origin = new_origin(X, np.float32)
        np.testing.assert_allclose(origin.point, np.median(some_rows(X), axis=0))
        exact = X[1:, 0].astype(np.float64) - origin.point[0]
        assert np.array_equal(relative(X[1:], origin, np.float32)[:, 0], exact)

    def test_float64_has_more_room(self, rows):
        assert new_origin(rows + 1e3, np.float64).is_zero
        assert not new_origin(rows + 1e6, np.float64).is_zero
        assert not new_origin(rows + 1e3, np.float32).is_zero

    def test_sparse_rows_stay_sparse(self, rows):
        assert new_origin(csr_matrix(rows + 1e6), np.float32).is_zero
        assert cancellation(csr_matrix(rows + 1e6), np.float32) > 1
        assert cancellation(csr_matrix(rows), np.float32) < 1e-6

    def test_digits_are_kept_before_rounding(self, rows):
        X = rows + 1e6
        origin = new_origin(X, np.float32)
        assert np.abs(origin.point - 1e6).max() < 0.2
        exact = rows - (origin.point - 1e6)
        np.testing.assert_allclose(relative(X, origin, np.float32), exact, rtol=1e-5, atol=1e-6)

    def test_kernels_of_differences(self):
        assert offers(RBF(1.0), "shift_invariant")
        assert not offers(Poly(1.0, 1.0, 2), "shift_invariant")
        assert not offers(Linear(), "shift_invariant")


class TestFollowing:
    KERNEL = RBF(0.5)

    def test_rows_nearby_change_nothing(self, rows):
        origin = origin_at(np.zeros(3))
        assert followed(origin, rows.astype(np.float32), self.KERNEL, np.float32) == (origin, None)

    def test_outliers_do_not_move_it(self, rows):
        origin, X = origin_at(np.zeros(3)), rows.astype(np.float32)
        X[::7] += 1e4
        for start in range(0, 500, 5):
            origin, shift = followed(origin, X[start : start + 5], self.KERNEL, np.float32)
            assert shift is None
        assert origin.is_zero

    @pytest.mark.parametrize("size", [1, 10, 100])
    def test_many_far_rows_do(self, rows, size):
        origin, X = origin_at(np.zeros(3)), (rows + np.array([1e4, 0, 0])).astype(np.float32)
        moves = []
        for start in range(0, 500, size):
            part = relative(X[start : start + size], origin, np.float32)
            origin, shift = followed(origin, part, self.KERNEL, np.float32)
            if shift is not None:
                moves.append(start + size)
        assert moves == [max(size, -(-FAR_ROWS // size) * size)]
        np.testing.assert_allclose(origin.point, [1e4, 0, 0], atol=1)

    def test_rows_all_over_the_place_have_no_better_one(self, rows):
        origin, X = origin_at(np.zeros(3)), (1e4 * rows).astype(np.float32)
        assert followed(origin, X, self.KERNEL, np.float32)[1] is None


class TestLostDigits:
    def test_names_the_worst_feature(self, rows):
        X = (rows + np.array([0.0, 1e6, 1e5])).astype(np.float32)
        feature, error = lost_digits(X)
        assert feature == 1
        assert 0.01 < error < 0.1

    def test_not_where_there_is_room(self, rows):
        assert lost_digits((rows + 1e3).astype(np.float32)) is None
        assert lost_digits(rows + 1e6) is None
        assert lost_digits(np.full((10, 2), 1e20, np.float32)) is None

    def test_whole_numbers_are_exact(self):
        X = np.random.default_rng(0).integers(30_000, 30_003, (100, 2)).astype(np.float32)
        assert lost_digits(X) is None


class TestMoving:
    SHIFT = np.array([30.0, -20.0, 10.0])

    def test_expansions_keep_their_kernel_values(self, rows):
        expansion = new_expansion(20, 3, 1, np.float64)
        expansion.rows[:20], expansion.counts[0]["n_slots"] = rows[:20], 20
        expansion.norms[:20] = np.square(rows[:20]).sum(axis=1)
        moved = moved_rows(expansion, self.SHIFT)
        np.testing.assert_allclose(moved.norms[:20], np.square(rows[:20] - self.SHIFT).sum(axis=1))
        for i in range(0, 20, 3):
            values = [exact_kernel(RBF(0.3), each.rows, i, 0) for each in (expansion, moved)]
            assert values[0] == pytest.approx(values[1], abs=1e-12)
        assert np.array_equal(expansion.rows[:20], rows[:20])  # a failure must leave the model as it was

    @pytest.mark.parametrize("structured", [True, False])
    def test_fourier_features_stay(self, rows, structured):
        fourier = new_fourier(3, 100, 0.3, np.random.default_rng(1), structured)
        moved = moved_map(fourier, self.SHIFT)
        np.testing.assert_allclose(features(moved, rows - self.SHIFT), features(fourier, rows), atol=1e-4)

    def test_landmarks_move_along(self, rows):
        nystroem = new_nystroem(RBF(0.3), rows[:30])
        coefficients = np.random.default_rng(1).normal(size=(30, 2))
        before = linear_values(nystroem, rows, coefficients)
        after = linear_values(moved_map(nystroem, self.SHIFT), rows - self.SHIFT, coefficients)
        np.testing.assert_allclose(after, before, atol=2e-3)


class TestScoresOfSingleRows:
    """A row must have the same score in every batch, to the last bit."""

    @pytest.mark.parametrize(("n_features", "width"), [(2, 7), (10, 100), (54, 512), (123, 1000), (300, 64)])
    @pytest.mark.parametrize("kind", ["nystroem", "fourier", "structured"])
    def test_any_batch(self, kind, n_features, width):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(300, n_features)).astype(np.float32)
        if kind == "nystroem":
            feature_map = new_nystroem(RBF(1 / n_features), rng.normal(size=(width, n_features)))
        else:
            feature_map = new_fourier(n_features, width, 1 / n_features, rng, kind == "structured")
        coefficients = rng.normal(size=(width, 3))
        whole = linear_values(feature_map, X, coefficients)
        for size in (1, 2, 3, 5, 15, 16, 17, 40, 256):
            part = rng.permutation(300)[:size]
            assert np.array_equal(linear_values(feature_map, X[part], coefficients), whole[part])

    @pytest.mark.parametrize("kind", ["nystroem", "fourier"])
    def test_where_products_in_float32_depend_on_the_place_of_a_row(self, monkeypatch, kind):
        """Another library of products, as far as a machine with a steady one can tell: the same up to rounding."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(150, 22)).astype(np.float32)
        made = new_nystroem(RBF(0.05), X[:40]) if kind == "nystroem" else new_fourier(22, 40, 0.05, rng, False)
        coefficients = rng.normal(size=(40, 2))
        before = linear_values(made, X, coefficients)
        for module in (frugalsvm.lowrank.products, frugalsvm.lowrank.landmark_blocks):
            monkeypatch.setattr(module, "single_is_steady", lambda: False)
        whole = linear_values(made, X, coefficients)
        np.testing.assert_allclose(whole, before, atol=1e-4)
        for size in (1, 63, 65):
            part = rng.permutation(150)[:size]
            assert np.array_equal(linear_values(made, X[part], coefficients), whole[part])

    def test_the_same_for_rows_that_are_whitened(self, monkeypatch):
        rng = np.random.default_rng(0)
        rows, matrix = rng.normal(size=(300, 70)).astype(np.float32), np.tril(rng.normal(size=(70, 70))).T
        monkeypatch.setattr(frugalsvm.lowrank.products, "single_is_steady", lambda: False)
        blocks = ColumnBlocks(matrix)
        whole = blocks.multiply(rows, np.empty((300, 70), np.float32), steady=True)
        np.testing.assert_allclose(whole, rows @ matrix, rtol=1e-4, atol=1e-4)
        part = rng.permutation(300)[:70]
        assert np.array_equal(blocks.multiply(rows[part], np.empty((70, 70), np.float32), steady=True), whole[part])
