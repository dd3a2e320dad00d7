"""Whether the parts of a model are what was declared of them (`frugalsvm._stored`): compiled code checks nothing."""

import math
from typing import Any, get_type_hints

import numpy as np

from frugalsvm._stored import Stored, is_finite, stored_as
from frugalsvm.persist.errors import malformed

__all__ = ["check_part"]

_DTYPES = {
    "x": ("f4", "f8"),
    "r": ("f4", "f8"),
    "e": ("f4",),
    "d": ("f8",),
    "i": ("i8",),
    "u": ("u8",),
    "t": ("i1",),
    "?": ("?",),
}
_FROM_PARTS_WITHIN = "sfox"  # sizes, and the type of rows, that a part shares with the parts within it


def check_part(part: tuple) -> dict[str, Any]:
    """Check a NamedTuple and all within; returns its sizes, and the type of its rows as ``x``."""
    declared = stored_as(type(part))
    if declared is None:  # registered by somebody else, who checks it
        return {}
    sizes: dict[str, Any] = {}
    for field, hint in get_type_hints(type(part)).items():
        _check_field(declared, field, hint, getattr(part, field), sizes)
    is_sound = getattr(part, "is_sound", None)
    if is_sound is not None and not is_sound(sizes):
        raise malformed(f"numbers of {declared.name} are out of range")
    return sizes


def _check_field(declared: Stored, field: str, hint: Any, value: Any, sizes: dict[str, Any]) -> None:
    where = f"{declared.name}.{field}"
    if field in declared.checked_within or (value is None and field in declared.optional):
        return
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        _check_choice(field, hint, value, where)
        within = check_part(value)
        _agree(sizes, {letter: n for letter, n in within.items() if letter in _FROM_PARTS_WITHIN}, declared.name)
    elif field in declared.arrays:
        _agree(sizes, _matched(value, declared.arrays[field], where), declared.name)
    else:
        _check_number(hint, value, declared.ranges.get(field, (-math.inf, math.inf)), where)


def _agree(sizes: dict[str, Any], others: dict[str, Any], where: str) -> None:
    for letter, size in others.items():
        if sizes.setdefault(letter, size) != size:
            raise malformed(f"the arrays of {where} do not fit together")


def _matched(array: Any, declared: str | tuple[np.dtype, str], where: str) -> dict[str, Any]:
    """The sizes that a declared array has."""
    code, shape = declared if isinstance(declared, tuple) else declared.split(" ")
    dtypes = _DTYPES[code] if isinstance(code, str) else (code,)
    if type(array) is not np.ndarray or array.ndim != len(shape):
        raise malformed(f"{where} is not an array of the right dimension")
    if array.dtype not in dtypes or not (array.flags.c_contiguous or array.size == 0):
        raise malformed(f"{where} is an array of {array.dtype}, which is not its type")
    if not is_finite(array):
        raise malformed(f"{where} has values that are not finite")
    sizes: dict[str, Any] = {"x": array.dtype.str} if code == "x" else {}
    for letter, size in zip(shape, array.shape, strict=True):
        if letter.isdigit() and int(letter) != size:
            raise malformed(f"{where} has a wrong shape")
        if letter.isalpha():
            _agree(sizes, {letter: size}, where)
    return sizes


def _check_choice(field: str, hint: Any, value: tuple, where: str) -> None:
    """Check that a part is one of those that may be there: of the declared class, or of the kind of its field."""
    cls, declared = type(value), stored_as(type(value))
    if isinstance(hint, type) and issubclass(hint, tuple):
        allowed = cls is hint
    else:
        allowed = declared is None or declared.kind == field
    if not allowed:
        raise malformed(f"{where} cannot be a {cls.__name__}")


def _check_number(hint: Any, value: Any, limits: tuple[float, float], where: str) -> None:
    kinds = {float: (float,), int: (int,), bool: (bool,)}.get(hint)
    if kinds is None or type(value) not in kinds:
        raise malformed(f"{where} cannot be {str(value)[:40]!r}")
    if not math.isfinite(value) or not limits[0] <= value <= limits[1] or (hint is int and abs(value) > 2**63 - 1):
        raise malformed(f"{where} is out of range")
