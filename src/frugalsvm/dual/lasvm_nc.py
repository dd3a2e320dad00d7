"""LASVM-G, LASVM-NC, LASVM-I and FULL SVM: online SVMs without a bias, driven by the duality gap.

Paper: S. Ertekin, L. Bottou, C. L. Giles, "Nonconvex online support vector machines", IEEE TPAMI 33 (2011). For every
example::

    NC:  beta = C if y f(x) < s and there are enough support vectors       (16), as an effective label (``state.py``)
    I:   leave the example out if y f(x) > 1, or < s                        section 6
    threshold = max(C, gap target)                                          (8)
    PROCESS: the example becomes a member and its alpha takes a step        section 4.2
    while gap > threshold:  REPROCESS                                       section 4.2, ``steps.py``
    now and then CLEAN (not FULL)                                           section 4.2, ``working_set.py``

Deviations, each found by measurement: pair steps in REPROCESS (the printed coordinate steps are an option); LASVM-I
does not apply ``y f < s`` before there are enough support vectors either, or it can die at the start. And as long as
examples of one class are lacking, as in a stream sorted by label, nobody knows which of the other class will matter:
nothing is left out or taken for an outlier, and CLEAN leaves ``PATIENCE`` times more.
"""

from typing import Annotated, NamedTuple

from frugalsvm._stored import Count, NotNegative, Positive, stored
from frugalsvm.compiling.functions import separate
from frugalsvm.core.cache import row_of_slot
from frugalsvm.core.fastmath import float64_sum
from frugalsvm.core.kernels import self_value
from frugalsvm.core.outputs import sign_of
from frugalsvm.dual.duality_gap import gap_of, gap_target
from frugalsvm.dual.online import newcomers_row, reprocess, visit
from frugalsvm.dual.state import LEFT, MIDDLE, RIGHT
from frugalsvm.dual.steps import coordinate_step, move_one, step_on_worst
from frugalsvm.dual.working_set import PATIENCE, admit_member, clean, meet, one_sided, take_slot

HINGE_LOSS, RAMP_LOSS, RAMP_FILTER = range(3)


@stored("lasvm-without-bias")
class LASVMNC(NamedTuple):
    """Parameters of LASVM-G, LASVM-NC, LASVM-I and FULL SVM."""

    kernel: NamedTuple
    C: Positive
    loss: Annotated[int, (0, 2)]  # HINGE_LOSS, RAMP_LOSS (NC) or RAMP_FILTER (I)
    s: Annotated[float, (-1e100, 1)]
    warm_up: Count  # support vectors before the ramp is used
    tau: NotNegative
    pairs: bool
    clean_every: Count  # 0: never
    max_idle: Count  # members with alpha = 0 that CLEAN leaves
    few: Count  # examples of each class there must be before any is left out


@visit.implement(LASVMNC)
def _visit(learner, source, i, label, box, row, known, state, cache, work):
    newcomers_row(learner.kernel, source, i, state, work)
    n = state.working_set.counts[0]["n_slots"]
    n_outputs = state.bound.shape[0]
    slot = known
    for c in range(n_outputs):
        threshold = gap_target(state, c, learner.C)
        n_admitted = state.counts[c]["n_admitted"]
        if slot >= 0 and state.bound[c, slot] != 0.0:
            _process_again(learner, state, cache, c, slot, work)
        else:
            y = sign_of(label, c, n_outputs)
            meet(state, c, y)
            f = float64_sum(state.working_set.coef, c, work.kernel_row, n)
            z = y * f
            ready = not one_sided(state, c, learner.few)
            left = ready and z < learner.s and state.counts[c]["n_support"] > learner.warm_up
            if learner.loss == RAMP_FILTER and ready and (left or z > 1.0):
                continue
            if slot < 0:
                slot = take_slot(learner.kernel, source, i, row, state, cache, work)
            zone = LEFT if z < learner.s else RIGHT if z > 1.0 else MIDDLE
            bound = -y * box if learner.loss == RAMP_LOSS and left else y * box
            admit_member(state, c, slot, y, bound, y - f, zone, work.kernel_row[slot])
            _process(learner, state, c, slot, work.kernel_row)
        while gap_of(state, c) > threshold:
            if not reprocess(learner, learner.tau, state, cache, c, work):
                break
        due = learner.clean_every > 0 and state.counts[c]["n_admitted"] % learner.clean_every == 0
        if due and state.counts[c]["n_admitted"] > n_admitted:
            max_idle = learner.max_idle * (PATIENCE if one_sided(state, c, learner.few) else 1)
            clean(state, cache, c, max_idle, work.sizes)


@separate
def _process(learner, state, c, slot, row):
    """PROCESS: a coordinate step of a member, given its kernel row."""
    own = self_value(learner.kernel, state.working_set.norms[slot])
    step = coordinate_step(state, c, slot, own)
    if step != 0.0:
        move_one(state, c, slot, step, own, row)
        state.working_set.counts[0]["n_updates"] += 1


@separate
def _process_again(learner, state, cache, c, slot, work):
    """PROCESS an example of an earlier pass that still is a member."""
    if coordinate_step(state, c, slot, self_value(learner.kernel, state.working_set.norms[slot])) != 0.0:
        row = row_of_slot(cache, learner.kernel, state.working_set, slot)
        _process(learner, state, c, slot, cache.values[row])


@reprocess.implement(LASVMNC)
def _reprocess(learner, tau, state, cache, c, work):
    return step_on_worst(learner.kernel, tau, learner.pairs, state, cache, c, work)
