"""Which rows take part in a comparison: in a random order that spreads classes evenly, or those of some cells.

Widths and penalties depend on how dense rows are, so that they are chosen in cells that are as dense as those of the
last fit. A tree of some rows tells where its cells are; all rows are then passed through it once.
"""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from frugalsvm.arrays.namespace import is_torch, on_host
from frugalsvm.cells.tree import Tree, cells_of, grown_tree
from frugalsvm.compiling.threads import row_blocks
from frugalsvm.metric_learning.machine import Rows, standardized
from frugalsvm.selection.task import Task, View

__all__ = ["FEW", "divided", "neighborhoods", "random_order", "sampled", "some_rows"]

FEW = 10  # rows that every class keeps, if it has them
_MOST_ROWS = 2**18  # of an order: more are never looked at


def random_order(labels: np.ndarray | None, n_rows: int, rng: np.random.Generator) -> np.ndarray:
    """A random order of all rows, or of very many; with labels (indices of classes), classes are in proportion."""
    if n_rows > _MOST_ROWS:
        some = _drawn(labels, n_rows, rng)
        return some[random_order(None if labels is None else labels[some], len(some), rng)]
    order = rng.permutation(n_rows)
    if labels is None:
        return order
    ranks, counts = _ranks(labels[order])
    places = (ranks + rng.random(n_rows)) / counts[labels[order]]
    return order[np.argsort(places, kind="stable")]


def _drawn(labels, n_rows, rng) -> np.ndarray:
    """Some rows, with a few of every class."""
    some = np.unique(rng.integers(n_rows, size=_MOST_ROWS // 2))
    if labels is None:
        return some
    counts = np.bincount(labels, minlength=labels.max() + 1)
    lacking = np.flatnonzero(np.bincount(labels[some], minlength=len(counts)) < np.minimum(counts, FEW))
    return np.unique(np.concatenate([some, *(np.flatnonzero(labels == each)[:FEW] for each in lacking)]))


def sampled(order: np.ndarray, labels: np.ndarray | None, n_rows: int) -> np.ndarray:
    """The first rows of a random order, and a few rows of classes that would have fewer among them."""
    if n_rows >= len(order) or labels is None:
        return order[:n_rows]
    ranks, _ = _ranks(labels[order])
    return order[(np.arange(len(order)) < n_rows) | (ranks < FEW)]


def _ranks(labels):
    """How many rows of its class come before each row, and how many there are of each class."""
    counts = np.bincount(labels)
    by_class = np.argsort(labels, kind="stable")
    first = np.cumsum(counts) - counts
    ranks = np.empty(len(labels), np.int64)
    ranks[by_class] = np.arange(len(labels)) - first[labels[by_class]]
    return ranks, counts


_SAMPLE_ROWS = 2**17
_BLOCK_ROWS = 2**16


def neighborhoods(task: Task, view: View, size: int, count: int) -> list[np.ndarray]:
    """The rows of some cells of about a size, from all over; one of all rows, where they are no more."""
    n_rows = task.n_rows
    if n_rows <= size or view.is_sparse:  # trees are for dense rows
        return [np.sort(task.rng.choice(n_rows, min(size, n_rows), replace=False, shuffle=False))]
    drawn = np.sort(task.rng.choice(n_rows, min(n_rows, _SAMPLE_ROWS), replace=False, shuffle=False))
    least = max(2, size * len(drawn) // n_rows)
    tree = grown_tree(view.take(drawn), least, task.rng, task.machinery.threads)
    chosen = (np.arange(count) * 2 + 1) * tree.n_cells // (2 * count) if tree.n_cells > count else range(tree.n_cells)
    if len(drawn) == n_rows:
        return [np.sort(tree.members_of(cell)) for cell in chosen]
    return _members(task, view, tree, list(chosen), 2 * size)


def _members(task: Task, view: View, tree: Tree, chosen: list[int], most: int) -> list[np.ndarray]:
    """All rows that fall into some cells, but no more than ``most`` of each."""
    found: list[list[np.ndarray]] = [[] for _ in chosen]
    for block in row_blocks(task.n_rows, 1, most=_BLOCK_ROWS):
        cells = cells_of(tree, view.take(block), task.machinery.threads)
        for cell, parts in zip(chosen, found, strict=True):
            parts.append(block.start + np.flatnonzero(cells == cell))
    return [np.concatenate(parts)[:most] for parts in found]


def divided(task: Task, view: View, members: np.ndarray, size: int) -> list[np.ndarray]:
    """The rows of a cell in smaller ones."""
    if len(members) <= size or view.is_sparse:
        return [members]
    tree = grown_tree(view.take(members), size, np.random.default_rng(0), task.machinery.threads)
    return [np.sort(members[tree.members_of(cell)]) for cell in range(tree.n_cells)]


def some_rows(X: Any, targets: Any, weights: np.ndarray | None, rng: np.random.Generator, n_most: int) -> Rows:
    """Some of the rows that have a weight, in float64, as values of the first output or signs of all."""
    known = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights)
    n_rows = min(len(known), n_most)
    index = np.sort(rng.choice(known, n_rows, replace=False)) if n_rows < len(known) else known
    values = on_host(X[index]) if is_torch(X) else X[index]
    values = np.asarray(values.toarray() if issparse(values) else values, np.float64)
    of_rows = np.ones(n_rows) if weights is None else np.asarray(weights, np.float64)[index]
    return Rows(values, standardized(np.asarray(on_host(targets)[:, index], np.float64).T), of_rows)
