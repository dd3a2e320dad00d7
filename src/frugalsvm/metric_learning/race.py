"""Which metric is the best: the plain one, a factor for each feature, or a matrix. Told by rows none of them saw.

Metrics are learned from most rows (`entrants`). A part of the rows is kept out of it: on these, small machines with
each metric are compared (`judges`), from the gentlest metric to the richest. A metric takes the lead only if it is
better by more than chance.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.core.blocks import is_of_products
from frugalsvm.exceptions import ParameterError
from frugalsvm.metric_learning.descent import Point
from frugalsvm.metric_learning.entrants import (
    SCHEDULE,
    Schedule,
    best_start,
    is_worth_polishing,
    learned_factors,
    next_matrix,
    polished,
)
from frugalsvm.metric_learning.judges import Judgment, is_better, judge
from frugalsvm.metric_learning.machine import Rows

__all__ = ["KINDS", "Outcome", "kinds_of", "race"]

KINDS = ("plain", "factors", "matrix")
_JUDGE_SHARE, _MOST_JUDGES = 0.15, 4096
_FEW_JUDGES, _LARGEST_SHARE = 1000, 0.25  # where rows are few


class Outcome(NamedTuple):
    """What came of a race."""

    kind: str  # of `KINDS`
    point: Point  # for rows as they were given, not scaled, and for a kernel with gamma 1
    errors: dict[str, float]  # mean losses of the judges, of all kinds that took part


def kinds_of(kernel: Any) -> tuple[str, ...]:
    """The kinds of metrics that a kernel can have: a matrix changes Euclidean distances, not those of L1."""
    return KINDS if is_of_products(kernel) else KINDS[:-1]


def race(
    kernel: Any,
    rows: Rows,
    rng: np.random.Generator,
    *,
    kinds: tuple[str, ...] | None = None,
    scales: np.ndarray | None = None,
    classes: bool = False,
    schedule: Schedule = SCHEDULE,
) -> Outcome:
    """Learn metrics of all kinds from the rows, in float64, and choose.

    Parameters
    ----------
    kernel : a kernel of differences with gamma 1
    rows : Rows
    rng : numpy.random.Generator
    kinds : tuple of str or None, default=None
        Some of `KINDS`, "plain" among them, or all that the kernel can have.
    scales : array (n_features,) or None, default=None
        How far apart the values of each column are: metrics other than the plain one start from columns that are
        divided by these. The outcome is for columns as they are given.
    classes : bool, default=False
        Whether targets are 1 for the class of a row and -1 for others: wrong classes are counted. Otherwise errors are
        squared.
    schedule : Schedule
    """
    kinds = kinds_of(kernel) if kinds is None else kinds
    if not set(kinds) <= set(kinds_of(kernel)):
        raise ParameterError("metric", "full", "'diag' or 'auto' for kernels of L1 distances, which no matrix changes")
    scales = np.ones(rows.X.shape[1]) if scales is None else np.asarray(scales, float)
    rows = rows._replace(X=rows.X / scales)
    order = rng.permutation(len(rows.X))
    n_judges = _number_of_judges(len(order))
    judges, learned = rows[order[:n_judges]], rows[order[n_judges:]]
    contest = _Contest(lambda point: judge(kernel, point, learned, judges, classes=classes))
    _enter_all(contest, kernel, learned, scales, kinds, schedule, rng)
    kind, (A, ridge) = contest.leader_kind, contest.leader.point
    return Outcome(kind, Point(A / scales, ridge), {kind: contest.errors[kind] for kind in kinds})


def _number_of_judges(n_rows):
    few = min(_FEW_JUDGES, int(_LARGEST_SHARE * n_rows))
    return min(max(int(_JUDGE_SHARE * n_rows), few), _MOST_JUDGES)


class _Contest:
    """Metrics that are judged one after the other, and the one in the lead."""

    def __init__(self, judge: Callable[[Point], Judgment]):
        self._judge = judge
        self.errors: dict[str, float] = {}
        self.leader_kind: str
        self.leader: Judgment

    def enter(self, kind, point) -> Judgment:
        found = self._judge(point)
        if not self.errors or is_better(found, self.leader):
            self.leader_kind, self.leader = kind, found
        self.errors[kind] = min(found.error, self.errors.get(kind, np.inf))
        return found


def _enter_all(contest, kernel, rows, scales, kinds, schedule, rng):
    """Learn metrics of scaled rows and have them judged, from the gentlest to the richest."""
    plain = start = best_start(kernel, rows, scales, schedule, rng)
    contest.enter("plain", plain)
    if kinds == ("plain",):
        return
    if (scales != 1.0).any():
        start = best_start(kernel, rows, np.ones_like(scales), schedule, rng)
    matrices = []
    if "matrix" in kinds:
        matrices.append(contest.enter("matrix", next_matrix(kernel, rows, start, schedule.n_rounds, schedule, rng)))
    factors = learned_factors(kernel, rows, start, schedule, rng)
    if "factors" in kinds:
        contest.enter("factors", factors)
    if "matrix" in kinds:
        matrices.append(contest.enter("matrix", next_matrix(kernel, rows, factors, 1, schedule, rng)))
        best = min(matrices, key=lambda each: each.squared_error).point
        if is_worth_polishing(best, len(rows.X)):
            contest.enter("matrix", polished(kernel, rows, best, schedule, rng))
