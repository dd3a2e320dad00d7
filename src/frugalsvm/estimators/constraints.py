"""What single parameters may be, and what they stand for: sizes as bytes, times as seconds, names as kernels.

Each class declares constraints of its parameters beside their descriptions (`frugalsvm.estimators.parameters`). A
constraint is a function of the name and the value of a parameter, which raises a `ParameterError`. Those of the nearest
class count, in the order in which Python looks for methods; None takes one away. What parameters must be together,
``_check_params`` says.
"""

import math
import numbers
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from frugalsvm.arrays.namespace import is_torch
from frugalsvm.arrays.tensors import moments_of_tensor
from frugalsvm.compiling.threads import thread_count
from frugalsvm.core.capabilities import check_kernel
from frugalsvm.core.kernels import KERNELS
from frugalsvm.core.moments import Moments, moments_of, scale_gamma
from frugalsvm.exceptions import ParameterError
from frugalsvm.lowrank.kernel_sum import KernelSum
from frugalsvm.lowrank.own_kernel import OwnKernel

_UNITS = {"B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30}
_A_SIZE = "a size such as '64KB', '1.5MB' or '800B'"
_VARIANCE_ROWS = 2**16


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


_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_A_TIME = "a number of seconds, or a time such as '90s', '5min' or '1h'"


def parsed_seconds(name: str, value: Any) -> float | None:
    """The seconds behind a limit such as 60 or "5min"; None is no limit.

    >>> parsed_seconds("time_budget", "2min")
    120.0
    """
    if value is None:
        return None
    if isinstance(value, numbers.Real) and not isinstance(value, bool) and 0 < float(value) < float("inf"):
        return float(value)
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*(s|m|min|h|)\s*", value) if isinstance(value, str) else None
    if match is None or not float(match[1]) > 0:
        raise ParameterError(name, value, _A_TIME)
    return float(match[1]) * _SECONDS[match[2]]


# --- constraints -----------------------------------------------------------------------------------------------------

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
