"""Where cells are solved: in threads of this machine, or on a device. Both offer the same."""

import threading
from collections.abc import Callable
from math import inf
from typing import Any, NamedTuple, Protocol

import numpy as np

from frugalsvm.cells.batches import taken
from frugalsvm.cells.choosing import Choice, SomeCells, left_out_on_device, left_out_on_threads
from frugalsvm.cells.device_scores import scores_on_device
from frugalsvm.cells.device_tree import grown_on_device
from frugalsvm.cells.on_device import DeviceExamples, cells_sent_home, solved_on_device, to_device
from frugalsvm.cells.scores import scores
from frugalsvm.cells.solver import Cells, Examples, cell_bytes, solved_cells
from frugalsvm.cells.tree import Tree, grown_tree
from frugalsvm.compiling.threads import ONE_THREAD, Threads, row_blocks

_BLOCK_ROWS = 2**14


Advance = Callable[[int], Any]


def _nobody(n_cells: int) -> None:
    """Where progress is not shown."""


class Place(Protocol):
    """What both offer; examples are those that the place has made."""

    def examples(self, rows: Any, targets: np.ndarray, weights: np.ndarray, home: np.ndarray | None = None) -> Any:
        """Examples from rows, targets (n_outputs, n_rows), and weights, (0,) where all are 1.

        ``home`` is an array of the host for the rows of the model, if those are on a device.
        """

    def rows_of(self, examples: Any) -> np.ndarray:
        """The rows of examples, for the model."""

    def grown(self, examples: Any, size: int, n_trees: int, rng: np.random.Generator) -> list[Tree]:
        """Trees of their own random directions each."""

    def taken(self, examples: Any, index: np.ndarray) -> Examples:
        """Some of the examples, on the host."""

    def left_out(
        self, kernel: Any, cells: SomeCells, points: list[Choice], *, may_fall_back: bool = False
    ) -> list[np.ndarray | None]:
        """Leave-one-out scores of machines that differ in gamma and C."""

    def trained(
        self, kernel: Any, examples: Any, trees: list[Tree], size: int, ridge: float, advance: Advance = _nobody
    ) -> tuple[list[Cells], np.ndarray]:
        """The machines of all trees, and leave-one-out scores (n_rows, n_outputs) of their mean.

        A row is left out of its cell in every tree; the trees stay as they are. ``advance`` is called, in this thread,
        with the number of further cells that are done.
        """

    def scores(self, kernel: Any, rows: Any, trees: list[Any], X: Any) -> np.ndarray:
        """Scores (n, n_outputs) of rows X."""


class OnThreads(NamedTuple):
    """Compiled code in threads."""

    threads: Threads
    memory: float = inf  # bytes for the systems of cells

    def examples(self, rows: Any, targets: np.ndarray, weights: np.ndarray, home: np.ndarray | None = None) -> Examples:
        return Examples(rows, targets, weights)

    def rows_of(self, examples: Any) -> np.ndarray:
        return examples.rows

    def grown(self, examples: Any, size: int, n_trees: int, rng: np.random.Generator) -> list[Tree]:
        return [grown_tree(examples.rows, size, rng, self.threads) for _ in range(n_trees)]

    def taken(self, examples: Any, index: np.ndarray) -> Examples:
        rows, targets, weights = examples
        return Examples(
            rows[index], np.ascontiguousarray(targets[:, index]), weights[index] if len(weights) else weights
        )

    def left_out(
        self, kernel: Any, cells: SomeCells, points: list[Choice], *, may_fall_back: bool = False
    ) -> list[np.ndarray | None]:
        rows, targets, _ = cells.examples
        needed = cell_bytes(int(cells.sizes.max()), rows.shape[1], len(targets), rows.dtype)
        threads = Threads(int(max(1, min(self.threads.count, self.memory // needed))))
        return left_out_on_threads(kernel, cells, points, threads, may_fall_back=may_fall_back)

    def trained(
        self, kernel: Any, examples: Any, trees: list[Tree], size: int, ridge: float, advance: Advance = _nobody
    ):
        errors, cells = np.zeros(examples.targets.shape), []
        for tree in trees:
            count = _Count(advance)
            tell, memory = count.reach, self.memory
            cells.append(solved_cells(kernel, examples, tree, size, ridge, errors, self.threads, tell, memory=memory))
            count.reach(tree.n_cells)
        return cells, left_out_scores(examples.targets, errors, len(trees), self.threads)

    def scores(self, kernel: Any, rows: Any, trees: list[Any], X: Any) -> np.ndarray:
        return scores(kernel, rows, trees, X, self.threads)


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


class OnDevice(NamedTuple):
    """Batches of cells in operations on whole arrays; trees and machines are of NumPy arrays as well."""

    arrays: Any
    memory: int  # bytes for the matrices of cells
    threads: Threads = ONE_THREAD  # for the trees of rows that the device has no room for

    def examples(
        self, rows: Any, targets: np.ndarray, weights: np.ndarray, home: np.ndarray | None = None
    ) -> DeviceExamples:
        return to_device(self.arrays, rows, targets, weights, self.memory, home)

    def rows_of(self, examples: Any) -> np.ndarray:
        return examples.rows_on_host()

    def grown(self, examples: Any, size: int, n_trees: int, rng: np.random.Generator) -> list[Tree]:
        return [grown_on_device(self.arrays, examples.rows, size, rng, self.threads) for _ in range(n_trees)]

    def taken(self, examples: Any, index: np.ndarray) -> Examples:
        arrays, there = self.arrays, self.arrays.asarray(index)
        rows, targets = (arrays.host(taken(arrays, each, there)) for each in (examples.rows, examples.targets))
        weights = np.empty(0) if examples.weights is None else arrays.host(examples.weights[there])
        return Examples(rows, np.ascontiguousarray(targets.T), weights)

    def left_out(
        self, kernel: Any, cells: SomeCells, points: list[Choice], *, may_fall_back: bool = False
    ) -> list[np.ndarray | None]:
        return left_out_on_device(kernel, cells, points, may_fall_back=may_fall_back)

    def trained(
        self, kernel: Any, examples: Any, trees: list[Tree], size: int, ridge: float, advance: Advance = _nobody
    ):
        arrays, cells = self.arrays, []
        left_out = arrays.double(examples.targets) * 1.0
        for tree in trees:
            found = solved_on_device(kernel, examples, tree, size, np.full(tree.n_cells, ridge))
            left_out[arrays.asarray(tree.members)] -= found.errors[:-1] / len(trees)
            cells.append(cells_sent_home(examples, tree, size, found))
            advance(tree.n_cells)
        scores = arrays.sent_home(left_out)
        return [each() for each in cells], scores()

    def scores(self, kernel: Any, rows: Any, trees: list[Any], X: Any) -> np.ndarray:
        return scores_on_device(self.arrays, kernel, rows, trees, X, self.memory)
