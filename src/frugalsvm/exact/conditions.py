"""What is optimal, told from the state alone: the bias, the worst violation, the objective.

Given f without its bias, all biases are optimal that minimise the hinge loss

    sum_i hi_i max(0, 1 - g_i - b)  +  sum_i -lo_i max(0, 1 + g_i + b).

As a function of b it is convex with a kink for each example, so they are one point or, where no example is strictly
inside its box, an interval. The solver stops anywhere in it, depending on the order of the examples. Its middle does
not depend on the order: what was unlearned leaves no trace in it. LIBSVM takes the middle, too.
"""

import numpy as np

from frugalsvm.exact.state import HI, KINK_AT, LO, N_MARGIN, RISING, B, G

__all__ = ["dual_objective", "is_pinned", "optimal_bias", "violation"]

AT_END = 1e-9  # part of the largest coefficient: so near to an end is at the end, up to rounding
SAME = 1e-9  # a shorter interval of biases is a point; such a part of all weights is none


def _boxes(exact):
    n = exact.points.counts[0]["n_slots"]
    return exact.of[LO, :n], exact.of[KINK_AT, :n], exact.of[HI, :n]


def _near(exact):
    return AT_END * np.max(np.abs(exact.points.coef[0, : exact.points.counts[0]["n_slots"]]), initial=0.0)


def is_pinned(exact):
    """Whether an example strictly inside its box leaves no choice of the bias."""
    members = exact.margin[: exact.counts[N_MARGIN]]
    rising = exact.zone[members] == RISING
    lo, kink, hi = exact.of[LO, members], exact.of[KINK_AT, members], exact.of[HI, members]
    low, high = np.where(rising, lo, kink), np.where(rising, kink, hi)
    beta, near = exact.points.coef[0, members], _near(exact)
    return bool(np.any((beta > low + near) & (beta < high - near)))


def optimal_bias(exact, without=None):
    """The middle of all optimal biases; with one class only the end that there is, with no example 0.

    ``without``: leave out the example in this slot, whose coefficient is zero.
    """
    present = float(exact.scalars[B])
    if is_pinned(exact):
        return present
    low, high = _optimal_biases(exact, without)
    return present if high - low <= SAME and low - SAME <= present <= high + SAME else 0.5 * (low + high)


def _optimal_biases(exact, without):
    lo, _, hi = _boxes(exact)
    g, plus, minus = exact.of[G, : len(lo)], hi.copy(), -lo
    if without is not None:
        plus[without] = minus[without] = 0.0
    kinks, weights = np.concatenate([1.0 - g, -1.0 - g]), np.concatenate([plus, minus])
    there = np.flatnonzero(weights)
    if len(there) == 0:
        return 0.0, 0.0
    order = there[np.argsort(kinks[there])]
    kinks, slopes = kinks[order], np.cumsum(weights[order]) - plus.sum()  # of the loss to the right of each kink
    flat = SAME * weights.sum()
    if not plus.any():
        return float(kinks[0]), float(kinks[0])
    first = int(np.searchsorted(slopes, -flat))  # the first slope that is not negative
    last = first + 1 if slopes[first] <= flat and first + 1 < len(kinks) else first
    return float(kinks[first]), float(kinks[last])


def violation(exact, bias):
    """By how much an f is not what is demanded of it, at most, plus by how much the coefficients do not sum to zero."""
    lo, kink, hi = _boxes(exact)
    beta, f, near = exact.points.coef[0, : len(lo)], exact.of[G, : len(lo)] + bias, _near(exact)
    too_low = np.where(beta < kink - near, 1.0, -1.0) - f
    too_high = f - np.where(beta > kink + near, -1.0, 1.0)
    worst = max(np.max(too_low[beta < hi - near], initial=0.0), np.max(too_high[beta > lo + near], initial=0.0))
    return float(worst + abs(beta.sum()))


def dual_objective(exact):
    """The dual objective, which is to be maximised."""
    lo, _, hi = _boxes(exact)
    beta, g = exact.points.coef[0, : len(lo)], exact.of[G, : len(lo)]
    return float(np.minimum(beta - 2.0 * lo, 2.0 * hi - beta).sum() - 0.5 * (beta @ g))
