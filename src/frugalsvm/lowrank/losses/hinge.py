"""The hinge and its square, for targets -1 and +1."""

from typing import NamedTuple

import numpy as np

from frugalsvm._stored import stored
from frugalsvm.lowrank.losses.base import log_excess, smooth_step, square_step, squares_by_weight
from frugalsvm.lowrank.losses.compiled import loss_of, slope_and_curvature, slope_of, smooth_excess


@stored("hinge", kind="loss")
class Hinge(NamedTuple):
    """``max(0, 1 - t f)``"""

    is_smooth, for_classes, radius_share = False, True, 1.0

    def values(self, xp, targets, scores):
        return xp.clip(1.0 - targets * scores, 0.0, None)

    def derivatives(self, xp, smoothing, targets, scores):
        first, second = smooth_step(xp, 1 - targets * scores, smoothing)
        return -targets * first, second

    def smoothing_excess(self, xp, targets, scores, smoothing):
        return log_excess(xp, 1.0 - targets * scores, smoothing)

    def feasible(self, xp, targets, duals, weights):
        return targets * xp.minimum(xp.clip(targets * duals, 0.0, None), weights)

    def conjugates(self, xp, targets, duals, weights):
        return targets * duals


@stored("squared-hinge", kind="loss")
class SquaredHinge(NamedTuple):
    """``max(0, 1 - t f)^2``"""

    is_smooth, for_classes, radius_share = True, True, 0.5

    def values(self, xp, targets, scores):
        return xp.square(xp.clip(1.0 - targets * scores, 0.0, None))

    def derivatives(self, xp, smoothing, targets, scores):
        first, second = square_step(xp, 1 - targets * scores)
        return -targets * first, second

    def smoothing_excess(self, xp, targets, scores, smoothing):
        return xp.zeros_like(scores)

    def feasible(self, xp, targets, duals, weights):
        return targets * xp.clip(targets * duals, 0.0, None)

    def conjugates(self, xp, targets, duals, weights):
        return targets * duals - squares_by_weight(xp, duals, weights)


_ONE, _ZERO, _TWO = (np.float32(x) for x in (1.0, 0.0, 2.0))


@slope_and_curvature.implement(Hinge)
def _hinge(loss, smoothing, target, score):
    slope, curvature = smooth_excess(_ONE - target * score, smoothing)
    return -target * slope, curvature


@slope_and_curvature.implement(SquaredHinge)
def _squared_hinge(loss, smoothing, target, score):
    excess = _ONE - target * score
    inside = excess > _ZERO
    return (-_TWO * target * excess if inside else _ZERO), (_TWO if inside else _ZERO)


@loss_of.implement(Hinge)
def _hinge_loss(loss, target, score):
    return max(_ONE - target * score, _ZERO)


@loss_of.implement(SquaredHinge)
def _squared_hinge_loss(loss, target, score):
    excess = max(_ONE - target * score, _ZERO)
    return excess * excess


@slope_of.implement(Hinge)
def _hinge_slope(loss, target, score):
    return -target if target * score < 1.0 else 0.0


@slope_of.implement(SquaredHinge)
def _squared_hinge_slope(loss, target, score):
    excess = 1.0 - target * score
    return -2.0 * target * excess if excess > 0.0 else 0.0
