"""Stacks of matrices on a device: kernel values of many groups of rows, and inverses of Cholesky factors."""

import numpy as np
import pytest
from oracles import kernels as oracle

from frugalsvm.arrays.factors import invert_factors
from frugalsvm.arrays.kernel_values import kernel_values, own_values
from frugalsvm.core.kernels import KERNELS

PARAMETERS = {"gamma": 0.3, "coef0": 1.0, "degree": 3}


def kernel_of(name):
    return KERNELS[name](**{field: PARAMETERS[field] for field in KERNELS[name]._fields})


def expected_values(name, X, Z):
    if name in ("linear", "poly"):
        return X @ Z.T if name == "linear" else (0.3 * (X @ Z.T) + 1.0) ** 3
    return oracle.value(name, X, Z, 0.3)


def rows(n, seed):
    made = np.random.default_rng(seed).uniform(0, 1, size=(3, n, 4))
    made[0, 0] = 0.0
    return made


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_kernel_values(arrays, name, dtype):
    X, Z = rows(5, 0), rows(7, 1)
    Z[1, 2] = X[1, 3]
    found = arrays.host(kernel_values(arrays, kernel_of(name), *(arrays.asarray(each, dtype) for each in (X, Z))))
    assert found.dtype == dtype
    expected = np.stack([expected_values(name, x, z) for x, z in zip(X, Z, strict=True)])
    np.testing.assert_allclose(found, expected, atol=1e-12 if dtype == "float64" else 1e-5)


@pytest.mark.parametrize("name", ["rbf", "matern12", "laplacian", "chi2", "poly"])
def test_a_gamma_for_each_group(arrays, name):
    X, gammas = arrays.asarray(rows(5, 0)), np.array([0.1, 0.3, 4.0])
    kernel = kernel_of(name)
    together = kernel_values(arrays, kernel._replace(gamma=arrays.asarray(gammas)[:, None, None]), X, X)
    for group, gamma in enumerate(gammas):
        alone = kernel_values(arrays, kernel._replace(gamma=gamma), X[group : group + 1], X[group : group + 1])
        np.testing.assert_allclose(arrays.host(together)[group], arrays.host(alone)[0], atol=1e-14)


@pytest.mark.parametrize("name", KERNELS)
def test_values_of_rows_with_themselves(arrays, name):
    X, kernel = rows(5, 0), kernel_of(name)
    X[0, 0] = 0.5  # a row of zeros has no angle
    there = arrays.asarray(X)
    found = arrays.host(own_values(arrays, kernel, kernel_values(arrays, kernel, there, there)))
    np.testing.assert_allclose(found, [np.diag(expected_values(name, x, x)) for x in X], atol=1e-12)


def inverse_factors(arrays, A):
    """Those of copies: matrices are overwritten."""
    matrices = arrays.asarray(A.copy())
    invert_factors(arrays, matrices)
    return arrays.host(matrices)


@pytest.mark.parametrize("n", [1, 64, 65, 130, 300])
def test_inverse_factors(arrays, n):
    A = np.random.default_rng(0).normal(size=(3, n, n))
    A = A @ A.transpose(0, 2, 1) + np.eye(n)
    found = inverse_factors(arrays, A)
    np.testing.assert_allclose(found @ np.linalg.cholesky(A), np.stack([np.eye(n)] * 3), atol=1e-9)
    np.testing.assert_array_equal(np.triu(found, 1), 0.0)


@pytest.mark.parametrize("row", [0, 100, 299])
def test_matrices_that_have_no_factor_leave_others_alone(arrays, row):
    A = np.stack([2.0 * np.eye(300)] * 3)
    A[1, row, row] = -1.0
    found = inverse_factors(arrays, A)
    assert np.isnan(found).any(axis=(1, 2)).tolist() == [False, True, False]
    np.testing.assert_allclose(found[[0, 2]], np.stack([np.eye(300)] * 2) / np.sqrt(2.0))
