"""Blocks whose kernel values and scores come from elsewhere: a device that computes many of them at once.

When a block begins, its kernel values with all slots and its raw scores are given. While the block is walked through,
the model changes in a few slots only: their part in a score is taken out as it was, and put in again as it is. So an
example costs as much as there are changed slots, and a copy of its kernel values.

For policies that change slots one at a time and say so by ``touch``; a projection changes the coefficients of all.
"""

from typing import NamedTuple

import numpy as np

from frugalsvm.compiling.functions import inlined
from frugalsvm.core.dense_sources import copy_to_slot
from frugalsvm.core.kernels import kernel_value, pairing_of
from frugalsvm.core.lookahead import SOURCE_STATE, example_norm, load, rescale, touch, write_example
from frugalsvm.core.pairing import pair, row_norm
from frugalsvm.core.predict import scored


class ScoredBlocks(NamedTuple):
    """What is given with every block: its rows, values, scores and weights, and ``state[0]["room"]``."""

    pairing: NamedTuple  # what `slot_products` are
    block: np.ndarray  # (block_rows, n_features) the examples at hand
    values: np.ndarray  # their kernel values with the slots as they were, ``room`` to a row
    scores: np.ndarray  # (block_rows, n_outputs) their raw scores at that time
    weights: np.ndarray  # (n_outputs, capacity) raw coefficients at that time
    dirty: np.ndarray  # slots changed since
    is_dirty: np.ndarray
    state: np.ndarray


def new_scored_blocks(kernel, expansion, block_rows, values):
    """An empty source; ``values`` is where a device writes kernel values to."""
    capacity, n_features = expansion.rows.shape
    return ScoredBlocks(
        pairing_of(kernel),
        block=np.zeros((block_rows, n_features), expansion.rows.dtype),
        values=values,
        scores=np.zeros((block_rows, expansion.n_outputs)),
        weights=np.zeros_like(expansion.weights),
        dirty=np.zeros(capacity, np.int64),
        is_dirty=np.zeros(capacity, np.bool_),
        state=np.zeros(1, SOURCE_STATE),
    )


write_example.implement(ScoredBlocks)(copy_to_slot)


@example_norm.implement(ScoredBlocks)
def _scored_norm(source, i):
    return row_norm(source.pairing, source.block, i)


@touch.implement(ScoredBlocks)
def _mark_changed(source, slot, expansion):
    if not source.is_dirty[slot]:
        source.is_dirty[slot] = True
        source.dirty[source.state[0]["n_dirty"]] = slot
        source.state[0]["n_dirty"] += 1


@load.implement(ScoredBlocks, inline=False)
def _scored_load(source, start, count, expansion):
    for k in range(source.state[0]["n_dirty"]):
        source.is_dirty[source.dirty[k]] = False
    source.state[0]["n_dirty"] = 0
    source.state[0]["at_start"] = expansion.counts[0]["n_slots"]
    return count


@rescale.implement(ScoredBlocks)
def _scored_rescale(source, factor):
    for o in range(source.weights.shape[0]):
        for i in range(source.scores.shape[0]):
            source.scores[i, o] *= factor
        for j in range(source.weights.shape[1]):
            source.weights[o, j] *= factor


@inlined
def _add_slot(scores, weights, j, value):
    for o in range(scores.size):
        scores[o] += np.float64(weights[o, j]) * value


@scored.implement(ScoredBlocks)
def _scored_corrected(source, kernel, i, expansion, work):
    n = expansion.counts[0]["n_slots"]
    begin, at_start = i * source.state[0]["room"], source.state[0]["at_start"]
    norm = example_norm(source, i)
    for j in range(n):
        work.kernel_row[j] = source.values[begin + j]
    for o in range(work.scores.size):
        work.scores[o] = source.scores[i, o]
    for k in range(source.state[0]["n_dirty"]):
        j = source.dirty[k]
        if j < at_start:
            _add_slot(work.scores, source.weights, j, -source.values[begin + j])
        if j < n:
            product = pair(source.pairing, source.block, i, expansion.rows, j)
            work.kernel_row[j] = kernel_value(kernel, product, norm, expansion.norms[j])
            _add_slot(work.scores, expansion.weights, j, work.kernel_row[j])
    for j in range(n, at_start):  # slots that were given up
        if not source.is_dirty[j]:
            _add_slot(work.scores, source.weights, j, -source.values[begin + j])
    expansion.counts[0]["n_kernel_evals"] += n
