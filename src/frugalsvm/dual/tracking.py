"""Tracking the optimum: random coordinate steps on all examples seen, a constant number for each new one.

Paper: N. Usunier, A. Bordes, L. Bottou, "Guarantees for approximate incremental SVMs", AISTATS 2010. Without a bias.
For every example, with K = ``n_steps``::

    it becomes a member; PROCESS it (Algorithm 2, ``process``) or not (Algorithm 1)
    K times:  pick a member at random and make its coordinate step (3)

The output of a round is the mean of its K iterates. A step made at iteration k is in the last K - k + 1 of them, so
the mean is the last iterate minus (k - 1) / K of each step: only members that moved in the round differ, and ``lag``
holds by how much.

``cached`` is section 5.2: an example whose alpha is zero is forgotten, so only support vectors are kept and picked.
Two of its shortcuts are free here: gradients are kept for all members, and a member that cannot move needs no kernel
row.
"""

from typing import Annotated, NamedTuple

import numpy as np

from frugalsvm._stored import ABOVE_ZERO, MANY, Positive, stored
from frugalsvm.compiling.functions import compiled, entry, separate
from frugalsvm.core.cache import row_of_slot
from frugalsvm.core.fastmath import float64_sum
from frugalsvm.core.kernels import self_value
from frugalsvm.core.outputs import sign_of
from frugalsvm.core.records import float_record
from frugalsvm.core.rng import below
from frugalsvm.dual.duality_gap import gap_of
from frugalsvm.dual.online import newcomers_row, reprocess, visit
from frugalsvm.dual.state import MIDDLE
from frugalsvm.dual.steps import coordinate_step, move_one, step_on_worst
from frugalsvm.dual.working_set import admit_member, dismiss, take_slot

TRACE = float_record("gap_sum", "n_gaps")  # the sum of the normalized gaps after each example, and how many


@stored("tracking")
class Tracking(NamedTuple):
    """Parameters of the tracking algorithms, and what they remember of the present round."""

    kernel: NamedTuple
    C: Positive
    n_steps: Annotated[int, (1, 2**31)]  # K
    process: bool
    cached: bool
    rng: Annotated[np.ndarray, "u 1", ABOVE_ZERO]
    lag: Annotated[np.ndarray, "d ok"]  # (n_outputs, K) how far the mean of the round is behind the last iterate
    moved: Annotated[np.ndarray, "i ok", (-1, MANY - 1)]  # the slots of those members, -1 where there is none
    trace: Annotated[np.ndarray, TRACE, "1"]

    def is_sound(self, sizes) -> bool:
        """Whether there is room for the steps of a round."""
        return sizes["k"] == self.n_steps


def new_tracking(kernel, C, n_steps, process, cached, n_outputs, rng):
    lag, moved = np.zeros((n_outputs, n_steps)), np.full((n_outputs, n_steps), -1, np.int64)
    return Tracking(kernel, C, n_steps, process, cached, rng, lag, moved, np.zeros(1, TRACE))


def mean_of_round(tracking, coef):
    """The mean of the iterates of the last round, given the coefficients of the last one."""
    mean = coef.copy()
    outputs, steps = np.nonzero(tracking.moved >= 0)
    np.subtract.at(mean, (outputs, tracking.moved[outputs, steps]), tracking.lag[outputs, steps])
    return mean


@visit.implement(Tracking)
def _visit(learner, source, i, label, box, row, known, state, cache, work):
    newcomers_row(learner.kernel, source, i, state, work)
    n = state.working_set.counts[0]["n_slots"]
    n_outputs = state.bound.shape[0]
    slot = known
    total_gap = 0.0
    for c in range(n_outputs):
        if slot < 0 or state.bound[c, slot] == 0.0:
            y = sign_of(label, c, n_outputs)
            f = float64_sum(state.working_set.coef, c, work.kernel_row, n)
            if slot < 0:
                slot = take_slot(learner.kernel, source, i, row, state, cache, work)
            admit_member(state, c, slot, y, y * box, y - f, MIDDLE, work.kernel_row[slot])
            if learner.process:
                _step(learner, state, cache, c, slot, work)
            if learner.cached:
                _forget_if_idle(state, cache, c, slot)
        _round(learner, state, cache, c, work)
        total_gap += gap_of(state, c)
    learner.trace[0]["gap_sum"] += total_gap / (learner.C * state.working_set.counts[0]["n_seen"] * n_outputs)
    learner.trace[0]["n_gaps"] += 1.0


@separate
def _step(learner, state, cache, c, slot, work):
    """A coordinate step; returns its size."""
    own = self_value(learner.kernel, state.working_set.norms[slot])
    step = coordinate_step(state, c, slot, own)
    if step != 0.0:
        r = row_of_slot(cache, learner.kernel, state.working_set, slot)
        move_one(state, c, slot, step, own, cache.values[r])
        state.working_set.counts[0]["n_updates"] += 1
    return step


@separate
def _forget_if_idle(state, cache, c, slot):
    if state.working_set.coef[c, slot] == 0.0:
        dismiss(state, cache, c, slot)


@separate
def _round(learner, state, cache, c, work):
    """K coordinate steps on members picked at random."""
    for k in range(learner.n_steps):
        learner.moved[c, k] = -1
        if state.counts[c]["n_members"] == 0:
            continue
        slot = _random_member(state.bound, c, state.working_set.counts[0]["n_slots"], learner.rng)
        step = _step(learner, state, cache, c, slot, work)
        state.counts[c]["n_reprocess"] += 1
        if step != 0.0:
            learner.moved[c, k] = slot
            learner.lag[c, k] = step * k / learner.n_steps
            if learner.cached:
                _forget_if_idle(state, cache, c, slot)


@compiled
def _random_member(bound, c, n, rng):
    """A member, each as likely; there are few slots without one."""
    while True:
        slot = below(rng, n)
        if bound[c, slot] != 0.0:
            return slot


@reprocess.implement(Tracking)
def _reprocess(learner, tau, state, cache, c, work):
    return step_on_worst(learner.kernel, tau, True, state, cache, c, work)


@entry
def make_rounds(learner, n_rounds, state, cache, work):
    """Rounds of K steps without new examples: the batch counterpart (section 2)."""
    for c in range(state.bound.shape[0]):
        for _ in range(n_rounds):
            _round(learner, state, cache, c, work)
