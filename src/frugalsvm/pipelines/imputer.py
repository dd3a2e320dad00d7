"""Missing numbers of a stream, filled with a statistic of the first rows; and rows filled and scaled block by block.

The only array of the size of all rows is the one that is returned.
"""

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from frugalsvm.compiling.threads import ONE_THREAD, Threads, row_blocks
from frugalsvm.estimators.constraints import check_choice
from frugalsvm.estimators.validation import validated_rows
from frugalsvm.pipelines.saved import FILLER
from frugalsvm.pipelines.statistics import ENOUGH, sample_of
from frugalsvm.pipelines.surprises import Surprises

_BLOCK_VALUES = 2**17  # in float64 they fit into the cache of a core


def _blocks(X: np.ndarray, n_threads: int) -> list[slice]:
    n_rows = max(1, _BLOCK_VALUES // max(1, X.shape[1]))
    return row_blocks(len(X), n_threads, n_rows, n_rows)


def missing_counts(X: np.ndarray) -> np.ndarray:
    """How many values of each column of dense rows are missing."""
    counts = np.zeros(X.shape[1], np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        for block in _blocks(X, 1):
            if np.isnan(X[block].sum()):  # so do infinite values of both signs
                counts += np.isnan(X[block]).sum(axis=0)
    return counts


def prepared_numbers(X: np.ndarray, filler: Any, scaler: Any, dtype: Any = None, threads: Threads = ONE_THREAD) -> Any:
    """Dense rows that were validated, filled and scaled, with indicators of missing values beside them.

    ``dtype`` is that of rows that are scaled, None for that of ``X``. Others keep theirs: they may be too far from zero
    for another. Returns ``X`` itself where nothing is to be done.
    """
    indicated = np.zeros(0, np.int64) if filler is None else filler.indicated_
    if scaler is None and not indicated.size and (filler is None or not missing_counts(X).any()):
        return X
    n_rows, d = X.shape
    out = np.empty((n_rows, d + indicated.size), X.dtype if scaler is None or dtype is None else dtype)

    def write(block: slice) -> None:
        rows = X[block] if filler is None else filler.filled(X[block])
        if scaler is None:
            out[block, :d] = rows
        else:
            scaler.scaled(rows, out[block, :d])
        if indicated.size:
            out[block, d:] = filler.indicators(X[block])

    threads.run(write, _blocks(X, threads.count))
    return out


STRATEGIES = ("mean", "median")


class MissingValueFiller(TransformerMixin, BaseEstimator):
    """Replace NaN in dense rows by the mean or the median of the feature, as the rows of `fit` have it.

    Parameters
    ----------
    strategy : {"mean", "median"}, default="median"
        The median is not moved by a few large values; of very many rows, it is that of a random sample.
    indicator : bool, default=False
        Whether each feature that lacks values in the rows of `fit` gets a further column, after all others: 1 where the
        value is missing, 0 elsewhere. That a value is missing often tells something.

    Attributes
    ----------
    statistics_ : ndarray of shape (n_features,)
        What each feature is filled with, in float64; 0 for one that had no value.
    indicated_ : ndarray of int
        Features that have an indicator.
    complete_ : ndarray of bool of shape (n_features,)
        Features of which no value was missing.
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
    complete_: np.ndarray
    indicated_: np.ndarray = np.zeros(0, np.int64)  # fillers that were saved before there were indicators have none

    _saved = FILLER

    def __init__(self, strategy="median", *, indicator=False):
        self.strategy = strategy
        self.indicator = indicator

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
        X = validated_rows(self, X, reset=True, allow_nan=True, order=None)
        self.statistics_, self.indicated_ = np.zeros(X.shape[1]), np.zeros(0, np.int64)
        self.complete_ = np.ones(X.shape[1], bool)
        if not issparse(X):
            counts = missing_counts(X)
            self.complete_ = counts == 0
            if self.indicator:
                self.indicated_ = np.flatnonzero(counts)
            sample = X if self.strategy == "mean" else sample_of(X)
            for j in np.flatnonzero(counts < len(X)):
                present = _present(sample[:, j])
                if len(present) < ENOUGH and len(sample) < len(X):
                    present = _present(X[:, j])
                self.statistics_[j] = present.mean() if self.strategy == "mean" else np.median(present)
        return self

    def transform(self, X):
        """Rows without NaN.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray or csr_matrix
            The rows themselves where nothing is missing and there are no indicators.
        """
        check_is_fitted(self)
        X = validated_rows(self, X, reset=False, allow_nan=True)
        return X if issparse(X) else prepared_numbers(X, self, None)

    def after(self, X: Any) -> "MissingValueFiller":
        """This filler, or one that knows that values of these rows are missing, too."""
        complete = getattr(self, "complete_", None)  # fillers that were saved before do not know
        if complete is None or issparse(X) or not complete.any():
            return self
        still = complete & (missing_counts(X) == 0)
        if np.array_equal(still, complete):
            return self
        later = copy.copy(self)
        later.complete_ = still
        return later

    def note_surprises(self, X: Any, names: Sequence[str], surprises: Surprises) -> None:
        """Count values that are missing in dense rows, of features that had all their values."""
        complete = getattr(self, "complete_", None)
        if complete is None or issparse(X):
            return
        counts = missing_counts(X)[complete]
        for place, count in zip(np.flatnonzero(complete).tolist(), counts.tolist(), strict=True):
            surprises.note_missing(names[place], count)

    def indicators(self, X: Any) -> np.ndarray:
        """The further columns, for dense rows that were validated and not filled yet."""
        return np.isnan(X[:, self.indicated_]).astype(X.dtype)

    def filled(self, X: Any) -> Any:
        """Rows without NaN, for rows that were validated; those of many blocks are filled by `prepared_numbers`."""
        if issparse(X) or not missing_counts(X).any():
            return X
        return np.where(np.isnan(X), self.statistics_.astype(X.dtype), X)


def _present(values: np.ndarray) -> np.ndarray:
    return values[~np.isnan(values)].astype(np.float64)
