"""Standardising features of a stream: running means and variances, which are frozen before a kernel sees them."""

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from frugalsvm.estimators._validation import validated_rows

__all__ = ["StreamingScaler"]

BLOCK_ROWS = 2**14  # rows that are scaled at a time in float64: no large temporary arrays


class StreamingScaler(TransformerMixin, BaseEstimator):
    """Scale features to mean 0 and variance 1, with statistics that are gathered batch by batch.

    Sparse rows keep their zeros: they are divided by the standard deviation, and not centred. Whether features are
    centred is decided by the first batch; sparse rows that come to a scaler that centres become dense. Features that
    were constant get the scale 1.

    Attributes
    ----------
    mean_, var_, scale_ : ndarray of shape (n_features,)
        Statistics so far, in float64; ``scale_`` is the square root of ``var_``, or 1.
    n_seen_ : int
        Number of rows that they were taken from.
    centres_ : bool
        Whether the mean is subtracted.
    frozen_ : bool
        Whether `freeze` was called.
    n_features_in_ : int

    Notes
    -----
    Values are computed in float64 and rounded once: float32 in, float32 out.

    Examples
    --------
    >>> import numpy as np
    >>> from frugalsvm.pipelines import StreamingScaler
    >>> scaler = StreamingScaler().partial_fit([[1.0, 5.0], [3.0, 5.0]]).partial_fit([[5.0, 5.0]])
    >>> scaler.mean_, scaler.scale_.round(3)
    (array([3., 5.]), array([1.633, 1.   ]))
    >>> scaler.freeze().transform([[3.0, 6.0]])
    array([[0., 1.]])
    """

    mean_: np.ndarray
    var_: np.ndarray
    scale_: np.ndarray
    n_seen_: int
    centres_: bool
    frozen_: bool

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X, y=None):
        """Take the statistics from all rows of ``X``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : None
            Not used.

        Returns
        -------
        self
        """
        for name in ("mean_", "var_", "scale_", "n_seen_", "centres_", "frozen_"):
            self.__dict__.pop(name, None)
        return self.partial_fit(X)

    def partial_fit(self, X, y=None):
        """Take the rows of a batch into the statistics.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : None
            Not used.

        Returns
        -------
        self
        """
        first = not hasattr(self, "n_seen_")
        if not first and self.frozen_:
            raise ValueError("The scaler is frozen: models were learned with its statistics, which must stay.")
        X = validated_rows(self, X, reset=first)
        if first:
            self.n_seen_, self.centres_, self.frozen_ = 0, not issparse(X), False
            self.mean_, self.var_ = np.zeros(X.shape[1]), np.zeros(X.shape[1])
        self._merge(X.shape[0], *_moments(X))
        return self

    def _merge(self, n, mean, var):
        """Join the statistics of two sets of rows (Chan, Golub & LeVeque 1979)."""
        total = self.n_seen_ + n
        shift = mean - self.mean_
        self.var_ = (self.n_seen_ * self.var_ + n * var + shift**2 * (self.n_seen_ * n / total)) / total
        self.mean_ = self.mean_ + shift * (n / total)
        self.n_seen_ = total
        # A variance that rounding alone can make is none (the bound that scikit-learn uses).
        eps = np.finfo(np.float64).eps
        constant = self.var_ <= total * eps * self.var_ + (total * self.mean_ * eps) ** 2
        self.scale_ = np.where(constant, 1.0, np.sqrt(self.var_))

    def freeze(self):
        """Allow no further `partial_fit`.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        self.frozen_ = True
        return self

    def transform(self, X):
        """Scale rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray or csr_matrix
            Of the same type, float32 or float64.
        """
        check_is_fitted(self)
        X = validated_rows(self, X, reset=False)
        return self.scaled(X)

    def scaled(self, X: Any) -> Any:
        """What `transform` returns, for rows that were validated."""
        if issparse(X):
            if self.centres_:
                return self.scaled(X.toarray())
            with np.errstate(over="ignore"):
                data = (X.data / self.scale_[X.indices]).astype(X.dtype, copy=False)
            return csr_matrix((data, X.indices, X.indptr), X.shape)
        out = np.empty_like(X)
        mean = self.mean_ if self.centres_ else np.zeros_like(self.mean_)
        with np.errstate(over="ignore"):  # what overflows is refused as infinite by the estimator
            for start in range(0, X.shape[0], BLOCK_ROWS):
                part = slice(start, start + BLOCK_ROWS)
                np.divide(X[part] - mean, self.scale_, out=out[part], casting="unsafe")
        return out


def _moments(X):
    """Mean and variance of every feature, in float64."""
    if not issparse(X):
        mean = X.mean(axis=0, dtype=np.float64)
        return mean, X.var(axis=0, dtype=np.float64, mean=mean[None])
    n, d = X.shape
    data = X.data.astype(np.float64, copy=False)
    mean = np.bincount(X.indices, data, d) / n
    n_stored = np.bincount(X.indices, minlength=d)
    squares = np.bincount(X.indices, np.square(data - mean[X.indices]), d)
    return mean, (squares + (n - n_stored) * mean**2) / n
