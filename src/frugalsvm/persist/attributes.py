"""What attributes objects in a model file have: which must be there once a model has learned, and what they may be.

An object that has none of them has not learned. Attributes that are not declared are kept if nothing of the class has
their name; nothing depends on them.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from frugalsvm._stored import is_finite, stored_as
from frugalsvm.core.kernels import KERNELS
from frugalsvm.estimators._writable import FOR_PREDICTION

__all__ = ["DECLARED", "FOR_PREDICTION", "PREDICTORS", "Attributes", "is_classes"]

Check = Callable[[Any], bool]


class Attributes(NamedTuple):
    """Checks of attributes by name."""

    required: dict[str, Check]
    optional: dict[str, Check]


# --- kinds of values ------------------------------------------------------------------------------------------


def _int(least: int = 0, most: int = 2**62) -> Check:
    return lambda value: type(value) is int and least <= value <= most


def _number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and math.isfinite(value)


def _of(*types: type) -> Check:
    return lambda value: type(value) in types


def _or_none(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _array(kinds: str, n_dimensions: int) -> Check:
    """A finite array of kinds of numbers and a dimension."""
    return lambda value: (
        type(value) is np.ndarray and value.dtype.kind in kinds and value.ndim == n_dimensions and is_finite(value)
    )


def _part(*names: str) -> Check:
    """A part of a name or kind, or one that somebody registered; what is in it is checked by itself."""

    def check(value: Any) -> bool:
        declared = stored_as(type(value))
        if declared is None:
            return isinstance(value, tuple) and hasattr(value, "_fields")
        return declared.name in names or declared.kind in names

    return check


def _parts(name: str) -> Check:
    each = _part(name)
    return lambda value: type(value) is list and len(value) > 0 and all(map(each, value))


def _object(*names: str) -> Check:
    """An object of another class of a model file, or of one that is not ours."""
    return lambda value: (
        isinstance(value, BaseEstimator)
        and (type(value).__name__ in names or not type(value).__module__.startswith("frugalsvm."))
    )


def _kernel(value: Any) -> bool:
    return type(value) in KERNELS.values()


def is_classes(value: Any) -> bool:
    """Whether it is a sorted array of distinct labels."""
    if type(value) is not np.ndarray or value.ndim != 1 or value.size == 0 or not is_finite(value):
        return False
    if value.dtype.kind == "O":
        plain = all(type(each) is str for each in value)
        if not plain and not all(isinstance(each, int | float) and math.isfinite(each) for each in value):
            return False
    return value.dtype.kind in "biufUO" and bool((value[:-1] < value[1:]).all())


def _names(value: Any) -> bool:
    return type(value) is np.ndarray and value.ndim == 1 and all(isinstance(each, str) for each in value)


def _generator(value: Any) -> bool:
    return isinstance(value, np.random.Generator)


def _path(value: Any) -> bool:
    return type(value) is dict and all(map(_array("iuf", 1), value.values()))


def _rows_held(value: Any) -> bool:
    """Rows that wait for the first landmarks: rows, targets and weights."""
    if type(value) is not tuple or len(value) != 3:
        return False
    rows, targets, weights = value
    floats = _array("f", 2)(rows) and _array("f", 2)(targets) and _array("f", 1)(weights)
    return floats and {each.dtype.str[1:] for each in value} == {"f4"} and bool((weights >= 0).all())


def _batches(value: Any) -> bool:
    """Batches of rows that wait for the statistics of a pipeline."""
    return type(value) is tuple and all(map(_part("rows"), value))


def _list_of_text(value: Any) -> bool:
    return type(value) is list and all(type(each) is str for each in value)


def _categories(value: Any) -> bool:
    return type(value) is list and all(
        type(each) is np.ndarray and each.ndim == 1 and each.dtype.kind == "U" and bool((each[:-1] < each[1:]).all())
        for each in value
    )


def _rows_dtype(value: Any) -> bool:
    return isinstance(value, np.dtype) and value.str[1:] in ("f4", "f8")


# --- classes ----------------------------------------------------------------------------------------------------

_BOOL, _FLOAT = _of(bool, np.bool_), _array("f", 1)
_CLASSIFIER = {"classes_": is_classes, "n_features_in_": _int(1), "_kernel": _kernel}
_OPTIONAL: dict[str, Check] = {
    "n_iter_": _int(1), "feature_names_in_": _names, "_origin": _or_none(_part("origin")),
}  # fmt: skip
_DUAL = {"_solver": _part("dual-machine"), "_slot_of_row": _or_none(_array("i", 1))}
_LOW_RANK = {
    "n_features_in_": _int(1), "_kernel": _kernel, "_rng": _generator, "_weights": _array("f", 2),
    "_map": _or_none(_part("feature-map")), "_is_sparse": _BOOL,
    "_steps": _or_none(_part("subgradient-steps")), "_first": _or_none(_rows_held),
}  # fmt: skip
_LOW_RANK_RESULTS = {
    **_OPTIONAL, "C_": lambda value: _number(value) and value > 0, "path_": _path, "best_validation_score_": _number,
    "objective_": _number, "suboptimality_bound_": _number, "_n_iter": _int(), "_n_fitted": _int(1),
}  # fmt: skip
_MACHINES = {**_CLASSIFIER, "_machines": _parts("budgeted-machine"), "budget_": _or_none(_int(2))}

DECLARED: dict[str, Attributes] = {
    "BSGDClassifier": Attributes(
        {
            **_CLASSIFIER, "_expansion": _part("expansion"), "budget_": _or_none(_int(2)),
            "_policy": _part("policy"),
        },
        _OPTIONAL,
    ),
    "BudgetedPerceptron": Attributes(_MACHINES, _OPTIONAL),
    "BPAClassifier": Attributes(_MACHINES, _OPTIONAL),
    "LASVMClassifier": Attributes(
        {**_CLASSIFIER, **_DUAL, "_learner": _part("lasvm-without-bias", "lasvm")}, _OPTIONAL
    ),
    "TrackingSVC": Attributes({**_CLASSIFIER, **_DUAL, "_learner": _part("tracking")}, _OPTIONAL),
    "IncrementalSVC": Attributes(
        {
            **_CLASSIFIER, "_solvers": _parts("exact-machine"), "_n_learned": _int(), "_cache_bytes": _int(),
            "_examples": _part("examples"), "C_": lambda value: _number(value) and value > 0,
        },
        {**_OPTIONAL, "_left_out": _or_none(_array("f", 2))},
    ),
    "TVMClassifier": Attributes(
        {**_CLASSIFIER, "_twins": _parts("twins"), "_caches": _parts("kernel-rows")}, _OPTIONAL
    ),
    "ASSETClassifier": Attributes({**_LOW_RANK, "classes_": is_classes}, _LOW_RANK_RESULTS),
    "ASSETRegressor": Attributes(_LOW_RANK, _LOW_RANK_RESULTS),
    "StreamPipeline": Attributes(
        {
            "n_features_in_": _int(), "_held": _or_none(_batches), "_dtype": _rows_dtype, "_is_sparse": _BOOL,
            "_announced": _or_none(is_classes),
        },
        {
            "feature_names_in_": _names, "encoder_": _or_none(_object("ColumnEncoder")),
            "filler_": _or_none(_object("MissingValueFiller")),
            "scaler_": _or_none(_object("StreamingScaler")), "feature_map_": _or_none(_object()),
            "estimator_": _object(
                "BSGDClassifier", "BudgetedPerceptron", "BPAClassifier", "LASVMClassifier", "TrackingSVC",
                "IncrementalSVC", "TVMClassifier", "ASSETClassifier", "ASSETRegressor",
            ),
            "calibration_": _part("calibration"),
        },
    ),
    "StreamingScaler": Attributes(
        {"n_features_in_": _int(1), "n_seen_": _int(1), "centres_": _BOOL, "frozen_": _BOOL, "scale_": _FLOAT},
        {
            "feature_names_in_": _names, "mean_": _FLOAT, "var_": _FLOAT, "median_": _FLOAT,
            "limit_": _or_none(_FLOAT), "constant_": _or_none(_array("b", 1)),
            "_watch": _or_none(_part("range-watch")), "_sample": _or_none(_part("row-sample")),
        },
    ),
    "MissingValueFiller": Attributes({"n_features_in_": _int(1), "statistics_": _FLOAT}, {"feature_names_in_": _names}),
    "ColumnEncoder": Attributes({"names_": _list_of_text, "categories_": _categories}, {}),
}  # fmt: skip

# Models that were saved for prediction, where they have other attributes
_PREDICTOR = Attributes(
    {**_CLASSIFIER, "_predictor": _part("predictor")},
    {**_OPTIONAL, "C_": _number, "budget_": _or_none(_int(2))},
)
PREDICTORS = dict.fromkeys(("LASVMClassifier", "TrackingSVC", "IncrementalSVC", "TVMClassifier"), _PREDICTOR)
