"""Online learners with blocks of kernel values from a device, for large budgets and long rows.

Updates and maintenance are where they always are, in compiled code on the CPU; what a device computes for every block
of coming examples is in `frugalsvm.core.scored`. Pays from thousands of support vectors upwards. For policies that
change few slots at a time.
"""

import numpy as np

from frugalsvm.arrays.maps import kernel_map
from frugalsvm.arrays.sources import dense
from frugalsvm.budgeted.policy import with_room
from frugalsvm.budgeted.sgd import run
from frugalsvm.core.expansion import padded, resized
from frugalsvm.core.scored import new_scored_blocks
from frugalsvm.core.workspace import new_workspace

BLOCK_ROWS = 256


def learn_by_blocks(arrays, parts, expansion, X, labels, weights, order):
    """As `frugalsvm.budgeted.sgd.learn`, with kernel values in float32; X is an array or a CSR matrix.

    Returns the parts and the expansion: the same objects, changed, unless they had to grow.
    """
    labels = labels[order]
    weights = np.empty(0) if weights is None else weights[order]
    position = 0
    while position < order.size:
        vectors = _DeviceVectors(arrays, parts.kernel, expansion)
        work = new_workspace(expansion)
        while position < order.size and expansion.counts[0]["n_slots"] < expansion.rows.shape[0]:
            # Blocks end where `run` ends them, so that it asks for one block only.
            stop = min(position + BLOCK_ROWS - position % BLOCK_ROWS, order.size)
            vectors.fill(dense(X[order[position:stop]]), expansion)
            position = run(parts, vectors.source, labels[:stop], weights[:stop], position, BLOCK_ROWS, expansion, work)
        if position < order.size:
            expansion = resized(expansion, 2 * expansion.rows.shape[0])
            parts = parts._replace(policy=with_room(parts.policy, expansion.rows.shape[0]))
    return parts, expansion


class _DeviceVectors:
    """A copy of the support vectors on the device, and the block that is made with them."""

    def __init__(self, arrays, kernel, expansion):
        self._arrays, self._kernel = arrays, kernel
        self._map = self._mapped(expansion.rows)
        values = arrays.landing(BLOCK_ROWS * expansion.rows.shape[0])
        self.source = new_scored_blocks(kernel, expansion, BLOCK_ROWS, values)

    def _mapped(self, rows):
        return kernel_map(self._arrays, self._kernel, self._arrays.asarray(rows, "float32"))

    def fill(self, block, expansion):
        """Kernel values and scores of a block of rows with the model as it is."""
        arrays, source = self._arrays, self.source
        self._send_changes(expansion)
        # Every row may take one more slot, and the last of them must not end the block.
        room = min(expansion.rows.shape[0], padded(int(expansion.counts[0]["n_slots"]) + len(block) + 1))
        source.state[0]["room"] = room
        source.block[: len(block)] = block
        source.weights[:] = expansion.weights
        used = self._map._replace(columns=self._map.columns[:, :room])
        with arrays.products():
            values = used.rows(arrays.asarray(block))
            scores = values @ arrays.asarray(np.ascontiguousarray(expansion.weights[:, :room].T), "float32")
        arrays.land(values, source.values[: len(block) * room].reshape(len(block), room))
        source.scores[: len(block)] = arrays.host(scores)  # waits for both

    def _send_changes(self, expansion):
        n_changed = self.source.state[0]["n_dirty"]
        if n_changed:
            slots = self.source.dirty[:n_changed]
            self._map.columns[:, self._arrays.asarray(slots)] = self._mapped(expansion.rows[slots]).columns
