"""Scores of rows: each falls into a cell of every tree, whose machine it is scored by; trees are averaged.

Rows are sorted by cell. Threads take cells, or parts of those that many rows fall into. Of a cell, they have a panel of
rows at a time in their memory.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.cells.phases import BLOCK_ROWS, PANEL_ROWS, gather_rows, has_mean_only, padded_size
from frugalsvm.cells.solver import Cells, capacity_for
from frugalsvm.cells.tree import cells_of
from frugalsvm.compiling.functions import add_to, compiled, entry, generic, read_only
from frugalsvm.compiling.threads import ONE_THREAD, Threads, blas_threads
from frugalsvm.core.fastmath import weighted_sums
from frugalsvm.core.kernels import kernel_row, pairing_of
from frugalsvm.core.pairing import block_pairs, row_norm

_LEAST_ROWS, _MOST_ROWS = 256, 2048  # of one cell that a thread takes at a time


class _Task(NamedTuple):
    """Rows that are to be scored."""

    kernel: Any
    rows: np.ndarray  # of the machines
    cells: Any  # `Cells`, or others that have `load_rows`
    X: np.ndarray
    order: np.ndarray  # (n,) rows of X sorted by cell
    parts: np.ndarray  # (n_parts, 3) cell, and where a part of its rows begins and ends in the order
    next_item: np.ndarray
    out: np.ndarray  # (n, n_outputs)


class _Storage(NamedTuple):
    """Memory of one thread, for up to a number of rows of a cell."""

    rows: np.ndarray  # (capacity, n_features)
    columns: np.ndarray  # the same, feature after feature
    norms: np.ndarray
    products: np.ndarray  # (BLOCK_ROWS * capacity,)
    values: np.ndarray  # (capacity,) kernel values


def new_storage(size: int, n_features: int, dtype: Any) -> _Storage:
    """Memory for up to ``size`` rows."""
    capacity = capacity_for(size)
    return _Storage(
        np.zeros((capacity, n_features), dtype),
        np.zeros(n_features * capacity, dtype),
        np.zeros(capacity, dtype),
        np.zeros(BLOCK_ROWS * capacity, dtype),
        np.zeros(capacity, dtype),
    )


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
    rows, X = read_only(rows), read_only(X)
    with blas_threads(1):
        for cells in trees:
            _add_scores(kernel, rows, read_only(cells), X, out, threads)
    out /= len(trees)
    return out


def _add_scores(kernel, rows, cells, X, out, threads) -> None:
    numbers = cells_of(cells.tree, X, threads)
    order = np.argsort(numbers, kind="stable")
    most = min(max(len(X) // threads.count // BLOCK_ROWS * BLOCK_ROWS, _LEAST_ROWS), _MOST_ROWS)
    parts = in_parts(np.bincount(numbers, minlength=cells.tree.n_cells), most)
    n_outputs, n_features = out.shape[1], X.shape[1]
    dtype = cells.coef.dtype if isinstance(cells, Cells) else rows.dtype
    largest = int(min(cells.size, cells.tree.sizes.max(), PANEL_ROWS))
    task = _Task(kernel, rows, cells, X, order, parts, np.zeros(1, np.int64), out)

    def work(_):
        storage = new_storage(largest, n_features, dtype)
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
def load_rows(cells, kernel, rows, cell, first, n, storage, weights, center):
    """Put n rows of a cell, relative to a center, into a thread's memory, with their coefficients and the center."""


@load_rows.implement(Cells)
def _load_rows(cells, kernel, rows, cell, first, n, storage, weights, center):
    start = cells.tree.starts[cell] + first
    gather_rows(kernel, rows, cells, cell, first, n, storage.rows, storage.columns, storage.norms)
    for f in range(center.size):
        center[f] = cells.centers[cell, f]
    for o in range(weights.shape[0]):
        for j in range(n):
            weights[o, j] = cells.coef[o, start + j]


@entry
def _score_some(task, storage, room):
    item = add_to(task.next_item, 1)
    while item < len(task.parts):
        cell, begin, end = task.parts[item]
        n = task.cells.tree.starts[cell + 1] - task.cells.tree.starts[cell]
        _add_intercepts(task, cell, begin, end)
        if not has_mean_only(n, task.cells.size):
            _score_part(task, storage, room, cell, begin, end, n)
        item = add_to(task.next_item, 1)


@compiled
def _add_intercepts(task, cell, begin, end):
    for i in range(begin, end):
        for o in range(task.out.shape[1]):
            task.out[task.order[i], o] += task.cells.intercepts[cell, o]


@compiled
def _score_part(task, storage, room, cell, begin, end, n):
    for panel in range(0, n, PANEL_ROWS):
        count = min(PANEL_ROWS, n - panel)
        load_rows(task.cells, task.kernel, task.rows, cell, panel, count, storage, room.weights, room.center)
        for first in range(begin, end, BLOCK_ROWS):
            _score_block(task, storage, room, first, min(first + BLOCK_ROWS, end), count)


@compiled
def _score_block(task, storage, room, first, last, n):
    """Add what the n rows in a thread's memory make of some others."""
    pairing, stride = pairing_of(task.kernel), padded_size(n)
    for i in range(first, last):
        for f in range(task.X.shape[1]):
            room.block[i - first, f] = np.float64(task.X[task.order[i], f]) - room.center[f]
    block_pairs(pairing, room.block, last - first, storage.columns, stride, storage.products)
    for i in range(first, last):
        norm, products = row_norm(pairing, room.block, i - first), storage.products[(i - first) * stride :]
        kernel_row(task.kernel, products, storage.norms, norm, storage.values, n)
        weighted_sums(room.weights, 0, storage.values, n, room.sums)
        for o in range(task.out.shape[1]):
            task.out[task.order[i], o] += room.sums[o]
