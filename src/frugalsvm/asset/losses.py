"""Losses of the batch solver, smoothed, with their slopes and curvatures.

A hinge ``max(0, u)`` is replaced by ``h log(1 + exp(u / h))``, which is above it by ``h log 2`` at most. The solver
lowers the width ``h`` from stage to stage: a wide one lets Newton steps go far, a narrow one is as good as the hinge.

================================ ==================================== ==========================
loss                             value                                for
================================ ==================================== ==========================
``Hinge``                        ``max(0, 1 - t f)``                  targets t = -1 and +1
``SquaredHinge``                 ``max(0, 1 - t f)^2``                targets t = -1 and +1
``EpsilonInsensitive``           ``max(0, |t - f| - epsilon)``        any targets
``SquaredEpsilonInsensitive``    ``max(0, |t - f| - epsilon)^2``      any targets
================================ ==================================== ==========================

Squared losses need no smoothing: they have a slope everywhere and a curvature almost everywhere.
"""

from typing import NamedTuple

import numpy as np

from frugalsvm._compile import entry, generic
from frugalsvm._stored import NOT_NEGATIVE, stored
from frugalsvm.core.fastmath import LOG2E, exp2_nonpositive

__all__ = [
    "SQUARED",
    "EpsilonInsensitive",
    "Hinge",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "along_line",
    "conjugates",
    "differentiate",
    "feasible",
    "loss_values",
    "smoothing_excess",
    "total_loss",
]


@stored("hinge", kind="loss")
class Hinge(NamedTuple):
    """``max(0, 1 - t f)``"""


@stored("squared-hinge", kind="loss")
class SquaredHinge(NamedTuple):
    """``max(0, 1 - t f)^2``"""


@stored("epsilon-insensitive", kind="loss", ranges={"epsilon": NOT_NEGATIVE})
class EpsilonInsensitive(NamedTuple):
    """``max(0, |t - f| - epsilon)``"""

    epsilon: float


@stored("squared-epsilon-insensitive", kind="loss", ranges={"epsilon": NOT_NEGATIVE})
class SquaredEpsilonInsensitive(NamedTuple):
    """``max(0, |t - f| - epsilon)^2``"""

    epsilon: float


HINGES = (Hinge, SquaredHinge)
SQUARED = (SquaredHinge, SquaredEpsilonInsensitive)


def loss_values(loss, targets, scores):
    """The loss itself, without smoothing."""
    if isinstance(loss, HINGES):
        excess = np.maximum(1.0 - targets * scores, 0.0)
    else:
        excess = np.maximum(np.abs(targets - scores) - loss.epsilon, 0.0)
    return np.square(excess) if isinstance(loss, SQUARED) else excess


def smoothing_excess(loss, targets, scores, width):
    """By how much the smoothed losses are larger."""
    distances = (1.0 - targets * scores,)
    if not isinstance(loss, HINGES):
        errors = np.abs(targets - scores)
        distances = (errors - loss.epsilon, errors + loss.epsilon)
    return sum(width * np.log1p(np.exp(-np.abs(distance) / width)) for distance in distances)


def conjugates(loss, targets, pulls, weights):
    """Terms of the dual objective for pulls, the negated slopes of the weighted losses.

    ``min_f (weight * loss(f) - pull * f)``: what an example adds to the lower bound besides the penalty.
    """
    linear = targets * pulls
    if not isinstance(loss, HINGES):
        linear = linear - loss.epsilon * np.abs(pulls)
    if not isinstance(loss, SQUARED):
        return linear
    # an example without weight has no pull either
    return linear - np.square(pulls) / (4.0 * np.where(weights > 0, weights, 1.0))


def feasible(loss, targets, pulls, weights):
    """The pulls nearest to given ones that slopes of the loss can have."""
    if not isinstance(loss, HINGES):
        return pulls if isinstance(loss, SQUARED) else np.clip(pulls, -weights, weights)
    return targets * np.clip(targets * pulls, 0.0, None if isinstance(loss, SQUARED) else weights)


_LOG2E, _ONE, _ZERO, _TWO = (np.float32(x) for x in (LOG2E, 1.0, 0.0, 2.0))


@generic
def smooth_excess(excess, width):
    """Slope and curvature of ``width * log(1 + exp(excess / width))``."""


@smooth_excess.implement(np.float32)
def _smooth_excess(excess, width):
    u = excess / width
    # exp(-|u|) cannot overflow; both halves of the sigmoid come from it
    e = exp2_nonpositive(-abs(u) * _LOG2E)
    inverse = _ONE / (_ONE + e)
    upper = inverse if u >= _ZERO else e * inverse
    return upper, e * inverse * inverse / width


@generic
def slope_and_curvature(loss, width, target, score):
    """First and second derivative of the smoothed loss with respect to the score, all in float32."""


@slope_and_curvature.implement(Hinge)
def _hinge(loss, width, target, score):
    slope, curvature = smooth_excess(_ONE - target * score, width)
    return -target * slope, curvature


@slope_and_curvature.implement(SquaredHinge)
def _squared_hinge(loss, width, target, score):
    excess = _ONE - target * score
    inside = excess > _ZERO
    return (-_TWO * target * excess if inside else _ZERO), (_TWO if inside else _ZERO)


@slope_and_curvature.implement(EpsilonInsensitive)
def _insensitive(loss, width, target, score):
    epsilon = np.float32(loss.epsilon)
    error = score - target
    above, curvature_above = smooth_excess(error - epsilon, width)
    below, curvature_below = smooth_excess(-error - epsilon, width)
    return above - below, curvature_above + curvature_below


@slope_and_curvature.implement(SquaredEpsilonInsensitive)
def _squared_insensitive(loss, width, target, score):
    error = score - target
    excess = abs(error) - np.float32(loss.epsilon)
    inside = excess > _ZERO
    slope = _TWO * excess if error > _ZERO else -_TWO * excess
    return (slope if inside else _ZERO), (_TWO if inside else _ZERO)


@generic
def loss_of(loss, target, score):
    """The loss itself, without smoothing."""


@loss_of.implement(Hinge)
def _hinge_loss(loss, target, score):
    return max(_ONE - target * score, _ZERO)


@loss_of.implement(SquaredHinge)
def _squared_hinge_loss(loss, target, score):
    excess = max(_ONE - target * score, _ZERO)
    return excess * excess


@loss_of.implement(EpsilonInsensitive)
def _insensitive_loss(loss, target, score):
    return max(abs(target - score) - np.float32(loss.epsilon), _ZERO)


@loss_of.implement(SquaredEpsilonInsensitive)
def _squared_insensitive_loss(loss, target, score):
    excess = max(abs(target - score) - np.float32(loss.epsilon), _ZERO)
    return excess * excess


@entry
def total_loss(loss, targets, scores, weights):
    """Weighted sum of the losses of one output, in float64."""
    total = 0.0
    for i in range(scores.size):
        total += np.float64(weights[i] * loss_of(loss, targets[i], scores[i]))
    return total


@entry
def differentiate(loss, width, cut, targets, scores, weights, slopes, curvatures):
    """Weighted slopes and curvatures of the smoothed losses of one output; slopes up to ``cut`` count as zero."""
    width, cut = np.float32(width), np.float32(cut)
    for i in range(scores.size):
        slope, curvature = slope_and_curvature(loss, width, targets[i], scores[i])
        slopes[i] = weights[i] * (slope if abs(slope) > cut else _ZERO)
        curvatures[i] = weights[i] * curvature


@entry
def along_line(loss, width, targets, scores, changes, weights, step):
    """Slope and curvature, at ``step``, of the weighted sum of smoothed losses of ``scores + step * changes``."""
    width, step = np.float32(width), np.float32(step)
    total_slope = total_curvature = 0.0
    for i in range(scores.size):
        slope, curvature = slope_and_curvature(loss, width, targets[i], scores[i] + step * changes[i])
        total_slope += np.float64(weights[i] * slope * changes[i])
        total_curvature += np.float64(weights[i] * curvature * changes[i] * changes[i])
    return total_slope, total_curvature
