"""Products of a tall matrix of rows with a few vectors, in compiled code: a tile of a few rows at a time.

Libraries are made for products of large matrices. With one to a few dozen vectors they copy the rows to multiply them
in another order, use a fraction of the processor, and divide the work among threads badly. They also know no zeros:
with several classes, a row is near the margin of one or two of them. Here some rows stay in the cache while each
output takes those that have a weight for it; scores and weighted sums of rows come from the same visit.

Rows are independent: a score is the same whatever rows are computed with it. Sums are in float32 over ``FLUSH`` rows,
then in float64.
"""

from typing import NamedTuple

import numpy as np

from frugalsvm.compiling.crew import share, task
from frugalsvm.compiling.functions import entry, inlined

__all__ = [
    "FLUSH",
    "LOWER",
    "TILE",
    "UPPER",
    "WHOLE",
    "SumsWork",
    "add_block",
    "add_up",
    "flush",
    "new_sums_work",
    "rows_in_cache",
    "tile_scores",
    "write_part",
    "write_scores",
]

TILE = 4  # rows
LOWER, WHOLE, UPPER = -1, 0, 1  # where a matrix has numbers that are not zero
FLUSH = 256  # rows summed in float32 before the sum goes to float64
CACHED = 2**17  # numbers that stay in the cache
COLUMNS = 128  # of sums that are added up at a time

_ZERO = np.float32(0.0)


class SumsWork(NamedTuple):
    """Memory for each part of `add_up`."""

    places: np.ndarray  # (n_parts, 2 * TILE)
    tile: np.ndarray  # (n_parts, TILE) float32
    sums: np.ndarray  # (n_parts, n_outputs, width) float32


def new_sums_work(n_parts, n_outputs, width):
    """New memory for `add_up`."""
    places, tile = np.empty((n_parts, 2 * TILE), np.int64), np.empty((n_parts, TILE), np.float32)
    return SumsWork(places, tile, np.empty((n_parts, n_outputs, width), np.float32))


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
def write_scores(crew, rows, form, vectors, edges, scores):
    """``scores[o, i] = vectors[o] . rows[i]``, in the type of all three; rows are divided at ``edges``."""
    share(crew, write_part, edges.size - 1, (rows, form, vectors, edges, scores))


@task
def write_part(rows, form, vectors, edges, scores, part):
    """The scores of rows ``edges[part] <= i < edges[part + 1]``."""
    n_vectors, zero = vectors.shape[0], vectors.dtype.type(0.0)
    first, last = edges[part], edges[part + 1]
    for i in range(first, last, TILE):
        begin = i if form == UPPER else 0
        end = min(i + TILE, vectors.shape[1]) if form == LOWER else vectors.shape[1]
        # The last row again where there are no four.
        at_b, at_c, at_d = min(i + 1, last - 1), min(i + 2, last - 1), min(i + 3, last - 1)
        # Slices, because a loop with a variable start is not vectorized.
        a, b, c, d = rows[i, begin:end], rows[at_b, begin:end], rows[at_c, begin:end], rows[at_d, begin:end]
        n_pairs = n_vectors // 2
        if n_vectors % 2 == 1:
            o = n_vectors - 1
            u = vectors[o, begin:end]
            ua = ub = uc = ud = zero
            for j in range(u.size):
                x = u[j]
                ua += x * a[j]
                ub += x * b[j]
                uc += x * c[j]
                ud += x * d[j]
            scores[o, i], scores[o, at_b], scores[o, at_c], scores[o, at_d] = ua, ub, uc, ud
        # Two vectors at a time: each number that is loaded is used more than once, and all sums fit into registers.
        for o in range(0, 2 * n_pairs, 2):
            p = o + 1
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
def add_up(crew, rows, index, vectors, shifts, weights, edges, work, totals, weight_totals, out, weight_out):
    """Sums over rows ``index[i]``, divided at ``edges`` into parts that are summed one after another.

    ``out[o]`` becomes the sum of ``weights[o, i] (vectors[o] . row + shifts[o]) row``, or of ``weights[o, i] row``
    where vectors have no numbers, and ``weight_out[o]`` that of what rows are multiplied with. Rows without a weight
    for an output are not even read. Without an index, rows are numbered as they are. ``totals`` and ``weight_totals``
    are those of each part; ``work`` is memory for it.
    """
    arguments = rows, index, vectors, shifts, weights, edges, work, totals, weight_totals
    share(crew, _add_up_part, edges.size - 1, arguments)
    share(crew, _total_part, -(-rows.shape[1] // COLUMNS), (totals, weight_totals, out, weight_out))


@task
def _add_up_part(rows, index, vectors, shifts, weights, edges, work, totals, weight_totals, part):
    step, first, last = rows_in_cache(rows.shape[1]), edges[part], edges[part + 1]
    places, tile, sums = work.places[part], work.tile[part], work.sums[part]
    for o in range(weights.shape[0]):
        weight_totals[part, o] = 0.0
        own, total = sums[o], totals[part, o]
        for j in range(own.size):
            own[j], total[j] = _ZERO, 0.0
    pending = 0
    for start in range(first, last, step):
        stop = min(start + step, last)
        for o in range(weights.shape[0]):
            weight_totals[part, o] += add_block(
                rows, index, vectors[o], shifts[o], weights[o], start, stop, places, tile, sums[o]
            )
        pending += step
        if pending < FLUSH and stop < last:
            continue
        pending = 0
        flush(sums, totals[part])


@task
def _total_part(totals, weight_totals, out, weight_out, part):
    """Some columns of the sum of all parts."""
    first, last = part * COLUMNS, min((part + 1) * COLUMNS, out.shape[1])
    for o in range(out.shape[0]):
        own = out[o, first:last]
        for j in range(own.size):
            own[j] = 0.0
        for k in range(totals.shape[0]):
            more = totals[k, o, first:last]
            for j in range(own.size):
                own[j] += more[j]
        if part == 0:
            weight_out[o] = 0.0
            for k in range(totals.shape[0]):
                weight_out[o] += weight_totals[k, o]
