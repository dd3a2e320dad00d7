"""Passes over rows on the CPU: blocks of them side by side, on the threads of a fit.

How rows are cut into blocks depends on their number and size alone, and sums of blocks are added in their order: a
pass gives the same numbers, bit for bit, on however many threads it runs. Matrix products in a pass use one thread
each.
"""

import numpy as np

from frugalsvm._threads import ONE_THREAD, Threads, row_blocks
from frugalsvm.lowrank.row_products import TILE, add_up, write_scores

__all__ = ["ONE_AFTER_ANOTHER", "ChosenRows", "CurvedSums", "Passes"]

_BLOCKS = 32  # of a pass, unless there is a limit for their size
_LEAST_NUMBERS = 2**16  # in a block
_LEAST_PRODUCTS = 2**18  # likewise, where a number takes next to no time
_NO_INDEX, _NO_VECTORS, _NO_SHIFTS = np.zeros(0, np.int64), np.zeros((0, 0), np.float32), np.zeros(0, np.float32)
_WORTH_A_THREAD = 2**17  # numbers: with fewer for each thread, waking it takes longer than it saves


class Passes:
    """Passes over rows, on so many threads."""

    def __init__(self, threads: Threads = ONE_THREAD):
        self.threads = threads

    def run(self, function, n_rows, cost, *, most=None, least=_LEAST_NUMBERS):
        """What a function makes of each block of rows, in their order.

        ``cost``: numbers that are read for each row, or what takes as long. ``most``: rows of a block. ``least``:
        numbers of a block.
        """
        return self._worthwhile(n_rows * cost).run(function, self.blocks(n_rows, cost, least, most))

    @staticmethod
    def blocks(n_rows, cost, least, most=None):
        """How rows are cut."""
        return row_blocks(n_rows, _BLOCKS, least=-(-least // cost), most=most)

    def each(self, function, n_rows, cost):
        """The same for what does not depend on how rows are cut, without results: in as few blocks as there may be."""
        threads = self._worthwhile(n_rows * cost)
        threads.run(function, row_blocks(n_rows, threads.count))

    def _worthwhile(self, numbers):
        """As many threads as help."""
        return Threads(max(1, min(self.threads.count, numbers // _WORTH_A_THREAD)))

    def over(self, function, items, numbers):
        """A function of each item, without results; all together they take as long as reading so many numbers."""
        self._worthwhile(numbers).run(function, items)

    def scores(self, rows, vectors):
        """``vectors @ rows.T`` in float32."""
        (n_rows, width), n_outputs = rows.shape, len(vectors)
        out = np.empty((n_outputs, n_rows), np.float32)

        def one(block):  # the library's way of reading a matrix once is the best there is
            np.matmul(rows[block], vectors[0], out=out[0, block])

        def several(block):
            write_scores(rows, vectors, block.start, block.stop, out)

        if n_outputs == 1:
            self.run(one, n_rows, width, least=_LEAST_PRODUCTS)
        else:
            self.each(several, n_rows, width * _shared(n_outputs))
        return out

    def products(self, rows, vectors):
        """The same by the library, in the type of both."""
        out = np.empty((len(vectors), len(rows)), rows.dtype)

        def fill(block):
            np.matmul(vectors, rows[block].T, out=out[:, block])

        n_rows, width = rows.shape
        self.run(fill, n_rows, 2 * width * _shared(len(vectors)), least=_LEAST_PRODUCTS)
        return out

    def weighted_sums(self, rows, weights):
        """``weights @ rows`` in float64; rows without weight are not even read."""
        (n_rows, width), n_outputs = rows.shape, len(weights)

        def sums(block):
            work = _Work(rows, n_outputs)
            add_up(*work.arguments(block, weights))
            return work.totals

        return _in_order(self.run(sums, n_rows, width * _shared(n_outputs)))


class CurvedSums:
    """``(weights * (vectors @ rows.T + shifts)) @ rows`` and the sums of what is multiplied with the rows.

    For many vectors and the same rows and weights: memory is kept. ``rows`` are `ChosenRows`.
    """

    def __init__(self, passes, rows, weights):
        self._passes, self._rows, self._weights = passes, rows, np.ascontiguousarray(weights, np.float32)
        n_outputs, (n_rows, width) = len(weights), rows.shape
        self._vectors, self._shifts = np.empty((n_outputs, width), np.float32), np.empty(n_outputs, np.float32)
        self._numbers = n_rows * width * _shared(n_outputs)
        # All that can be done beforehand: while many threads wait for Python's lock, each call counts.
        blocks = passes.blocks(n_rows, width * _shared(n_outputs), _LEAST_PRODUCTS)
        self._work = [_Work(rows.block, n_outputs, rows.index) for _ in blocks]
        self._arguments = [
            work.arguments(block, self._weights, self._vectors, self._shifts)
            for work, block in zip(self._work, blocks, strict=True)
        ]

    def __call__(self, vectors, shifts):
        """Both in float64, ``(n_outputs, width)`` and ``(n_outputs, 1)``."""
        self._vectors[:], self._shifts[:] = vectors, shifts
        self._passes.over(_add_up, self._arguments, self._numbers)
        totals, weight_totals = zip(*((work.totals, work.weight_totals) for work in self._work), strict=True)
        return _in_order(totals), _in_order(weight_totals)[:, None]


def _add_up(arguments):
    add_up(*arguments)


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


ONE_AFTER_ANOTHER = Passes()


def _shared(n_outputs):
    """How many times as long several outputs take as one, which is limited by memory."""
    return -(-n_outputs // 4)


def _in_order(parts):
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


class _Work:
    """What a thread needs to add up a block of rows."""

    def __init__(self, rows, n_outputs, index=_NO_INDEX):
        width = rows.shape[1]
        self._rows, self._index = rows, index
        self._places, self._tile = np.empty(2 * TILE, np.int64), np.empty(TILE, np.float32)
        self._sums = np.empty((n_outputs, width), np.float32)
        self.totals, self.weight_totals = np.empty((n_outputs, width)), np.empty(n_outputs)

    def arguments(self, block, weights, vectors=_NO_VECTORS, shifts=_NO_SHIFTS):
        """Those of `add_up`."""
        return (
            self._rows, self._index, vectors, shifts, weights, block.start, block.stop, self._places, self._tile,
            self._sums, self.totals, self.weight_totals,
        )  # fmt: skip
