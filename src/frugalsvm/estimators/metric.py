"""Metrics of estimators (`frugalsvm.core.metric`): given by users, or learned from the first rows, and frozen then."""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import is_classifier

from frugalsvm.arrays.namespace import arrays_on, is_torch, on_host
from frugalsvm.arrays.tensors import tensor_in_metric
from frugalsvm.compiling.threads import thread_count
from frugalsvm.core.capabilities import offers
from frugalsvm.core.kernels import KERNELS
from frugalsvm.core.metric import Metric, in_metric, new_metric
from frugalsvm.estimators.caller_warnings import warn_caller
from frugalsvm.estimators.constraints import LEARNED
from frugalsvm.metric_learning.machine import Rows
from frugalsvm.selection.best_metric import as_usual, best_metric, spreads_of
from frugalsvm.selection.widths import resources_on, some_rows

__all__ = ["importances", "learns_metric", "metric_for", "most_rows", "rows_in_metric"]

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
    rows = some_rows(X, targets, weights, rng, most_rows(X.shape[1]))
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
