"""Truncated Newton on a smoothed loss, directly on raw kernel rows.

An iteration is one pass over the rows that have a slope (the gradient), conjugate gradients on a sample of those near
the margin (`curvature`), one pass over all rows (how far the direction moves each score), and an exact line search on
these changes, which needs no rows at all.
"""

from typing import NamedTuple

import numpy as np

from frugalsvm.asset.curvature import SAMPLE, Curvature, Preconditioner, newton_direction
from frugalsvm.asset.losses import along_line
from frugalsvm.asset.task import Slopes, gradient, lower_bounds, objectives, scores_of, slopes_at

__all__ = ["last_step", "minimise", "where_flat"]

MAX_STEPS = 25  # conjugate gradients take no more than these
_FORCING, _FORCING_SEVERAL = 0.1, 0.3  # and stop at this share of the residual, with one output and with several
_STALE = 10  # a preconditioner that needs this many steps more than when it was new is made anew
_CUT = 1e-4  # slopes below this count as zero: most rows are far on the good side
_LINE_STEPS = 20
_LINE_TOLERANCE = 1e-2

# The last step is taken with more care, because it also gives the bound.
_LAST_SAMPLE = 2 * SAMPLE
_LAST_CUT = 1e-6


class Step(NamedTuple):
    slopes: Slopes  # before the step
    changes: np.ndarray  # of the scores, for a step of length 1
    decrements: np.ndarray  # twice the reduction that the quadratic model promises
    preconditioner: Preconditioner | None  # None where it did not serve well


def minimise(task, point, width, tolerance, max_iter, rng, watch=None):
    """Move ``point`` until a step promises a relative reduction below ``tolerance`` for all outputs.

    ``watch``, if given, is called with the unknowns after each step; what it returns tells whether to stop. Returns the
    number of steps.
    """
    preconditioner, n_steps, done = None, 0, False
    while n_steps < max_iter and not done:
        step = _newton_step(task, point, width, preconditioner, _CUT, SAMPLE, rng)
        preconditioner = step.preconditioner
        n_steps += 1
        done = bool((0.5 * step.decrements <= tolerance * objectives(task, point)).all())
        if watch is not None:
            done = watch(point.unknowns) or done
    return n_steps


def last_step(task, point, width, rng):
    """One more step, and a lower bound on the objective of each output.

    After a full Newton step from slopes g with curvatures h along changes c of the scores, slopes would be
    ``g + h c`` if losses were quadratic. These, negated, are nearly optimal dual variables: their weighted rows sum to
    what the weight vector is, as far as the linear system was solved.
    """
    step = _newton_step(task, point, width, None, _LAST_CUT, _LAST_SAMPLE, rng)
    pulls = step.changes
    pulls *= step.slopes.second
    pulls += step.slopes.first
    np.negative(pulls, out=pulls)
    return np.minimum(lower_bounds(task, pulls), objectives(task, point))


def _newton_step(task, point, width, preconditioner, cut, sample, rng):
    slopes = slopes_at(task, point.scores, width, cut)
    gradients = gradient(task, point.unknowns, slopes.first)
    curvature = Curvature(task, slopes.second, sample, rng)
    if preconditioner is None:
        preconditioner = Preconditioner(curvature, rng)
    forcing = _FORCING if len(gradients) == 1 else _FORCING_SEVERAL
    directions, n_steps = newton_direction(curvature, preconditioner, gradients, forcing, MAX_STEPS)
    changes = scores_of(task, directions, np.empty_like(point.scores))
    lengths = _line_search(task, point, width, directions, changes)
    point.unknowns[:] += lengths[:, None] * directions
    for scores, length, change in zip(point.scores, lengths, changes, strict=True):
        scores += np.float32(length) * change
    decrements = -(gradients * directions).sum(axis=1)
    if preconditioner.n_steps is None:
        preconditioner.n_steps = n_steps
    is_stale = n_steps > preconditioner.n_steps + _STALE
    return Step(slopes, changes, decrements, None if is_stale else preconditioner)


def _line_search(task, point, width, directions, changes):
    """Lengths of the steps that minimise the smoothed objective along the directions."""
    return np.array([_best_length(task, point, width, o, directions[o], changes[o]) for o in range(len(changes))])


def _best_length(task, point, width, output, direction, changes):
    weights, n_rows = direction[:-1], task.rows.n_rows
    linear = task.penalty * (point.unknowns[output, :-1] @ weights)
    quadratic = task.penalty * (weights @ weights)

    def along(length):
        slope, curvature = along_line(
            task.loss, width, task.targets[output], point.scores[output], changes, task.weights, length
        )
        return slope / n_rows + linear + length * quadratic, curvature / n_rows + quadratic

    return where_flat(along)


def where_flat(along):
    """The length at which a slope that grows is zero; ``along`` tells it and its derivative.

    Newton's method in one variable, kept inside an interval that has the minimum.
    """
    low, high, length = 0.0, np.inf, 1.0
    for _ in range(_LINE_STEPS):
        slope, curvature = along(length)
        if slope < 0:
            low = length
        else:
            high = length
        guess = length - slope / max(curvature, 1e-300)
        if not low < guess < high:
            guess = 0.5 * (low + high) if high < np.inf else 2.0 * length
        if abs(guess - length) <= _LINE_TOLERANCE * length:
            return guess
        length = guess
    return low
