"""Labels in columns: what a classifier is given where a row may have several of them, or none."""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.multiclass import type_of_target

from frugalsvm.arrays.namespace import on_host

__all__ = ["check_for_labels", "label_matrix"]


def label_matrix(y: Any) -> np.ndarray | None:
    """Labels 0 and 1 as (n, n_labels), or None where y is anything else, such as a class for each row."""
    y = on_host(y)
    y = y if issparse(y) else np.asarray(y)
    if y.ndim != 2 or y.dtype.kind not in "biuf" or y.shape[1] < 2 or type_of_target(y) != "multilabel-indicator":
        return None
    y = y.toarray() if issparse(y) else y
    if not ((y == 0) | (y == 1)).all():
        raise ValueError("Labels in columns are 0 or 1: 1 where a row has the label.")
    return y.astype(np.int64)


def check_for_labels(estimator: Any) -> None:
    """Refuse parameters that are for one class in each row."""
    for name in ("class_weight", "calibrate"):
        if getattr(estimator, name) is not None:
            raise ValueError(f"{name} is for one class in each row, not for labels in columns: it must be None.")
    if isinstance(estimator.metric, str):
        raise ValueError(
            f"metric={estimator.metric!r} is learned from one class in each row, not from labels in columns: pass an "
            "array, such as metric_ of another model, or None."
        )
