"""What model files hold: NamedTuples declare here, where they are defined, under which name and how they are stored.

``@stored("span")`` gives a class the name that files use for it: the class and its module may get other names, and old
files are still read. The types of its fields say what they hold, and loading checks all of it, since compiled code
checks nothing:

- ``Annotated[np.ndarray, "d pp"]`` is an array of a type and a shape. Each letter of a shape is a size that must be the
  same wherever it occurs in a part and in the parts within it: ``s`` slots, ``f`` features, ``o`` outputs; others are
  those of one part. A digit is that size. Types are ``x`` (that of the rows: float32 or float64), ``r`` (either of
  these), ``e`` float32, ``d`` float64, ``i`` int64, ``u`` uint64, ``t`` int8 and ``?`` bool. An array of records is
  declared by their dtype and its shape: ``Annotated[np.ndarray, COUNTS, "1"]``. With ``| None`` it may be None.
- ``Annotated[float, (0, 1)]`` is a number between these, ``Positive``, ``NotNegative``, ``Count`` and ``Budget`` are
  usual ones; other numbers must be finite. Limits of an array, after its shape, are those of its values.
- ``kind``: what it may be used as. A field whose type leaves open what is in it takes the kind of its name.
- a method ``is_sound(sizes)``, if there is one: whether the numbers fit together. ``sizes`` has the sizes by letter.
- ``checked_within``: fields of any type, which ``is_sound`` checks.
- ``earlier``: turns the fields that older files have into those of today.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from scipy.sparse import csr_array, csr_matrix

__all__ = [
    "ABOVE_ZERO", "COUNTED", "MANY", "NOT_BELOW_ZERO", "Budget", "Count", "Field", "NotNegative", "Positive", "Stored",
    "are_norms", "distinct", "fields_of", "is_finite", "is_matrix", "renamed", "stored", "stored_as", "stored_under",
    "within",
]  # fmt: skip

MANY = 2**62  # beyond every count
Positive = Annotated[float, (1e-300, 1e100)]
NotNegative = Annotated[float, (0, 1e100)]
Count = Annotated[int, (0, MANY)]
Budget = Annotated[int, (2, MANY)]
# Limits of the values of arrays: counts, that may still grow, and other numbers
COUNTED, NOT_BELOW_ZERO, ABOVE_ZERO = (0, MANY - 1), (0, math.inf), (5e-324, math.inf)
_SAME_NORM = {"f4": 1e-3, "f8": 1e-6}  # relative error that norms of rows may have

Fields = dict[str, Any]
Class = TypeVar("Class", bound=type)


class Stored(NamedTuple):
    """What was declared of a class."""

    name: str
    cls: type
    kind: str | None
    checked_within: tuple[str, ...]
    earlier: Callable[[Fields], Fields] | None


class Field(NamedTuple):
    """What a field may hold."""

    hint: Any  # its type
    element: str | np.dtype | None = None  # of an array: the letter of its type, or the type of its records
    shape: str = ""
    limits: tuple[float, float] = (-math.inf, math.inf)
    may_be_none: bool = False


_BY_NAME: dict[str, Stored] = {}
_BY_CLASS: dict[type, Stored] = {}


def stored(
    name: str,
    *,
    kind: str | None = None,
    checked_within: tuple[str, ...] = (),
    earlier: Callable[[Fields], Fields] | None = None,
) -> Callable[[Class], Class]:
    """Declare how model files hold objects of a NamedTuple class; ``name`` must never change."""

    def declare(cls: Class) -> Class:
        known = _BY_NAME.get(name)
        if known is not None and (known.cls.__module__, known.cls.__qualname__) != (cls.__module__, cls.__qualname__):
            raise ValueError(f"The name {name!r} is that of {known.cls.__qualname__} of {known.cls.__module__}.")
        _BY_NAME[name] = _BY_CLASS[cls] = Stored(name, cls, kind, checked_within, earlier)
        return cls

    return declare


@cache
def fields_of(cls: type) -> dict[str, Field]:
    """What the fields of a class may hold."""
    return {name: _field(hint) for name, hint in get_type_hints(cls, include_extras=True).items()}


def _field(hint: Any) -> Field:
    may_be_none = type(None) in get_args(hint)
    for each in get_args(hint) if may_be_none else (hint,):
        if get_origin(each) is Annotated:
            plain, *declared = get_args(each)
            limits = declared.pop() if isinstance(declared[-1], tuple) else Field(hint).limits
            element, shape = declared if len(declared) == 2 else declared[0].split(" ") if declared else (None, "")
            return Field(plain, element, shape, limits, may_be_none)
    return Field(hint)


def renamed(**names: str) -> Callable[[Fields], Fields]:
    """For ``earlier``: fields that have another name today, ``renamed(old="new")``."""
    return lambda fields: {names.get(field, field): value for field, value in fields.items()}


def stored_as(cls: type) -> Stored | None:
    """What was declared of a class."""
    return _BY_CLASS.get(cls)


def stored_under(name: str) -> Stored | None:
    """What was declared under a name; modules declare when they are imported."""
    return _BY_NAME.get(name)


# --- for `is_sound` -----------------------------------------------------------------------------------------------


def within(array: np.ndarray, limit: int = MANY, least: int = 0) -> bool:
    """Whether all values are at least ``least`` and below ``limit``."""
    return array.size == 0 or (int(array.min()) >= least and int(array.max()) < limit)


def distinct(array: np.ndarray) -> bool:
    """Whether no value occurs twice."""
    return len(np.unique(array)) == len(array)


def is_finite(array: np.ndarray) -> bool:
    """Whether an array, of numbers or of records of one type of numbers, has neither NaN nor infinity."""
    if array.dtype.names is not None:
        array = array.view(array.dtype[0])
    return array.dtype.kind not in "fc" or bool(np.isfinite(array).all())


def is_matrix(value: Any) -> bool:
    """Whether it is rows, dense or CSR; values may be missing in dense ones."""
    if isinstance(value, csr_matrix | csr_array):
        return value.dtype.kind == "f" and is_finite(value.data)
    return type(value) is np.ndarray and value.dtype.kind == "f" and value.ndim == 2 and not np.isinf(value).any()


def are_norms(norms: np.ndarray, rows: np.ndarray, *, are_sums: bool = False) -> bool:
    """Whether numbers are the squared norms of rows, or their sums: kernels are made of rows and these."""
    with np.errstate(over="ignore"):
        expected = (rows.astype(np.float64) if are_sums else np.square(rows, dtype=np.float64)).sum(axis=1)
        error = np.abs(norms - expected)
    return bool((error <= _SAME_NORM[norms.dtype.str[1:]] * expected + 1e-30).all())
