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

from frugalsvm._compile import inlined, separate
from frugalsvm.core.cache import row_of_slot
from frugalsvm.core.kernels import self_value
from frugalsvm.exact.factor import dot, solve_lower, solve_upper
from frugalsvm.exact.margin_set import (
    SINGULAR,
    come_to,
    end_zone,
    ends_of,
    first_block,
    follow_rates,
    join,
    leave,
    leave_at_end,
    off_target,
    refactor,
)
from frugalsvm.exact.passes import (
    change_beta,
    highest_demand,
    lowest_demand,
    total,
    update_g,
    violator,
    worst_violation,
)
from frugalsvm.exact.state import (
    ANY,
    CHANGE,
    COLUMN,
    DRIFT,
    FALLING,
    HI,
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

__all__ = ["DONE", "FULL", "STUCK", "TOLERANCE", "repair", "withdraw"]

ON_TARGET, AT_END, ALONE = range(3)  # how `_drive` ends
DONE, FULL, STUCK = range(3)  # what `settle` ends with; FULL: the margin set has no room for one more member

TOLERANCE = 1e-9  # violations of the optimality conditions that are left alone
EXACT = 1e-11  # how near the margin set is brought to its targets
MANY_ZERO_STEPS = 50
FEW_REPAIRS = 4


@inlined
def _open(kernel, exact, upwards):
    """Let the point join an empty margin set that asks for the highest bias, or the lowest; whether there is one."""
    n = exact.points.counts[0]["n_slots"]
    g = exact.of[G, :n]
    if upwards:
        bias = highest_demand(g, exact.of[LEAST, :n])
        if bias <= -ANY:
            return False
    else:
        bias = lowest_demand(g, exact.of[MOST, :n])
        if bias >= ANY:
            return False
    for slot in range(n):
        demand = exact.of[LEAST, slot] if upwards else exact.of[MOST, slot]
        if abs(demand) < ANY and demand - g[slot] == bias:
            exact.scalars[B] = bias
            zone = RISING if demand > 0.0 else FALLING
            join(exact, slot, zone, self_value(kernel, exact.points.norms[slot]) + 1.0)
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
        step, blocker = first_block(exact, direction, min(to_end, join_at))
        follow_rates(exact, direction * step)
        change_beta(exact, c, direction * step)
        exact.scalars[B] += direction * step * bias_rate
        exact.counts[N_ROUNDS] += 1
        if blocker < 0:
            return (ON_TARGET if join_at < to_end else AT_END), pivot
        to_end -= step
        to_target -= step * own_rate
        leave_at_end(exact, blocker, direction * exact.vectors[RATES, blocker] > 0.0)
    return ALONE, 0.0


@inlined
def _move(kernel, exact, rows, c):
    """Move a violator until it joins or reaches an end; returns whether anything moved."""
    f = exact.of[G, c] + exact.scalars[B]
    upwards = exact.of[LEAST, c] - f > f - exact.of[MOST, c]
    target = exact.of[LEAST, c] if upwards else exact.of[MOST, c]
    zone, before = exact.zone[c], beta_of(exact, c)
    exact.zone[c] = RISING if target > 0.0 else FALLING
    low, high = ends_of(exact, c)
    to_end = high - before if upwards else before - low
    outcome, pivot = _drive(kernel, exact, rows, c, 1.0 if upwards else -1.0, to_end, abs(target - f))
    moved = beta_of(exact, c) != before
    if outcome == ON_TARGET:
        join(exact, c, exact.zone[c], pivot)
    elif outcome == AT_END:
        come_to(exact, c, end_zone(exact, c, upwards))
    else:
        stand(exact, c, exact.zone[c] if moved else zone)
    update_g(kernel, exact, rows)
    return moved


@separate
def settle(kernel, exact, rows):
    """Make all points optimal."""
    n = exact.points.counts[0]["n_slots"]
    n_zero = 0
    for _ in range(1000 + 100 * n):
        g, least, most = exact.of[G, :n], exact.of[LEAST, :n], exact.of[MOST, :n]
        if exact.counts[N_MARGIN] == 0:
            high, low = highest_demand(g, least), lowest_demand(g, most)
            if high <= low:
                exact.scalars[B] = min(max(exact.scalars[B], high), low)
                return DONE
            _open(kernel, exact, True)
        elif exact.counts[N_MARGIN] == exact.margin.size:
            return FULL
        worst = worst_violation(g, exact.scalars[B], least, most)
        if worst <= TOLERANCE:
            return DONE
        limit = worst if n_zero < MANY_ZERO_STEPS else TOLERANCE
        if _move(kernel, exact, rows, violator(g, exact.scalars[B], least, most, limit)):
            n_zero = 0
        else:
            n_zero += 1
    return STUCK


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
        if afresh or off_target(exact) > TOLERANCE:
            refine(kernel, exact, rows)
        status = settle(kernel, exact, rows)
        exact.counts[STATUS] = status
        if status == FULL or (status == DONE and off_target(exact) <= TOLERANCE):
            break
        afresh = exact.counts[N_SINCE] > 0 or status == STUCK


@separate
def refine(kernel, exact, rows):
    """Bring the margin set to its targets, and the sum of the coefficients to zero; who is stopped leaves."""
    n = exact.points.counts[0]["n_slots"]
    for repair in range(FEW_REPAIRS):
        if off_target(exact) <= EXACT and repair > 0:
            return
        excess = total(exact.points.coef[0, :n])
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
            step, blocker = first_block(exact, 1.0, 1.0)
            follow_rates(exact, step)
            exact.scalars[B] += step * bias_step
            left *= 1.0 - step
            if blocker >= 0:
                upwards = rates[blocker] > 0.0
                for p in range(blocker, n_margin - 1):
                    exact.vectors[OFF, p] = exact.vectors[OFF, p + 1]
                leave_at_end(exact, blocker, upwards)
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


@separate
def refresh(kernel, exact, rows):
    """Compute g and the factor anew, and note how wrong g was."""
    points = exact.points
    n = points.counts[0]["n_slots"]
    for k in range(n):
        exact.of[OLD, k] = exact.of[G, k]
        exact.of[G, k] = 0.0
        exact.of[CHANGE, k] = beta_of(exact, k)
    update_g(kernel, exact, rows)
    for k in range(n):
        if exact.of[HI, k] > exact.of[LO, k]:  # the g of a slot without an example is whatever it was
            exact.scalars[DRIFT] = max(exact.scalars[DRIFT], abs(exact.of[G, k] - exact.of[OLD, k]))
    refactor(kernel, exact, rows)
    exact.counts[N_SINCE] = 0
