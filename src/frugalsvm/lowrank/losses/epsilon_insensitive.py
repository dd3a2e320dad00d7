"""The losses of support vector regression: no loss inside a tube around the target."""

from typing import NamedTuple

import numpy as np

from frugalsvm._stored import NotNegative, stored
from frugalsvm.lowrank.losses.base import log_excess, smooth_step, square_step, squares_by_weight
from frugalsvm.lowrank.losses.compiled import loss_of, slope_and_curvature, slope_of, smooth_excess


@stored("epsilon-insensitive", kind="loss")
class EpsilonInsensitive(NamedTuple):
    """``max(0, |t - f| - epsilon)``"""

    epsilon: NotNegative

    is_smooth, for_classes, radius_share, degree = False, False, 1.0, 1

    def values(self, xp, targets, scores):
        return xp.clip(xp.abs(targets - scores) - self.epsilon, 0.0, None)

    def derivatives(self, xp, smoothing, targets, scores):
        above, curved_above = smooth_step(xp, scores - targets - self.epsilon, smoothing)
        below, curved_below = smooth_step(xp, targets - scores - self.epsilon, smoothing)
        return above - below, curved_above + curved_below

    def smoothing_excess(self, xp, targets, scores, smoothing):
        errors = xp.abs(targets - scores)
        return log_excess(xp, errors - self.epsilon, smoothing) + log_excess(xp, errors + self.epsilon, smoothing)

    def feasible(self, xp, targets, duals, weights):
        return xp.minimum(xp.maximum(duals, -weights), weights)

    def conjugates(self, xp, targets, duals, weights):
        return targets * duals - self.epsilon * xp.abs(duals)


@stored("squared-epsilon-insensitive", kind="loss")
class SquaredEpsilonInsensitive(NamedTuple):
    """``max(0, |t - f| - epsilon)^2``"""

    epsilon: NotNegative

    is_smooth, for_classes, radius_share, degree = True, False, 0.5, 2

    def values(self, xp, targets, scores):
        return xp.square(xp.clip(xp.abs(targets - scores) - self.epsilon, 0.0, None))

    def derivatives(self, xp, smoothing, targets, scores):
        above, curved_above = square_step(xp, scores - targets - self.epsilon)
        below, curved_below = square_step(xp, targets - scores - self.epsilon)
        return above - below, curved_above + curved_below

    def smoothing_excess(self, xp, targets, scores, smoothing):
        return xp.zeros_like(scores)

    def feasible(self, xp, targets, duals, weights):
        return duals

    def conjugates(self, xp, targets, duals, weights):
        return targets * duals - self.epsilon * xp.abs(duals) - squares_by_weight(xp, duals, weights)


_ZERO, _TWO = (np.float32(x) for x in (0.0, 2.0))


@slope_and_curvature.implement(EpsilonInsensitive)
def _insensitive(loss, smoothing, target, score):
    epsilon = np.float32(loss.epsilon)
    error = score - target
    above, curvature_above = smooth_excess(error - epsilon, smoothing)
    below, curvature_below = smooth_excess(-error - epsilon, smoothing)
    return above - below, curvature_above + curvature_below


@slope_and_curvature.implement(SquaredEpsilonInsensitive)
def _squared_insensitive(loss, smoothing, target, score):
    error = score - target
    excess = abs(error) - np.float32(loss.epsilon)
    inside = excess > _ZERO
    slope = _TWO * excess if error > _ZERO else -_TWO * excess
    return (slope if inside else _ZERO), (_TWO if inside else _ZERO)


@loss_of.implement(EpsilonInsensitive)
def _insensitive_loss(loss, target, score):
    return max(abs(target - score) - np.float32(loss.epsilon), _ZERO)


@loss_of.implement(SquaredEpsilonInsensitive)
def _squared_insensitive_loss(loss, target, score):
    excess = max(abs(target - score) - np.float32(loss.epsilon), _ZERO)
    return excess * excess


@slope_of.implement(EpsilonInsensitive)
def _insensitive_slope(loss, target, score):
    error = score - target
    if abs(error) <= loss.epsilon:
        return 0.0
    return 1.0 if error > 0.0 else -1.0


@slope_of.implement(SquaredEpsilonInsensitive)
def _squared_insensitive_slope(loss, target, score):
    error = score - target
    excess = abs(error) - loss.epsilon
    if excess <= 0.0:
        return 0.0
    return 2.0 * excess if error > 0.0 else -2.0 * excess
