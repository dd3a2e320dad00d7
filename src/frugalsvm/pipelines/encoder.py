"""Columns of text as features: hashed, or one feature for each category of the first rows."""

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, hstack, issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from frugalsvm.estimators._validation import check_choice, check_count
from frugalsvm.pipelines.frames import columns_of
from frugalsvm.pipelines.saved import ENCODER

__all__ = ["ColumnEncoder", "joined", "joined_encoder"]

METHODS = ("onehot", "hash")
DENSE_WIDTH = 128  # up to so many encoded features, rows of numbers stay dense


class ColumnEncoder(TransformerMixin, BaseEstimator):
    """Turn columns of text into features.

    Parameters
    ----------
    method : {"onehot", "hash"}, default="onehot"
        One feature for each category that `fit` has seen, all zeros for others; or scikit-learn's `FeatureHasher`,
        which needs no categories and has a fixed number of features, in which some categories collide.
    n_features : int, default=256
        Number of features of "hash", for all columns together.

    Attributes
    ----------
    names_ : list of str
        Names of the columns, sorted.
    categories_ : list of ndarray
        For each column the categories seen, sorted; empty with "hash".
    n_encoded_ : int
        Number of features.

    Notes
    -----
    None, NaN and pandas' NA are missing values: all zeros.

    Examples
    --------
    >>> from frugalsvm.pipelines import ColumnEncoder
    >>> encoder = ColumnEncoder().fit({"color": ["red", "blue", "red"]})
    >>> encoder.transform({"color": ["blue", "green"]}).toarray()
    array([[1., 0.],
           [0., 0.]], dtype=float32)
    """

    names_: list[str]
    categories_: list[np.ndarray]

    _saved = ENCODER

    def __init__(self, method="onehot", *, n_features=256):
        self.method = method
        self.n_features = n_features

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.dict = False, True
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        return tags

    def fit(self, columns: Any, y=None):
        """Take the names of the columns and, with "onehot", their categories.

        Parameters
        ----------
        columns : dict of str to array-like of str, or DataFrame
            Columns by name, all of the same length; a DataFrame of pandas or polars is encoded as a whole.
        y : None
            Not used.

        Returns
        -------
        self
        """
        check_choice("method", self.method, METHODS)
        check_count("n_features", self.n_features)
        columns = columns_of(columns)
        if not columns:
            raise ValueError("There are no columns of text to encode.")
        self.names_ = sorted(columns)
        self.categories_ = []
        if self.method == "onehot":
            for name in self.names_:
                text, present = _as_text(columns[name])
                self.categories_.append(np.unique(text[present]))
        return self

    @property
    def n_encoded_(self) -> int:
        """Number of features."""
        check_is_fitted(self, "names_")
        return self.n_features if self.method == "hash" else sum(map(len, self.categories_))

    def transform(self, columns: Any) -> csr_matrix:
        """Features of some rows.

        Parameters
        ----------
        columns : dict of str to array-like of str, or DataFrame

        Returns
        -------
        csr_matrix of float32 of shape (n_rows, n_encoded_)
        """
        check_is_fitted(self, "names_")
        columns = columns_of(columns)
        if sorted(columns) != self.names_:
            raise ValueError(f"The columns of text are {sorted(columns)}, but the encoder knows {self.names_}.")
        if self.method == "hash":
            return self._hashed(columns)
        parts = [_one_hot(columns[n], known) for n, known in zip(self.names_, self.categories_, strict=True)]
        return hstack(parts, format="csr", dtype=np.float32)

    def _hashed(self, columns):
        from sklearn.feature_extraction import FeatureHasher  # takes a while

        hasher = FeatureHasher(self.n_features, input_type="string", dtype=np.float32)
        total: Any = None
        for name in self.names_:
            text, present = _as_text(columns[name])
            values, inverse = np.unique(text, return_inverse=True)  # each value is hashed once
            features = hasher.transform([[f"{name}={value}"] for value in values]).tocsr()[inverse]
            features = features.multiply(present[:, None]).tocsr()
            total = features if total is None else total + features
        total.eliminate_zeros()
        total.sum_duplicates()
        return total.astype(np.float32)


def _as_text(values):
    """An array of str, and which of its values are not missing."""
    values = np.asarray(values, dtype=object)
    if values.ndim != 1:
        raise ValueError(f"A column of text must have one dimension, not {values.ndim}.")
    present = np.array([value is not None and _equals_itself(value) for value in values], dtype=bool)
    return np.array([str(value) if there else "" for value, there in zip(values, present, strict=True)], "U"), present


def _equals_itself(value) -> bool:
    """Not so for NaN; and that of pandas (NA) does not say."""
    equals = value == value
    return isinstance(equals, bool | np.bool_) and bool(equals)


def _one_hot(values, categories):
    text, present = _as_text(values)
    if len(categories) == 0:
        return csr_matrix((len(text), 0), dtype=np.float32)
    indices = np.minimum(np.searchsorted(categories, text), len(categories) - 1)
    known = present & (categories[indices] == text)
    indptr = np.concatenate([[0], np.cumsum(known)])
    return csr_matrix((np.ones(indptr[-1], np.float32), indices[known], indptr), (len(text), len(categories)))


def joined_encoder(encoders: list[ColumnEncoder]) -> ColumnEncoder:
    """An encoder that knows all categories of several, which were fitted on other rows of the same columns."""
    first = encoders[0]
    for other in encoders:
        if other.names_ != first.names_:
            raise ValueError(f"Columns of text are {first.names_} in some rows, and {other.names_} in others.")
    whole = ColumnEncoder(first.method, n_features=first.n_features)
    whole.names_ = first.names_
    whole.categories_ = [
        np.unique(np.concatenate(parts)) for parts in zip(*(each.categories_ for each in encoders), strict=True)
    ]
    return whole


def joined(X, encoded: csr_matrix):
    """Numbers and encoded features side by side; dense if the numbers are dense and the features few."""
    encoded = encoded.astype(X.dtype, copy=False)
    if not issparse(X) and encoded.shape[1] <= DENSE_WIDTH:
        return np.ascontiguousarray(np.concatenate([X, encoded.toarray()], axis=1))
    whole = hstack([csr_matrix(X), encoded], format="csr")
    whole.sort_indices()
    return whole
