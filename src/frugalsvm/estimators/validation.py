"""Rows that users pass as the compiled floors take them, with one clear sentence when it cannot be."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array
from sklearn.utils.validation import _check_n_features, check_is_fitted, validate_data

from frugalsvm.arrays.namespace import is_torch
from frugalsvm.core.capabilities import offers
from frugalsvm.core.kernels import KERNELS
from frugalsvm.lowrank.kernel_sum import KernelSum

AS_IT_IS = "as it is"  # a type of rows that are for a device


def _float_type_of(X: Any):
    """float32 stays float32, and so does what fits into it exactly; everything else becomes float64."""
    dtype = getattr(X, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf" and dtype.itemsize <= 2:
        return np.float32
    return [np.float64, np.float32]


def validated_rows(
    estimator,
    X,
    *,
    reset: bool,
    dtype=None,
    allow_nan: bool = False,
    check_finite: bool = True,
    named: bool = True,
    order: str | None = "C",
):
    """Finite rows as a C-contiguous array or a CSR matrix without duplicates, float32 or float64.

    With ``allow_nan``, dense rows may have NaN for missing values. Without ``check_finite``, for callers that look at
    all values anyway, they may be anything. Without ``named``, names of columns are the caller's to look at. Without
    ``order``, columns may stay where they are, as frames have them.

    With ``dtype=AS_IT_IS``, for devices, small integers stay what they are, and tensors stay where they are.
    """
    if is_torch(X):
        if dtype == AS_IT_IS:
            X = validated_tensor(estimator, X, reset=reset)
            refuse_unsuitable(estimator, X)
            return X
        if X.device.type != "cpu":
            raise ValueError(f"X is on {X.device}: choose device='cuda', or move it with X.cpu().")
        X = X.detach().numpy()
    if dtype == AS_IT_IS:
        is_small = isinstance(X, np.ndarray) and X.dtype == np.uint8
        dtype = np.uint8 if is_small else None
    if not reset and _needs_nothing(estimator, X, dtype, check_finite=check_finite or allow_nan):
        refuse_unsuitable(estimator, X)
        return X
    checks: dict[str, Any] = {
        "accept_sparse": "csr",
        "dtype": _float_type_of(X) if dtype is None else dtype,
        "order": order,
        "ensure_all_finite": True if issparse(X) else "allow-nan" if allow_nan else check_finite,
    }
    given = X
    if named:
        _check_labels(estimator, X, reset=reset)
    try:
        if named:
            X = validate_data(estimator, X, reset=reset, **checks)
        else:
            X = check_array(X, estimator=estimator, input_name="X", **checks)
            _check_n_features(estimator, X, reset=reset)
    except ValueError as error:
        if not issparse(given) and ("contains infinity" in str(error) or "contains NaN" in str(error)):
            names = getattr(given, "columns", getattr(estimator, "feature_names_in_", None))
            refuse_not_finite(np.asarray(given, np.float64), names, allow_nan=allow_nan)
        raise
    X = X if isinstance(X, np.ndarray) else without_duplicates(X)
    refuse_unsuitable(estimator, X)
    return X


def _check_labels(estimator: Any, X: Any, *, reset: bool) -> None:
    """Refuse a frame with the columns of `fit` in another order where their names are no text, such as numbers.

    scikit-learn takes no notice of such names, and would put values into the wrong columns. Frames with other names
    are read by place, as it does.
    """
    labels = [] if is_torch(X) else list(getattr(X, "columns", ()))
    found = [] if all(isinstance(each, str) for each in labels) else list(map(str, labels))
    if reset:
        vars(estimator).pop("_labels_in", None)
        if found:
            estimator._labels_in = np.array(found, object)
        return
    known = getattr(estimator, "_labels_in", np.empty(0, object)).tolist()
    if found != known and sorted(found) == sorted(known):
        place = next(k for k, (one, other) in enumerate(zip(found, known, strict=True)) if one != other)
        raise ValueError(
            f"X has the columns of `fit` in another order: column {found[place]} is where column {known[place]} was. "
            "Put them in that order."
        )


def refuse_not_finite(X: np.ndarray, names: Sequence[Any] | None = None, *, allow_nan: bool = True) -> None:
    """Refuse values that are not finite and say where they are, which scikit-learn does not."""
    if X.dtype.kind != "f":
        return
    with np.errstate(invalid="ignore"):
        suspects = np.flatnonzero(~np.isfinite(X.sum(axis=0)))  # too large a sum is as well
    infinity = "infinity" if X.dtype == np.float64 else f"infinity or a value too large for {X.dtype}"
    kinds: list[tuple[Any, str, str]] = [
        (np.isinf, infinity, "put a number there, or NaN where missing values are allowed.")
    ]
    if not allow_nan:
        kinds.append((np.isnan, "NaN", "fill in missing values, as StreamPipeline does with impute='median'."))
    for is_one, what, advice in kinds:
        for place in suspects.tolist():
            rows = np.flatnonzero(is_one(X[:, place]))
            if rows.size:
                column = place if names is None else names[place]
                raise ValueError(f"Input X contains {what}, in column {column!r} (first in row {rows[0]}): {advice}")


def _needs_nothing(estimator, X, dtype, *, check_finite: bool) -> bool:
    """Whether rows are as they are wanted: scikit-learn takes longer to say so than a short batch takes to learn."""
    if type(X) is not np.ndarray or X.ndim != 2 or len(X) == 0 or not X.flags.c_contiguous:
        return False
    is_wanted = X.dtype in (np.float32, np.float64) if dtype is None else X.dtype == dtype and X.dtype.kind == "f"
    if not is_wanted or hasattr(estimator, "feature_names_in_") or X.shape[1] != estimator.n_features_in_:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return not check_finite or bool(np.isfinite(X.sum()))  # a sum that is not may have other reasons


def validated_tensor(estimator, X, *, reset: bool):
    """A tensor of finite rows, where it is."""
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D tensor instead.")
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(f"Found a tensor of shape {tuple(X.shape)} while at least one sample and feature is required.")
    if X.is_floating_point() and not bool(X.isfinite().all()):
        raise ValueError("Input X contains NaN or infinity.")
    if reset:
        estimator.n_features_in_ = X.shape[1]
        for name in ("feature_names_in_", "_labels_in"):
            vars(estimator).pop(name, None)
    elif X.shape[1] != estimator.n_features_in_:
        name = type(estimator).__name__
        raise ValueError(f"X has {X.shape[1]} features, but {name} is expecting {estimator.n_features_in_} features.")
    return X.detach()


def is_fitted(model: Any) -> bool:
    """Whether any estimator of scikit-learn's kind has learned."""
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def refuse_sparse(estimator: Any, X: Any) -> None:
    if issparse(X):
        raise ValueError(
            f"{type(estimator).__name__} takes dense rows, and X is a sparse matrix: project it first "
            "(sklearn.decomposition.TruncatedSVD), or use ASSETClassifier or ASSETRegressor."
        )


def refuse_unsuitable(estimator, X) -> None:
    """Some kernels are none for negative numbers; sums of kernels also need their columns."""
    kernel = getattr(estimator, "kernel", None)
    if isinstance(kernel, KernelSum):
        kernel.check_rows(X)
        return
    if not isinstance(kernel, str) or not offers(KERNELS.get(kernel), "nonnegative"):
        return
    values = X.data if issparse(X) else X
    if 0 not in values.shape and values.min() < 0:
        raise ValueError(
            f"kernel={kernel!r} is for features that are not negative, such as counts and shares, and X has the value "
            f"{values.min():g}. Leave out a scaler that subtracts the mean, or use another kernel."
        )


def rows_that_count(X, weights: np.ndarray | None):
    """The rows that have a weight: kernels, origins and scales are taken from these. If none has one, all of them."""
    if weights is None or weights.all() or not weights.any():
        return X
    return X[np.flatnonzero(weights)]


def numbers_with_weight(weights: np.ndarray | None, n_rows: int) -> np.ndarray:
    """The numbers of the rows that have a weight, of which there must be one."""
    if weights is None:
        return np.arange(n_rows)
    if not weights.any():
        raise ValueError("All weights are zero: there is nothing to learn.")
    return np.flatnonzero(weights)


def without_duplicates(X):
    """A CSR matrix that has every entry once, in the order of the features: itself, if it is one."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X
