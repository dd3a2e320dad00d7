"""Blocks of rows with all landmarks: products, and sums of kernel values, in compiled code.

Sums are those of `frugalsvm.core.dense_scores`, by threads that make one call each. A block always has the same number
of rows there, the last one filled up with zeros, so that the value of a row is the same in every batch.
"""

from typing import NamedTuple

import numpy as np

from frugalsvm.compiling.functions import compiled, generic, matrix_product
from frugalsvm.compiling.threads import WORTH_A_THREAD, Threads
from frugalsvm.core.blocks import is_of_products
from frugalsvm.core.dense_scores import score_block, score_on_threads, scoring_of, writable
from frugalsvm.core.fastmath import copy_row, float64_sum, rows_dot
from frugalsvm.core.feature_sums import SUMS, rows_sums
from frugalsvm.core.kernels import pairing_of, values_in_row
from frugalsvm.core.pairing import Products
from frugalsvm.lowrank.products import BLOCK_ROWS as STEADY_ROWS
from frugalsvm.lowrank.products import single_is_steady

_ZERO = np.float32(0.0)
_FEW_FEATURES = 128  # up to here, BLAS multiplies blocks of so few rows faster with transposed landmarks
_CHANGED = "rows", "in_double", "products"  # of a scratch
_KERNEL_VALUE = 16  # products in the time that a kernel value takes besides


class _Scratch(NamedTuple):
    """Memory for a block of rows."""

    rows: np.ndarray  # (n_block, n_features) those of a block that is filled up
    products: np.ndarray  # (n_block, n_landmarks)


class _NarrowScratch(NamedTuple):
    """The same, with transposed landmarks."""

    columns: np.ndarray
    rows: np.ndarray
    products: np.ndarray


class _DoubleScratch(NamedTuple):
    """The same for products in float64."""

    landmarks: np.ndarray
    rows: np.ndarray
    in_double: np.ndarray
    products: np.ndarray  # float32


def new_scratch(landmarks, block_rows):
    """For blocks of a number of rows."""
    n_landmarks, n_features = landmarks.shape
    return _Scratch(np.empty((block_rows, n_features), np.float32), np.empty((block_rows, n_landmarks), np.float32))


def steady_scratch(nystroem):
    """Such that a row of products does not depend on its neighbors."""
    landmarks = nystroem.landmarks
    scratch = new_scratch(landmarks, STEADY_ROWS)
    if not is_of_products(nystroem.kernel):
        return scratch
    if not single_is_steady():
        wide = (np.empty(each.shape) for each in scratch)
        return _DoubleScratch(landmarks.astype(np.float64), *wide, scratch.products)
    is_narrow = 1 < landmarks.shape[1] <= _FEW_FEATURES
    return _NarrowScratch(np.ascontiguousarray(landmarks.T), *scratch) if is_narrow else scratch


@generic
def meet_landmarks(pairing, rows, first, last, landmarks, scratch):
    """The numbers that a kernel is made of, for some rows and all landmarks."""


@meet_landmarks.implement(Products)
def _products_with_landmarks(pairing, rows, first, last, landmarks, scratch):
    _multiply_block(scratch, rows, first, last, landmarks)


@meet_landmarks.implement(*SUMS)
def _sums_with_landmarks(pairing, rows, first, last, landmarks, scratch):
    rows_sums(pairing, rows, first, last, landmarks, scratch.rows.reshape(scratch.rows.size), scratch.products)


@generic
def _multiply_block(scratch, rows, first, last, landmarks):
    """Inner products of some rows with all landmarks: of a block of one size, whose last rows may be zeros."""


@_multiply_block.implement(_Scratch)
def _in_single(scratch, rows, first, last, landmarks):
    _multiply_columns(scratch, rows, first, last, landmarks.T)


@_multiply_block.implement(_NarrowScratch)
def _in_columns(scratch, rows, first, last, landmarks):
    _multiply_columns(scratch, rows, first, last, scratch.columns)


@_multiply_block.implement(_DoubleScratch)
def _in_double(scratch, rows, first, last, landmarks):
    _fill_up(rows, first, last, scratch.rows)
    matrix_product(scratch.rows, scratch.landmarks.T, scratch.in_double)
    for i in range(last - first):
        copy_row(scratch.products, i, scratch.in_double, i)


@compiled
def _multiply_columns(scratch, rows, first, last, columns):
    if last - first == len(scratch.rows):
        matrix_product(rows[first:last], columns, scratch.products)
        return
    _fill_up(rows, first, last, scratch.rows)
    matrix_product(scratch.rows, columns, scratch.products)


@compiled
def _fill_up(rows, first, last, block):
    for i in range(len(block)):
        for j in range(block.shape[1]):
            block[i, j] = rows[first + i, j] if first + i < last else _ZERO


# --- sums ---------------------------------------------------------------------------------------------------------


class _Landmarks(NamedTuple):
    """Landmarks and coefficients, as scores need them."""

    rows: np.ndarray  # (s, n_features) float32
    norms: np.ndarray  # (s,)
    weights: np.ndarray  # (n_outputs, s) float64


class _Room(NamedTuple):
    """Memory of all threads, of which each has its own part."""

    block: np.ndarray  # (n_threads, n_block, n_features) rows at hand
    values: np.ndarray  # (n_threads, s) kernel values of one of them
    scratch: NamedTuple  # for products


def landmark_sums(nystroem, X, weights, threads: Threads, *, is_checked: bool) -> np.ndarray:
    """``sum_j weights[o, j] K(X[i], landmark j)`` for dense rows, an output in each column, in float64.

    Rows that are not ``checked`` raise `UnfitRowsError` where values are not finite, or too large.
    """
    n_landmarks, n_features = nystroem.landmarks.shape
    n_products = len(X) * n_landmarks * (n_features + _KERNEL_VALUE)
    n_threads = int(max(1, min(threads.count, -(-len(X) // STEADY_ROWS), n_products // WORTH_A_THREAD)))
    room = _Room(
        np.empty((n_threads, STEADY_ROWS, n_features), np.float32),
        np.empty((n_threads, n_landmarks), np.float32),
        _of_threads(steady_scratch(nystroem), n_threads),
    )
    landmarks = _Landmarks(*map(writable, nystroem[1:3]), weights)
    scoring = scoring_of(nystroem.kernel, landmarks, np.ascontiguousarray(X), room, len(weights), any_size=is_checked)
    score_on_threads(scoring, n_threads)
    return scoring.out


def _of_threads(scratch, n_threads):
    """Memory for all of them; what is not changed is there once."""
    own = {name: getattr(scratch, name) for name in scratch._fields if name in _CHANGED}
    return scratch._replace(**{name: np.empty((n_threads, *each.shape), each.dtype) for name, each in own.items()})


@generic
def _own(scratch, thread):
    """The part of a thread."""


@_own.implement(_Scratch)
def _own_in_single(scratch, thread):
    return _Scratch(scratch.rows[thread], scratch.products[thread])


@_own.implement(_NarrowScratch)
def _own_in_columns(scratch, thread):
    return _NarrowScratch(scratch.columns, scratch.rows[thread], scratch.products[thread])


@_own.implement(_DoubleScratch)
def _own_in_double(scratch, thread):
    return _DoubleScratch(scratch.landmarks, scratch.rows[thread], scratch.in_double[thread], scratch.products[thread])


@score_block.implement(_Landmarks)
def _score_by_landmarks(vectors, scoring, thread, start, count):
    room = scoring.scratch
    block, values, scratch = room.block[thread], room.values[thread], _own(room.scratch, thread)
    meet_landmarks(pairing_of(scoring.kernel), block, 0, count, vectors.rows, scratch)
    for i in range(count):
        values_in_row(scoring.kernel, scratch.products[i], vectors.norms, rows_dot(block, i, block, i), values)
        for o in range(len(vectors.weights)):
            scoring.out[start + i, o] = float64_sum(vectors.weights, o, values, values.size)
