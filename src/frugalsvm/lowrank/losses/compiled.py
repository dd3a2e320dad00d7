"""Losses in compiled code: what one of them has to say of one example, and sums over the rows of one output."""

import numpy as np

from frugalsvm._compile import entry, generic
from frugalsvm.core.fastmath import LOG2E, exp2_nonpositive

__all__ = [
    "along_line",
    "differentiate",
    "loss_of",
    "slope_and_curvature",
    "slope_of",
    "smooth_excess",
    "total_loss",
]

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
