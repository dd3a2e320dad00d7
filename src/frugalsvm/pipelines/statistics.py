"""Center, scale and limit of every feature: robust ones from medians, or means and standard deviations.

Robust ones: the *unit* of a feature is the median distance from its median, of those values that differ from it.
Distances beyond 6 units (4 standard deviations of a normal distribution) are cut off, and the scale is the root mean
square of what is left: for a normal distribution its standard deviation. A feature of zeros and a few ones has the
scale that it would have anyway, where quartiles would give 0.

Of very many rows, a random sample tells them: with 100 000, a median is wrong by 0.4 % of the standard deviation. A
feature of which few values in the sample differ from the median is looked at in all rows.

Hard clipping moves what is beyond the limit to it. Soft clipping leaves distances up to two thirds of the limit as they
are. Beyond this *knee* they approach the limit: a distance that exceeds the knee by ``e`` becomes
``knee + r - r / (1 + e / r)``, where the room ``r`` is the third of the limit that is left. The slope at the knee is 1,
larger values stay larger, and an infinite one is at the limit.

Features with a long tail on one side are made symmetric by soft clipping alone. The center is put so far from the
*start* of such a feature, the end of its short side, that all values beyond the start are beyond the knee. A distance
``e`` from the start then becomes ``e / (1 + e / r)``. That is a logistic function of ``log(e / r)``, with its middle at
the median if ``r`` is the distance of the median from the start.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from frugalsvm.cells.trunk import drawn_rows
from frugalsvm.core.moments import Moments

KNEE = 2.0 / 3.0  # of the limit from which on soft clipping is soft
MOST_UNITS = 6.0  # distance from the median, in the scale
LEAST_UNITS = 2.0  # of a hard limit: rare values of features that are mostly constant are not clipped
SAMPLE_VALUES, SAMPLE_ROWS = 2**21, 2**14  # of rows that are drawn: values at most, and rows at least
ENOUGH = 100  # values of a feature that a sample must have
MORE = 20.0  # rows by which rare values of features are shrunk
START = 0.02  # share of values before the start of a feature with a long tail
LONG = 3.0  # times the distance of the median from the start, which a long tail reaches; a symmetric one reaches 2
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

    With weights, each row of ``X``, a dense one, stands for as many rows. Soft limits hold for rare values of features
    that are mostly constant as well: a one in ten thousand zeros would be a hundred scales away, farther than all else.
    """
    center, unit, scale = _sparse_spread(X) if issparse(X) else _dense_spread(X, weights)
    constant = scale == 0
    scale = np.where(constant, 1.0, scale)
    limit = None if clip is None else np.maximum(clip * scale, 0.0 if is_soft else LEAST_UNITS * unit)
    return Statistics(center, scale, limit, constant)


def sample_of(X: np.ndarray) -> np.ndarray:
    """Some of very many dense rows, at random and the same each time; few rows themselves."""
    n_drawn = max(SAMPLE_ROWS, SAMPLE_VALUES // max(1, X.shape[1]))
    return X if len(X) <= n_drawn else X[drawn_rows(len(X), n_drawn, np.random.default_rng(0))]


def _dense_spread(X, weights):
    found = np.zeros((X.shape[1], 3))
    sample = sample_of(X) if weights is None else X
    for j in range(X.shape[1]):
        found[j], n_different = _column_spread(sample[:, j], weights)
        if n_different < ENOUGH and len(sample) < len(X):
            found[j], _ = _column_spread(X[:, j], weights)
    return found.T


def _column_spread(column, weights):
    """Center, unit and scale of a feature, and how many values differ from the center."""
    resolution, column = ROUNDING * np.finfo(column.dtype).eps, column.astype(np.float64)
    center = _median(column, weights)
    distance = np.abs(column - center)
    is_different = distance > resolution * abs(center)
    if not is_different.any():
        return (center, 0.0, 0.0), 0
    unit = _median(distance[is_different], None if weights is None else weights[is_different])
    squares = np.square(np.minimum(distance / unit, MOST_UNITS))  # in units, whose squares do not overflow
    return (center, unit, unit * np.sqrt(np.average(squares, weights=weights))), np.count_nonzero(is_different)


def symmetric_statistics(X: np.ndarray, robust: Statistics, weights: np.ndarray | None = None) -> Statistics:
    """Robust statistics for soft clipping, but of features with a long tail on one side: these become symmetric."""
    assert robust.limit is not None
    center, scale, limit, constant = (array.copy() for array in robust)  # type: ignore[union-attr]
    sample = sample_of(X) if weights is None else X
    for j in np.flatnonzero(~constant):
        column = sample[:, j].astype(np.float64)
        for side in (1.0, -1.0):
            found = _bent(side * column, weights)
            if found is not None:
                middle, scale[j], limit[j] = found
                center[j] = side * middle
    return Statistics(center, scale, limit, constant)


def widths_of_rare(X: np.ndarray, center: np.ndarray) -> np.ndarray:
    """By which factors scales grow if a few more rows differ from the centers, as much as those that do; NaN does not.

    Of very many rows, a random sample tells.
    """
    sample = sample_of(X)
    pairs = zip(sample.T, center, strict=True)
    n_different = np.array([np.count_nonzero(np.abs(column - middle) > 0) for column, middle in pairs])
    n_different = np.clip(n_different * (len(X) / len(sample)), 1.0, ENOUGH)
    return np.sqrt(1.0 + MORE / n_different - MORE / ENOUGH)


def _bent(column: np.ndarray, weights: np.ndarray | None) -> tuple[float, float, float] | None:
    """Center, scale and limit of a feature with a long tail of large values; None if it has none.

    If more than half of the values are at the start, as zeros of counts are, the median is that of all others.
    """
    start, end = np.quantile(column, (START, 1.0 - START), weights=weights, method="inverted_cdf")
    room = _median(column, weights) - start
    if room == 0.0:
        others = column > start
        room = _median(column[others], None if weights is None else weights[others]) - start if others.any() else 0.0
    if room <= 0.0 or end - start <= LONG * room:
        return None
    limit = room / (1.0 - KNEE)
    center = start - KNEE * limit
    distance = column - center
    clip(distance, np.array(limit), is_soft=True)
    (_, _, scale), n_different = _column_spread(distance, weights)
    return (center, scale, limit) if n_different >= ENOUGH and scale > 0.0 else None


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


# --- limits -----------------------------------------------------------------------------------------------------------


def clip(distance: np.ndarray, limit: np.ndarray, *, is_soft: bool = False) -> None:
    """Bring distances from the center, of any sign, within their limits, in place."""
    knee = KNEE * limit if is_soft else limit
    clipped = np.clip(distance, -knee, knee, out=None if is_soft else distance)
    if is_soft:
        softened(distance, clipped, limit - knee, out=distance)


def softened(values, clipped, room, out=None) -> np.ndarray:
    """Values that were clipped at the knee, with a part of what was cut off, which is less than ``room``."""
    rest = values - clipped
    with np.errstate(over="ignore"):
        more = room - room / (1.0 + np.abs(rest) / room)
    return np.add(clipped, np.copysign(more, rest), out=out)
