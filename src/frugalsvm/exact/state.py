"""The state of an SVM that is kept exactly optimal: points, their coefficients, and where each stands.

A point stands for s+ positive and s- negative examples at the same place (a *twin vector*; an ordinary example has s- =
0 or s+ = 0). Its two dual coefficients are one number ``beta = alpha+ - alpha-``: at an optimum one of the two is at an
end of its box, for they are never both on the margin. With ``f = K beta + b`` and ``sum beta = 0``, the dual objective
to be minimised is

    beta' K beta / 2 - sum_i gain_i(beta_i),

where gain_i has the slope +1 from ``lo = -C s-`` to ``kink = C (s+ - s-)`` and the slope -1 from there to ``hi =
C s+``. So a point is in one of five zones, and optimal if

    LOW      beta = lo       f >= slope to the right
    RISING   lo .. kink      f = +1
    KINK     beta = kink     -1 <= f <= +1
    FALLING  kink .. hi      f = -1
    HIGH     beta = hi       f <= slope to the left

For a positive example that is reserve, margin and error (LOW, RISING, HIGH); for a negative one HIGH, FALLING, LOW. In
other words: f is at least ``least``, the slope to the right, if beta may rise, and at most ``most``, the slope to the
left, if it may fall. ``g = f - b`` is kept for all points.

The *margin set* are points in RISING or FALLING that move together so that their f stays at its target +1 or -1.
"""

from typing import NamedTuple

import numpy as np

from frugalsvm._compile import inlined
from frugalsvm.core.expansion import Expansion, new_expansion, resized

__all__ = [
    "ANY",
    "CHANGE",
    "COLUMN",
    "DRIFT",
    "FALLING",
    "HI",
    "HIGH",
    "KINK",
    "KINK_AT",
    "LEAST",
    "LO",
    "LOW",
    "MOST",
    "N_FREE",
    "N_MARGIN",
    "N_ROUNDS",
    "N_SINCE",
    "OFF",
    "OLD",
    "ONES",
    "RATES",
    "RISING",
    "STATUS",
    "B",
    "Exact",
    "G",
    "beta_of",
    "new_exact",
    "resized_exact",
    "set_beta",
    "set_ends",
    "stand",
    "trimmed",
    "with_margin",
    "zone_of",
]

# Rows of `Exact.of`: f without the bias; the ends of the box and its kink, all 0 for a free slot; what f is to be at
# least and at most (members of the margin set: anything); how beta changed since g was computed; scratch
G, LO, KINK_AT, HI, LEAST, MOST, CHANGE, OLD = range(8)
# Rows of `Exact.vectors`: R^-T 1; scratch: R^-T of what a step starts from, how the margin set moves, how far its f is
# from the targets
ONES, COLUMN, RATES, OFF = range(4)
LOW, RISING, KINK, FALLING, HIGH = range(5)  # zones
ANY = 1e300  # beyond every f: no demand
SAME = 1e-12  # of the width of a box: so near to an end is at the end

# Places in `Exact.counts` and `Exact.scalars`
# Members of the margin set; steps ever made; changes since the last refresh; free slots; how the last change ended
N_MARGIN, N_ROUNDS, N_SINCE, N_FREE, STATUS = range(5)
B, DRIFT = range(2)  # the bias; the largest error of g that a refresh found


class Exact(NamedTuple):
    points: Expansion  # beta is coef[0]; weights[0] is its copy
    of: np.ndarray  # (8, capacity) floats of each point, named above
    zone: np.ndarray  # (capacity,)
    place: np.ndarray  # (capacity,) place in the margin set, or -1
    free: np.ndarray  # (capacity,) a stack of free slots
    margin: np.ndarray  # (room,) slots of the margin set
    R: np.ndarray  # (room, room) factor, see factor.py
    vectors: np.ndarray  # (4, room) floats of each member, named above
    counts: np.ndarray  # integers and floats named above
    scalars: np.ndarray


def new_exact(n_slots, n_features, room):
    points = new_expansion(n_slots, n_features, 1, np.float64)
    capacity = points.rows.shape[0]
    exact = Exact(
        points,
        of=np.zeros((8, capacity)),
        zone=np.zeros(capacity, np.int8),
        place=np.full(capacity, -1, np.int64),
        free=np.zeros(capacity, np.int64),
        margin=np.zeros(room, np.int64),
        R=np.zeros((room, room)),
        vectors=np.zeros((4, room)),
        counts=np.zeros(5, np.int64),
        scalars=np.zeros(2),
    )
    exact.of[LEAST], exact.of[MOST] = -ANY, ANY
    return exact


def resized_exact(exact, n_slots):
    """A copy with room for more points."""
    points = resized(exact.points, n_slots)
    larger = new_exact(n_slots, points.rows.shape[1], 1)
    per_point = {name: getattr(larger, name) for name in ("of", "zone", "place", "free")}
    for name, array in per_point.items():
        old = getattr(exact, name)
        array[..., : old.shape[-1]] = old
    return exact._replace(points=points, **per_point)


def trimmed(exact):
    """A copy with room for its points and margin vectors alone."""
    points = resized(exact.points, 1)
    capacity, room = points.rows.shape[0], max(int(exact.counts[N_MARGIN]), 1)
    cut = {name: np.ascontiguousarray(getattr(exact, name)[..., :capacity]) for name in ("of", "zone", "place", "free")}
    cut |= {name: np.ascontiguousarray(getattr(exact, name)[..., :room]) for name in ("margin", "vectors")}
    return exact._replace(points=points, R=np.ascontiguousarray(exact.R[:room, :room]), **cut)


def with_margin(exact, room):
    """A copy with room for a margin set of ``room`` members."""
    n = exact.margin.size
    margin, R, vectors = np.zeros(room, np.int64), np.zeros((room, room)), np.zeros((4, room))
    margin[:n], R[:n, :n], vectors[:, :n] = exact.margin, exact.R, exact.vectors
    return exact._replace(margin=margin, R=R, vectors=vectors)


@inlined
def beta_of(exact, slot):
    return exact.points.coef[0, slot]


@inlined
def set_beta(exact, slot, beta):
    exact.points.coef[0, slot] = beta
    exact.points.weights[0, slot] = beta


@inlined
def stand(exact, slot, zone):
    """Put a point at the end that a zone is, or leave it inside, and say what its f has to be."""
    lo, kink, hi = exact.of[LO, slot], exact.of[KINK_AT, slot], exact.of[HI, slot]
    exact.zone[slot] = zone
    least, most = -ANY, ANY
    if zone == LOW:
        set_beta(exact, slot, lo)
        if hi > lo:
            least = 1.0 if kink > lo else -1.0
    elif zone == HIGH:
        set_beta(exact, slot, hi)
        if hi > lo:
            most = -1.0 if kink < hi else 1.0
    elif zone == KINK:
        set_beta(exact, slot, kink)
        least, most = -1.0, 1.0
    else:
        least = most = 1.0 if zone == RISING else -1.0
    exact.of[LEAST, slot], exact.of[MOST, slot] = least, most


@inlined
def zone_of(exact, slot, beta):
    """The zone of a coefficient in a box; what is at an end up to rounding is there."""
    lo, kink, hi = exact.of[LO, slot], exact.of[KINK_AT, slot], exact.of[HI, slot]
    near = SAME * (hi - lo)
    if beta <= lo + near:
        return LOW
    if beta >= hi - near:
        return HIGH
    if abs(beta - kink) <= near:
        return KINK
    return RISING if beta < kink else FALLING


@inlined
def set_ends(exact, slot, C, plus, minus):
    """The box of a point with such weights."""
    exact.of[LO, slot] = -C * minus
    exact.of[KINK_AT, slot] = C * (plus - minus)
    exact.of[HI, slot] = C * plus
