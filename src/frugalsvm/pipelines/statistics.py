"""Center, scale and limit of every feature: robust ones from medians, or means and standard deviations.

Robust ones: the *unit* of a feature is the median distance from its median, of those values that differ from it.
Distances beyond 6 units (4 standard deviations of a normal distribution) are cut off, and the scale is the root mean
square of what is left: for a normal distribution its standard deviation. A feature of zeros and a few ones has the
scale that it would have anyway, where quartiles would give 0.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from frugalsvm.core.moments import Moments

__all__ = ["Statistics", "robust_statistics", "standard_statistics"]

MOST_UNITS = 6.0  # distance from the median, in the scale
LEAST_UNITS = 2.0  # of a hard limit: rare values of features that are mostly constant are not clipped
ROUNDING = 2.0  # times the resolution of the type: values that differ by less differ by rounding


class Statistics(NamedTuple):
    """How a feature x is scaled: ``(x - center) / scale``, where ``x - center`` is clipped to ``limit``."""

    center: np.ndarray
    scale: np.ndarray  # 1 for constant features
    limit: np.ndarray | None
    constant: np.ndarray  # of bool


def robust_statistics(
    X: Any, clip: float | None, weights: np.ndarray | None = None, *, is_soft: bool = False
) -> Statistics:
    """Statistics that a few wild values do not change; sparse rows are not centered.

    With weights, each row of ``X``, a dense one, stands for so many. Soft limits hold for rare values of features that
    are mostly constant as well: a one in ten thousand zeros would be a hundred scales away, farther than all else.
    """
    center, unit, scale = _sparse_spread(X) if issparse(X) else _dense_spread(X, weights)
    constant = scale == 0
    scale = np.where(constant, 1.0, scale)
    limit = None if clip is None else np.maximum(clip * scale, 0.0 if is_soft else LEAST_UNITS * unit)
    return Statistics(center, scale, limit, constant)


def _dense_spread(X, weights):
    d, resolution = X.shape[1], ROUNDING * np.finfo(X.dtype).eps
    center, unit, scale = np.zeros((3, d))
    for j in range(d):
        column = X[:, j].astype(np.float64)
        center[j] = _median(column, weights)
        distance = np.abs(column - center[j])
        is_different = distance > resolution * abs(center[j])
        if is_different.any():
            unit[j] = _median(distance[is_different], None if weights is None else weights[is_different])
            # in units, whose squares do not overflow
            squares = np.square(np.minimum(distance / unit[j], MOST_UNITS))
            scale[j] = unit[j] * np.sqrt(np.average(squares, weights=weights))
    return center, unit, scale


def _median(values, weights):
    """The median of values, each of which may stand for several."""
    if weights is None:
        return np.median(values)
    order = np.argsort(values)
    values, counts = values[order], np.cumsum(weights[order])
    middle = np.searchsorted(counts, counts[-1] / 2)
    if counts[middle] > counts[-1] / 2:
        return values[middle]
    return np.mean(values[middle : middle + 2])


def _sparse_spread(X):
    """The center is 0, and the values that differ from it are those that are stored."""
    n, d = X.shape
    stored = X.data != 0
    columns, values = X.indices[stored], X.data[stored].astype(np.float64)
    order = np.lexsort((np.abs(values), columns))
    columns, values = columns[order], values[order]
    counts = np.bincount(columns, minlength=d)
    seen = np.flatnonzero(counts)
    unit = np.zeros(d)
    first = np.cumsum(counts) - counts
    unit[seen] = np.abs(values[(first + (counts - 1) // 2)[seen]])
    values = np.clip(values / unit[columns], -MOST_UNITS, MOST_UNITS)
    mean = np.bincount(columns, values, d) / n
    square = np.bincount(columns, np.square(values), d) / n
    var = square - mean**2
    scale = unit * np.sqrt(np.where(var > 1e-12 * square, var, 0.0))  # one value in all rows is constant
    return np.zeros(d), unit, scale


def standard_statistics(moments: Moments, clip: float | None) -> Statistics:
    """Mean and standard deviation."""
    n, mean, var = moments
    # A variance that rounding alone can make is none (the bound that scikit-learn uses).
    eps = np.finfo(np.float64).eps
    constant = var <= n * eps * var + (n * mean * eps) ** 2
    scale = np.where(constant, 1.0, np.sqrt(var))
    return Statistics(mean, scale, None if clip is None else clip * scale, constant)
