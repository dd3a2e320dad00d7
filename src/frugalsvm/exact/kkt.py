"""The Karush-Kuhn-Tucker conditions, from the state alone: the bias, the worst violation, the objective.

Given f without its bias, all biases are optimal that minimize the hinge loss

    sum_i upper_i max(0, 1 - g_i - b)  +  sum_i -lower_i max(0, 1 + g_i + b).

As a function of b it is convex with a kink for each example, so they are one point or, where no example is strictly
inside its box, an interval. The solver stops anywhere in it, depending on the order of the examples. Its middle does
not depend on the order: what was unlearned leaves no trace in it. LIBSVM takes the middle, too.
"""

import numpy as np

from frugalsvm.exact.state import RISING

AT_END = 1e-9  # part of the largest coefficient: so near to an end is at the end, up to rounding
SAME = 1e-9  # a shorter interval of biases is a point; such a part of all weights is none


def _boxes(state):
    n = state.points.counts[0]["n_slots"]
    return state.lower[:n], state.kink[:n], state.upper[:n]


def _near(state):
    return AT_END * np.max(np.abs(state.points.coef[0, : state.points.counts[0]["n_slots"]]), initial=0.0)


def is_pinned(state):
    """Whether an example strictly inside its box leaves no choice of the bias."""
    members = state.margin_slots[: state.counts[0]["n_margin"]]
    rising = state.zone[members] == RISING
    lower, kink, upper = state.lower[members], state.kink[members], state.upper[members]
    low, high = np.where(rising, lower, kink), np.where(rising, kink, upper)
    beta, near = state.points.coef[0, members], _near(state)
    return bool(np.any((beta > low + near) & (beta < high - near)))


def optimal_bias(state, without=None):
    """The middle of all optimal biases; with one class only the end that there is, with no example 0.

    ``without``: leave out the example in this slot, whose coefficient is zero.
    """
    present = float(state.scalars[0]["bias"])
    if is_pinned(state):
        return present
    low, high = _optimal_biases(state, without)
    return present if high - low <= SAME and low - SAME <= present <= high + SAME else 0.5 * (low + high)


def _optimal_biases(state, without):
    lower, _, upper = _boxes(state)
    g, plus, minus = state.scores[: len(lower)], upper.copy(), -lower
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


def violation(state, bias):
    """By how much an f is not what is demanded of it, at most, plus by how much the coefficients do not sum to zero."""
    lower, kink, upper = _boxes(state)
    beta, f, near = state.points.coef[0, : len(lower)], state.scores[: len(lower)] + bias, _near(state)
    too_low = np.where(beta < kink - near, 1.0, -1.0) - f
    too_high = f - np.where(beta > kink + near, -1.0, 1.0)
    worst = max(np.max(too_low[beta < upper - near], initial=0.0), np.max(too_high[beta > lower + near], initial=0.0))
    return float(worst + abs(beta.sum()))


def dual_objective(state):
    """The dual objective, which is to be maximized."""
    lower, _, upper = _boxes(state)
    beta, g = state.points.coef[0, : len(lower)], state.scores[: len(lower)]
    return float(np.minimum(beta - 2.0 * lower, 2.0 * upper - beta).sum() - 0.5 * (beta @ g))
