"""Leave-one-out scores of several machines on the rows of some cells, all of them side by side."""

from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.cells.on_device import DeviceExamples, solved_on_device
from frugalsvm.cells.solver import Examples, solved_cells
from frugalsvm.cells.tree import Tree
from frugalsvm.compiling.threads import Threads, blas_threads

__all__ = ["Choice", "SomeCells", "left_out_on_device", "left_out_on_threads"]


class Choice(NamedTuple):
    """What machines of one kernel differ in."""

    gamma: float  # 0 for a kernel without one
    C: float


class SomeCells(NamedTuple):
    """Rows of some cells, cell after cell."""

    examples: Any  # as the place has them that solves the cells
    starts: np.ndarray
    on_host: Examples

    @classmethod
    def of(cls, place: Any, members: list[np.ndarray], on_host: Examples) -> "SomeCells":
        """Cells with given numbers of members, whose examples are these, cell after cell."""
        starts = np.concatenate([[0], np.cumsum(list(map(len, members)))])
        return cls(place.examples(*on_host), starts, on_host)

    @property
    def sizes(self) -> np.ndarray:
        return np.diff(self.starts)


def left_out_on_threads(
    kernel: Any, cells: SomeCells, points: list[Choice], threads: Threads, *, may_fall_back: bool = False
) -> list[np.ndarray | None]:
    """For each point, scores (n_outputs, n_rows) of all rows.

    None where the type of the rows is too coarse, unless it may fall back to float64, which is slow.
    """
    tasks = list(product(points, range(len(cells.sizes))))
    with blas_threads(1):
        found = threads.run(partial(_scores_in, kernel, cells, may_fall_back), tasks)
    each = [found[k : k + len(cells.sizes)] for k in range(0, len(found), len(cells.sizes))]
    return [None if any(part is None for part in parts) else np.concatenate(parts, axis=1) for parts in each]


def _scores_in(kernel, cells: SomeCells, may_fall_back: bool, task: tuple[Choice, int]) -> np.ndarray | None:
    point, cell = task
    part = slice(*cells.starts[cell : cell + 2])
    rows, targets, weights = cells.examples
    own = Examples(rows[part], np.ascontiguousarray(targets[:, part]), weights[part] if len(weights) else weights)
    errors, n_rows = np.zeros(own.targets.shape), len(own.rows)
    alone = _unconnected(own.rows, np.arange(n_rows), np.array([n_rows]))
    kernel = kernel._replace(gamma=point.gamma) if point.gamma > 0 else kernel
    solved = solved_cells(kernel, own, alone, n_rows, 1.0 / point.C, errors, may_fall_back=may_fall_back)
    return None if solved is None else own.targets - errors


def left_out_on_device(
    kernel: Any, cells: SomeCells, points: list[Choice], *, may_fall_back: bool = False
) -> list[np.ndarray | None]:
    """The same on a device: all points in all cells are one batch."""
    examples: DeviceExamples = cells.examples
    sizes, n_rows = cells.sizes, int(cells.starts[-1])
    tree = _unconnected(examples.rows, np.tile(np.arange(n_rows), len(points)), np.tile(sizes, len(points)))
    ridges = np.repeat([1.0 / point.C for point in points], len(sizes))
    gammas = np.repeat([point.gamma for point in points], len(sizes)) if "gamma" in kernel._fields else None
    found = solved_on_device(kernel, examples, tree, int(sizes.max()), ridges, gammas, may_fall_back=may_fall_back)
    errors = examples.arrays.host(found.errors)[:-1].reshape(len(points), n_rows, examples.targets.shape[1])
    targets = examples.arrays.host(examples.targets).astype(np.float64)
    is_coarse = np.isin(np.arange(len(points)), found.left // len(sizes))
    return [None if coarse else (targets - own).T for coarse, own in zip(is_coarse, errors, strict=True)]


def _unconnected(rows: Any, members: np.ndarray, sizes: np.ndarray) -> Tree:
    """Cells without a tree above them."""
    nothing = np.empty((0, rows.shape[1]), np.float32 if not isinstance(rows, np.ndarray) else rows.dtype)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return Tree(nothing, np.empty(0, np.float32), np.empty((0, 2), np.int64), starts, members)
