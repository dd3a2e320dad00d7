"""LASVM-G, LASVM-NC, LASVM-I and FULL SVM: online SVMs without a bias, driven by the duality gap.

Paper: S. Ertekin, L. Bottou, C. L. Giles, "Nonconvex online support vector machines", IEEE TPAMI 33 (2011). For every
example::

    NC:  beta = C if y f(x) < s and there are enough support vectors       (16), as an effective label (``state.py``)
    I:   leave the example out if y f(x) > 1, or < s                        section 6
    threshold = max(C, gap target)                                          (8)
    PROCESS: the example becomes a member and its alpha takes a step        section 4.2
    while gap > threshold:  REPROCESS                                       section 4.2, ``steps.py``
    now and then CLEAN (not FULL)                                           section 4.2, ``members.py``

Deviations, each found by measurement: pair steps in REPROCESS (the printed coordinate steps are an option); LASVM-I
does not apply ``y f < s`` before there are enough support vectors either, or it can die at the start. And as long as
examples of one class are lacking, as in a stream sorted by label, nobody knows which of the other class will matter:
nothing is left out or taken for an outlier, and CLEAN leaves ``PATIENCE`` times more.
"""

from typing import NamedTuple

from frugalsvm._compile import entry, generic, inlined
from frugalsvm.core.cache import row_of_slot
from frugalsvm.core.expansion import N_KERNEL_EVALS, N_SEEN, N_SLOTS, N_UPDATES, whole_groups
from frugalsvm.core.fastmath import float64_sum
from frugalsvm.core.kernels import kernel_row, self_value
from frugalsvm.core.lookahead import ROOM, example_norm, load, products_row
from frugalsvm.core.one_vs_rest import sign_of
from frugalsvm.dual.members import PATIENCE, admit_member, clean, has_room, meet, one_sided, release, take_slot
from frugalsvm.dual.state import ADMITTED, BUSY, LEFT, MIDDLE, N_FREE, N_SUPPORT, RIGHT
from frugalsvm.dual.steps import coordinate_step, gap_of, gap_target, move_one, reprocess

__all__ = [
    "HINGE_LOSS",
    "RAMP_FILTER",
    "RAMP_LOSS",
    "Online",
    "finish",
    "improve",
    "newcomers_row",
    "run",
    "visit",
]

HINGE_LOSS, RAMP_LOSS, RAMP_FILTER = range(3)


class Online(NamedTuple):
    """Parameters of the bias-free family."""

    kernel: NamedTuple
    C: float
    loss: int  # HINGE_LOSS, RAMP_LOSS (NC) or RAMP_FILTER (I)
    s: float
    warm_up: int  # support vectors before the ramp is used
    tau: float
    pairs: bool
    clean_every: int  # 0: never
    max_idle: int  # members with alpha = 0 that CLEAN leaves
    few: int  # examples of each class there must be before any is left out


@generic
def visit(learner, source, i, label, box, row, known, dual, rows, work):
    """Show an example to the learner; ``known`` is its slot if it is a member already, or -1."""


@generic
def improve(learner, tau, dual, rows, c, work):
    """One step of REPROCESS for output c; returns whether there was a violation above tau."""


@inlined
def newcomers_row(kernel, source, i, dual, work):
    """Leave the kernel values of example i with all slots in the workspace."""
    members = dual.members
    n = members.counts[N_SLOTS]
    begin = products_row(source, i, members)
    kernel_row(
        kernel, source.products[begin:], members.norms, example_norm(source, i), work.kernel_row, whole_groups(n)
    )
    members.counts[N_KERNEL_EVALS] += n
    members.counts[N_SEEN] += 1


@visit.implement(Online)
def _visit(learner, source, i, label, box, row, known, dual, rows, work):
    newcomers_row(learner.kernel, source, i, dual, work)
    n = dual.members.counts[N_SLOTS]
    n_outputs = dual.bound.shape[0]
    slot = known
    for c in range(n_outputs):
        threshold = gap_target(dual, c, learner.C)
        n_admitted = dual.tallies[c, ADMITTED]
        if slot >= 0 and dual.bound[c, slot] != 0.0:
            _process_again(learner, dual, rows, c, slot, work)
        else:
            y = sign_of(label, c, n_outputs)
            meet(dual, c, y)
            f = float64_sum(dual.members.coef, c, work.kernel_row, n)
            z = y * f
            ready = not one_sided(dual, c, learner.few)
            left = ready and z < learner.s and dual.tallies[c, N_SUPPORT] > learner.warm_up
            if learner.loss == RAMP_FILTER and ready and (left or z > 1.0):
                continue
            if slot < 0:
                slot = take_slot(learner.kernel, source, i, row, dual, rows, work)
            zone = LEFT if z < learner.s else RIGHT if z > 1.0 else MIDDLE
            bound = -y * box if learner.loss == RAMP_LOSS and left else y * box
            admit_member(dual, c, slot, y, bound, y - f, zone, work.kernel_row[slot])
            _process(learner, dual, c, slot, work.kernel_row)
        while gap_of(dual, c) > threshold:
            if not improve(learner, learner.tau, dual, rows, c, work):
                break
        due = learner.clean_every > 0 and dual.tallies[c, ADMITTED] % learner.clean_every == 0
        if due and dual.tallies[c, ADMITTED] > n_admitted:
            max_idle = learner.max_idle * (PATIENCE if one_sided(dual, c, learner.few) else 1)
            clean(dual, rows, c, max_idle, work.sizes)


@inlined
def _process(learner, dual, c, slot, row):
    """PROCESS: a coordinate step of a member, given its kernel row."""
    own = self_value(learner.kernel, dual.members.norms[slot])
    step = coordinate_step(dual, c, slot, own)
    if step != 0.0:
        move_one(dual, c, slot, step, own, row)
        dual.members.counts[N_UPDATES] += 1


@inlined
def _process_again(learner, dual, rows, c, slot, work):
    """PROCESS an example of an earlier pass that still is a member."""
    if coordinate_step(dual, c, slot, self_value(learner.kernel, dual.members.norms[slot])) != 0.0:
        row = row_of_slot(rows, learner.kernel, dual.members, slot)
        _process(learner, dual, c, slot, rows.values[row])


@improve.implement(Online)
def _improve(learner, tau, dual, rows, c, work):
    return reprocess(learner.kernel, tau, learner.pairs, dual, rows, c, work)


@inlined
def fits(dual, source):
    """Whether the loaded block has room for one more member."""
    return dual.pool[N_FREE] > 0 or dual.members.counts[N_SLOTS] < source.state[ROOM]


@inlined
def _slot_of(dual, slot_of_row, row):
    """The slot of an example of an earlier pass, or -1."""
    if slot_of_row.size == 0:
        return -1
    slot = slot_of_row[row]
    return slot if slot >= 0 and dual.row[slot] == row else -1


@entry
def run(learner, source, labels, boxes, ids, slot_of_row, start, block_rows, dual, rows, work):
    """Learn the examples from position ``start``; returns the position reached: the end, unless there is no free slot.

    ``ids`` are the numbers of the examples' rows. Where there is to be a later pass, ``slot_of_row`` remembers their
    slots.
    """
    while start < labels.size and has_room(dual):
        stop = start + load(source, start, min(block_rows - start % block_rows, labels.size - start), dual.members)
        first = start
        while start < stop and has_room(dual) and fits(dual, source):
            if boxes[start] > 0.0:
                row = ids[start]
                known = _slot_of(dual, slot_of_row, row)
                dual.pool[BUSY] = known
                visit(learner, source, start - first, labels[start], boxes[start], row, known, dual, rows, work)
                slot = dual.pool[BUSY]
                dual.pool[BUSY] = -1
                if slot >= 0:
                    release(dual, rows, slot)
                    if slot_of_row.size > 0:
                        slot_of_row[row] = slot
            start += 1
    return start


@entry
def finish(learner, tol, max_steps, dual, rows, work):
    """REPROCESS until no violation is above ``tol``; returns the number of steps."""
    n_steps = 0
    for c in range(dual.bound.shape[0]):
        while n_steps < max_steps and improve(learner, tol, dual, rows, c, work):
            n_steps += 1
    return n_steps
