"""The latest scores of a stream, in order, and a threshold that a promised share of the next ones exceeds.

Scores tell how strange rows are, each from before its row was learned. A row whose score is above the threshold is a
*miss*: its label is not in the set, its number is not in the interval, it is an alarm. Conformal prediction (Vovk,
Gammerman & Shafer 2005) takes as threshold the quantile of the scores at the level ``1 - rate``,

    threshold = the k-th smallest of n scores,      k = n + 1 - floor(level (n + 1)),

with ``level = rate``: if scores are exchangeable, at most the share ``rate`` of rows are misses. Streams drift, and
adaptive conformal inference (Gibbs & Candes 2021) lets the level follow what happened. Here it is a function of the
misses that are due (the integrator of Angelopoulos, Candes & Tibshirani 2023, on the scale of levels):

    due = sum over rows of (rate - [the row was a miss]),
    level = rate (1 + due / patience)     if due < 0: zero, and with it no miss, at due = -patience,
    level = rate exp(due / patience)      if due > 0: one, and with it nothing but misses, at patience log(1 / rate).

Near zero that is their rule with the step ``rate / patience``. Since ``due`` cannot leave these bounds by more than a
row, the number of misses in every part of every stream, whatever it does, is what was promised up to

    patience (1 + log(1 / rate)) + 2.

Where labels are numbers no miss means an infinite interval. With ``extrapolates``, the threshold is the largest score
instead, and grows beyond it with each further miss by twice as much as the last time. The bound above then holds with
another miss for every factor of two by which scores grow from one row to the next.

A score of `HUGE` is a miss that no threshold could have avoided, such as a label that nobody knew: it is not made up
for, and says nothing about other scores.

One row takes a search and a move of some hundred values in a sorted array of a thousand: a fraction of a microsecond.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from frugalsvm._stored import COUNTED, stored
from frugalsvm.compiling.functions import compiled, entry, inlined
from frugalsvm.core.records import float_record, integer_record

HUGE = 1e300  # beyond all scores: compiled code knows no infinity
_MOST_DOUBLINGS = 64.0
_ROUNDING = 1e-9  # of a product that should be a whole number

COUNTS = integer_record("n_scores", "n_rows", "n_misses")  # rows that were judged, some without a score
SCALARS = float_record("due", "threshold")  # the threshold is that of the next score


class Promise(NamedTuple):
    """What a threshold is to keep."""

    rate: float  # the share of misses
    patience: float  # in misses
    extrapolates: bool


@stored("score-reservoir")
class ScoreReservoir(NamedTuple):
    """The last scores, as they came and in order, and what became of the promise; all arrays are changed in place."""

    ring: Annotated[np.ndarray, "d w"]  # (window,)
    ranked: Annotated[np.ndarray, "d w"]  # (window,), of which the first are in use
    counts: Annotated[np.ndarray, COUNTS, "1", COUNTED]
    scalars: Annotated[np.ndarray, SCALARS, "1"]

    def is_sound(self, sizes) -> bool:
        """Whether both arrays have the same scores, and counts are counts."""
        if sizes["w"] == 0:
            return False
        known = known_scores(self)
        in_order = np.array_equal(known, np.sort(self.ring[: len(known)]))
        counts = self.counts[0]
        fits = counts["n_misses"] <= counts["n_rows"] and abs(self.scalars[0]["threshold"]) <= HUGE
        return bool(in_order and fits and (np.abs(known) <= HUGE).all())


def new_reservoir(window: int) -> ScoreReservoir:
    """An empty reservoir for a number of scores."""
    scalars = np.zeros(1, SCALARS)
    scalars[0]["threshold"] = HUGE
    return ScoreReservoir(np.zeros(window), np.zeros(window), np.zeros(1, COUNTS), scalars)


def threshold_of(reservoir: ScoreReservoir) -> float:
    """The threshold for the next score, which may be infinite."""
    threshold = float(reservoir.scalars[0]["threshold"])
    return threshold if abs(threshold) < HUGE else math.copysign(math.inf, threshold)


def known_scores(reservoir: ScoreReservoir) -> np.ndarray:
    """The scores that are kept, in increasing order."""
    return reservoir.ranked[: min(int(reservoir.counts[0]["n_scores"]), len(reservoir.ranked))]


def p_values_among(ranked: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """The share of sorted scores that are not above each of these, itself among them."""
    return (1.0 + np.searchsorted(ranked, scores, side="right")) / (len(ranked) + 1.0)


@entry
def observe(reservoir, promise, scores, thresholds):
    """Take scores in their order; each is judged by the threshold that those before it left, which is written."""
    for i in range(scores.size):
        thresholds[i] = reservoir.scalars[0]["threshold"]
        reservoir.counts[0]["n_rows"] += 1
        if scores[i] >= HUGE:
            reservoir.counts[0]["n_misses"] += 1
        else:
            _judge(reservoir, promise, scores[i], thresholds[i])
            _insert(reservoir, scores[i])
            reservoir.scalars[0]["threshold"] = _threshold(reservoir, promise)


@entry
def forgive(reservoir, promise):
    """Begin the count of misses, and of what is due, with the next score."""
    reservoir.counts[0]["n_rows"] = reservoir.counts[0]["n_misses"] = 0
    reservoir.scalars[0]["due"] = 0.0
    reservoir.scalars[0]["threshold"] = _threshold(reservoir, promise)


@compiled
def _threshold(reservoir, promise):
    n_known = min(reservoir.counts[0]["n_scores"], reservoir.ranked.size)
    due = reservoir.scalars[0]["due"]
    if due < 0.0:
        level = promise.rate * (1.0 + due / promise.patience)
    else:
        level = promise.rate * math.exp(due / promise.patience)
    n_above = int(min(max(level, 0.0), 1.0) * (n_known + 1) + _ROUNDING)
    if n_above > n_known:
        return -HUGE
    if n_above > 0:
        return reservoir.ranked[n_known - n_above]
    if not promise.extrapolates or promise.rate * (n_known + 1) + _ROUNDING < 1.0:
        return HUGE
    return _beyond(reservoir.ranked, n_known, -(due + promise.patience))


@inlined
def _beyond(ranked, n_known, n_more):
    """The largest score; after further misses more than that."""
    largest = ranked[n_known - 1]
    if n_more <= 0.0:
        return largest
    spread = largest - ranked[n_known // 2]
    if spread <= 0.0:
        return HUGE
    return min(largest + spread * (2.0 ** min(n_more, _MOST_DOUBLINGS) - 1.0), HUGE)


@inlined
def _judge(reservoir, promise, score, threshold):
    """Count a miss, and what is due."""
    is_miss = score > threshold
    reservoir.counts[0]["n_misses"] += is_miss
    reservoir.scalars[0]["due"] += promise.rate - is_miss


@inlined
def _insert(reservoir, score):
    """Put a score in its place, instead of the oldest one if there is no room."""
    ring, ranked, n_scores = reservoir.ring, reservoir.ranked, reservoir.counts[0]["n_scores"]
    oldest = n_scores % ring.size
    n_known = min(n_scores, ring.size)
    gap = n_known if n_known < ring.size else _first_not_below(ranked, n_known, ring[oldest])
    place = _first_not_below(ranked, n_known, score)
    if place <= gap:
        for i in range(gap, place, -1):
            ranked[i] = ranked[i - 1]
    else:
        place -= 1
        for i in range(gap, place):
            ranked[i] = ranked[i + 1]
    ranked[place] = ring[oldest] = score
    reservoir.counts[0]["n_scores"] = n_scores + 1


@compiled
def _first_not_below(ranked, n, score):
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if ranked[middle] < score:
            low = middle + 1
        else:
            high = middle
    return low
