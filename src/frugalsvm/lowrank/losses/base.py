"""What a loss of the low-rank solver is: a NamedTuple with methods for whole arrays, and compiled bodies.

Newton steps need a slope and a curvature everywhere. A loss with a kink, ``max(0, u)``, is replaced by
``h log(1 + exp(u / h))``, which is above it by ``h log 2`` at most. The solver lowers the smoothing ``h`` from stage to
stage: with a large one Newton steps go far, with a small one it is as good as the loss itself. A loss that
``is_smooth`` needs none of that, and ignores ``smoothing``.

A file of this folder defines one loss or a few that are alike, and ``__init__`` has a line for each:

* class attributes ``is_smooth``, ``for_classes`` (targets are -1 and +1) and ``radius_share`` (see
  `frugalsvm.lowrank.subgradient.enclosing_radius`);
* methods on arrays of NumPy or PyTorch, whose namespace is ``xp``: ``values``, ``derivatives``, ``smoothing_excess``,
  and for the bound by duality ``feasible`` and ``conjugates``. Shapes are (n_outputs, n_rows); weights broadcast;
* compiled bodies for one example: `slope_and_curvature`, `loss_of`, and `slope_of` for subgradient steps.

Dual variables are negated slopes of weighted losses.
"""

import numpy as np

from frugalsvm._compile import entry, generic
from frugalsvm.core.fastmath import LOG2E, exp2_nonpositive

__all__ = [
    "along_line",
    "differentiate",
    "log_excess",
    "loss_of",
    "slope_and_curvature",
    "slope_of",
    "smooth_excess",
    "smooth_step",
    "square_step",
    "squares_by_weight",
    "total_loss",
]

_STEEP = 60.0  # exp of this times minus one is nothing beside one, and exp of it is no infinity


# --- whole arrays -------------------------------------------------------------------------------------------------


def smooth_step(xp, excess, smoothing):
    """Derivatives of ``smoothing * log(1 + exp(excess / smoothing))``."""
    first = 1 / (1 + xp.exp(xp.clip(excess * (-1 / smoothing), -_STEEP, _STEEP)))
    return first, first * (1 - first) / smoothing


def square_step(xp, excess):
    """Derivatives of ``max(0, excess)^2``."""
    nothing = xp.zeros_like(excess)
    return xp.where(excess > 0, 2 * excess, nothing), xp.where(excess > 0, nothing + 2, nothing)


def log_excess(xp, distance, smoothing):
    """By how much a smoothed kink is larger than the kink itself, so far from it."""
    return smoothing * xp.log1p(xp.exp(-xp.abs(distance) / smoothing))


def squares_by_weight(xp, duals, weights):
    """What a square takes from the dual objective; an example without weight has no dual variable either."""
    return duals * duals / (4.0 * xp.where(weights > 0, weights, xp.ones_like(weights)))


# --- one example, compiled ----------------------------------------------------------------------------------------

_LOG2E, _ONE, _ZERO = (np.float32(x) for x in (LOG2E, 1.0, 0.0))


@generic
def smooth_excess(excess, smoothing):
    """Slope and curvature of ``smoothing * log(1 + exp(excess / smoothing))``."""


@smooth_excess.implement(np.float32)
def _smooth_excess(excess, smoothing):
    u = excess / smoothing
    # exp(-|u|) cannot overflow; both halves of the sigmoid come from it
    e = exp2_nonpositive(-abs(u) * _LOG2E)
    inverse = _ONE / (_ONE + e)
    upper = inverse if u >= _ZERO else e * inverse
    return upper, e * inverse * inverse / smoothing


@generic
def slope_and_curvature(loss, smoothing, target, score):
    """First and second derivative of the smoothed loss with respect to the score, all in float32."""


@generic
def loss_of(loss, target, score):
    """The loss itself, without smoothing, in float32."""


@generic
def slope_of(loss, target, score):
    """A subgradient of the loss in the score, in float64; 0 at kinks."""


@entry
def total_loss(loss, targets, scores, weights):
    """Weighted sum of the losses of one output, in float64."""
    total = 0.0
    for i in range(scores.size):
        total += np.float64(weights[i] * loss_of(loss, targets[i], scores[i]))
    return total


@entry
def differentiate(loss, smoothing, cut, targets, scores, weights, slopes, curvatures):
    """Weighted slopes and curvatures of the smoothed losses of one output; slopes up to ``cut`` count as zero."""
    smoothing, cut = np.float32(smoothing), np.float32(cut)
    for i in range(scores.size):
        slope, curvature = slope_and_curvature(loss, smoothing, targets[i], scores[i])
        slopes[i] = weights[i] * (slope if abs(slope) > cut else _ZERO)
        curvatures[i] = weights[i] * curvature


@entry
def along_line(loss, smoothing, targets, scores, changes, weights, step):
    """Slope and curvature, at ``step``, of the weighted sum of smoothed losses of ``scores + step * changes``."""
    smoothing, step = np.float32(smoothing), np.float32(step)
    total_slope = total_curvature = 0.0
    for i in range(scores.size):
        slope, curvature = slope_and_curvature(loss, smoothing, targets[i], scores[i] + step * changes[i])
        total_slope += np.float64(weights[i] * slope * changes[i])
        total_curvature += np.float64(weights[i] * curvature * changes[i] * changes[i])
    return total_slope, total_curvature
