"""The state of an online SVM in the dual: members, their coefficients, gradients and boxes.

*Members* are the examples that the learner may still change, support vectors or not. They live in the slots of an
``Expansion``, whose coefficients are the signed ``alpha``. A slot that is freed stays where it is until another example
takes it, so that cached kernel rows keep their meaning; free slots have no label and a box of size zero.

For each output (one for two classes, otherwise one for each class against the rest)

    g_k = y_k - sum_j alpha_j K_kj          gradient of the dual
    0 <= alpha_k Y_k <= c_k                  box, with the effective label Y_k and c_k = C times the example's weight

**The effective label.** The ramp loss is made convex by beta_k, which moves the box of an example with beta_k = C from
[0, C] to [-C, 0] on alpha_k y_k (equation (17) of the LASVM-NC paper): that is the box of the label Y_k = -y_k, while
the gradient stays y_k - f(x_k). The term of the duality gap, C max(0, u) - a u with u = y g and a = alpha y + beta,
becomes C max(0, u) - C u - alpha g = C max(0, Y g) - alpha g. So for both losses

    gap = sum_k ( c_k max(0, Y_k g_k) - alpha_k g_k ),

every term of which is at least zero. Its second part changes by a few numbers in a step and is kept; the first is
summed in the pass that updates the gradients.
"""

from typing import NamedTuple

import numpy as np

from frugalsvm.core.expansion import N_SLOTS, Expansion, new_expansion, resized

__all__ = [
    "ADMITTED",
    "ADMITTED_LEFT",
    "ADMITTED_RIGHT",
    "BIAS",
    "BUSY",
    "CHUNK",
    "CLEANED_LEFT",
    "CLEANED_RIGHT",
    "HINGE",
    "N_FREE",
    "N_MEMBERS",
    "N_REPROCESS",
    "N_SUPPORT",
    "OVERLAP",
    "RUN",
    "SEEN_NEGATIVE",
    "SEEN_POSITIVE",
    "SUM_H",
    "SUM_H2",
    "UNKNOWN",
    "WORST",
    "Dual",
    "new_dual",
    "resized_dual",
    "support_of",
    "trimmed",
]

# Places in `Dual.tallies`, one row for each output
N_SUPPORT, N_MEMBERS, ADMITTED, ADMITTED_LEFT, ADMITTED_RIGHT, CLEANED_LEFT, CLEANED_RIGHT, N_REPROCESS = range(8)
# Examples by label, and how many of the same label came last (negative for negative ones); members that come again
# do not count
SEEN_NEGATIVE, SEEN_POSITIVE, RUN = range(8, 11)
# Places in `Dual.sums`, one row for each output: sum c max(0, Y g), sum alpha g, sum c y g, sum (c g)^2, the worst
# violation, the bias
HINGE, OVERLAP, SUM_H, SUM_H2, WORST, BIAS = range(6)
UNKNOWN = -1.0  # a sum that is to be computed when it is needed
# Places in `Dual.pool`
N_FREE, BUSY = range(2)

LEFT, MIDDLE, RIGHT = range(3)  # of the ramp

CHUNK = 256  # slots of a chunk


class Dual(NamedTuple):
    members: Expansion
    gradient: np.ndarray  # (n_outputs, capacity) in the type of the rows, like what it is compared with below
    truth: np.ndarray  # (n_outputs, capacity) labels +1 and -1
    bound: np.ndarray  # (n_outputs, capacity) c_k Y_k, the end of the box besides 0; 0 where a slot is no member
    up: np.ndarray  # (n_outputs, capacity) how far alpha may rise
    down: np.ndarray  # (n_outputs, capacity) how far alpha may fall
    worst: np.ndarray  # (n_outputs, chunks) the worst violation of each chunk of slots
    zone: np.ndarray  # (n_outputs, capacity) where on the ramp a member was when it came
    row: np.ndarray  # (capacity,) the row of the training matrix that a member is, for later passes
    free: np.ndarray  # (capacity,) a stack of free slots
    pool: np.ndarray  # [number of free slots on the stack, the slot at hand or -1]
    tallies: np.ndarray  # (n_outputs, 11) integers named above
    sums: np.ndarray  # (n_outputs, 6) floats named above


def new_dual(capacity, n_features, n_outputs, dtype):
    members = new_expansion(capacity, n_features, n_outputs, dtype)
    capacity = members.rows.shape[0]
    return Dual(
        members=members,
        gradient=np.zeros((n_outputs, capacity), dtype),
        truth=np.zeros((n_outputs, capacity)),
        bound=np.zeros((n_outputs, capacity), dtype),
        up=np.zeros((n_outputs, capacity), dtype),
        down=np.zeros((n_outputs, capacity), dtype),
        worst=np.zeros((n_outputs, capacity // CHUNK + 1)),
        zone=np.zeros((n_outputs, capacity), np.int8),
        row=np.full(capacity, -1, np.int64),
        free=np.zeros(capacity, np.int64),
        pool=np.array([0, -1]),
        tallies=np.zeros((n_outputs, 11), np.int64),
        sums=np.zeros((n_outputs, 6)),
    )


_PER_SLOT = ("gradient", "truth", "bound", "up", "down", "zone", "row", "free")


def resized_dual(dual, capacity):
    """A copy with room for ``capacity`` slots."""
    members = resized(dual.members, capacity)
    capacity = members.rows.shape[0]
    larger = new_dual(capacity, members.rows.shape[1], members.n_outputs, members.rows.dtype)
    for name in _PER_SLOT:
        old = getattr(dual, name)
        getattr(larger, name)[..., : old.shape[-1]] = old
    larger.worst[:, : dual.worst.shape[1]] = dual.worst
    return larger._replace(members=members, pool=dual.pool, tallies=dual.tallies, sums=dual.sums)


def trimmed(dual):
    """A copy with room for the slots in use alone."""
    members = resized(dual.members, 1)
    capacity = members.rows.shape[0]
    cut = {name: np.ascontiguousarray(getattr(dual, name)[..., :capacity]) for name in _PER_SLOT}
    worst = np.ascontiguousarray(dual.worst[:, : capacity // CHUNK + 1])
    return dual._replace(members=members, worst=worst, **cut)


def support_of(dual, coef):
    """The slots with coefficients other than zero in ``coef`` alone, as an expansion."""
    members = dual.members
    n = int(members.counts[N_SLOTS])
    chosen = np.flatnonzero((coef[:, :n] != 0.0).any(axis=0))
    support = new_expansion(max(len(chosen), 1), members.rows.shape[1], members.n_outputs, members.rows.dtype)
    k = len(chosen)
    support.rows[:k], support.norms[:k] = members.rows[chosen], members.norms[chosen]
    support.coef[:, :k] = support.weights[:, :k] = coef[:, chosen]
    support.births[:k] = members.births[chosen]
    support.counts[:] = members.counts
    support.counts[N_SLOTS] = k
    return support
