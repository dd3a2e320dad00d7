"""What single parameters may be: each class declares it once, in ``_constraints``, beside the parameters' descriptions.

A constraint is a function of the name and the value of a parameter, which raises a `ParameterError`. Those of the
nearest class count, in the order in which Python looks for methods; None takes one away. What parameters must be
together, ``_check_params`` says.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from frugalsvm.compiling.threads import thread_count
from frugalsvm.core.capabilities import check_kernel
from frugalsvm.estimators.parameter_values import (
    check_choice,
    check_count,
    check_positive,
    is_path,
    parsed_bytes,
    slots_for_budget,
    values_of_path,
)
from frugalsvm.exceptions import ParameterError

__all__ = [
    "AUTO",
    "LEARNED",
    "Constraint",
    "budget",
    "check_constraints",
    "check_metric",
    "constraints",
    "count",
    "is_auto",
    "non_negative",
    "one_of",
    "optional",
    "or_auto",
    "positive",
    "share",
    "size",
    "strengths",
    "threads",
    "verbosity",
]

AUTO = "auto"
Constraint = Callable[[str, Any], Any]

LEARNED = {"diag": ("plain", "factors"), "full": ("plain", "matrix"), "auto": ("plain", "factors", "matrix")}
_A_METRIC = "'diag', 'full', 'auto', None, factors of the features, or a matrix with a column for each feature"

positive = check_positive
non_negative = partial(check_positive, zero=True)
size = parsed_bytes  # of memory, such as "64KB"


def constraints(**by_name: Constraint | None) -> Mapping[str, Constraint | None]:
    """Those of a class."""
    return by_name


def is_auto(value: Any) -> bool:
    """Whether a parameter, of any type, is "auto"."""
    return isinstance(value, str) and value == AUTO


def check_constraints(estimator: Any) -> None:
    """Refuse parameters that are wrong by themselves."""
    for name, constraint in _constraints_of(type(estimator)):  # type: ignore[arg-type]
        constraint(name, getattr(estimator, name))


@cache
def _constraints_of(cls: Any) -> list[tuple[str, Constraint]]:
    declared: dict[str, Constraint | None] = {}
    for base in reversed(cls.__mro__):
        declared.update(vars(base).get("_constraints", {}))
    names = cls._get_param_names()
    return [(name, constraint) for name, constraint in declared.items() if constraint is not None and name in names]


def one_of(choices: Iterable[Any]) -> Constraint:
    """One of some values; a registry may get more of them later."""
    return lambda name, value: check_choice(name, value, choices)


def count(least: int = 1) -> Constraint:
    return partial(check_count, least=least)


def share(name: str, value: Any) -> None:
    check_positive(name, value)
    if value > 1:
        raise ParameterError(name, value, "a number above 0 and at most 1")


def budget(name: str, value: Any) -> None:
    slots_for_budget(value, 1)


def threads(name: str, value: Any) -> None:
    thread_count(value)


def verbosity(name: str, value: Any) -> None:
    if not isinstance(value, bool | int | np.integer) or value < 0:
        raise ParameterError(name, value, "0, or 1 for a progress line")


def strengths(name: str, value: Any) -> None:
    """A positive number, or a list of them."""
    for each in values_of_path(value) if is_path(value) else [value]:
        check_positive(name, each)


def optional(constraint: Constraint) -> Constraint:
    return lambda name, value: None if value is None else constraint(name, value)


def or_auto(constraint: Constraint) -> Constraint:
    return lambda name, value: None if is_auto(value) else constraint(name, value)


def check_metric(metric: Any, kernel: str) -> None:
    """Refuse what is not a metric, or not one for the kernel."""
    if metric is None:
        return
    if isinstance(metric, str):
        if metric not in LEARNED:
            raise ParameterError("metric", metric, _A_METRIC)
        needs = ("shift_invariant", "products") if metric == "full" else ("shift_invariant",)
        check_kernel("metric", metric, needs, kernel, "use metric=None")
        return
    A = _as_array(metric)
    if A is None or A.ndim not in (1, 2) or 0 in A.shape or not np.isfinite(A).all():
        raise ParameterError("metric", metric, _A_METRIC)


def _as_array(metric):
    try:
        return np.asarray(metric, np.float64)
    except (TypeError, ValueError):
        return None
