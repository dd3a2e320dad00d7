"""Numbers in text that the compiled parsers did not take: right after all, or what is wrong with them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalsvm.streams.bad_lines import shown
from frugalsvm.streams.number_parsing import HARD, HARD_BYTES

__all__ = ["HardNumbers", "number_in", "parser_top"]

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_MISSING = {"", "na", "nan", "null", "none", "n/a", "?"}


def number_in(field: str, dtype: Any) -> float | str:
    """The number in a field, or what is wrong with it."""
    field = field.strip()
    if not _NUMBER.fullmatch(field):
        if field.lower() in _MISSING:
            return f"a value is missing ({shown(field)})"
        return f"{shown(field)} is not a number"
    value = float(field)
    if abs(value) > float(np.finfo(dtype).max):
        return f"{shown(field)} is too large for {np.dtype(dtype).name}"
    return value


def parser_top(dtype: Any) -> int:
    """Numbers below ten to this power fit into the type for certain."""
    return 38 if np.dtype(dtype) == np.float32 else 308


class HardNumbers:
    """Room for numbers that the parsers hand back as text, and their conversion."""

    def __init__(self, n_bytes: int) -> None:
        room = n_bytes // 8 + 1
        self.text = np.empty((room, HARD_BYTES), dtype=np.uint8)
        self.places = np.empty(room, dtype=np.int64)

    def settle(self, state: NDArray, values: NDArray, others: NDArray) -> None:
        """Write the numbers to their places: those from -1 downwards belong into ``others``."""
        n = int(state[HARD])
        if n == 0:
            return
        numbers = self.text[:n].view(f"S{HARD_BYTES}").ravel().astype(np.float64)
        places = self.places[:n]
        first = places >= 0
        values[places[first]] = numbers[first]
        others[-1 - places[~first]] = numbers[~first]
