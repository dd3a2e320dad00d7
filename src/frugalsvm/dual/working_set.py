"""The members of the working set come and go: slots, admission, and CLEAN."""

import numpy as np

from frugalsvm.compiling.functions import compiled, larger, separate, smaller
from frugalsvm.core.cache import note_insertion, note_removal
from frugalsvm.core.fastmath import nth_smallest
from frugalsvm.core.kernels import self_value
from frugalsvm.core.lookahead import example_norm, place_example
from frugalsvm.dual.state import LEFT, RIGHT, UNKNOWN

LONG = 20
PATIENCE = 30  # times as many idle members stay as long as examples are one-sided


@separate
def has_room(state):
    """Whether one more example can become a member."""
    return state.pool[0]["n_free"] > 0 or state.working_set.counts[0]["n_slots"] < state.working_set.rows.shape[0]


@separate
def take_slot(kernel, source, i, row, state, cache, work):
    """Write example i of the block to a free slot."""
    working_set = state.working_set
    if state.pool[0]["n_free"] > 0:
        state.pool[0]["n_free"] -= 1
        slot = state.free_slots[state.pool[0]["n_free"]]
    else:
        slot = working_set.counts[0]["n_slots"]
        working_set.counts[0]["n_slots"] += 1
    state.pool[0]["current"] = slot
    place_example(source, i, working_set, slot)
    working_set.norms[slot] = example_norm(source, i)
    working_set.births[slot] = working_set.counts[0]["n_seen"]
    state.row[slot] = row
    work.kernel_row[slot] = self_value(kernel, working_set.norms[slot])
    # Most newcomers stay idle, so their rows are the first to go; a step that uses one makes it count.
    note_insertion(cache, slot, work.kernel_row, working_set.counts[0]["n_slots"], 0.0)
    return slot


@separate
def meet(state, c, label):
    """Count an example of a class."""
    run = state.counts[c]["run"]
    if label > 0.0:
        state.counts[c]["n_positive"] += 1
        state.counts[c]["run"] = larger(run, 0) + 1
    else:
        state.counts[c]["n_negative"] += 1
        state.counts[c]["run"] = smaller(run, 0) - 1


@separate
def one_sided(state, c, few):
    """Whether examples of a class are lacking, so that nobody can tell which of the other class will not matter.

    Either there were fewer than ``few`` so far, or none for ``LONG`` times as long as it takes on average.
    """
    negative, positive, run = state.counts[c]["n_negative"], state.counts[c]["n_positive"], state.counts[c]["run"]
    absent = negative if run > 0 else positive
    return smaller(negative, positive) < few or (few > 0 and abs(run) * absent > LONG * (negative + positive))


@separate
def admit_member(state, c, slot, label, bound, gradient, zone, own):
    """Make an example a member for output c, with alpha = 0; ``own`` is its K(x, x).

    Where that is zero (an empty row, a linear kernel) a step would change nothing, so its alpha stays.
    """
    state.labels[c, slot] = label
    state.bound[c, slot] = bound
    state.gradient[c, slot] = gradient
    state.zone[c, slot] = zone
    state.up[c, slot] = larger(bound, 0.0) if own > 0.0 else 0.0
    state.down[c, slot] = larger(-bound, 0.0) if own > 0.0 else 0.0
    h = bound * gradient
    state.sums[c]["hinge"] += larger(0.0, h)
    state.sums[c]["h"] += abs(bound) * label * gradient
    if state.sums[c]["h_squared"] >= 0.0:
        state.sums[c]["h_squared"] += h * h
    if h > 0.0:
        state.sums[c]["worst"] = UNKNOWN
    state.counts[c]["n_members"] += 1
    state.counts[c]["n_admitted"] += 1
    state.counts[c]["n_admitted_left"] += np.int64(zone == LEFT)
    state.counts[c]["n_admitted_right"] += np.int64(zone == RIGHT)


@separate
def dismiss(state, cache, c, slot):
    """End a membership with alpha = 0; the slot becomes free when no output has it any more."""
    h = np.float64(state.bound[c, slot]) * np.float64(state.gradient[c, slot])
    state.sums[c]["hinge"] -= larger(0.0, h)
    state.sums[c]["h_squared"] = state.sums[c]["worst"] = UNKNOWN
    state.bound[c, slot] = 0.0
    state.gradient[c, slot] = 0.0
    state.up[c, slot] = state.down[c, slot] = 0.0
    state.counts[c]["n_members"] -= 1
    state.working_set.counts[0]["n_maintenance"] += 1
    zone = state.zone[c, slot]
    state.counts[c]["n_cleaned_left"] += np.int64(zone == LEFT)
    state.counts[c]["n_cleaned_right"] += np.int64(zone == RIGHT)
    if slot != state.pool[0]["current"]:  # outputs that come later may still want the example at hand
        release(state, cache, slot)


@separate
def release(state, cache, slot):
    """Free a slot if no output has it as a member."""
    for c in range(state.bound.shape[0]):
        if state.bound[c, slot] != 0.0:
            return
    state.row[slot] = -1
    note_removal(cache, slot)
    state.free_slots[state.pool[0]["n_free"]] = slot
    state.pool[0]["n_free"] += 1


@separate
def clean(state, cache, c, max_idle, scratch):
    """CLEAN: of the members with alpha = 0, dismiss those with the largest gradients beyond ``max_idle``."""
    n = state.working_set.counts[0]["n_slots"]
    n_idle = _collect_idle(state.working_set.coef, state.bound, state.gradient, c, n, scratch)
    if n_idle <= max_idle:
        return
    limit = nth_smallest(scratch, n_idle, max_idle) if max_idle > 0 else -1.0  # the least that must go
    n_left = n_idle
    for k in range(n):
        if _is_idle(state, c, k) and abs(state.gradient[c, k]) > limit:
            dismiss(state, cache, c, k)
            n_left -= 1
    while n_left > max_idle:  # of equals, the youngest go
        youngest = -1
        for k in range(n):
            candidate = _is_idle(state, c, k) and abs(state.gradient[c, k]) == limit
            if candidate and (youngest < 0 or state.working_set.births[k] > state.working_set.births[youngest]):
                youngest = k
        if youngest < 0:  # gradients overflowed
            return
        dismiss(state, cache, c, youngest)
        n_left -= 1


@separate
def _is_idle(state, c, k):
    """Whether slot k is a member with alpha = 0."""
    return state.bound[c, k] != 0.0 and state.working_set.coef[c, k] == 0.0


@compiled
def _collect_idle(alpha, bound, gradient, c, n, out):
    """Sizes of the gradients of the members with alpha = 0; returns how many there are."""
    count = 0
    for k in range(n):
        if bound[c, k] != 0.0 and alpha[c, k] == 0.0:
            out[count] = abs(gradient[c, k])
            count += 1
    return count
