"""Slopes of kernels against the oracle's, and gradients made of them against differences of compiled kernel values."""

import numpy as np
import pytest
from oracles import kernels as oracle
from scipy.spatial.distance import cdist

from frugalsvm.core.blocks import kernel_matrix
from frugalsvm.core.kernels import KERNELS
from frugalsvm.core.slopes import slope_block, sum_weighted_differences

GAMMA = 0.3
each_name = pytest.mark.parametrize("name", ["rbf", "laplacian", *oracle.ORDERS])


def slopes(name, X, Z):
    """Those of the compiled code."""
    pairs = cdist(X, Z, "cityblock") if name == "laplacian" else X @ Z.T
    norms, row_norms = (np.square(rows).sum(axis=1) for rows in (Z, X))
    out = np.empty((len(X), len(Z)), X.dtype)
    slope_block(KERNELS[name](GAMMA), pairs.astype(X.dtype), norms, row_norms, out)
    return out


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(9, 5)), rng.normal(size=(21, 5))


@each_name
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_slopes_are_those_of_the_oracle(rows, name, dtype):
    X, Z = (each.astype(dtype) for each in rows)
    expected = oracle.slope(name, X.astype(np.float64), Z.astype(np.float64), GAMMA)
    np.testing.assert_allclose(slopes(name, X, Z), expected, rtol=100 * np.finfo(dtype).eps)


@each_name
def test_gradients_of_compiled_values(rows, name):
    X, Z = rows
    D, step = oracle.differences(X, Z), 1e-6
    found = slopes(name, X, Z)[:, :, None] * (np.sign(D) if name == "laplacian" else D)
    for f in range(X.shape[1]):
        move = step * np.eye(X.shape[1])[f]
        up, down = (kernel_matrix(KERNELS[name](GAMMA), rows, Z) for rows in (X + move, X - move))
        np.testing.assert_allclose(found[:, :, f], (up - down) / (2 * step), atol=1e-7)


@each_name
def test_slopes_are_finite_where_rows_are_alike(name):
    X = (2.0 + np.random.default_rng(0).normal(size=(12, 5))).astype(np.float32)
    found = np.diag(slopes(name, X, X))
    top = {"rbf": -2 * GAMMA, "laplacian": -GAMMA, "matern12": 0.0, "matern32": -3 * GAMMA, "matern52": -5 * GAMMA / 3}
    np.testing.assert_allclose(found, top[name], rtol=1e-4)


def test_weighted_differences(rows):
    X, Z = rows
    W, out = np.random.default_rng(1).normal(size=(len(X), len(Z))), np.ones(5)
    sum_weighted_differences(W, X, np.ascontiguousarray(Z.T), out)
    np.testing.assert_allclose(out, 1.0 + np.einsum("ij,ijf->f", W, np.abs(oracle.differences(X, Z))))
