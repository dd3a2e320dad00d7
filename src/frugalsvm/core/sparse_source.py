"""The source of CSR rows: support vectors feature by feature, with only those features packed that a block has."""

from typing import NamedTuple

import numpy as np

from frugalsvm.compiling.functions import compiled, inlined
from frugalsvm.core.lookahead import (
    LONG_BLOCK_ROWS,
    SOURCE_STATE,
    example_norm,
    load,
    place_example,
    products_row,
    touch,
    write_example,
)
from frugalsvm.core.pairing import PRODUCTS, add_feature, add_two_features, norm_term, slot_sum, start_pairs

PACKED_BYTES = 32 * 2**20  # bound on the packed columns
WHOLE_BYTES = 512 * 2**20  # up to here, all features are packed once and kept current if there are many rows to learn


class SparseColumns(NamedTuple):
    pairing: NamedTuple  # what `products` are
    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    order: np.ndarray
    columns: np.ndarray  # (features that fit, capacity) the support vectors in the block's features
    features: np.ndarray  # which features those are
    row_of: np.ndarray  # (n_features,) a feature's row in `columns`, or -1
    slot_sums: np.ndarray  # (capacity,) see `slot_sum`
    products: np.ndarray
    state: np.ndarray


def new_sparse_source(pairing, X, order, expansion, stays):
    capacity, n_features = expansion.rows.shape
    longest = int(np.diff(X.indptr).max(initial=1))
    fit = PACKED_BYTES // (capacity * X.dtype.itemsize)
    n_packed = max(1, min(n_features, max(fit, longest)))
    whole = stays and X.shape[0] > LONG_BLOCK_ROWS and n_features * capacity * X.dtype.itemsize <= WHOLE_BYTES
    n_packed = n_features if whole else n_packed
    state = np.zeros(1, SOURCE_STATE)
    state[0]["is_whole"] = whole
    return SparseColumns(
        pairing,
        X.data,
        X.indices.astype(np.int64, copy=False),
        X.indptr.astype(np.int64, copy=False),
        order,
        columns=np.zeros((n_packed, capacity), X.dtype),
        features=np.zeros(n_packed, np.int64),
        row_of=np.full(n_features, -1, np.int64),
        slot_sums=np.zeros(capacity, X.dtype),
        products=np.zeros(capacity, X.dtype),
        state=state,
    )


@load.implement(SparseColumns, inline=False)
def _sparse_load(source, start, count, expansion):
    if source.state[0]["is_whole"] == 1:
        return _load_whole(source, start, count, expansion)
    for k in range(source.state[0]["n_packed"]):
        source.row_of[source.features[k]] = -1
    n_packed = 0
    taken = 0
    while taken < count:
        row = source.order[start + taken]
        begin, end = source.indptr[row], source.indptr[row + 1]
        if not _room_for(source.indices, begin, end, source.row_of, source.features.size - n_packed):
            break
        for k in range(begin, end):
            feature = source.indices[k]
            if source.row_of[feature] < 0:
                source.row_of[feature] = n_packed
                source.features[n_packed] = feature
                n_packed += 1
        taken += 1
    source.state[0]["n_packed"] = n_packed
    source.state[0]["start"] = start
    source.state[0]["room"] = expansion.rows.shape[0]
    for j in range(expansion.counts[0]["n_slots"]):
        _pack_slot(source.columns, source.features, n_packed, expansion.rows, j)
    if source.state[0]["is_filled"] == 0:  # once: from then on `touch` keeps them current
        _sum_slots(source, expansion)
        source.state[0]["is_filled"] = 1
    return taken


@inlined
def _load_whole(source, start, count, expansion):
    """There is room for all features: pack them once, and from then on `touch` keeps them current."""
    source.state[0]["start"] = start
    source.state[0]["room"] = expansion.rows.shape[0]
    if source.state[0]["is_filled"] == 0:
        n_features = source.features.size
        for f in range(n_features):
            source.features[f] = source.row_of[f] = f
        source.state[0]["n_packed"] = n_features
        for j in range(expansion.counts[0]["n_slots"]):
            _pack_slot(source.columns, source.features, n_features, expansion.rows, j)
        _sum_slots(source, expansion)
        source.state[0]["is_filled"] = 1
    return count


@inlined
def _sum_slots(source, expansion):
    for j in range(expansion.counts[0]["n_slots"]):
        source.slot_sums[j] = slot_sum(source.pairing, expansion.rows, j)


@compiled
def _room_for(indices, begin, end, row_of, n_free):
    """Whether the features of a row that are not packed yet fit."""
    n_new = 0
    if end - begin > n_free:
        for k in range(begin, end):
            n_new += row_of[indices[k]] < 0
    return n_new <= n_free


@compiled
def _pack_slot(columns, features, n_packed, rows, slot):
    for k in range(n_packed):
        columns[k, slot] = rows[slot, features[k]]


@products_row.implement(SparseColumns)
def _sparse_products_row(source, i, expansion):
    n, pairing = expansion.counts[0]["n_slots"], source.pairing
    start_pairs(pairing, source.slot_sums, source.products, n)
    row = source.order[source.state[0]["start"] + i]
    begin, end = source.indptr[row], source.indptr[row + 1]
    for k in range(begin, end - 1, 2):
        f, g = source.row_of[source.indices[k]], source.row_of[source.indices[k + 1]]
        first, second = source.columns[f], source.columns[g]
        add_two_features(pairing, source.data[k], first, source.data[k + 1], second, source.products, n)
    if (end - begin) % 2 == 1:
        f = source.row_of[source.indices[end - 1]]
        add_feature(pairing, source.data[end - 1], source.columns[f], source.products, n)
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
                add_two_features(PRODUCTS, rows[slot, last], columns[last], rows[slot, f], columns[f], out, n)
                last = -1
    if last >= 0:
        add_feature(PRODUCTS, rows[slot, last], columns[last], out, n)


@example_norm.implement(SparseColumns)
def _sparse_example_norm(source, i):
    row = source.order[source.state[0]["start"] + i]
    total = source.data.dtype.type(0)
    for k in range(source.indptr[row], source.indptr[row + 1]):
        total += norm_term(source.pairing, source.data[k])
    return total


@write_example.implement(SparseColumns)
def _sparse_write_example(source, i, rows, slot):
    for f in range(rows.shape[1]):
        rows[slot, f] = 0.0
    row = source.order[source.state[0]["start"] + i]
    for k in range(source.indptr[row], source.indptr[row + 1]):
        rows[slot, source.indices[k]] = source.data[k]


@touch.implement(SparseColumns)
def _sparse_touch(source, slot, expansion):
    _pack_slot(source.columns, source.features, source.state[0]["n_packed"], expansion.rows, slot)
    source.slot_sums[slot] = slot_sum(source.pairing, expansion.rows, slot)


@place_example.implement(SparseColumns)
def _sparse_place_example(source, i, expansion, slot):
    if source.state[0]["is_whole"] == 0:
        write_example(source, i, expansion.rows, slot)
        touch(source, slot, expansion)
        return
    # Columns are changed where there is something to change: packing a slot afresh is a cache miss for every feature.
    _clear_columns(source.columns, expansion.rows, slot)
    write_example(source, i, expansion.rows, slot)
    row = source.order[source.state[0]["start"] + i]
    for k in range(source.indptr[row], source.indptr[row + 1]):
        source.columns[source.indices[k], slot] = source.data[k]
    source.slot_sums[slot] = slot_sum(source.pairing, expansion.rows, slot)


@compiled
def _clear_columns(columns, rows, slot):
    for f in range(rows.shape[1]):
        if rows[slot, f] != 0.0:
            columns[f, slot] = 0.0
