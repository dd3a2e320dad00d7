"""L1 distances of many pairs of rows: what no matrix product makes, at the speed of its arithmetic.

A distance takes a subtraction, an absolute value and an addition for each feature; ARM does the first two in one
instruction. Loops run over columns, values of one feature in many rows, and take four features of four rows at a time:
each number that is loaded is used four times, and each sum is loaded and stored once in four additions.
"""

from typing import NamedTuple

import numpy as np

from frugalsvm._compile import compiled, generic, inlined, separate
from frugalsvm.core.pairing import (
    add_feature,
    add_two_features,
    block_pairs,
    column_pairs,
    exact_pair,
    pair,
    row_pairs,
    slot_sum,
    start_pairs,
)

__all__ = ["TILE_ROWS", "TILE_WIDTH", "L1Distances", "rows_distances"]

TILE_ROWS = 4
TILE_WIDTH = 64  # rows of the other side whose columns stay in the fastest cache, ...
TILE_FEATURES = 128  # ... so many of them


class L1Distances(NamedTuple):
    """``sum_f |x_f - z_f|``"""


@pair.implement(L1Distances)
def _distance(pairing, A, i, B, j):
    total = A.dtype.type(0)
    for f in range(A.shape[1]):
        total += abs(A[i, f] - B[j, f])
    return total


@exact_pair.implement(L1Distances)
def _exact_distance(pairing, rows, i, j):
    distance = norm_x = norm_z = 0.0
    for f in range(rows.shape[1]):
        a, b = np.float64(rows[i, f]), np.float64(rows[j, f])
        distance += abs(a - b)
        norm_x += a * a
        norm_z += b * b
    return distance, norm_x, norm_z


@row_pairs.implement(L1Distances)
def _row_distances(pairing, A, i, B, n, out, stride):
    _four_distances_at_a_time(A, i, B, n, out, stride)


@separate
def _four_distances_at_a_time(A, i, B, n, out, stride):
    for j in range(0, n, 4):
        p = q = r = s = A.dtype.type(0)
        for f in range(A.shape[1]):
            a = A[i, f]
            p += abs(a - B[j, f])
            q += abs(a - B[j + 1, f])
            r += abs(a - B[j + 2, f])
            s += abs(a - B[j + 3, f])
        at = j * stride
        out[at], out[at + stride], out[at + 2 * stride], out[at + 3 * stride] = p, q, r, s


# --- rows kept feature by feature ---------------------------------------------------------------------------


@column_pairs.implement(L1Distances)
def _column_distances(pairing, matrix, i, columns, stride, out, n):
    _set_zero(out, n)
    f = 0
    while f + 4 <= matrix.shape[1]:
        a, b, c, d = matrix[i, f], matrix[i, f + 1], matrix[i, f + 2], matrix[i, f + 3]
        _add_four(a, b, c, d, columns[f * stride :], stride, out, n)
        f += 4
    while f < matrix.shape[1]:
        _add_one(matrix[i, f], columns[f * stride :], out, n)
        f += 1


@compiled
def _set_zero(out, n):
    for j in range(n):
        out[j] = 0.0


@compiled
def _add_one(a, column, out, n):
    for j in range(n):
        out[j] += abs(a - column[j])


@compiled
def _add_four(a, b, c, d, columns, stride, out, n):
    first, second, third, fourth = columns, columns[stride:], columns[2 * stride :], columns[3 * stride :]
    for j in range(n):
        out[j] += (abs(a - first[j]) + abs(b - second[j])) + (abs(c - third[j]) + abs(d - fourth[j]))


@block_pairs.implement(L1Distances, inline=False)
def _block_distances(pairing, block, count, columns, stride, out):
    whole = count // TILE_ROWS * TILE_ROWS
    for start in range(0, stride, TILE_WIDTH):
        width = min(TILE_WIDTH, stride - start)
        for f in range(0, block.shape[1], TILE_FEATURES):
            own = columns[f * stride + start :]
            for i in range(0, whole, TILE_ROWS):
                at = i * stride + start
                p, q, r, s = out[at:], out[at + stride :], out[at + 2 * stride :], out[at + 3 * stride :]
                _add_features(block, i, i + 1, i + 2, i + 3, f, own, stride, p, q, r, s, width)
    for i in range(whole, count):
        column_pairs(pairing, block, i, columns, stride, out[i * stride :], stride)


@inlined
def _add_features(rows, h, i, j, k, first, columns, stride, p, q, r, s, width):
    """Add up to `TILE_FEATURES` features, from ``first`` on, to the distances of four rows and ``width`` columns.

    The distances begin with the first features; the columns, ``stride`` apart, are those of these features.
    """
    if first == 0:
        for c in range(width):
            p[c] = q[c] = r[c] = s[c] = rows.dtype.type(0)
    last = min(first + TILE_FEATURES, rows.shape[1])
    f = first
    while f + 4 <= last:
        _add_tile(rows, h, i, j, k, f, columns[(f - first) * stride :], stride, p, q, r, s, width)
        f += 4
    while f < last:
        column = columns[(f - first) * stride :]
        _add_one(rows[h, f], column, p, width)
        _add_one(rows[i, f], column, q, width)
        _add_one(rows[j, f], column, r, width)
        _add_one(rows[k, f], column, s, width)
        f += 1


@generic
def _add_tile(rows, h, i, j, k, f, columns, stride, p, q, r, s, width):
    """Add four features to the distances of four rows."""


@_add_tile.implement(ordered=True)  # or else sums would be rounded as it suits each of the four
def _add_four_by_four(rows, h, i, j, k, f, columns, stride, p, q, r, s, width):
    h0, h1, h2, h3 = rows[h, f], rows[h, f + 1], rows[h, f + 2], rows[h, f + 3]
    i0, i1, i2, i3 = rows[i, f], rows[i, f + 1], rows[i, f + 2], rows[i, f + 3]
    j0, j1, j2, j3 = rows[j, f], rows[j, f + 1], rows[j, f + 2], rows[j, f + 3]
    k0, k1, k2, k3 = rows[k, f], rows[k, f + 1], rows[k, f + 2], rows[k, f + 3]
    first, second, third, fourth = columns, columns[stride:], columns[2 * stride :], columns[3 * stride :]
    for c in range(width):
        u, v, w, x = first[c], second[c], third[c], fourth[c]
        p[c] += (abs(h0 - u) + abs(h1 - v)) + (abs(h2 - w) + abs(h3 - x))
        q[c] += (abs(i0 - u) + abs(i1 - v)) + (abs(i2 - w) + abs(i3 - x))
        r[c] += (abs(j0 - u) + abs(j1 - v)) + (abs(j2 - w) + abs(j3 - x))
        s[c] += (abs(k0 - u) + abs(k1 - v)) + (abs(k2 - w) + abs(k3 - x))


@separate
def rows_distances(rows, first, last, others, columns, out):
    """``out[i - first, j] = |rows[i] - others[j]|`` for some rows: those of a row are the same whatever the others are.

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
                    _add_features(rows, i, j, k, m, f, columns, TILE_WIDTH, p, q, r, s, TILE_WIDTH)
                else:
                    _add_features(rows, i, j, k, m, f, columns, TILE_WIDTH, p, q, r, s, width)


@compiled
def _pack_columns(rows, start, width, first, columns):
    """Up to `TILE_FEATURES` features, from ``first`` on, of ``width`` rows: `TILE_WIDTH` to a feature."""
    last = min(first + TILE_FEATURES, rows.shape[1])
    for c in range(width):
        for f in range(first, last):
            columns[(f - first) * TILE_WIDTH + c] = rows[start + c, f]


# --- sparse rows: |z| is the distance from zero, and |x_f - z_f| - |z_f| what a feature adds ------------------


@slot_sum.implement(L1Distances)
def _distance_from_zero(pairing, rows, slot):
    total = rows.dtype.type(0)
    for f in range(rows.shape[1]):
        total += abs(rows[slot, f])
    return total


@start_pairs.implement(L1Distances)
def _start_distances(pairing, slot_sums, out, n):
    for j in range(n):
        out[j] = slot_sums[j]


@add_feature.implement(L1Distances)
def _add_feature(pairing, a, column, out, n):
    _add_difference(a, column, out, n)


@add_two_features.implement(L1Distances)
def _add_two_features(pairing, a, column, b, other, out, n):
    _add_two_differences(a, column, b, other, out, n)


@compiled
def _add_difference(a, column, out, n):
    for j in range(n):
        out[j] += abs(a - column[j]) - abs(column[j])


@compiled
def _add_two_differences(a, column, b, other, out, n):
    for j in range(n):
        out[j] += (abs(a - column[j]) - abs(column[j])) + (abs(b - other[j]) - abs(other[j]))
