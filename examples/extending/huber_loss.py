"""A loss of your own: Huber's, half the squared error up to ``epsilon`` and a straight line beyond, against outliers.

Import this module before you fit, and ``ASSETRegressor(loss="huber", epsilon=1.35)`` works, on the CPU and on a GPU.
"""

from typing import NamedTuple

import numpy as np

from frugalsvm.lowrank.losses import LOSSES
from frugalsvm.lowrank.losses.compiled import loss_of, slope_and_curvature, slope_of


class Huber(NamedTuple):
    """The parameters; fields with the name of a parameter of the estimator get its value."""

    epsilon: float

    is_smooth = True  # it has slopes everywhere as it is: nothing needs to be smoothed
    for_classes = False  # any targets, not only -1 and +1
    radius_share = 1.0  # minus slope times score is at most this share of the loss at score 0; so for all convex losses

    # --- whole arrays of NumPy or PyTorch, whose functions are in xp: on devices, and for bounds

    def values(self, xp, targets, scores):
        sizes = xp.abs(targets - scores)
        inside = xp.clip(sizes, None, self.epsilon)
        return inside * (sizes - 0.5 * inside)

    def derivatives(self, xp, smoothing, targets, scores):
        errors = scores - targets
        nothing = xp.zeros_like(errors)
        return xp.clip(errors, -self.epsilon, self.epsilon), xp.where(
            xp.abs(errors) < self.epsilon, nothing + 1, nothing
        )

    def smoothing_excess(self, xp, targets, scores, smoothing):
        return xp.zeros_like(scores)

    # --- the dual problem: which dual variables are allowed, and min over f of (weight loss(f) + dual f)

    def feasible(self, xp, targets, duals, weights):
        return xp.minimum(xp.maximum(duals, -self.epsilon * weights), self.epsilon * weights)

    def conjugates(self, xp, targets, duals, weights):
        return targets * duals - duals * duals / (2.0 * xp.where(weights > 0, weights, xp.ones_like(weights)))


# --- one example, compiled: for Newton steps on the CPU in float32, for subgradient steps in float64

_ZERO, _HALF, _ONE = (np.float32(x) for x in (0.0, 0.5, 1.0))


@slope_and_curvature.implement(Huber)
def _slope_and_curvature(loss, smoothing, target, score):
    epsilon = np.float32(loss.epsilon)
    error = score - target
    return min(max(error, -epsilon), epsilon), (_ONE if abs(error) < epsilon else _ZERO)


@loss_of.implement(Huber)
def _loss(loss, target, score):
    size = abs(target - score)
    inside = min(size, np.float32(loss.epsilon))
    return inside * (size - _HALF * inside)


@slope_of.implement(Huber)
def _slope(loss, target, score):
    return min(max(score - target, -loss.epsilon), loss.epsilon)


LOSSES["huber"] = Huber  # the registry line
