"""Gamma and C by exact leave-one-out errors on some of the cells: no folds, and no rows are held out.

A search by patterns: from a usual point, the two neighbors in each direction are tried, side by side, and the best is
moved to, until none is better; then once more with smaller steps.
"""

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from frugalsvm._threads import Threads, blas_threads
from frugalsvm.cells.solver import Examples, solved_cells
from frugalsvm.cells.tree import Tree, grown_tree

__all__ = [
    "MOST_ROWS",
    "Choice",
    "Judge",
    "best_choice",
    "cells_looked_at",
    "judge_on_threads",
    "looked_at",
    "mean_losses",
    "smaller_cells",
]

_N_CELLS = 3  # that are looked at
_USUAL_C = 100.0
_STEPS = ((4.0, 10.0), (2.0, 3.0))  # factors of gamma and C
# Of the loss: what is better by less is not. Kernels with a cusp have flat valleys, along which C would grow until
# float32 is too coarse.
_WORTH_IT = 0.005
_GAMMAS, _STRENGTHS = (2.0**-12, 2.0**12), (1e-3, 1e6)  # bounds, the first in multiples of the usual gamma
_MOST_MOVES = 12
MOST_ROWS = 2048  # of a cell; larger ones take long, and do not tell more


class Choice(NamedTuple):
    """A point of the search."""

    gamma: float  # 0 for a kernel without one
    C: float


class _Problem(NamedTuple):
    """Rows of some cells, cell after cell."""

    examples: Examples
    starts: np.ndarray


# Leave-one-out losses of some points, each a mean over the rows of the cells that are looked at
Judge = Callable[[list[Choice]], list[float]]


def best_choice(kernel: Any, judge: Judge, *, gamma: bool, C: float | None) -> Choice:
    """The gamma (if it is free, from that of the kernel on) and C (if it is None) of least leave-one-out loss."""
    usual = getattr(kernel, "gamma", 0.0)
    found: dict[Choice, float] = {}

    def look(points: list[Choice]) -> None:
        new = [point for point in dict.fromkeys(points) if point not in found]
        found.update(zip(new, judge(new), strict=True))

    start = best = Choice(usual, _USUAL_C if C is None else C)
    for gamma_step, C_step in _STEPS:
        for _ in range(_MOST_MOVES):
            neighbors = []
            if gamma:
                neighbors += [best._replace(gamma=best.gamma * step) for step in (gamma_step, 1.0 / gamma_step)]
            if C is None:
                neighbors += [best._replace(C=best.C * step) for step in (C_step, 1.0 / C_step)]
            look([best, *(each for each in neighbors if _is_allowed(each, usual))])
            other = min(found, key=lambda point: (found[point], point.C))
            is_too_coarse = np.isinf(found[best]) and other.C < best.C  # a smaller C may be fine
            if found[other] >= (1.0 - _WORTH_IT) * found[best] and not is_too_coarse:
                break
            best = other
    return best if np.isfinite(found[best]) else start


def _is_allowed(point: Choice, usual: float) -> bool:
    low, high = _GAMMAS
    return low * usual <= point.gamma <= high * usual and _STRENGTHS[0] <= point.C <= _STRENGTHS[1]


def judge_on_threads(
    kernel: Any,
    examples: Examples,
    tree: Tree,
    size: int,
    loss: Callable[[np.ndarray, np.ndarray, np.ndarray | None], float],
    threads: Threads,
) -> Judge:
    """What tells the losses of points.

    ``loss(targets, scores, weights)``, arrays (n_outputs, n) and (n,), is a mean over rows.
    """
    if size > MOST_ROWS:
        tree, size = smaller_cells(lambda members: examples.rows[members], tree, size), MOST_ROWS
    problem = _some_cells(examples, tree, size)
    sizes = np.diff(problem.starts)

    def judge(points: list[Choice]) -> list[float]:
        tasks = list(product(points, range(len(sizes))))
        with blas_threads(1):
            losses = threads.run(partial(_loss_of, kernel, problem, size, loss), tasks)
        return mean_losses(losses, sizes)

    return judge


def mean_losses(losses: Any, sizes: np.ndarray) -> list[float]:
    """Means over cells from losses of points, cell by cell."""
    return [float(each) for each in np.average(np.reshape(losses, (-1, len(sizes))), axis=1, weights=sizes)]


def smaller_cells(rows_at: Callable[[np.ndarray], np.ndarray], tree: Tree, size: int) -> Tree:
    """Those that large cells are divided into, of which some are looked at: not all rows need be at hand."""
    members = np.concatenate(cells_looked_at(tree, size))
    smaller = grown_tree(np.ascontiguousarray(rows_at(members)), MOST_ROWS, np.random.default_rng(0))
    return smaller._replace(members=members[smaller.members])


def looked_at(sizes: np.ndarray, size: int) -> np.ndarray:
    """Cells from all over a tree, but for those whose rows are all the same; of so few, all are looked at again."""
    usable = np.flatnonzero((sizes <= size) & (sizes > 1))
    usable = usable if len(usable) else np.arange(len(sizes))
    count = min(_N_CELLS, len(usable))
    return usable[(np.arange(count) * 2 + 1) * len(usable) // (2 * count)]


def cells_looked_at(tree: Tree, size: int) -> list[np.ndarray]:
    """The rows of these cells."""
    return [np.sort(tree.members_of(cell)) for cell in looked_at(tree.sizes, size)]


def _some_cells(examples: Examples, tree: Tree, size: int) -> _Problem:
    members = cells_looked_at(tree, size)
    index = np.concatenate(members)
    weights = examples.weights[index] if len(examples.weights) else examples.weights
    some = Examples(examples.rows[index], np.ascontiguousarray(examples.targets[:, index]), weights)
    return _Problem(some, np.concatenate([[0], np.cumsum(list(map(len, members)))]))


def _loss_of(kernel, problem: _Problem, size: int, loss, task: tuple[Choice, int]) -> float:
    """The leave-one-out loss in a cell; infinite where the type of the rows is too coarse, which would take long."""
    point, cell = task
    part = slice(*problem.starts[cell : cell + 2])
    rows, targets, weights = problem.examples
    own = Examples(rows[part], np.ascontiguousarray(targets[:, part]), weights[part] if len(weights) else weights)
    n_rows, n_features = own.rows.shape
    alone = Tree(
        np.empty((0, n_features), rows.dtype), np.empty(0, np.float32), np.empty((0, 2), np.int64),
        np.array([0, n_rows]), np.arange(n_rows),
    )  # fmt: skip
    errors = np.zeros(own.targets.shape)
    kernel = kernel._replace(gamma=point.gamma) if point.gamma > 0 else kernel
    if solved_cells(kernel, own, alone, max(size, n_rows), 1.0 / point.C, errors, may_fall_back=False) is None:
        return np.inf
    return loss(own.targets, own.targets - errors, own.weights if len(weights) else None)
