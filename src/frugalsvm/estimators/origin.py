"""Rows relative to an origin (`frugalsvm.core.origin`), and warnings of rows that no type can carry."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse

from frugalsvm.arrays.namespace import is_torch, on_host
from frugalsvm.arrays.tensors import relative_tensor
from frugalsvm.compiling.threads import ONE_THREAD, Threads, row_blocks
from frugalsvm.core.capabilities import offers
from frugalsvm.core.dense_scores import largest_size
from frugalsvm.core.metric import Metric, out_of_metric
from frugalsvm.core.origin import (
    FAR_ROWS,
    Origin,
    cancellation,
    lost_digits,
    new_origin,
    origin_at,
    relative,
    some_rows,
)
from frugalsvm.estimators.caller_warnings import warn_caller
from frugalsvm.estimators.validation import refuse_not_finite

__all__ = [
    "absolute_rows",
    "are_small",
    "check_size",
    "check_values",
    "first_origin",
    "for_known_rows",
    "relative_rows",
]

_TENSOR_ROWS = 2**16
_VALUES_TO_CHECK = 2**18  # about a tenth of a millisecond
_CANCELS = 1e-4  # errors of squared distances, relative to their size, of which users should know


def relative_rows(X, origin: Origin | None, dtype):
    """Rows or a tensor relative to an origin, in a type; the same ones if the origin is zero."""
    if origin is None or origin.is_zero:
        return X
    return relative_tensor(X, origin, _TENSOR_ROWS) if is_torch(X) else relative(X, origin, dtype)


def absolute_rows(rows, origin: Origin | None, metric: Metric | None = None):
    """Rows of a model as users know them, in new arrays; in float64 if there is an origin or a metric."""
    rows = rows.copy() if origin is None or origin.is_zero else rows + origin.point
    return rows if metric is None else out_of_metric(rows, metric)


def first_origin(X, kernel, dtype, *, whole, names=None) -> Origin | None:
    """The origin for the first rows, which are ``whole`` if no more will come; None for kernels that have none.

    Of a stream, a few rows say too little. The origin then is zero, and follows. Warns of rows that are too coarse.
    """
    check_gamma(getattr(kernel, "gamma", None), dtype)
    rows = on_host(some_rows(X)) if is_torch(X) else X
    has_origin = offers(kernel, "shift_invariant")
    _warn_of_lost_digits(rows, dtype, has_origin, names)
    if not has_origin:
        return None
    enough = X.shape[0] >= (2 if whole else FAR_ROWS)
    return new_origin(rows, dtype) if enough else origin_at(np.zeros(X.shape[1]))


def _warn_of_lost_digits(rows, dtype, has_origin, names):
    """Warn of rows that their type, or the type in which kernels are computed, is too coarse for."""
    if rows.dtype.kind != "f":
        return
    found = lost_digits(rows)
    if found is not None:
        feature = found[0] if names is None else repr(str(names[found[0]]))
        warn_caller(
            f"Feature {feature} of X is rounded to {rows.dtype}: its values are large and differ little, so that "
            f"rounding errors are {found[1]:.1g} of its standard deviation. Subtract a constant from it"
            f"{' before it becomes float32, or pass float64' if rows.dtype == np.float32 else ''}.",
            UserWarning,
        )
    if issparse(rows) and has_origin and cancellation(rows, dtype) > _CANCELS:
        warn_caller(
            "X is sparse, but its features are far from zero and differ little, so that kernel values lose digits. "
            "Pass a dense array, or subtract a constant from the features.",
            UserWarning,
        )


def for_known_rows(estimator):
    """A copy of an estimator for rows as it has them: arrays, in its metric, relative to its origin."""
    cls: Any = type(estimator)
    same = cls.__new__(cls)  # not by `copy`, which leaves caches out and makes new ones
    vars(same).update(vars(estimator))
    same._origin, same._metric, same.n_features_in_ = None, None, estimator._width
    vars(same).pop("feature_names_in_", None)
    return same


def check_gamma(gamma, dtype) -> None:
    """Refuse a kernel that cannot be computed in a type."""
    if gamma is not None and not gamma < float(np.finfo(dtype).max) / 1000:
        raise ValueError(
            f"gamma is {gamma:.1e}, which is too large for {np.dtype(dtype)}: features are that small. Scale them, for "
            "example with sklearn.preprocessing.StandardScaler."
        )


def check_values(X, dtype, names: Sequence[str] | None = None, threads: Threads = ONE_THREAD) -> None:
    """Refuse rows, with names of columns or without, that are not finite or whose squared norms overflow."""
    if isinstance(X, np.ndarray) and X.dtype.kind == "f":
        if are_small(X, largest_size(X.shape[1], dtype), threads):  # nearly always, and one pass is enough to know it
            return
        refuse_not_finite(X, names, allow_nan=False)
    check_size(X, dtype)


def are_small(X, largest, threads: Threads = ONE_THREAD) -> bool:
    """Whether sums of squares of a C-contiguous array are so small that no value is above ``largest``, or NaN.

    With several threads, matrix products must use one each.
    """
    values = X.ravel()

    def is_good(part):
        own = values[part]
        with np.errstate(over="ignore", invalid="ignore"):
            return bool(own.dot(own) <= largest**2)

    return all(threads.run(is_good, row_blocks(len(values), threads.count, _VALUES_TO_CHECK)))


def check_size(X, dtype) -> None:
    """Refuse rows whose squared norms overflow."""
    values = X if isinstance(X, np.ndarray) or is_torch(X) else X.data
    if 0 in values.shape or (not is_torch(values) and values.dtype.kind != "f"):
        return
    largest = max(abs(float(values.max())), abs(float(values.min())))
    if largest > largest_size(X.shape[1], dtype):
        raise ValueError(
            f"X has values as large as {largest:.1e}, whose squares are too large for {np.dtype(dtype)}: scale the "
            "features, for example with sklearn.preprocessing.StandardScaler."
        )
