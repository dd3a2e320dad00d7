"""Turning what users pass into what the compiled floors take, with one clear sentence when it cannot be."""

import math
import numbers
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_n_features, _check_sample_weight, column_or_1d, validate_data

from frugalsvm.arrays.namespace import is_torch
from frugalsvm.arrays.tensors import moments_of_tensor
from frugalsvm.core.capabilities import offers
from frugalsvm.core.kernels import KERNELS
from frugalsvm.core.moments import Moments, moments_of, scale_gamma
from frugalsvm.exceptions import ParameterError
from frugalsvm.lowrank.kernel_sum import KernelSum
from frugalsvm.lowrank.own_kernel import OwnKernel

__all__ = [
    "AS_IT_IS",
    "bytes_per_slot",
    "check_choice",
    "check_classes_have_weight",
    "check_count",
    "check_positive",
    "check_two_classes",
    "classes_in",
    "column_of",
    "distinct_labels",
    "encoded_labels",
    "example_weights",
    "gamma_value",
    "is_nothing",
    "is_path",
    "new_kernel",
    "parsed_bytes",
    "refuse_dates",
    "refuse_empty_classes",
    "refuse_not_finite",
    "refuse_sparse",
    "refuse_unsuitable",
    "slots_for_budget",
    "validated_rows",
    "validated_tensor",
    "values_of_path",
    "without_duplicates",
]

_UNITS = {"B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30}
_A_SIZE = "a size such as '64KB', '1.5MB' or '800B'"
_VARIANCE_ROWS = 2**16
_COUNTED_LABELS = 2**16
_FIRST_LABELS = 2**12  # that may have all there are
AS_IT_IS = "as it is"  # a type of rows that are for a device


def check_choice(name: str, value: Any, choices) -> None:
    if value not in list(choices):  # a list compares, and does not hash what cannot be hashed
        raise ParameterError(name, value, problem=f"is not one of {', '.join(map(repr, choices))}")


def check_positive(name: str, value: Any, *, zero: bool = False) -> None:
    """A finite real number above zero (or zero, where ``zero`` is set)."""
    good = isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)
    if not good or value < 0 or (value == 0 and not zero):
        raise ParameterError(name, value, f"a {'non-negative' if zero else 'positive'} number")


def check_count(name: str, value: Any, *, least: int = 1) -> None:
    """An integer of at least ``least``."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < least:
        raise ParameterError(name, value, f"an integer of at least {least}")


def is_path(C: Any) -> bool:
    """Whether C is neither a number nor a word: a list of values, unless it is wrong."""
    return not isinstance(C, numbers.Real | str)


def values_of_path(C: Any) -> list[float]:
    """The values of a list of C in increasing order."""
    try:
        values = sorted(set(C))
    except TypeError:
        values = []
    if not values:
        raise ParameterError("C", C, "a positive number or a list of them")
    return values


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


def column_of(y) -> np.ndarray:
    """Labels in one dimension; warns of a column."""
    if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biufUSO":
        return np.ascontiguousarray(y)  # `column_or_1d` takes longer to find that out than to learn some rows
    return column_or_1d(y, warn=True)


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
        vars(estimator).pop("feature_names_in_", None)
    elif X.shape[1] != estimator.n_features_in_:
        name = type(estimator).__name__
        raise ValueError(f"X has {X.shape[1]} features, but {name} is expecting {estimator.n_features_in_} features.")
    return X.detach()


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


def without_duplicates(X):
    """A CSR matrix that has every entry once, in the order of the features: itself, if it is one."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _integer_range(values) -> tuple[int, int] | None:
    """Least and largest of integers that are few enough to count, None for anything else."""
    if values.dtype.kind not in "iu" or values.size == 0:
        return None
    low, high = int(values.min()), int(values.max())
    return (low, high) if high - low < _COUNTED_LABELS and high < 2**63 else None


def distinct_labels(y) -> np.ndarray:
    """Sorted distinct values: integers by counting, text by looking for other than some rows have. Sorting is slow."""
    bounds = _integer_range(y)
    if bounds is None:
        return _distinct_text(y) if y.dtype.kind in "OUT" else np.unique(y)
    counts = np.bincount(y.astype(np.int64, copy=False) - bounds[0])
    return (np.flatnonzero(counts) + bounds[0]).astype(y.dtype, copy=False)


def is_nothing(value: Any) -> bool:
    """Whether a value is missing: None, NaN, NaT, or pandas' NA, whose comparisons say neither yes nor no."""
    equal = value == value
    return value is None or not isinstance(equal, bool | np.bool_) or not equal


def _distinct_text(y) -> np.ndarray:
    known = np.unique(y[:: max(1, len(y) // _FIRST_LABELS)])
    for start in range(0, len(y), _COUNTED_LABELS):
        part = y[start : start + _COUNTED_LABELS]
        places = np.minimum(np.searchsorted(known, part), len(known) - 1)
        others = part[known[places] != part]
        if others.size:
            known = np.union1d(known, others)
    return known


def classes_in(y) -> np.ndarray:
    """The distinct labels, sorted; refuses fractions, and objects that are not text, which cannot be classes.

    The distinct ones tell, so that scikit-learn need not look at all, which takes longer than many a training.
    """
    if y.dtype.kind in "iub":
        return distinct_labels(y)
    try:
        check_classification_targets(y[:1])  # other objects may have no order
        found = distinct_labels(y)
    except (TypeError, ValueError):
        _refuse_unlike(y)
        raise
    if y.dtype.kind == "O" and any(map(is_nothing, found)):
        _refuse_unlike(y)
    check_classification_targets(y if 2 * len(found) > len(y) else np.tile(found, 2))  # it warns of many classes
    return found


def refuse_dates(y: Any) -> None:
    """Refuse targets that NumPy would make nanoseconds of."""
    if getattr(getattr(y, "dtype", None), "kind", "") in ("M", "m"):
        raise ValueError("y has dates or durations: make numbers of them, such as days since the first one.")


def _refuse_unlike(y) -> None:
    """Refuse objects that have no order, in a sentence: missing labels, and text among numbers."""
    missing = [row for row, label in enumerate(y) if is_nothing(label)]
    if missing:
        n = f"{len(missing):,} label{' is' if len(missing) == 1 else 's are'}"
        raise ValueError(f"Input y contains NaN: {n} missing, the first in row {missing[0]}. Leave out such rows.")
    first = {isinstance(label, str): label for label in y[::-1]}
    if len(first) > 1:
        raise ValueError(
            f"y has text and other labels, such as {first[True]!r} and {first[False]!r}: make text of all of them."
        )


def encoded_labels(y, seen, classes, *, may_grow: bool) -> np.ndarray:
    """Positions of the labels in ``classes``, all of which must be there; ``seen`` are the distinct labels."""
    try:
        indices = np.searchsorted(classes, seen)
    except TypeError:  # text and numbers have no order
        raise ValueError(
            f"Labels like {seen[:1].tolist()[0]!r} do not mix with the classes {_listed(classes)}."
        ) from None
    indices[indices == len(classes)] = 0
    unknown = np.flatnonzero(classes[indices] != seen)
    if unknown.size:
        row = np.flatnonzero(y == seen[unknown[0]])[0]
        label = seen[unknown].tolist()[0]
        raise ValueError(
            f"Label {label!r} (row {row}) is not one of the classes {_listed(classes)} that the model knows; "
            "pass all of them as `classes` to the first call of partial_fit"
            f"{', or set new_classes=' + repr('grow') if may_grow else ''}."
        )
    bounds = _integer_range(seen)
    if bounds is None:
        return indices[np.searchsorted(seen, y)].astype(np.int64, copy=False)
    table = np.zeros(bounds[1] - bounds[0] + 1, np.int64)
    table[seen.astype(np.int64, copy=False) - bounds[0]] = indices
    return table[y.astype(np.int64, copy=False) - bounds[0]]


def _listed(classes) -> str:
    shown = ", ".join(repr(c) for c in classes[:10].tolist())
    return f"[{shown}{', ...' if len(classes) > 10 else ''}]"


def example_weights(sample_weight, class_weight, X, classes, labels):
    """Weight of every example, or None where all are 1."""
    if sample_weight is None and class_weight is None:
        return None
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if class_weight is not None:
        per_class = compute_class_weight(class_weight, classes=classes, y=classes[labels])
        if not (np.isfinite(per_class).all() and (per_class >= 0).all()):
            raise ParameterError("class_weight", class_weight, "non-negative numbers")
        weights = weights * per_class[labels]
    return np.ascontiguousarray(weights)


def check_two_classes(classes) -> None:
    """Refuse labels that leave nothing to tell apart."""
    if len(classes) < 2:
        raise ValueError(
            f"Training needs at least two classes, but all labels are {classes[:1].tolist()[0]!r}: one class."
        )


def check_classes_have_weight(weights, classes, labels):
    """Refuse weights that leave a class of a whole training without any row."""
    if weights is None or not weights.any():  # which is refused, or not, elsewhere
        return
    refuse_empty_classes(classes, np.bincount(labels, weights, minlength=len(classes)) == 0)


def refuse_empty_classes(classes, empty):
    """Refuse classes whose rows all have weight 0."""
    if empty.any():
        raise ValueError(
            f"All rows of class {classes[empty].tolist()[0]!r} have weight 0 (sample_weight, class_weight): there is "
            "nothing to learn of it. Leave these rows out, or give them a weight."
        )


def new_kernel(name, gamma, degree, coef0, X):
    """The kernel part for the parameters of an estimator; its fields get the parameters of the same names.

    ``X`` are rows from which gamma is taken, or their `Moments`.
    """
    if callable(name):
        return OwnKernel(_with_scale_of(X, name))
    check_choice("kernel", name, KERNELS)
    part: Any = KERNELS[name]
    fields, values = part._fields, {}
    if "gamma" in fields:
        values["gamma"] = gamma_value(gamma, X, part)
    if "coef0" in fields:
        check_positive("coef0", coef0, zero=True)
        values["coef0"] = float(coef0)
    if "degree" in fields:
        if not isinstance(degree, int | np.integer) or degree < 1:
            raise ParameterError("degree", degree, "an integer of at least 1")
        values["degree"] = int(degree)
    return part(**values)


def _with_scale_of(X, kernel):
    """A kernel function with numbers for the gammas that it lacks."""
    if not isinstance(kernel, KernelSum) or not kernel.lacks_gamma:
        return kernel
    return kernel.with_scale_of(X if isinstance(X, Moments) else _moments(X))


def gamma_value(gamma, X, kernel) -> float:
    """The number behind the ``gamma`` of a kernel; ``X`` are rows, or their `Moments`."""
    if not isinstance(gamma, str):
        check_positive("gamma", gamma)
        return float(gamma)
    check_choice("gamma", gamma, ("scale", "auto"))  # "auto" that was not chosen from rows is the same
    return scale_gamma(X if isinstance(X, Moments) else _moments(X), kernel)


def _moments(X) -> Moments:
    return moments_of_tensor(X, _VARIANCE_ROWS) if is_torch(X) else moments_of(X)


def bytes_per_slot(n_features: int, n_outputs: int, dtype) -> int:
    """Bytes that prediction needs for one support vector."""
    return np.dtype(dtype).itemsize * (n_features + 1 + n_outputs)


def slots_for_budget(budget, bytes_per_slot: int) -> int | None:
    """Number of support vectors of a budget given as a number, as bytes ("64KB"), or as None (no limit)."""
    if budget is None:
        return None
    if isinstance(budget, str):
        n_slots = parsed_bytes("budget", budget) // bytes_per_slot
        if n_slots < 2:
            problem = f"holds fewer than 2 support vectors of {bytes_per_slot} bytes each"
            raise ParameterError("budget", budget, problem=f"{problem}; it must be at least {2 * bytes_per_slot} bytes")
        return n_slots
    if not isinstance(budget, numbers.Integral) or isinstance(budget, bool) or budget < 2:
        raise ParameterError("budget", budget, "an integer of at least 2, a size such as '64KB', or None")
    return int(budget)


def parsed_bytes(name: str, text: Any) -> int:
    """The number behind a size such as "64KB"."""
    if not isinstance(text, str):
        raise ParameterError(name, text, _A_SIZE)
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMG]?)i?B\s*", text, flags=re.IGNORECASE)
    if match is None:
        raise ParameterError(name, text, problem=f"is not {_A_SIZE}")
    return int(float(match[1]) * _UNITS[match[2].upper() + "B"])
