"""Missing numbers of a stream, filled with a statistic of the first rows."""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from frugalsvm.estimators._validation import check_choice, validated_rows
from frugalsvm.pipelines.saved import FILLER

__all__ = ["STRATEGIES", "MissingValueFiller"]

STRATEGIES = ("mean", "median")


class MissingValueFiller(TransformerMixin, BaseEstimator):
    """Replace NaN in dense rows by the mean or the median of the feature, as the rows of `fit` have it.

    Parameters
    ----------
    strategy : {"mean", "median"}, default="median"
        The median is not moved by a few large values.

    Attributes
    ----------
    statistics_ : ndarray of shape (n_features,)
        What each feature is filled with, in float64; 0 for one that had no value.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from frugalsvm.pipelines import MissingValueFiller
    >>> filler = MissingValueFiller().fit([[1.0, np.nan], [3.0, 7.0], [100.0, 9.0]])
    >>> filler.transform([[np.nan, 5.0], [2.0, np.nan]])
    array([[3., 5.],
           [2., 8.]])
    """

    statistics_: np.ndarray

    _saved = FILLER

    def __init__(self, strategy="median"):
        self.strategy = strategy

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def fit(self, X, y=None):
        """Take the statistic of each feature.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Sparse rows are taken to be complete.
        y : None
            Not used.

        Returns
        -------
        self
        """
        check_choice("strategy", self.strategy, STRATEGIES)
        X = validated_rows(self, X, reset=True, allow_nan=True)
        self.statistics_ = np.zeros(X.shape[1])
        if not issparse(X):
            has_values = ~np.isnan(X).all(axis=0)
            statistic = np.nanmean if self.strategy == "mean" else np.nanmedian
            self.statistics_[has_values] = statistic(X[:, has_values].astype(np.float64), axis=0)
        return self

    def transform(self, X):
        """Rows without NaN.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray or csr_matrix
            The rows themselves where nothing is missing.
        """
        check_is_fitted(self)
        return self.filled(validated_rows(self, X, reset=False, allow_nan=True))

    def filled(self, X: Any) -> Any:
        """What `transform` returns, for rows that were validated."""
        if issparse(X) or not np.isnan(X).any():
            return X
        return np.where(np.isnan(X), self.statistics_.astype(X.dtype), X)
