"""Isotonic calibration: the increasing function of decision values that fits the classes of the last rows best.

With one output, it is the probability of the second class, held on the side of one half that is predicted. With
several outputs, it is a function of margins: of how much the decision value of a class is above the largest of the
others. One function for all classes tells how likely a class with a margin is that of a row; the shares of the classes
are what it says, divided by their sum. That keeps the order of the decision values. As in Platt's scaling, no class is
impossible: of n rows without it, it has a share of ``1 / (n + 2)`` at least.

B. Zadrozny, C. Elkan (2002). Transforming classifier scores into accurate multiclass probability estimates. KDD.
"""

from typing import Annotated, NamedTuple

import numpy as np

from frugalsvm._stored import Count, stored, within
from frugalsvm.calibration.agreement import of_several, of_two
from frugalsvm.calibration.platt import PlattCalibration

RESERVOIR = 4096  # rows that the function is fitted to, the last ones; fewer while a model changes much
_SHARE = 16  # it is fitted again when this part of them is new


def _nothing(*shape: int) -> np.ndarray:
    return np.zeros(shape)


@stored("isotonic-calibration", kind="calibration")
class IsotonicCalibration(NamedTuple):
    """The function, linear between knots and constant beyond them, and the rows that it is fitted to next time."""

    knots: Annotated[np.ndarray, "d k"] = _nothing(0)
    levels: Annotated[np.ndarray, "d k"] = _nothing(0)
    values: Annotated[np.ndarray, "d rv"] = _nothing(0, 1)  # decision values of rows, the last ones last
    labels: Annotated[np.ndarray, "i r"] = np.zeros(0, np.int64)
    weights: Annotated[np.ndarray, "d r"] = _nothing(0)
    n_new: Count = 0  # rows since the function was fitted

    @property
    def is_new(self) -> bool:
        """Whether it has not learned anything."""
        return len(self.knots) == 0

    def is_sound(self, sizes) -> bool:
        """Whether the function increases between probabilities, and rows have classes."""
        increases = (np.diff(self.knots) >= 0).all() and (np.diff(self.levels) >= 0).all()
        possible = (self.levels > 0).all() and (self.levels < 1).all() and (self.weights >= 0).all()
        return bool(increases and possible) and within(self.labels, max(2, self.values.shape[1]))

    # --- learning ---------------------------------------------------------------------------------------------

    def updated(self, values, labels, weights=None) -> "IsotonicCalibration":
        """The calibration after rows with these decision values and labels; as that of `PlattCalibration`.

        For two new rows an old one goes: decision values change their scale while a model learns, so that those of the
        first half of all rows say little.
        """
        known = self if self.values.shape[1] == np.shape(values)[1] else self._without_rows(np.shape(values)[1])
        n_more = (known.n_new + len(labels) + 1) // 2 - (known.n_new + 1) // 2
        return known._with_rows(values, labels, weights, min(RESERVOIR, max(1, len(known.labels) + n_more)))

    def _with_rows(self, values, labels, weights, n_kept: int) -> "IsotonicCalibration":
        values = np.asarray(values, np.float64)
        weights = np.ones(len(labels)) if weights is None else np.asarray(weights, np.float64)
        rows = (
            np.concatenate([self.values, values])[-n_kept:],
            np.concatenate([self.labels, labels])[-n_kept:],
            np.concatenate([self.weights, weights])[-n_kept:],
        )
        n_new = self.n_new + len(labels)
        if n_new * _SHARE < len(rows[0]):
            return IsotonicCalibration(self.knots, self.levels, *rows, n_new)
        return IsotonicCalibration(*_fitted(*rows), *rows, 0)

    def updated_by_one(self, values, label: int) -> "IsotonicCalibration":
        """`updated` for one row."""
        return self.updated(np.array(values, np.float64)[None], np.array([label]))

    @classmethod
    def settled(cls, values, labels, weights=None) -> "IsotonicCalibration":
        """The calibration of rows that are all there."""
        return cls()._without_rows(np.shape(values)[1])._with_rows(values, labels, weights, RESERVOIR)

    def _without_rows(self, n_outputs: int) -> "IsotonicCalibration":
        return IsotonicCalibration(self.knots, self.levels, _nothing(0, n_outputs))

    def for_prediction(self) -> "IsotonicCalibration":
        """What predictions need of it."""
        return self._without_rows(self.values.shape[1])

    # --- probabilities ----------------------------------------------------------------------------------------

    def probabilities(self, values) -> np.ndarray:
        """Probabilities of the classes; the class that is predicted has the highest."""
        if self.is_new:
            return PlattCalibration().probabilities(values)
        values = np.asarray(values, np.float64)
        shares = np.interp(_margins(values), self.knots, self.levels)
        return of_two(shares[:, 0], values[:, 0]) if values.shape[1] == 1 else of_several(shares, values)


def _margins(values: np.ndarray) -> np.ndarray:
    """How much each value of a row is above the largest of the others; a single one is its own."""
    if values.shape[1] == 1:
        return values
    two = np.partition(values, -2, axis=1)[:, -2:]
    return values - np.where(values == two[:, 1:], two[:, :1], two[:, 1:])


def _fitted(values, labels, weights) -> tuple[np.ndarray, np.ndarray]:
    """Knots and levels of the function for rows, or those that there are without any weight: none."""
    from scipy.optimize import isotonic_regression  # takes a while

    n_outputs = values.shape[1]
    hits = (labels == 1)[:, None] if n_outputs == 1 else labels[:, None] == np.arange(n_outputs)
    points, places = np.unique(_margins(values), return_inverse=True)  # of equal ones, the mean counts
    of_pairs = np.repeat(weights / max(weights.mean(), 1e-300), n_outputs)
    total = np.bincount(places.ravel(), of_pairs, len(points))
    hit = np.bincount(places.ravel(), of_pairs * hits.ravel(), len(points))
    points, total, hit = (each[total > 0] for each in (points, total, hit))
    if not len(points):
        return _nothing(0), _nothing(0)
    n_hits, n_others = hit.sum(), (total - hit).sum()
    least, most = 1.0 / (n_others + 2.0), (n_hits + 1.0) / (n_hits + 2.0)
    fit = isotonic_regression(hit / total, weights=total)
    ends = np.unique(np.concatenate([fit.blocks[:-1], fit.blocks[1:] - 1]))  # first and last point of each level
    return points[ends], least + (most - least) * np.clip(fit.x[ends], 0.0, 1.0)
