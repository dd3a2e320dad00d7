"""The solver behind incremental learning and the Twin Vector Machine: a primal active set, warm-started.

The textbook way to learn an example exactly is *adiabatic* (Cauwenberghs & Poggio 2000; TVM paper, section 2.2). The
newcomer's coefficient alpha_c grows from zero, and the margin set and the bias follow so that the margin set stays on
the margin,

    [ 0  1' ] [ d b    ]       [ 1   ]
    [ 1  K  ] [ d beta ]  =  - [ k_c ] d beta_c,

until the newcomer is on the margin or at its bound; whenever on the way a point reaches the margin, or a member an end
of its box, it changes sets. All points satisfy the optimality conditions at every moment. That is elegant but brittle:
with duplicates several points reach the margin at once, the matrix becomes singular, and the path needs swap rules.
(It is the oracle of the tests on problems without such points.)

Here only the *members of the margin set* are kept optimal on the way; all others are checked at the end of a step.

    settle:  while the worst violation is above a tolerance
                 move that point, the margin set following as above, until the first of:
                 it reaches its target f and joins; it reaches an end; a member reaches an end and leaves

Every step lowers the objective and the solution is warm, so a few steps are enough. What else disturbs the solution is
absorbed by the same two verbs: ``refine`` moves the margin set back to its targets (after C was changed, which scales
all coefficients; or after rounding), and ``withdraw`` moves a point to zero, so that it can be taken out.

Trouble, and what is done about it:

* *Empty margin set.* Then the bias is free between the demands of those that may rise and those that may fall. If they
  leave room it is clamped to it, and all is optimal; if not, the one with the highest demand joins at its own bias.
* *One class only.* Nobody may fall, so there is no upper demand: all coefficients stay zero.
* *Duplicates, or more members than dimensions.* Moving the point does not change its f, that is its pivot is zero: it
  moves to the first end, its own or that of a member, whose place it can then take.
* *Zero steps.* A member that is at its end already leaves without anything moving. After many such steps in a row the
  first point in order is moved instead of the worst one, which cannot cycle.
* *Drift.* ``refresh`` computes g and the factor anew and tells by how much g was wrong.
"""

from frugalsvm._compile import compiled, inlined, larger, separate, smaller
from frugalsvm.core.cache import row_of_slot
from frugalsvm.core.expansion import N_SLOTS
from frugalsvm.core.kernels import self_value
from frugalsvm.exact.factor import append, dot, remove, solve_lower, solve_upper
from frugalsvm.exact.state import (
    ANY,
    CHANGE,
    COLUMN,
    DRIFT,
    FALLING,
    HI,
    HIGH,
    KINK,
    KINK_AT,
    LEAST,
    LO,
    LOW,
    MOST,
    N_MARGIN,
    N_ROUNDS,
    N_SINCE,
    OFF,
    OLD,
    ONES,
    RATES,
    RISING,
    STATUS,
    B,
    G,
    beta_of,
    set_beta,
    stand,
)

__all__ = [
    "DONE",
    "FULL",
    "STUCK",
    "TOLERANCE",
    "leave",
    "repair",
    "rescale",
    "update_g",
    "withdraw",
]

ON_TARGET, AT_END, ALONE = range(3)  # how `_drive` ends
DONE, FULL, STUCK = range(3)  # what `settle` ends with; FULL: the margin set has no room for one more member

TOLERANCE = 1e-9  # violations of the optimality conditions that are left alone
EXACT = 1e-11  # how near the margin set is brought to its targets
SINGULAR = 1e-11  # a pivot of this part of K + 1 counts as zero
NO_RATE = 1e-14
MANY_ZERO_STEPS = 50
FEW_REPAIRS = 4


# --- passes over all points ---------------------------------------------------------------------------------


@compiled
def _worst(g, b, least, most):
    """The largest violation."""
    worst = 0.0
    for k in range(g.size):
        f = g[k] + b
        worst = larger(worst, least[k] - f)
        worst = larger(worst, f - most[k])
    return worst


@compiled
def _violator(g, b, least, most, limit):
    """The first point that violates by at least ``limit``."""
    for k in range(g.size):
        f = g[k] + b
        if least[k] - f >= limit or f - most[k] >= limit:
            return k
    return -1


@compiled
def _highest_demand(g, least):
    """The largest bias that a point asks for, so as to be at its ``least``."""
    highest = -ANY
    for k in range(g.size):
        highest = larger(highest, least[k] - g[k] if least[k] > -ANY else -ANY)
    return highest


@compiled
def _lowest_demand(g, most):
    lowest = ANY
    for k in range(g.size):
        lowest = smaller(lowest, most[k] - g[k] if most[k] < ANY else ANY)
    return lowest


@compiled
def _add_row(g, a, row):
    for k in range(g.size):
        g[k] += a * row[k]


@compiled
def _add_rows(g, a0, a1, a2, a3, r0, r1, r2, r3):
    for k in range(g.size):
        g[k] += (a0 * r0[k] + a1 * r1[k]) + (a2 * r2[k] + a3 * r3[k])


@inlined
def change_beta(exact, slot, change):
    """Change a coefficient; ``update_g`` is to follow."""
    set_beta(exact, slot, beta_of(exact, slot) + change)
    exact.of[CHANGE, slot] += change


@separate
def update_g(kernel, exact, rows):
    """Let g follow all changes since the last time, four kernel rows at a time."""
    points, change, values = exact.points, exact.of[CHANGE], rows.values
    n = points.counts[N_SLOTS]
    g = exact.of[G, :n]
    slot = _next_change(change, 0, n)
    while slot < n:
        second = _next_change(change, slot + 1, n)
        third = _next_change(change, second + 1, n)
        fourth = _next_change(change, third + 1, n)
        r0 = row_of_slot(rows, kernel, points, slot)
        if fourth < n:
            r1 = row_of_slot(rows, kernel, points, second)
            r2 = row_of_slot(rows, kernel, points, third)
            r3 = row_of_slot(rows, kernel, points, fourth)
            a0, a1, a2, a3 = change[slot], change[second], change[third], change[fourth]
            _add_rows(g, a0, a1, a2, a3, values[r0, :n], values[r1, :n], values[r2, :n], values[r3, :n])
            change[slot] = change[second] = change[third] = change[fourth] = 0.0
            slot = _next_change(change, fourth + 1, n)
        else:
            _add_row(g, change[slot], values[r0, :n])
            change[slot] = 0.0
            slot = second


@inlined
def _next_change(change, start, n):
    while start < n and change[start] == 0.0:
        start += 1
    return start


# --- the margin set -----------------------------------------------------------------------------------------


@inlined
def _target(exact, slot):
    return 1.0 if exact.zone[slot] == RISING else -1.0


@inlined
def _ends(exact, slot):
    """The ends of the segment that a point in RISING or FALLING is in."""
    if exact.zone[slot] == RISING:
        return exact.of[LO, slot], exact.of[KINK_AT, slot]
    return exact.of[KINK_AT, slot], exact.of[HI, slot]


@inlined
def _join(exact, slot, zone, pivot):
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
def _end_zone(exact, slot, upwards):
    """The zone at the end of a segment."""
    if exact.zone[slot] == RISING:
        if not upwards:
            return LOW
        return KINK if exact.of[KINK_AT, slot] < exact.of[HI, slot] else HIGH
    if upwards:
        return HIGH
    return KINK if exact.of[KINK_AT, slot] > exact.of[LO, slot] else LOW


@inlined
def _leave_at_end(exact, place, upwards):
    slot = exact.margin[place]
    zone = _end_zone(exact, slot, upwards)
    leave(exact, slot)
    _come_to(exact, slot, zone)


@inlined
def _first_block(exact, direction, limit):
    """How far the margin set can go at its rates, ``limit`` at most, and the member's place that stops it or -1."""
    blocker = -1
    for p in range(exact.counts[N_MARGIN]):
        rate = direction * exact.vectors[RATES, p]
        if abs(rate) > NO_RATE:
            slot = exact.margin[p]
            low, high = _ends(exact, slot)
            beta = beta_of(exact, slot)
            room = (high - beta) / rate if rate > 0.0 else (low - beta) / rate
            if room < limit:
                limit, blocker = max(room, 0.0), p
    return limit, blocker


@inlined
def _go(exact, step):
    """Move the coefficients of the margin set along their rates."""
    for p in range(exact.counts[N_MARGIN]):
        change_beta(exact, exact.margin[p], step * exact.vectors[RATES, p])


# --- steps --------------------------------------------------------------------------------------------------


@inlined
def _open(kernel, exact, upwards):
    """Let the point join an empty margin set that asks for the highest bias, or the lowest; whether there is one."""
    n = exact.points.counts[N_SLOTS]
    g = exact.of[G, :n]
    if upwards:
        bias = _highest_demand(g, exact.of[LEAST, :n])
        if bias <= -ANY:
            return False
    else:
        bias = _lowest_demand(g, exact.of[MOST, :n])
        if bias >= ANY:
            return False
    for slot in range(n):
        demand = exact.of[LEAST, slot] if upwards else exact.of[MOST, slot]
        if abs(demand) < ANY and demand - g[slot] == bias:
            exact.scalars[B] = bias
            zone = RISING if demand > 0.0 else FALLING
            _join(exact, slot, zone, self_value(kernel, exact.points.norms[slot]) + 1.0)
            return True
    return False


@inlined
def _aim(kernel, exact, rows, c):
    """How the margin set and the bias follow point c, per unit of its coefficient.

    Leaves the rates; returns the rate of the bias, the pivot of c, and the rate of its own f.
    """
    points, n_margin = exact.points, exact.counts[N_MARGIN]
    row = row_of_slot(rows, kernel, points, c)
    vectors = exact.vectors
    column, rates, ones = vectors[COLUMN, :n_margin], vectors[RATES, :n_margin], vectors[ONES, :n_margin]
    for p in range(n_margin):
        column[p] = rows.values[row, exact.margin[p]] + 1.0
    solve_lower(exact.R, n_margin, column)
    own = self_value(kernel, points.norms[c]) + 1.0
    left = 1.0 - dot(ones, column)
    bias_rate = left / dot(ones, ones)
    for p in range(n_margin):
        rates[p] = -column[p] - bias_rate * ones[p]
    solve_upper(exact.R, n_margin, rates)
    pivot = own - dot(column, column)
    if pivot < SINGULAR * own:
        return bias_rate, 0.0, 0.0
    return bias_rate, pivot, pivot + left * bias_rate


@inlined
def _drive(kernel, exact, rows, c, direction, to_end, to_target):
    """Move point c, the margin set following, until it is on its target, at its end, or nobody is left to follow.

    ``to_target`` is how far its f has to go. Members that reach an end on the way leave. Returns which of the three
    it was, and the pivot.
    """
    while exact.counts[N_MARGIN] > 0:
        bias_rate, pivot, own_rate = _aim(kernel, exact, rows, c)
        join_at = to_target / own_rate if own_rate > 0.0 else ANY
        step, blocker = _first_block(exact, direction, min(to_end, join_at))
        _go(exact, direction * step)
        change_beta(exact, c, direction * step)
        exact.scalars[B] += direction * step * bias_rate
        exact.counts[N_ROUNDS] += 1
        if blocker < 0:
            return (ON_TARGET if join_at < to_end else AT_END), pivot
        to_end -= step
        to_target -= step * own_rate
        _leave_at_end(exact, blocker, direction * exact.vectors[RATES, blocker] > 0.0)
    return ALONE, 0.0


@inlined
def _move(kernel, exact, rows, c):
    """Move a violator until it joins or reaches an end; returns whether anything moved."""
    f = exact.of[G, c] + exact.scalars[B]
    upwards = exact.of[LEAST, c] - f > f - exact.of[MOST, c]
    target = exact.of[LEAST, c] if upwards else exact.of[MOST, c]
    zone, before = exact.zone[c], beta_of(exact, c)
    exact.zone[c] = RISING if target > 0.0 else FALLING
    low, high = _ends(exact, c)
    to_end = high - before if upwards else before - low
    outcome, pivot = _drive(kernel, exact, rows, c, 1.0 if upwards else -1.0, to_end, abs(target - f))
    moved = beta_of(exact, c) != before
    if outcome == ON_TARGET:
        _join(exact, c, exact.zone[c], pivot)
    elif outcome == AT_END:
        _come_to(exact, c, _end_zone(exact, c, upwards))
    else:
        stand(exact, c, exact.zone[c] if moved else zone)
    update_g(kernel, exact, rows)
    return moved


@inlined
def _come_to(exact, slot, zone):
    """Stand at an end exactly, whatever rounding made of the way there."""
    before = beta_of(exact, slot)
    stand(exact, slot, zone)
    exact.of[CHANGE, slot] += beta_of(exact, slot) - before


@separate
def settle(kernel, exact, rows):
    """Make all points optimal."""
    n = exact.points.counts[N_SLOTS]
    n_zero = 0
    for _ in range(1000 + 100 * n):
        g, least, most = exact.of[G, :n], exact.of[LEAST, :n], exact.of[MOST, :n]
        if exact.counts[N_MARGIN] == 0:
            high, low = _highest_demand(g, least), _lowest_demand(g, most)
            if high <= low:
                exact.scalars[B] = min(max(exact.scalars[B], high), low)
                return DONE
            _open(kernel, exact, True)
        elif exact.counts[N_MARGIN] == exact.margin.size:
            return FULL
        worst = _worst(g, exact.scalars[B], least, most)
        if worst <= TOLERANCE:
            return DONE
        limit = worst if n_zero < MANY_ZERO_STEPS else TOLERANCE
        if _move(kernel, exact, rows, _violator(g, exact.scalars[B], least, most, limit)):
            n_zero = 0
        else:
            n_zero += 1
    return STUCK


@compiled
def _sum(values):
    total = 0.0
    for k in range(values.size):
        total += values[k]
    return total


@inlined
def repair(kernel, exact, rows, refresh_after):
    """Make all points optimal after a change, and the margin set exact; now and then, remove rounding errors.

    One loop, for each of the verbs in it is a large piece of code.
    """
    exact.counts[N_SINCE] += 1
    afresh = exact.counts[N_SINCE] >= refresh_after
    for _ in range(FEW_REPAIRS):
        if afresh:
            refresh(kernel, exact, rows)
        if afresh or _off_target(exact) > TOLERANCE:
            refine(kernel, exact, rows)
        status = settle(kernel, exact, rows)
        exact.counts[STATUS] = status
        if status == FULL or (status == DONE and _off_target(exact) <= TOLERANCE):
            break
        afresh = exact.counts[N_SINCE] > 0 or status == STUCK


@inlined
def _off_target(exact):
    """How far the margin set is from its targets, each member and at most."""
    worst = 0.0
    for p in range(exact.counts[N_MARGIN]):
        slot = exact.margin[p]
        off = _target(exact, slot) - (exact.of[G, slot] + exact.scalars[B])
        exact.vectors[OFF, p] = off
        worst = max(worst, abs(off))
    return worst


@separate
def refine(kernel, exact, rows):
    """Bring the margin set to its targets, and the sum of the coefficients to zero; who is stopped leaves."""
    n = exact.points.counts[N_SLOTS]
    for repair in range(FEW_REPAIRS):
        if _off_target(exact) <= EXACT and repair > 0:
            return
        excess = _sum(exact.points.coef[0, :n])
        left = 1.0  # of the way
        while exact.counts[N_MARGIN] > 0 and left > 0.0:
            n_margin = exact.counts[N_MARGIN]
            rates, ones = exact.vectors[RATES, :n_margin], exact.vectors[ONES, :n_margin]
            for p in range(n_margin):
                rates[p] = left * (exact.vectors[OFF, p] - excess)
            solve_lower(exact.R, n_margin, rates)
            bias_step = (dot(ones, rates) + left * excess) / dot(ones, ones)
            for p in range(n_margin):
                rates[p] -= bias_step * ones[p]
            solve_upper(exact.R, n_margin, rates)
            step, blocker = _first_block(exact, 1.0, 1.0)
            _go(exact, step)
            exact.scalars[B] += step * bias_step
            left *= 1.0 - step
            if blocker >= 0:
                upwards = rates[blocker] > 0.0
                for p in range(blocker, n_margin - 1):
                    exact.vectors[OFF, p] = exact.vectors[OFF, p + 1]
                _leave_at_end(exact, blocker, upwards)
        update_g(kernel, exact, rows)


@separate
def withdraw(kernel, exact, rows, c):
    """Move the coefficient of a point to zero and empty its box, the margin set following. Others may violate then."""
    if exact.place[c] >= 0:
        leave(exact, c)
    exact.of[LEAST, c], exact.of[MOST, c] = -ANY, ANY
    while beta_of(exact, c) != 0.0:
        upwards = beta_of(exact, c) < 0.0
        outcome = AT_END
        if exact.counts[N_MARGIN] > 0 or _open(kernel, exact, not upwards):
            outcome, _ = _drive(kernel, exact, rows, c, 1.0 if upwards else -1.0, abs(beta_of(exact, c)), ANY)
        # If nobody is left to balance it, this is rounding: the others sum up to the opposite of this coefficient.
        if outcome == AT_END:
            exact.of[CHANGE, c] -= beta_of(exact, c)
            set_beta(exact, c, 0.0)
        update_g(kernel, exact, rows)
    exact.of[LO, c] = exact.of[KINK_AT, c] = exact.of[HI, c] = 0.0
    stand(exact, c, LOW)


@compiled
def _scale(values, factor):
    for k in range(values.size):
        values[k] *= factor


@inlined
def rescale(exact, factor):
    """All boxes times ``factor``, and the coefficients with them."""
    n = exact.points.counts[N_SLOTS]
    _scale(exact.of[LO, :n], factor)
    _scale(exact.of[KINK_AT, :n], factor)
    _scale(exact.of[HI, :n], factor)
    _scale(exact.of[G, :n], factor)
    _scale(exact.points.coef[0, :n], factor)
    _scale(exact.points.weights[0, :n], factor)


@separate
def refresh(kernel, exact, rows):
    """Compute g and the factor anew, and note how wrong g was."""
    points = exact.points
    n = points.counts[N_SLOTS]
    for k in range(n):
        exact.of[OLD, k] = exact.of[G, k]
        exact.of[G, k] = 0.0
        exact.of[CHANGE, k] = beta_of(exact, k)
    update_g(kernel, exact, rows)
    for k in range(n):
        exact.scalars[DRIFT] = max(exact.scalars[DRIFT], abs(exact.of[G, k] - exact.of[OLD, k]))
    _refactor(kernel, exact, rows)
    exact.counts[N_SINCE] = 0


@inlined
def _refactor(kernel, exact, rows):
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
            _join(exact, slot, exact.zone[slot], pivot)
        else:
            stand(exact, slot, exact.zone[slot])
