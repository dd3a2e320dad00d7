"""What workers do for `DaskLocalSVC` and `DaskLocalSVR`: one shuffle, and all cells where their rows are then.

Parts of a trunk (`frugalsvm.cells.trunk`) are in groups, which are as many as keep all workers busy. What becomes of
a part depends on its rows, in the order of their numbers, and on nothing else: not on partitions, groups or workers.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.cells.solver import Examples, solved_cells
from frugalsvm.cells.tree import Tree, cells_of
from frugalsvm.cells.trunk import branch_of
from frugalsvm.dask._preparing import Survey, as_made_here, checked, examined
from frugalsvm.estimators.local_learner import seen_by


class Look(NamedTuple):
    """What there is to know of a partition before training."""

    survey: Survey
    y: np.ndarray
    weight: np.ndarray | None


class Route(NamedTuple):
    """Where rows go, the same for all partitions."""

    estimator: Any  # with a kernel, an origin, and classes or a scale of targets
    trunks: list[Tree]  # without members
    groups: list[np.ndarray]  # for each tree, the group of each part
    class_weights: np.ndarray | None


class Piece(NamedTuple):
    """Rows of a partition that go to a group."""

    parts: np.ndarray
    numbers: np.ndarray
    rows: np.ndarray
    targets: np.ndarray  # (n, n_outputs)
    weights: np.ndarray  # (n,), or (0,)


class Part(NamedTuple):
    """The rows of a part, and the tree that divides them into cells."""

    numbers: np.ndarray
    examples: Examples
    branch: Tree


class Solved(NamedTuple):
    """What is learned from a part."""

    numbers: np.ndarray
    branch: Tree
    coef: np.ndarray
    intercepts: np.ndarray
    centers: np.ndarray
    errors: np.ndarray  # (n_outputs, n)


def looked(number: int, X: Any, y: Any, weight: Any, estimator: Any) -> Look:
    """A look at one partition, with all labels or values."""
    survey = examined(number, X, y, weight, estimator)
    _, y, weight, _ = checked(number, X, y, weight, estimator)
    return Look(survey, y, weight)


def rows_at(number: int, X: Any, y: Any, weight: Any, index: np.ndarray, estimator: Any) -> np.ndarray:
    """Rows of a partition as users have them."""
    return checked(number, X, y, weight, estimator)[0][index]


def routed(number: int, X: Any, y: Any, weight: Any, first: int, route: Route) -> list[Piece]:
    """A partition, whose first row has a number, in pieces: one for each group of each tree."""
    X, y, weight, _ = checked(number, X, y, weight, route.estimator)
    known = np.arange(len(y)) if weight is None else np.flatnonzero(weight)
    rows = as_made_here(seen_by(route.estimator, X[known]))
    targets = np.ascontiguousarray(route.estimator.known_targets(y[known]).T, rows.dtype)
    weights = _weights_of(targets, None if weight is None else weight[known], route.class_weights)
    pieces = []
    for trunk, groups in zip(map(as_made_here, route.trunks), route.groups, strict=True):
        parts = cells_of(trunk, rows)
        order = np.argsort(groups[parts], kind="stable")
        ends = np.searchsorted(groups[parts][order], np.arange(groups[-1] + 2))
        for start, stop in zip(ends[:-1], ends[1:], strict=True):
            chosen = order[start:stop]
            own_weights = weights[chosen] if len(weights) else weights
            pieces.append(Piece(parts[chosen], first + known[chosen], rows[chosen], targets[chosen], own_weights))
    return pieces


def _weights_of(targets: np.ndarray, weight: np.ndarray | None, class_weights: np.ndarray | None) -> np.ndarray:
    if class_weights is None:
        return np.empty(0) if weight is None else weight
    labels = (targets[:, 0] > 0).astype(np.int64) if targets.shape[1] == 1 else targets.argmax(axis=1)
    return class_weights[labels] * (np.ones(len(labels)) if weight is None else weight)


def gathered(pieces: list[Piece], parts: Sequence[int], tree: int, size: int, seed: int) -> list[Part]:
    """The parts of a group; pieces are in the order of the partitions."""
    together = Piece(*(np.concatenate(each) for each in zip(*pieces, strict=True)))
    return [_part_of(together, part, tree, size, seed) for part in parts]


def _part_of(rows: Piece, part: int, tree: int, size: int, seed: int) -> Part:
    index = np.flatnonzero(rows.parts == part)
    examples = Examples(
        rows.rows[index],
        np.ascontiguousarray(rows.targets[index].T),
        rows.weights[index] if len(rows.weights) else rows.weights,
    )
    return Part(rows.numbers[index], examples, branch_of(examples.rows, size, [seed, tree, part]))


def sizes_of(parts: list[Part]) -> list[np.ndarray]:
    """Numbers of rows in the cells of each part."""
    return [part.branch.sizes for part in parts]


def some_cells(parts: list[Part], wanted: Sequence[tuple[int, int]]) -> list[Examples]:
    """The rows of some cells, each given by the place of its part in the group, and by its number there."""
    found = []
    for place, cell in wanted:
        (rows, targets, weights), members = parts[place].examples, parts[place].branch.members_of(cell)
        own_weights = weights[members] if len(weights) else weights
        found.append(Examples(rows[members], np.ascontiguousarray(targets[:, members]), own_weights))
    return found


def solved(parts: list[Part], kernel: Any, size: int, ridge: float) -> list[Solved]:
    """The machines in all cells of a group."""
    return [_solved_part(as_made_here(part), kernel, size, ridge) for part in parts]


def _solved_part(part: Part, kernel: Any, size: int, ridge: float) -> Solved:
    errors = np.zeros(part.examples.targets.shape)
    cells = solved_cells(kernel, part.examples, part.branch, size, ridge, errors)
    assert cells is not None  # since it may fall back
    return Solved(part.numbers, part.branch, cells.coef, cells.intercepts, cells.centers, errors)
