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

from frugalsvm.compiling.crew import code_of, share, task
from frugalsvm.compiling.functions import entry, inlined, separate

TILE = 4  # rows
LOWER, WHOLE, UPPER = -1, 0, 1  # where a matrix has numbers that are not zero
FLUSH = 256  # rows summed in float32 before the sum goes to float64
CACHED = 2**17  # numbers that stay in the cache
COLUMNS = 128  # of sums that are added up at a time

_ZERO = np.float32(0.0)


class Sums(NamedTuple):
    """Sums of rows for several outputs, and memory for them: see `add_up`."""

    rows: np.ndarray
    index: np.ndarray  # which rows; without numbers, all as they are
    vectors: np.ndarray  # (n_outputs, width) float32, or (n_outputs, 0)
    shifts: np.ndarray  # (n_outputs,) float32
    weights: np.ndarray  # (n_outputs, n_rows) float32
    edges: np.ndarray  # where rows are divided into parts that are summed one after another
    places: np.ndarray  # (n_parts, 2 * TILE)
    tile: np.ndarray  # (n_parts, TILE) float32
    single: np.ndarray  # (n_parts, n_outputs, width) float32
    parts: np.ndarray  # the same in float64
    weight_parts: np.ndarray  # (n_parts, n_outputs)
    sums: np.ndarray  # (n_outputs, width)
    weight_sums: np.ndarray  # (n_outputs,)


def new_sums(rows, index, vectors, shifts, weights, edges):
    """With new memory."""
    shape, n_parts = (len(weights), rows.shape[1]), len(edges) - 1
    return Sums(
        rows, index, vectors, shifts, weights, edges, np.empty((n_parts, 2 * TILE), np.int64),
        np.empty((n_parts, TILE), np.float32), np.empty((n_parts, *shape), np.float32), np.empty((n_parts, *shape)),
        np.empty((n_parts, shape[0])), np.empty(shape), np.empty(shape[0]),
    )  # fmt: skip


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
def code_of_scores(rows, form, vectors, edges, scores):
    """The code that `write_scores` is called with, for arrays of these types."""
    return code_of(_write_part, (rows, form, vectors, edges, scores))


@entry
def write_scores(crew, code, rows, form, vectors, edges, scores):
    """``scores[o, i] = vectors[o] . rows[i]``, in the type of all three; rows are divided at ``edges``."""
    write_scores_together(crew, code, rows, form, vectors, edges, scores)


@separate
def write_scores_together(crew, code, rows, form, vectors, edges, scores):
    """`write_scores`, for compiled functions."""
    share(crew, code, edges.size - 1, (rows, form, vectors, edges, scores))


@task
def _write_part(rows, form, vectors, edges, scores, part):
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
def code_of_sums(of):
    """The code that `add_up` is called with, for arrays of these types: of parts, and of their total."""
    return code_of(_add_up_part, (of,)), code_of(_total_part, (of,))


@entry
def add_up(crew, code_of_parts, code_of_total, of):
    """Add up `Sums`.

    ``sums[o]`` becomes the sum of ``weights[o, i] (vectors[o] . row + shifts[o]) row``, or of ``weights[o, i] row``
    where vectors have no numbers, and ``weight_sums[o]`` that of what rows are multiplied with. Rows without a weight
    for an output are not even read.
    """
    add_up_together(crew, code_of_parts, code_of_total, of)


@separate
def add_up_together(crew, code_of_parts, code_of_total, of):
    """`add_up`, for compiled functions."""
    share(crew, code_of_parts, of.edges.size - 1, (of,))
    share(crew, code_of_total, -(-of.sums.shape[1] // COLUMNS), (of,))


@task
def _add_up_part(of, part):
    rows, weights, weight_sums = of.rows, of.weights, of.weight_parts[part]
    step, first, last = rows_in_cache(rows.shape[1]), of.edges[part], of.edges[part + 1]
    places, tile, sums, totals = of.places[part], of.tile[part], of.single[part], of.parts[part]
    for o in range(weights.shape[0]):
        weight_sums[o] = 0.0
        own, total = sums[o], totals[o]
        for j in range(own.size):
            own[j], total[j] = _ZERO, 0.0
    pending = 0
    for start in range(first, last, step):
        stop = min(start + step, last)
        for o in range(weights.shape[0]):
            weight_sums[o] += add_block(
                rows, of.index, of.vectors[o], of.shifts[o], weights[o], start, stop, places, tile, sums[o]
            )
        pending += step
        if pending < FLUSH and stop < last:
            continue
        pending = 0
        flush(sums, totals)


@task
def _total_part(of, part):
    """Some columns of the sum of all parts."""
    first, last = part * COLUMNS, min((part + 1) * COLUMNS, of.sums.shape[1])
    for o in range(of.sums.shape[0]):
        own = of.sums[o, first:last]
        for j in range(own.size):
            own[j] = 0.0
        for k in range(of.parts.shape[0]):
            more = of.parts[k, o, first:last]
            for j in range(own.size):
                own[j] += more[j]
        if part == 0:
            total = 0.0
            for k in range(of.parts.shape[0]):
                total += of.weight_parts[k, o]
            of.weight_sums[o] = total
