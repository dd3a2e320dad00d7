"""Scaling features of a stream: robust statistics, which are frozen before a kernel sees them, and clipping."""

import copy
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from frugalsvm._locks import ThreadSafe, exclusive
from frugalsvm.core.moments import Moments, joined_moments, moments_of
from frugalsvm.estimators.constraints import check_choice, check_positive
from frugalsvm.estimators.validation import validated_rows
from frugalsvm.pipelines.sampling import RowSample, sampled
from frugalsvm.pipelines.saved import SCALER
from frugalsvm.pipelines.sketch import QuantileSketch, new_sketch, sketch_after, weighted_values
from frugalsvm.pipelines.statistics import (
    Statistics,
    clip,
    robust_statistics,
    standard_statistics,
    symmetric_statistics,
    widths_of_rare,
)
from frugalsvm.pipelines.watching import WatchesRanges, new_watch, watch_of_all

METHODS = ("robust", "symmetric", "standard")
ROWS_AT_A_TIME = 2**14  # rows that are scaled at a time in float64: no large temporary arrays
_ROBUST = ("median_", "scale_", "limit_", "constant_")
_NEXT_TO_NOTHING = 1e-30  # scales; its square is 0 in float32, and not a subnormal number
_FITTED = (*_ROBUST, "mean_", "var_", "n_seen_", "centres_", "frozen_")


class StreamingScaler(WatchesRanges, OneToOneFeatureMixin, TransformerMixin, ThreadSafe, BaseEstimator):
    """Scale features to center 0 and spread 1, and clip what is far outside.

    Sparse rows keep their zeros: they are divided by the scale, and not centered. Whether features are centered is
    decided by the first batch; sparse rows that come to a scaler that centers become dense. Features that were constant
    get the scale 1.

    Parameters
    ----------
    method : {"robust", "symmetric", "standard"}, default="robust"
        "robust" takes the median as the center, and as the scale a standard deviation in which large distances are cut
        off: a few wild values do not change them. "symmetric" does so too, but bends features with a long tail on one
        side, such as incomes or counts, about as their logarithm would; for dense rows and kernels of differences,
        with ``soft_clip=True``. Bent features do not have the center 0, and are not watched (see Notes).
        "standard" takes mean and standard deviation of all values.
    clip : float or None, default=3.0
        Values farther from the center than this many scales are moved to that distance, so that one of them cannot
        dominate a row. With "robust", the rare values of features that are mostly constant are not. None clips nothing.
    soft_clip : bool, default=False
        Whether values approach that distance instead: up to two thirds of it they stay as they are, and beyond, larger
        ones stay larger; so do the rare values of features that are mostly constant.
    renew : bool, default=True
        Whether a `StreamPipeline` takes new statistics of a feature that has left its range for long, see Notes.
    half_life : float or None, default=None
        For streams that change: in a `StreamPipeline`, the statistics of every block of rows (see Notes) are joined
        with those before, which count half after this many rows. Support vectors stay as they are: choose it for
        estimators that forget (``BSGDClassifier(half_life="auto")``). For dense rows, with ``clip``.

    Attributes
    ----------
    center_ : ndarray of shape (n_features,)
        What is subtracted: ``median_`` or ``mean_``.
    scale_ : ndarray of shape (n_features,)
        What is divided by.
    limit_ : ndarray of shape (n_features,) or None
        The largest distance from the center.
    median_, mean_, var_ : ndarray of shape (n_features,)
        With "robust" the medians, with "standard" means and variances.
    constant_ : ndarray of bool of shape (n_features,)
        Which features had one value only.
    n_seen_ : int
        Number of rows that the statistics were taken from.
    centres_ : bool
        Whether the center is subtracted.
    frozen_ : bool
        Whether `freeze` was called.
    n_features_in_ : int

    Notes
    -----
    Values are computed in float64 and rounded once: float32 in, float32 out.

    `fit` takes robust statistics from all rows, or where dense rows have more than two million values from a random
    sample of as many, and of at least 16 384 rows. `partial_fit` takes them from all rows of the stream while there are
    fewer than 4 096, and then from a sketch: a few thousand values of each feature, with ranks that are wrong by some
    0.15 % of all rows. For sparse rows it is a random sample of 10 000. Neither depends on the sizes of the batches.

    In a `StreamPipeline` the statistics are those of the warm-up. Dense rows that are learned are watched, in blocks of
    as many rows (100 at least, 1 000 at most). A feature is outside in a block if more than half of its values are
    clipped, or, if it was constant, if more than a tenth of its values are others. A feature that is outside in two
    blocks in a row gets new statistics, from the second one, with a warning. The next time it takes three blocks, then
    five, nine and so on: features that only grow, such as dates, stay at their limit in the end, and do no harm there.
    Support vectors are not changed: the model sees the feature as if it had its old center and scale again. With
    ``renew=False`` there is a warning only.

    Examples
    --------
    >>> import numpy as np
    >>> from frugalsvm.pipelines import StreamingScaler
    >>> scaler = StreamingScaler(method="standard").partial_fit([[1.0, 5.0], [3.0, 5.0]]).partial_fit([[5.0, 5.0]])
    >>> scaler.center_, scaler.scale_.round(3)
    (array([3., 5.]), array([1.633, 1.   ]))
    >>> scaler.freeze().transform([[3.0, 6.0]])
    array([[0., 1.]])

    A wild value moves neither center nor scale by much, and is clipped:

    >>> scaler = StreamingScaler().fit([[1.0], [2.0], [3.0], [4.0], [5.0], [1e6]])
    >>> scaler.center_
    array([3.5])
    >>> scaler.transform([[3.5], [1e6]]).round(2)
    array([[0.],
           [3.]])
    """

    mean_: np.ndarray
    var_: np.ndarray
    n_seen_: int
    centres_: bool
    frozen_: bool
    _sample: RowSample | None = None
    _sketch: QuantileSketch | None = None

    _saved = SCALER

    def __init__(self, method="robust", *, clip: float | None = 3.0, soft_clip=False, renew=True, half_life=None):
        self.method = method
        self.clip = clip
        self.soft_clip = soft_clip
        self.renew = renew
        self.half_life = half_life

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self):
        return hasattr(self, "n_seen_")

    # --- statistics ----------------------------------------------------------------------------------------

    # Robust ones of a stream are taken when somebody asks for them, not after each of many small batches.

    @property
    def center_(self) -> np.ndarray:
        """What is subtracted."""
        return self.median_ if self._streams or "median_" in vars(self) else self.mean_

    @cached_property
    def median_(self) -> np.ndarray:
        """The median of each feature."""
        return self._streamed().center

    @cached_property
    def scale_(self) -> np.ndarray:
        """What is divided by."""
        return self._streamed().scale

    @cached_property
    def limit_(self) -> np.ndarray | None:
        """The largest distance from the center; scalers that were saved before there were limits have none."""
        return self._streamed().limit if self._streams else None

    @cached_property
    def constant_(self) -> np.ndarray | None:
        """Which features had one value only."""
        return self._streamed().constant if self._streams else None

    @property
    def _streams(self) -> bool:
        return self._sketch is not None or self._sample is not None

    @property
    def _is_robust(self) -> bool:
        return self.method != "standard"

    def _robust(self, X, weights=None) -> Statistics:
        found = robust_statistics(X, self.clip, weights, is_soft=self.soft_clip)
        return symmetric_statistics(X, found, weights) if self.method == "symmetric" and self.centres_ else found

    def _streamed(self) -> Statistics:
        """Robust statistics of the rows so far, which are published."""
        if self._sketch is not None:
            values, weights = weighted_values(self._sketch)
            statistics = self._robust(values.T, weights if self._sketch.n_blocks else None)
        elif self._sample is not None:
            statistics = self._robust(self._sample.rows)
        else:
            raise AttributeError(f"This {type(self).__name__} has no such statistics.")
        self.__dict__.update(zip(_ROBUST, statistics, strict=True))
        return statistics

    def _check_params(self):
        check_choice("method", self.method, METHODS)
        if self.clip is not None:
            check_positive("clip", self.clip)
        elif self.soft_clip:
            raise ValueError("soft_clip=True needs a limit: clip must be a positive number, not None.")
        elif self.half_life is not None:
            raise ValueError("half_life needs a limit: clip must be a positive number, not None.")
        if self.method == "symmetric" and not self.soft_clip:
            raise ValueError("method='symmetric' bends features by soft clipping: it needs soft_clip=True.")
        if self.method == "symmetric" and self.half_life is not None:
            raise ValueError("method='symmetric' has statistics that stay: half_life must be None.")
        if self.half_life is not None:
            check_positive("half_life", self.half_life)

    @exclusive
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
        self._check_params()
        X = validated_rows(self, X, reset=True, order=None)
        self._begin(X)
        if self._is_robust:
            self.n_seen_ = X.shape[0]
            self._publish(self._robust(X))
        else:
            self._take_moments(X)
        return self

    @exclusive
    def partial_fit(self, X, y=None):
        """Take the rows of a batch into the statistics.

        Robust statistics of `fit` cannot be updated: those of the rows that come here then take their place.

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
        self._check_params()
        X = validated_rows(self, X, reset=first)
        if first or (self._is_robust and not self._streams):
            self._begin(X)
        if self._is_robust:
            self.n_seen_ += X.shape[0]
            self._take_rows(X)
        else:
            self._take_moments(X)
        return self

    def _take_rows(self, X):
        """Take rows into what robust statistics are made from.

        A sample of sparse rows takes memory for the values that they have, and a sketch for all features. Scalers that
        were saved before there were sketches go on with the sample that they have.
        """
        X = (X.toarray() if issparse(X) else X) if self.centres_ else csr_matrix(X)
        if not self.centres_ or self._sample is not None:
            self._sample = sampled(self._sample, X)
        else:
            self._sketch = sketch_after(self._sketch or new_sketch(X.shape[1], X.dtype), X)
        for name in _ROBUST:
            self.__dict__.pop(name, None)

    def _begin(self, X):
        for name in (*_FITTED, "_watch", "_sample", "_sketch"):
            self.__dict__.pop(name, None)
        self.n_seen_, self.centres_, self.frozen_ = 0, not issparse(X), False

    def _take_moments(self, X):
        moments = moments_of(X)
        if self.n_seen_:
            moments = joined_moments(Moments(self.n_seen_, self.mean_, self.var_), moments)
        self.n_seen_, self.var_ = moments.n_rows, moments.var
        self._publish(standard_statistics(moments, self.clip))

    def _publish(self, statistics: Statistics):
        setattr(self, "median_" if self._is_robust else "mean_", statistics.center)
        self.scale_, self.limit_, self.constant_ = statistics[1:]

    @exclusive
    def freeze(self):
        """Allow no further `partial_fit`.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if self._streams:
            self._streamed()
        self.frozen_ = True
        for name in ("_sample", "_sketch"):
            self.__dict__.pop(name, None)
        is_watched = self.centres_ and self.limit_ is not None and self.constant_ is not None
        if is_watched and self.method != "symmetric":  # of a bent feature, most values are beyond the knee
            self._watch = new_watch(len(self.scale_), self.n_seen_)
            if self.half_life is not None:
                block_rows = self._watch.block_rows
                n_blocks = np.full(len(self.scale_), max(1, round(self.n_seen_ / block_rows)))
                self._watch = watch_of_all(n_blocks, block_rows)
        return self

    def made_symmetric(self, X: np.ndarray) -> "StreamingScaler":
        """This robust scaler with ``method="symmetric"``, for the validated dense rows that it was fitted to."""
        made = copy.copy(self).set_params(method="symmetric")
        made._watch = None
        made._publish(symmetric_statistics(X, self.statistics))
        return made

    def hold_constant(self):
        """Leave features that were constant where they were, whatever comes: nothing was learned of other values."""
        if self.limit_ is not None:
            self.limit_ = np.where(self.statistics.constant, _NEXT_TO_NOTHING, self.limit_)

    def widen_rare(self, X: np.ndarray):
        """Scale features as if a few more rows had their rare values, for the dense rows that this was fitted to.

        A one in three hundred zeros is five scales away, farther than all else, and says what one row says.
        """
        if self.centres_:
            self.scale_ = np.where(self.statistics.constant, 1.0, self.scale_ * widths_of_rare(X, self.center_))

    # --- scaling -------------------------------------------------------------------------------------------

    @exclusive
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

    def scaled(self, X: Any, out: np.ndarray | None = None) -> Any:
        """What `transform` returns, for rows that were validated; dense ones may have a place, ``out``, of any type."""
        if issparse(X):
            if self.centres_:
                return self.scaled(X.toarray())
            limit = None if self.limit_ is None else self.limit_[X.indices]
            data = _scaled(X.data.astype(np.float64), limit, self.scale_[X.indices], is_soft=self.soft_clip)
            return csr_matrix((data.astype(X.dtype, copy=False), X.indices, X.indptr), X.shape)
        out = np.empty_like(X) if out is None else out
        center = self.center_ if self.centres_ else np.zeros_like(self.scale_)
        for start in range(0, X.shape[0], ROWS_AT_A_TIME):
            part = slice(start, start + ROWS_AT_A_TIME)
            with np.errstate(over="ignore"):  # what overflows is clipped, or refused as infinite by the estimator
                out[part] = _scaled(X[part] - center, self.limit_, self.scale_, is_soft=self.soft_clip)
        return out


def _scaled(distance, limit, scale, *, is_soft):
    """Clipped and divided, in place."""
    if limit is not None:
        clip(distance, limit, is_soft=is_soft)
    with np.errstate(over="ignore"):
        return np.divide(distance, scale, out=distance)
