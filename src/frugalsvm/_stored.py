"""What model files hold: NamedTuples declare here, where they are defined, under which name and how they are stored.

``@stored("span", arrays={"inverse": "d pp", ...})`` gives a class the name that files use for it: the class and its
module may get other names, and old files are still read. Loading checks everything that is declared, since compiled
code checks nothing:

- ``arrays``: type and shape. Each letter of a shape is a size that must be the same wherever it occurs in a part and in
  the parts within it: ``s`` slots, ``f`` features, ``o`` outputs; other letters are those of one part. A digit is that
  size. Types are ``x`` (that of the rows: float32 or float64), ``r`` (either of these), ``e`` float32, ``d`` float64,
  ``i`` int64, ``u`` uint64, ``t`` int8 and ``?`` bool. An array of records is declared by their dtype and its shape:
  ``(COUNTS, "1")``.
- ``ranges``: the least and the largest value of numbers; the others must be finite.
- ``kind``: what it may be used as. A field whose annotation leaves open what is in it takes the kind of its name.
- a method ``is_sound(sizes)``, if there is one: whether the numbers fit together. ``sizes`` has the sizes by letter.
- ``optional``: fields that may be None, and ``checked_within``: fields of any type, which ``is_sound`` checks.
- ``earlier``: turns the fields that older files have into those of today.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy.sparse import csr_array, csr_matrix

__all__ = [
    "ANY_COUNT",
    "BUDGET",
    "MANY",
    "NOT_NEGATIVE",
    "POSITIVE",
    "Stored",
    "are_norms",
    "distinct",
    "is_finite",
    "is_matrix",
    "renamed",
    "stored",
    "stored_as",
    "stored_under",
    "within",
]

MANY = 2**62  # beyond every count
POSITIVE, NOT_NEGATIVE, ANY_COUNT = (1e-300, 1e100), (0, 1e100), (0, MANY)
BUDGET = (2, MANY)
_SAME_NORM = {"f4": 1e-3, "f8": 1e-6}  # relative error that norms of rows may have

Fields = dict[str, Any]
ArrayType = str | tuple[np.dtype, str]
Class = TypeVar("Class", bound=type)


class Stored(NamedTuple):
    """What was declared of a class."""

    name: str
    cls: type
    kind: str | None
    arrays: Mapping[str, ArrayType]
    ranges: Mapping[str, tuple[float, float]]
    optional: tuple[str, ...]
    checked_within: tuple[str, ...]
    earlier: Callable[[Fields], Fields] | None


_BY_NAME: dict[str, Stored] = {}
_BY_CLASS: dict[type, Stored] = {}


def stored(
    name: str,
    *,
    kind: str | None = None,
    arrays: Mapping[str, ArrayType] | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    optional: tuple[str, ...] = (),
    checked_within: tuple[str, ...] = (),
    earlier: Callable[[Fields], Fields] | None = None,
) -> Callable[[Class], Class]:
    """Declare how model files hold objects of a NamedTuple class; ``name`` must never change."""

    def declare(cls: Class) -> Class:
        known = _BY_NAME.get(name)
        if known is not None and (known.cls.__module__, known.cls.__qualname__) != (cls.__module__, cls.__qualname__):
            raise ValueError(f"The name {name!r} is that of {known.cls.__qualname__} of {known.cls.__module__}.")
        declared = Stored(name, cls, kind, arrays or {}, ranges or {}, optional, checked_within, earlier)
        _BY_NAME[name] = _BY_CLASS[cls] = declared
        return cls

    return declare


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
