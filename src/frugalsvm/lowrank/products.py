"""Matrix products whose rows do not depend on the batch that they come in, not in the last bit.

Libraries choose how to multiply by the shapes of the matrices, and round differently then: a row alone, or a few, take
another way than many. So that the score of a row is the same in every batch, and a stream gives the same model however
it is cut, all products here are of blocks of the same size; the last block is filled up with zeros.

What OpenBLAS has for AVX2 rounds a row of float32 by where it is in a block, too (it also serves processors with
AVX-512 that it does not know). There, all of this is in float64, which takes twice as long.
"""

from functools import cache
from itertools import groupby
from operator import itemgetter

import numpy as np
from scipy.linalg.blas import sgemm

BLOCK_ROWS = 64  # as few as a matrix product is fast with
_TALL_ROWS = 128  # as few as many products of a block, each of a part of the columns, are fast with
_BLOCKS, _LEAST = 8, 64  # blocks of columns, and columns of a block at least
_PROBED = ((10, 112), (22, 512), (54, 100))  # features of rows, and vectors to multiply them with


@cache
def single_is_steady() -> bool:
    """Whether products in float32 round a row alike wherever it is in a block: found out by trying, once."""
    rng = np.random.default_rng(0)
    for n_features, n_vectors in _PROBED:
        rows = np.repeat(rng.normal(size=(1, n_features)).astype(np.float32), BLOCK_ROWS, axis=0)
        vectors = rng.normal(size=(n_vectors, n_features)).astype(np.float32)
        for found in (rows @ vectors.T, rows @ np.ascontiguousarray(vectors.T), sgemm(1.0, vectors, rows, trans_b=1).T):
            if (found != found[0]).any():
                return False
    return True


class ColumnBlocks:
    """A matrix in float32 to multiply many rows with: below the last number of a block of columns, all are left out.

    Of a triangular matrix, that is nearly half.
    """

    def __init__(self, matrix):
        single, width = np.asarray(matrix, np.float32), matrix.shape[1]
        step = max(_LEAST, -(-width // _BLOCKS))
        self.width, self._blocks = width, []
        for start, stop, height in _merged(_heights(single, step)):
            self._blocks.append((slice(start, stop), single[:height, start:stop]))

    def multiply(self, rows, out, *, steady=False):
        """``rows @ matrix``; ``steady``: in which a row does not depend on its neighbors."""
        if steady:
            return self._steady(rows, out)
        for columns, block in self._blocks:
            np.matmul(rows[:, : len(block)], block, out=out[:, columns])
        return out

    def _steady(self, rows, out):
        if not single_is_steady():
            for columns, block in self._blocks:
                steady_product(rows[:, : len(block)], block, out=out[:, columns])
            return out
        n_whole = len(rows) - len(rows) % _TALL_ROWS
        for start in range(0, n_whole, _TALL_ROWS):
            part = slice(start, start + _TALL_ROWS)
            self.multiply(rows[part], out[part])
        if n_whole < len(rows):
            last = self.multiply(_filled_up(rows[n_whole:], _TALL_ROWS), np.empty((_TALL_ROWS, self.width), np.float32))
            out[n_whole:] = last[: len(rows) - n_whole]
        return out


def _heights(matrix, step):
    """Blocks of columns, from a first to a last one, and the number of rows down to their last number."""
    for start in range(0, matrix.shape[1], step):
        is_used = matrix[:, start : start + step].any(axis=1)
        yield start, min(start + step, matrix.shape[1]), len(is_used) - int(np.argmax(is_used[::-1]))


def _merged(blocks):
    """Neighbors of the same height as one: a matrix without zeros is multiplied at once."""
    for height, group in groupby(blocks, key=itemgetter(2)):
        group = list(group)
        yield group[0][0], group[-1][1], height


def steady_product(rows, matrix, out=None):
    """``rows @ matrix``, block by block."""
    n_rows = len(rows)
    if out is None:
        out = np.empty((n_rows, matrix.shape[1]), rows.dtype)
    if rows.dtype == np.float32 and not single_is_steady():
        matrix = np.asarray(matrix, np.float64)
        for start in range(0, n_rows, BLOCK_ROWS):
            part = rows[start : start + BLOCK_ROWS]
            out[start : start + BLOCK_ROWS] = (_filled_up(part, BLOCK_ROWS, np.float64) @ matrix)[: len(part)]
        return out
    n_whole = n_rows - n_rows % BLOCK_ROWS
    blocks = rows[:n_whole].reshape(-1, BLOCK_ROWS, rows.shape[1])
    np.matmul(blocks, matrix, out=out[:n_whole].reshape(-1, BLOCK_ROWS, matrix.shape[1]))
    if n_whole < n_rows:
        out[n_whole:] = (_filled_up(rows[n_whole:], BLOCK_ROWS) @ matrix)[: n_rows - n_whole]
    return out


def _filled_up(rows, n_rows, dtype=None):
    """A block of as many rows as all others: zeros below the last ones."""
    block = np.zeros((n_rows, rows.shape[1]), dtype or rows.dtype)
    block[: len(rows)] = rows
    return block
