"""The number that a kernel is made of, for two rows: their inner product, or a sum over features.

Sources of examples (``lookahead.py``) compute it for many pairs; which one, their field ``pairing`` says. Inner
products come with squared norms, so that they serve kernels of Euclidean distances as well; there BLAS does the work.
Sums over features, of which no matrix product makes a block, have loops of their own (``feature_sums.py``).
"""

from typing import NamedTuple

import numpy as np

from frugalsvm.compiling.functions import compiled, generic, matrix_product, separate, smaller
from frugalsvm.compiling.lanes import MOST_IN_ORDER, lanes_64, lanes_128, lanes_256
from frugalsvm.core.fastmath import row_products, rows_dot


class Products(NamedTuple):
    """``<x, z>``"""


PRODUCTS = Products()
MANY_ZEROS = 7  # values per value that is not zero from which on rows are multiplied without the zeros
MANY_FEATURES = 16  # from here on that is worth a look
GROUP_ROWS = 64  # of a block, which are multiplied in the same way
# BLAS copies large vectors for each product: from rows of many features in less time than from columns.
# Of small ones it makes products without a copy, and those with rows take twice as long.
LARGE, SOME_FEATURES = 2**16, 64
_NONE, _ONE = np.int32(0), np.int32(1)  # as many as values are in a vector


@generic
def pair(pairing, A, i, B, j):
    """The number of ``A[i]`` and ``B[j]`` in the type of the matrices."""


@generic
def exact_pair(pairing, rows, i, j):
    """The number of two rows and their squared norms, with every sum in float64, whatever the type of the rows."""


@generic
def row_norm(pairing, rows, i):
    """What K(x, x) is a function of, for ``rows[i]``: the squared norm, or the sum of minima of a row with itself."""


@generic
def own_pair(pairing, norm):
    """The number of a row and itself, from `row_norm`."""


@generic
def norm_term(pairing, a):
    """What a feature with the value ``a`` adds to it."""


@generic
def row_pairs(pairing, A, i, B, n, out, stride):
    """``out[j stride]`` is the number of ``A[i]`` and ``B[j]``, ``j < n``.

    B and ``out`` must have room for a multiple of four.
    """


@generic
def column_pairs(pairing, matrix, i, columns, stride, out, n):
    """The same for rows kept feature by feature, ``stride`` to a feature: ``out[j]`` for ``j < n``.

    There must be room for a multiple of sixteen.
    """


@generic
def block_pairs(pairing, block, count, columns, stride, out):
    """The same for the first ``count`` rows of a block and ``stride`` others: ``out[i stride + j]``."""


@generic
def takes_rows(pairing, rows):
    """Whether others like these may come to `mixed_block_pairs` as rows."""


@generic
def needs_columns(pairing, block, count):
    """Whether `mixed_block_pairs` looks at the columns for some of these rows."""


@generic
def mixed_block_pairs(pairing, block, count, rows, columns, stride, out):
    """``block_pairs`` with others given as rows, too; the columns are there only where they are needed."""


# Of sparse rows, features that are zero need no visit.


@generic
def slot_sum(pairing, rows, slot):
    """The number of a row and a row of zeros."""


@generic
def start_pairs(pairing, slot_sums, out, n):
    """The numbers of a row of zeros and others, of which `slot_sum` is known, to which features are added."""


@generic
def add_feature(pairing, a, column, out, n):
    """Add a feature that is ``a`` in a row and ``column[j]`` in the others."""


@generic
def add_two_features(pairing, a, column, b, other, out, n):
    """Add two features at a time: less traffic to the numbers."""


# --- inner products -----------------------------------------------------------------------------------------


@pair.implement(Products)
def _product(pairing, A, i, B, j):
    return rows_dot(A, i, B, j)


@row_norm.implement()
def _squared_norm(pairing, rows, i):
    return rows_dot(rows, i, rows, i)


@own_pair.implement()
def _norm(pairing, norm):
    return norm


@norm_term.implement()
def _square(pairing, a):
    return a * a


@exact_pair.implement(Products)
def _exact_product(pairing, rows, i, j):
    product = norm_x = norm_z = 0.0
    for f in range(rows.shape[1]):
        a, b = np.float64(rows[i, f]), np.float64(rows[j, f])
        product += a * b
        norm_x += a * a
        norm_z += b * b
    return product, norm_x, norm_z


@row_pairs.implement(Products)
def _row_products(pairing, A, i, B, n, out, stride):
    row_products(A, i, B, n, out, stride)


@block_pairs.implement(Products)
def _block_products(pairing, block, count, columns, stride, out):
    _products_by_groups(block, count, block[:0], columns, stride, out)


@takes_rows.implement()
def _takes_no_rows(pairing, rows):
    return False


@takes_rows.implement(Products)
def _takes_large_rows(pairing, rows):
    return rows.size >= LARGE and rows.shape[1] > SOME_FEATURES


@needs_columns.implement()
def _needs_columns_always(pairing, block, count):
    return True


@needs_columns.implement(Products)
def _needs_columns_for_zeros(pairing, block, count):
    for start in range(0, count, GROUP_ROWS):
        if _has_many_zeros(block[start:], smaller(GROUP_ROWS, count - start)):
            return True
    return False


@mixed_block_pairs.implement()
def _mixed_block_pairs(pairing, block, count, rows, columns, stride, out):
    block_pairs(pairing, block, count, columns, stride, out)


@mixed_block_pairs.implement(Products)
def _mixed_block_products(pairing, block, count, rows, columns, stride, out):
    _products_by_groups(block, count, rows, columns, stride, out)


@separate
def _products_by_groups(block, count, rows, columns, stride, out):
    """Products with the rows, or with the columns if there are no rows, and for rows of many zeros."""
    start = 0
    while start < count:
        # Groups of 64 rows, alike if they have many zeros or not: long blocks compute as short ones do.
        has_zeros, stop = _has_many_zeros(block[start:], smaller(GROUP_ROWS, count - start)), start + GROUP_ROWS
        while stop < count and _has_many_zeros(block[stop:], smaller(GROUP_ROWS, count - stop)) == has_zeros:
            stop += GROUP_ROWS
        stop = smaller(stop, count)
        if has_zeros:
            for i in range(start, stop):
                _products_without_zeros(block, i, columns, stride, out[i * stride :], stride)
        elif rows.shape[0] > 0:
            n = stop - start
            matrix_product(block[start:stop], rows.T, out[start * stride : stop * stride].reshape(n, stride))
        else:
            _block_product(block[start:], stop - start, columns, stride, out[start * stride :])
        start = stop


@compiled
def _has_many_zeros(block, count):
    n_others, zero = 0, block.dtype.type(0)
    for i in range(count):
        n_here = _NONE
        for f in range(block.shape[1]):
            n_here = np.int32(n_here + (_ONE if block[i, f] != zero else _NONE))
        n_others += n_here
    return MANY_ZEROS * n_others < count * block.shape[1]


@separate
def _products_without_zeros(matrix, i, columns, stride, out, n):
    """Products by values that are not zero: four of them at a time, for less traffic to the products."""
    zero = matrix.dtype.type(0)
    for j in range(n):
        out[j] = zero
    n_waiting = p = q = r = 0  # the last values that are not zero, and not added yet: r after q after p
    for f in range(matrix.shape[1]):
        if matrix[i, f] != zero:
            if n_waiting == 3:
                _add_four_of(matrix, i, p, q, r, f, columns, stride, out, n)
                n_waiting = 0
            else:
                p, q, r = q, r, f
                n_waiting += 1
    if n_waiting > 1:
        _add_pair(matrix[i, q], columns[q * stride :], matrix[i, r], columns[r * stride :], out, n)
    if n_waiting % 2 == 1:
        f = p if n_waiting == 3 else r
        _add_one(matrix[i, f], columns[f * stride :], out, n)


@compiled
def _block_product(block, count, columns, stride, products):
    """``products = block[:count] @ columns``, row after row in a flat array."""
    n_features = block.shape[1]
    # Transposed support vectors: to multiply with their transpose takes BLAS twice as long for blocks of this size.
    matrix = columns[: n_features * stride].reshape(n_features, stride)
    matrix_product(block[:count], matrix, products[: count * stride].reshape(count, stride))


@slot_sum.implement(Products)
def _no_slot_sum(pairing, rows, slot):
    return rows.dtype.type(0)


@start_pairs.implement(Products)
def _start_products(pairing, slot_sums, out, n):
    for j in range(n):
        out[j] = 0.0


@add_feature.implement(Products)
def _add_feature(pairing, a, column, out, n):
    _add_one(a, column, out, n)


@add_two_features.implement(Products)
def _add_two_features(pairing, a, column, b, other, out, n):
    _add_pair(a, column, b, other, out, n)


@column_pairs.implement(Products)
def _column_products(pairing, matrix, i, columns, stride, out, n):
    n_features = matrix.shape[1]
    if n_features > MANY_FEATURES and _has_many_zeros(matrix[i : i + 1], 1):
        _products_without_zeros(matrix, i, columns, stride, out, n)
        return
    start, most, half, quarter = 0, 256 // out.itemsize, 128 // out.itemsize, 64 // out.itemsize
    while n_features <= MOST_IN_ORDER and start + most <= n:
        lanes_256(matrix, i, columns, stride, start, out)
        start += most
    while start + half <= n:
        lanes_128(matrix, i, columns, stride, start, out)
        start += half
    while start < n:
        lanes_64(matrix, i, columns, stride, start, out)
        start += quarter


@compiled
def _add_one(a, column, out, n):
    for j in range(n):
        out[j] += a * column[j]


@compiled
def _add_pair(a, column, b, other, out, n):
    for j in range(n):
        out[j] += a * column[j] + b * other[j]


@compiled
def _add_four_of(matrix, i, p, q, r, s, columns, stride, out, n):
    a, b, c, d = matrix[i, p], matrix[i, q], matrix[i, r], matrix[i, s]
    first, second = columns[p * stride :], columns[q * stride :]
    third, fourth = columns[r * stride :], columns[s * stride :]
    for j in range(n):
        out[j] += (a * first[j] + b * second[j]) + (c * third[j] + d * fourth[j])
