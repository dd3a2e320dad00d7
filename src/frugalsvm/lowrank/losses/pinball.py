"""The pinball loss, whose minima are quantiles (R. Koenker, G. Bassett, "Regression quantiles", Econometrica 46, 1978).

Each output has a quantile q of its own. ``q (t - f)`` where a score is too low and ``(1 - q) (f - t)`` where it is too
high are one kink, ``max(0, f - t)``, tilted by ``q (t - f)``: see `frugalsvm.lowrank.losses.compiled.tilt_of`.
"""

from typing import Annotated, NamedTuple

import numpy as np

from frugalsvm._stored import stored
from frugalsvm.lowrank.losses.base import log_excess, smooth_step
from frugalsvm.lowrank.losses.compiled import loss_of, slope_and_curvature, slope_of, smooth_excess, tilt_of


@stored("pinball", kind="loss")
class Pinball(NamedTuple):
    """``max(q (t - f), (1 - q) (f - t))``, with the quantile q of the output."""

    quantile: Annotated[np.ndarray, "d o", (5e-324, 1.0 - 2.0**-53)]  # (n_outputs,) float64

    is_smooth, for_classes, radius_share, degree = False, False, 1.0, 1

    def _column(self, xp, like):
        """The quantiles as a column of the library, the type and the device that an array has."""
        return xp.concat([xp.full_like(like[:1, :1], float(q)) for q in self.quantile])

    def values(self, xp, targets, scores):
        errors = targets - scores
        return xp.clip(-errors, 0.0, None) + self._column(xp, targets) * errors

    def derivatives(self, xp, smoothing, targets, scores):
        first, second = smooth_step(xp, scores - targets, smoothing)
        return first - self._column(xp, targets), second

    def smoothing_excess(self, xp, targets, scores, smoothing):
        return log_excess(xp, targets - scores, smoothing)

    def feasible(self, xp, targets, duals, weights):
        q = self._column(xp, targets)
        return xp.minimum(xp.maximum(duals, (q - 1.0) * weights), q * weights)

    def conjugates(self, xp, targets, duals, weights):
        return targets * duals


_ZERO = np.float32(0.0)


@tilt_of.implement(Pinball)
def _tilt(loss, output):
    return loss.quantile[output]


@slope_and_curvature.implement(Pinball)
def _pinball(loss, smoothing, target, score):
    return smooth_excess(score - target, smoothing)


@loss_of.implement(Pinball)
def _pinball_loss(loss, target, score):
    return max(score - target, _ZERO)


@slope_of.implement(Pinball)
def _pinball_slope(loss, target, score):
    return 1.0 if score > target else 0.0
