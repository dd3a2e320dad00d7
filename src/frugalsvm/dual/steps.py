"""Steps of online SVMs in the dual: choose which dual variables to change, and change them.

LASVM-NC paper (Ertekin, Bottou & Giles 2011), sections 4 and 5, without a bias. Notation of ``state.py``.

* A **coordinate step** moves one alpha by ``lambda = g / K`` clipped to its box, which maximizes the dual along it.
* A **pair step** moves two: i, the worst violator, and the j that promises the largest gain together with it. With
  lambda_i the clipped step of i alone, the gain of j is that of its own best step at the gradient ``r = g_j - K_ij
  lambda_i`` with the curvature ``K_jj - K_ij^2 / K_ii`` (K_jj if i was clipped: then i stays where it is). The
  two-variable problem is then solved exactly in its boxes. It takes a few pair steps where the printed coordinate
  steps take a hundred.
"""

import numpy as np

from frugalsvm.compiling.functions import compiled, larger, separate, smaller
from frugalsvm.core.cache import row_of_slot
from frugalsvm.core.kernels import self_value
from frugalsvm.dual.state import CHUNK, UNKNOWN

SINGULAR = 1e-12


# Passes over all slots go by chunks and leave the largest value of each, so that the index of the largest one is found
# without another pass.


@compiled
def _violation(gradient, up, down):
    """The largest gradient along which a coordinate step would move one of these slots."""
    zero = gradient.dtype.type(0)
    worst = zero
    for k in range(gradient.size):
        g, u, d = gradient[k], up[k], down[k]
        worst = larger(worst, g if u > zero else zero)
        worst = larger(worst, -g if d > zero else zero)
    return worst


@separate
def look_for_violations(state, c):
    """Fill in the worst violation of every chunk."""
    n = state.working_set.counts[0]["n_slots"]
    worst = 0.0
    for chunk in range((n + CHUNK - 1) // CHUNK):
        part = slice(chunk * CHUNK, smaller((chunk + 1) * CHUNK, n))
        value = _violation(state.gradient[c, part], state.up[c, part], state.down[c, part])
        state.worst[c, chunk] = value
        worst = larger(worst, np.float64(value))
    state.sums[c]["worst"] = worst


@compiled
def _chunk_of(values, c, limit, n_chunks):
    for chunk in range(n_chunks):
        if values[c, chunk] >= limit:
            return chunk
    return 0


@separate
def worst_violator(state, c):
    """The first member of the worst violation."""
    n = state.working_set.counts[0]["n_slots"]
    limit = state.sums[c]["worst"] * (1.0 - SINGULAR)
    chunk = _chunk_of(state.worst, c, limit, (n + CHUNK - 1) // CHUNK)
    for k in range(chunk * CHUNK, smaller((chunk + 1) * CHUNK, n)):
        g = state.gradient[c, k]
        if (g >= limit and state.up[c, k] > 0.0) or (-g >= limit and state.down[c, k] > 0.0):
            return k
    return -1


@compiled
def _gains(kernel, gradient, up, down, norms, row, step, over_i, out):
    """Gain of a step of each slot beside one of size ``step`` with the kernel row ``row``; the largest.

    ``over_i`` is 1 / K_ii if that step was free, and 0 if it was clipped. In the type of the row.
    """
    as_row = row.dtype.type
    step, over_i, tiny, half, best = as_row(step), as_row(over_i), as_row(SINGULAR), as_row(0.5), as_row(0.0)
    for j in range(gradient.size):
        value = row[j]
        r = gradient[j] - value * step
        high, low = up[j], -down[j]
        curvature = larger(as_row(self_value(kernel, norms[j])) - value * value * over_i, tiny)
        d = larger(smaller(r / curvature, high), low)
        gain = d * (r - half * curvature * d)
        out[j] = gain
        best = larger(best, gain)
    return best


@compiled
def _first_at_least(values, limit, start, stop):
    for j in range(start, stop):
        if values[j] >= limit:
            return j
    return -1


@compiled
def pair_solution(gi, gj, kii, kjj, kij, low_i, high_i, low_j, high_j):
    """``argmax gi a + gj b - (kii a^2 + 2 kij a b + kjj b^2) / 2`` in a box."""
    determinant = kii * kjj - kij * kij
    if determinant > SINGULAR * kii * kjj:
        a = (kjj * gi - kij * gj) / determinant
        b = (kii * gj - kij * gi) / determinant
        if low_i <= a <= high_i and low_j <= b <= high_j:
            return a, b
    best, best_a, best_b = -1.0, 0.0, 0.0
    for edge in range(4):
        if edge < 2:
            a = low_i if edge == 0 else high_i
            b = smaller(larger((gj - kij * a) / kjj, low_j), high_j)
        else:
            b = low_j if edge == 2 else high_j
            a = smaller(larger((gi - kij * b) / kii, low_i), high_i)
        value = gi * a + gj * b - 0.5 * (kii * a * a + 2.0 * kij * a * b + kjj * b * b)
        if value > best:
            best, best_a, best_b = value, a, b
    return best_a, best_b


@separate
def change_alpha(state, c, k, step):
    """``alpha_k += step``, exactly to the bound if the step reaches it, up to rounding."""
    working_set = state.working_set
    was_zero = working_set.coef[c, k] == 0.0
    bound = np.float64(state.bound[c, k])
    high, low = larger(bound, 0.0), smaller(bound, 0.0)
    dust = SINGULAR * abs(bound)
    if step >= state.up[c, k] - dust:
        alpha = high
    elif step <= dust - state.down[c, k]:
        alpha = low
    else:
        alpha = working_set.coef[c, k] + step
    working_set.coef[c, k] = alpha
    working_set.weights[c, k] = alpha
    state.up[c, k] = high - alpha
    state.down[c, k] = alpha - low
    is_zero = alpha == 0.0
    state.counts[c]["n_support"] += np.int64(was_zero) - np.int64(is_zero)


@compiled
def _subtract_one(gradient, bound, up, down, row, step):
    """``g -= step K_i``; returns ``sum c max(0, Y g)`` and the worst violation."""
    step, zero = gradient.dtype.type(step), gradient.dtype.type(0)
    hinge = worst = zero
    for k in range(gradient.size):
        g = gradient[k] - step * row[k]
        b, u, d = bound[k], up[k], down[k]
        gradient[k] = g
        hinge += larger(b * g, zero)
        worst = larger(worst, g if u > zero else zero)
        worst = larger(worst, -g if d > zero else zero)
    return hinge, worst


@compiled
def _subtract_two(gradient, bound, up, down, row_i, row_j, step_i, step_j):
    """``g -= step_i K_i + step_j K_j``; returns ``sum c max(0, Y g)`` and the worst violation."""
    as_row = gradient.dtype.type
    step_i, step_j, zero = as_row(step_i), as_row(step_j), as_row(0)
    hinge = worst = zero
    for k in range(gradient.size):
        g = gradient[k] - (step_i * row_i[k] + step_j * row_j[k])
        b, u, d = bound[k], up[k], down[k]
        gradient[k] = g
        hinge += larger(b * g, zero)
        worst = larger(worst, g if u > zero else zero)
        worst = larger(worst, -g if d > zero else zero)
    return hinge, worst


@separate
def _subtract(state, c, row_i, row_j, a, b):
    """Update all gradients, and what is known of them, after steps a and b (0: there is no j)."""
    n = state.working_set.counts[0]["n_slots"]
    total = overall = 0.0
    for chunk in range((n + CHUNK - 1) // CHUNK):
        part = slice(chunk * CHUNK, smaller((chunk + 1) * CHUNK, n))
        gradient, bound = state.gradient[c, part], state.bound[c, part]
        up, down = state.up[c, part], state.down[c, part]
        if b != 0.0:
            hinge, worst = _subtract_two(gradient, bound, up, down, row_i[part], row_j[part], a, b)
        else:
            hinge, worst = _subtract_one(gradient, bound, up, down, row_i[part], a)
        state.worst[c, chunk] = worst
        total += np.float64(hinge)
        overall = larger(overall, np.float64(worst))
    state.sums[c]["hinge"] = total
    state.sums[c]["worst"] = overall
    state.sums[c]["h_squared"] = UNKNOWN


@separate
def move_one(state, c, k, step, own, row):
    """A step of slot k, given its kernel values.

    With alpha + d and g - K d, the sum of alpha g changes by d g - (K alpha) d - d K d, and (K alpha)_k = y_k - g_k.
    """
    g = np.float64(state.gradient[c, k])
    state.sums[c]["overlap"] += step * (2.0 * g - state.labels[c, k] - step * own)
    change_alpha(state, c, k, step)
    _subtract(state, c, row, row, step, 0.0)


@separate
def move_two(state, c, i, j, a, b, kii, kjj, kij, row_i, row_j):
    """Steps a of slot i and b of slot j at the same time."""
    gi, gj = np.float64(state.gradient[c, i]), np.float64(state.gradient[c, j])
    linear = a * (2.0 * gi - state.labels[c, i]) + b * (2.0 * gj - state.labels[c, j])
    state.sums[c]["overlap"] += linear - (kii * a * a + 2.0 * kij * a * b + kjj * b * b)
    change_alpha(state, c, i, a)
    change_alpha(state, c, j, b)
    _subtract(state, c, row_i, row_j, a, b)


@separate
def coordinate_step(state, c, k, own):
    """``g / K`` clipped to the box."""
    if own <= 0.0:
        return 0.0
    step = np.float64(state.gradient[c, k]) / own
    return smaller(larger(step, -np.float64(state.down[c, k])), np.float64(state.up[c, k]))


@separate
def step_on_worst(kernel, tau, pairs, state, cache, c, work):
    """One step on the worst violator, with a partner if ``pairs``; returns whether there was a violation above tau."""
    working_set = state.working_set
    n = working_set.counts[0]["n_slots"]
    if state.sums[c]["worst"] < 0.0:
        look_for_violations(state, c)
    if state.sums[c]["worst"] <= tau:
        return False
    i = worst_violator(state, c)
    if i < 0:  # gradients overflowed
        return False
    state.counts[c]["n_reprocess"] += 1
    kii = self_value(kernel, working_set.norms[i])
    step = coordinate_step(state, c, i, kii)
    row_i = row_of_slot(cache, kernel, working_set, i)
    if pairs:
        j = _partner(kernel, state, c, i, step, kii, cache.values[row_i], n, work.gains)
        if j >= 0:
            row_j = row_of_slot(cache, kernel, working_set, j)
            kjj, kij = self_value(kernel, working_set.norms[j]), np.float64(cache.values[row_i, j])
            gi, gj = np.float64(state.gradient[c, i]), np.float64(state.gradient[c, j])
            low_i, high_i = -np.float64(state.down[c, i]), np.float64(state.up[c, i])
            low_j, high_j = -np.float64(state.down[c, j]), np.float64(state.up[c, j])
            a, b = pair_solution(gi, gj, kii, kjj, kij, low_i, high_i, low_j, high_j)
            move_two(state, c, i, j, a, b, kii, kjj, kij, cache.values[row_i], cache.values[row_j])
            return True
    move_one(state, c, i, step, kii, cache.values[row_i])
    return True


@separate
def _partner(kernel, state, c, i, step, kii, row, n, gains):
    """The slot with the largest gain beside i, or -1."""
    up, down = state.up[c, i], state.down[c, i]
    over_i = 1.0 / kii if -down < step < up else 0.0
    state.up[c, i] = state.down[c, i] = 0.0  # i is no candidate
    best, where, gradient, norms = row.dtype.type(0), 0, state.gradient, state.working_set.norms
    for chunk in range((n + CHUNK - 1) // CHUNK):
        part = slice(chunk * CHUNK, smaller((chunk + 1) * CHUNK, n))
        most = _gains(
            kernel,
            gradient[c, part],
            state.up[c, part],
            state.down[c, part],
            norms[part],
            row[part],
            step,
            over_i,
            gains[part],
        )
        if most > best:
            best, where = most, chunk * CHUNK
    state.up[c, i], state.down[c, i] = up, down
    return _first_at_least(gains, best, where, smaller(where + CHUNK, n)) if best > 0.0 else -1
