"""Products of a tall matrix of rows with a few vectors, in compiled code: a tile of a few rows at a time.

Libraries are made for products of large matrices. With one to a few dozen vectors they copy the rows to multiply them
in another order, use a fraction of the processor, and divide the work among threads badly. They also know no zeros:
with several classes, a row is near the margin of one or two of them. Here some rows stay in the cache while each
output takes those that have a weight for it; scores and weighted sums of rows come from the same visit.

Rows are independent: a score is the same whatever rows are computed with it. Sums are in float32 over ``FLUSH`` rows,
then in float64.
"""

import numpy as np

from frugalsvm.compiling.functions import entry, inlined

__all__ = [
    "FLUSH",
    "LOWER",
    "TILE",
    "UPPER",
    "WHOLE",
    "add_block",
    "add_up",
    "flush",
    "rows_in_cache",
    "tile_scores",
    "write_scores",
]

TILE = 4  # rows
LOWER, WHOLE, UPPER = -1, 0, 1  # where a matrix has numbers that are not zero
FLUSH = 256  # rows summed in float32 before the sum goes to float64
CACHED = 2**17  # numbers that stay in the cache

_ZERO = np.float32(0.0)


@inlined
def _add_tile(a, b, c, d, weights, sums):
    """``sums += weights[0] a + weights[1] b + weights[2] c + weights[3] d``"""
    at_a, at_b, at_c, at_d = weights[0], weights[1], weights[2], weights[3]
    for j in range(sums.size):
        sums[j] += at_a * a[j] + at_b * b[j] + at_c * c[j] + at_d * d[j]


@inlined
def tile_scores(a, b, c, d, vector, scores):
    """Products of a vector with four rows."""
    at_a = at_b = at_c = at_d = _ZERO
    for j in range(vector.size):
        x = vector[j]
        at_a += x * a[j]
        at_b += x * b[j]
        at_c += x * c[j]
        at_d += x * d[j]
    scores[0], scores[1], scores[2], scores[3] = at_a, at_b, at_c, at_d


@entry
def write_scores(rows, form, vectors, first, last, scores):
    """``scores[o, i] = vectors[o] . rows[i]`` for rows ``first <= i < last``, in the type of all three."""
    n_vectors, zero = vectors.shape[0], vectors.dtype.type(0.0)
    for i in range(first, last, TILE):
        begin = i if form == UPPER else 0
        end = min(i + TILE, vectors.shape[1]) if form == LOWER else vectors.shape[1]
        # The last row again where there are no four, and the last vector where there are no two.
        at_b, at_c, at_d = min(i + 1, last - 1), min(i + 2, last - 1), min(i + 3, last - 1)
        # Slices, because a loop with a variable start is not vectorized.
        a, b, c, d = rows[i, begin:end], rows[at_b, begin:end], rows[at_c, begin:end], rows[at_d, begin:end]
        # Two vectors at a time: each number that is loaded is used more than once, and all sums fit into registers.
        for o in range(0, n_vectors, 2):
            p = min(o + 1, n_vectors - 1)
            u, v = vectors[o, begin:end], vectors[p, begin:end]
            ua = ub = uc = ud = zero
            va = vb = vc = vd = zero
            for j in range(u.size):
                x, y = u[j], v[j]
                ua += x * a[j]
                ub += x * b[j]
                uc += x * c[j]
                ud += x * d[j]
                va += y * a[j]
                vb += y * b[j]
                vc += y * c[j]
                vd += y * d[j]
            scores[o, i], scores[o, at_b], scores[o, at_c], scores[o, at_d] = ua, ub, uc, ud
            scores[p, i], scores[p, at_b], scores[p, at_c], scores[p, at_d] = va, vb, vc, vd


@inlined
def flush(sums, totals):
    """Add sums in float32 to those in float64, and begin again."""
    for o in range(sums.shape[0]):
        own, total = sums[o], totals[o]
        for j in range(own.size):
            total[j] += np.float64(own[j])
            own[j] = _ZERO


@inlined
def rows_in_cache(width):
    """Number of rows of this width that fit into the cache, so that they are read from memory once."""
    return max(TILE, min(FLUSH, CACHED // width))


@inlined
def add_block(rows, index, vector, shift, weights, first, last, places, tile, sums):
    """Add one output's sum over some rows; returns the sum of what they are multiplied with."""
    in_tile, total = 0, 0.0
    for i in range(first, last):
        if weights[i] != _ZERO:
            places[in_tile] = i if index.size == 0 else index[i]
            places[TILE + in_tile] = i
            in_tile += 1
        if in_tile < TILE and (i < last - 1 or in_tile == 0):
            continue
        for k in range(in_tile, TILE):
            places[k] = places[0]
        a, b, c, d = rows[places[0]], rows[places[1]], rows[places[2]], rows[places[3]]
        if vector.size > 0:
            tile_scores(a, b, c, d, vector, tile)
        for k in range(TILE):
            weight = weights[places[TILE + k]] if k < in_tile else _ZERO
            tile[k] = weight * (tile[k] + shift) if vector.size > 0 else weight
            total += np.float64(tile[k])
        _add_tile(a, b, c, d, tile, sums)
        in_tile = 0
    return total


@entry
def add_up(rows, index, vectors, shifts, weights, edges, first, last, places, tile, sums, totals, weight_totals):
    """Sums over rows ``index[i]``, ``edges[k] <= i < edges[k + 1]``, for blocks ``first <= k < last``.

    ``totals[k, o]`` becomes the sum of ``weights[o, i] (vectors[o] . row + shifts[o]) row``, or of ``weights[o, i]
    row`` where vectors have no numbers, and ``weight_totals[k, o]`` that of what rows are multiplied with. Rows without
    a weight for an output are not even read. Without an index, rows are numbered as they are. ``places``, ``tile`` and
    ``sums`` are for work.
    """
    step = rows_in_cache(rows.shape[1])
    for k in range(first, last):
        for o in range(weights.shape[0]):
            weight_totals[k, o] = 0.0
            own, total = sums[o], totals[k, o]
            for j in range(own.size):
                own[j], total[j] = _ZERO, 0.0
        pending = 0
        for start in range(edges[k], edges[k + 1], step):
            stop = min(start + step, edges[k + 1])
            for o in range(weights.shape[0]):
                weight_totals[k, o] += add_block(
                    rows, index, vectors[o], shifts[o], weights[o], start, stop, places, tile, sums[o]
                )
            pending += step
            if pending < FLUSH and stop < edges[k + 1]:
                continue
            pending = 0
            flush(sums, totals[k])
