"""Quantiles of regressors: the parameter ``quantile``, predictions that do not cross, and how good they are."""

from typing import Any

import numpy as np

from frugalsvm.estimators._targets import checked_targets, checked_weights
from frugalsvm.lowrank.losses import Pinball
from frugalsvm.lowrank.targets import explained

__all__ = ["PINBALL", "PredictsQuantiles"]

PINBALL = "pinball"  # the loss of quantiles


class PredictsQuantiles:
    """For regressors with the parameters ``loss``, ``quantile`` and ``non_crossing``."""

    loss: str
    quantile: Any
    non_crossing: bool
    _in_columns: bool

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

    def _predictions(self, values: np.ndarray) -> np.ndarray:
        """Predictions from the values of all outputs, which are overwritten."""
        if self.sorts_predictions:
            values[:, np.argsort(self._quantiles, kind="stable")] = np.sort(values, axis=1)
        return values if self._in_columns else values[:, 0]

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
