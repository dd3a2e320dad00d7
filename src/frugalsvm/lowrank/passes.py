"""Passes over rows on the CPU: blocks of them side by side, on the threads of a fit.

How rows are cut into blocks that are summed depends on their number and size alone, and the sums are added in their
order, so that they are the same on however many threads they are made. Matrix products in a pass use one thread each.
"""

from functools import lru_cache
from math import isqrt

import numpy as np

from frugalsvm.compiling.crew import Crew
from frugalsvm.compiling.threads import ONE_THREAD, Threads, row_blocks, usable_cores
from frugalsvm.lowrank.row_products import (
    LOWER,
    TILE,
    UPPER,
    WHOLE,
    add_up,
    code_of_scores,
    code_of_sums,
    new_sums,
    write_scores,
)
from frugalsvm.lowrank.triangles import write_single

_BLOCKS = 32  # of a pass, unless there is a limit for their size
_LEAST_NUMBERS = 2**19  # in a block
_LEAST_PRODUCTS = 2**18  # likewise, where a number takes next to no time
_NO_INDEX = np.zeros(0, np.int64)
PRODUCTS_PER_NUMBER = 8  # products in matrices, in the time that it takes to read a number from memory
_STRIDED = 4  # numbers in the same time, where they are not read in the order in which they lie
_WORTH_A_THREAD = 2**17  # numbers that are read while a thread is woken, or waits for Python's lock
_LEAST_SHARED = 2**14  # numbers of a part for the crew
_STEP = 64  # rows: loops round what is left over after whole vectors in another way, which must always be the same rows
_PARTS_EACH = 4  # for each thread: some are busy with something else


class Passes:
    """Passes over rows, on some threads.

    Those in compiled code are shared by a crew, all others are calls from Python.
    """

    def __init__(self, threads: Threads = ONE_THREAD):
        self.threads = threads
        # More threads than cores only wait for each other.
        self.crew = Crew(min(threads.count, usable_cores()) if threads.count > 1 else 1)

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

    def scores(self, rows, vectors, form=WHOLE):
        """``vectors @ rows.T`` in their type; ``form`` tells where rows have numbers that are not zero."""
        out = np.empty((len(vectors), len(rows)), rows.dtype)
        edges, numbers = self.score_edges(rows, len(vectors), form)
        arguments = rows, form, np.ascontiguousarray(vectors), edges, out
        self.crew.run(write_scores, numbers, code_of_scores(*arguments), *arguments)
        return out

    def score_edges(self, rows, n_outputs, form=WHOLE):
        """Where rows are cut for `scores`, and how many numbers are read for them."""
        numbers = rows.nbytes // 4 * _shared(n_outputs) // (1 if form == WHOLE else 2)
        return self.edges(len(rows), numbers, TILE), numbers

    def edges(self, n_rows, numbers, step=_STEP):
        """Where rows are cut for the crew, if it does not matter where: into a few parts for each thread."""
        most = min(_PARTS_EACH * self.crew.count, int(numbers) // _LEAST_SHARED) if self.crew.count > 1 else 1
        return _edges(n_rows, most, 1, step)

    def fixed_edges(self, n_rows, cost, least=_LEAST_NUMBERS):
        """Where rows are cut that are summed: wherever they are, on any number of threads."""
        return _edges(n_rows, _BLOCKS, -(-least // cost), 1)

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
        of, numbers = self.new_sums(rows, _NO_INDEX, weights, vectors, shifts)
        self.crew.run(add_up, numbers, *code_of_sums(of), of)
        return of.sums

    def new_sums(self, rows, index, weights, vectors, shifts):
        """`Sums` of rows in as many parts as on any number of threads, and how many numbers are read for them."""
        (n_outputs, n_rows), width = weights.shape, rows.shape[1]
        edges = self.fixed_edges(n_rows, width, _LEAST_PRODUCTS)
        return new_sums(rows, index, vectors, shifts, weights, edges), n_rows * width * _shared(n_outputs)


class CurvedSums:
    """``(weights * (vectors @ rows.T + shifts)) @ rows`` and the sums of what is multiplied with the rows.

    ``rows`` are `ChosenRows`. Memory is made once, for many sums of the same rows.
    """

    def __init__(self, passes, rows, weights):
        weights = np.ascontiguousarray(weights, np.float32)
        n_outputs, width = len(weights), rows.shape[1]
        vectors, shifts = np.empty((n_outputs, width), np.float32), np.empty(n_outputs, np.float32)
        self.of, self.numbers = passes.new_sums(rows.block, rows.index, weights, vectors, shifts)
        self.codes, self._crew = code_of_sums(self.of), passes.crew

    def __call__(self, vectors, shifts):
        """Both in float64, ``(n_outputs, width)`` and ``(n_outputs, 1)``."""
        self.of.vectors[:], self.of.shifts[:] = vectors, shifts
        self._crew.run(add_up, self.numbers, *self.codes, self.of)
        return self.of.sums.copy(), self.of.weight_sums[:, None].copy()


class ChosenRows:
    """Some rows of a matrix, where they are."""

    def __init__(self, block, index):
        self.block, self.index = block, index
        self.shape = len(index), block.shape[1]

    def __len__(self):
        return len(self.index)

    def __getitem__(self, part):
        return ChosenRows(self.block, self.index[part])


class TwoTriangles:
    """Products of a few vectors with ``upper upper'``, in float32: whatever is rounded, it is never indefinite."""

    def __init__(self, passes, upper):
        self._passes = passes
        self.lower, self.upper = (np.empty(upper.shape, np.float32) for _ in "lu")
        passes.crew.run(write_single, 3 * upper.size, upper, self.upper, self.lower)

    def __call__(self, vectors):
        middle = self._passes.scores(self.lower, vectors.astype(np.float32), LOWER)
        return self._passes.scores(self.upper, middle, UPPER)


ONE_AFTER_ANOTHER = Passes()


@lru_cache(64)
def _edges(n_rows, count, least, step):
    return np.array([0, *(block.stop for block in row_blocks(n_rows, count, least=max(least, 1), step=step))])


def _shared(n_outputs):
    """How many times as long several outputs take as one, which is limited by memory."""
    return -(-n_outputs // 4)
