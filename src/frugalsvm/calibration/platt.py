"""Platt scaling that keeps predictions: two slopes turn decision values into probabilities.

``t(f) = a f`` for ``f >= 0`` and ``b f`` below, both slopes positive; ``p = sigmoid(t(f))`` with one output, ``p =
softmax(t(f))`` with several. That keeps the order of the decision values, and zero stays one half, so that the most
probable class is always the predicted one. A sigmoid with an intercept, as Platt had it, would not do that; two slopes
fit classes of different sizes as well. As little as Platt's, these probabilities are ever 0 or 1: of n rows, the part
``1 / (n + 2)`` goes to all classes alike.

The logarithms of the slopes make Newton steps of online logistic regression: the gradient of the rows at hand over the
Fisher information of those so far. Decision values change their scale while a model learns, and what was known of a
slope is about another scale then. It therefore never counts as more than an information of 50, as if the logarithm of
the slope were known to a seventh: where the scale stays, that makes the log loss about half a percent larger. And where
the gradients of the last rows agree more than by chance, only what these rows tell counts: with slopes far too small,
rows tell so little that what was known before would hold them there for thousands of rows.

J. Platt (1999). Probabilistic outputs for support vector machines and comparisons to regularized likelihood methods.
Advances in Large Margin Classifiers.
"""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from frugalsvm._stored import NotNegative, stored
from frugalsvm.calibration.agreement import of_several, of_two
from frugalsvm.calibration.spline import LARGEST_LOG, LARGEST_STEP, MEMORY, derivatives, parts_of, settled_slopes

_MEMORY_OF_SLOPES = 2_000.0  # rows after which a share of 1/e of the information is left
_MOST_INFORMATION = 50.0  # of a slope, of all rows before those at hand
_RECENT = 200.0  # rows after which a share of 1/e of the last gradients is left
_SURPRISING = 9.0  # how often the square of their sum is their information: 4 standard deviations
_LEAST_INFORMATION = 1e-12
_SO_MANY = 1e17  # rows that there is no doubt
_AT_ZERO = np.zeros(1)  # where the slope changes


_NOTHING_RECENT = dict.fromkeys(("surprise", "surprise_below", "recent", "recent_below"), 0.0)


def _with_all_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """What files have that were written when there was one slope, or nothing known of the last rows."""
    fields = {**_NOTHING_RECENT, **fields}
    if "log_slope_below" in fields:
        return fields
    half = fields["information"] / 2.0
    return {
        **fields, "log_slope_below": fields["log_slope"], "information": half, "information_below": half,
        "information_shared": 0.0, "n_rows": _SO_MANY,
    }  # fmt: skip


class _Derivatives(NamedTuple):
    """Gradient of the log loss of rows with respect to the logarithms of both slopes, and its Fisher information."""

    above: float
    below: float
    fisher: float
    fisher_below: float
    fisher_shared: float


_LogSlope = Annotated[float, (-LARGEST_LOG, LARGEST_LOG)]


@stored("calibration", earlier=_with_all_fields)
class PlattCalibration(NamedTuple):
    """Where the calibration stands: slopes, and a matrix of what is known of them."""

    log_slope: _LogSlope = 0.0  # of decision values from zero upwards
    information: NotNegative = 1.0  # at the beginning: slopes are around 1
    log_slope_below: _LogSlope = 0.0  # of negative ones
    information_below: NotNegative = 1.0
    information_shared: float = 0.0
    n_rows: NotNegative = 0.0  # that it has learned from and not forgotten
    surprise: float = 0.0  # the sum of the gradients of the last rows, and what these rows tell of the slopes
    surprise_below: float = 0.0
    recent: NotNegative = 0.0
    recent_below: NotNegative = 0.0

    @property
    def slope(self) -> float:
        """The factor of decision values from zero upwards."""
        return math.exp(self.log_slope)

    @property
    def slope_below(self) -> float:
        """The factor of negative decision values."""
        return math.exp(self.log_slope_below)

    @property
    def is_new(self) -> bool:
        """Whether it has not learned anything."""
        return self == PlattCalibration()

    def is_sound(self, sizes) -> bool:
        """Whether the information is a matrix of squares."""
        return self.information_shared**2 <= self.information * self.information_below * (1.0 + 1e-9)

    # --- learning ---------------------------------------------------------------------------------------------

    def updated(self, values, labels, weights=None) -> "PlattCalibration":
        """The calibration after rows with these decision values and labels (indices of the classes).

        Parameters
        ----------
        values : ndarray of shape (n_rows, n_outputs)
        labels : ndarray of int of shape (n_rows,)
        weights : ndarray of shape (n_rows,), default=None

        Returns
        -------
        PlattCalibration
        """
        n_rows = float(len(labels) if weights is None else weights.sum())
        return self._stepped(_derivatives(self, values, labels, weights), n_rows)

    def updated_by_one(self, values, label: int) -> "PlattCalibration":
        """`updated` for one row, by scalars: a tenth of the time."""
        derivatives = _of_one_output if len(values) == 1 else _of_one_row
        return self._stepped(derivatives(self, values, label), 1.0)

    def _stepped(self, found: _Derivatives, n_rows: float) -> "PlattCalibration":
        left = math.exp(-n_rows / _MEMORY_OF_SLOPES)
        recently = math.exp(-n_rows / _RECENT)
        surprise, recent = self.surprise * recently + found.above, self.recent * recently + found.fisher
        surprise_below = self.surprise_below * recently + found.below
        recent_below = self.recent_below * recently + found.fisher_below
        kept = _kept(self.information, left, surprise, recent)
        kept_below = _kept(self.information_below, left, surprise_below, recent_below)
        information = max(self.information * kept + found.fisher, _LEAST_INFORMATION)
        below = max(self.information_below * kept_below + found.fisher_below, _LEAST_INFORMATION)
        shared = self.information_shared * math.sqrt(kept * kept_below) + found.fisher_shared
        step, step_below = _newton_step(found.above, found.below, information, below, shared)
        return PlattCalibration(
            _limited(self.log_slope - step), information, _limited(self.log_slope_below - step_below), below, shared,
            self.n_rows * math.exp(-n_rows / MEMORY) + n_rows, surprise, surprise_below, recent, recent_below,
        )  # fmt: skip

    @classmethod
    def settled(cls, values, labels, weights=None) -> "PlattCalibration":
        """The calibration of rows that are all there: the most probable slopes.

        Before anything is known, slopes are such that usual decision values become about 1, and about equal.
        """
        logs, information = settled_slopes(values, labels, weights, _AT_ZERO, usual=1.0, tie=1.0)
        n_rows = float(min(len(labels), MEMORY))
        (below, shared), (_, above) = information.tolist()
        return cls(float(logs[1]), above, float(logs[0]), below, shared, n_rows)

    def for_prediction(self) -> "PlattCalibration":
        """What predictions need of it."""
        return self

    # --- probabilities ----------------------------------------------------------------------------------------

    def probabilities(self, values) -> np.ndarray:
        """Probabilities of the classes; the class that is predicted has the highest.

        Parameters
        ----------
        values : ndarray of shape (n_rows, n_outputs)
            Decision values.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)

        Examples
        --------
        >>> import numpy as np
        >>> from frugalsvm.calibration import PlattCalibration
        >>> PlattCalibration(n_rows=1000).probabilities(np.array([[2.0], [0.0]])).round(3)
        array([[0.12, 0.88],
               [0.5 , 0.5 ]])
        >>> PlattCalibration().probabilities(np.array([[0.0]])).argmax()  # as in `predict`, zero is the second class
        np.int64(1)
        """
        values = np.asarray(values, np.float64)
        scaled = self.slope * np.maximum(values, 0.0) + self.slope_below * np.minimum(values, 0.0)
        if values.shape[1] == 1:
            return of_two(0.5 * (1.0 + np.tanh(0.5 * scaled[:, 0])), values[:, 0], self._doubt)
        return of_several(np.exp(scaled - scaled.max(axis=1, keepdims=True)), values, self._doubt)

    @property
    def _doubt(self) -> float:
        """The part of all probability that goes to the classes in equal parts."""
        return 1.0 / (self.n_rows + 2.0)


def _limited(log_slope: float) -> float:
    return max(-LARGEST_LOG, min(LARGEST_LOG, log_slope))


def _kept(information: float, left: float, surprise: float, recent: float) -> float:
    """The share of the information of a slope that still counts, of which this share is left by forgetting."""
    most = _MOST_INFORMATION
    if surprise * surprise > _SURPRISING * recent:
        most = max(_LEAST_INFORMATION, min(most, recent))
    return left if information * left <= most else most / information


def _newton_step(gradient, gradient_below, information, below, shared) -> tuple[float, float]:
    """Gradient over information, within limits; where both slopes look alike to it, as if they were not related."""
    determinant = information * below - shared * shared
    if determinant <= 1e-9 * information * below:
        determinant, shared = information * below, 0.0
    step = (below * gradient - shared * gradient_below) / determinant
    step_below = (information * gradient_below - shared * gradient) / determinant
    return (
        max(-LARGEST_STEP, min(LARGEST_STEP, step)),
        max(-LARGEST_STEP, min(LARGEST_STEP, step_below)),
    )


def _derivatives(calibration: PlattCalibration, values, labels, weights) -> _Derivatives:
    """Summed over the rows."""
    slopes = np.array([calibration.slope_below, calibration.slope])
    found = derivatives(parts_of(np.asarray(values, np.float64), _AT_ZERO) * slopes, labels, weights)
    (fisher_below, fisher_shared), (_, fisher) = found.information.tolist()
    below, above = found.gradient.tolist()
    return _Derivatives(above, below, fisher, fisher_below, fisher_shared)


def _of_one_output(calibration, values, label) -> _Derivatives:
    """`_derivatives` of one row of two classes; the loss is not needed."""
    value, sign = float(values[0]), 1.0 if label == 1 else -1.0
    scaled = value * (calibration.slope if value >= 0 else calibration.slope_below)
    wrong = _sigmoid(-sign * scaled)
    gradient, fisher = -sign * wrong * scaled, scaled * scaled * wrong * (1.0 - wrong)
    if value >= 0:
        return _Derivatives(gradient, 0.0, fisher, 0.0, 0.0)
    return _Derivatives(0.0, gradient, 0.0, fisher, 0.0)


def _of_one_row(calibration, values, label) -> _Derivatives:
    """`_derivatives` of one row of several classes; the loss is not needed."""
    slope, slope_below = calibration.slope, calibration.slope_below
    above = [slope * max(float(value), 0.0) for value in values]
    below = [slope_below * min(float(value), 0.0) for value in values]
    top = max(max(above), max(below))
    shares = [math.exp(high + low - top) for high, low in zip(above, below, strict=True)]
    total = sum(shares)
    mean = sum(share * high for share, high in zip(shares, above, strict=True)) / total
    mean_below = sum(share * low for share, low in zip(shares, below, strict=True)) / total
    squares = sum(share * high**2 for share, high in zip(shares, above, strict=True)) / total - mean**2
    squares_below = sum(share * low**2 for share, low in zip(shares, below, strict=True)) / total - mean_below**2
    return _Derivatives(mean - above[label], mean_below - below[label], squares, squares_below, -mean * mean_below)


def _sigmoid(value: float) -> float:
    if value >= 0:
        return 1.0 / (1.0 + math.exp(-value))
    share = math.exp(value) if value > -700.0 else 0.0
    return share / (1.0 + share)
