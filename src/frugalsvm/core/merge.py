"""Merging two Gaussian support vectors: the best point between them, and the best partner.

BSGD paper, section 6.3, in the form that also holds for several outputs. Vectors ``x_m`` and ``x_n`` with
coefficient vectors ``a_m`` and ``a_n`` become ``z = h x_m + (1-h) x_n``, ``0 <= h <= 1``. With
``kappa = K(x_m, x_n) = e^L``, ``u = K(x_m, z) = kappa^((1-h)^2)``, ``v = K(x_n, z) = kappa^(h^2)`` and

    A = ||a_m||^2,   C = <a_m, a_n>,   B = ||a_n||^2

the best coefficients of z are ``u a_m + v a_n`` and the squared degradation (6.8) is

    A + B + 2 C kappa - (A u^2 + 2 C u v + B v^2)
      = -A expm1(2 (1-h)^2 L) - B expm1(2 h^2 L) + 2 C u v expm1(2 h (1-h) L)          (stable form)

so h maximises ``A u^2 + 2 C u v + B v^2``. Setting the derivative to zero gives, with ``w = v/u = kappa^(2h-1)``,

    h = (A + C w) / (A + 2 C w + B w^2),

solved by Newton's method. (For one output and equal signs this is the paper's ``h = 1 / (1 + (a_n/a_m) w)``.)

**Newton's method** is safe: with A <= B the maximum lies in [0, 1/2] (exchanging h and 1-h changes the kept
norm by (B - A)(v^2 - u^2)), and ``h - right side`` changes sign there, so a bracket is at hand.

**Pruning.** If m is a smallest support vector (A <= B) then, with ``k = kappa`` and c = C / sqrt(A B) clipped to
[0, 1],

    degradation / A  >=  c P(k) + (1 - c) O(k)
    P(k) = 2 (1 - sqrt(k))^2           for k >= e^-2,   else  2 + 2k - (1 + k + 2.125 k^1.5 (1-k))^2
    O(k) = 2 - 2 sqrt(k)               for k >= e^-1,   else  1 - k^2 - 4.25 k^3.5 (1-k)

because the degradation is concave in c (a linear function minus a maximum of linear functions), does not
increase with c, and at c = 1 and c = 0 is least for A = B; the second forms bound the two outer maxima and use
``|ln k| <= (1-k)/sqrt(k)``. ``tests/core/test_merge.py`` checks it on a grid. The candidate with the lowest bound
is scored first; others only if their bound does not exceed the best score.
"""

import numpy as np

from frugalsvm._compile import compiled, generic, inlined
from frugalsvm.core.fastmath import first_argmin
from frugalsvm.core.losses import BinaryHinge, MultiClassHinge

__all__ = [
    "aligned_bound",
    "best_partner",
    "best_point",
    "between",
    "degradation",
    "log_kernel_value",
    "unaligned_bound",
]

_E_MINUS_1 = 0.36787944117144233
_E_MINUS_2 = 0.1353352832366127
_SAME_SIZE = 1.0 + 1e-9  # up to here, of two equal maxima the one nearer to x_n is taken
_SLACK = 1.0 - 1e-5  # bounds are computed in the type of the kernel row


@compiled
def aligned_bound(kappa):
    """P of the header: degradation / A of a pair with parallel coefficients is at least this."""
    root = np.sqrt(kappa)
    if kappa >= _E_MINUS_2:
        return 2.0 * (1.0 - root) * (1.0 - root)
    captured = 1.0 + kappa + 2.125 * kappa * root * (1.0 - kappa)
    return 2.0 + 2.0 * kappa - captured * captured


@compiled
def unaligned_bound(kappa):
    """O of the header: degradation / A of a pair with orthogonal coefficients is at least this."""
    root = np.sqrt(kappa)
    if kappa >= _E_MINUS_1:
        return 2.0 - 2.0 * root
    return 1.0 - kappa * kappa - 4.25 * kappa * kappa * kappa * root * (1.0 - kappa)


@compiled
def log_kernel_value(kernel_values, j):
    """``ln kernel_values[j]``, finite and at most 0."""
    return np.log(min(max(np.float64(kernel_values[j]), 1e-37), 1.0))


@compiled
def best_point(A, C, B, log_kappa):
    """The h in [0, 1] with the least degradation."""
    swapped = A > B * _SAME_SIZE
    if swapped:
        A, B = B, A
    h = _best_point_in_half(A, C, B, log_kappa)
    return 1.0 - h if swapped else h


@inlined
def _best_point_in_half(A, C, B, log_kappa):
    """``best_point`` for A <= B: Newton's method inside the bracket [0, 1/2]."""
    w = np.exp(-log_kappa)
    at_zero = (A + C * w) / (A + (2.0 * C + B * w) * w)
    if A + C * w <= 0.0:  # opposed coefficients: nothing is gained by leaving x_n
        return 0.0
    # Near pairs start from the solution for kappa = 1, far ones from the side of the larger coefficient.
    h = (A + C) / (A + 2.0 * C + B) if log_kappa > -1.5 else at_zero
    low, high = 0.0, 0.5
    h = min(max(h, low), high)
    for _ in range(30):
        w = np.exp(log_kappa * (2.0 * h - 1.0))
        bottom = A + (2.0 * C + B * w) * w
        target = (A + C * w) / bottom
        error = h - target
        if error < 0.0:
            low = h
        else:
            high = h
        slope = 1.0 - 2.0 * log_kappa * w * (C - 2.0 * target * (C + B * w)) / bottom
        new_h = h - error / slope if slope > 1e-3 else target
        if new_h < low or new_h > high:
            new_h = 0.5 * (low + high)
        if abs(new_h - h) < 1e-9:
            return new_h
        h = new_h
    return h


@compiled
def degradation(A, C, B, log_kappa, h):
    """Squared norm of what is lost by merging at ``h``."""
    from_m = np.expm1(2.0 * (1.0 - h) * (1.0 - h) * log_kappa)
    from_n = np.expm1(2.0 * h * h * log_kappa)
    mixed = 2.0 * h * (1.0 - h) * log_kappa
    return max(0.0, 2.0 * C * np.exp(log_kappa - mixed) * np.expm1(mixed) - A * from_m - B * from_n)


@compiled
def between(rows, m, n, h, target, k):
    """``target[k] = h rows[m] + (1-h) rows[n]``."""
    near, far = rows.dtype.type(h), rows.dtype.type(1.0 - h)
    for f in range(rows.shape[1]):
        target[k, f] = near * rows[m, f] + far * rows[n, f]


@compiled
def _score(overlap, sizes, kernel_values, m, n):
    """Best h and degradation of the pair (m, n)."""
    log_kappa = log_kernel_value(kernel_values, n)
    h = best_point(sizes[m], overlap, sizes[n], log_kappa)
    return h, degradation(sizes[m], overlap, sizes[n], log_kappa, h)


@generic
def best_partner(loss, coef, sizes, kernel_values, m, n_slots, overlaps, bounds):
    """The partner of ``m`` among the slots with the least degradation: ``(partner, h, degradation)``.

    ``kernel_values[j] = K(x_m, x_j)``. With one output only vectors of the same sign are partners, unless there
    is none. First index wins a tie.
    """


@compiled
def _distances_to_same_sign(coef, kernel_values, m, n_slots, distances):
    """``1 - kappa`` for vectors with the sign of m, 2 for the others: the bound P grows with it."""
    one, two = distances.dtype.type(1.0), distances.dtype.type(2.0)
    sign = coef[0, m]
    for j in range(n_slots):
        same = coef[0, j] * sign
        distance = one - kernel_values[j]
        distances[j] = distance if same > 0.0 else two
    distances[m] = two


@compiled
def _reach(loss, A):
    """The largest ``1 - kappa`` at which a partner may still do better than ``loss``: the inverse of P."""
    relative = loss / A
    if relative < aligned_bound(_E_MINUS_2):
        root = 1.0 - np.sqrt(0.5 * relative)
        return 1.0 - root * root * _SLACK
    low, high = 0.0, _E_MINUS_2
    for _ in range(10):
        middle = 0.5 * (low + high)
        if aligned_bound(middle) * _SLACK <= relative:
            high = middle
        else:
            low = middle
    return 1.0 - low


@best_partner.implement(BinaryHinge)
def _best_partner_one_output(loss, coef, sizes, kernel_values, m, n_slots, overlaps, bounds):
    _distances_to_same_sign(coef, kernel_values, m, n_slots, bounds)
    first = first_argmin(bounds, n_slots)
    if bounds[first] >= 2.0:
        return _nearest_of_other_sign(sizes[m], kernel_values, m, n_slots)
    best = first
    best_h, least = _score(coef[0, m] * coef[0, best], sizes, kernel_values, m, best)
    reach = bounds.dtype.type(_reach(least, sizes[m]))
    for j in range(n_slots):
        if bounds[j] <= reach and j != first:
            h, lost = _score(coef[0, m] * coef[0, j], sizes, kernel_values, m, j)
            if lost < least or (lost == least and j < best):
                best, best_h, least = j, h, lost
                reach = bounds.dtype.type(_reach(least, sizes[m]))
    return best, best_h, least


@compiled
def _nearest_of_other_sign(A, kernel_values, m, n_slots):
    """Opposed coefficients are best merged at h = 0, where A (1 - kappa^2) is lost: the nearest is best."""
    best = 1 if m == 0 else 0
    for j in range(n_slots):
        if j != m and kernel_values[j] > kernel_values[best]:
            best = j
    kappa = np.float64(kernel_values[best])
    return best, 0.0, A * max(1.0 - kappa * kappa, 0.0)


@compiled
def _overlaps_with(coef, n_outputs, m, n_slots, overlaps):
    """``<a_m, a_j>`` for all slots; a newcomer has two coefficients, so this is two passes."""
    for j in range(n_slots):
        overlaps[j] = 0.0
    for o in range(n_outputs):
        a = coef[o, m]
        if a != 0.0:
            for j in range(n_slots):
                overlaps[j] += a * coef[o, j]


@compiled
def _bounds_many_outputs(sizes, overlaps, kernel_values, m, n_slots, bounds):
    """The lower bound of the header, times A, for every slot but m. Branch-free, so that it vectorises."""
    kind = bounds.dtype.type
    one, two, zero = kind(1.0), kind(2.0), kind(0.0)
    e1, e2, p_factor, o_factor = kind(_E_MINUS_1), kind(_E_MINUS_2), kind(2.125), kind(4.25)
    A = sizes[m]
    for j in range(n_slots):
        ratio = kind(overlaps[j] / np.sqrt(A * sizes[j]))
        cosine = min(max(ratio, zero), one)
        k = min(kernel_values[j], one)
        root = np.sqrt(k)
        near = two * (one - root) * (one - root)
        captured = one + k + p_factor * k * root * (one - k)
        far = two + two * k - captured * captured
        parallel = near if k >= e2 else far
        orthogonal = two - two * root if k >= e1 else one - k * k - o_factor * k * k * k * root * (one - k)
        bounds[j] = kind(A) * (cosine * parallel + (one - cosine) * orthogonal)
    bounds[m] = kind(1e30)


@best_partner.implement(MultiClassHinge)
def _best_partner_many_outputs(loss, coef, sizes, kernel_values, m, n_slots, overlaps, bounds):
    _overlaps_with(coef, loss.n_outputs, m, n_slots, overlaps)
    _bounds_many_outputs(sizes, overlaps, kernel_values, m, n_slots, bounds)
    first = first_argmin(bounds, n_slots)
    best = first
    best_h, least = _score(overlaps[best], sizes, kernel_values, m, best)
    for j in range(n_slots):
        if bounds[j] * _SLACK <= least and j != first:
            h, lost = _score(overlaps[j], sizes, kernel_values, m, j)
            if lost < least or (lost == least and j < best):
                best, best_h, least = j, h, lost
    return best, best_h, least
