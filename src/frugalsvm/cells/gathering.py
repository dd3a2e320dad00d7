"""Rows of a cell, one after the other in memory, as kernel values of blocks of rows need them."""

from typing import Any, NamedTuple

import numpy as np

from frugalsvm.compiling.functions import compiled, inlined
from frugalsvm.core.kernels import pairing_of
from frugalsvm.core.pairing import row_norm

__all__ = ["BLOCK_ROWS", "PANEL_ROWS", "Storage", "capacity_for", "gather_rows", "new_storage", "padded_size"]

BLOCK_ROWS = 64  # whose pairs with others are computed at a time
PANEL_ROWS = 2048  # of a cell that these others are: what is computed stays in the cache
_PADDING = 16


class Storage(NamedTuple):
    """Memory of one thread, for up to a number of rows of a cell."""

    rows: np.ndarray  # (capacity, n_features)
    columns: np.ndarray  # the same, feature after feature
    norms: np.ndarray
    products: np.ndarray  # (BLOCK_ROWS * capacity,)
    values: np.ndarray  # (capacity,) kernel values


def capacity_for(size: int) -> int:
    """Rows that there must be memory for, with padding."""
    return -(-size // _PADDING) * _PADDING


def new_storage(size: int, n_features: int, dtype: Any) -> Storage:
    """Memory for up to ``size`` rows."""
    capacity = capacity_for(size)
    return Storage(
        np.zeros((capacity, n_features), dtype),
        np.zeros(n_features * capacity, dtype),
        np.zeros(capacity, dtype),
        np.zeros(BLOCK_ROWS * capacity, dtype),
        np.zeros(capacity, dtype),
    )


@inlined
def padded_size(n):
    """How far it is from one feature of n rows to the next."""
    return (n + _PADDING - 1) // _PADDING * _PADDING


@compiled
def gather_rows(kernel, rows, cells, cell, first, n, own, columns, norms):
    """Copy n rows of a cell, relative to its center, from the first one on: also feature by feature, padded."""
    start, centers, members = cells.tree.starts[cell] + first, cells.centers, cells.tree.members
    stride = padded_size(n)
    for i in range(n):
        row = members[start + i]
        for f in range(rows.shape[1]):
            value = np.float64(rows[row, f]) - centers[cell, f]
            own[i, f] = value
            columns[f * stride + i] = value
    for f in range(rows.shape[1]):
        for i in range(n, stride):
            columns[f * stride + i] = 0.0
    for i in range(n):
        norms[i] = row_norm(pairing_of(kernel), own, i)
