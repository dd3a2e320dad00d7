"""Where the inner products of an example with all support vectors come from: exact, yet at block speed.

An online learner looks at example t with the model that examples 1 .. t-1 made. Computing its products with the
support vectors one example at a time is a matrix-vector product, limited by memory. The model changes little
from one example to the next, though: so take the next T examples, multiply them with the support vectors *as
they stand* in one matrix product, and walk through the block in order, recomputing for example t only the
products with slots that changed since the block began. The result is that of the one-by-one algorithm.

Three sources, one protocol (``load``, ``products_row``, ``example_norm``, ``write_example``, ``touch``):

* ``DenseBlocks``: the block product above, by BLAS. Best for about 9 features or more.
* ``DenseColumns``: the support vectors kept feature by feature; an example's products are a few vectorised
  additions. Nothing to look ahead to: best for few features.
* ``SparseColumns``: the same for CSR rows, with only those features packed that the block's rows have.
"""

from typing import NamedTuple

import numpy as np

from frugalsvm._compile import compiled, generic
from frugalsvm.core.expansion import N_SLOTS, SLOT_MULTIPLE
from frugalsvm.core.fastmath import copy_into, dot, squared_norm

__all__ = [
    "BLOCK_ROWS",
    "DenseBlocks",
    "DenseColumns",
    "SparseColumns",
    "example_norm",
    "load",
    "new_source",
    "products_row",
    "rows_at_a_time",
    "touch",
    "write_example",
]

BLOCK_ROWS = 64  # 32 to 128 are alike; results are bit-identical for batches that are multiples of it
SPARSE_BLOCK_ROWS = 256  # packing costs more here, and changed slots less
FEW_FEATURES = 8  # up to here DenseColumns is faster than DenseBlocks
PACKED_BYTES = 32 * 2**20  # bound on the packed columns of SparseColumns

# Places in the `state` arrays
START, WIDTH, N_DIRTY, N_PACKED = range(4)


class DenseBlocks(NamedTuple):
    X: np.ndarray  # (n_examples, n_features)
    order: np.ndarray  # the sequence in which examples are taken
    block: np.ndarray  # (BLOCK_ROWS, n_features) the examples at hand
    products: np.ndarray  # their products with the slots, WIDTH to a row
    dirty: np.ndarray  # slots changed since the block was loaded
    is_dirty: np.ndarray
    state: np.ndarray


class DenseColumns(NamedTuple):
    X: np.ndarray
    order: np.ndarray
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


def new_source(X, order, expansion):
    """The source for a matrix of the store's type, C-contiguous or CSR, taken in ``order``."""
    return (_dense_source if isinstance(X, np.ndarray) else _sparse_source)(X, order, expansion)


def _dense_source(X, order, expansion):
    capacity, n_features = expansion.rows.shape
    if n_features <= FEW_FEATURES:
        columns = np.zeros((n_features, capacity), X.dtype)
        return DenseColumns(X, order, columns, np.zeros(capacity, X.dtype), np.zeros(4, np.int64))
    return DenseBlocks(
        X,
        order,
        block=np.zeros((BLOCK_ROWS, n_features), X.dtype),
        products=np.zeros(BLOCK_ROWS * capacity, X.dtype),
        dirty=np.zeros(capacity, np.int64),
        is_dirty=np.zeros(capacity, np.bool_),
        state=np.zeros(4, np.int64),
    )


def _sparse_source(X, order, expansion):
    capacity, n_features = expansion.rows.shape
    longest = int(np.diff(X.indptr).max(initial=1))
    fit = PACKED_BYTES // (capacity * X.dtype.itemsize)
    n_packed = max(1, min(n_features, max(fit, longest)))
    return SparseColumns(
        X.data,
        X.indices.astype(np.int64, copy=False),
        X.indptr.astype(np.int64, copy=False),
        order,
        columns=np.zeros((n_packed, capacity), X.dtype),
        features=np.zeros(n_packed, np.int64),
        place=np.full(n_features, -1, np.int64),
        products=np.zeros(capacity, X.dtype),
        state=np.zeros(4, np.int64),
    )


def rows_at_a_time(source):
    """How many examples a source takes at a time."""
    return BLOCK_ROWS if isinstance(source, DenseBlocks) else SPARSE_BLOCK_ROWS


@generic
def load(source, start, count, expansion):
    """Get ready for the ``count`` examples from position ``start``; returns how many were taken."""


@generic
def products_row(source, i, expansion):
    """Inner products of example ``i`` of the block with all slots in use."""


@generic
def example_norm(source, i):
    """Squared norm of example ``i`` of the block."""


@generic
def write_example(source, i, out):
    """Copy example ``i`` of the block to a dense row."""


@generic
def touch(source, slot, expansion):
    """Note that ``slot`` has another vector now."""


# --- DenseBlocks ------------------------------------------------------------------------------------------


@load.implement(DenseBlocks)
def _blocks_load(source, start, count, expansion):
    for i in range(count):
        copy_into(source.block[i], source.X[source.order[start + i]])
    # Room for one new slot per example, if the store has it.
    n_wanted = expansion.counts[N_SLOTS] + count
    width = min(expansion.rows.shape[0], (n_wanted + SLOT_MULTIPLE - 1) // SLOT_MULTIPLE * SLOT_MULTIPLE)
    products = source.products[: count * width].reshape(count, width)
    np.dot(source.block[:count], expansion.rows[:width].T, products)
    for k in range(source.state[N_DIRTY]):
        source.is_dirty[source.dirty[k]] = False
    source.state[WIDTH] = width
    source.state[N_DIRTY] = 0
    return count


@products_row.implement(DenseBlocks)
def _blocks_products_row(source, i, expansion):
    width = source.state[WIDTH]
    products = source.products[i * width : (i + 1) * width]
    example = source.block[i]
    for k in range(source.state[N_DIRTY]):
        j = source.dirty[k]
        products[j] = dot(example, expansion.rows[j])
    return products


@example_norm.implement(DenseBlocks)
def _blocks_example_norm(source, i):
    return squared_norm(source.block[i])


@write_example.implement(DenseBlocks)
def _blocks_write_example(source, i, out):
    copy_into(out, source.block[i])


@touch.implement(DenseBlocks)
def _blocks_touch(source, slot, expansion):
    if not source.is_dirty[slot]:
        source.is_dirty[slot] = True
        source.dirty[source.state[N_DIRTY]] = slot
        source.state[N_DIRTY] += 1


# --- DenseColumns -----------------------------------------------------------------------------------------


@load.implement(DenseColumns)
def _columns_load(source, start, count, expansion):
    if source.state[WIDTH] == 0:  # once: from then on `touch` keeps the columns current
        for j in range(expansion.counts[N_SLOTS]):
            copy_into(source.columns[:, j], expansion.rows[j])
        source.state[WIDTH] = 1
    source.state[START] = start
    return count


@products_row.implement(DenseColumns)
def _columns_products_row(source, i, expansion):
    n = expansion.counts[N_SLOTS]
    example = source.X[source.order[source.state[START] + i]]
    products = source.products
    n_features = example.size
    if n_features == 1:
        _axpy_first(example[0], source.columns[0], products, n)
        return products
    # Two features at a time halve the traffic to the products.
    _pair_first(example[0], source.columns[0], example[1], source.columns[1], products, n)
    for f in range(2, n_features - 1, 2):
        _pair_add(example[f], source.columns[f], example[f + 1], source.columns[f + 1], products, n)
    if n_features % 2:
        _axpy(example[n_features - 1], source.columns[n_features - 1], products, n)
    return products


@compiled
def _axpy_first(a, x, out, n):
    for j in range(n):
        out[j] = a * x[j]


@compiled
def _axpy(a, x, out, n):
    for j in range(n):
        out[j] += a * x[j]


@compiled
def _pair_first(a, x, b, y, out, n):
    for j in range(n):
        out[j] = a * x[j] + b * y[j]


@compiled
def _pair_add(a, x, b, y, out, n):
    for j in range(n):
        out[j] += a * x[j] + b * y[j]


@example_norm.implement(DenseColumns)
def _columns_example_norm(source, i):
    return squared_norm(source.X[source.order[source.state[START] + i]])


@write_example.implement(DenseColumns)
def _columns_write_example(source, i, out):
    copy_into(out, source.X[source.order[source.state[START] + i]])


@touch.implement(DenseColumns)
def _columns_touch(source, slot, expansion):
    copy_into(source.columns[:, slot], expansion.rows[slot])


# --- SparseColumns ----------------------------------------------------------------------------------------


@load.implement(SparseColumns)
def _sparse_load(source, start, count, expansion):
    for k in range(source.state[N_PACKED]):
        source.place[source.features[k]] = -1
    n_packed = 0
    taken = 0
    while taken < count:
        row = source.order[start + taken]
        begin, end = source.indptr[row], source.indptr[row + 1]
        if n_packed + end - begin > source.features.size and not _all_packed(source, begin, end, n_packed):
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
    for j in range(expansion.counts[N_SLOTS]):
        touch(source, j, expansion)
    return taken


@compiled
def _all_packed(source, begin, end, n_packed):
    """Whether the new features of a row still fit (counted, as they may be fewer than its entries)."""
    n_new = 0
    for k in range(begin, end):
        n_new += source.place[source.indices[k]] < 0
    return n_packed + n_new <= source.features.size


@products_row.implement(SparseColumns)
def _sparse_products_row(source, i, expansion):
    n = expansion.counts[N_SLOTS]
    products = source.products
    for j in range(n):
        products[j] = 0.0
    row = source.order[source.state[START] + i]
    begin, end = source.indptr[row], source.indptr[row + 1]
    for k in range(begin, end - 1, 2):
        first, second = source.place[source.indices[k]], source.place[source.indices[k + 1]]
        _pair_add(source.data[k], source.columns[first], source.data[k + 1], source.columns[second], products, n)
    if (end - begin) % 2:
        _axpy(source.data[end - 1], source.columns[source.place[source.indices[end - 1]]], products, n)
    return products


@example_norm.implement(SparseColumns)
def _sparse_example_norm(source, i):
    row = source.order[source.state[START] + i]
    return squared_norm(source.data[source.indptr[row] : source.indptr[row + 1]])


@write_example.implement(SparseColumns)
def _sparse_write_example(source, i, out):
    for f in range(out.size):
        out[f] = 0.0
    row = source.order[source.state[START] + i]
    for k in range(source.indptr[row], source.indptr[row + 1]):
        out[source.indices[k]] += source.data[k]


@touch.implement(SparseColumns)
def _sparse_touch(source, slot, expansion):
    row = expansion.rows[slot]
    for k in range(source.state[N_PACKED]):
        source.columns[k, slot] = row[source.features[k]]
