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
* *Drift.* ``refresh`` computes g and the factor again and tells by how much g was wrong.
"""

from frugalsvm.compiling.functions import larger, separate, smaller
from frugalsvm.core.cache import row_of_slot
from frugalsvm.core.kernels import self_value
from frugalsvm.exact.cholesky import dot, solve_lower, solve_upper
from frugalsvm.exact.margin_set import (
    SINGULAR,
    come_to,
    end_zone,
    first_block,
    follow_rates,
    join,
    leave,
    leave_at_end,
    off_target,
    refactor,
    segment_of,
)
from frugalsvm.exact.passes import (
    change_beta,
    highest_demand,
    lowest_demand,
    total,
    update_scores,
    violator,
    worst_violation,
)
from frugalsvm.exact.state import FALLING, LOW, NO_LIMIT, RISING, beta_of, set_beta, set_zone

ON_TARGET, AT_END, ALONE = range(3)  # how `_drive` ends
DONE, FULL, STUCK = range(3)  # what `settle` ends with; FULL: the margin set has no room for one more member

TOLERANCE = 1e-9  # violations of the optimality conditions that are left alone
EXACT = 1e-11  # how near the margin set is brought to its targets
MANY_ZERO_STEPS = 50
FEW_REPAIRS = 4


@separate
def _open(kernel, state, upwards):
    """Let the point join an empty margin set that asks for the highest bias, or the lowest; whether there is one."""
    n = state.points.counts[0]["n_slots"]
    g = state.scores[:n]
    if upwards:
        bias = highest_demand(g, state.min_f[:n])
        if bias <= -NO_LIMIT:
            return False
    else:
        bias = lowest_demand(g, state.max_f[:n])
        if bias >= NO_LIMIT:
            return False
    for slot in range(n):
        demand = state.min_f[slot] if upwards else state.max_f[slot]
        if abs(demand) < NO_LIMIT and demand - g[slot] == bias:
            state.scalars[0]["bias"] = bias
            zone = RISING if demand > 0.0 else FALLING
            join(state, slot, zone, self_value(kernel, state.points.norms[slot]) + 1.0)
            return True
    return False


@separate
def _aim(kernel, state, cache, c):
    """How the margin set and the bias follow point c, per unit of its coefficient.

    Leaves the rates; returns the rate of the bias, the pivot of c, and the rate of its own f.
    """
    points, n_margin = state.points, state.counts[0]["n_margin"]
    row = row_of_slot(cache, kernel, points, c)
    column, rates, ones = state.column[:n_margin], state.rates[:n_margin], state.ones[:n_margin]
    for p in range(n_margin):
        column[p] = cache.values[row, state.margin_slots[p]] + 1.0
    solve_lower(state.R, n_margin, column)
    own = self_value(kernel, points.norms[c]) + 1.0
    left = 1.0 - dot(ones, column)
    bias_rate = left / dot(ones, ones)
    for p in range(n_margin):
        rates[p] = -column[p] - bias_rate * ones[p]
    solve_upper(state.R, n_margin, rates)
    pivot = own - dot(column, column)
    if pivot < SINGULAR * own:
        return bias_rate, 0.0, 0.0
    return bias_rate, pivot, pivot + left * bias_rate


@separate
def _drive(kernel, state, cache, c, direction, to_end, to_target):
    """Move point c, the margin set following, until it is on its target, at its end, or nobody is left to follow.

    ``to_target`` is how far its f has to go. Members that reach an end on the way leave. Returns which of the three
    it was, and the pivot.
    """
    while state.counts[0]["n_margin"] > 0:
        bias_rate, pivot, own_rate = _aim(kernel, state, cache, c)
        join_at = to_target / own_rate if own_rate > 0.0 else NO_LIMIT
        step, blocker = first_block(state, direction, smaller(to_end, join_at))
        follow_rates(state, direction * step)
        change_beta(state, c, direction * step)
        state.scalars[0]["bias"] += direction * step * bias_rate
        state.counts[0]["n_steps"] += 1
        if blocker < 0:
            return (ON_TARGET if join_at < to_end else AT_END), pivot
        to_end -= step
        to_target -= step * own_rate
        leave_at_end(state, blocker, direction * state.rates[blocker] > 0.0)
    return ALONE, 0.0


@separate
def _move(kernel, state, cache, c):
    """Move a violator until it joins or reaches an end; returns whether anything moved."""
    f = state.scores[c] + state.scalars[0]["bias"]
    upwards = state.min_f[c] - f > f - state.max_f[c]
    target = state.min_f[c] if upwards else state.max_f[c]
    zone, before = state.zone[c], beta_of(state, c)
    state.zone[c] = RISING if target > 0.0 else FALLING
    low, high = segment_of(state, c)
    to_end = high - before if upwards else before - low
    outcome, pivot = _drive(kernel, state, cache, c, 1.0 if upwards else -1.0, to_end, abs(target - f))
    moved = beta_of(state, c) != before
    if outcome == ON_TARGET:
        join(state, c, state.zone[c], pivot)
    elif outcome == AT_END:
        come_to(state, c, end_zone(state, c, upwards))
    else:
        set_zone(state, c, state.zone[c] if moved else zone)
    update_scores(kernel, state, cache)
    return moved


@separate
def settle(kernel, state, cache):
    """Make all points optimal."""
    n = state.points.counts[0]["n_slots"]
    n_zero = 0
    for _ in range(1000 + 100 * n):
        g, min_f, max_f = state.scores[:n], state.min_f[:n], state.max_f[:n]
        if state.counts[0]["n_margin"] == 0:
            high, low = highest_demand(g, min_f), lowest_demand(g, max_f)
            if high <= low:
                state.scalars[0]["bias"] = smaller(larger(state.scalars[0]["bias"], high), low)
                return DONE
            _open(kernel, state, True)
        elif state.counts[0]["n_margin"] == state.margin_slots.size:
            return FULL
        worst = worst_violation(g, state.scalars[0]["bias"], min_f, max_f)
        if worst <= TOLERANCE:
            return DONE
        limit = worst if n_zero < MANY_ZERO_STEPS else TOLERANCE
        if _move(kernel, state, cache, violator(g, state.scalars[0]["bias"], min_f, max_f, limit)):
            n_zero = 0
        else:
            n_zero += 1
    return STUCK


@separate
def repair(kernel, state, cache, refresh_after):
    """Make all points optimal after a change, and the margin set exact; now and then, remove rounding errors.

    One loop, for each of the verbs in it is a large piece of code.
    """
    state.counts[0]["n_since_refresh"] += 1
    afresh = state.counts[0]["n_since_refresh"] >= refresh_after
    for _ in range(FEW_REPAIRS):
        if afresh:
            refresh(kernel, state, cache)
        if afresh or off_target(state) > TOLERANCE:
            refine(kernel, state, cache)
        status = settle(kernel, state, cache)
        state.counts[0]["status"] = status
        if status == FULL or (status == DONE and off_target(state) <= TOLERANCE):
            break
        afresh = state.counts[0]["n_since_refresh"] > 0 or status == STUCK


@separate
def refine(kernel, state, cache):
    """Bring the margin set to its targets, and the sum of the coefficients to zero; who is stopped leaves."""
    n = state.points.counts[0]["n_slots"]
    for repair in range(FEW_REPAIRS):
        if off_target(state) <= EXACT and repair > 0:
            return
        excess = total(state.points.coef[0, :n])
        left = 1.0  # of the way
        while state.counts[0]["n_margin"] > 0 and left > 0.0:
            n_margin = state.counts[0]["n_margin"]
            rates, ones = state.rates[:n_margin], state.ones[:n_margin]
            for p in range(n_margin):
                rates[p] = left * (state.residuals[p] - excess)
            solve_lower(state.R, n_margin, rates)
            bias_step = (dot(ones, rates) + left * excess) / dot(ones, ones)
            for p in range(n_margin):
                rates[p] -= bias_step * ones[p]
            solve_upper(state.R, n_margin, rates)
            step, blocker = first_block(state, 1.0, 1.0)
            follow_rates(state, step)
            state.scalars[0]["bias"] += step * bias_step
            left *= 1.0 - step
            if blocker >= 0:
                upwards = rates[blocker] > 0.0
                for p in range(blocker, n_margin - 1):
                    state.residuals[p] = state.residuals[p + 1]
                leave_at_end(state, blocker, upwards)
        update_scores(kernel, state, cache)


@separate
def withdraw(kernel, state, cache, c):
    """Move the coefficient of a point to zero and empty its box, the margin set following. Others may violate then."""
    if state.margin_index[c] >= 0:
        leave(state, c)
    state.min_f[c], state.max_f[c] = -NO_LIMIT, NO_LIMIT
    while beta_of(state, c) != 0.0:
        upwards = beta_of(state, c) < 0.0
        outcome = AT_END
        if state.counts[0]["n_margin"] > 0 or _open(kernel, state, not upwards):
            outcome, _ = _drive(kernel, state, cache, c, 1.0 if upwards else -1.0, abs(beta_of(state, c)), NO_LIMIT)
        # If nobody is left to balance it, this is rounding: the others sum up to the opposite of this coefficient.
        if outcome == AT_END:
            state.change[c] -= beta_of(state, c)
            set_beta(state, c, 0.0)
        update_scores(kernel, state, cache)
    state.lower[c] = state.kink[c] = state.upper[c] = 0.0
    set_zone(state, c, LOW)


@separate
def refresh(kernel, state, cache):
    """Compute g and the factor again, and note how wrong g was."""
    points = state.points
    n = points.counts[0]["n_slots"]
    for k in range(n):
        state.old_scores[k] = state.scores[k]
        state.scores[k] = 0.0
        state.change[k] = beta_of(state, k)
    update_scores(kernel, state, cache)
    for k in range(n):
        if state.upper[k] > state.lower[k]:  # the g of a slot without an example is whatever it was
            state.scalars[0]["drift"] = larger(state.scalars[0]["drift"], abs(state.scores[k] - state.old_scores[k]))
    refactor(kernel, state, cache)
    state.counts[0]["n_since_refresh"] = 0
