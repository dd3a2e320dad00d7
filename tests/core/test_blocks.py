"""Kernel values of whole matrices against the oracle's, for kernels of L1 distances and of products."""

import numpy as np
import pytest
from oracles import kernels as oracle
from scipy.sparse import csr_array, csr_matrix

from frugalsvm.core.blocks import BLOCK_ROWS, distance_rows, kernel_matrix
from frugalsvm.core.kernels import KERNELS, Laplacian
from frugalsvm.core.l1_distances import TILE_WIDTH

GAMMA = 0.3


@pytest.mark.parametrize("name", ["laplacian", *oracle.ORDERS])
def test_kernel_matrices(name):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(23, 7)), rng.normal(size=(TILE_WIDTH + 5, 7)).astype(np.float32)
    found = kernel_matrix(KERNELS[name](GAMMA), A, B)
    np.testing.assert_allclose(found, oracle.value(name, A, B.astype(np.float64), GAMMA), rtol=1e-6, atol=1e-12)


class TestDistanceRows:
    @pytest.mark.parametrize("n_features", [1, 2, 4, 7, 9])
    @pytest.mark.parametrize("n_others", [1, TILE_WIDTH, 2 * TILE_WIDTH + 3])
    @pytest.mark.parametrize("n_rows", [1, 3, BLOCK_ROWS + 6])
    def test_all_shapes(self, n_rows, n_others, n_features):
        rng = np.random.default_rng(n_rows)
        X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
        Z = rng.normal(size=(n_others, n_features)).astype(np.float32)
        found = distance_rows(Laplacian(GAMMA), X, Z, np.full((n_rows, n_others), np.nan, np.float32))
        expected = oracle.value("laplacian", X.astype(np.float64), Z.astype(np.float64), GAMMA)
        np.testing.assert_allclose(found, expected, rtol=1e-5)

    def test_a_row_does_not_depend_on_its_neighbors(self):
        rng = np.random.default_rng(0)
        X, Z = rng.normal(size=(301, 11)).astype(np.float32), rng.normal(size=(70, 11)).astype(np.float32)
        whole = distance_rows(Laplacian(GAMMA), X, Z, np.empty((301, 70), np.float32))
        for part in (slice(0, 1), slice(1, 3), slice(7, 13), slice(290, 301)):
            alone = distance_rows(Laplacian(GAMMA), X[part], Z, np.empty((part.stop - part.start, 70), np.float32))
            np.testing.assert_array_equal(alone, whole[part])

    @pytest.mark.parametrize("kind", [csr_array, csr_matrix])
    def test_sparse_rows(self, kind):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(300, 40)) * (rng.random((300, 40)) < 0.1)
        X[3] = 0.0
        X = X.astype(np.float32)
        Z = X[:70]
        dense, sparse = (
            distance_rows(Laplacian(GAMMA), rows, Z, np.empty((300, 70), np.float32)) for rows in (X, kind(X))
        )
        np.testing.assert_allclose(sparse, dense, rtol=1e-5)

    def test_what_is_negligible_is_zero(self):
        X = np.array([[0.0], [1e3]], np.float32)
        np.testing.assert_array_equal(distance_rows(Laplacian(1.0), X, X, np.empty((2, 2), np.float32)), np.eye(2))
