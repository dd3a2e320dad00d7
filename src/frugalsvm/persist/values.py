"""Kinds of values that attributes in a model file may have: checks for `frugalsvm.persist.savable.Saved`."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from frugalsvm._stored import is_finite, stored_as

Check = Callable[[Any], bool]


def integer(least: int = 0, most: int = 2**62) -> Check:
    return lambda value: type(value) is int and least <= value <= most


def is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and math.isfinite(value)


def is_positive(value: Any) -> bool:
    return is_number(value) and value > 0


def of_type(*types: type) -> Check:
    return lambda value: type(value) in types


def or_none(check: Check) -> Check:
    return lambda value: value is None or check(value)


def list_of(check: Check, least: int = 0) -> Check:
    """A list of values that a check takes."""
    return lambda value: type(value) is list and len(value) >= least and all(map(check, value))


def dict_of(check: Check) -> Check:
    """A dict of such values by name."""
    return lambda value: type(value) is dict and all(type(key) is str and check(value[key]) for key in value)


def record(checks: dict[str, Check], optional: tuple[str, ...] = ()) -> Check:
    """A dict that has these names, but for optional ones, and values that their checks take."""
    names = set(checks)
    return lambda value: (
        type(value) is dict and {*value, *optional} == names and all(checks[key](value[key]) for key in value)
    )


def array(kinds: str, n_dimensions: int) -> Check:
    """A finite array of kinds of numbers and a dimension."""
    return lambda value: (
        type(value) is np.ndarray and value.dtype.kind in kinds and value.ndim == n_dimensions and is_finite(value)
    )


def part(*names: str) -> Check:
    """A part of a name or kind, or one that somebody registered; what is in it is checked by itself."""

    def check(value: Any) -> bool:
        declared = stored_as(type(value))
        if declared is None:
            return isinstance(value, tuple) and hasattr(value, "_fields")
        return declared.name in names or declared.kind in names

    return check


def parts(*names: str) -> Check:
    """A list of parts that is not empty."""
    return list_of(part(*names), 1)


def object_of(*names: str) -> Check:
    """An object of another class of a model file, or of one that is not ours."""
    return lambda value: (
        is_estimator(value) and (type(value).__name__ in names or not type(value).__module__.startswith("frugalsvm."))
    )


def is_classes(value: Any) -> bool:
    """Whether it is a sorted array of distinct labels."""
    if type(value) is not np.ndarray or value.ndim != 1 or value.size == 0 or not is_finite(value):
        return False
    if value.dtype.kind == "O":
        plain = all(type(each) is str for each in value)
        if not plain and not all(isinstance(each, int | float) and math.isfinite(each) for each in value):
            return False
    return value.dtype.kind in "biufUO" and bool((value[:-1] < value[1:]).all())


def are_names(value: Any) -> bool:
    return type(value) is np.ndarray and value.ndim == 1 and all(isinstance(each, str) for each in value)


def is_estimator(value: Any) -> bool:
    return isinstance(value, BaseEstimator)


def is_generator(value: Any) -> bool:
    return isinstance(value, np.random.Generator)


IS_BOOL, IS_FLOATS = of_type(bool, np.bool_), array("f", 1)
NAMES_IN = {"feature_names_in_": are_names, "_labels_in": are_names}  # of columns: text, or other labels as text
