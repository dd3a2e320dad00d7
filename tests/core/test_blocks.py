"""Kernel values of whole matrices against the oracle's, for kernels of sums over features and of products."""

import numpy as np
import pytest
from oracles import kernels as oracle
from scipy.sparse import csr_array, csr_matrix

from frugalsvm.core.blocks import BLOCK_ROWS, kernel_matrix, sum_rows
from frugalsvm.core.capabilities import offers
from frugalsvm.core.feature_sums import TILE_WIDTH
from frugalsvm.core.kernels import KERNELS, Chi2, Intersection, Laplacian

GAMMA = 0.3


@pytest.mark.parametrize("name", ["laplacian", *oracle.ORDERS, *oracle.OTHERS])
def test_kernel_matrices(name):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(23, 7)), rng.normal(size=(TILE_WIDTH + 5, 7)).astype(np.float32)
    if name in oracle.OTHERS:  # histograms, with zeros
        A, B = np.maximum(A, 0.0), np.maximum(B, 0.0)
        A[3] = B[5] = 0.0
    found = kernel_matrix(KERNELS[name](*[GAMMA] * len(KERNELS[name]._fields)), A, B)
    np.testing.assert_allclose(found, oracle.value(name, A, B.astype(np.float64), GAMMA), rtol=1e-6, atol=1e-12)


class TestSumRows:
    @pytest.mark.parametrize("n_features", [1, 2, 4, 7, 9])
    @pytest.mark.parametrize("n_others", [1, TILE_WIDTH, 2 * TILE_WIDTH + 3])
    @pytest.mark.parametrize("n_rows", [1, 3, BLOCK_ROWS + 6])
    def test_all_shapes(self, n_rows, n_others, n_features):
        rng = np.random.default_rng(n_rows)
        X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
        Z = rng.normal(size=(n_others, n_features)).astype(np.float32)
        found = sum_rows(Laplacian(GAMMA), X, Z, np.full((n_rows, n_others), np.nan, np.float32))
        expected = oracle.value("laplacian", X.astype(np.float64), Z.astype(np.float64), GAMMA)
        np.testing.assert_allclose(found, expected, rtol=1e-5)

    def test_a_row_does_not_depend_on_its_neighbors(self):
        rng = np.random.default_rng(0)
        X, Z = rng.normal(size=(301, 11)).astype(np.float32), rng.normal(size=(70, 11)).astype(np.float32)
        whole = sum_rows(Laplacian(GAMMA), X, Z, np.empty((301, 70), np.float32))
        for part in (slice(0, 1), slice(1, 3), slice(7, 13), slice(290, 301)):
            alone = sum_rows(Laplacian(GAMMA), X[part], Z, np.empty((part.stop - part.start, 70), np.float32))
            np.testing.assert_array_equal(alone, whole[part])

    @pytest.mark.parametrize("kernel", [Laplacian(GAMMA), Chi2(GAMMA), Intersection()], ids=lambda k: type(k).__name__)
    @pytest.mark.parametrize("kind", [csr_array, csr_matrix])
    def test_sparse_rows(self, kind, kernel):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(300, 40)) * (rng.random((300, 40)) < 0.1)
        X = np.abs(X) if offers(kernel, "nonnegative") else X
        X[3] = 0.0
        X = X.astype(np.float32)
        Z = X[:70]
        dense, sparse = (sum_rows(kernel, rows, Z, np.empty((300, 70), np.float32)) for rows in (X, kind(X)))
        np.testing.assert_allclose(sparse, dense, rtol=1e-5, atol=1e-6)

    def test_what_is_negligible_is_zero(self):
        X = np.array([[0.0], [1e3]], np.float32)
        np.testing.assert_array_equal(sum_rows(Laplacian(1.0), X, X, np.empty((2, 2), np.float32)), np.eye(2))
