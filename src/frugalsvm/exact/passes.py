"""Passes over all points: who violates, what bias is asked for, and how g follows the coefficients."""

from frugalsvm._compile import compiled, inlined, larger, separate, smaller
from frugalsvm.core.cache import row_of_slot
from frugalsvm.exact.state import ANY, CHANGE, HI, KINK_AT, LO, G, beta_of, set_beta

__all__ = [
    "change_beta",
    "highest_demand",
    "lowest_demand",
    "rescale",
    "total",
    "update_g",
    "violator",
    "worst_violation",
]


@compiled
def worst_violation(g, b, least, most):
    """The largest violation."""
    worst = 0.0
    for k in range(g.size):
        f = g[k] + b
        worst = larger(worst, least[k] - f)
        worst = larger(worst, f - most[k])
    return worst


@compiled
def violator(g, b, least, most, limit):
    """The first point that violates by at least ``limit``."""
    for k in range(g.size):
        f = g[k] + b
        if least[k] - f >= limit or f - most[k] >= limit:
            return k
    return -1


@compiled
def highest_demand(g, least):
    """The largest bias that a point asks for, so as to be at its ``least``."""
    highest = -ANY
    for k in range(g.size):
        highest = larger(highest, least[k] - g[k] if least[k] > -ANY else -ANY)
    return highest


@compiled
def lowest_demand(g, most):
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
    n = points.counts[0]["n_slots"]
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


@inlined
def rescale(exact, factor):
    """All boxes times ``factor``, and the coefficients with them."""
    n = exact.points.counts[0]["n_slots"]
    _scale(exact.of[LO, :n], factor)
    _scale(exact.of[KINK_AT, :n], factor)
    _scale(exact.of[HI, :n], factor)
    _scale(exact.of[G, :n], factor)
    _scale(exact.points.coef[0, :n], factor)
    _scale(exact.points.weights[0, :n], factor)
