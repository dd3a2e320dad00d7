"""Passes over all points: who violates, what bias is asked for, and how g follows the coefficients."""

from frugalsvm.compiling.functions import compiled, larger, separate, smaller
from frugalsvm.core.cache import row_of_slot
from frugalsvm.exact.state import NO_LIMIT, beta_of, set_beta


@compiled
def worst_violation(g, b, min_f, max_f):
    """The largest violation."""
    worst = 0.0
    for k in range(g.size):
        f = g[k] + b
        worst = larger(worst, min_f[k] - f)
        worst = larger(worst, f - max_f[k])
    return worst


@compiled
def violator(g, b, min_f, max_f, limit):
    """The first point that violates by at least ``limit``."""
    for k in range(g.size):
        f = g[k] + b
        if min_f[k] - f >= limit or f - max_f[k] >= limit:
            return k
    return -1


@compiled
def highest_demand(g, min_f):
    """The largest bias that a point asks for, so as to be at its ``min_f``."""
    highest = -NO_LIMIT
    for k in range(g.size):
        highest = larger(highest, min_f[k] - g[k] if min_f[k] > -NO_LIMIT else -NO_LIMIT)
    return highest


@compiled
def lowest_demand(g, max_f):
    lowest = NO_LIMIT
    for k in range(g.size):
        lowest = smaller(lowest, max_f[k] - g[k] if max_f[k] < NO_LIMIT else NO_LIMIT)
    return lowest


@compiled
def _add_row(g, a, row):
    for k in range(g.size):
        g[k] += a * row[k]


@compiled
def _add_rows(g, a0, a1, a2, a3, r0, r1, r2, r3):
    for k in range(g.size):
        g[k] += (a0 * r0[k] + a1 * r1[k]) + (a2 * r2[k] + a3 * r3[k])


@separate
def change_beta(state, slot, change):
    """Change a coefficient; ``update_scores`` is to follow."""
    set_beta(state, slot, beta_of(state, slot) + change)
    state.change[slot] += change


@separate
def update_scores(kernel, state, cache):
    """Let the scores follow all changes since the last time, four kernel rows at a time."""
    points, change, values = state.points, state.change, cache.values
    n = points.counts[0]["n_slots"]
    g = state.scores[:n]
    slot = _next_change(change, 0, n)
    while slot < n:
        second = _next_change(change, slot + 1, n)
        third = _next_change(change, second + 1, n)
        fourth = _next_change(change, third + 1, n)
        r0 = row_of_slot(cache, kernel, points, slot)
        if fourth < n:
            r1 = row_of_slot(cache, kernel, points, second)
            r2 = row_of_slot(cache, kernel, points, third)
            r3 = row_of_slot(cache, kernel, points, fourth)
            a0, a1, a2, a3 = change[slot], change[second], change[third], change[fourth]
            _add_rows(g, a0, a1, a2, a3, values[r0, :n], values[r1, :n], values[r2, :n], values[r3, :n])
            change[slot] = change[second] = change[third] = change[fourth] = 0.0
            slot = _next_change(change, fourth + 1, n)
        else:
            _add_row(g, change[slot], values[r0, :n])
            change[slot] = 0.0
            slot = second


@separate
def _next_change(change, start, n):
    while start < n and change[start] == 0.0:
        start += 1
    return start


@compiled
def total(values):
    result = 0.0
    for k in range(values.size):
        result += values[k]
    return result


@compiled
def _scale(values, factor):
    for k in range(values.size):
        values[k] *= factor


@separate
def rescale(state, factor):
    """All boxes times ``factor``, and the coefficients with them."""
    n = state.points.counts[0]["n_slots"]
    _scale(state.lower[:n], factor)
    _scale(state.kink[:n], factor)
    _scale(state.upper[:n], factor)
    _scale(state.scores[:n], factor)
    _scale(state.points.coef[0, :n], factor)
    _scale(state.points.weights[0, :n], factor)
