"""Sums over features of many pairs of rows: what no matrix product makes, at the speed of its arithmetic.

=================  ==========================================  =====================
`L1Distances`      ``sum_f |x_f - z_f|``
`Chi2Distances`    ``sum_f (x_f - z_f)^2 / (x_f + z_f)``       no value is negative
`Minima`           ``sum_f min(x_f, z_f)``                     no value is negative
=================  ==========================================  =====================

An L1 distance takes a subtraction, an absolute value and an addition for each feature; ARM does the first two in one
instruction. Loops run over columns, values of one feature in many rows, and take four features of four rows at a time:
each number that is loaded is used four times, and each sum is loaded and stored once in four additions.
"""

from typing import NamedTuple

import numpy as np

from frugalsvm.compiling.functions import compiled, generic, inlined, larger, separate, smaller
from frugalsvm.core.pairing import (
    add_feature,
    add_two_features,
    block_pairs,
    column_pairs,
    exact_pair,
    norm_term,
    own_pair,
    pair,
    row_norm,
    row_pairs,
    slot_sum,
    start_pairs,
)

TILE_ROWS = 4
TILE_WIDTH = 64  # rows of the other side whose columns stay in the fastest cache, ...
TILE_FEATURES = 128  # ... and how many of them
_SMALLEST_32, _SMALLEST_64 = np.finfo(np.float32).tiny, np.finfo(np.float64).tiny


class L1Distances(NamedTuple):
    """``sum_f |x_f - z_f|``"""


class Chi2Distances(NamedTuple):
    """``sum_f (x_f - z_f)^2 / (x_f + z_f)``, of values that are not negative; 0 / 0 is 0"""


class Minima(NamedTuple):
    """``sum_f min(x_f, z_f)``, of values that are not negative"""


SUMS = (L1Distances, Chi2Distances, Minima)


@generic
def _term(pairing, a, b):
    """What a feature adds that is ``a`` in one row and ``b`` in the other."""


@generic
def _beside_zero(pairing, a, b):
    """How much more it adds than if it were zero and ``b``."""


@_term.implement(L1Distances)
def _difference(pairing, a, b):
    return abs(a - b)


@_beside_zero.implement(L1Distances)
def _difference_beside_zero(pairing, a, b):
    return abs(a - b) - abs(b)


@generic
def _tiny(value):
    """A number so small that only zero is smaller, of the type of the value."""


@_tiny.implement(np.float32)
def _tiny_float32(value):
    return _SMALLEST_32


@_tiny.implement(np.float64)
def _tiny_float64(value):
    return _SMALLEST_64


@_term.implement(Chi2Distances)
def _share_of_sum(pairing, a, b):
    return (a - b) * (a - b) / larger(a + b, _tiny(a))


@_beside_zero.implement(Chi2Distances)
def _share_beside_zero(pairing, a, b):
    return (a - b) * (a - b) / larger(a + b, _tiny(a)) - b


@_term.implement(Minima)
def _minimum(pairing, a, b):
    return smaller(a, b)


@_beside_zero.implement(Minima)
def _minimum_beside_zero(pairing, a, b):
    return smaller(a, b)


@own_pair.implement(L1Distances, Chi2Distances)
def _no_distance(pairing, norm):
    return 0.0


# A value is the minimum of itself and itself, not its square.


@norm_term.implement(Minima)
def _itself(pairing, a):
    return a


@row_norm.implement(Minima)
def _sum_of_row(pairing, rows, i):
    total = rows.dtype.type(0)
    for f in range(rows.shape[1]):
        total += rows[i, f]
    return total


@pair.implement(*SUMS)
def _sum_of_pair(pairing, A, i, B, j):
    total = A.dtype.type(0)
    for f in range(A.shape[1]):
        total += _term(pairing, A[i, f], B[j, f])
    return total


@exact_pair.implement(*SUMS)
def _exact_sum(pairing, rows, i, j):
    total = norm_x = norm_z = 0.0
    for f in range(rows.shape[1]):
        a, b = np.float64(rows[i, f]), np.float64(rows[j, f])
        total += _term(pairing, a, b)
        norm_x += a * a
        norm_z += b * b
    return total, norm_x, norm_z


@row_pairs.implement(*SUMS)
def _sums_of_row(pairing, A, i, B, n, out, stride):
    _four_sums_at_a_time(pairing, A, i, B, n, out, stride)


@separate
def _four_sums_at_a_time(pairing, A, i, B, n, out, stride):
    for j in range(0, n, 4):
        p = q = r = s = A.dtype.type(0)
        for f in range(A.shape[1]):
            a = A[i, f]
            p += _term(pairing, a, B[j, f])
            q += _term(pairing, a, B[j + 1, f])
            r += _term(pairing, a, B[j + 2, f])
            s += _term(pairing, a, B[j + 3, f])
        at = j * stride
        out[at], out[at + stride], out[at + 2 * stride], out[at + 3 * stride] = p, q, r, s


# --- rows kept feature by feature ---------------------------------------------------------------------------


@column_pairs.implement(*SUMS)
def _column_sums(pairing, matrix, i, columns, stride, out, n):
    _set_zero(out, n)
    f = 0
    while f + 4 <= matrix.shape[1]:
        a, b, c, d = matrix[i, f], matrix[i, f + 1], matrix[i, f + 2], matrix[i, f + 3]
        _add_four(pairing, a, b, c, d, columns[f * stride :], stride, out, n)
        f += 4
    while f < matrix.shape[1]:
        _add_one(pairing, matrix[i, f], columns[f * stride :], out, n)
        f += 1


@compiled
def _set_zero(out, n):
    for j in range(n):
        out[j] = 0.0


@compiled
def _add_one(pairing, a, column, out, n):
    for j in range(n):
        out[j] += _term(pairing, a, column[j])


@compiled
def _add_four(pairing, a, b, c, d, columns, stride, out, n):
    first, second, third, fourth = columns, columns[stride:], columns[2 * stride :], columns[3 * stride :]
    for j in range(n):
        one, two = _term(pairing, a, first[j]), _term(pairing, b, second[j])
        out[j] += (one + two) + (_term(pairing, c, third[j]) + _term(pairing, d, fourth[j]))


@block_pairs.implement(*SUMS, inline=False)
def _sums_of_block(pairing, block, count, columns, stride, out):
    whole = count // TILE_ROWS * TILE_ROWS
    for start in range(0, stride, TILE_WIDTH):
        width = min(TILE_WIDTH, stride - start)
        for f in range(0, block.shape[1], TILE_FEATURES):
            own = columns[f * stride + start :]
            for i in range(0, whole, TILE_ROWS):
                at = i * stride + start
                p, q, r, s = out[at:], out[at + stride :], out[at + 2 * stride :], out[at + 3 * stride :]
                _add_features(pairing, block, i, i + 1, i + 2, i + 3, f, own, stride, p, q, r, s, width)
    for i in range(whole, count):
        column_pairs(pairing, block, i, columns, stride, out[i * stride :], stride)


@inlined
def _add_features(pairing, rows, h, i, j, k, first, columns, stride, p, q, r, s, width):
    """Add up to `TILE_FEATURES` features, from ``first`` on, to the sums of four rows and ``width`` columns.

    The sums begin with the first features; the columns, ``stride`` apart, are those of these features.
    """
    if first == 0:
        for c in range(width):
            p[c] = q[c] = r[c] = s[c] = rows.dtype.type(0)
    last = min(first + TILE_FEATURES, rows.shape[1])
    f = first
    while f + 4 <= last:
        _add_tile(pairing, rows, h, i, j, k, f, columns[(f - first) * stride :], stride, p, q, r, s, width)
        f += 4
    while f < last:
        column = columns[(f - first) * stride :]
        _add_one(pairing, rows[h, f], column, p, width)
        _add_one(pairing, rows[i, f], column, q, width)
        _add_one(pairing, rows[j, f], column, r, width)
        _add_one(pairing, rows[k, f], column, s, width)
        f += 1


@generic
def _add_tile(pairing, rows, h, i, j, k, f, columns, stride, p, q, r, s, width):
    """Add four features to the sums of four rows."""


@_add_tile.implement(ordered=True)  # or else sums would be rounded as it suits each of the four
def _add_four_by_four(pairing, rows, h, i, j, k, f, columns, stride, p, q, r, s, width):
    h0, h1, h2, h3 = rows[h, f], rows[h, f + 1], rows[h, f + 2], rows[h, f + 3]
    i0, i1, i2, i3 = rows[i, f], rows[i, f + 1], rows[i, f + 2], rows[i, f + 3]
    j0, j1, j2, j3 = rows[j, f], rows[j, f + 1], rows[j, f + 2], rows[j, f + 3]
    k0, k1, k2, k3 = rows[k, f], rows[k, f + 1], rows[k, f + 2], rows[k, f + 3]
    first, second, third, fourth = columns, columns[stride:], columns[2 * stride :], columns[3 * stride :]
    for c in range(width):
        u, v, w, x = first[c], second[c], third[c], fourth[c]
        p[c] += (_term(pairing, h0, u) + _term(pairing, h1, v)) + (_term(pairing, h2, w) + _term(pairing, h3, x))
        q[c] += (_term(pairing, i0, u) + _term(pairing, i1, v)) + (_term(pairing, i2, w) + _term(pairing, i3, x))
        r[c] += (_term(pairing, j0, u) + _term(pairing, j1, v)) + (_term(pairing, j2, w) + _term(pairing, j3, x))
        s[c] += (_term(pairing, k0, u) + _term(pairing, k1, v)) + (_term(pairing, k2, w) + _term(pairing, k3, x))


@separate
def rows_sums(pairing, rows, first, last, others, columns, out):
    """``out[i - first, j]`` is the sum of ``rows[i]`` and ``others[j]``, the same whatever the other rows are.

    ``columns``, for work, has room for `TILE_WIDTH` rows, and ``out`` for a multiple of `TILE_ROWS`.
    """
    for start in range(0, len(others), TILE_WIDTH):
        width = min(TILE_WIDTH, len(others) - start)
        for f in range(0, rows.shape[1], TILE_FEATURES):
            _pack_columns(others, start, width, f, columns)
            for i in range(first, last, TILE_ROWS):
                # The last row again where there are no four.
                j, k, m = min(i + 1, last - 1), min(i + 2, last - 1), min(i + 3, last - 1)
                at = i - first
                p, q, r, s = out[at, start:], out[at + 1, start:], out[at + 2, start:], out[at + 3, start:]
                if width == TILE_WIDTH:  # with a constant the compiler makes no loop for the rest: a tenth faster
                    _add_features(pairing, rows, i, j, k, m, f, columns, TILE_WIDTH, p, q, r, s, TILE_WIDTH)
                else:
                    _add_features(pairing, rows, i, j, k, m, f, columns, TILE_WIDTH, p, q, r, s, width)


@compiled
def _pack_columns(rows, start, width, first, columns):
    """Up to `TILE_FEATURES` features, from ``first`` on, of ``width`` rows: `TILE_WIDTH` to a feature."""
    last = min(first + TILE_FEATURES, rows.shape[1])
    for c in range(width):
        for f in range(first, last):
            columns[(f - first) * TILE_WIDTH + c] = rows[start + c, f]


# --- sparse rows: from the sum of zeros and a row, features that are not zero go on ---------------------------


@slot_sum.implement(*SUMS)
def _sum_beside_zeros(pairing, rows, slot):
    total = zero = rows.dtype.type(0)
    for f in range(rows.shape[1]):
        total += _term(pairing, zero, rows[slot, f])
    return total


@start_pairs.implement(*SUMS)
def _start_sums(pairing, slot_sums, out, n):
    for j in range(n):
        out[j] = slot_sums[j]


@add_feature.implement(*SUMS)
def _add_feature(pairing, a, column, out, n):
    _add_beside_zero(pairing, a, column, out, n)


@add_two_features.implement(*SUMS)
def _add_two_features(pairing, a, column, b, other, out, n):
    _add_two_beside_zero(pairing, a, column, b, other, out, n)


@compiled
def _add_beside_zero(pairing, a, column, out, n):
    for j in range(n):
        out[j] += _beside_zero(pairing, a, column[j])


@compiled
def _add_two_beside_zero(pairing, a, column, b, other, out, n):
    for j in range(n):
        out[j] += _beside_zero(pairing, a, column[j]) + _beside_zero(pairing, b, other[j])
