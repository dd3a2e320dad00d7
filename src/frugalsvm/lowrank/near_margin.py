"""Rows near the margin of some output, and their curvatures, found by the threads of a crew.

It is what `frugalsvm.lowrank.hessian` does with whole arrays elsewhere.
"""

import numpy as np

from frugalsvm.compiling.crew import code_of, share, task
from frugalsvm.compiling.functions import entry, larger

_ZERO, _TINY = np.float32(0.0), 1e-300


@entry
def find_near(crew, second, least, edges, levels, totals, counts, index):
    """Find the rows with more than a share of the largest curvature of some output.

    ``levels`` (n_parts, n_outputs) are those shares afterwards, in the first row, and ``totals`` the sums of parts. How
    many rows each part has found is in ``counts``, and their numbers begin where it begins.
    """
    arguments = second, least, edges, levels, totals, counts, index
    n_parts = edges.size - 1
    share(crew, code_of(_measure_part, arguments), n_parts, arguments)
    for o in range(len(second)):
        largest = _ZERO
        for part in range(n_parts):
            largest = larger(largest, levels[part, o])
        levels[0, o] = least * largest
    share(crew, code_of(_find_part, arguments), n_parts, arguments)


@task
def _measure_part(second, least, edges, levels, totals, counts, index, part):
    for o in range(len(second)):
        own, largest, total = second[o, edges[part] : edges[part + 1]], _ZERO, 0.0
        for i in range(own.size):
            largest = larger(largest, own[i])
            total += np.float64(own[i])
        levels[part, o], totals[part, o] = largest, total


@task
def _find_part(second, least, edges, levels, totals, counts, index, part):
    place, last = edges[part], edges[part + 1]
    for i in range(edges[part], last):
        is_near = 0
        for o in range(len(second)):
            is_near |= 1 if second[o, i] > levels[0, o] else 0
        index[place] = i  # of all rows, because a branch would be guessed wrong often; the next one is written over it
        place += is_near
    counts[part] = place - edges[part]


@entry
def take_curvatures(crew, second, levels, totals, index, n_rows, edges, sums, weights, single):
    """Curvatures of some rows, where they are near the margin, scaled to the sums of all rows, over their number."""
    arguments = second, levels, totals, index, n_rows, edges, sums, weights, single
    n_parts = edges.size - 1
    share(crew, code_of(_take_part, arguments), n_parts, arguments)
    for o in range(len(second)):
        taken = whole = 0.0
        for part in range(n_parts):
            taken += sums[part, o]
        for part in range(len(totals)):
            whole += totals[part, o]
        sums[0, o] = whole / max(taken, _TINY) / n_rows
    share(crew, code_of(_scale_part, arguments), n_parts, arguments)


@task
def _take_part(second, levels, totals, index, n_rows, edges, sums, weights, single, part):
    for o in range(len(second)):
        total = 0.0
        for k in range(edges[part], edges[part + 1]):
            value = second[o, index[k]]
            weights[o, k] = np.float64(value) if value > levels[0, o] else 0.0
            total += weights[o, k]
        sums[part, o] = total


@task
def _scale_part(second, levels, totals, index, n_rows, edges, sums, weights, single, part):
    for o in range(len(second)):
        scale, own, rounded = (
            sums[0, o],
            weights[o, edges[part] : edges[part + 1]],
            single[o, edges[part] : edges[part + 1]],
        )
        for k in range(own.size):
            own[k] *= scale
            rounded[k] = np.float32(own[k])
