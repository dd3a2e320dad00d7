"""Gamma and C by exact leave-one-out errors on some of the cells: no folds, and no rows are held out.

Leave-one-out scores of several machines on the rows of some cells come side by side. A search by patterns chooses: from
a usual point, the two neighbors in each direction are tried, and the best is moved to, until none is better; then once
more with smaller steps.
"""

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.cells.on_device import DeviceExamples, solved_on_device
from frugalsvm.cells.solver import Examples, solved_cells
from frugalsvm.cells.tree import Tree, grown_tree
from frugalsvm.compiling.threads import Threads, blas_threads


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


# --- the search ------------------------------------------------------------------------------------------------------

_N_CELLS = 3  # that are looked at
_USUAL_C = 100.0
STEPS = ((4.0, 10.0), (2.0, 3.0))  # factors of gamma and C
# Of the loss: what is better by less is not. Kernels with a cusp have flat valleys, along which C would grow until
# float32 is too coarse.
_WORTH_IT = 0.005
_GAMMAS, _STRENGTHS = (2.0**-12, 2.0**12), (1e-3, 1e6)  # bounds, the first in multiples of the usual gamma
_MOST_MOVES = 12
MOST_ROWS = 2048  # of a cell; larger ones take long, and do not tell more


# Leave-one-out losses of some points, each a mean over the rows of the cells that are looked at
Judge = Callable[[list[Choice]], list[float]]


def best_choice(
    kernel: Any,
    judge: Judge,
    *,
    gamma: bool,
    C: float | None,
    start_C: float = _USUAL_C,
    usual_weight: float = 1.0,
    steps: tuple[tuple[float, float], ...] = STEPS,
) -> Choice:
    """The gamma (if it is free, from that of the kernel on) and C (if it is None) of least leave-one-out loss.

    Where weights are not around 1, C is looked for around other values: only its product with a weight counts.
    """
    usual = getattr(kernel, "gamma", 0.0)
    found: dict[Choice, float] = {}

    def look(points: list[Choice]) -> None:
        new = [point for point in dict.fromkeys(points) if point not in found]
        found.update(zip(new, judge(new), strict=True))

    start = best = Choice(usual, start_C / usual_weight if C is None else C)
    for gamma_step, C_step in steps:
        for _ in range(_MOST_MOVES):
            neighbors = []
            if gamma:
                neighbors += [best._replace(gamma=best.gamma * step) for step in (gamma_step, 1.0 / gamma_step)]
            if C is None:
                neighbors += [best._replace(C=best.C * step) for step in (C_step, 1.0 / C_step)]
            look([best, *(each for each in neighbors if _is_allowed(each, usual, usual_weight))])
            other = min(found, key=lambda point: (found[point], point.C))
            is_too_coarse = np.isinf(found[best]) and other.C < best.C  # a smaller C may be fine
            if found[other] >= (1.0 - _WORTH_IT) * found[best] and not is_too_coarse:
                break
            best = other
    return best if np.isfinite(found[best]) else start


def _is_allowed(point: Choice, usual: float, weight: float) -> bool:
    low, high = _GAMMAS
    return low * usual <= point.gamma <= high * usual and _STRENGTHS[0] <= point.C * weight <= _STRENGTHS[1]


def judge_in(
    place: Any, kernel: Any, examples: Any, tree: Tree, size: int, loss: Callable[..., float]
) -> tuple[Judge, float]:
    """What tells the losses of points on a place that has the examples, and the mean weight of those it looks at.

    ``loss(targets, scores, weights)``, arrays (n_outputs, n) and (n,), is a mean over rows.
    """
    if size > MOST_ROWS:
        tree, size = _smaller_cells(place, examples, tree, size), MOST_ROWS
    members = _cells_looked_at(tree, size)
    cells = SomeCells.of(place, members, place.taken(examples, np.concatenate(members)))
    targets, weights = cells.on_host.targets, cells.on_host.weights

    def judge(points: list[Choice]) -> list[float]:
        found = place.left_out(kernel, cells, points)
        given = weights if len(weights) else None
        return [np.inf if scores is None else loss(targets, scores, given) for scores in found]

    return judge, float(weights.mean()) if len(weights) else 1.0


def _smaller_cells(place: Any, examples: Any, tree: Tree, size: int) -> Tree:
    """Those that large cells are divided into, of which some are looked at."""
    members = np.concatenate(_cells_looked_at(tree, size))
    rows = np.ascontiguousarray(place.taken(examples, members).rows)
    smaller = grown_tree(rows, MOST_ROWS, np.random.default_rng(0))
    return smaller._replace(members=members[smaller.members])


def looked_at(sizes: np.ndarray, size: int) -> np.ndarray:
    """Cells from all over a tree, but for those whose rows are all the same; of so few, all are looked at again."""
    usable = np.flatnonzero((sizes <= size) & (sizes > 1))
    usable = usable if len(usable) else np.arange(len(sizes))
    count = min(_N_CELLS, len(usable))
    return usable[(np.arange(count) * 2 + 1) * len(usable) // (2 * count)]


def _cells_looked_at(tree: Tree, size: int) -> list[np.ndarray]:
    """The rows of these cells."""
    return [np.sort(tree.members_of(cell)) for cell in looked_at(tree.sizes, size)]
