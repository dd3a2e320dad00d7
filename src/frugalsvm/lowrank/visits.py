"""Scores, slopes of losses and their gradient from one visit of rows, in compiled code.

A Newton step at given parameters takes products with all rows twice: scores first, then the sum of rows by the slopes
of their losses. Where memory is the limit, that takes nearly twice as long as reading the rows. Here a few rows at a
time stay in the cache from their scores to their sum.
"""

import numpy as np

from frugalsvm.compiling.functions import entry, inlined
from frugalsvm.lowrank.losses.compiled import derive
from frugalsvm.lowrank.row_products import FLUSH, TILE, add_block, flush, rows_in_cache, tile_scores

_ZERO = np.float32(0.0)
_NO_INDEX, _NO_VECTOR = np.zeros(0, np.int64), np.zeros(0, np.float32)


def visited(problem, vectors, shifts, smoothing, cut):
    """Scores ``vectors . row + shift`` of the rows of a problem, in memory, with slopes, curvatures and gradient.

    Slopes and curvatures are weighted, (n_outputs, n_rows) in float32 as scores are; the gradient is the sum of the raw
    rows by their slopes, (n_outputs, width) in float64.
    """
    rows, n_outputs = problem.rows.block, len(vectors)
    scores, slopes, curvatures = (np.empty((n_outputs, len(rows)), np.float32) for _ in range(3))
    gradient = np.zeros((n_outputs, rows.shape[1]))
    _visit(
        problem.loss, smoothing, cut, rows, np.ascontiguousarray(vectors, np.float32), shifts.astype(np.float32),
        np.ascontiguousarray(problem.targets), problem.weights, _NO_INDEX, _NO_VECTOR, np.empty(2 * TILE, np.int64),
        np.empty(TILE, np.float32), np.zeros((n_outputs, rows.shape[1]), np.float32), scores, slopes, curvatures,
        gradient,
    )  # fmt: skip
    return scores, slopes, curvatures, gradient


@inlined
def _write_scores(rows, vector, shift, first, last, tile, scores):
    """Four rows at a time; the last one again where there are no four."""
    for i in range(first, last, TILE):
        at_b, at_c, at_d = min(i + 1, last - 1), min(i + 2, last - 1), min(i + 3, last - 1)
        tile_scores(rows[i], rows[at_b], rows[at_c], rows[at_d], vector, tile)
        scores[i], scores[at_b], scores[at_c], scores[at_d] = (
            tile[0] + shift, tile[1] + shift, tile[2] + shift, tile[3] + shift,
        )  # fmt: skip


@entry
def _visit(
    loss, smoothing, cut, rows, vectors, shifts, targets, weights, no_index, no_vector, places, tile, sums, scores,
    slopes, curvatures, gradient,
):  # fmt: skip
    """As `visited`; ``places``, ``tile`` and ``sums``, which are zeros, are for work."""
    n_rows, step, pending = len(rows), rows_in_cache(rows.shape[1]), 0
    for first in range(0, n_rows, step):
        last = min(first + step, n_rows)
        for o in range(len(vectors)):
            _write_scores(rows, vectors[o], shifts[o], first, last, tile, scores[o])
        derive(loss, smoothing, cut, targets, scores, weights, first, last, slopes, curvatures)
        for o in range(len(vectors)):
            add_block(rows, no_index, no_vector, _ZERO, slopes[o], first, last, places, tile, sums[o])
        pending += step
        if pending < FLUSH and last < n_rows:
            continue
        pending = 0
        flush(sums, gradient)
