"""Labeled rows on their way to a model: numbers, columns of text, labels, weights."""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.utils.validation import column_or_1d

from frugalsvm._stored import is_finite, is_matrix, stored
from frugalsvm.estimators.labels import classes_in, refuse_no_numbers, refuse_no_target
from frugalsvm.estimators.targets import check_target_size
from frugalsvm.estimators.validation import validated_rows
from frugalsvm.pipelines.frames import FrameColumns, check_names, is_frame, kinds_to_learn, split_frame


@stored("rows", checked_within=("X", "columns", "y", "weights"))
class LabeledRows(NamedTuple):
    X: Any  # array or CSR matrix
    columns: Any  # of text, by name; or the features that they have become, of rows that are learned from; or None
    y: np.ndarray  # labels, or targets, which may have columns; zeros for detectors, which learn without
    weights: np.ndarray | None

    def is_sound(self, sizes) -> bool:
        """Whether there is a target, and a weight if there are any, for each row."""
        X, columns, y, weights = self
        sizes["f"] = X.shape[1]
        if not isinstance(columns, dict | None):
            return False
        right = is_matrix(X) and X.shape[0] > 0 and type(y) is np.ndarray and y.dtype.kind in "biufUO"
        right = right and is_finite(y) and (weights is None or (is_finite(weights) and bool((weights >= 0).all())))
        right = right and (y.ndim == 1 or (y.ndim == 2 and y.shape[1] > 0 and y.dtype.kind == "f"))
        others = [y if y.ndim == 1 else y[:, 0], *(columns or {}).values(), *([] if weights is None else [weights])]
        return right and all(type(each) is np.ndarray and each.shape == (X.shape[0],) for each in others)


def is_pair(X) -> bool:
    """Whether rows are a pair of numbers and of columns of text by name."""
    return isinstance(X, tuple) and len(X) == 2 and isinstance(X[1], dict)


def split_input(X, *, encodes: bool, known: FrameColumns | None = None):
    """The numbers and the columns of text of what a user passed; those of a frame by name, where these are known."""
    if not encodes:
        return X, None
    if is_frame(X):
        names = [str(name) for name in X.columns]
        check_names(names, names if known is None or known.text is None else (*known.numbers, *known.text))
        return split_frame(X, kinds_to_learn(X) if known is None else known)
    if is_pair(X):
        columns = {str(name): np.asarray(values, dtype=object) for name, values in X[1].items()}
        if X[0] is None:
            return np.zeros((len(next(iter(columns.values()), ())), 0)), columns
        return X[0], columns
    raise ValueError("With an encoder, X must be a DataFrame or a pair of a matrix and a dict of columns of text.")


def matrix_of(estimator, X, *, reset: bool, dtype, sparse: bool | None, order: str | None = "C"):
    """Validated numbers, sparse or dense as those of the first batch were (``sparse``; None is either).

    Where there is an encoder, numbers without names are as `split_input` has put them, or the caller.
    """
    named = estimator.encoder is None or is_frame(X)
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] == 0 and X.shape[0] > 0:
        if not reset and estimator.n_features_in_ != 0:
            raise ValueError(f"X has 0 features, but {estimator.n_features_in_} are expected.")
        estimator.n_features_in_ = 0  # text alone
        return X.astype(dtype or np.float64)
    allow_nan = estimator.impute is not None
    X = validated_rows(estimator, X, reset=reset, dtype=dtype, allow_nan=allow_nan, named=named, order=order)
    if sparse is None or sparse == issparse(X):
        return X
    return csr_matrix(X) if sparse else X.toarray()


def check_lengths(X, columns) -> None:
    """Every column of text must have as many rows as there are rows of numbers."""
    for name, values in (columns or {}).items():
        if len(values) != X.shape[0]:
            raise ValueError(f"Column {name!r} has {len(values)} rows, but the numbers have {X.shape[0]}.")


def checked_labels(name: str, y, X, *, classifies: bool, several: bool) -> np.ndarray:
    """Labels of the rows of ``X``; for a regressor finite numbers, in columns where it takes ``several``."""
    refuse_no_target(name, y)
    y = np.asarray(y) if several else y
    if not classifies:
        refuse_no_numbers(y)
    if several and y.ndim == 2 and y.shape[1] > 1:
        y = y.astype(np.float64)
    else:
        y = column_or_1d(y, warn=True, dtype=None if classifies else np.float64)
    if X.shape[0] != y.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows, but y has {y.shape[0]} labels: inconsistent numbers of samples.")
    if not classifies:
        if not np.isfinite(y).all():
            first = np.argwhere(~np.isfinite(y))[0, 0]
            raise ValueError(f"Input y contains NaN or infinity, the first in row {first}. Leave out such rows.")
        check_target_size(y)
    if classifies and y.dtype.kind not in "iub":
        classes_in(y)
    return y
