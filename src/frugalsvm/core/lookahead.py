"""Where the inner products of an example with all support vectors come from: exact, yet at block speed.

An online learner looks at example t with the model that examples 1 .. t-1 made. Computing its products with the
support vectors one example at a time is a matrix-vector product, limited by memory. The model changes little
from one example to the next, though: so take the next T examples, multiply them with the support vectors *as
they stand* in one matrix product, and walk through the block in order, recomputing for example t only the
products with slots that changed since the block began. The result is that of the one-by-one algorithm.

Three sources here, and one in ``scored.py`` for devices; one protocol (``load``, ``products_row``, ``example_norm``,
``write_example``, ``touch``):

* ``DenseBlocks``: the block product above, by BLAS. Best for about 9 features or more.
* ``DenseColumns``: the support vectors kept feature by feature; an example's products are a few vectorised
  additions. Nothing to look ahead to: best for few features.
* ``SparseColumns``: the same for CSR rows, with only those features packed that the block's rows have.
"""

from typing import NamedTuple

import numpy as np

from frugalsvm._compile import compiled, counted, generic, inlined
from frugalsvm.core.expansion import N_SLOTS, SLOT_MULTIPLE
from frugalsvm.core.fastmath import copy_row, rows_dot

__all__ = [
    "BLOCK_ROWS",
    "ROOM",
    "DenseBlocks",
    "DenseColumns",
    "SparseColumns",
    "column_products",
    "copy_to_slot",
    "current_columns",
    "dense_norm",
    "example_norm",
    "load",
    "mark_changed",
    "new_source",
    "place_example",
    "products_row",
    "rescale",
    "rows_at_a_time",
    "touch",
    "write_example",
]

BLOCK_ROWS = 64  # 32 to 128 are alike; results are bit-identical for batches that are multiples of it
LONG_BLOCK_ROWS = 256  # for the sources that work column by column
FEW_FEATURES = 8  # up to here DenseColumns is faster than DenseBlocks
PACKED_BYTES = 32 * 2**20  # bound on the packed columns of SparseColumns
WHOLE_BYTES = 512 * 2**20  # up to here, all features are packed once and kept current if there are many rows to learn

# Places in the `state` arrays. ROOM is the number of slots that the loaded block has room for, IS_WHOLE whether all
# features are packed once and kept current.
START, ROOM, N_DIRTY, N_PACKED, IS_FILLED, IS_WHOLE = range(6)


class DenseBlocks(NamedTuple):
    X: np.ndarray  # (n_examples, n_features)
    order: np.ndarray  # the sequence in which examples are taken
    block: np.ndarray  # (block_rows, n_features) the examples at hand
    products: np.ndarray  # their products with the slots, ROOM to a row
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


class SparseColumns(NamedTuple):
    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    order: np.ndarray
    columns: np.ndarray  # (features that fit, capacity) the support vectors in the block's features
    features: np.ndarray  # which features those are
    place: np.ndarray  # (n_features,) a feature's row in `columns`, or -1
    products: np.ndarray
    state: np.ndarray


def new_source(X, order, expansion, block_rows=BLOCK_ROWS, *, stays=False):
    """The source for a matrix of the store's type, C-contiguous or CSR, taken in ``order``.

    ``stays``: vectors stay in their slots, and come there by ``place_example`` only; then the columns of sparse rows
    can be kept current instead of being packed for every block.
    """
    if isinstance(X, np.ndarray):
        return _dense_source(X, order, expansion, block_rows)
    return _sparse_source(X, order, expansion, stays)


def _dense_source(X, order, expansion, block_rows):
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
            state=np.zeros(6, np.int64),
        )
    return DenseBlocks(
        X,
        order,
        block=np.zeros((block_rows, n_features), X.dtype),
        products=np.zeros(block_rows * capacity, X.dtype),
        dirty=np.zeros(capacity, np.int64),
        is_dirty=np.zeros(capacity, np.bool_),
        state=np.zeros(6, np.int64),
    )


def _sparse_source(X, order, expansion, stays):
    capacity, n_features = expansion.rows.shape
    longest = int(np.diff(X.indptr).max(initial=1))
    fit = PACKED_BYTES // (capacity * X.dtype.itemsize)
    n_packed = max(1, min(n_features, max(fit, longest)))
    whole = stays and X.shape[0] > LONG_BLOCK_ROWS and n_features * capacity * X.dtype.itemsize <= WHOLE_BYTES
    n_packed = n_features if whole else n_packed
    return SparseColumns(
        X.data,
        X.indices.astype(np.int64, copy=False),
        X.indptr.astype(np.int64, copy=False),
        order,
        columns=np.zeros((n_packed, capacity), X.dtype),
        features=np.zeros(n_packed, np.int64),
        place=np.full(n_features, -1, np.int64),
        products=np.zeros(capacity, X.dtype),
        state=np.array([0, 0, 0, 0, 0, whole]),
    )


def rows_at_a_time(source):
    """How many examples a source takes at a time."""
    return len(source.block) if isinstance(source, DenseBlocks) else LONG_BLOCK_ROWS


@generic
def load(source, start, count, expansion):
    """Get ready for the ``count`` examples from position ``start``; returns how many were taken.

    The caller loads again when they are used up, or when the model has more than ``source.state[ROOM]`` slots.
    """


@generic
def products_row(source, i, expansion):
    """Inner products of example ``i`` of the block with all slots: they begin at ``source.products[result]``."""


@generic
def example_norm(source, i):
    """Squared norm of example ``i`` of the block."""


@generic
def write_example(source, i, rows, slot):
    """Copy example ``i`` of the block to ``rows[slot]``."""


@generic
def touch(source, slot, expansion):
    """Note that ``slot`` has another vector now."""


@generic
def place_example(source, i, expansion, slot):
    """Write example ``i`` of the block to a slot of the store."""


@generic
def rescale(source, factor):
    """All raw coefficients are about to be multiplied."""


@rescale.implement()
def _rescale_nothing(source, factor):
    pass


@place_example.implement()
def _place_example(source, i, expansion, slot):
    write_example(source, i, expansion.rows, slot)
    touch(source, slot, expansion)


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
    room = min(expansion.rows.shape[0], (expansion.counts[N_SLOTS] // SLOT_MULTIPLE + 1) * SLOT_MULTIPLE)
    _block_product(source.block, count, expansion.rows, room, source.products)
    for k in range(source.state[N_DIRTY]):
        source.is_dirty[source.dirty[k]] = False
    source.state[ROOM] = room
    source.state[N_DIRTY] = 0
    return count


@products_row.implement(DenseBlocks)
def _blocks_products_row(source, i, expansion):
    start = i * source.state[ROOM]
    for k in range(source.state[N_DIRTY]):
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
        source.dirty[source.state[N_DIRTY]] = slot
        source.state[N_DIRTY] += 1


# --- DenseColumns -----------------------------------------------------------------------------------------


@load.implement(DenseColumns, inline=False)
def _columns_load(source, start, count, expansion):
    source.state[ROOM] = expansion.rows.shape[0]
    if source.state[IS_FILLED] == 0:  # once: from then on `touch` keeps the columns current
        for j in range(expansion.counts[N_SLOTS]):
            _write_column(source.columns, expansion.rows, j)
        source.state[IS_FILLED] = 1
    for i in range(count):
        copy_row(source.block, i, source.X, source.order[start + i])
    return count


@compiled
def _write_column(columns, rows, slot):
    for f in range(rows.shape[1]):
        columns[f, slot] = rows[slot, f]


@products_row.implement(DenseColumns)
def _columns_products_row(source, i, expansion):
    n = expansion.counts[N_SLOTS]
    n_features = source.block.shape[1]
    # Two features at a time halve the traffic to the products.
    if n_features > 1:
        _set_pair(source.block[i, 0], source.block[i, 1], source.columns, source.products, n)
    else:
        _set_one(source.block[i, 0], source.columns, source.products, n)
    for f in range(2, n_features - 1, 2):
        _add_pair(source.block[i, f], f, source.block[i, f + 1], f + 1, source.columns, source.products, n)
    if n_features > 1 and n_features % 2 == 1:
        _add_one(source.block[i, n_features - 1], n_features - 1, source.columns, source.products, n)
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
def _add_one(a, f, columns, out, n):
    for j in range(n):
        out[j] += a * columns[f, j]


@compiled
def _add_pair(a, f, b, g, columns, out, n):
    for j in range(n):
        out[j] += a * columns[f, j] + b * columns[g, j]


@touch.implement(DenseColumns)
def _columns_touch(source, slot, expansion):
    _write_column(source.columns, expansion.rows, slot)


# --- SparseColumns ----------------------------------------------------------------------------------------


@load.implement(SparseColumns, inline=False)
def _sparse_load(source, start, count, expansion):
    if source.state[IS_WHOLE] == 1:
        return _load_whole(source, start, count, expansion)
    for k in range(source.state[N_PACKED]):
        source.place[source.features[k]] = -1
    n_packed = 0
    taken = 0
    while taken < count:
        row = source.order[start + taken]
        begin, end = source.indptr[row], source.indptr[row + 1]
        if not _room_for(source.indices, begin, end, source.place, source.features.size - n_packed):
            break
        for k in range(begin, end):
            feature = source.indices[k]
            if source.place[feature] < 0:
                source.place[feature] = n_packed
                source.features[n_packed] = feature
                n_packed += 1
        taken += 1
    source.state[N_PACKED] = n_packed
    source.state[START] = start
    source.state[ROOM] = expansion.rows.shape[0]
    for j in range(expansion.counts[N_SLOTS]):
        _pack_slot(source.columns, source.features, n_packed, expansion.rows, j)
    return taken


@inlined
def _load_whole(source, start, count, expansion):
    """There is room for all features: pack them once, and from then on `touch` keeps them current."""
    source.state[START] = start
    source.state[ROOM] = expansion.rows.shape[0]
    if source.state[IS_FILLED] == 0:
        n_features = source.features.size
        for f in range(n_features):
            source.features[f] = source.place[f] = f
        source.state[N_PACKED] = n_features
        for j in range(expansion.counts[N_SLOTS]):
            _pack_slot(source.columns, source.features, n_features, expansion.rows, j)
        source.state[IS_FILLED] = 1
    return count


@compiled
def _room_for(indices, begin, end, place, n_free):
    """Whether the features of a row that are not packed yet fit."""
    n_new = 0
    if end - begin > n_free:
        for k in range(begin, end):
            n_new += place[indices[k]] < 0
    return n_new <= n_free


@compiled
def _pack_slot(columns, features, n_packed, rows, slot):
    for k in range(n_packed):
        columns[k, slot] = rows[slot, features[k]]


@products_row.implement(SparseColumns)
def _sparse_products_row(source, i, expansion):
    n = expansion.counts[N_SLOTS]
    for j in range(n):
        source.products[j] = 0.0
    row = source.order[source.state[START] + i]
    begin, end = source.indptr[row], source.indptr[row + 1]
    for k in range(begin, end - 1, 2):
        f, g = source.place[source.indices[k]], source.place[source.indices[k + 1]]
        _add_pair(source.data[k], f, source.data[k + 1], g, source.columns, source.products, n)
    if (end - begin) % 2 == 1:
        _add_one(source.data[end - 1], source.place[source.indices[end - 1]], source.columns, source.products, n)
    return 0


@compiled
def column_products(columns, rows, slot, out, n):
    """The products of a slot with the first n slots, given all of them feature by feature."""
    for j in range(n):
        out[j] = 0.0
    last = -1  # a feature that waits for another one to go with
    for f in range(rows.shape[1]):
        if rows[slot, f] != 0.0:
            if last < 0:
                last = f
            else:
                _add_pair(rows[slot, last], last, rows[slot, f], f, columns, out, n)
                last = -1
    if last >= 0:
        _add_one(rows[slot, last], last, columns, out, n)


def current_columns(source):
    """All slots feature by feature, if the source keeps them so; otherwise an empty matrix."""
    whole = isinstance(source, SparseColumns) and source.state[IS_WHOLE] != 0
    return source.columns if whole else np.zeros((0, 0), source.products.dtype)


@example_norm.implement(SparseColumns)
def _sparse_example_norm(source, i):
    row = source.order[source.state[START] + i]
    total = source.data.dtype.type(0)
    for k in range(source.indptr[row], source.indptr[row + 1]):
        total += source.data[k] * source.data[k]
    return total


@write_example.implement(SparseColumns)
def _sparse_write_example(source, i, rows, slot):
    for f in range(rows.shape[1]):
        rows[slot, f] = 0.0
    row = source.order[source.state[START] + i]
    for k in range(source.indptr[row], source.indptr[row + 1]):
        rows[slot, source.indices[k]] = source.data[k]


@touch.implement(SparseColumns)
def _sparse_touch(source, slot, expansion):
    _pack_slot(source.columns, source.features, source.state[N_PACKED], expansion.rows, slot)


@place_example.implement(SparseColumns)
def _sparse_place_example(source, i, expansion, slot):
    if source.state[IS_WHOLE] == 0:
        write_example(source, i, expansion.rows, slot)
        touch(source, slot, expansion)
        return
    # Columns are changed where there is something to change: packing a slot afresh is a cache miss for every feature.
    _clear_columns(source.columns, expansion.rows, slot)
    write_example(source, i, expansion.rows, slot)
    row = source.order[source.state[START] + i]
    for k in range(source.indptr[row], source.indptr[row + 1]):
        source.columns[source.indices[k], slot] = source.data[k]


@compiled
def _clear_columns(columns, rows, slot):
    for f in range(rows.shape[1]):
        if rows[slot, f] != 0.0:
            columns[f, slot] = 0.0
