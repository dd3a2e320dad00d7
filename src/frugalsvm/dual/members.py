"""Members come and go: slots, admission, and CLEAN."""

import numpy as np

from frugalsvm._compile import compiled, inlined
from frugalsvm.core.cache import note_insertion, note_removal
from frugalsvm.core.fastmath import nth_smallest
from frugalsvm.core.kernels import self_value
from frugalsvm.core.lookahead import example_norm, place_example
from frugalsvm.dual.state import (
    ADMITTED,
    ADMITTED_LEFT,
    ADMITTED_RIGHT,
    BUSY,
    CLEANED_LEFT,
    CLEANED_RIGHT,
    HINGE,
    LEFT,
    MIDDLE,
    N_FREE,
    N_MEMBERS,
    RUN,
    SEEN_NEGATIVE,
    SEEN_POSITIVE,
    SUM_H,
    SUM_H2,
    UNKNOWN,
    WORST,
)

__all__ = ["PATIENCE", "admit_member", "clean", "dismiss", "has_room", "meet", "one_sided", "release", "take_slot"]

LONG = 20
PATIENCE = 30  # so many times more idle members stay as long as examples are one-sided


@inlined
def has_room(dual):
    """Whether one more example can become a member."""
    return dual.pool[N_FREE] > 0 or dual.members.counts[0]["n_slots"] < dual.members.rows.shape[0]


@inlined
def take_slot(kernel, source, i, row, dual, rows, work):
    """Write example i of the block to a free slot."""
    members = dual.members
    if dual.pool[N_FREE] > 0:
        dual.pool[N_FREE] -= 1
        slot = dual.free[dual.pool[N_FREE]]
    else:
        slot = members.counts[0]["n_slots"]
        members.counts[0]["n_slots"] += 1
    dual.pool[BUSY] = slot
    place_example(source, i, members, slot)
    members.norms[slot] = example_norm(source, i)
    members.births[slot] = members.counts[0]["n_seen"]
    dual.row[slot] = row
    work.kernel_row[slot] = self_value(kernel, members.norms[slot])
    # Most newcomers stay idle, so their rows are the first to go; a step that uses one makes it count.
    note_insertion(rows, slot, work.kernel_row, members.counts[0]["n_slots"], 0.0)
    return slot


@inlined
def meet(dual, c, truth):
    """Count an example of a class."""
    run = dual.tallies[c, RUN]
    if truth > 0.0:
        dual.tallies[c, SEEN_POSITIVE] += 1
        dual.tallies[c, RUN] = max(run, 0) + 1
    else:
        dual.tallies[c, SEEN_NEGATIVE] += 1
        dual.tallies[c, RUN] = min(run, 0) - 1


@inlined
def one_sided(dual, c, few):
    """Whether examples of a class are lacking, so that nobody can tell which of the other class will not matter.

    Either there were fewer than ``few`` so far, or none for ``LONG`` times as long as it takes on average.
    """
    negative, positive, run = dual.tallies[c, SEEN_NEGATIVE], dual.tallies[c, SEEN_POSITIVE], dual.tallies[c, RUN]
    absent = negative if run > 0 else positive
    return min(negative, positive) < few or (few > 0 and abs(run) * absent > LONG * (negative + positive))


@inlined
def admit_member(dual, c, slot, truth, bound, gradient, zone, own):
    """Make an example a member for output c, with alpha = 0; ``own`` is its K(x, x).

    Where that is zero (an empty row, a linear kernel) a step would change nothing, so its alpha stays.
    """
    dual.truth[c, slot] = truth
    dual.bound[c, slot] = bound
    dual.gradient[c, slot] = gradient
    dual.zone[c, slot] = zone
    dual.up[c, slot] = max(bound, 0.0) if own > 0.0 else 0.0
    dual.down[c, slot] = max(-bound, 0.0) if own > 0.0 else 0.0
    h = bound * gradient
    dual.sums[c, HINGE] += max(0.0, h)
    dual.sums[c, SUM_H] += abs(bound) * truth * gradient
    if dual.sums[c, SUM_H2] >= 0.0:
        dual.sums[c, SUM_H2] += h * h
    if h > 0.0:
        dual.sums[c, WORST] = UNKNOWN
    dual.tallies[c, N_MEMBERS] += 1
    dual.tallies[c, ADMITTED] += 1
    if zone != MIDDLE:
        dual.tallies[c, ADMITTED_LEFT if zone == LEFT else ADMITTED_RIGHT] += 1


@inlined
def dismiss(dual, rows, c, slot):
    """End a membership with alpha = 0; the slot becomes free when no output has it any more."""
    h = np.float64(dual.bound[c, slot]) * np.float64(dual.gradient[c, slot])
    dual.sums[c, HINGE] -= max(0.0, h)
    dual.sums[c, SUM_H2] = dual.sums[c, WORST] = UNKNOWN
    dual.bound[c, slot] = 0.0
    dual.gradient[c, slot] = 0.0
    dual.up[c, slot] = dual.down[c, slot] = 0.0
    dual.tallies[c, N_MEMBERS] -= 1
    dual.members.counts[0]["n_maintenance"] += 1
    zone = dual.zone[c, slot]
    if zone != MIDDLE:
        dual.tallies[c, CLEANED_LEFT if zone == LEFT else CLEANED_RIGHT] += 1
    if slot != dual.pool[BUSY]:  # outputs that come later may still want the example at hand
        release(dual, rows, slot)


@inlined
def release(dual, rows, slot):
    """Free a slot if no output has it as a member."""
    for c in range(dual.bound.shape[0]):
        if dual.bound[c, slot] != 0.0:
            return
    dual.row[slot] = -1
    note_removal(rows, slot)
    dual.free[dual.pool[N_FREE]] = slot
    dual.pool[N_FREE] += 1


@inlined
def clean(dual, rows, c, max_idle, scratch):
    """CLEAN: of the members with alpha = 0, dismiss those with the largest gradients beyond ``max_idle``."""
    n = dual.members.counts[0]["n_slots"]
    n_idle = _collect_idle(dual.members.coef, dual.bound, dual.gradient, c, n, scratch)
    if n_idle <= max_idle:
        return
    limit = nth_smallest(scratch, n_idle, max_idle) if max_idle > 0 else -1.0  # the least that must go
    n_left = n_idle
    for k in range(n):
        if _is_idle(dual, c, k) and abs(dual.gradient[c, k]) > limit:
            dismiss(dual, rows, c, k)
            n_left -= 1
    while n_left > max_idle:  # of equals, the youngest go
        youngest = -1
        for k in range(n):
            candidate = _is_idle(dual, c, k) and abs(dual.gradient[c, k]) == limit
            if candidate and (youngest < 0 or dual.members.births[k] > dual.members.births[youngest]):
                youngest = k
        dismiss(dual, rows, c, youngest)
        n_left -= 1


@inlined
def _is_idle(dual, c, k):
    """Whether slot k is a member with alpha = 0."""
    return dual.bound[c, k] != 0.0 and dual.members.coef[c, k] == 0.0


@compiled
def _collect_idle(alpha, bound, gradient, c, n, out):
    """Sizes of the gradients of the members with alpha = 0; returns how many there are."""
    count = 0
    for k in range(n):
        if bound[c, k] != 0.0 and alpha[c, k] == 0.0:
            out[count] = abs(gradient[c, k])
            count += 1
    return count
