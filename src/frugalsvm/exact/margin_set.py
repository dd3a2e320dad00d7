"""The margin set: points between the ends of their boxes, kept on their targets, and their factored kernel values."""

from frugalsvm._compile import inlined
from frugalsvm.core.cache import row_of_slot
from frugalsvm.core.kernels import self_value
from frugalsvm.exact.factor import append, dot, remove, solve_lower
from frugalsvm.exact.passes import change_beta
from frugalsvm.exact.state import (
    ANY,
    CHANGE,
    COLUMN,
    HI,
    HIGH,
    KINK,
    KINK_AT,
    LEAST,
    LO,
    LOW,
    MOST,
    N_MARGIN,
    OFF,
    ONES,
    RATES,
    RISING,
    B,
    G,
    beta_of,
    stand,
)

__all__ = [
    "SINGULAR",
    "come_to",
    "end_zone",
    "ends_of",
    "first_block",
    "follow_rates",
    "join",
    "leave",
    "leave_at_end",
    "off_target",
    "refactor",
]

SINGULAR = 1e-11  # a pivot of this part of K + 1 counts as zero
NO_RATE = 1e-14


@inlined
def _target(exact, slot):
    return 1.0 if exact.zone[slot] == RISING else -1.0


@inlined
def ends_of(exact, slot):
    """The ends of the segment that a point in RISING or FALLING is in."""
    if exact.zone[slot] == RISING:
        return exact.of[LO, slot], exact.of[KINK_AT, slot]
    return exact.of[KINK_AT, slot], exact.of[HI, slot]


@inlined
def join(exact, slot, zone, pivot):
    """Make a point a member; COLUMN has its column."""
    n_margin = exact.counts[N_MARGIN]
    append(exact.R, exact.vectors[ONES], n_margin, exact.vectors[COLUMN], pivot)
    exact.margin[n_margin] = slot
    exact.place[slot] = n_margin
    exact.zone[slot] = zone
    exact.of[LEAST, slot], exact.of[MOST, slot] = -ANY, ANY
    exact.counts[N_MARGIN] += 1


@inlined
def leave(exact, slot):
    """Take a member out of the margin set; its zone stays, so the caller says where it stands."""
    place = exact.place[slot]
    n_margin = exact.counts[N_MARGIN]
    remove(exact.R, exact.vectors[ONES], n_margin, place)
    for p in range(place, n_margin - 1):
        exact.margin[p] = exact.margin[p + 1]
        exact.place[exact.margin[p]] = p
    exact.place[slot] = -1
    exact.counts[N_MARGIN] -= 1


@inlined
def end_zone(exact, slot, upwards):
    """The zone at the end of a segment."""
    if exact.zone[slot] == RISING:
        if not upwards:
            return LOW
        return KINK if exact.of[KINK_AT, slot] < exact.of[HI, slot] else HIGH
    if upwards:
        return HIGH
    return KINK if exact.of[KINK_AT, slot] > exact.of[LO, slot] else LOW


@inlined
def leave_at_end(exact, place, upwards):
    slot = exact.margin[place]
    zone = end_zone(exact, slot, upwards)
    leave(exact, slot)
    come_to(exact, slot, zone)


@inlined
def first_block(exact, direction, limit):
    """How far the margin set can go at its rates, ``limit`` at most, and the member's place that stops it or -1."""
    blocker = -1
    for p in range(exact.counts[N_MARGIN]):
        rate = direction * exact.vectors[RATES, p]
        if abs(rate) > NO_RATE:
            slot = exact.margin[p]
            low, high = ends_of(exact, slot)
            beta = beta_of(exact, slot)
            room = (high - beta) / rate if rate > 0.0 else (low - beta) / rate
            if room < limit:
                limit, blocker = max(room, 0.0), p
    return limit, blocker


@inlined
def follow_rates(exact, step):
    """Move the coefficients of the margin set along their rates."""
    for p in range(exact.counts[N_MARGIN]):
        change_beta(exact, exact.margin[p], step * exact.vectors[RATES, p])


@inlined
def come_to(exact, slot, zone):
    """Stand at an end exactly, whatever rounding made of the way there."""
    before = beta_of(exact, slot)
    stand(exact, slot, zone)
    exact.of[CHANGE, slot] += beta_of(exact, slot) - before


@inlined
def off_target(exact):
    """How far the margin set is from its targets, each member and at most."""
    worst = 0.0
    for p in range(exact.counts[N_MARGIN]):
        slot = exact.margin[p]
        off = _target(exact, slot) - (exact.of[G, slot] + exact.scalars[B])
        exact.vectors[OFF, p] = off
        worst = max(worst, abs(off))
    return worst


@inlined
def refactor(kernel, exact, rows):
    """The factor from the kernel values; members without a pivot of their own leave, and stand where they are."""
    points = exact.points
    n_margin = exact.counts[N_MARGIN]
    exact.counts[N_MARGIN] = 0
    for p in range(n_margin):
        slot = exact.margin[p]
        n_done = exact.counts[N_MARGIN]
        row = row_of_slot(rows, kernel, points, slot)
        for q in range(n_done):
            exact.vectors[COLUMN, q] = rows.values[row, exact.margin[q]] + 1.0
        column = exact.vectors[COLUMN, :n_done]
        solve_lower(exact.R, n_done, column)
        own = self_value(kernel, points.norms[slot]) + 1.0
        pivot = own - dot(column, column)
        exact.place[slot] = -1
        if pivot >= SINGULAR * own:
            join(exact, slot, exact.zone[slot], pivot)
        else:
            stand(exact, slot, exact.zone[slot])
