"""Sources of dense rows, with many features and with few.

* ``DenseBlocks``: one matrix product for a block of examples, by BLAS. Best for about 9 features or more. Where nearly
  all values are zero, the others alone are multiplied.
* ``DenseColumns``: the support vectors kept feature by feature; an example's products are a few vectorized
  additions. Nothing to look ahead to: best for few features.
"""

from typing import NamedTuple

import numpy as np

from frugalsvm.compiling.functions import compiled, read_only, separate, smaller
from frugalsvm.core.expansion import SLOT_MULTIPLE, padded, whole_groups
from frugalsvm.core.fastmath import ADJACENT, copy_row
from frugalsvm.core.lookahead import (
    BLOCK_ROWS,
    LONG_BLOCK_ROWS,
    SHORT_BLOCK_ROWS,
    SOURCE_STATE,
    example_norm,
    load,
    products_row,
    slot_products,
    touch,
    write_example,
)
from frugalsvm.core.pairing import (
    LARGE,
    SOME_FEATURES,
    Products,
    column_pairs,
    mixed_block_pairs,
    needs_columns,
    row_norm,
    row_pairs,
    takes_rows,
)
from frugalsvm.core.workspace import scratch

FEW_FEATURES = 8  # up to here DenseColumns is faster than DenseBlocks
ODD_SLOTS = 8  # between the products of two rows
FEW_ROWS = 16  # for fewer, transposing the support vectors takes longer than the products
MANY_CHANGES = 2  # a block is short if more than one slot changed for every two examples of the one before it
SOME_CHANGES = 8  # and not long if more than one changed for every eight
_LARGE = LARGE // BLOCK_ROWS  # values of all support vectors for each row of a block
_MOST_PRODUCTS = 2**18  # of a block with all slots


class DenseBlocks(NamedTuple):
    pairing: NamedTuple  # what `products` are
    X: np.ndarray  # (n_examples, n_features)
    order: np.ndarray  # the sequence in which examples are taken
    block: np.ndarray  # (block_rows, n_features) the examples at hand
    norms: np.ndarray  # (block_rows,) and their norms, see `row_norm`
    turned: np.ndarray  # the examples feature by feature, where there are few features: `touch` uses them
    column: np.ndarray  # (block_rows,) products of the examples with a slot
    columns: np.ndarray  # the support vectors, transposed, ``stride`` to a feature
    products: np.ndarray  # products of the examples with the slots, ``stride`` to a row
    state: np.ndarray


class DenseColumns(NamedTuple):
    pairing: NamedTuple
    X: np.ndarray
    order: np.ndarray
    block: np.ndarray  # gathered at once: in random order, each row is a cache miss, and these then overlap
    norms: np.ndarray
    columns: np.ndarray  # the support vectors, transposed, ``capacity`` to a feature
    products: np.ndarray
    state: np.ndarray


def new_dense_source(pairing, X, order, expansion, block_rows):
    capacity, n_features = expansion.rows.shape
    X = read_only(X)
    if n_features <= FEW_FEATURES:
        return DenseColumns(
            pairing,
            X,
            order,
            block=scratch(LONG_BLOCK_ROWS * n_features, X.dtype).reshape(-1, n_features),
            norms=np.zeros(LONG_BLOCK_ROWS, X.dtype),
            columns=scratch(n_features * capacity, X.dtype),
            products=scratch(capacity, X.dtype),
            state=np.zeros(1, SOURCE_STATE),
        )
    is_narrow = n_features <= SOME_FEATURES
    if block_rows is None:
        # Products of slots that change are few in a short block, and BLAS takes hardly longer for it.
        block_rows = SHORT_BLOCK_ROWS if is_narrow else block_rows_for(pairing, n_features, capacity)
    return DenseBlocks(
        pairing,
        X,
        order,
        block=scratch(block_rows * n_features, X.dtype).reshape(-1, n_features),
        norms=np.zeros(block_rows, X.dtype),
        turned=scratch(padded(block_rows) * n_features if is_narrow else 0, X.dtype),
        column=scratch(padded(block_rows), X.dtype),
        columns=scratch(n_features * (capacity + ODD_SLOTS), X.dtype),
        products=scratch(block_rows * (capacity + ODD_SLOTS), X.dtype),
        state=np.zeros(1, SOURCE_STATE),
    )


def block_rows_for(pairing, n_features, capacity):
    """How many rows are multiplied with all support vectors at a time.

    BLAS copies all of these for each product, which took half of the time of 64 rows of 784 features on x86-64. So
    where they are large, blocks are longer, as long as their products stay in the cache. Products are the same bit for
    bit: BLAS has another way for matrices that are smaller than all these.
    """
    rows = BLOCK_ROWS
    if not isinstance(pairing, Products):
        return rows
    while n_features * capacity >= _LARGE * rows and 2 * rows * capacity <= _MOST_PRODUCTS and rows < LONG_BLOCK_ROWS:
        rows *= 2
    return rows


# --- both -------------------------------------------------------------------------------------------------


@compiled
def _gather(pairing, X, order, start, count, block, norms):
    for i in range(count):
        copy_row(block, i, X, order[start + i])
        norms[i] = row_norm(pairing, block, i)


@example_norm.implement(DenseBlocks, DenseColumns)
def _dense_norm(source, i):
    return source.norms[i]


@write_example.implement(DenseBlocks, DenseColumns)
def copy_to_slot(source, i, rows, slot):
    copy_row(rows, slot, source.block, i)


@compiled
def _write_column(columns, stride, rows, slot):
    for f in range(rows.shape[1]):
        columns[f * stride + slot] = rows[slot, f]


@compiled
def _write_columns(columns, stride, rows, n):
    """The first n slots, some at a time: values that are neighbors in a column share a line of the cache."""
    for start in range(0, n, SLOT_MULTIPLE):
        stop = smaller(start + SLOT_MULTIPLE, n)
        for f in range(rows.shape[1]):
            for j in range(start, stop):
                columns[f * stride + j] = rows[j, f]


# --- DenseBlocks ------------------------------------------------------------------------------------------


@load.implement(DenseBlocks, inline=False)
def _blocks_load(source, start, count, expansion):
    n, state = expansion.counts[0]["n_slots"], source.state
    # Room for some new slots, if the store has it: a growing model ends its blocks early rather than multiply with
    # slots that are still empty.
    capacity, enough = expansion.rows.shape[0], whole_groups(n + 1 + n // 16)
    room = enough if enough < capacity else capacity
    # No power of two, nor a multiple of one: all values of a slot would compete for a few places in the cache.
    stride = room + ODD_SLOTS
    # Blocks are not long while the model grows, nor where many slots change, which takes longer then.
    if room < capacity or state[0]["n_dirty"] * MANY_CHANGES > state[0]["count"]:
        count = smaller(count, BLOCK_ROWS - start % BLOCK_ROWS)
    elif state[0]["n_dirty"] * SOME_CHANGES > state[0]["count"]:
        count = smaller(count, 2 * BLOCK_ROWS - start % (2 * BLOCK_ROWS))
    state[0]["n_dirty"] = state[0]["is_turned"] = 0
    _gather(source.pairing, source.X, source.order, start, count, source.block, source.norms)
    if stride != state[0]["stride"]:
        state[0]["is_filled"] = 0
    state[0]["count"], state[0]["row"], state[0]["room"], state[0]["stride"] = count, 0, room, stride
    if count < FEW_ROWS:
        for i in range(count):
            row_pairs(source.pairing, source.block, i, expansion.rows, n, source.products[i * stride :], ADJACENT)
        return count
    by_rows = takes_rows(source.pairing, expansion.rows)
    if state[0]["is_filled"] == 0 and (not by_rows or needs_columns(source.pairing, source.block, count)):
        _write_columns(source.columns, stride, expansion.rows, n)  # once: from then on `touch` keeps them current
        state[0]["is_filled"] = 1
    rows = expansion.rows[: room if by_rows else 0]
    mixed_block_pairs(source.pairing, source.block, count, rows, source.columns, stride, source.products)
    return count


@products_row.implement(DenseBlocks)
def _blocks_products_row(source, i, expansion):
    source.state[0]["row"] = i
    return i * source.state[0]["stride"]


@touch.implement(DenseBlocks, inline=False)
def _blocks_touch(source, slot, expansion):
    source.state[0]["n_dirty"] += 1
    stride, row, count = source.state[0]["stride"], source.state[0]["row"], source.state[0]["count"]
    if source.turned.size > 0:
        _products_by_features(source, slot, expansion)
    else:
        row = row // 4 * 4  # whole groups of four, as in other blocks
        column = source.products[row * stride + slot :]
        row_pairs(source.pairing, expansion.rows, slot, source.block[row:], count - row, column, stride)
    if source.state[0]["is_filled"] == 1:
        _write_column(source.columns, stride, expansion.rows, slot)


@separate
def _products_by_features(source, slot, expansion):
    """Products of a slot with the rows of the block from the one at hand on, many rows at a time."""
    state, between, n_features = source.state, source.column.size, source.block.shape[1]
    if state[0]["is_turned"] == 0:
        for i in range(state[0]["row"], state[0]["count"]):
            for f in range(n_features):
                source.turned[f * between + i] = source.block[i, f]
        state[0]["is_turned"] = 1
    row = state[0]["row"] // SLOT_MULTIPLE * SLOT_MULTIPLE  # whole groups, as in other blocks
    n = whole_groups(state[0]["count"]) - row
    column_pairs(source.pairing, expansion.rows, slot, source.turned[row:], between, source.column, n)
    at, stride = row * state[0]["stride"] + slot, state[0]["stride"]
    for i in range(state[0]["count"] - row):
        source.products[at + i * stride] = source.column[i]


@slot_products.implement(DenseBlocks)
def _blocks_slot_products(source, slot, expansion, out):
    n, stride = expansion.counts[0]["n_slots"], source.state[0]["stride"]
    if source.state[0]["count"] < FEW_ROWS or takes_rows(source.pairing, expansion.rows):  # as in `load`
        row_pairs(source.pairing, expansion.rows, slot, expansion.rows, n, out, ADJACENT)
    else:
        _write_column(source.columns, stride, expansion.rows, n - 1)  # of a newcomer, before it is announced
        column_pairs(source.pairing, expansion.rows, slot, source.columns, stride, out, whole_groups(n))


# --- DenseColumns -----------------------------------------------------------------------------------------


@load.implement(DenseColumns, inline=False)
def _columns_load(source, start, count, expansion):
    capacity = expansion.rows.shape[0]
    source.state[0]["room"] = capacity
    if source.state[0]["is_filled"] == 0:  # once: from then on `touch` keeps the columns current
        _write_columns(source.columns, capacity, expansion.rows, expansion.counts[0]["n_slots"])
        source.state[0]["is_filled"] = 1
    _gather(source.pairing, source.X, source.order, start, count, source.block, source.norms)
    return count


@products_row.implement(DenseColumns)
def _columns_products_row(source, i, expansion):
    n, stride = expansion.counts[0]["n_slots"], expansion.rows.shape[0]
    column_pairs(source.pairing, source.block, i, source.columns, stride, source.products, n)
    return 0


@slot_products.implement(DenseColumns)
def _columns_slot_products(source, slot, expansion, out):
    n, stride = expansion.counts[0]["n_slots"], expansion.rows.shape[0]
    _write_column(source.columns, stride, expansion.rows, n - 1)  # of a newcomer, before it is announced
    column_pairs(source.pairing, expansion.rows, slot, source.columns, stride, out, n)


@touch.implement(DenseColumns)
def _columns_touch(source, slot, expansion):
    _write_column(source.columns, expansion.rows.shape[0], expansion.rows, slot)
