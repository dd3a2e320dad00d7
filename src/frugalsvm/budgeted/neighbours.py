"""Nearest neighbours among the support vectors, in feature space.

``||Phi(x) - Phi(z)||^2 = K(x, x) - 2 K(x, z) + K(z, z)``; for a given x the nearest z has the largest *nearness*
``2 K(x, z) - K(z, z)``, or simply the largest ``K(x, z)`` if all K(z, z) are the same. The first of equals wins.

``Neighbours`` remembers the neighbour of every slot. A newcomer is compared with all of them, which takes its kernel
row only; when a slot is freed, those look again whose neighbour it was: one on average, so O(B) expected.
"""

from typing import NamedTuple

import numpy as np

from frugalsvm._compile import compiled, generic, inlined
from frugalsvm._stored import stored, within
from frugalsvm.core.expansion import N_SLOTS, slot_kernel_row
from frugalsvm.core.kernels import RBF, self_value

__all__ = ["Neighbours", "forget_slot", "know_the_old", "meet_newcomer", "nearest", "new_neighbours"]

UNKNOWN = -1
FARTHEST = -1e300


@stored("neighbors", arrays={"slot": "i s", "nearness": "d s", "value": "d s", "state": "i 1"})
class Neighbours(NamedTuple):
    slot: np.ndarray  # the neighbour of each slot, or UNKNOWN
    nearness: np.ndarray
    value: np.ndarray  # the kernel value of each slot with its neighbour
    state: np.ndarray  # [slots that are covered]

    def is_sound(self, sizes) -> bool:
        """Whether neighbors are slots."""
        return within(self.state, sizes["s"] + 1) and within(self.slot, sizes["s"], UNKNOWN)


def new_neighbours(capacity):
    return Neighbours(
        slot=np.full(capacity, UNKNOWN, np.int64),
        nearness=np.full(capacity, FARTHEST),
        value=np.zeros(capacity),
        state=np.zeros(1, np.int64),
    )


@generic
def _nearness(kernel, value, norm):
    """How near a vector of squared norm ``norm`` is to the one with which it has the kernel value ``value``."""


@_nearness.implement()
def _nearness_in_feature_space(kernel, value, norm):
    return 2.0 * value - self_value(kernel, norm)


@_nearness.implement(RBF)
def _rbf_nearness(kernel, value, norm):
    return np.float64(value)


@compiled
def nearest(kernel, kernel_row, norms, n, itself):
    """The slot nearest to the x of a kernel row, besides slot ``itself`` (-1: none is left out); -1 if there is
    none."""
    best, most = UNKNOWN, FARTHEST
    for j in range(n):
        nearness = _nearness(kernel, kernel_row[j], norms[j])
        if nearness > most and j != itself:
            best, most = j, nearness
    return best


@inlined
def know_the_old(neighbours, kernel, expansion, work):
    """Make sure that the neighbours of all slots before the last are known, also in a model that began elsewhere."""
    newcomer = expansion.counts[N_SLOTS] - 1
    if neighbours.state[0] != newcomer:
        for j in range(newcomer):
            neighbours.slot[j] = UNKNOWN
        _look_again(neighbours, kernel, expansion, newcomer, work)
        slot_kernel_row(kernel, expansion, newcomer, work.products, work.kernel_row)


@inlined
def meet_newcomer(neighbours, kernel, expansion, work):
    """Take account of the last slot, whose kernel row is in the workspace."""
    newcomer = expansion.counts[N_SLOTS] - 1
    row, norms = work.kernel_row, expansion.norms
    _offer(neighbours.slot, neighbours.nearness, neighbours.value, kernel, row, norms, newcomer)
    _settle(neighbours, kernel, row, norms, newcomer, newcomer)
    neighbours.state[0] = newcomer + 1


@compiled
def _offer(slot, nearness, value, kernel, kernel_row, norms, newcomer):
    """The newcomer becomes the neighbour of those that it is nearest to."""
    for j in range(newcomer):
        offered = _nearness(kernel, kernel_row[j], norms[newcomer])
        if offered > nearness[j]:
            slot[j] = newcomer
            nearness[j] = offered
            value[j] = kernel_row[j]


@inlined
def _settle(neighbours, kernel, kernel_row, norms, j, n):
    """Find the neighbour of slot j among the first n, from its kernel row."""
    best = nearest(kernel, kernel_row, norms, n, j)
    neighbours.slot[j] = best
    neighbours.nearness[j] = _nearness(kernel, kernel_row[best], norms[best]) if best >= 0 else FARTHEST
    neighbours.value[j] = kernel_row[best] if best >= 0 else 0.0


@inlined
def forget_slot(neighbours, kernel, expansion, victim, work):
    """Take account of ``free_slot(victim)``, after it. Overwrites the kernel row of the workspace."""
    last = expansion.counts[N_SLOTS]
    neighbours.slot[victim] = neighbours.slot[last]
    neighbours.nearness[victim] = neighbours.nearness[last]
    neighbours.value[victim] = neighbours.value[last]
    neighbours.state[0] = last
    for j in range(last):
        if neighbours.slot[j] == victim:
            neighbours.slot[j] = UNKNOWN
        elif neighbours.slot[j] == last:
            neighbours.slot[j] = victim
    _look_again(neighbours, kernel, expansion, last, work)


@inlined
def _look_again(neighbours, kernel, expansion, n, work):
    """Find the neighbours that are unknown, among the first n slots."""
    for j in range(n):
        if neighbours.slot[j] == UNKNOWN:
            slot_kernel_row(kernel, expansion, j, work.products, work.kernel_row)
            _settle(neighbours, kernel, work.kernel_row, expansion.norms, j, n)
