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

from typing import NamedTuple

import numpy as np

from frugalsvm._compile import compiled, entry, inlined
from frugalsvm.core.cache import row_of_slot
from frugalsvm.core.expansion import N_SEEN, N_SLOTS, N_UPDATES
from frugalsvm.core.fastmath import float64_sum
from frugalsvm.core.kernels import self_value
from frugalsvm.core.one_vs_rest import sign_of
from frugalsvm.core.rng import below
from frugalsvm.dual.members import admit_member, dismiss, take_slot
from frugalsvm.dual.online import improve, newcomers_row, visit
from frugalsvm.dual.state import MIDDLE, N_MEMBERS, N_REPROCESS
from frugalsvm.dual.steps import coordinate_step, gap_of, move_one, reprocess

__all__ = ["Tracking", "make_rounds", "mean_of_round", "new_tracking"]


class Tracking(NamedTuple):
    """Parameters of the tracking algorithms, and what they remember of the present round."""

    kernel: NamedTuple
    C: float
    n_steps: int  # K
    process: bool
    cached: bool
    rng: np.ndarray
    lag: np.ndarray  # (n_outputs, K) how far the mean of the round is behind the last iterate
    moved: np.ndarray  # (n_outputs, K) the slots of those members, -1 where there is none
    trace: np.ndarray  # [sum of the normalised gaps, number of them]


def new_tracking(kernel, C, n_steps, process, cached, n_outputs, rng):
    lag, moved = np.zeros((n_outputs, n_steps)), np.full((n_outputs, n_steps), -1, np.int64)
    return Tracking(kernel, C, n_steps, process, cached, rng, lag, moved, np.zeros(2))


def mean_of_round(tracking, coef):
    """The mean of the iterates of the last round, given the coefficients of the last one."""
    mean = coef.copy()
    outputs, steps = np.nonzero(tracking.moved >= 0)
    np.subtract.at(mean, (outputs, tracking.moved[outputs, steps]), tracking.lag[outputs, steps])
    return mean


@visit.implement(Tracking)
def _visit(learner, source, i, label, box, row, known, dual, rows, work):
    newcomers_row(learner.kernel, source, i, dual, work)
    n = dual.members.counts[N_SLOTS]
    n_outputs = dual.bound.shape[0]
    slot = known
    total_gap = 0.0
    for c in range(n_outputs):
        if slot < 0 or dual.bound[c, slot] == 0.0:
            y = sign_of(label, c, n_outputs)
            f = float64_sum(dual.members.coef, c, work.kernel_row, n)
            if slot < 0:
                slot = take_slot(learner.kernel, source, i, row, dual, rows, work)
            admit_member(dual, c, slot, y, y * box, y - f, MIDDLE, work.kernel_row[slot])
            if learner.process:
                _step(learner, dual, rows, c, slot, work)
            if learner.cached:
                _forget_if_idle(dual, rows, c, slot)
        _round(learner, dual, rows, c, work)
        total_gap += gap_of(dual, c)
    learner.trace[0] += total_gap / (learner.C * dual.members.counts[N_SEEN] * n_outputs)
    learner.trace[1] += 1.0


@inlined
def _step(learner, dual, rows, c, slot, work):
    """A coordinate step; returns its size."""
    own = self_value(learner.kernel, dual.members.norms[slot])
    step = coordinate_step(dual, c, slot, own)
    if step != 0.0:
        r = row_of_slot(rows, learner.kernel, dual.members, slot)
        move_one(dual, c, slot, step, own, rows.values[r])
        dual.members.counts[N_UPDATES] += 1
    return step


@inlined
def _forget_if_idle(dual, rows, c, slot):
    if dual.members.coef[c, slot] == 0.0:
        dismiss(dual, rows, c, slot)


@inlined
def _round(learner, dual, rows, c, work):
    """K coordinate steps on members picked at random."""
    for k in range(learner.n_steps):
        learner.moved[c, k] = -1
        if dual.tallies[c, N_MEMBERS] == 0:
            continue
        slot = _random_member(dual.bound, c, dual.members.counts[N_SLOTS], learner.rng)
        step = _step(learner, dual, rows, c, slot, work)
        dual.tallies[c, N_REPROCESS] += 1
        if step != 0.0:
            learner.moved[c, k] = slot
            learner.lag[c, k] = step * k / learner.n_steps
            if learner.cached:
                _forget_if_idle(dual, rows, c, slot)


@compiled
def _random_member(bound, c, n, rng):
    """A member, each as likely; there are few slots without one."""
    while True:
        slot = below(rng, n)
        if bound[c, slot] != 0.0:
            return slot


@improve.implement(Tracking)
def _improve(learner, tau, dual, rows, c, work):
    return reprocess(learner.kernel, tau, True, dual, rows, c, work)


@entry
def make_rounds(learner, n_rounds, dual, rows, work):
    """Rounds of K steps without new examples: the batch counterpart (section 2)."""
    for c in range(dual.bound.shape[0]):
        for _ in range(n_rounds):
            _round(learner, dual, rows, c, work)
