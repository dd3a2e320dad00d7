"""A lower bound on the objective over parts of the data that are in different places, by duality.

As in `frugalsvm.asset.newton.last_step`: after a full Newton step, the slopes of the losses, negated, are nearly
optimal dual variables ("pulls"). Those of an intercept must sum to zero, which needs one sum over all parts before the
others:

* ``sides_of``: every part tells the sums of its positive and of its negative pulls;
* ``dual_of``: every part tells what its pulls, balanced by the sums of these, add to the dual objective, and its loss
  after the step;
* ``bounds_of``: the sums of these give what no model can be below.
"""

from typing import NamedTuple

import numpy as np

from frugalsvm.asset.losses import conjugates, feasible
from frugalsvm.asset.rounds import LAST_CUT, scores_and_changes
from frugalsvm.asset.task import best_bounds, features_of, slopes_at, total_losses

__all__ = ["Dual", "Sides", "bounds_of", "dual_of", "sides_of"]


class Sides(NamedTuple):
    """Sums of the pulls of a part that are positive, and of those that are negative, for each output."""

    up: np.ndarray
    down: np.ndarray  # without the sign


class Dual(NamedTuple):
    """Sums over the rows of a part."""

    n_rows: int
    linear: np.ndarray  # (n_outputs,) of the conjugates
    sums: np.ndarray  # (n_outputs, d) of rows by their pulls
    losses: np.ndarray  # (n_outputs,) after the step


class _Pulls(NamedTuple):
    task: object
    values: np.ndarray
    scores: np.ndarray
    changes: np.ndarray


def _pulls_of(blocks, unknowns, directions, width):
    """Pulls of each block after a full step, as slopes of losses can be."""
    for task in blocks:
        scores, changes = scores_and_changes(task, unknowns, directions)
        slopes = slopes_at(task, scores, width, LAST_CUT)
        values = feasible(task.loss, task.targets, -(slopes.first + slopes.second * changes), task.weights)
        yield _Pulls(task, values.astype(np.float32, copy=False), scores, changes)


def sides_of(blocks, unknowns, directions, width):
    """The two sides of the pulls of a part."""
    up, down = np.zeros(len(unknowns)), np.zeros(len(unknowns))
    for pulls in _pulls_of(blocks, unknowns, directions, width):
        up += np.maximum(pulls.values, 0.0).sum(axis=1, dtype=np.float64)
        down -= np.minimum(pulls.values, 0.0).sum(axis=1, dtype=np.float64)
    return Sides(up, down)


def dual_of(blocks, unknowns, directions, width, sides, lengths):
    """What a part tells of the dual objective; ``sides`` are those of all parts, ``lengths`` those of the step."""
    n_rows, n_outputs = 0, len(unknowns)
    linear, losses, sums = np.zeros(n_outputs), np.zeros(n_outputs), np.zeros((n_outputs, unknowns.shape[1] - 1))
    for pulls in _pulls_of(blocks, unknowns, directions, width):
        task, values = pulls.task, pulls.values
        if task.intercept:
            values = _balanced(values, sides)
        n_rows += task.rows.n_rows
        linear += conjugates(task.loss, task.targets, values, task.weights).sum(axis=1, dtype=np.float64)
        sums += features_of(task, task.rows.gradient(values))
        losses += total_losses(task, pulls.scores + lengths[:, None].astype(np.float32) * pulls.changes)
    return Dual(n_rows, linear, sums, losses)


def _balanced(values, sides):
    """Pulls that sum to zero over all parts: the side with the larger sum is scaled down."""
    least = np.minimum(sides.up, sides.down)
    raised, lowered = (
        (least / np.maximum(side, 1e-300)).astype(np.float32)[:, None] for side in (sides.up, sides.down)
    )
    return values * np.where(values > 0, raised, lowered)


def bounds_of(dual, penalty):
    """What the objective of each output cannot be below, from the sums of all parts."""
    linear = dual.linear / dual.n_rows
    return best_bounds(linear, np.square(dual.sums / dual.n_rows).sum(axis=1) / (2.0 * penalty))
