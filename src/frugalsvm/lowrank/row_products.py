"""Products of a tall matrix of rows with a few vectors, in compiled code: a tile of a few rows at a time.

Libraries are made for products of large matrices. With one to a few dozen vectors they copy the rows to multiply them
in another order, use a fraction of the processor, and divide the work among threads badly. Here a tile of rows stays
in the first cache while all vectors are multiplied with it; where a weighted sum of rows is wanted as well, they are
read from memory once for both.

Rows are independent: a score is the same whatever rows are computed with it. Sums are in float32 over ``FLUSH`` rows,
then in float64.
"""

import numpy as np

from frugalsvm._compile import entry, inlined

__all__ = ["TILE", "row_pass"]

TILE = 4  # rows
FLUSH = 256  # rows summed in float32 before the sum goes to float64

_ZERO = np.float32(0.0)


@inlined
def _tile_scores(rows, places, vectors, shifts, scores):
    """``scores[o, k] = vectors[o] . rows[places[k]] + shifts[o]`` for the rows of a tile."""
    a, b, c, d = rows[places[0]], rows[places[1]], rows[places[2]], rows[places[3]]
    # Two vectors at a time: each number that is loaded is used more than once, and all sums fit into registers.
    for o in range(0, vectors.shape[0], 2):
        p = min(o + 1, vectors.shape[0] - 1)  # the last one twice where their number is odd
        u, v = vectors[o], vectors[p]
        ua = ub = uc = ud = _ZERO
        va = vb = vc = vd = _ZERO
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
        s, t = shifts[o], shifts[p]
        scores[o, 0], scores[o, 1], scores[o, 2], scores[o, 3] = ua + s, ub + s, uc + s, ud + s
        scores[p, 0], scores[p, 1], scores[p, 2], scores[p, 3] = va + t, vb + t, vc + t, vd + t


@inlined
def _add_tile(rows, places, weights, sums):
    """``sums[o] += sum_k weights[o, k] rows[places[k]]`` over a tile."""
    a, b, c, d = rows[places[0]], rows[places[1]], rows[places[2]], rows[places[3]]
    for o in range(sums.shape[0]):
        own, wa, wb, wc, wd = sums[o], weights[o, 0], weights[o, 1], weights[o, 2], weights[o, 3]
        for j in range(own.size):
            own[j] += wa * a[j] + wb * b[j] + wc * c[j] + wd * d[j]


@inlined
def _flush(sums, totals):
    for o in range(sums.shape[0]):
        own, total = sums[o], totals[o]
        for j in range(own.size):
            total[j] += np.float64(own[j])
            own[j] = _ZERO


@inlined
def _has_weight(weights, i):
    for o in range(weights.shape[0]):
        if weights[o, i] != _ZERO:
            return True
    return weights.shape[0] == 0


@entry
def row_pass(rows, vectors, shifts, weights, first, last, places, tile, scores, sums, totals, weight_totals):
    """A pass over rows ``first <= i < last``; arrays of what is not wanted have no outputs.

    Scores are ``vectors[o] . rows[i] + shifts[o]``. ``totals[o]`` becomes the sum of ``weights[o, i] score[o, i]
    rows[i]``, or of ``weights[o, i] rows[i]`` where there are no vectors, and ``weight_totals[o]`` that of what the
    rows are multiplied with. Rows without weight are not even read. ``places``, ``tile`` and ``sums`` are for work.
    """
    n_weights, n_scores = weights.shape[0], scores.shape[0]
    for o in range(n_weights):
        weight_totals[o] = 0.0
        for j in range(sums.shape[1]):
            sums[o, j] = _ZERO
            totals[o, j] = 0.0
    in_tile = pending = 0
    for i in range(first, last):
        if _has_weight(weights, i):
            places[in_tile] = i
            in_tile += 1
        if in_tile < TILE and (i < last - 1 or in_tile == 0):
            continue
        for k in range(in_tile, TILE):
            places[k] = places[0]
        if vectors.shape[0] > 0:
            _tile_scores(rows, places, vectors, shifts, tile)
        for o in range(n_scores):
            for k in range(in_tile):
                scores[o, places[k]] = tile[o, k]
        if n_weights > 0:
            for o in range(n_weights):
                for k in range(TILE):
                    weight = weights[o, places[k]] if k < in_tile else _ZERO
                    tile[o, k] = weight * tile[o, k] if vectors.shape[0] > 0 else weight
                    weight_totals[o] += np.float64(tile[o, k])
            _add_tile(rows, places, tile, sums)
            pending += TILE
            if pending == FLUSH:
                _flush(sums, totals)
                pending = 0
        in_tile = 0
    _flush(sums, totals)
