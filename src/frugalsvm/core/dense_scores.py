"""Scores of dense rows, by one thread or by several.

Each thread makes one call of compiled code, which takes blocks of rows until there are none left, and does everything
there is to do with them: conversion, the check of their values, kernel values, sums. With sixteen threads, all that
Python does takes turns, and each turn about 0.05 ms, or 0.2 ms where a thread begins. So threads are those of a crew,
which need no turn to begin or to end.
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from frugalsvm.compiling.crew import ALONE, CREWS, code_of, share, task
from frugalsvm.compiling.functions import (
    add_to,
    compiled,
    entry,
    generic,
    inlined,
    larger,
    read_only,
    separate,
    value_of,
)
from frugalsvm.core.dense_sources import FEW_FEATURES, FEW_ROWS, ODD_SLOTS, block_rows_for
from frugalsvm.core.expansion import padded, whole_groups
from frugalsvm.core.fastmath import ADJACENT, magnitude_bits, rows_dot, weighted_sums
from frugalsvm.core.kernels import pairing_of, scored_row
from frugalsvm.core.lookahead import BLOCK_ROWS
from frugalsvm.core.pairing import block_pairs, column_pairs, row_pairs
from frugalsvm.core.seen_rows import largest_size

MOST_ROWS = 2**14  # in one call of compiled code, which Ctrl-C cannot stop
UNFIT = -1
_BLOCKS_EACH = 4  # of a thread, at least, where blocks are long


class UnfitRowsError(ValueError):
    """Rows with values that are not finite, or so large that squared norms would not be."""


@cache
def most_bits(n_features, dtype) -> int:
    """`magnitude_bits` of it."""
    return int(magnitude_bits(dtype.type(largest_size(n_features, dtype))))


class Vectors(NamedTuple):
    """Support vectors and their coefficients, as scores need them; slots from ``n_slots`` on have no weight."""

    rows: np.ndarray  # (capacity, n_features)
    columns: np.ndarray  # the same, transposed, ``stride`` to a feature; nothing in it if there are few rows to score
    norms: np.ndarray  # (capacity,) squared norms
    weights: np.ndarray  # (n_outputs, capacity) coefficients, in the type of the sums
    bias: np.ndarray  # (n_outputs,) float64
    n_slots: int


class NarrowVectors(NamedTuple):
    """The same for few features, where ``columns`` are always there."""

    rows: np.ndarray
    columns: np.ndarray
    norms: np.ndarray
    weights: np.ndarray
    bias: np.ndarray
    n_slots: int


class Scratch(NamedTuple):
    """Memory of all threads: each has its own part."""

    block: np.ndarray  # (n_threads, block_rows, n_features) rows at hand
    products: np.ndarray  # (n_threads, block_rows * stride) their products with the vectors
    kernel_row: np.ndarray  # (n_threads, capacity)


class DenseScoring(NamedTuple):
    """Rows that are being scored."""

    kernel: NamedTuple
    vectors: NamedTuple
    X: np.ndarray
    shift: np.ndarray  # (n_features,) is subtracted from all rows
    scratch: NamedTuple
    next_row: np.ndarray  # (1,) the first row that no thread has taken
    is_unfit: np.ndarray  # (1,) not 0 if there are values that are not allowed
    crew: np.ndarray  # of threads
    most_bits: int  # `magnitude_bits` of the largest value that is allowed
    out: np.ndarray  # (n_rows, n_outputs) float64


def new_vectors(expansion, n_rows, *, in_float64=False, bias=None) -> Vectors | NarrowVectors:
    """The vectors of an expansion, for a number of rows, with its ``weights`` or, ``in_float64``, with its ``coef``."""
    n, n_outputs = int(expansion.counts[0]["n_slots"]), expansion.n_outputs
    weights, is_narrow = expansion.weights, expansion.rows.shape[1] <= FEW_FEATURES
    if in_float64:
        weights = np.zeros(weights.shape)
        weights[:, :n] = expansion.coef[:n_outputs, :n]
    return (NarrowVectors if is_narrow else Vectors)(
        writable(expansion.rows),
        _transposed(expansion.rows, n) if is_narrow or n_rows >= FEW_ROWS else np.zeros(0, expansion.rows.dtype),
        writable(expansion.norms),
        writable(weights),
        np.zeros(n_outputs) if bias is None else np.asarray(bias, np.float64),
        n,
    )


def _transposed(rows, n):
    columns = np.zeros((rows.shape[1], padded(n) + ODD_SLOTS), rows.dtype)
    columns[:, :n] = rows[:n].T
    return columns.ravel()


def refreshed(vectors, n_slots):
    """The vectors, of which some are in use, after rows, norms and weights were changed in place."""
    columns = _transposed(vectors.rows, n_slots) if vectors.columns.size > 0 else vectors.columns
    return vectors._replace(columns=columns, n_slots=n_slots)


def writable(array):
    """One compiled type for arrays that can be written and that cannot: that of training, with which code is shared."""
    return array if array.flags.writeable else array.copy()


def new_scoring(kernel, vectors, X, *, n_threads=1, shift=None, any_size=False) -> DenseScoring:
    """Get ready to score the rows of a C-contiguous matrix, float32 or float64, on some threads."""
    capacity, n_features = vectors.rows.shape
    dtype, n_block = vectors.rows.dtype, block_rows_for(pairing_of(kernel), n_features, padded(vectors.n_slots))
    while n_block > BLOCK_ROWS and X.shape[0] < _BLOCKS_EACH * n_threads * n_block:
        n_block //= 2
    n_block = min(n_block, max(X.shape[0], 1))
    scratch = Scratch(
        np.empty((n_threads, n_block, n_features), dtype),
        np.empty((n_threads, n_block * (capacity + ODD_SLOTS)), dtype),
        np.empty((n_threads, capacity), dtype),
    )
    return scoring_of(kernel, vectors, X, scratch, len(vectors.bias), shift=shift, any_size=any_size)


def scoring_of(kernel, vectors, X, scratch, n_outputs, *, shift=None, any_size=False) -> DenseScoring:
    """The same for vectors of a kind that `score_block` has code for, with memory in ``scratch``."""
    n_features, dtype = X.shape[1], scratch.block.dtype
    return DenseScoring(
        kernel,
        vectors,
        read_only(X),
        np.zeros(n_features) if shift is None else shift,
        scratch,
        *np.zeros((2, 1), np.int64),
        ALONE,
        np.iinfo(np.int64).max if any_size else most_bits(n_features, dtype),
        np.empty((X.shape[0], n_outputs)),
    )


def score_rows(scoring: DenseScoring) -> None:
    """Score all rows on one thread; raises `UnfitRowsError` for values above `largest_size`."""
    _score_all(scoring, 1)


def score_on_threads(scoring: DenseScoring, n_threads: int) -> None:
    """The same on several threads, for which there is memory."""
    if n_threads == 1:
        score_rows(scoring)
        return
    with CREWS.one_of(n_threads) as crew:
        crew.run(lambda words: _score_all(scoring._replace(crew=words), n_threads), math.inf)


def _score_all(scoring, n_threads):
    reached, n_rows = 0, len(scoring.X)
    while reached < n_rows:
        reached = score_some(scoring, n_threads, n_threads * MOST_ROWS)
        if reached == UNFIT:
            raise UnfitRowsError


@entry
def score_some(scoring, n_threads, most_rows):
    """Score about ``most_rows`` rows; returns a row up to which all have scores, or ``UNFIT``."""
    last = min(value_of(scoring.next_row) + most_rows, len(scoring.X))
    arguments = scoring, last
    share(scoring.crew, code_of(_score_part, arguments), max(n_threads, 1), arguments)
    return UNFIT if value_of(scoring.is_unfit) != 0 else value_of(scoring.next_row)


@task
def _score_part(scoring, last, part):
    _score_until(scoring, part, last)


@separate
def _score_until(scoring, thread, last):
    n_rows, block_rows = scoring.X.shape[0], scoring.scratch.block.shape[1]
    while value_of(scoring.next_row) < last:
        start = add_to(scoring.next_row, block_rows)
        if start >= n_rows:
            break
        count = min(block_rows, n_rows - start)
        if _read(scoring.X, start, count, scoring.shift, scoring.scratch.block[thread]) > scoring.most_bits:
            add_to(scoring.is_unfit, 1)
            add_to(scoring.next_row, n_rows)  # no other thread takes more
            break
        score_block(scoring.vectors, scoring, thread, start, count)


@compiled
def _read(X, start, count, shift, block):
    """Convert rows to the type of the block; returns `magnitude_bits` of the largest value there."""
    most = magnitude_bits(block.dtype.type(0))
    for i in range(count):
        for f in range(block.shape[1]):
            block[i, f] = np.float64(X[start + i, f]) - shift[f]  # before it is rounded
            most = larger(most, magnitude_bits(block[i, f]))
    return most


@generic
def score_block(vectors, scoring, thread, start, count):
    """Score rows that are in the block of a thread."""


@score_block.implement(Vectors, NarrowVectors)
def _score_by_vectors(vectors, scoring, thread, start, count):
    block = scoring.scratch.block[thread]
    products, values = scoring.scratch.products[thread], scoring.scratch.kernel_row[thread]
    full, pairing = whole_groups(vectors.n_slots), pairing_of(scoring.kernel)
    _multiply(vectors, pairing, block, count, products)
    for i in range(count):
        own = products[_products_at(vectors, pairing, block, i, products) :]
        norm, out = rows_dot(block, i, block, i), scoring.out[start + i]
        out[0] = scored_row(scoring.kernel, own, vectors.norms, norm, vectors.weights, values, full)
        if out.size > 1:
            weighted_sums(vectors.weights, 1, values, full, out)
        for o in range(out.size):
            out[o] += vectors.bias[o]


@generic
def _multiply(vectors, pairing, block, count, products):
    """Multiply all rows of a block with the vectors, where that is better than one by one."""


@generic
def _products_at(vectors, pairing, block, i, products):
    """Where the products of row i of a block begin."""


@inlined
def _stride(vectors):
    """How far it is from one feature of ``columns``, or one row of products, to the next."""
    return whole_groups(vectors.n_slots) + ODD_SLOTS


@_multiply.implement(Vectors)
def _multiply_block(vectors, pairing, block, count, products):
    stride = _stride(vectors)
    if vectors.columns.size > 0:
        block_pairs(pairing, block, count, vectors.columns, stride, products)
    else:
        for i in range(count):
            row_pairs(pairing, block, i, vectors.rows, stride - ODD_SLOTS, products[i * stride :], ADJACENT)


@_products_at.implement(Vectors)
def _row_of_products(vectors, pairing, block, i, products):
    return i * _stride(vectors)


@_multiply.implement(NarrowVectors)
def _multiply_later(vectors, pairing, block, count, products):
    pass


@_products_at.implement(NarrowVectors)
def _products_now(vectors, pairing, block, i, products):
    stride = _stride(vectors)
    column_pairs(pairing, block, i, vectors.columns, stride, products, stride - ODD_SLOTS)
    return 0
