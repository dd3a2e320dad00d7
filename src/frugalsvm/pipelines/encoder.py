"""Columns of text as features: hashed, or one feature for each category of the first rows."""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, hstack, issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from frugalsvm.estimators._validation import check_choice, check_count
from frugalsvm.pipelines.frames import columns_of
from frugalsvm.pipelines.saved import ENCODER
from frugalsvm.pipelines.surprises import Surprises

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
    complete_ : list of str
        Names of the columns in which no value was missing.
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
    complete_: list[str]

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
        self.categories_, self.complete_ = [], []
        for name in self.names_:
            column = _coded(columns[name])
            if column.present.all():
                self.complete_.append(name)
            if self.method == "onehot":
                self.categories_.append(np.unique(column.text[column.present]))
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

    def note_surprises(self, columns: dict[str, Any], surprises: Surprises) -> None:
        """Count what `fit` has not seen: other categories, and values that are missing where there were none."""
        for index, name in enumerate(self.names_):
            column = _coded(columns[name])
            counts = np.bincount(column.codes, minlength=len(column.text))
            if self.method == "onehot":
                unknown = column.present & ~np.isin(column.text, self.categories_[index])
                found = {str(column.text[k]): int(counts[k]) for k in np.flatnonzero(unknown)}
                surprises.note_unknown(name, found)
            if name in getattr(self, "complete_", ()):  # encoders that were saved before do not know
                surprises.note_missing(name, int(counts[~column.present].sum()))

    def _hashed(self, columns):
        from sklearn.feature_extraction import FeatureHasher  # takes a while

        hasher = FeatureHasher(self.n_features, input_type="string", dtype=np.float32)
        total: Any = None
        for name in self.names_:
            column = _coded(columns[name])  # each value is hashed once
            features = hasher.transform([[f"{name}={value}"] for value in column.text]).tocsr()
            features = features.multiply(column.present[:, None]).tocsr()[column.codes]
            total = features if total is None else total + features
        total.eliminate_zeros()
        total.sum_duplicates()
        return total.astype(np.float32)


class _Coded(NamedTuple):
    """A column of text by its distinct values, of which there are few."""

    text: np.ndarray  # the values as text
    present: np.ndarray  # whether each is one: others stand for what is missing
    codes: np.ndarray  # the place of each row's value among them


def _coded(values) -> _Coded:
    values = np.asarray(values, dtype=object)
    if values.ndim != 1:
        raise ValueError(f"A column of text must have one dimension, not {values.ndim}.")
    places: dict[Any, int] = {}
    # 1, 1.0 and True are equal, and have different texts.
    keys = (value if type(value) is str else (type(value), str(value)) for value in values)
    codes = np.array([places.setdefault(key, len(places)) for key in keys], dtype=np.int64)
    first = np.zeros(len(places), np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    distinct = values[first]
    present = np.array([value is not None and _equals_itself(value) for value in distinct], dtype=bool)
    text = [str(value) if there else "" for value, there in zip(distinct, present, strict=True)]
    return _Coded(np.array(text, "U"), present, codes)


def _equals_itself(value) -> bool:
    """Not so for NaN; and that of pandas (NA) does not say."""
    equals = value == value
    return isinstance(equals, bool | np.bool_) and bool(equals)


def _one_hot(values, categories):
    column = _coded(values)
    n_rows = len(column.codes)
    if len(categories) == 0:
        return csr_matrix((n_rows, 0), dtype=np.float32)
    places = np.minimum(np.searchsorted(categories, column.text), len(categories) - 1)
    is_known = (column.present & (categories[places] == column.text))[column.codes]
    indptr = np.concatenate([[0], np.cumsum(is_known)])
    indices = places[column.codes][is_known]
    return csr_matrix((np.ones(indptr[-1], np.float32), indices, indptr), (n_rows, len(categories)))


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
    whole.complete_ = [name for name in first.names_ if all(name in each.complete_ for each in encoders)]
    return whole


def joined(X, encoded: csr_matrix):
    """Numbers and encoded features side by side; dense if the numbers are dense and the features few."""
    encoded = encoded.astype(X.dtype, copy=False)
    if not issparse(X) and encoded.shape[1] <= DENSE_WIDTH:
        return np.ascontiguousarray(np.concatenate([X, encoded.toarray()], axis=1))
    whole = hstack([csr_matrix(X), encoded], format="csr")
    whole.sort_indices()
    return whole
