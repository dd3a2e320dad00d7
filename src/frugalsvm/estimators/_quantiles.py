"""Quantiles of regressors: the parameter ``quantile``, predictions that hold and do not cross, and their score."""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from frugalsvm.estimators.protocol import FitsAndFollows
from frugalsvm.estimators.targets import checked_targets, checked_weights, weighted_quantiles
from frugalsvm.lowrank.losses import Pinball
from frugalsvm.lowrank.targets import explained

__all__ = ["PINBALL", "PredictsNumbers"]

PINBALL = "pinball"  # the loss of quantiles


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

    loss: str
    quantile: Any
    non_crossing: bool
    _in_columns: bool  # whether predictions have columns, as the targets or quantiles had
    _unsorted: Any
    _move_outputs: Any

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
        return np.array([weighted_quantiles(error, weights, quantile)[0] for error, quantile in each])

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
