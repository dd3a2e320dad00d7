"""Sources of dense rows, with many features and with few.

* ``DenseBlocks``: one matrix product for a block of examples, by BLAS. Best for about 9 features or more. Where nearly
  all values are zero, the others alone are multiplied.
* ``DenseColumns``: the support vectors kept feature by feature; an example's products are a few vectorized
  additions. Nothing to look ahead to: best for few features.
"""

from typing import NamedTuple

import numpy as np

from frugalsvm._compile import compiled, inlined, matrix_product, separate
from frugalsvm.core.expansion import whole_groups
from frugalsvm.core.fastmath import ADJACENT, copy_row, row_products, rows_dot
from frugalsvm.core.lookahead import (
    LONG_BLOCK_ROWS,
    SOURCE_STATE,
    example_norm,
    load,
    products_row,
    slot_products,
    touch,
    write_example,
)

__all__ = [
    "FEW_FEATURES",
    "FEW_ROWS",
    "ODD_SLOTS",
    "DenseBlocks",
    "DenseColumns",
    "add_one",
    "add_pair",
    "copy_to_slot",
    "multiply_block",
    "new_dense_source",
    "products_with_columns",
]

FEW_FEATURES = 8  # up to here DenseColumns is faster than DenseBlocks
ODD_SLOTS = 8  # between the products of two rows
MANY_ZEROS = 7  # a block with so many times as many values as are not zero is multiplied without the zeros
FEW_ROWS = 16  # for fewer, transposing the support vectors takes longer than the products


class DenseBlocks(NamedTuple):
    X: np.ndarray  # (n_examples, n_features)
    order: np.ndarray  # the sequence in which examples are taken
    block: np.ndarray  # (block_rows, n_features) the examples at hand
    norms: np.ndarray  # (block_rows,) and their squared norms
    columns: np.ndarray  # the support vectors, transposed, ``stride`` to a feature
    products: np.ndarray  # products of the examples with the slots, ``stride`` to a row
    state: np.ndarray


class DenseColumns(NamedTuple):
    X: np.ndarray
    order: np.ndarray
    block: np.ndarray  # gathered at once: in random order, each row is a cache miss, and these then overlap
    norms: np.ndarray
    columns: np.ndarray  # the support vectors, transposed, ``capacity`` to a feature
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
            norms=np.zeros(LONG_BLOCK_ROWS, X.dtype),
            columns=np.zeros(n_features * capacity, X.dtype),
            products=np.zeros(capacity, X.dtype),
            state=np.zeros(1, SOURCE_STATE),
        )
    return DenseBlocks(
        X,
        order,
        block=np.zeros((block_rows, n_features), X.dtype),
        norms=np.zeros(block_rows, X.dtype),
        columns=np.zeros(n_features * (capacity + ODD_SLOTS), X.dtype),
        products=np.zeros(block_rows * (capacity + ODD_SLOTS), X.dtype),
        state=np.zeros(1, SOURCE_STATE),
    )


# --- both -------------------------------------------------------------------------------------------------


@compiled
def _gather(X, order, start, count, block, norms):
    for i in range(count):
        copy_row(block, i, X, order[start + i])
        norms[i] = rows_dot(block, i, block, i)


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
def products_with_columns(matrix, i, columns, stride, out, n):
    """``out[j] = sum_f matrix[i, f] columns[f stride + j]`` for ``j < n``."""
    n_features = matrix.shape[1]
    # Several features at a time: less traffic to the products.
    if n_features > 1:
        _set_pair(matrix[i, 0], columns, matrix[i, 1], columns[stride:], out, n)
    else:
        _set_one(matrix[i, 0], columns, out, n)
    f = 2
    while f + 4 <= n_features:
        _add_four(matrix, i, f, columns[f * stride :], stride, out, n)
        f += 4
    if f + 2 <= n_features:
        add_pair(matrix[i, f], columns[f * stride :], matrix[i, f + 1], columns[(f + 1) * stride :], out, n)
        f += 2
    if f < n_features:
        add_one(matrix[i, f], columns[f * stride :], out, n)


@compiled
def _set_one(a, column, out, n):
    for j in range(n):
        out[j] = a * column[j]


@compiled
def _set_pair(a, column, b, other, out, n):
    for j in range(n):
        out[j] = a * column[j] + b * other[j]


@compiled
def add_one(a, column, out, n):
    for j in range(n):
        out[j] += a * column[j]


@compiled
def add_pair(a, column, b, other, out, n):
    for j in range(n):
        out[j] += a * column[j] + b * other[j]


@compiled
def _add_four(matrix, i, f, columns, stride, out, n):
    a, b, c, d = matrix[i, f], matrix[i, f + 1], matrix[i, f + 2], matrix[i, f + 3]
    first, second, third, fourth = columns, columns[stride:], columns[2 * stride :], columns[3 * stride :]
    for j in range(n):
        out[j] += (a * first[j] + b * second[j]) + (c * third[j] + d * fourth[j])


@separate
def _products_without_zeros(matrix, i, columns, stride, out, n):
    """The same, value by value that is not zero: less code, and memory is no obstacle where they are few."""
    zero = matrix.dtype.type(0)
    for j in range(n):
        out[j] = zero
    for f in range(matrix.shape[1]):
        if matrix[i, f] != zero:
            add_one(matrix[i, f], columns[f * stride :], out, n)


# --- DenseBlocks ------------------------------------------------------------------------------------------


@load.implement(DenseBlocks, inline=False)
def _blocks_load(source, start, count, expansion):
    n, state = expansion.counts[0]["n_slots"], source.state
    _gather(source.X, source.order, start, count, source.block, source.norms)
    # Room for some new slots, if the store has it: a growing model ends its blocks early rather than multiply with
    # slots that are still empty.
    capacity, enough = expansion.rows.shape[0], whole_groups(n + 1 + n // 16)
    room = enough if enough < capacity else capacity
    # No power of two, nor a multiple of one: all values of a slot would compete for a few places in the cache.
    stride = room + ODD_SLOTS
    if stride != state[0]["stride"]:
        state[0]["is_filled"] = 0
    state[0]["count"], state[0]["row"], state[0]["room"], state[0]["stride"] = count, 0, room, stride
    if count < FEW_ROWS:
        for i in range(count):
            row_products(source.block, i, expansion.rows, n, source.products[i * stride :], ADJACENT)
        return count
    if state[0]["is_filled"] == 0:  # once: from then on `touch` keeps the columns current
        for j in range(n):
            _write_column(source.columns, stride, expansion.rows, j)
        state[0]["is_filled"] = 1
    multiply_block(source.block, count, source.columns, stride, room, source.products)
    return count


@inlined
def multiply_block(block, count, columns, stride, n, products):
    """Products of the rows of a block with the first n slots (or more), ``stride`` to a row."""
    if _has_many_zeros(block, count):
        for i in range(count):
            _products_without_zeros(block, i, columns, stride, products[i * stride :], n)
    else:
        _block_product(block, count, columns, stride, products)


@compiled
def _has_many_zeros(block, count):
    n_others, zero = 0, block.dtype.type(0)
    for i in range(count):
        for f in range(block.shape[1]):
            n_others += block[i, f] != zero
    return MANY_ZEROS * n_others < count * block.shape[1]


@compiled
def _block_product(block, count, columns, stride, products):
    """``products = block[:count] @ columns``, row after row in a flat array."""
    n_features = block.shape[1]
    # Transposed support vectors: to multiply with their transpose takes BLAS twice as long for blocks of this size.
    matrix = columns[: n_features * stride].reshape(n_features, stride)
    matrix_product(block[:count], matrix, products[: count * stride].reshape(count, stride))


@products_row.implement(DenseBlocks)
def _blocks_products_row(source, i, expansion):
    source.state[0]["row"] = i
    return i * source.state[0]["stride"]


@touch.implement(DenseBlocks, inline=False)
def _blocks_touch(source, slot, expansion):
    stride, row = source.state[0]["stride"], source.state[0]["row"] // 4 * 4  # whole groups of four, as in other blocks
    column = source.products[row * stride + slot :]
    row_products(expansion.rows, slot, source.block[row:], source.state[0]["count"] - row, column, stride)
    if source.state[0]["is_filled"] == 1:
        _write_column(source.columns, stride, expansion.rows, slot)


@slot_products.implement(DenseBlocks)
def _blocks_slot_products(source, slot, expansion, out):
    n, stride = expansion.counts[0]["n_slots"], source.state[0]["stride"]
    if source.state[0]["count"] < FEW_ROWS:  # as in `load`
        row_products(expansion.rows, slot, expansion.rows, n, out, ADJACENT)
    else:
        _write_column(source.columns, stride, expansion.rows, n - 1)  # of a newcomer, before it is announced
        if _has_many_zeros(expansion.rows[slot : slot + 1], 1):
            _products_without_zeros(expansion.rows, slot, source.columns, stride, out, whole_groups(n))
        else:
            products_with_columns(expansion.rows, slot, source.columns, stride, out, whole_groups(n))


# --- DenseColumns -----------------------------------------------------------------------------------------


@load.implement(DenseColumns, inline=False)
def _columns_load(source, start, count, expansion):
    capacity = expansion.rows.shape[0]
    source.state[0]["room"] = capacity
    if source.state[0]["is_filled"] == 0:  # once: from then on `touch` keeps the columns current
        for j in range(expansion.counts[0]["n_slots"]):
            _write_column(source.columns, capacity, expansion.rows, j)
        source.state[0]["is_filled"] = 1
    _gather(source.X, source.order, start, count, source.block, source.norms)
    return count


@products_row.implement(DenseColumns)
def _columns_products_row(source, i, expansion):
    n, stride = expansion.counts[0]["n_slots"], expansion.rows.shape[0]
    products_with_columns(source.block, i, source.columns, stride, source.products, n)
    return 0


@slot_products.implement(DenseColumns)
def _columns_slot_products(source, slot, expansion, out):
    n, stride = expansion.counts[0]["n_slots"], expansion.rows.shape[0]
    _write_column(source.columns, stride, expansion.rows, n - 1)  # of a newcomer, before it is announced
    products_with_columns(expansion.rows, slot, source.columns, stride, out, n)


@touch.implement(DenseColumns)
def _columns_touch(source, slot, expansion):
    _write_column(source.columns, expansion.rows.shape[0], expansion.rows, slot)
