"""Sources of dense rows, with many features and with few.

* ``DenseBlocks``: one matrix product for a block of examples, by BLAS. Best for about 9 features or more.
* ``DenseColumns``: the support vectors kept feature by feature; an example's products are a few vectorized
  additions. Nothing to look ahead to: best for few features.
"""

from typing import NamedTuple

import numpy as np

from frugalsvm._compile import compiled, counted
from frugalsvm.core.expansion import SLOT_MULTIPLE
from frugalsvm.core.fastmath import copy_row, rows_dot
from frugalsvm.core.lookahead import (
    LONG_BLOCK_ROWS,
    SOURCE_STATE,
    example_norm,
    load,
    products_row,
    touch,
    write_example,
)

__all__ = [
    "FEW_FEATURES",
    "DenseBlocks",
    "DenseColumns",
    "add_one",
    "add_pair",
    "copy_to_slot",
    "dense_norm",
    "mark_changed",
    "new_dense_source",
]

FEW_FEATURES = 8  # up to here DenseColumns is faster than DenseBlocks


class DenseBlocks(NamedTuple):
    X: np.ndarray  # (n_examples, n_features)
    order: np.ndarray  # the sequence in which examples are taken
    block: np.ndarray  # (block_rows, n_features) the examples at hand
    products: np.ndarray  # their products with the slots, ``room`` to a row
    dirty: np.ndarray  # slots changed since the block was loaded
    is_dirty: np.ndarray
    state: np.ndarray


class DenseColumns(NamedTuple):
    X: np.ndarray
    order: np.ndarray
    block: np.ndarray  # gathered at once: in random order, each row is a cache miss, and these then overlap
    columns: np.ndarray  # (n_features, capacity) the support vectors, transposed
    products: np.ndarray
    state: np.ndarray


def new_dense_source(X, order, expansion, block_rows):
    capacity, n_features = expansion.rows.shape
    X = X.view()
    X.flags.writeable = False  # one compiled type for arrays that are and that are not
    if n_features <= FEW_FEATURES:
        return DenseColumns(
            X,
            order,
            block=np.zeros((LONG_BLOCK_ROWS, n_features), X.dtype),
            columns=np.zeros((n_features, capacity), X.dtype),
            products=np.zeros(capacity, X.dtype),
            state=np.zeros(1, SOURCE_STATE),
        )
    return DenseBlocks(
        X,
        order,
        block=np.zeros((block_rows, n_features), X.dtype),
        products=np.zeros(block_rows * capacity, X.dtype),
        dirty=np.zeros(capacity, np.int64),
        is_dirty=np.zeros(capacity, np.bool_),
        state=np.zeros(1, SOURCE_STATE),
    )


# --- DenseBlocks ------------------------------------------------------------------------------------------


@counted
def _block_product(block, count, rows, width, products):
    """``products = block[:count] @ rows[:width].T``, row after row in a flat array."""
    np.dot(block[:count], rows[:width].T, products[: count * width].reshape(count, width))


@load.implement(DenseBlocks, inline=False)
def _blocks_load(source, start, count, expansion):
    for i in range(count):
        copy_row(source.block, i, source.X, source.order[start + i])
    # Room for a few new slots, if the store has it: a growing model ends its blocks early rather than multiply
    # with slots that are still empty.
    room = min(expansion.rows.shape[0], (expansion.counts[0]["n_slots"] // SLOT_MULTIPLE + 1) * SLOT_MULTIPLE)
    _block_product(source.block, count, expansion.rows, room, source.products)
    for k in range(source.state[0]["n_dirty"]):
        source.is_dirty[source.dirty[k]] = False
    source.state[0]["room"] = room
    source.state[0]["n_dirty"] = 0
    return count


@products_row.implement(DenseBlocks)
def _blocks_products_row(source, i, expansion):
    start = i * source.state[0]["room"]
    for k in range(source.state[0]["n_dirty"]):
        j = source.dirty[k]
        source.products[start + j] = rows_dot(source.block, i, expansion.rows, j)
    return start


@example_norm.implement(DenseBlocks, DenseColumns)
def dense_norm(source, i):
    return rows_dot(source.block, i, source.block, i)


@write_example.implement(DenseBlocks, DenseColumns)
def copy_to_slot(source, i, rows, slot):
    copy_row(rows, slot, source.block, i)


@touch.implement(DenseBlocks)
def mark_changed(source, slot, expansion):
    if not source.is_dirty[slot]:
        source.is_dirty[slot] = True
        source.dirty[source.state[0]["n_dirty"]] = slot
        source.state[0]["n_dirty"] += 1


# --- DenseColumns -----------------------------------------------------------------------------------------


@load.implement(DenseColumns, inline=False)
def _columns_load(source, start, count, expansion):
    source.state[0]["room"] = expansion.rows.shape[0]
    if source.state[0]["is_filled"] == 0:  # once: from then on `touch` keeps the columns current
        for j in range(expansion.counts[0]["n_slots"]):
            _write_column(source.columns, expansion.rows, j)
        source.state[0]["is_filled"] = 1
    for i in range(count):
        copy_row(source.block, i, source.X, source.order[start + i])
    return count


@compiled
def _write_column(columns, rows, slot):
    for f in range(rows.shape[1]):
        columns[f, slot] = rows[slot, f]


@products_row.implement(DenseColumns)
def _columns_products_row(source, i, expansion):
    n = expansion.counts[0]["n_slots"]
    n_features = source.block.shape[1]
    # Two features at a time halve the traffic to the products.
    if n_features > 1:
        _set_pair(source.block[i, 0], source.block[i, 1], source.columns, source.products, n)
    else:
        _set_one(source.block[i, 0], source.columns, source.products, n)
    for f in range(2, n_features - 1, 2):
        add_pair(source.block[i, f], f, source.block[i, f + 1], f + 1, source.columns, source.products, n)
    if n_features > 1 and n_features % 2 == 1:
        add_one(source.block[i, n_features - 1], n_features - 1, source.columns, source.products, n)
    return 0


@compiled
def _set_one(a, columns, out, n):
    for j in range(n):
        out[j] = a * columns[0, j]


@compiled
def _set_pair(a, b, columns, out, n):
    for j in range(n):
        out[j] = a * columns[0, j] + b * columns[1, j]


@compiled
def add_one(a, f, columns, out, n):
    for j in range(n):
        out[j] += a * columns[f, j]


@compiled
def add_pair(a, f, b, g, columns, out, n):
    for j in range(n):
        out[j] += a * columns[f, j] + b * columns[g, j]


@touch.implement(DenseColumns)
def _columns_touch(source, slot, expansion):
    _write_column(source.columns, expansion.rows, slot)
