"""Symmetric matrices in blocks, on threads: products of a matrix with itself, Cholesky factors, inverses.

Libraries that are given several threads for a factorization of a thousand rows often take longer than with one, and
longer still while others' threads are about. Here all work is in products of blocks, each with one thread; blocks
depend on the size alone, and so does every bit of the result. Matrices are copied and converted on threads, too: for
one thread, that takes as long as the factorization does for sixteen.
"""

import numpy as np
from scipy.linalg.lapack import dtrtri, strtri

from frugalsvm.compiling.threads import row_blocks
from frugalsvm.lowrank.passes import PRODUCTS_PER_NUMBER

__all__ = ["cholesky", "gram", "inverse_of_lower", "with_diagonal"]

_BLOCKS, _LEAST = 16, 128  # blocks of rows and of columns, and how many of them a block has at least
_WIDE = 8  # blocks of a product: there are many pairs of them


def _blocks(size, count=_BLOCKS):
    return row_blocks(size, count, least=_LEAST)


def with_diagonal(matrix, added):
    """A copy of a matrix with a number added to the diagonal."""
    shifted = matrix.copy()
    np.fill_diagonal(shifted, matrix.diagonal() + added)
    return shifted


def gram(passes, rows, *, dtype=None):
    """``rows.T @ rows``, multiplied in the type of the rows."""
    size = rows.shape[1]
    out, blocks = np.empty((size, size), dtype or rows.dtype), _blocks(size, _WIDE)

    def fill(pair):
        a, b = pair
        out[a, b] = rows[:, a].T @ rows[:, b]
        if a != b:
            out[b, a] = out[a, b].T

    pairs = [(a, b) for k, a in enumerate(blocks) for b in blocks[: k + 1]]
    passes.over(fill, pairs, len(rows) * size * size // 2)
    return out


def cholesky(passes, matrix, shift=0.0):
    """The lower factor, with a number added to the diagonal; None if that matrix is not positive definite."""
    factor, blocks = np.zeros(matrix.shape, matrix.dtype), _blocks(len(matrix))  # memory that nothing was written to

    def copy(rows):
        factor[rows, : rows.stop] = matrix[rows, : rows.stop]
        np.einsum("ii->i", factor[rows, rows])[:] += shift

    passes.over(copy, blocks, PRODUCTS_PER_NUMBER * matrix.size)
    for k, own in enumerate(blocks):
        try:
            factor[own, own] = corner = np.linalg.cholesky(factor[own, own])
        except np.linalg.LinAlgError:
            return None
        _eliminate(passes, factor, own, _inverse_of_corner(corner).T, blocks[k + 1 :])
    return factor


def _eliminate(passes, factor, own, inverse, below):
    """Take the columns of one block out of those after it."""
    n_below, width = len(factor) - own.stop, own.stop - own.start

    def solve(rows):
        factor[rows, own] = factor[rows, own] @ inverse

    def update(rows):
        after = slice(own.stop, rows.stop)
        factor[rows, after] -= factor[rows, own] @ factor[after, own].T

    passes.over(solve, below, n_below * width**2)
    passes.over(update, below[::-1], n_below**2 * width // 2)  # the longest first


def _inverse_of_corner(lower):
    """The inverse of a block on the diagonal: by the routine for triangles, in a tenth of the time of any other."""
    routine = dtrtri if lower.dtype == np.float64 else strtri
    return routine(lower.T, lower=0)[0].T  # its order is that of Fortran


def inverse_of_lower(passes, factor):
    """The inverse of a lower triangular matrix."""
    inverse, blocks = np.zeros(factor.shape, factor.dtype), _blocks(len(factor))
    for k, own in enumerate(blocks):
        inverse[own, own] = corner = _inverse_of_corner(factor[own, own])
        left = corner @ factor[own, : own.start]

        def fill(columns, own=own, left=left):
            inverse[own, columns] = -(left[:, columns.start :] @ inverse[columns.start : own.start, columns])

        passes.over(fill, blocks[:k], left.size * own.start // 2)
    return inverse
