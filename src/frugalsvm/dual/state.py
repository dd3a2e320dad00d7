"""The state of an online SVM in the dual: the working set, its dual variables, gradients and boxes.

The *working set* are the examples whose dual variables the learner may still change, support vectors or not: its
*members*. They live in the slots of an ``Expansion``, whose coefficients are the signed ``alpha``. A slot that is freed
stays where it is until another example takes it, so that cached kernel rows keep their meaning; free slots have no
label and a box of size zero.

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

from typing import Annotated, NamedTuple

import numpy as np

from frugalsvm._stored import distinct, stored, within
from frugalsvm.core.expansion import Expansion, new_expansion, resized
from frugalsvm.core.records import float_record, integer_record

LEFT, MIDDLE, RIGHT = range(3)  # of the ramp
CHUNK = 256  # slots of a chunk
UNKNOWN = -1.0  # a sum that is to be computed when it is needed

# n_negative, n_positive: examples by label; run: how many of the same label came last (negative for negative ones).
# Members that come again do not count.
COUNTS = integer_record(
    "n_support", "n_members", "n_admitted", "n_admitted_left", "n_admitted_right", "n_cleaned_left", "n_cleaned_right",
    "n_reprocess", "n_negative", "n_positive", "run",
)  # fmt: skip
# sum c max(0, Y g), sum alpha g, sum c y g, sum (c g)^2, the worst violation, the bias
SUMS = float_record("hinge", "overlap", "h", "h_squared", "worst", "bias")
POOL = integer_record("n_free", "current")  # slots on the stack of free ones; the slot at hand or -1


_RENAMED = {"members": "working_set", "truth": "labels", "free": "free_slots", "tallies": "counts"}


@stored("dual", earlier=lambda fields: {_RENAMED.get(name, name): each for name, each in fields.items()})
class DualState(NamedTuple):
    working_set: Expansion
    gradient: Annotated[np.ndarray, "x os"]  # in the type of the rows, like what it is compared with below
    labels: Annotated[np.ndarray, "d os"]  # (n_outputs, capacity) +1 and -1
    bound: Annotated[np.ndarray, "x os"]  # c_k Y_k, the end of the box besides 0; 0 where a slot is no member
    up: Annotated[np.ndarray, "x os"]  # (n_outputs, capacity) how far alpha may rise
    down: Annotated[np.ndarray, "x os"]  # (n_outputs, capacity) how far alpha may fall
    worst: Annotated[np.ndarray, "d ow"]  # (n_outputs, chunks) the worst violation of each chunk of slots
    zone: Annotated[np.ndarray, "t os"]  # (n_outputs, capacity) where on the ramp a member was when it came
    row: Annotated[np.ndarray, "i s"]  # (capacity,) the row of the training matrix that a member is, for later passes
    free_slots: Annotated[np.ndarray, "i s"]  # (capacity,) a stack
    pool: Annotated[np.ndarray, POOL, "1"]
    counts: Annotated[np.ndarray, COUNTS, "o"]
    sums: Annotated[np.ndarray, SUMS, "o"]

    def is_sound(self, sizes) -> bool:
        """Whether members are counted, and free slots are free."""
        capacity, n, pool = sizes["s"], int(self.working_set.counts[0]["n_slots"]), self.pool[0]
        right = sizes["w"] == capacity // CHUNK + 1 and within(self.free_slots, capacity)
        right = right and 0 <= pool["n_free"] <= n and -1 <= pool["current"] < capacity
        if not right or not within(self.zone, 3) or sizes["o"] != self.working_set.coef.shape[0]:
            return False
        is_member, free = self.bound != 0.0, self.free_slots[: pool["n_free"]]
        right = distinct(free) and within(free, max(n, 1)) and not is_member[:, n:].any()
        # Random members are drawn until one is found, and free slots are taken without a look.
        right = right and not is_member[:, free].any() and bool(np.isin(self.labels, (-1.0, 0.0, 1.0)).all())
        return bool(right) and bool((self.counts["n_members"] == is_member.sum(axis=1)).all())


def new_state(capacity, n_features, n_outputs, dtype):
    working_set = new_expansion(capacity, n_features, n_outputs, dtype)
    capacity = working_set.rows.shape[0]
    return DualState(
        working_set=working_set,
        gradient=np.zeros((n_outputs, capacity), dtype),
        labels=np.zeros((n_outputs, capacity)),
        bound=np.zeros((n_outputs, capacity), dtype),
        up=np.zeros((n_outputs, capacity), dtype),
        down=np.zeros((n_outputs, capacity), dtype),
        worst=np.zeros((n_outputs, capacity // CHUNK + 1)),
        zone=np.zeros((n_outputs, capacity), np.int8),
        row=np.full(capacity, -1, np.int64),
        free_slots=np.zeros(capacity, np.int64),
        pool=np.array([(0, -1)], POOL),
        counts=np.zeros(n_outputs, COUNTS),
        sums=np.zeros(n_outputs, SUMS),
    )


_PER_SLOT = ("gradient", "labels", "bound", "up", "down", "zone", "row", "free_slots")


def resized_state(state, capacity):
    """A copy with room for ``capacity`` slots."""
    working_set = resized(state.working_set, capacity)
    capacity = working_set.rows.shape[0]
    larger = new_state(capacity, working_set.rows.shape[1], working_set.n_outputs, working_set.rows.dtype)
    for name in _PER_SLOT:
        old = getattr(state, name)
        getattr(larger, name)[..., : old.shape[-1]] = old
    larger.worst[:, : state.worst.shape[1]] = state.worst
    for name in ("pool", "counts", "sums"):
        getattr(larger, name)[:] = getattr(state, name)
    return larger._replace(working_set=working_set)


def trimmed(state):
    """A copy with room for the slots in use alone."""
    working_set = resized(state.working_set, 1)
    capacity = working_set.rows.shape[0]
    cut = {name: np.ascontiguousarray(getattr(state, name)[..., :capacity]) for name in _PER_SLOT}
    worst = np.ascontiguousarray(state.worst[:, : capacity // CHUNK + 1])
    return state._replace(working_set=working_set, worst=worst, **cut)


def support_of(state, coef):
    """The slots with coefficients other than zero in ``coef`` alone, as an expansion."""
    working_set = state.working_set
    n = int(working_set.counts[0]["n_slots"])
    chosen = np.flatnonzero((coef[:, :n] != 0.0).any(axis=0))
    support = new_expansion(
        max(len(chosen), 1), working_set.rows.shape[1], working_set.n_outputs, working_set.rows.dtype
    )
    k = len(chosen)
    support.rows[:k], support.norms[:k] = working_set.rows[chosen], working_set.norms[chosen]
    support.coef[:, :k] = support.weights[:, :k] = coef[:, chosen]
    support.births[:k] = working_set.births[chosen]
    support.counts[:] = working_set.counts
    support.counts[0]["n_slots"] = k
    return support
