"""What estimators learn that are no classifiers: numbers, one or several for each row, their quantiles, or no targets.

Numbers are checked, and put on a scale of their own, so that steps and tolerances suit all of them.
"""

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
from sklearn.base import OutlierMixin, RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_array, check_consistent_length, check_is_fitted

from frugalsvm._locks import shared
from frugalsvm._stored import ABOVE_ZERO, stored
from frugalsvm.arrays.namespace import on_host
from frugalsvm.estimators.kernel_model import Fits, FitsAndFollows
from frugalsvm.estimators.labels import refuse_no_numbers, refuse_no_target
from frugalsvm.estimators.parameters import parameters
from frugalsvm.lowrank.losses import Pinball
from frugalsvm.lowrank.targets import explained

# Sizes of targets that models, their files and exports have room for, in float32 as well
_LARGEST, _SMALLEST = 1e24, 1e-24
_NORMAL_QUARTILES = 1.35  # standard deviations between the quartiles of a normal distribution


@stored("target-scale")
class TargetScale(NamedTuple):
    """Where the targets of each output are, and how far apart: outputs of the model are in these units."""

    center: Annotated[np.ndarray, "d o"]
    spread: Annotated[np.ndarray, "d o", ABOVE_ZERO]

    def standardized(self, targets: np.ndarray) -> np.ndarray:
        """Targets (n, 1) or (n, n_outputs) in units of the model, (n, n_outputs)."""
        return np.ascontiguousarray((targets - self.center) / self.spread)

    def moved(self, shifts: np.ndarray) -> "TargetScale":
        """The scale of outputs that are moved by some amounts, in units of the targets."""
        return self._replace(center=self.center + shifts)

    def of_targets(self, parameters: np.ndarray) -> np.ndarray:
        """Weights and, last, intercepts (n_outputs, d + 1) of a model of standardized targets, for targets as given."""
        found = parameters * self.spread[:, None]
        found[:, -1] += self.center
        return found

    def of_model(self, parameters: np.ndarray) -> np.ndarray:
        """The other way round."""
        found = parameters.copy()
        found[:, -1] -= self.center
        return found / self.spread[:, None]

    @property
    def without_spread(self) -> "TargetScale":
        """For a model whose coefficients are in units of the targets."""
        return TargetScale(self.center.copy(), np.ones_like(self.spread))


def checked_targets(name: str, y: Any, X: Any) -> tuple[np.ndarray, bool]:
    """Finite targets of bearable size as (n, n_targets), and whether they came in columns."""
    refuse_no_target(name, y)
    refuse_no_numbers(y)
    if not _are_plain(y, X):
        y = check_array(on_host(y), ensure_2d=False, dtype=np.float64, input_name="y")
        check_consistent_length(X, y)
        if y.ndim not in (1, 2):
            raise ValueError(f"y has {y.ndim} dimensions: pass a target, or several in columns, for each row.")
    check_target_size(y)
    return y.reshape(len(y), -1), y.ndim == 2


def _are_plain(y: Any, X: Any) -> bool:
    """Whether targets are as they are wanted: scikit-learn takes longer to say so than some rows take to learn."""
    if type(y) is not np.ndarray or y.dtype != np.float64 or y.ndim not in (1, 2) or 0 in y.shape:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return len(y) == getattr(X, "shape", (-1,))[0] and bool(np.isfinite(y.sum()))


def check_target_size(y: np.ndarray) -> None:
    """Refuse targets whose squares no type can carry."""
    sizes = np.abs(y)
    largest = sizes.max(initial=0.0)
    if largest > _LARGEST or 0.0 < largest < _SMALLEST:
        raise ValueError(
            f"y has values up to {largest:.3g} in size, and regression takes {_SMALLEST:g} to {_LARGEST:g}: choose "
            f"another unit, such as y / {10.0 ** np.floor(np.log10(largest)):g}."
        )


def checked_weights(sample_weight: Any, X: Any) -> np.ndarray | None:
    """Weight of every example, or None where all are 1."""
    if sample_weight is None:
        return None
    return _check_sample_weight(on_host(sample_weight), X, dtype=np.float64, ensure_non_negative=True)


def scale_of(targets: np.ndarray, weights: np.ndarray | None, quantiles: np.ndarray | None) -> TargetScale:
    """The scale of the first targets (n, n_targets): their means, or their quantiles; and standard deviations."""
    weights = np.ones(len(targets)) if weights is None or not weights.any() else weights
    # From one of the targets on: a constant is zero then, and an offset takes no digits from what is left.
    distances = targets - targets[0]
    mean = np.average(distances, axis=0, weights=weights)
    spread = np.sqrt(np.average(np.square(distances - mean), axis=0, weights=weights))
    spread = np.where(spread > 0, spread, 1.0)
    if quantiles is None:
        return TargetScale(targets[0] + mean, spread)
    center = _weighted_quantiles(targets[:, 0], weights, quantiles)
    return TargetScale(center, np.repeat(spread, len(quantiles)))


def robust_scale_of(targets: np.ndarray, weights: np.ndarray | None) -> TargetScale:
    """Where the middle of targets (n, n_targets) is, and how far apart half of them are: outliers do not count.

    The center is one of the targets: differences to it are exact, however large an offset is.
    """
    seen = targets if weights is None or not weights.any() else targets[weights > 0]
    center = np.percentile(seen, 50, axis=0, method="lower")
    distances = seen - center
    low, high = np.percentile(distances, [25, 75], axis=0)
    spread = (high - low) / _NORMAL_QUARTILES
    spread = np.where(spread > 0, spread, distances.std(axis=0))
    return TargetScale(center, np.where(spread > 0, spread, 1.0))


def _weighted_quantiles(values: np.ndarray, weights: np.ndarray, quantiles: np.ndarray) -> np.ndarray:
    """For each quantile the smallest value that its share of the weights is not above."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    return values[order[np.minimum(np.searchsorted(below, quantiles * below[-1]), len(values) - 1)]]


class DetectsOutliers(OutlierMixin, Fits):
    """Base of outlier detectors; they define ``decision_function`` and ``score_samples``.

    Attributes
    ----------
    offset_ : float
        Rows with scores below are outliers: ``decision_function(X) = score_samples(X) - offset_``.
    """

    def fit(self, X, y=None, sample_weight=None):
        """Learn from all rows.

        Ctrl-C leaves the model that was there before.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : object
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; rows of weight 0 are ignored.

        Returns
        -------
        self
        """
        return super().fit(X, y, sample_weight)

    def _choose(self, X, targets, weights, *, whole):
        self._chosen = None  # there is nothing to choose by

    @shared
    def predict(self, X):
        """-1 for outliers among the rows of ``X``, +1 for the others."""
        return np.where(self.decision_function(X) >= 0.0, 1, -1)


PINBALL = "pinball"  # the loss of quantiles


@parameters
class PredictsNumbers(RegressorMixin, FitsAndFollows):
    """Base of regressors with the parameters ``loss``, ``quantile`` and ``non_crossing``.

    They define ``_n_known`` (outputs of the model), ``_unsorted`` (the outputs of rows, in units of the target) and
    ``_move_outputs`` (by an amount for each).

    Parameters
    ----------
    quantile : float or sequence of float
        For ``loss="pinball"``: one, or several at once; then predictions have a column for each.
    non_crossing : bool
        Whether to sort the predicted quantiles of each row. They are learned side by side, and may be in the wrong
        order where rows are few; sorted ones are never farther from the truth (Chernozhukov et al. 2010).
    """

    quantile: float | Sequence[float] = 0.5
    non_crossing: Any = False
    _in_columns = False  # whether predictions have columns, as the targets or quantiles had

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self.loss != PINBALL
        return tags

    # --- learning -----------------------------------------------------------------------------------------

    def partial_fit(self, X, y, sample_weight=None):
        """Learn from a batch of rows, in the given order, once.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self
        """
        return self._partial_fit(X, y, sample_weight)

    def _examples_of(self, X, y, sample_weight, *, first):
        """Rows, targets (n, n_targets) in float64, and weights or None."""
        if y is None:
            checked_targets(type(self).__name__, y, X)  # which says so
        X = self._new_rows(X, self._first_dtype) if first else self._known_rows(X, self._dtype)
        return X, *self._numbers(y, sample_weight, X, first=first)

    def _numbers(self, y, sample_weight, X, *, first):
        targets, in_columns = checked_targets(type(self).__name__, y, X)
        n_outputs = targets.shape[1]
        if self.loss == PINBALL:
            if n_outputs > 1:
                raise ValueError(f"loss='pinball' is for one target, but y has {n_outputs} columns.")
            n_outputs, in_columns = len(self._quantiles), np.ndim(self.quantile) == 1
        if first:
            self._in_columns = bool(in_columns)
        elif n_outputs != self._n_known:
            raise ValueError(f"The model has {self._n_known} outputs, but the targets and parameters need {n_outputs}.")
        return targets, checked_weights(sample_weight, X)

    # --- quantiles ----------------------------------------------------------------------------------------

    @property
    def _quantiles(self) -> np.ndarray:
        """The quantiles; none where the parameter is neither a number nor a sequence of numbers."""
        try:
            quantiles = np.atleast_1d(np.asarray(self.quantile, np.float64))
        except (TypeError, ValueError):
            return np.empty(0)
        return quantiles if quantiles.ndim == 1 else np.empty(0)

    @property
    def _has_quantiles(self) -> bool:
        """Whether there are some, all between 0 and 1."""
        quantiles = self._quantiles
        return bool(len(quantiles) and ((quantiles > 0) & (quantiles < 1)).all())

    @property
    def sorts_predictions(self) -> bool:
        """Whether predicted quantiles are sorted after the kernel expansion."""
        return bool(self.non_crossing) and self.loss == PINBALL and len(self._quantiles) > 1

    @property
    def quantile_order(self) -> np.ndarray:
        """The outputs in the order of the quantiles that they are."""
        return np.argsort(self._quantiles, kind="stable")

    def _predictions(self, values: np.ndarray) -> np.ndarray:
        """Predictions from the values of all outputs, which are overwritten."""
        if self.sorts_predictions:
            values[:, self.quantile_order] = np.sort(values, axis=1)
        return values if self._in_columns else values[:, 0]

    def adjust_quantiles(self, X, y, sample_weight=None):
        """Move each predicted quantile by a constant, so that its share of these rows is below it.

        With rows that were not learned, the quantiles then hold for others like them (conformalized quantile
        regression). `fit` does this by itself; after `partial_fit`, steps of the last rows show in quantiles. For a
        stream that changes, see `frugalsvm.conformal.ConformalRegressor`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Some hundred rows at least.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if self.loss != PINBALL:
            raise ValueError(f"adjust_quantiles is for loss='pinball', not for loss={self.loss!r}.")
        outputs = self._unsorted(X)
        targets, _ = checked_targets(type(self).__name__, y, outputs)
        self._move_outputs(self._shifts(targets - outputs, checked_weights(sample_weight, outputs)))
        return self

    def _shifts(self, errors: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """By how much outputs are too low, for errors (n, n_outputs): their quantiles become zero then."""
        weights = np.ones(len(errors)) if weights is None or not weights.any() else weights
        each = zip(errors.T, self._quantiles[:, None], strict=True)
        return np.array([_weighted_quantiles(error, weights, quantile)[0] for error, quantile in each])

    def score(self, X, y, sample_weight=None):
        """R^2, in the mean over targets; with quantiles D^2, the share of the pinball loss that the model saves.

        1 is best, and 0 is what the mean, or the quantile, of ``y`` gets.
        """
        if self.loss != PINBALL:
            return super().score(X, y, sample_weight)  # type: ignore[misc]
        predicted = self.predict(X)  # type: ignore[attr-defined]
        predicted = predicted.reshape(len(predicted), -1)
        targets, _ = checked_targets(type(self).__name__, y, predicted)
        weights = checked_weights(sample_weight, predicted)
        weights = np.ones(len(predicted)) if weights is None else weights
        return explained(
            Pinball(self._quantiles), predicted.T, np.repeat(targets.T, predicted.shape[1], axis=0), weights
        )
