"""Numbers in text that the compiled parsers did not take: right after all, or what is wrong with them."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalsvm.streams.bad_lines import shown
from frugalsvm.streams.number_parsing import HARD, HARD_BYTES

_EXPONENT = r"([eE][+-]?\d+)?"
_MISSING = {"", "na", "nan", "-nan", "null", "none", "n/a", "#n/a", "#na", "<na>", "\\n", "?", "-", "."}
_MAY_BE_LABELS = {"none", "-", "."}


class Notation(NamedTuple):
    """How numbers are written: the mark before decimals, and the one between groups of three digits, if any."""

    decimal: str = "."
    thousands: str | None = None


PLAIN = Notation()


@cache
def _pattern(notation: Notation) -> re.Pattern[str]:
    point = re.escape(notation.decimal)
    number = rf"\d+({point}\d*)?|{point}\d+"
    if notation.thousands is not None:
        number = rf"\d{{1,3}}({re.escape(notation.thousands)}\d{{3}})+({point}\d*)?|{number}"
    return re.compile(rf"[+-]?({number}){_EXPONENT}", re.ASCII)


def is_missing(field: str, *, is_label: bool = False) -> bool:
    """Whether a field stands for a value that is not there; some such words can be labels as well."""
    word = field.strip().lower()
    return word in _MISSING and not (is_label and word in _MAY_BE_LABELS)


def missing_words() -> set[str]:
    """How values that are not there are written most often, for readers that heed the case."""
    return {spelled for word in _MISSING for spelled in (word, word.upper(), word.capitalize())} | {"NaN", "-NaN"}


def number_in(field: str, dtype: Any, notation: Notation = PLAIN) -> float | str:
    """The number in a field, or what is wrong with it."""
    field = field.strip()
    if notation.thousands == " ":
        field = field.replace("\xa0", " ").replace("\u202f", " ")
    if not _pattern(notation).fullmatch(field):
        if is_missing(field):
            return f"a value is missing ({shown(field)})"
        return f"{shown(field)} is not a number"
    plain = field.replace(notation.thousands, "") if notation.thousands else field
    if notation.decimal != ".":
        plain = plain.replace(notation.decimal, ".")
    value = float(plain)
    if abs(value) > float(np.finfo(dtype).max):
        return f"{shown(field)} is too large for {np.dtype(dtype).name}"
    return value


def parser_top(dtype: Any) -> int:
    """Numbers below ten to this power fit into the type for certain."""
    return 38 if np.dtype(dtype) == np.float32 else 308


class HardNumbers:
    """Buffers for numbers that the parsers hand back as text, and their conversion."""

    def __init__(self, n_bytes: int) -> None:
        room = n_bytes // 8 + 1
        self.text = np.empty((room, HARD_BYTES), dtype=np.uint8)
        self.targets = np.empty(room, dtype=np.int64)

    def settle(self, state: NDArray, values: NDArray, others: NDArray) -> None:
        """Write the numbers to where they belong: those from -1 downwards belong into ``others``."""
        n = int(state[HARD])
        if n == 0:
            return
        numbers = self.text[:n].view(f"S{HARD_BYTES}").ravel().astype(np.float64)
        targets = self.targets[:n]
        first = targets >= 0
        values[targets[first]] = numbers[first]
        others[-1 - targets[~first]] = numbers[~first]
