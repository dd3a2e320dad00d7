"""Inverses of Cholesky factors, of all sizes around those of blocks."""

import numpy as np
import pytest

from frugalsvm._compile import entry
from frugalsvm.cells.factor import invert_factor, library_for, new_integers, solve_factored


@entry
def _invert(library, matrix, n, integers):
    return invert_factor(library, matrix, n, integers)


@entry
def _solve(library, matrix, n, right, n_right, integers):
    solve_factored(library, matrix, n, right, n_right, integers)


@pytest.mark.parametrize("n", [1, 2, 127, 128, 129, 256, 300, 384, 500, 640, 700, 900, 1100])
def test_inverse_factor_and_solutions(n):
    rng = np.random.default_rng(n)
    B = rng.normal(size=(n, n))
    A = B @ B.T / n + np.eye(n)
    library, integers, matrix = library_for(np.dtype(np.float64)), new_integers(), A.ravel().copy()
    assert _invert(library, matrix, n, integers)
    M = np.linalg.inv(np.linalg.cholesky(A))
    found = matrix.reshape(n, n)
    np.testing.assert_allclose(np.triu(found).T, M, atol=1e-11)
    np.testing.assert_array_equal(np.tril(found, -1), np.tril(A, -1))
    right = rng.normal(size=(3, n))
    expected = np.linalg.solve(A, right.T).T
    solutions = right.ravel().copy()
    _solve(library, matrix, n, solutions, 3, integers)
    np.testing.assert_allclose(solutions.reshape(3, n), expected, atol=1e-10)


def test_matrices_that_are_not_positive_definite_are_told():
    n = 300
    A = np.eye(n)
    A[200, 200] = -1.0
    assert not _invert(library_for(np.dtype(np.float64)), A.ravel().copy(), n, new_integers())
