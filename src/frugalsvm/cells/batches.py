"""Cells in batches for a device: those of about one size together, padded to the largest, within a memory limit."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.arrays.namespace import is_torch

_ALIKE = 0.8  # of the largest size in a batch: smaller ones are another batch
_ROWS_SHARE = 0.4  # of the memory of a device: larger tables stay on the host
_STEP = 32  # sizes are padded to a multiple of it, which products like


def padded_length(size: int) -> int:
    """The size that a cell is padded to where it is the largest."""
    return -(-size // _STEP) * _STEP


def batches_of(sizes: np.ndarray, bytes_of, memory: int) -> Iterator[tuple[np.ndarray, int]]:
    """Positions of sizes, the largest first, in batches, and what these are padded to.

    ``bytes_of(n)`` is what an item that is padded to n takes. A batch has one item at least.
    """
    order = np.argsort(-sizes, kind="stable")
    descending = sizes[order]
    start = 0
    while start < len(order):
        largest = int(descending[start])
        room = max(1, int(memory // bytes_of(padded_length(largest))))
        least = int(_ALIKE * largest) if largest > _STEP else 0
        n_alike = int(np.searchsorted(-descending[start:], -least, side="right"))
        stop = start + min(room, n_alike)
        yield order[start:stop], padded_length(largest)
        start = stop


class Padded(NamedTuple):
    """Consecutive numbers of several ranges, (n_ranges, length), on a device."""

    places: Any  # int64; past the end of a range, that of its last one
    is_there: Any  # bool; False past the end of a range


def padded_places(arrays: Any, starts: np.ndarray, sizes: np.ndarray, length: int) -> Padded:
    """The places of ranges that begin at ``starts``."""
    xp = arrays.xp
    starts, sizes = arrays.asarray(starts)[:, None], arrays.asarray(sizes)[:, None]
    steps = xp.arange(length, device=arrays.device)[None]
    return Padded(starts + xp.minimum(steps, sizes - 1), steps < sizes)


def near(arrays: Any, rows: Any) -> Any:
    """Rows on a device, if there is room for them; where they are, if not."""
    fits = is_torch(rows) or rows.nbytes <= _ROWS_SHARE * arrays.free_bytes()
    return arrays.asarray(rows) if fits else rows


def taken(arrays: Any, rows: Any, index: Any) -> Any:
    """Some rows on a device, wherever they all are; the index is on the device."""
    is_near = is_torch(rows) or not arrays.is_torch
    return rows[index] if is_near else arrays.asarray(rows[arrays.host(index)])
