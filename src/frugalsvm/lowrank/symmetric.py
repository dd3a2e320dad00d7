"""Symmetric matrices in blocks, on threads: products of a matrix with itself, and inverses of their Cholesky factors.

Libraries that are given several threads for a factorization of a thousand rows often take longer than with one, and
longer still while others' threads are about. Here all work is in products of blocks, each with one thread; blocks
depend on the size alone, and so does every bit of the result.
"""

import numpy as np

from frugalsvm.compiling.threads import row_blocks
from frugalsvm.core.factor import library_for
from frugalsvm.lowrank.gram import LINE, Gram, Roots, multiply_tiles, write_roots
from frugalsvm.lowrank.passes import PRODUCTS_PER_NUMBER
from frugalsvm.lowrank.triangles import Sweep, copy_upper, sweep_together

_BLOCKS, _LEAST = 12, 64  # blocks of a product, of which there are pairs, and how many columns one has at least
_SUMS, _LEAST_ROWS = 4, 512  # parts of the rows, and how many a part has at least: each part has a sum
_FEWER_BLOCKS, _MOST_SUMMED = 4, 3000  # blocks where there are several sums; more columns have one, for lack of memory
_NO_MATRIX = np.empty((0, 0), np.float32)
_WIDTH, _WIDE, _MOST_TIMES = 64, 1024, 4  # rows of a block of a sweep, of a matrix of 1024; more of larger ones


def gram(passes, rows):
    """``rows.T @ rows`` in float64 from the diagonal on, with zeros below it; multiplied in the type of the rows."""
    n_rows, size = rows.shape
    parts = row_blocks(n_rows, _SUMS if size <= _MOST_SUMMED else 1, least=_LEAST_ROWS)
    blocks = row_blocks(size, _BLOCKS if len(parts) == 1 else _FEWER_BLOCKS, least=_LEAST)
    tiles = [
        (k, part.start, part.stop, left.start, left.stop, above.start, above.stop)
        for k, part in enumerate(parts)
        for i, above in enumerate(blocks)
        for left in blocks[: i + 1]
    ]
    out, sums = np.zeros((size, size)), np.empty((len(parts), size * size), rows.dtype)
    integers = np.zeros((len(tiles), LINE), np.int32)
    of = Gram(library_for(rows.dtype), rows.reshape(-1), size, np.array(tiles), integers, sums, out)
    passes.crew.run(multiply_tiles, n_rows * size * size // 2 // PRODUCTS_PER_NUMBER, of)
    return out


def products_of_rows(passes, rows):
    """``rows @ rows.T``."""
    n_rows, width = rows.shape
    out = np.empty((n_rows, n_rows), rows.dtype)

    def fill(part):
        before = slice(part.start)
        out[part, : part.stop] = rows[part] @ rows[: part.stop].T
        out[before, part] = out[part, before].T

    passes.run(fill, n_rows, n_rows * (width // (2 * PRODUCTS_PER_NUMBER) + 1), least=_LEAST * n_rows)
    return out


def roots_of(passes, rows, index, weights, whitening):
    """Some rows times a matrix and the roots of their weights, with the roots as one more column, in float32.

    ``whitening`` is a matrix, and whether it is an upper triangle; or None where rows are to stay as they are.
    """
    n, width = len(index), rows.shape[1]
    matrix, is_triangle = (_NO_MATRIX, False) if whitening is None else whitening
    d = matrix.shape[1] or width
    edges = passes.fixed_edges(n, d * width // PRODUCTS_PER_NUMBER + d)
    of = Roots(
        library_for(np.dtype(np.float32)), rows, index, weights,
        matrix.reshape(-1), is_triangle, np.empty(n * width if matrix.size and not is_triangle else 0, np.float32),
        np.empty((n, d + 1), np.float32),
        edges, np.zeros((len(edges) - 1, LINE), np.int32),
    )  # fmt: skip
    passes.crew.run(write_roots, n * (width * d // PRODUCTS_PER_NUMBER + d), of)
    return of.out


def inverse_factor(passes, matrix, shift=0.0):
    """``L^-T`` for ``matrix + shift I = L L'``, in float64; None if that is not positive definite."""
    return _swept(passes, matrix, shift, is_only_factored=False)


def is_positive_definite(passes, matrix, shift=0.0):
    """Whether a matrix is, with a number added to its diagonal."""
    return _swept(passes, matrix, shift, is_only_factored=True) is not None


def _swept(passes, matrix, shift, *, is_only_factored):
    n = len(matrix)
    width = _WIDTH * min(max(round(n / _WIDE), 1), _MOST_TIMES)
    n_blocks = -(-n // width)
    n_parts = max(n_blocks * (n_blocks - 1) // 2, n_blocks)
    out = np.empty((n, n))
    sweep = Sweep(
        library_for(out.dtype), out.reshape(-1), n, width, np.empty(n_blocks * width**2),
        np.zeros((n_parts, LINE), np.int32), np.zeros(1, np.int64),
    )  # fmt: skip
    passes.crew.run(copy_upper, n * n, matrix, float(shift), out)
    n_products = n**3 // (6 if is_only_factored else 2)
    return out if passes.crew.run(sweep_together, n_products // PRODUCTS_PER_NUMBER, sweep, is_only_factored) else None
