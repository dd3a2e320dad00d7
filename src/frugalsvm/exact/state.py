"""The state of an SVM that is kept exactly optimal: points, their coefficients, and where each stands.

A point stands for s+ positive and s- negative examples at the same place (a *twin vector*; an ordinary example has s- =
0 or s+ = 0). Its two dual coefficients are one number ``beta = alpha+ - alpha-``: at an optimum one of the two is at an
end of its box, for they are never both on the margin. With ``f = K beta + b`` and ``sum beta = 0``, the dual objective
to be minimized is

    beta' K beta / 2 - sum_i gain_i(beta_i),

where gain_i has the slope +1 from ``lower = -C s-`` to ``kink = C (s+ - s-)`` and the slope -1 from there to
``upper = C s+``. So a point is in one of five zones, and optimal if

    LOW      beta = lower    f >= slope to the right
    RISING   lower .. kink   f = +1
    KINK     beta = kink     -1 <= f <= +1
    FALLING  kink .. upper   f = -1
    HIGH     beta = upper    f <= slope to the left

For a positive example that is reserve, margin and error (LOW, RISING, HIGH); for a negative one HIGH, FALLING, LOW. In
other words: f is at least ``min_f``, the slope to the right, if beta may rise, and at most ``max_f``, the slope to the
left, if it may fall. ``g = f - b`` is kept for all points, as their ``scores``.

The *margin set* are points in RISING or FALLING that move together so that their f stays at its target +1 or -1.
"""

from typing import Annotated, NamedTuple

import numpy as np

from frugalsvm._stored import COUNTED, distinct, stored, within
from frugalsvm.compiling.functions import separate
from frugalsvm.core.expansion import Expansion, new_expansion, resized
from frugalsvm.core.records import float_record, integer_record

LOW, RISING, KINK, FALLING, HIGH = range(5)  # zones
NO_LIMIT = 1e300  # beyond every f
SAME = 1e-12  # of the width of a box: so near to an end is at the end

# Members of the margin set; steps ever made; changes since the last refresh; free slots; how the last change ended
COUNTS = integer_record("n_margin", "n_steps", "n_since_refresh", "n_free", "status")
SCALARS = float_record("bias", "drift")  # drift: the largest error of a score that a refresh found


_RENAMED = {"place": "margin_index", "free": "free_slots", "margin": "margin_slots"}
_ROWS = {
    "of": ("scores", "lower", "kink", "upper", "min_f", "max_f", "change", "old_scores"),
    "vectors": ("ones", "column", "rates", "residuals"),
}


def _earlier(fields):
    """Files of version 1 have the numbers of points and of members as rows of two matrices."""
    fields = {_RENAMED.get(name, name): each for name, each in fields.items()}
    return with_rows_apart(fields, _ROWS)


def with_rows_apart(fields, names_of_rows):
    """Fields with an array for each row of those that are matrices in older files."""
    for matrix, names in names_of_rows.items():
        if np.shape(fields.get(matrix))[:1] == (len(names),):
            fields |= {name: row.copy() for name, row in zip(names, fields.pop(matrix), strict=True)}
    return fields


@stored("exact", earlier=_earlier)
class ExactState(NamedTuple):
    points: Expansion  # beta is coef[0]; weights[0] is its copy
    # Of each point, (capacity,)
    scores: Annotated[np.ndarray, "d s"]  # f without the bias
    lower: Annotated[np.ndarray, "d s"]  # the ends of the box and its kink, all 0 for a free slot
    kink: Annotated[np.ndarray, "d s"]
    upper: Annotated[np.ndarray, "d s"]
    min_f: Annotated[np.ndarray, "d s"]  # what f is to be at least and at most; members of the margin set: anything
    max_f: Annotated[np.ndarray, "d s"]
    change: Annotated[np.ndarray, "d s"]  # of beta, that the scores do not know of yet
    old_scores: Annotated[np.ndarray, "d s"]  # scratch
    zone: Annotated[np.ndarray, "t s"]
    margin_index: Annotated[np.ndarray, "i s"]  # index in the margin set, or -1
    free_slots: Annotated[np.ndarray, "i s"]  # a stack
    # Of each member of the margin set, (room,)
    margin_slots: Annotated[np.ndarray, "i m"]
    R: Annotated[np.ndarray, "d mm"]  # (room, room) factor, see cholesky.py
    ones: Annotated[np.ndarray, "d m"]  # R^-T 1
    column: Annotated[np.ndarray, "d m"]  # scratch: R^-T of the column of a point
    rates: Annotated[np.ndarray, "d m"]  # scratch: how the coefficients move
    residuals: Annotated[np.ndarray, "d m"]  # scratch: how far f is from its targets
    counts: Annotated[np.ndarray, COUNTS, "1", COUNTED]
    scalars: Annotated[np.ndarray, SCALARS, "1"]

    def is_sound(self, sizes) -> bool:
        """Whether the margin set and the free slots are slots, and the factor can be divided by its diagonal."""
        counts, n = self.counts[0], int(self.points.counts[0]["n_slots"])
        n_margin, n_free = int(counts["n_margin"]), int(counts["n_free"])
        room, margin, free = sizes["m"], self.margin_slots[: max(n_margin, 0)], self.free_slots[: max(n_free, 0)]
        right = 0 <= n_margin <= room and 0 <= n_free <= n and within(self.zone, 5) and self.points.coef.shape[0] == 1
        right = right and within(self.margin_index, room, -1)
        right = right and within(self.free_slots, sizes["s"]) and within(self.margin_slots, sizes["s"], -1)
        right = right and within(margin, n) and within(free, n) and distinct(free)
        if not right or not (self.margin_index[margin] == np.arange(n_margin)).all():
            return False
        return int((self.margin_index >= 0).sum()) == n_margin and bool((np.diag(self.R)[:n_margin] != 0.0).all())


_PER_POINT = (
    "scores", "lower", "kink", "upper", "min_f", "max_f", "change", "old_scores", "zone", "margin_index", "free_slots",
)  # fmt: skip
_PER_MEMBER = ("margin_slots", "ones", "column", "rates", "residuals")


def new_state(n_slots, n_features, room):
    points = new_expansion(n_slots, n_features, 1, np.float64)
    capacity = points.rows.shape[0]
    return ExactState(
        points,
        scores=np.zeros(capacity),
        lower=np.zeros(capacity),
        kink=np.zeros(capacity),
        upper=np.zeros(capacity),
        min_f=np.full(capacity, -NO_LIMIT),
        max_f=np.full(capacity, NO_LIMIT),
        change=np.zeros(capacity),
        old_scores=np.zeros(capacity),
        zone=np.zeros(capacity, np.int8),
        margin_index=np.full(capacity, -1, np.int64),
        free_slots=np.zeros(capacity, np.int64),
        margin_slots=np.zeros(room, np.int64),
        R=np.zeros((room, room)),
        ones=np.zeros(room),
        column=np.zeros(room),
        rates=np.zeros(room),
        residuals=np.zeros(room),
        counts=np.zeros(1, COUNTS),
        scalars=np.zeros(1, SCALARS),
    )


def resized_state(state, n_slots):
    """A copy with room for more points."""
    points = resized(state.points, n_slots)
    larger = new_state(n_slots, points.rows.shape[1], 1)
    per_point = {name: getattr(larger, name) for name in _PER_POINT}
    for name, array in per_point.items():
        old = getattr(state, name)
        array[: old.size] = old
    return state._replace(points=points, **per_point)


def trimmed(state):
    """A copy with room for its points and margin vectors alone."""
    points = resized(state.points, 1)
    capacity, room = points.rows.shape[0], max(int(state.counts[0]["n_margin"]), 1)
    cut = {name: getattr(state, name)[:capacity].copy() for name in _PER_POINT}
    cut |= {name: getattr(state, name)[:room].copy() for name in _PER_MEMBER}
    return state._replace(points=points, R=state.R[:room, :room].copy(), **cut)


def with_margin(state, room):
    """A copy with room for a margin set of ``room`` members."""
    n = state.margin_slots.size
    larger = new_state(1, 1, room)
    per_member = {name: getattr(larger, name) for name in _PER_MEMBER}
    for name, array in per_member.items():
        array[:n] = getattr(state, name)
    larger.R[:n, :n] = state.R
    return state._replace(R=larger.R, **per_member)


@separate
def beta_of(state, slot):
    return state.points.coef[0, slot]


@separate
def set_beta(state, slot, beta):
    state.points.coef[0, slot] = beta
    state.points.weights[0, slot] = beta


@separate
def set_zone(state, slot, zone):
    """Put a point at the end that a zone is, or leave it inside, and say what its f has to be."""
    lower, kink, upper = state.lower[slot], state.kink[slot], state.upper[slot]
    state.zone[slot] = zone
    min_f, max_f = -NO_LIMIT, NO_LIMIT
    if zone == LOW:
        set_beta(state, slot, lower)
        if upper > lower:
            min_f = 1.0 if kink > lower else -1.0
    elif zone == HIGH:
        set_beta(state, slot, upper)
        if upper > lower:
            max_f = -1.0 if kink < upper else 1.0
    elif zone == KINK:
        set_beta(state, slot, kink)
        min_f, max_f = -1.0, 1.0
    else:
        min_f = max_f = 1.0 if zone == RISING else -1.0
    state.min_f[slot], state.max_f[slot] = min_f, max_f


@separate
def zone_of(state, slot, beta):
    """The zone of a coefficient in a box; what is at an end up to rounding is there."""
    lower, kink, upper = state.lower[slot], state.kink[slot], state.upper[slot]
    near = SAME * (upper - lower)
    if beta <= lower + near:
        return LOW
    if beta >= upper - near:
        return HIGH
    if abs(beta - kink) <= near:
        return KINK
    return RISING if beta < kink else FALLING


@separate
def set_box(state, slot, C, plus, minus):
    """The box of a point with such weights."""
    state.lower[slot] = -C * minus
    state.kink[slot] = C * (plus - minus)
    state.upper[slot] = C * plus
