"""The squared error and Huber's loss, which is one as long as errors are small, against outliers."""

from typing import NamedTuple

import numpy as np

from frugalsvm._stored import Positive, stored
from frugalsvm.lowrank.losses.base import squares_by_weight
from frugalsvm.lowrank.losses.compiled import loss_of, slope_and_curvature, slope_of


@stored("squared", kind="loss")
class Squared(NamedTuple):
    """``(t - f)^2``"""

    is_smooth, for_classes, radius_share, degree = True, False, 0.5, 2

    def values(self, xp, targets, scores):
        return xp.square(targets - scores)

    def derivatives(self, xp, smoothing, targets, scores):
        return 2 * (scores - targets), 2 * xp.ones_like(scores)

    def smoothing_excess(self, xp, targets, scores, smoothing):
        return xp.zeros_like(scores)

    def feasible(self, xp, targets, duals, weights):
        return duals

    def conjugates(self, xp, targets, duals, weights):
        return targets * duals - squares_by_weight(xp, duals, weights)


@stored("huber", kind="loss")
class Huber(NamedTuple):
    """``(t - f)^2 / (2 epsilon)`` up to ``epsilon``, and ``|t - f| - epsilon / 2`` beyond.

    Slopes are -1 to 1, as those of ``EpsilonInsensitive``: C means the same for both. Where epsilon is small, few rows
    have curvature. Smoothed, it is the same loss with a larger epsilon, and a constant that keeps it above.
    """

    epsilon: Positive

    is_smooth, for_classes, radius_share, degree = False, False, 1.0, 1

    def values(self, xp, targets, scores):
        return _square_then_line(xp, targets, scores, self.epsilon)

    def derivatives(self, xp, smoothing, targets, scores):
        width = max(self.epsilon, smoothing)
        slopes, nothing = (scores - targets) / width, xp.zeros_like(scores)
        return xp.clip(slopes, -1.0, 1.0), xp.where(xp.abs(slopes) < 1.0, nothing + 1 / width, nothing)

    def smoothing_excess(self, xp, targets, scores, smoothing):
        width = max(self.epsilon, smoothing)
        below = _square_then_line(xp, targets, scores, width) - self.values(xp, targets, scores)
        return below + 0.5 * (width - self.epsilon)

    def feasible(self, xp, targets, duals, weights):
        return xp.minimum(xp.maximum(duals, -weights), weights)

    def conjugates(self, xp, targets, duals, weights):
        return targets * duals - 2.0 * self.epsilon * squares_by_weight(xp, duals, weights)


def _square_then_line(xp, targets, scores, width):
    sizes = xp.abs(targets - scores)
    inside = xp.clip(sizes, None, width)
    return inside * (sizes - 0.5 * inside) / width


_ZERO, _HALF, _ONE, _TWO = (np.float32(x) for x in (0.0, 0.5, 1.0, 2.0))


@slope_and_curvature.implement(Squared)
def _squared(loss, smoothing, target, score):
    return _TWO * (score - target), _TWO


@slope_and_curvature.implement(Huber)
def _huber(loss, smoothing, target, score):
    steepness = _ONE / max(np.float32(loss.epsilon), smoothing)
    slope = (score - target) * steepness
    return min(max(slope, -_ONE), _ONE), (steepness if abs(slope) < _ONE else _ZERO)


@loss_of.implement(Squared)
def _squared_loss(loss, target, score):
    return (score - target) * (score - target)


@loss_of.implement(Huber)
def _huber_loss(loss, target, score):
    epsilon = np.float32(loss.epsilon)
    size = abs(target - score)
    inside = min(size, epsilon)
    return inside * (size - _HALF * inside) / epsilon


@slope_of.implement(Squared)
def _squared_slope(loss, target, score):
    return 2.0 * (score - target)


@slope_of.implement(Huber)
def _huber_slope(loss, target, score):
    return min(max((score - target) / loss.epsilon, -1.0), 1.0)
