"""The margin set: points between the ends of their boxes, kept on their targets, and their factored kernel values."""

from frugalsvm.compiling.functions import larger, separate
from frugalsvm.core.cache import row_of_slot
from frugalsvm.core.kernels import self_value
from frugalsvm.exact.cholesky import append, dot, remove, solve_lower
from frugalsvm.exact.passes import change_beta
from frugalsvm.exact.state import HIGH, KINK, LOW, NO_LIMIT, RISING, beta_of, set_zone

SINGULAR = 1e-11  # a pivot of this part of K + 1 counts as zero
NO_RATE = 1e-14


@separate
def _target(state, slot):
    return 1.0 if state.zone[slot] == RISING else -1.0


@separate
def segment_of(state, slot):
    """The ends of the segment that a point in RISING or FALLING is in."""
    if state.zone[slot] == RISING:
        return state.lower[slot], state.kink[slot]
    return state.kink[slot], state.upper[slot]


@separate
def join(state, slot, zone, pivot):
    """Make a point a member; ``column`` has its column."""
    n_margin = state.counts[0]["n_margin"]
    append(state.R, state.ones, n_margin, state.column, pivot)
    state.margin_slots[n_margin] = slot
    state.margin_index[slot] = n_margin
    state.zone[slot] = zone
    state.min_f[slot], state.max_f[slot] = -NO_LIMIT, NO_LIMIT
    state.counts[0]["n_margin"] += 1


@separate
def leave(state, slot):
    """Take a member out of the margin set; its zone stays, so the caller says where it stands."""
    index = state.margin_index[slot]
    n_margin = state.counts[0]["n_margin"]
    remove(state.R, state.ones, n_margin, index)
    for p in range(index, n_margin - 1):
        state.margin_slots[p] = state.margin_slots[p + 1]
        state.margin_index[state.margin_slots[p]] = p
    state.margin_index[slot] = -1
    state.counts[0]["n_margin"] -= 1


@separate
def end_zone(state, slot, upwards):
    """The zone at the end of a segment."""
    if state.zone[slot] == RISING:
        if not upwards:
            return LOW
        return KINK if state.kink[slot] < state.upper[slot] else HIGH
    if upwards:
        return HIGH
    return KINK if state.kink[slot] > state.lower[slot] else LOW


@separate
def leave_at_end(state, index, upwards):
    slot = state.margin_slots[index]
    zone = end_zone(state, slot, upwards)
    leave(state, slot)
    come_to(state, slot, zone)


@separate
def first_block(state, direction, limit):
    """How far the margin set can go at its rates, ``limit`` at most, and the index of who stops it or -1."""
    blocker = -1
    for p in range(state.counts[0]["n_margin"]):
        rate = direction * state.rates[p]
        if abs(rate) > NO_RATE:
            slot = state.margin_slots[p]
            low, high = segment_of(state, slot)
            beta = beta_of(state, slot)
            room = (high - beta) / rate if rate > 0.0 else (low - beta) / rate
            if room < limit:
                limit, blocker = larger(room, 0.0), p
    return limit, blocker


@separate
def follow_rates(state, step):
    """Move the coefficients of the margin set along their rates."""
    for p in range(state.counts[0]["n_margin"]):
        change_beta(state, state.margin_slots[p], step * state.rates[p])


@separate
def come_to(state, slot, zone):
    """Stand at an end exactly, whatever rounding made of the way there."""
    before = beta_of(state, slot)
    set_zone(state, slot, zone)
    state.change[slot] += beta_of(state, slot) - before


@separate
def off_target(state):
    """How far the margin set is from its targets, each member and at most."""
    worst = 0.0
    for p in range(state.counts[0]["n_margin"]):
        slot = state.margin_slots[p]
        off = _target(state, slot) - (state.scores[slot] + state.scalars[0]["bias"])
        state.residuals[p] = off
        worst = larger(worst, abs(off))
    return worst


@separate
def refactor(kernel, state, cache):
    """The factor from the kernel values; members without a pivot of their own leave, and stand where they are."""
    points = state.points
    n_margin = state.counts[0]["n_margin"]
    state.counts[0]["n_margin"] = 0
    for p in range(n_margin):
        slot = state.margin_slots[p]
        n_done = state.counts[0]["n_margin"]
        row = row_of_slot(cache, kernel, points, slot)
        for q in range(n_done):
            state.column[q] = cache.values[row, state.margin_slots[q]] + 1.0
        column = state.column[:n_done]
        solve_lower(state.R, n_done, column)
        own = self_value(kernel, points.norms[slot]) + 1.0
        pivot = own - dot(column, column)
        state.margin_index[slot] = -1
        if pivot >= SINGULAR * own:
            join(state, slot, state.zone[slot], pivot)
        else:
            set_zone(state, slot, state.zone[slot])
