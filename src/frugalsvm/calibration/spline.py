"""Platt scaling with more slopes: an increasing, piecewise linear curve from decision values to log odds.

`PlattCalibration` has a slope above zero and one below. Decision values of machines that are fitted to labels of -1 and
1 by squares tell more: near -1 and 1, where rows are almost sure, a small step means much more than near zero. So each
side is divided into ranges with about equally many decision values, each with a slope of its own, and neighboring
slopes are alike as far as rows do not tell better. Several classes share one curve: their probabilities are the softmax
of its values. As with two slopes, the order of decision values stays, and zero stays one half.

A decision value is a sum of its parts in all ranges, each times the slope there. The slopes of the least log loss are
found by Newton's method in their logarithms: that keeps them positive, and scaled parts are their own derivatives.

B. Lucena (2018). Spline-based probability calibration. arXiv:1809.07751.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from frugalsvm._stored import NotNegative, stored
from frugalsvm.calibration.agreement import of_several, of_two
from frugalsvm.compiling.threads import blas_threads

# --- how slopes are found --------------------------------------------------------------------------------------------

LARGEST_STEP = 0.5  # of the logarithm of a slope, for one batch
LARGEST_LOG = 30.0
_PASSES = 50
_FACTORS = (1.0, 0.5, 0.25, 0.125)  # of a Newton step: the loss is not convex
_SMALLEST_GAIN = 1e-6  # of the sum of the losses of all rows
_LARGEST_BLOCK = 2**20  # parts of rows at a time


class Derivatives(NamedTuple):
    """Log loss of rows; its gradient with respect to the logarithms of slopes, and its Fisher information."""

    loss: float
    gradient: np.ndarray  # (n_ranges,)
    information: np.ndarray  # (n_ranges, n_ranges)


def parts_of(values: np.ndarray, breaks: np.ndarray) -> np.ndarray:
    """What of decision values is in each of the ranges between the breaks, (..., n_ranges); its sum is the value."""
    edges = np.concatenate([[-np.inf], breaks, [np.inf]])
    lower, upper = edges[:-1], edges[1:]
    return np.clip(values[..., None], lower, upper) - np.where(upper <= 0, upper, lower)


def derivatives(scaled: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None) -> Derivatives:
    """Of rows with these scaled parts (n_rows, n_outputs, n_ranges), summed."""
    n_rows, n_outputs, n_ranges = scaled.shape
    weights = np.ones(n_rows) if weights is None else weights
    one_block = max(1, _LARGEST_BLOCK // (n_outputs * n_ranges))
    total = Derivatives(0.0, np.zeros(n_ranges), np.zeros((n_ranges, n_ranges)))
    of_block = _of_two if n_outputs == 1 else _of_several
    for start in range(0, n_rows, one_block):
        rows = slice(start, start + one_block)
        found = of_block(scaled[rows], labels[rows], weights[rows])
        total = Derivatives(*(before + more for before, more in zip(total, found, strict=True)))
    return total


def _of_two(scaled, labels, weights) -> Derivatives:
    scaled, sign = scaled[:, 0], np.where(labels == 1, 1.0, -1.0)
    margin = sign * scaled.sum(axis=1)
    wrong = 0.5 * (1.0 - np.tanh(0.5 * margin))
    spread = weights * wrong * (1.0 - wrong)
    loss = float(weights @ np.logaddexp(0.0, -margin))
    return Derivatives(loss, scaled.T @ (-sign * wrong * weights), (scaled * spread[:, None]).T @ scaled)


def _of_several(scaled, labels, weights) -> Derivatives:
    rows, log_odds = np.arange(len(labels)), scaled.sum(axis=2)
    log_odds -= log_odds.max(axis=1, keepdims=True)
    shares = np.exp(log_odds)
    totals = shares.sum(axis=1, keepdims=True)
    shares /= totals
    loss = float(weights @ (np.log(totals[:, 0]) - log_odds[rows, labels]))
    mean = np.matmul(shares[:, None, :], scaled)[:, 0]
    flat = scaled.reshape(-1, scaled.shape[2])
    squares = (flat * (shares * weights[:, None]).reshape(-1, 1)).T @ flat
    return Derivatives(loss, weights @ (mean - scaled[rows, labels]), squares - (mean * weights[:, None]).T @ mean)


def settled_slopes(values, labels, weights, breaks: np.ndarray, *, usual: float, tie: float):
    """The logarithms of the most probable slopes, and what is known of them.

    Before anything is known, slopes are such that usual decision values become about 1 (``usual`` is how much that
    counts), and those of neighboring ranges are about equal (``tie``).
    """
    start = limited(-np.log(max(float(np.abs(values).mean()), np.exp(-LARGEST_LOG))))
    n_ranges = len(breaks) + 1
    apart = np.diff(np.eye(n_ranges), axis=0)
    prior = usual * np.eye(n_ranges) + tie * apart.T @ apart
    parts = parts_of(values, breaks)
    if weights is not None:
        weights = weights / max(float(weights.mean()), 1e-300)

    def at(logs) -> Derivatives:
        found, away = derivatives(parts * np.exp(logs), labels, weights), logs - start
        loss = found.loss + 0.5 * float(away @ prior @ away)
        return Derivatives(loss, found.gradient + prior @ away, found.information + prior)

    with blas_threads(1):  # products are small
        return _smallest_loss(at, np.full(n_ranges, start))


def _smallest_loss(at, now):
    """Newton's method; it ends where neither slopes nor the loss change any more."""
    found = at(now)
    for _ in range(_PASSES):
        step = np.clip(np.linalg.solve(found.information, found.gradient), -LARGEST_STEP, LARGEST_STEP)
        for factor in _FACTORS:
            moved = limited(now - factor * step)
            there = at(moved)
            if there.loss <= found.loss:
                break
        gain = found.loss - there.loss
        now, found = moved, there
        if np.abs(step).max() < 1e-6 or abs(gain) < _SMALLEST_GAIN:
            break
    return now, found.information


def limited(logs):
    """Logarithms of slopes that keep all decision values finite."""
    return np.clip(logs, -LARGEST_LOG, LARGEST_LOG)


# --- the curve -------------------------------------------------------------------------------------------------------

MEMORY = 10_000.0  # rows after which a share of 1/e of the number of rows is left
_RANGES = 8  # on each side of zero
_LEAST_VALUES = 50  # for more than one range
_USUAL = 1.0  # divided by the number of slopes
_TIE = 1.0


@stored("spline-calibration", kind="calibration")
class SplineCalibration(NamedTuple):
    """The curve: where slopes change, their logarithms, and what is known of these."""

    breaks: Annotated[np.ndarray, "d b"] = np.zeros(1)  # increasing; one of them is zero
    log_slopes: Annotated[np.ndarray, "d k"] = np.zeros(2)
    information: Annotated[np.ndarray, "d kk"] = np.eye(2)
    n_rows: NotNegative = 0.0  # that it has learned from and not forgotten

    @property
    def is_new(self) -> bool:
        """Whether it has not learned anything."""
        return self.n_rows == 0

    @property
    def slope(self) -> float:
        """The factor of decision values just above zero."""
        return math.exp(self.log_slopes[np.searchsorted(self.breaks, 0.0) + 1])

    def is_sound(self, sizes) -> bool:
        """Whether the curve increases and goes through zero."""
        increases = (np.diff(self.breaks) > 0).all() and (self.breaks == 0).any()
        fits = len(self.log_slopes) == len(self.breaks) + 1 and np.abs(self.log_slopes).max() <= LARGEST_LOG
        return bool(increases and fits and (np.diagonal(self.information) >= 0).all())

    # --- learning ---------------------------------------------------------------------------------------------

    def updated(self, values, labels, weights=None) -> "SplineCalibration":
        """The calibration after rows with these decision values and labels; as that of `PlattCalibration`.

        Ranges are those of the first rows.
        """
        values = np.asarray(values, np.float64)
        if self.is_new:
            return self.settled(values, labels, weights)
        n_rows = float(len(labels) if weights is None else weights.sum())
        kept = math.exp(-n_rows / MEMORY)
        found = derivatives(parts_of(values, self.breaks) * np.exp(self.log_slopes), labels, weights)
        information = kept * self.information + found.information
        # Slopes that no row says anything of stay what they are.
        certain = information + np.eye(len(information)) * max(1e-9 * float(np.trace(information)), 1e-12)
        step = np.clip(np.linalg.solve(certain, found.gradient), -LARGEST_STEP, LARGEST_STEP)
        return SplineCalibration(self.breaks, limited(self.log_slopes - step), information, self.n_rows * kept + n_rows)

    def updated_by_one(self, values, label: int) -> "SplineCalibration":
        """`updated` for one row."""
        return self.updated(np.array(values, np.float64)[None], np.array([label]))

    @classmethod
    def settled(cls, values, labels, weights=None) -> "SplineCalibration":
        """The calibration of rows that are all there."""
        values = np.asarray(values, np.float64)
        breaks = _breaks_of(values)
        usual = _USUAL / (len(breaks) + 1)
        log_slopes, information = settled_slopes(values, labels, weights, breaks, usual=usual, tie=_TIE)
        return cls(breaks, log_slopes, information, float(min(len(labels), MEMORY)))

    def for_prediction(self) -> "SplineCalibration":
        """What predictions need of it."""
        return self

    # --- probabilities ----------------------------------------------------------------------------------------

    def probabilities(self, values) -> np.ndarray:
        """Probabilities of the classes; the class that is predicted has the highest."""
        values = np.asarray(values, np.float64)
        doubt = 1.0 / (self.n_rows + 2.0)
        log_odds = self._log_odds(values)
        if values.shape[1] == 1:
            return of_two(0.5 * (1.0 + np.tanh(0.5 * log_odds[:, 0])), values[:, 0], doubt)
        return of_several(np.exp(log_odds - log_odds.max(axis=1, keepdims=True)), values, doubt)

    def _log_odds(self, values: np.ndarray) -> np.ndarray:
        """The curve at decision values; straight on beyond the first and the last break."""
        slopes, breaks = np.exp(self.log_slopes), self.breaks
        heights = np.concatenate([[0.0], np.cumsum(slopes[1:-1] * np.diff(breaks))])
        heights -= heights[np.searchsorted(breaks, 0.0)]
        inside = np.interp(values, breaks, heights)
        return (
            inside + slopes[0] * np.minimum(values - breaks[0], 0.0) + slopes[-1] * np.maximum(values - breaks[-1], 0.0)
        )


def _breaks_of(values: np.ndarray) -> np.ndarray:
    """Decision values that divide each side of zero into ranges with equally many of them."""
    shares, found = np.arange(1, _RANGES) / _RANGES, [np.zeros(1)]
    for side in (values[values < 0], values[values > 0]):
        if side.size > _LEAST_VALUES:
            found.append(np.quantile(side, shares))
    return np.unique(np.concatenate(found))
