"""Predictions of a fitted estimator for rows on many machines: Dask arrays, which nothing has computed yet."""

from copy import deepcopy
from functools import partial
from typing import Any

import dask.array as da
import numpy as np
from dask import delayed
from sklearn.base import BaseEstimator, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from frugalsvm.dask._collections import as_array, sources_of


def _offered(name: str):
    """Where the estimator that predicts has a method; otherwise it says why not."""
    return available_if(lambda estimator: getattr(estimator._predictor(), name) is not None)


class LazyPredictions(BaseEstimator):
    """Base of estimators that predict partition by partition, with ``_local``: an estimator that needs no Dask.

    Subclasses define ``_predictor()``, an estimator that has the same methods for predictions, fitted or not.
    """

    _local: Any
    _predictor: Any

    def __sklearn_tags__(self):
        return get_tags(self._predictor())

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_local")

    def to_local(self):
        """The ordinary estimator or pipeline, which needs no Dask: to predict, to save, to continue learning.

        Returns
        -------
        estimator
        """
        check_is_fitted(self)
        return deepcopy(self._local)

    def _sent(self, function: Any) -> Any:
        """A function that has the model, as one that is delayed; it travels inside each task."""
        return delayed(function, pure=False)

    def _lazy(self, method: str, X: Any) -> da.Array:
        check_is_fitted(self)
        function = _Predicting(self._local, method)
        return as_array(self._sent(function), X, function.of_no_rows())

    def predict(self, X):
        """Predicted class or values of each row, or whether it is an outlier (-1) or not (+1).

        Parameters
        ----------
        X : Dask array, Dask data frame, or list of delayed objects or futures

        Returns
        -------
        Dask array
            Not computed yet; a chunk for each partition. Several targets or quantiles are in columns.
        """
        return self._lazy("predict", X)

    @_offered("decision_function")
    def decision_function(self, X):
        """Decision values of each row, one or as many as there are classes; below zero for outliers.

        Parameters
        ----------
        X : Dask array, Dask data frame, or list of delayed objects or futures

        Returns
        -------
        Dask array
            Not computed yet; a chunk for each partition.
        """
        return self._lazy("decision_function", X)

    @_offered("score_samples")
    def score_samples(self, X):
        """Scores of the rows, the lower, the more unusual: a Dask array, not computed yet."""
        return self._lazy("score_samples", X)

    @_offered("predict_proba")
    def predict_proba(self, X):
        """Probabilities of the classes, if ``calibrate`` is set; the highest is that of the predicted class.

        Parameters
        ----------
        X : Dask array, Dask data frame, or list of delayed objects or futures

        Returns
        -------
        Dask array of shape (n_samples, n_classes)
            Not computed yet; a chunk for each partition, and columns in the order of ``classes_``.
        """
        return self._lazy("predict_proba", X)

    @_offered("score")
    def score(self, X, y, sample_weight=None):
        """Accuracy of a classifier; R^2 of a regressor or, with quantiles, D^2, for which predictions are collected.

        Parameters
        ----------
        X, y, sample_weight : Dask arrays, Dask data frames, or lists of delayed objects or futures

        Returns
        -------
        Dask array of no dimensions
            Not computed yet: ``float()`` does that, and so does every comparison.
        """
        check_is_fitted(self)
        of_numbers = is_regressor(self)
        judge = self._sent(partial(_judged, self._local, of_numbers))
        judged = [judge(*source) for source in sources_of(X, y, sample_weight, in_columns=of_numbers)]
        whole = self._sent(partial(_quality, self._local)) if of_numbers else delayed(_accuracy, pure=False)
        return da.from_delayed(whole(judged), shape=(), dtype=np.float64)


class _Predicting:
    """A method of an estimator as a function of a partition; the estimator travels with it."""

    def __init__(self, estimator: Any, method: str):
        self._estimator, self._method = estimator, method
        self.__name__ = method

    def __call__(self, X: Any) -> np.ndarray:
        if not X.shape[0]:  # nothing can be predicted, but the type must be right
            return self.of_no_rows()
        return getattr(self._estimator, self._method)(X)

    def of_no_rows(self) -> np.ndarray:
        """What there is to tell of no rows, with the right type and columns."""
        if not hasattr(self._estimator, "classes_"):
            model = getattr(self._estimator, "estimator_", self._estimator)  # that in a pipeline
            return getattr(model, self._method)(np.zeros((1, model.n_features_in_)))[:0]
        n_classes = len(self._estimator.classes_)
        if self._method == "predict":
            return self._estimator.classes_[:0]
        return np.zeros(0 if n_classes == 2 and self._method == "decision_function" else (0, n_classes))


def _judged(estimator: Any, of_numbers: bool, number: int, X: Any, y: Any, weight: Any) -> tuple:
    """Targets, predictions and weights of a partition; of classes, the weights of correct predictions and of all."""
    y = np.asarray(y, np.float64) if of_numbers else np.asarray(y).ravel()
    if X.shape[0] != len(y):
        named = "targets" if of_numbers else "labels"
        raise ValueError(f"Partition {number}: there are {X.shape[0]} rows, but {len(y)} {named}.")
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, np.float64).ravel()
    predicted = _Predicting(estimator, "predict")(X)
    if not of_numbers:
        return float(weight[predicted == y].sum()), float(weight.sum())
    predicted = predicted.reshape(len(y), -1)
    return np.broadcast_to(y.reshape(len(y), -1), predicted.shape), predicted, weight


def _quality(estimator: Any, judged: list[tuple]) -> np.ndarray:
    targets, predicted, weights = (np.concatenate(parts) for parts in zip(*judged, strict=True))
    if not weights.any():
        raise ValueError("There are no rows with a weight: a score needs some.")
    model = getattr(estimator, "estimator_", estimator)  # that in a pipeline
    return np.array(model.quality(predicted.T, targets.T, weights))


def _accuracy(judged: list[tuple]) -> np.ndarray:
    correct, total = (sum(values) for values in zip(*judged, strict=True))
    if not total > 0:
        raise ValueError("There are no rows with a weight: an accuracy needs some.")
    return np.array(correct / total)
