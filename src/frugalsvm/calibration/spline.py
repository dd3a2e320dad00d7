"""Platt scaling with more slopes: an increasing, piecewise linear curve from decision values to log odds.

`PlattCalibration` has a slope above zero and one below. Decision values of machines that are fitted to labels of -1 and
1 by squares tell more: near -1 and 1, where rows are almost sure, a small step means much more than near zero. So each
side is divided into ranges with about equally many decision values, each with a slope of its own, and neighboring
slopes are alike as far as rows do not tell better. Several classes share one curve: their probabilities are the softmax
of its values. As with two slopes, the order of decision values stays, and zero stays one half.

B. Lucena (2018). Spline-based probability calibration. arXiv:1809.07751.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from frugalsvm._stored import NotNegative, stored
from frugalsvm.calibration.agreement import of_several, of_two
from frugalsvm.calibration.platt import MEMORY
from frugalsvm.calibration.slopes import LARGEST_LOG, LARGEST_STEP, derivatives, limited, parts_of, settled_slopes

__all__ = ["SplineCalibration"]

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
