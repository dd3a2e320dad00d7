"""Scores of rows: each falls into a cell of every tree, whose machine it is scored by; trees are averaged.

Rows are sorted by cell. Threads take cells, or parts of those that many rows fall into.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from frugalsvm._compile import add_to, compiled, entry, generic
from frugalsvm._threads import ONE_THREAD, Threads, blas_threads
from frugalsvm.cells.solver import BLOCK_ROWS, Cells, gather_cell, has_mean_only, new_storage, padded_size
from frugalsvm.cells.tree import cells_of
from frugalsvm.core.fastmath import weighted_sums
from frugalsvm.core.kernels import kernel_row, pairing_of
from frugalsvm.core.pairing import block_pairs, row_norm

__all__ = ["in_parts", "load_cell", "scores"]

_MOST_ROWS = 2048  # of one cell that a thread takes at a time


class _Task(NamedTuple):
    """Rows that are to be scored."""

    kernel: Any
    rows: np.ndarray  # of the machines
    cells: Any  # `Cells`, or others that have `load_cell`
    X: np.ndarray
    order: np.ndarray  # (n,) rows of X sorted by cell
    parts: np.ndarray  # (n_parts, 3) cell, and where a part of its rows begins and ends in the order
    next_item: np.ndarray
    out: np.ndarray  # (n, n_outputs)


class _Room(NamedTuple):
    """Memory of one thread, besides that of a cell."""

    block: np.ndarray  # (BLOCK_ROWS, n_features)
    weights: np.ndarray  # (n_outputs, capacity)
    center: np.ndarray  # (n_features,) float64
    sums: np.ndarray  # (n_outputs,)


def scores(
    kernel: Any, rows: np.ndarray, trees: Sequence[Any], X: np.ndarray, threads: Threads = ONE_THREAD
) -> np.ndarray:
    """Scores (n, n_outputs) of rows X, as the kernel sees them and in the type of the machines' rows."""
    out = np.zeros((len(X), trees[0].intercepts.shape[1]))
    with blas_threads(1):
        for cells in trees:
            _add_scores(kernel, rows, cells, X, out, threads)
    out /= len(trees)
    return out


def _add_scores(kernel, rows, cells, X, out, threads) -> None:
    numbers = cells_of(cells.tree, X, threads)
    order = np.argsort(numbers, kind="stable")
    parts = in_parts(np.bincount(numbers, minlength=cells.tree.n_cells), _MOST_ROWS)
    n_outputs, n_features, dtype = out.shape[1], X.shape[1], rows.dtype
    largest = int(min(cells.size, cells.tree.sizes.max()))
    task = _Task(kernel, rows, cells, X, order, parts, np.zeros(1, np.int64), out)

    def work(_):
        storage = new_storage(largest, n_features, n_outputs, dtype, solves=False)
        weights = np.zeros((n_outputs, len(storage.norms)), dtype)
        block = np.zeros((BLOCK_ROWS, n_features), dtype)
        _score_some(task, storage, _Room(block, weights, np.zeros(n_features), np.zeros(n_outputs)))

    threads.run(work, range(min(threads.count, len(parts))))


def in_parts(counts: np.ndarray, most: int) -> np.ndarray:
    """Cells that rows fall into, in parts of not too many rows: (n_parts, 3) cell, begin and end in their order."""
    starts = np.concatenate([[0], np.cumsum(counts)])
    n_parts = -(-counts // most)
    cells = np.repeat(np.arange(len(counts)), n_parts)
    which = np.arange(len(cells)) - np.repeat(np.cumsum(n_parts) - n_parts, n_parts)
    begins = starts[cells] + most * which
    return np.column_stack([cells, begins, np.minimum(begins + most, starts[cells + 1])])


@generic
def load_cell(cells, kernel, rows, cell, storage, weights, center):
    """Put the rows of a cell, relative to a center, into a thread's memory, and its coefficients and center."""


@load_cell.implement(Cells)
def _load_cell(cells, kernel, rows, cell, storage, weights, center):
    start, stop = cells.tree.starts[cell], cells.tree.starts[cell + 1]
    gather_cell(kernel, rows, cells, cell, storage)
    for f in range(center.size):
        center[f] = cells.centers[cell, f]
    for o in range(weights.shape[0]):
        for j in range(stop - start):
            weights[o, j] = cells.coef[o, start + j]


@entry
def _score_some(task, storage, room):
    item = add_to(task.next_item, 1)
    while item < len(task.parts):
        cell, begin, end = task.parts[item]
        n = task.cells.tree.starts[cell + 1] - task.cells.tree.starts[cell]
        if has_mean_only(n, task.cells.size):
            _add_intercepts(task, cell, begin, end)
        else:
            _score_part(task, storage, room, cell, begin, end, n)
        item = add_to(task.next_item, 1)


@compiled
def _add_intercepts(task, cell, begin, end):
    for i in range(begin, end):
        for o in range(task.out.shape[1]):
            task.out[task.order[i], o] += task.cells.intercepts[cell, o]


@compiled
def _score_part(task, storage, room, cell, begin, end, n):
    cells, stride = task.cells, padded_size(n)
    load_cell(cells, task.kernel, task.rows, cell, storage, room.weights, room.center)
    pairing = pairing_of(task.kernel)
    for first in range(begin, end, BLOCK_ROWS):
        count = min(BLOCK_ROWS, end - first)
        for i in range(count):
            for f in range(task.X.shape[1]):
                room.block[i, f] = np.float64(task.X[task.order[first + i], f]) - room.center[f]
        block_pairs(pairing, room.block, count, storage.columns, stride, storage.products)
        for i in range(count):
            norm = row_norm(pairing, room.block, i)
            kernel_row(task.kernel, storage.products[i * stride :], storage.norms, norm, storage.values, n)
            weighted_sums(room.weights, 0, storage.values, n, room.sums)
            for o in range(task.out.shape[1]):
                task.out[task.order[first + i], o] += room.sums[o] + cells.intercepts[cell, o]
