"""A loss of your own: that of expectiles, squared errors of which those above the prediction count more than others.

What the median is to the mean, quantiles are to expectiles (Newey and Powell 1987). Import this module before you fit,
and ``ASSETRegressor(loss="expectile")`` works, on the CPU and on a GPU.
"""

from typing import NamedTuple

import numpy as np

from frugalsvm.lowrank.losses import LOSSES
from frugalsvm.lowrank.losses.compiled import loss_of, slope_and_curvature, slope_of


class Expectile(NamedTuple):
    """The parameters; fields with the name of a parameter of the estimator get its value, others their default."""

    share: float = 0.9  # of squares of errors above the prediction; those below get the rest

    is_smooth = True  # it has slopes everywhere as it is: nothing needs to be smoothed
    for_classes = False  # any targets, not only -1 and +1
    degree = 2  # errors k times as large cost k^2 times as much: targets are standardized, whatever their unit is
    radius_share = 0.5  # minus slope times score is at most this share of the loss at score 0; 1 for all convex losses

    # --- whole arrays of NumPy or PyTorch, whose functions are in xp: on devices, and for bounds

    def _shares(self, xp, above):
        nothing = xp.zeros_like(above)
        return xp.where(above > 0, nothing + self.share, nothing + (1 - self.share))

    def values(self, xp, targets, scores):
        errors = targets - scores
        return self._shares(xp, errors) * errors * errors

    def derivatives(self, xp, smoothing, targets, scores):
        twice = 2 * self._shares(xp, targets - scores)
        return twice * (scores - targets), twice

    def smoothing_excess(self, xp, targets, scores, smoothing):
        return xp.zeros_like(scores)

    # --- the dual problem: which dual variables are allowed, and min over f of (weight loss(f) + dual f)

    def feasible(self, xp, targets, duals, weights):
        return duals

    def conjugates(self, xp, targets, duals, weights):
        weights = xp.where(weights > 0, weights, xp.ones_like(weights))
        return targets * duals - duals * duals / (4.0 * self._shares(xp, duals) * weights)


# --- one example, compiled: for Newton steps on the CPU in float32, for subgradient steps in float64

_ONE, _TWO = (np.float32(x) for x in (1.0, 2.0))


@slope_and_curvature.implement(Expectile)
def _slope_and_curvature(loss, smoothing, target, score):
    share = np.float32(loss.share)
    twice = _TWO * (share if target > score else _ONE - share)
    return twice * (score - target), twice


@loss_of.implement(Expectile)
def _loss(loss, target, score):
    share = np.float32(loss.share)
    return (share if target > score else _ONE - share) * (target - score) * (target - score)


@slope_of.implement(Expectile)
def _slope(loss, target, score):
    return 2.0 * (loss.share if target > score else 1.0 - loss.share) * (score - target)


LOSSES["expectile"] = Expectile  # the registry line
