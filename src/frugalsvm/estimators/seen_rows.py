"""Rows as the kernel of an estimator sees them (`frugalsvm.core.seen_rows`): in a metric, relative to an origin.

Metrics are given by users, or learned from the first rows, and frozen then. Rows that no type can carry are refused.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import is_classifier

from frugalsvm.arrays.namespace import arrays_on, is_torch, on_host
from frugalsvm.arrays.tensors import relative_tensor, tensor_in_metric
from frugalsvm.compiling.threads import ONE_THREAD, Threads, row_blocks, thread_count
from frugalsvm.core.capabilities import offers
from frugalsvm.core.kernels import KERNELS, Poly
from frugalsvm.core.seen_rows import (
    FAR_ROWS,
    Metric,
    Origin,
    cancellation,
    in_metric,
    largest_size,
    lost_digits,
    new_metric,
    new_origin,
    origin_at,
    out_of_metric,
    relative,
    some_rows,
)
from frugalsvm.estimators.constraints import LEARNED
from frugalsvm.estimators.validation import refuse_not_finite
from frugalsvm.exceptions import warn_caller
from frugalsvm.metric_learning.machine import Rows, drawn_rows
from frugalsvm.selection.best_metric import as_usual, best_metric, spreads_of
from frugalsvm.selection.widths import resources_on

_TENSOR_ROWS = 2**16
_VALUES_TO_CHECK = 2**18  # about a tenth of a millisecond
_FOR_COEFFICIENTS = 8  # digits of the exponent's range that kernel values leave for sums with coefficients
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
    check_powers(X, kernel, dtype)
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


def check_powers(X, kernel, dtype) -> None:
    """Refuse rows whose values of a polynomial kernel, times coefficients, are too large for a type."""
    if not isinstance(kernel, Poly) or is_torch(X) or 0 in X.shape:
        return
    squares = X.multiply(X).sum(axis=1) if issparse(X) else np.einsum("ij,ij->i", X, X, dtype=np.float64)
    exponent = kernel.degree * np.log10(max(kernel.gamma * float(squares.max()) + kernel.coef0, 1.0))
    if exponent > np.log10(float(np.finfo(dtype).max)) - _FOR_COEFFICIENTS:
        raise ValueError(
            f"Rows of X have values of the polynomial kernel as large as 1e{exponent:.0f}, which is too large for "
            f"{np.dtype(dtype)}: scale the features, for example with sklearn.preprocessing.StandardScaler, or lower "
            "gamma or degree."
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


# --- metrics ---------------------------------------------------------------------------------------------------------

_MOST_ROWS, _MOST_VALUES = 2**15, 2**25  # that a metric is learned from
_LEAST_ROWS = 100
_LARGEST = 10.0  # value of a feature, in its scale, that is learned from
_STREAM = 22  # of random numbers: not those that landmarks are drawn with


def learns_metric(estimator: Any) -> bool:
    """Whether an estimator learns its metric, from the first rows that it gets."""
    return isinstance(getattr(estimator, "metric", None), str)


def metric_for(estimator: Any, X, targets, weights, random_state: Any, *, whole: bool) -> Metric:
    """The metric of an estimator that is to learn: from its parameter, or learned from rows.

    ``targets`` (n_outputs, n) are signs of classes, or values. ``whole`` is whether no more rows will come.
    """
    is_learned = isinstance(estimator.metric, str)
    # A metric that is given leaves the random numbers of the estimator as they are.
    rng = np.random.default_rng([random_state.randint(np.iinfo(np.int32).max) if is_learned else 0, _STREAM])
    rows = drawn_rows(X, targets, weights, rng, most_rows(X.shape[1]))
    center = np.zeros(X.shape[1]) if issparse(X) else np.median(rows.X, axis=0)
    spreads = spreads_of(rows.X)
    if not is_learned:
        return _given(estimator, center, spreads)
    scales = np.where(spreads > 0, spreads, 1.0)
    if estimator.metric == "full" and issparse(X):
        raise ValueError("metric='full' would make sparse rows dense: use metric='diag', or pass dense rows.")
    kinds = _kinds(estimator, issparse(X)) if len(rows.X) >= _LEAST_ROWS else _too_few(estimator, len(rows.X), whole)
    # Outliers must not rule the metric.
    scaled = rows._replace(X=np.clip((rows.X - center) / scales, -_LARGEST, _LARGEST))
    A = _best(estimator, scaled, scales, kinds, rng)
    narrowing = _narrowing(estimator, len(scaled.X))
    return as_usual(A, KERNELS[estimator.kernel], scaled.X * scales, center, spreads, narrowing)


def _kinds(estimator, sparse) -> list[str]:
    """Kinds of metrics that a parameter stands for, with the kernel and the rows that there are."""
    may_turn = offers(KERNELS[estimator.kernel], "products") and not sparse
    return [kind for kind in LEARNED[estimator.metric] if may_turn or kind != "matrix"]


def _best(estimator, rows, scales, kinds, rng) -> np.ndarray:
    """The best metric, found on the device of the estimator, for rows that are not scaled."""
    kernel: Any = KERNELS[estimator.kernel]
    arrays = arrays_on(getattr(estimator, "device", "cpu"))
    if arrays.is_torch:
        rows = Rows(*(arrays.asarray(each, "float64") for each in rows))
    classes = is_classifier(estimator)
    n_threads = thread_count(estimator.n_jobs)
    options = {"kinds": tuple(kinds), "classes": classes, "scales": 1.0 / scales, "n_threads": n_threads}
    found = best_metric(kernel(gamma=1.0), rows, rng, **options)
    return np.asarray(on_host(found.point.A))


def _too_few(estimator, n_rows, whole):
    """Kinds of metrics for few rows."""
    if estimator.metric != "auto":
        raise ValueError(
            f"metric={estimator.metric!r} is learned from the first rows, and {n_rows} are too few: pass "
            f"at least {_LEAST_ROWS}, or metric='auto'."
        )
    if not whole:
        warn_caller(
            f"metric='auto' is learned from the first batch, which has {n_rows} rows only: all features count alike. "
            f"Begin with at least {_LEAST_ROWS} rows, better some thousands, or pass a metric that was learned before.",
            UserWarning,
        )
    return ["plain"]


def _given(estimator, center, scales) -> Metric:
    A = np.asarray(estimator.metric, np.float64)
    if A.shape[-1] != len(scales):
        raise ValueError(f"metric has {A.shape[-1]} columns, but X has {len(scales)} features.")
    if not offers(KERNELS[estimator.kernel], "shift_invariant"):
        center = np.zeros_like(center)
    return new_metric(A, center, scales)


def most_rows(n_features: int) -> int:
    """How many rows a metric is learned from at most."""
    return min(_MOST_ROWS, max(_LEAST_ROWS, _MOST_VALUES // n_features))


def _narrowing(estimator, n_rows) -> float:
    """What gamma, of squared distances, is multiplied by for another number of landmarks than the judges have.

    The more landmarks there are, the narrower is the best kernel. Four times as many wanted twice the gamma on most of
    sixteen tables, with any metric.
    """
    if getattr(estimator, "feature_map", None) != "nystroem":
        return 1.0
    n_judged = resources_on(arrays_on(getattr(estimator, "device", "cpu"))).n_landmarks
    return float(np.sqrt(min(estimator.n_components, n_rows) / min(n_judged, n_rows)))


def rows_in_metric(X, metric: Metric | None, dtype, **options: Any):
    """Rows or a tensor as the kernel sees them; ``options`` are those of `in_metric`, for rows."""
    if metric is None:
        return X
    return tensor_in_metric(X, metric) if is_torch(X) else in_metric(X, metric, dtype, **options)


def importances(metric: Metric) -> np.ndarray:
    """The share that each feature has in squared distances of rows, on average."""
    A = metric.map
    shares = np.square(metric.scales) * (np.square(A) if A.ndim == 1 else np.square(A).sum(axis=0))
    total = shares.sum()
    return shares / total if total > 0 else np.full(len(shares), 1.0 / len(shares))
