"""Where the fields of a delimited line go, and buffers for them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalsvm.streams.columns import Schema
from frugalsvm.streams.number_notation import HardNumbers

__all__ = ["Plan", "RowBuffers", "is_utf8", "planned"]


class Plan(NamedTuple):
    """Where the fields of a line go: kinds 0 (feature), 1 (label or weight), 2 (text), and the column there."""

    names: tuple[str, ...]
    kinds: NDArray
    targets: NDArray
    strings: tuple[str, ...]
    label_kind: int
    label: int
    weight: int


def planned(schema: Schema) -> Plan:
    """Give each column of a schema its index in a row."""
    kinds, targets, counts = [], [], [0, 0, 0]
    strings: list[str] = []
    index_of = {name: index for index, name in enumerate(schema.numbers)}
    dates = dict(schema.dates)
    label_kind = label = weight = -1
    for column in schema.columns:
        is_text = column.kind == "string" or column.name in dates
        kind = 2 if is_text else 0 if column.role == "feature" else 1
        if column.role == "label":
            label_kind, label = kind, counts[kind]
        elif column.role == "weight":
            weight = counts[kind]
        if kind == 2:
            strings.append(column.name)
        kinds.append(kind)
        targets.append(index_of[column.name] if kind == 0 else counts[kind])
        counts[kind] += 1
    names = tuple(column.name for column in schema.columns)
    return Plan(names, np.array(kinds), np.array(targets), tuple(strings), label_kind, label, weight)


class RowBuffers:
    """Arrays for the rows of one block."""

    def __init__(self, n_rows: int, n_bytes: int, plan: Plan, dtype: Any) -> None:
        n_numbers, n_extras, n_strings = (int(np.sum(plan.kinds == kind)) for kind in range(3))
        self.numbers = np.empty((n_rows, n_numbers), dtype=dtype)
        self.extras = np.empty((n_rows, n_extras))
        self.spans = np.empty((n_rows, n_strings, 2), dtype=np.int64)
        self.lines = np.empty(n_rows, dtype=np.int64)
        self.hard = HardNumbers(n_bytes)
        # Text that Python code read, by row and column, where the bytes of the block are not the text.
        self.read: dict[tuple[int, int], str] = {}


def is_utf8(text: bytes) -> bool:
    """Whether all of the text is UTF-8, as ASCII is."""
    if text.isascii():
        return True
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
