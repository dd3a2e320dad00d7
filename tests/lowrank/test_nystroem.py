"""The Nystroem map, and where its landmarks are."""

import numpy as np
import pytest
from oracles.low_rank import nystroem_features
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from frugalsvm.core.kernels import RBF, Poly
from frugalsvm.lowrank.landmarks import place_landmarks
from frugalsvm.lowrank.nystroem import bare_nystroem, kernel_rows, new_nystroem, with_whitening


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
