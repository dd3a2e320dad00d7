"""Running calibration: one slope a > 0 that turns decision values into probabilities, learned test-then-train.

``p = sigmoid(a f)`` with one output, ``p = softmax(a f)`` with several. A slope keeps the order of the decision values,
so that the most probable class is always the predicted one. The logarithm of ``a`` makes Newton steps of online
logistic regression: the gradient of the rows at hand over the Fisher information of those so far, of which old ones are
forgotten slowly, because decision values change their scale while a model learns.
"""

import math
from typing import NamedTuple

import numpy as np

from frugalsvm._stored import NOT_NEGATIVE, stored

__all__ = ["Calibration", "probabilities", "settled", "updated", "updated_by_one"]

MEMORY = 10_000.0  # rows after which a share of 1/e of the information is left
LARGEST_STEP = 0.5  # of log a, for one batch
LARGEST_LOG = 30.0
PASSES = 20


@stored("calibration", ranges={"log_slope": (-LARGEST_LOG, LARGEST_LOG), "information": NOT_NEGATIVE})
class Calibration(NamedTuple):
    """Where the calibration stands."""

    log_slope: float = 0.0  # the logarithm of a
    information: float = 1.0  # what is known of it; at the beginning, that a is around 1

    @property
    def slope(self) -> float:
        """The factor of the decision values."""
        return math.exp(self.log_slope)


def _stepped(calibration: Calibration, gradient: float, fisher: float, n_rows: float) -> Calibration:
    information = calibration.information * math.exp(-n_rows / MEMORY) + fisher
    step = max(-LARGEST_STEP, min(LARGEST_STEP, gradient / max(information, 1e-12)))
    log_slope = max(-LARGEST_LOG, min(LARGEST_LOG, calibration.log_slope - step))
    return Calibration(log_slope, information)


def updated(calibration: Calibration, values, labels, weights=None) -> Calibration:
    """The calibration after rows with these decision values and labels (indices of the classes).

    Parameters
    ----------
    calibration : Calibration
    values : ndarray of shape (n_rows, n_outputs)
    labels : ndarray of int of shape (n_rows,)
    weights : ndarray of shape (n_rows,), default=None

    Returns
    -------
    Calibration
    """
    gradient, fisher = _derivatives(calibration.slope, values, labels, weights)
    return _stepped(calibration, gradient, fisher, float(len(labels) if weights is None else weights.sum()))


def settled(values, labels, weights=None) -> Calibration:
    """The calibration of rows that are all there: steps on them until the slope stays."""
    calibration = Calibration()
    for _ in range(PASSES):
        moved = updated(calibration._replace(information=1.0), values, labels, weights)
        if abs(moved.log_slope - calibration.log_slope) < 1e-6:
            return moved
        calibration = moved
    return calibration


def updated_by_one(calibration: Calibration, values, label: int) -> Calibration:
    """`updated` for one row, by scalars: a tenth of the time."""
    slope = calibration.slope
    if len(values) == 1:
        margin = slope * float(values[0]) * (1.0 if label == 1 else -1.0)
        wrong = _sigmoid(-margin)
        return _stepped(calibration, -margin * wrong, margin * margin * wrong * (1.0 - wrong), 1.0)
    scaled = [slope * float(value) for value in values]
    top = max(scaled)
    shares = [math.exp(value - top) for value in scaled]
    total = sum(shares)
    mean = sum(share * value for share, value in zip(shares, scaled, strict=True)) / total
    spread = sum(share * (value - mean) ** 2 for share, value in zip(shares, scaled, strict=True)) / total
    return _stepped(calibration, mean - scaled[label], spread, 1.0)


def _sigmoid(value: float) -> float:
    if value >= 0:
        return 1.0 / (1.0 + math.exp(-value))
    share = math.exp(value) if value > -700.0 else 0.0
    return share / (1.0 + share)


def _derivatives(slope, values, labels, weights):
    """Gradient of the log loss with respect to log a, and its Fisher information, summed over the rows."""
    scaled = slope * values
    if values.shape[1] == 1:
        margin = np.where(labels == 1, scaled[:, 0], -scaled[:, 0])
        wrong = 0.5 * (1.0 - np.tanh(0.5 * margin))
        gradient, fisher = -margin * wrong, margin**2 * wrong * (1.0 - wrong)
    else:
        shares = _softmax(scaled)
        mean = (shares * scaled).sum(axis=1)
        gradient = mean - scaled[np.arange(len(labels)), labels]
        fisher = (shares * np.square(scaled - mean[:, None])).sum(axis=1)
    if weights is not None:
        gradient, fisher = gradient * weights, fisher * weights
    return float(gradient.sum()), float(fisher.sum())


def _softmax(scaled):
    shares = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def probabilities(calibration: Calibration, values) -> np.ndarray:
    """Probabilities of the classes; the class that is predicted has the highest, by a rounding error at least.

    Parameters
    ----------
    calibration : Calibration
    values : ndarray of shape (n_rows, n_outputs)
        Decision values.

    Returns
    -------
    ndarray of shape (n_rows, n_classes)

    Examples
    --------
    >>> import numpy as np
    >>> from frugalsvm.pipelines.calibration import Calibration, probabilities
    >>> probabilities(Calibration(), np.array([[2.0], [0.0]])).round(3)
    array([[0.119, 0.881],
           [0.5  , 0.5  ]])
    >>> probabilities(Calibration(), np.array([[0.0]])).argmax()  # as in `predict`, zero is the second class
    np.int64(1)
    """
    scaled = calibration.slope * np.asarray(values, np.float64)
    if scaled.shape[1] == 1:
        second = 0.5 * (1.0 + np.tanh(0.5 * scaled[:, 0]))
        is_second = values[:, 0] >= 0
        second = np.where(is_second, np.maximum(second, np.nextafter(0.5, 1)), np.minimum(second, np.nextafter(0.5, 0)))
        return np.stack([1.0 - second, second], axis=1)
    shares = _softmax(scaled)
    rows, winners = np.arange(len(shares)), values.argmax(axis=1)
    highest = shares.max(axis=1)
    tied = (shares == highest[:, None]).sum(axis=1) > 1
    shares[rows[tied], winners[tied]] = np.nextafter(highest[tied], 1)
    return shares
