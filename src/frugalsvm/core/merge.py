"""Merging two Gaussian support vectors: the best point between them, and the best partner.

BSGD paper, section 6.3, in the form that also holds for several outputs. Vectors ``x_m`` and ``x_n`` with
coefficient vectors ``a_m`` and ``a_n`` become ``z = h x_m + (1-h) x_n``, ``0 <= h <= 1``. With
``kappa = K(x_m, x_n) = e^L``, ``u = K(x_m, z) = kappa^((1-h)^2)``, ``v = K(x_n, z) = kappa^(h^2)`` and

    A = ||a_m||^2,   C = <a_m, a_n>,   B = ||a_n||^2

the best coefficients of z are ``u a_m + v a_n`` and the squared degradation (6.8) is

    A + B + 2 C kappa - (A u^2 + 2 C u v + B v^2)
      = -A expm1(2 (1-h)^2 L) - B expm1(2 h^2 L) + 2 C u v expm1(2 h (1-h) L)          (stable form)

so h maximizes ``A u^2 + 2 C u v + B v^2``. Setting the derivative to zero gives, with ``w = v/u = kappa^(2h-1)``,

    h = (A + C w) / (A + 2 C w + B w^2),

solved by Newton's method. (For one output and equal signs this is the paper's ``h = 1 / (1 + (a_n/a_m) w)``.)

**Newton's method** is safe: with A <= B the maximum lies in [0, 1/2] (exchanging h and 1-h changes the kept
norm by (B - A)(v^2 - u^2)), and ``h - right side`` changes sign there, so a bracket is at hand.

**Pruning.** If m is a smallest support vector then, with ``c = C / sqrt(A B)`` clipped to [0, 1],

    degradation / A  >=  c P + (1 - c) O

where P bounds parallel and O orthogonal coefficients: between the two the degradation is concave in c (a linear
function minus a maximum of linear ones). With ``u = sqrt(kappa)``, ``x = 1 - u`` and ``R = B / A >= 1``,

    P = (1 - s) 2 x^2 + s x^2 (2 - x) (1 + u + 2 u^2)    for kappa >= e^-2,   1 - 4.05 kappa u            below
    O = 2 x                                              for kappa >= e^-1,   1 - kappa^2 - 4.25 kappa^3.5  below

``2 x^2`` is exact for equal sizes, the term with s is the limit R = oo, ``1 - kappa^2 + 2 kappa^2 ln(kappa)`` with
``-ln(kappa) <= (1 - kappa) / u``, and ``s = ((2r / (1+r))^2 - 1) / 3``, ``r = sqrt(R)``, goes from one to the other.
(That interpolation is not proved: a dense grid in ``tests/core/test_merge.py`` stands for the proof.)

The nearest aligned candidate is scored first. For the others s = 0 and c = 1 give the least kappa that can still
win, found by one comparison; those that pass are bounded, and scored exactly only if their bound does not exceed
the best score.

With one output, and near vectors, most often none can win. A weaker bound, without roots and divisions, says so for all
of them in one vectorized pass,

    degradation / A  >=  2 (g r / (1+r))^2,      g = (1 - kappa) (0.7 + 0.3 kappa)

(on the same grid), so that j cannot win against the loss l of the first one if ``|a_j| (g - t) > t |a_m|`` with
``t = sqrt(l / 2A)``.
"""

import numpy as np

from frugalsvm.compiling.functions import compiled, generic, inlined, larger, separate, smaller
from frugalsvm.core.expansion import whole_groups
from frugalsvm.core.experts import Experts
from frugalsvm.core.fastmath import (
    CHUNK,
    FIRST_INDEX,
    LOG2E,
    below_one,
    exp2_nonpositive,
    index_in,
    index_mask,
    next_at_least,
    value_and_index,
)
from frugalsvm.core.losses import BinaryHinge, MulticlassHinge
from frugalsvm.core.one_class import OneClass
from frugalsvm.core.residuals import Residual, Residuals

_E_MINUS_1 = _ROOT_E_MINUS_2 = 0.36787944117144233
_E_MINUS_2 = 0.1353352832366127
_FAR = -1.5  # logarithms of kernel values
_SAME_SIZE = 1.0 + 1e-9  # up to here, of two equal maxima the one nearer to x_n is taken
_SLACK = 1.0 + 1e-4  # bounds may be computed from float32 numbers
FLAT = 0.7  # see `gap`
# Of relative losses: beyond it, there are most often candidates that have to be looked at. It keeps t of the quick
# bound below 0.4, where slots that are no candidates, with g = 0.8, never seem to win.
_NEAR = 0.3
_OUT = -1.0  # the closeness of a slot that is no candidate


@compiled
def lower_bound(kappa, size_ratio, cosine):
    """Lower bound of degradation / A (see the header) for ``size_ratio = B / A >= 1`` and a cosine in [0, 1]."""
    u = np.sqrt(kappa)
    x = 1.0 - u
    if kappa >= _E_MINUS_2:
        r = np.sqrt(size_ratio)
        q = 2.0 * r / (1.0 + r)
        s = (q * q - 1.0) * (1.0 / 3.0)
        parallel = x * x * (2.0 + s * ((2.0 - x) * (1.0 + u + 2.0 * kappa) - 2.0))
    else:
        parallel = 1.0 - 4.05 * kappa * u
    if cosine >= 1.0:
        return parallel
    orthogonal = 2.0 * x if kappa >= _E_MINUS_1 else 1.0 - kappa * kappa - 4.25 * kappa * kappa * kappa * u
    return cosine * parallel + (1.0 - cosine) * orthogonal


@inlined
def gap(kappa, one, flat):
    """``g`` of the quick bound, see the header; with a 1 and `FLAT` of the type of ``kappa``."""
    return (one - kappa) * (flat + (one - flat) * kappa)


@compiled
def least_winning_kappa(relative_loss):
    """The kappa at which the bound for equal sizes and parallel coefficients is ``relative_loss``."""
    if relative_loss < 2.0 * (1.0 - _ROOT_E_MINUS_2) * (1.0 - _ROOT_E_MINUS_2):
        root = 1.0 - np.sqrt(0.5 * relative_loss)
        return root * root
    return larger((1.0 - relative_loss) / 4.05, 0.0) ** (2.0 / 3.0)


@compiled
def log_kernel_value(kernel_values, j):
    """``ln kernel_values[j]``, finite and at most 0."""
    return np.log(smaller(larger(np.float64(kernel_values[j]), 1e-37), 1.0))


@compiled
def best_point(A, C, B, log_kappa):
    """The h in [0, 1] with the least degradation."""
    swapped = A > B * _SAME_SIZE
    if swapped:
        A, B = B, A
    h = _best_point_in_half(smaller(A, B), C, B, log_kappa)
    return 1.0 - h if swapped else h


@inlined
def _best_point_in_half(A, C, B, log_kappa):
    """``best_point`` for A <= B: Newton's method inside the bracket [0, 1/2], with ``r = 1/w <= 1``."""
    exponent = log_kappa * LOG2E
    is_near, r = log_kappa > _FAR, 1.0
    if C <= 0.0 or not is_near:
        r = exp2_nonpositive(exponent)
        if A * r + C <= 0.0:  # opposed coefficients: nothing is gained by leaving x_n
            return 0.0
    # Near pairs start from the parabola at kappa = 1, far ones from the side of the larger coefficient.
    r = 1.0 if is_near else r
    scale = 1.0 / ((A * r + 2.0 * C) * r + B)
    start = (A * r + C) * r * scale
    if is_near:
        # The right side as a function of ln(w), w = kappa^(2h-1): its first derivative, and the second less the first.
        first = (C - 2.0 * start * (C + B)) * scale
        second = -(4.0 * first * (C + B) + 2.0 * start * B) * scale
        lean = 2.0 * start - 1.0
        bend = 2.0 * first * first + 0.5 * (first + second) * lean
        start += lean * log_kappa * (first + log_kappa * bend)
    low, high = 0.0, 0.5
    h = smaller(larger(start, low), high)
    for _ in range(40):
        r = exp2_nonpositive(exponent * (1.0 - 2.0 * h))
        top, scale = A * r + C, 1.0 / ((A * r + 2.0 * C) * r + B)
        target = top * r * scale
        error = h - target
        slope = 1.0 + 2.0 * log_kappa * r * (2.0 * A * r + C - 2.0 * target * top) * scale
        step = error / slope
        if slope > 0.2 and abs(step * log_kappa) < 1e-5:  # quadratic convergence: the next error is below 1e-10
            return h - step
        if error < 0.0:
            low = h
        else:
            high = h
        new_h = h - step
        if slope <= 0.0 or new_h < low or new_h > high:
            new_h = 0.5 * (low + high)
        if abs(new_h - h) < 1e-10:
            return new_h
        h = new_h
    return h


@compiled
def degradation(A, C, B, log_kappa, h):
    """Squared norm of what is lost by merging at ``h``."""
    exponent = 2.0 * LOG2E * log_kappa  # `below_one` is -expm1, for powers of two
    mixed = h * (1.0 - h) * exponent
    from_m, from_n = below_one((1.0 - h) * (1.0 - h) * exponent), below_one(h * h * exponent)
    from_both = exp2_nonpositive(smaller(0.5 * exponent - mixed, 0.0)) * below_one(mixed)
    return larger(0.0, A * from_m + B * from_n - 2.0 * C * from_both)


@compiled
def merge_factors(h, log_kappa):
    """``u = K(x_m, z)`` and ``v = K(x_n, z)``: what each vector's coefficients are multiplied with in z."""
    exponent = log_kappa * LOG2E
    return exp2_nonpositive((1.0 - h) * (1.0 - h) * exponent), exp2_nonpositive(h * h * exponent)


@compiled
def between(rows, m, n, h, target, k):
    """``target[k] = h rows[m] + (1-h) rows[n]``."""
    near, far = rows.dtype.type(h), rows.dtype.type(1.0 - h)
    for f in range(rows.shape[1]):
        target[k, f] = near * rows[m, f] + far * rows[n, f]


@separate
def _score(overlap, sizes, kernel_values, m, n):
    """Best h and degradation of the pair (m, n)."""
    log_kappa = log_kernel_value(kernel_values, n)
    h = best_point(sizes[m], overlap, sizes[n], log_kappa)
    return h, degradation(sizes[m], overlap, sizes[n], log_kappa, h)


@generic
def best_partner(loss, coef, weights, sizes, kernel_values, m, n_slots, overlaps, closeness):
    """The partner of ``m`` among the slots with the least degradation: ``(partner, h, degradation)``.

    ``kernel_values[j] = K(x_m, x_j)``. With one output only vectors of the same sign are partners, unless there
    is none. First index wins a tie.
    """


@generic
def _candidates(loss, coef, weights, sizes, kernel_values, m, n_slots, overlaps, closeness):
    """Fill ``closeness`` with kappa, or ``_OUT`` for slots that are no candidates; returns the one to score first.

    With several outputs, ``overlaps`` gets ``<a_m, a_j>``, good enough for bounds.
    """


@generic
def _rough_cosine(loss, overlaps, A, B, j):
    """Cosine of the coefficients of m and j, clipped to [0, 1]."""


@compiled
def _overlap(coef, n_outputs, m, j):
    """``<a_m, a_j>``"""
    total = 0.0
    for o in range(n_outputs):
        total += coef[o, m] * coef[o, j]
    return total


@inlined
def _search(loss, n_outputs, coef, weights, sizes, kernel_values, m, n_slots, overlaps, closeness, first):
    """Score ``first``, then whoever might be better."""
    A = sizes[m]
    best = first
    best_h, least = _score(_overlap(coef, n_outputs, m, first), sizes, kernel_values, m, first)
    closeness[first] = _OUT
    if least < _NEAR * A and not _another_may_win(loss, weights, m, n_slots, closeness, least / A):
        return best, best_h, least
    reach = closeness.dtype.type(least_winning_kappa(least / A) / _SLACK)
    for start in range(0, n_slots, CHUNK):
        chunk, size = closeness[start:], smaller(CHUNK, n_slots - start)
        place = next_at_least(chunk, reach, FIRST_INDEX, size)
        while place < size:  # most often none is near enough
            j = start + place
            cosine = _rough_cosine(loss, overlaps, A, sizes[j], j)
            bound = lower_bound(smaller(np.float64(closeness[j]), 1.0), sizes[j] / A, cosine)
            if A * bound <= least * _SLACK:
                h, lost = _score(_overlap(coef, n_outputs, m, j), sizes, kernel_values, m, j)
                if lost < least or (lost == least and j < best):
                    best, best_h, least = j, h, lost
                    reach = closeness.dtype.type(least_winning_kappa(least / A) / _SLACK)
            place = next_at_least(chunk, reach, np.int32(place + 1), size)
    return best, best_h, least


@generic
def _another_may_win(loss, weights, m, n_slots, closeness, relative_loss):
    """Whether a candidate might lose less than ``relative_loss``, by a bound that is quick for all of them at once."""


@_another_may_win.implement(BinaryHinge, OneClass, Residual)
def _another_may_win_one_output(loss, weights, m, n_slots, closeness, relative_loss):
    one, flat = closeness.dtype.type(1.0), closeness.dtype.type(FLAT)
    reach = closeness.dtype.type(np.sqrt(0.5 * relative_loss) * _SLACK)
    own = abs(weights[0, m])
    least = own  # above the limit
    for j in range(whole_groups(n_slots)):  # empty slots count as slots of this size that are no candidates
        least = smaller(least, larger(abs(weights[0, j]), own) * (gap(closeness[j], one, flat) - reach))
    return least <= reach * own


@_another_may_win.implement(MulticlassHinge, Residuals, Experts)
def _another_may_win_many_outputs(loss, weights, m, n_slots, closeness, relative_loss):
    return True


@_rough_cosine.implement(BinaryHinge, OneClass, Residual)
def _rough_cosine_one_output(loss, overlaps, A, B, j):
    return 1.0


@_candidates.implement(BinaryHinge, OneClass, Residual)
def _candidates_one_output(loss, coef, weights, sizes, kernel_values, m, n_slots, overlaps, closeness):
    zero, out = closeness.dtype.type(0.0), closeness.dtype.type(_OUT)
    sign, own = weights[0, m], kernel_values[m]
    kernel_values[m] = out
    last = index_mask(whole_groups(n_slots))
    best = value_and_index(out, 0, last)
    for j in range(whole_groups(n_slots)):  # empty slots have no weight
        here = kernel_values[j] if weights[0, j] * sign > zero else out
        closeness[j] = here
        best = larger(best, value_and_index(here, j, last))
    kernel_values[m] = own
    return index_in(best, last)


@best_partner.implement(BinaryHinge, OneClass, Residual)
def _best_partner_one_output(loss, coef, weights, sizes, kernel_values, m, n_slots, overlaps, closeness):
    first = _candidates(loss, coef, weights, sizes, kernel_values, m, n_slots, overlaps, closeness)
    if closeness[first] < 0.0:
        best, best_h, least = _nearest_of_other_sign(sizes[m], kernel_values, m, n_slots)
    else:
        best, best_h, least = _search(
            loss, 1, coef, weights, sizes, kernel_values, m, n_slots, overlaps, closeness, first
        )
    return best, best_h, least


@compiled
def _nearest_of_other_sign(A, kernel_values, m, n_slots):
    """Opposed coefficients are best merged at h = 0, where A (1 - kappa^2) is lost: the nearest is best."""
    best = 1 if m == 0 else 0
    for j in range(n_slots):
        if j != m and kernel_values[j] > kernel_values[best]:
            best = j
    kappa = np.float64(kernel_values[best])
    return best, 0.0, A * larger(1.0 - kappa * kappa, 0.0)


@_rough_cosine.implement(MulticlassHinge, Residuals, Experts)
def _rough_cosine_many_outputs(loss, overlaps, A, B, j):
    return smaller(larger(overlaps[j] / np.sqrt(A * B), 0.0), 1.0)


@_candidates.implement(MulticlassHinge, Residuals, Experts)
def _candidates_many_outputs(loss, coef, weights, sizes, kernel_values, m, n_slots, overlaps, closeness):
    for j in range(n_slots):
        overlaps[j] = 0.0
    for o in range(loss.n_outputs):
        a = weights[o, m]
        if a != 0.0:  # a newcomer has two coefficients
            for j in range(n_slots):
                overlaps[j] += a * weights[o, j]
    # First comes the nearest with a cosine above 0.7, if there is one.
    zero, out = closeness.dtype.type(0.0), closeness.dtype.type(_OUT)
    half = closeness.dtype.type(0.5 * sizes[m])
    own, kernel_values[m] = kernel_values[m], out + out
    last = index_mask(n_slots)
    best = value_and_index(out, 0, last)
    for j in range(n_slots):
        kappa = kernel_values[j]
        aligned = overlaps[j] * abs(overlaps[j]) - half * closeness.dtype.type(sizes[j])
        closeness[j] = kappa
        best = larger(best, value_and_index(kappa - out if aligned > zero else kappa, j, last))
    kernel_values[m], closeness[m] = own, out
    return index_in(best, last)


@best_partner.implement(MulticlassHinge, Residuals, Experts)
def _best_partner_many_outputs(loss, coef, weights, sizes, kernel_values, m, n_slots, overlaps, closeness):
    first = _candidates(loss, coef, weights, sizes, kernel_values, m, n_slots, overlaps, closeness)
    return _search(loss, loss.n_outputs, coef, weights, sizes, kernel_values, m, n_slots, overlaps, closeness, first)
