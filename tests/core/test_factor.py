"""Inverses of Cholesky factors, of all sizes around those of blocks."""

import numpy as np
import pytest

from frugalsvm.compiling.functions import entry
from frugalsvm.core.factor import invert_factor, library_for, new_integers
from frugalsvm.core.sweep import (
    is_first_block_inverted,
    is_stage_part_done,
    multiply_block,
    multiply_block_transposed,
    n_blocks_of,
    n_stage_parts,
)


@entry
def _invert(library, matrix, n, width, panel, integers):
    """By halves; in a sweep, if there is a panel."""
    if panel.size == 0:
        return invert_factor(library, matrix, n, n, integers)
    if not is_first_block_inverted(library, matrix, n, width, integers):
        return False
    for stage in range(2 * n_blocks_of(n, width)):
        for part in range(n_stage_parts(n, width, stage) - 1, -1, -1):  # parts of a stage may come in any order
            if not is_stage_part_done(library, matrix, n, width, panel, stage, part, integers):
                return False
    return True


@entry
def _solve(library, matrix, n, width, right, n_right, half, integers):
    for block in range(n_blocks_of(n, width)):
        multiply_block(library, matrix, n, width, right, n_right, block, half, integers)
    for block in range(n_blocks_of(n, width)):
        multiply_block_transposed(library, matrix, n, width, half, n_right, block, right, integers)


def panel_for(n, width):
    return np.empty(-(-n // width) * width**2 if width else 0)


# No width: by halves, not in a sweep.
@pytest.mark.parametrize("width", [0, 64, 256])
@pytest.mark.parametrize("n", [1, 2, 127, 128, 129, 256, 300, 384, 500, 640, 700, 900, 1100])
def test_inverse_factor_and_solutions(n, width):
    rng = np.random.default_rng(n)
    B = rng.normal(size=(n, n))
    A = B @ B.T / n + np.eye(n)
    library, integers, matrix = library_for(np.dtype(np.float64)), new_integers(), A.ravel().copy()
    assert _invert(library, matrix, n, width, panel_for(n, width), integers)
    M = np.linalg.inv(np.linalg.cholesky(A))
    found = matrix.reshape(n, n)
    np.testing.assert_allclose(np.triu(found).T, M, atol=1e-11)
    np.testing.assert_array_equal(np.tril(found, -1), np.tril(A, -1))
    right = rng.normal(size=(3, n))
    expected = np.linalg.solve(A, right.T).T
    solutions = right.ravel().copy()
    _solve(library, matrix, n, width or 256, solutions, 3, np.empty(3 * n), integers)
    np.testing.assert_allclose(solutions.reshape(3, n), expected, atol=1e-10)


@pytest.mark.parametrize("width", [0, 64, 256])
@pytest.mark.parametrize("row", [0, 200, 299])
def test_matrices_that_are_not_positive_definite_are_told(row, width):
    n = 300
    A = np.eye(n)
    A[row, row] = -1.0
    library, panel = library_for(np.dtype(np.float64)), panel_for(n, width)
    assert not _invert(library, A.ravel().copy(), n, width, panel, new_integers())
