"""Whatever happens to the model in between, a source gives the products of its rows with the model as it is."""

import numpy as np
import pytest
import scipy.sparse

from frugalsvm.compiling.functions import entry
from frugalsvm.core import sparse_source
from frugalsvm.core.dense_sources import DenseBlocks, DenseColumns
from frugalsvm.core.expansion import new_expansion
from frugalsvm.core.fastmath import copy_row
from frugalsvm.core.kernels import Laplacian, Linear
from frugalsvm.core.lookahead import example_norm, load, products_row, slot_products, touch, write_example
from frugalsvm.core.sources import new_source, rows_at_a_time
from frugalsvm.core.sparse_source import SparseColumns

N_ROWS, CAPACITY = 300, 32


@entry
def walk(source, start, count, expansion, slots, vectors, products, norms, copies, own_products):
    """Take a block, recording all that it says of each row; after row t, ``vectors[t]`` goes to slot ``slots[t]``.

    Slot -1 is no change; the slot after the last one in use is a new one; -2 empties the last one. Returns how
    many rows were taken: a block ends early where it has no room for another slot.
    """
    count = load(source, start, count, expansion)
    i = 0
    while i < count and expansion.counts[0]["n_slots"] < source.state[0]["room"]:
        t = start + i
        n = expansion.counts[0]["n_slots"]
        begin = products_row(source, i, expansion)
        for j in range(n):
            products[t, j] = source.products[begin + j]
        norms[t] = example_norm(source, i)
        write_example(source, i, copies, t)
        slot = slots[t]
        if slot >= 0:
            copy_row(expansion.rows, slot, vectors, t)
            expansion.counts[0]["n_slots"] = max(n, slot + 1)
            if slot < n:
                touch(source, slot, expansion)
            slot_products(source, slot, expansion, own_products[t])  # of a newcomer, before it is announced
            if slot == n:
                touch(source, slot, expansion)
        elif slot == -2:
            expansion.counts[0]["n_slots"] = n - 1
        i += 1
    return i


def random_changes(rng, n_slots, rate):
    """A slot to write to after each row, and the number of slots in use before each row."""
    slots, in_use = np.full(N_ROWS, -1), np.empty(N_ROWS, int)
    for t in range(N_ROWS):
        in_use[t] = n_slots
        if rng.random() < rate:
            kind = rng.random()
            if kind < 0.2 and n_slots < CAPACITY - 1:  # as in the engine, there is always room for a newcomer
                slots[t] = n_slots
            elif kind < 0.3 and n_slots > 1:
                slots[t] = -2
            elif n_slots > 0:
                slots[t] = rng.integers(n_slots)
        n_slots += int(slots[t] == n_slots) - int(slots[t] == -2)
    return slots, in_use


PAIRS = {
    "products": (Linear(), lambda rows, x: rows @ x),
    "distances": (Laplacian(1.0), lambda rows, x: np.abs(rows - x).sum(axis=1)),
}
each_pairing = pytest.mark.parametrize("pairing", PAIRS)


def check_walk(
    X, dense, kind, *, rate=0.5, seed=0, n_slots=7, block_rows=None, pairing="products", stays=False, vectors_kept=1.0
):
    """Walk through X in random order with random changes; returns the sizes of the blocks."""
    rng = np.random.default_rng(seed)
    n_features = dense.shape[1]
    model = new_expansion(CAPACITY, n_features, 1, dense.dtype)
    model.rows[:n_slots] = rng.normal(size=(n_slots, n_features))
    model.counts[0]["n_slots"] = n_slots
    vectors = rng.normal(size=(N_ROWS, n_features)).astype(dense.dtype)
    vectors[rng.random(vectors.shape) > vectors_kept] = 0.0
    slots, in_use = random_changes(rng, n_slots, rate)
    order = rng.permutation(N_ROWS)

    kernel, pairs = PAIRS[pairing]
    source = new_source(kernel, X, order, model, stays=stays)
    assert type(source) is kind
    rows = model.rows.copy()
    products, own_products = np.full((2, N_ROWS, CAPACITY), np.nan)
    norms = np.zeros(N_ROWS)
    copies = np.full((N_ROWS, n_features), np.nan)
    start, blocks = 0, []
    while start < N_ROWS:
        count = min(block_rows or rows_at_a_time(source), N_ROWS - start)
        blocks.append(walk(source, start, count, model, slots, vectors, products, norms, copies, own_products))
        start += blocks[-1]

    np.testing.assert_array_equal(copies, dense[order])
    np.testing.assert_allclose(norms, np.square(dense[order]).sum(axis=1), rtol=1e-12)
    for t in range(N_ROWS):
        expected = pairs(rows[: in_use[t]], dense[order[t]])
        np.testing.assert_allclose(products[t, : in_use[t]], expected, rtol=1e-12, atol=1e-12)
        if slots[t] >= 0:
            rows[slots[t]] = vectors[t]
            n = max(in_use[t], slots[t] + 1)
            np.testing.assert_allclose(own_products[t, :n], pairs(rows[:n], vectors[t]), rtol=1e-12, atol=1e-12)
    return blocks


@pytest.fixture(scope="module")
def sparse_rows():
    rng = np.random.default_rng(1)
    dense = rng.normal(size=(N_ROWS, 60)) * (rng.random((N_ROWS, 60)) < 0.1)
    dense[17] = 0.0  # a row without entries
    dense[18] = rng.normal(size=60)  # and one with all of them
    return scipy.sparse.csr_matrix(dense), dense


@each_pairing
@pytest.mark.parametrize("rate", [0.0, 0.1, 1.0])
def test_dense_blocks(rate, pairing):
    X = np.random.default_rng(1).normal(size=(N_ROWS, 13))
    blocks = check_walk(X, X, DenseBlocks, rate=rate, pairing=pairing)
    if rate == 0.0:
        assert blocks == [*[32] * 9, 12]


@pytest.mark.parametrize(("rate", "expected"), [(0.0, [128, 128, 44]), (1.0, [128, 64, 64, 44])])
def test_blocks_of_large_vectors_are_long_unless_many_change(rate, expected):
    X = np.random.default_rng(1).normal(size=(N_ROWS, 2_100))
    assert check_walk(X, X, DenseBlocks, rate=rate, n_slots=28) == expected


def test_blocks_are_short_while_the_model_grows():
    X = np.random.default_rng(1).normal(size=(N_ROWS, 2_100))
    assert check_walk(X, X, DenseBlocks, rate=0.0, n_slots=7) == [64, 64, 64, 64, 44]


@pytest.mark.parametrize("dtype", [pytest.param(np.float32, marks=pytest.mark.slow), np.float64])  # machine code
def test_long_blocks_have_the_same_products_bit_for_bit(dtype):
    """So that batches of 64 rows give the model that one long batch does."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(256, 2_100)).astype(dtype)
    X[64:128] *= rng.random((64, 2_100)) < 0.1  # a short block of mostly zeros
    model = new_expansion(CAPACITY, 2_100, 1, dtype)
    model.rows[:28] = rng.normal(size=(28, 2_100))
    model.counts[0]["n_slots"] = 28
    found = []
    for block_rows in (64, 128):
        source = new_source(Linear(), X, np.arange(256), model)
        products, own_products = np.full((2, 256, CAPACITY), np.nan, dtype)
        for start in range(0, 256, block_rows):
            arrays = np.full(256, -1), X, products, np.zeros(256), np.empty((256, 2_100)), own_products
            assert walk(source, start, block_rows, model, *arrays) == block_rows
        found.append(products)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("rate", [0.0, 0.5])
def test_dense_blocks_of_mostly_zeros(sparse_rows, rate):
    _, dense = sparse_rows
    check_walk(dense, dense, DenseBlocks, rate=rate, vectors_kept=0.1)
    mixed = np.where(np.arange(N_ROWS)[:, None] < N_ROWS // 2, dense, 1.0 + dense)  # some blocks, in random order
    check_walk(mixed, mixed, DenseBlocks, rate=rate, block_rows=20)


def test_some_blocks_of_large_vectors_are_mostly_zeros():
    """The first of them needs the vectors feature by feature; they stay current from then on."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(N_ROWS, 2_100))
    X[rng.random(N_ROWS) > 0.12] *= rng.random(2_100) < 0.01
    check_walk(X, X, DenseBlocks, rate=0.5, n_slots=28, block_rows=20)


@each_pairing
@pytest.mark.parametrize("n_features", [1, 2, 3, 4, 7, 8])
def test_dense_columns(n_features, pairing):
    X = np.random.default_rng(1).normal(size=(N_ROWS, n_features))
    check_walk(X, X, DenseColumns, rate=0.5, pairing=pairing)


@each_pairing
@pytest.mark.parametrize("rate", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("stays", [False, True])
def test_sparse_columns(sparse_rows, rate, pairing, stays):
    blocks = check_walk(*sparse_rows, SparseColumns, rate=rate, pairing=pairing, stays=stays)
    assert blocks == [256, 44]


@pytest.mark.parametrize("n_packed", [1, 25, 61])
def test_packed_features_are_bounded(sparse_rows, monkeypatch, n_packed):
    """Where the columns of a block take too much memory it is split, down to one row of any length."""
    X, dense = sparse_rows
    short = np.flatnonzero(np.diff(X.indptr) < 20)
    X, dense = X[np.resize(short, N_ROWS)], dense[np.resize(short, N_ROWS)]
    longest = np.diff(X.indptr).max()
    monkeypatch.setattr(sparse_source, "PACKED_BYTES", n_packed * CAPACITY * 8)
    blocks = check_walk(X, dense, SparseColumns)
    assert longest < 20
    if n_packed == 61:
        assert blocks == [256, 44]
    else:
        assert len(blocks) > 50


def test_blocks_of_one_row(sparse_rows):
    X = np.random.default_rng(1).normal(size=(N_ROWS, 12))
    check_walk(X, X, DenseBlocks, block_rows=1)
    check_walk(X[:, :3].copy(), X[:, :3], DenseColumns, block_rows=1)
    check_walk(*sparse_rows, SparseColumns, block_rows=1)


def test_model_may_begin_empty():
    X = np.random.default_rng(1).normal(size=(N_ROWS, 12))
    blocks = check_walk(X, X, DenseBlocks, n_slots=0, rate=1.0)
    assert len(blocks) > 5  # ended early, as the model outgrew its first 16 slots
    check_walk(X[:, :2].copy(), X[:, :2], DenseColumns, n_slots=0)
