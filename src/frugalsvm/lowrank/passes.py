"""Passes over rows on the CPU: blocks of them side by side, on the threads of a fit.

How rows are cut into blocks that are summed depends on their number and size alone, and the sums are added in their
order, so that they are the same on however many threads they are made. Matrix products in a pass use one thread each.
"""

from math import isqrt

import numpy as np

from frugalsvm.compiling.threads import ONE_THREAD, Threads, row_blocks
from frugalsvm.lowrank.row_products import LOWER, TILE, UPPER, WHOLE, add_up, write_scores

__all__ = ["ONE_AFTER_ANOTHER", "PRODUCTS_PER_NUMBER", "ChosenRows", "CurvedSums", "Passes", "TwoTriangles"]

_BLOCKS = 32  # of a pass, unless there is a limit for their size
_LEAST_NUMBERS = 2**19  # in a block
_LEAST_PRODUCTS = 2**18  # likewise, where a number takes next to no time
_NO_INDEX = np.zeros(0, np.int64)
PRODUCTS_PER_NUMBER = 8  # products in matrices, in the time that it takes to read a number from memory
_SMALL = 2**18  # numbers of a matrix that one thread multiplies as fast as several
_STRIDED = 4  # numbers in the same time, where they are not read in the order in which they lie
_WORTH_A_THREAD = 2**17  # numbers that are read while a thread is woken, or waits for Python's lock


class Passes:
    """Passes over rows, on some threads."""

    def __init__(self, threads: Threads = ONE_THREAD):
        self.threads = threads

    def run(self, function, n_rows, cost, *, most=None, least=_LEAST_NUMBERS):
        """What a function makes of each block of rows, in their order.

        ``cost``: numbers that are read for each row, or what takes as long. ``most``: rows of a block. ``least``:
        numbers of a block.
        """
        blocks = row_blocks(n_rows, _BLOCKS, least=-(-least // cost), most=most)
        return self.worthwhile(n_rows * cost).run(function, blocks)

    def each(self, function, n_rows, cost):
        """The same for what does not depend on how rows are cut, without results: in as few blocks as there may be."""
        threads = self.worthwhile(n_rows * cost)
        threads.run(function, row_blocks(n_rows, threads.count))

    def worthwhile(self, numbers):
        """As many threads as help: each one more takes a share of the work, and a while to be woken and heard."""
        return Threads(max(1, min(self.threads.count, isqrt(numbers // _WORTH_A_THREAD))))

    def over(self, function, items, n_products):
        """A function of each item, without results; all together they are ``n_products`` products of two numbers."""
        self.worthwhile(n_products // PRODUCTS_PER_NUMBER).run(function, items)

    def scores(self, rows, vectors):
        """``vectors @ rows.T`` in their type."""
        (n_rows, width), n_outputs = rows.shape, len(vectors)
        out, vectors = np.empty((n_outputs, n_rows), rows.dtype), np.ascontiguousarray(vectors)

        def by_library(block):
            np.matmul(vectors, rows[block].T, out=out[:, block])

        def compiled(block):
            write_scores(rows, WHOLE, vectors, block.start, block.stop, out)

        # Of rows, one score each is read at the speed of memory by the library; not so several. Landmarks come in
        # float64: while NumPy multiplies with a matrix of so few rows, it keeps Python's lock.
        is_compiled = n_outputs > 1 if rows.dtype == np.float32 else rows.size > _SMALL
        fill = compiled if is_compiled else by_library
        self.each(fill, n_rows, width * rows.itemsize // 4 * _shared(n_outputs))
        return out

    def transposed(self, matrix):
        """The transposed matrix, in memory of its own."""
        out = np.empty(matrix.shape[::-1], matrix.dtype)

        def fill(rows):
            out[rows] = matrix[:, rows].T

        self.each(fill, len(out), _STRIDED * len(matrix))
        return out

    def weighted_sums(self, rows, weights):
        """``weights @ rows`` in float64; rows without weight are not even read."""
        n_outputs = len(weights)
        vectors, shifts = np.zeros((n_outputs, 0), np.float32), np.zeros(n_outputs, np.float32)
        return _Sums(self, rows, _NO_INDEX, weights, vectors, shifts)()[0]


class _Sums:
    """Sums over blocks of rows, see `add_up`; memory and arguments are made once, for many sums of the same rows.

    Blocks are as many as they are for any number of threads. A thread takes several of them in one call: while many
    threads wait for Python's lock, each call counts.
    """

    def __init__(self, passes, rows, index, weights, vectors, shifts):
        n_outputs, n_rows = weights.shape
        width = rows.shape[1]
        blocks = row_blocks(n_rows, _BLOCKS, least=-(-_LEAST_PRODUCTS // width))
        edges = np.array([0, *(block.stop for block in blocks)])
        self._totals, self._weight_totals = (
            np.empty((len(blocks), n_outputs, width)),
            np.empty((len(blocks), n_outputs)),
        )
        self._threads = passes.worthwhile(n_rows * width * _shared(n_outputs))
        self._arguments = [
            (
                rows, index, vectors, shifts, weights, edges, part.start, part.stop, np.empty(2 * TILE, np.int64),
                np.empty(TILE, np.float32), np.empty((n_outputs, width), np.float32), self._totals, self._weight_totals,
            )
            for part in row_blocks(len(blocks), self._threads.count)
        ]  # fmt: skip

    def __call__(self):
        """Both in float64, ``(n_outputs, width)`` and ``(n_outputs, 1)``."""
        self._threads.run(_add_up, self._arguments)
        return self._totals.sum(axis=0), self._weight_totals.sum(axis=0)[:, None]


def _add_up(arguments):
    add_up(*arguments)


class CurvedSums:
    """``(weights * (vectors @ rows.T + shifts)) @ rows`` and the sums of what is multiplied with the rows.

    ``rows`` are `ChosenRows`.
    """

    def __init__(self, passes, rows, weights):
        weights = np.ascontiguousarray(weights, np.float32)
        n_outputs, width = len(weights), rows.shape[1]
        self._vectors, self._shifts = np.empty((n_outputs, width), np.float32), np.empty(n_outputs, np.float32)
        self._sums = _Sums(passes, rows.block, rows.index, weights, self._vectors, self._shifts)

    def __call__(self, vectors, shifts):
        """Both in float64, ``(n_outputs, width)`` and ``(n_outputs, 1)``."""
        self._vectors[:], self._shifts[:] = vectors, shifts
        return self._sums()


class ChosenRows:
    """Some rows of a matrix, where they are."""

    def __init__(self, block, index):
        self.block, self.index = block, index
        self.shape = len(index), block.shape[1]

    def __len__(self):
        return len(self.index)

    def __getitem__(self, part):
        return ChosenRows(self.block, self.index[part])

    def copied(self, part):
        """Some of them, in a matrix of their own."""
        return self.block.take(self.index[part], 0, mode="clip")


class TwoTriangles:
    """Products of a few vectors with ``lower' lower``, in float32: whatever is rounded, it is never indefinite."""

    def __init__(self, passes, lower):
        self._passes, self._lower = passes, lower.astype(np.float32)
        self._upper = passes.transposed(self._lower)

    def __call__(self, vectors):
        middle = self._scores(self._lower, LOWER, np.ascontiguousarray(vectors, np.float32))
        return self._scores(self._upper, UPPER, middle)

    def _scores(self, rows, form, vectors):
        size, n_outputs = len(rows), len(vectors)
        out = np.empty((n_outputs, size), np.float32)
        threads = self._passes.worthwhile(rows.size // 2 * _shared(n_outputs))

        def fill(block):
            write_scores(rows, form, vectors, block.start, block.stop, out)

        # More blocks than threads: they are not alike.
        threads.run(fill, row_blocks(size, 1 if threads.count == 1 else 4 * threads.count))
        return out


ONE_AFTER_ANOTHER = Passes()


def _shared(n_outputs):
    """How many times as long several outputs take as one, which is limited by memory."""
    return -(-n_outputs // 4)
