"""Leave-one-out losses of choices on a device: all points in all cells that are looked at are one batch."""

from collections.abc import Callable
from typing import Any

import numpy as np

from frugalsvm.cells.choosing import MOST_ROWS, Choice, Judge, cells_looked_at, mean_losses, smaller_cells
from frugalsvm.cells.on_device import DeviceExamples, solved_on_device
from frugalsvm.cells.tree import Tree

__all__ = ["judge_on_device"]


def judge_on_device(
    kernel: Any,
    examples: DeviceExamples,
    tree: Tree,
    size: int,
    loss: Callable[[np.ndarray, np.ndarray, np.ndarray | None], float],
) -> Judge:
    """What `choosing.judge_on_threads` is, on a device."""
    arrays = examples.arrays
    if size > MOST_ROWS:
        tree = smaller_cells(lambda members: arrays.host(examples.rows[arrays.asarray(members)]), tree, size)
        size = MOST_ROWS
    members = cells_looked_at(tree, size)
    sizes = np.array(list(map(len, members)))
    some = arrays.asarray(np.concatenate(members))
    targets = arrays.host(examples.targets[some]).T.astype(np.float64)
    weights = None if examples.weights is None else arrays.host(examples.weights[some])
    n_rows = int(sizes.sum())
    parts = [slice(stop - n, stop) for stop, n in zip(np.cumsum(sizes), sizes, strict=True)]

    def judge(points: list[Choice]) -> list[float]:
        cells = _unconnected(np.tile(np.concatenate(members), len(points)), np.tile(sizes, len(points)), examples)
        ridges = np.repeat([1.0 / point.C for point in points], len(sizes))
        gammas = np.repeat([point.gamma for point in points], len(sizes)) if "gamma" in kernel._fields else None
        most = max(size, int(sizes.max()))
        found = solved_on_device(kernel, examples, cells, most, ridges, gammas, may_fall_back=False)
        errors = arrays.host(found.errors)[:-1].T.reshape(len(targets), len(points), n_rows)
        losses = np.array(
            [
                loss(
                    targets[:, part], targets[:, part] - errors[:, k, part], None if weights is None else weights[part]
                )
                for k in range(len(points))
                for part in parts
            ]
        )
        losses[found.left] = np.inf  # that would take long
        return mean_losses(losses, sizes)

    return judge


def _unconnected(members: np.ndarray, sizes: np.ndarray, examples: DeviceExamples) -> Tree:
    """Cells without a tree above them."""
    nothing = np.empty((0, examples.rows.shape[1]))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return Tree(nothing, np.empty(0, np.float32), np.empty((0, 2), np.int64), starts, members)
