"""Machines in the cells of several trees, and what each row would be predicted to be had it not been learned."""

import threading
from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np

from frugalsvm.cells.solver import Cells, Examples, solved_cells
from frugalsvm.cells.tree import Tree, grown_tree
from frugalsvm.compiling.threads import Threads, row_blocks

__all__ = ["grown_trees", "left_out_scores", "trained"]

_BLOCK_ROWS = 2**14


def grown_trees(rows: np.ndarray, size: int, n_trees: int, rng: np.random.Generator, threads: Threads) -> list[Tree]:
    """Trees of their own random directions each."""
    return [grown_tree(rows, size, rng, threads) for _ in range(n_trees)]


def trained(
    kernel: Any,
    examples: Examples,
    trees: list[Tree],
    size: int,
    ridge: float,
    threads: Threads,
    advance: Callable[[int], Any] = lambda n_cells: None,
    memory: float = inf,
) -> tuple[list[Cells], np.ndarray]:
    """The machines of all cells of all trees, and leave-one-out scores (n_rows, n_outputs) of their mean.

    A row is left out of its cell in every tree; the trees stay as they are. ``advance`` is told, in this thread, how
    many more cells are done; ``memory`` limits the bytes of systems, see `solved_cells`.
    """
    errors, cells = np.zeros(examples.targets.shape), []
    for tree in trees:
        count = _Count(advance)
        cells.append(solved_cells(kernel, examples, tree, size, ridge, errors, threads, count.reach, memory=memory))
        count.reach(tree.n_cells)
    return cells, left_out_scores(examples.targets, errors, len(trees), threads)


class _Count:
    """Tells what is new of a number that grows, in the thread that has begun it: callbacks are not for several."""

    def __init__(self, advance: Callable[[int], Any]):
        self._advance, self._thread, self._told = advance, threading.get_ident(), 0

    def reach(self, number: int) -> None:
        if threading.get_ident() == self._thread and number > self._told:
            self._advance(number - self._told)
            self._told = number


def left_out_scores(targets: np.ndarray, errors: np.ndarray, n_trees: int, threads: Threads) -> np.ndarray:
    """Scores (n_rows, n_outputs) from the sums of leave-one-out errors (n_outputs, n_rows) over all trees.

    Those of one output take the place of its errors.
    """
    scores = errors.reshape(-1, 1) if len(errors) == 1 else np.empty(errors.T.shape)

    def write(rows: slice) -> None:
        np.subtract(targets[:, rows].T, errors[:, rows].T / n_trees, out=scores[rows])

    threads.run(write, row_blocks(len(scores), threads.count, _BLOCK_ROWS, _BLOCK_ROWS))
    return scores
