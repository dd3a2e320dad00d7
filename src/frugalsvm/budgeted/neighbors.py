"""Nearest neighbors among the support vectors, in feature space.

``||Phi(x) - Phi(z)||^2 = K(x, x) - 2 K(x, z) + K(z, z)``; for a given x the nearest z has the largest *nearness*
``2 K(x, z) - K(z, z)``, or simply the largest ``K(x, z)`` if all K(z, z) are the same. The first of equals wins.

``Neighbors`` remembers the neighbor of every slot. A newcomer is compared with all of them, which takes its kernel
row only; when a slot is freed, those look again whose neighbor it was: one on average, so O(B) expected.
"""

from typing import Annotated, NamedTuple

import numpy as np

from frugalsvm._stored import stored, within
from frugalsvm.compiling.functions import compiled, generic, inlined, separate
from frugalsvm.core.fastmath import first_argmax, first_at_most
from frugalsvm.core.kernels import UNIT_KERNELS, self_value
from frugalsvm.core.lookahead import slot_row
from frugalsvm.core.records import as_numbers, integer_record

UNKNOWN = -1
FARTHEST = -1e300
NEIGHBORS_STATE = integer_record("n_covered")  # slots whose neighbors are known


@stored("neighbors")
class Neighbors(NamedTuple):
    slot: Annotated[np.ndarray, "i s"]  # the neighbor of each slot, or UNKNOWN
    nearness: Annotated[np.ndarray, "d s"]
    value: Annotated[np.ndarray, "d s"]  # the kernel value of each slot with its neighbor
    state: Annotated[np.ndarray, NEIGHBORS_STATE, "1"]

    def is_sound(self, sizes) -> bool:
        """Whether neighbors are slots, and known where they are said to be: compiled code looks no further."""
        n_covered = int(self.state[0]["n_covered"])
        if not (within(as_numbers(self.state), sizes["s"] + 1) and within(self.slot, sizes["s"], UNKNOWN)):
            return False
        return n_covered < 2 or within(self.slot[:n_covered], n_covered)


def new_neighbors(capacity):
    return Neighbors(
        slot=np.full(capacity, UNKNOWN, np.int64),
        nearness=np.full(capacity, FARTHEST),
        value=np.zeros(capacity),
        state=np.zeros(1, NEIGHBORS_STATE),
    )


@generic
def _nearness(kernel, value, norm):
    """How near a vector of squared norm ``norm`` is to the one with which it has the kernel value ``value``."""


@_nearness.implement()
def _nearness_in_feature_space(kernel, value, norm):
    return 2.0 * value - self_value(kernel, norm)


@_nearness.implement(*UNIT_KERNELS)
def _unit_nearness(kernel, value, norm):
    return np.float64(value)


@generic
def nearest(kernel, kernel_row, norms, n, itself):
    """The slot nearest to the x of a kernel row, besides slot ``itself`` (-1: none is left out); -1 if there is
    none."""


@nearest.implement()
def _nearest_in_feature_space(kernel, kernel_row, norms, n, itself):
    best = 1 if itself == 0 else 0  # a slot, even where all are too far for numbers
    if best >= n:
        return UNKNOWN
    most = _nearness(kernel, kernel_row[best], norms[best])
    for j in range(best + 1, n):
        nearness = _nearness(kernel, kernel_row[j], norms[j])
        if nearness > most and j != itself:
            best, most = j, nearness
    return best


@nearest.implement(*UNIT_KERNELS)
def _unit_nearest(kernel, kernel_row, norms, n, itself):
    # For a moment itself is farther than any other, which is what a vectorized search can make use of.
    held, own = max(itself, 0), kernel_row[max(itself, 0)]
    if itself >= 0:
        kernel_row[held] = -1.0
    best = first_argmax(kernel_row, n)
    kernel_row[held] = own
    return best if n > 1 or (n == 1 and itself != 0) else UNKNOWN


@inlined
def know_the_old(neighbors, kernel, source, expansion, work):
    """Make sure that the neighbors of all slots before the last are known, also in a model that began elsewhere."""
    newcomer = expansion.counts[0]["n_slots"] - 1
    if neighbors.state[0]["n_covered"] != newcomer:
        for j in range(newcomer):
            neighbors.slot[j] = UNKNOWN
        _look_again(neighbors, kernel, source, expansion, newcomer, work)
        slot_row(kernel, source, newcomer, expansion, work)


@inlined
def meet_newcomer(neighbors, kernel, expansion, work):
    """Take account of the last slot, whose kernel row is in the workspace."""
    newcomer = expansion.counts[0]["n_slots"] - 1
    row, norms = work.kernel_row, expansion.norms
    _offer(neighbors.slot, neighbors.nearness, neighbors.value, kernel, row, norms, newcomer)
    _settle(neighbors, kernel, row, norms, newcomer, newcomer)
    neighbors.state[0]["n_covered"] = newcomer + 1


@compiled
def _offer(slot, nearness, value, kernel, kernel_row, norms, newcomer):
    """The newcomer becomes the neighbor of those that it is nearest to."""
    norm = norms[newcomer]
    for j in range(newcomer):
        offered, offered_value = _nearness(kernel, kernel_row[j], norm), np.float64(kernel_row[j])
        old_slot, old_nearness, old_value = slot[j], nearness[j], value[j]
        is_nearer = offered > old_nearness
        slot[j] = newcomer if is_nearer else old_slot
        nearness[j] = offered if is_nearer else old_nearness
        value[j] = offered_value if is_nearer else old_value


@inlined
def _settle(neighbors, kernel, kernel_row, norms, j, n):
    """Find the neighbor of slot j among the first n, from its kernel row."""
    best = nearest(kernel, kernel_row, norms, n, j)
    neighbors.slot[j] = best
    neighbors.nearness[j] = _nearness(kernel, kernel_row[best], norms[best]) if best >= 0 else FARTHEST
    neighbors.value[j] = kernel_row[best] if best >= 0 else 0.0


@inlined
def forget_slot(neighbors, kernel, source, expansion, dropped, work):
    """Take account of ``free_slot(dropped)``, after it. Overwrites the kernel row of the workspace."""
    last = expansion.counts[0]["n_slots"]
    neighbors.slot[dropped] = neighbors.slot[last]
    neighbors.nearness[dropped] = neighbors.nearness[last]
    neighbors.value[dropped] = neighbors.value[last]
    neighbors.state[0]["n_covered"] = last
    _rename(neighbors.slot, last, dropped)
    _look_again(neighbors, kernel, source, expansion, last, work)


@compiled
def _rename(slot, last, dropped):
    """Who had the dropped slot has none now; the last one has its place."""
    for j in range(last):
        old = slot[j]
        slot[j] = UNKNOWN if old == dropped else dropped if old == last else old


@inlined
def _look_again(neighbors, kernel, source, expansion, n, work):
    """Find the neighbors that are unknown, among the first n slots."""
    j = _next_unknown(neighbors.slot, 0, n)
    while j < n:
        slot_row(kernel, source, j, expansion, work)
        _settle(neighbors, kernel, work.kernel_row, expansion.norms, j, n)
        j = _next_unknown(neighbors.slot, j + 1, n)


@separate
def _next_unknown(slot, first, n):
    """The next slot of which the neighbor is unknown, from ``first``; n if there is none."""
    return first + first_at_most(slot[first:], UNKNOWN, n - first)  # slots are not negative
