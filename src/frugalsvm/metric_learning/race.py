"""Which metric is the best: the plain one, a factor for each feature, or a matrix. Told by rows none of them saw.

Metrics are learned from most rows (`entrants`). A part of the rows is kept out of it: on these, small machines with
each metric are compared (`judges`). From the gentlest metric to the richest, one takes the lead only if it is better by
more than two standard errors, or one where both are learned. The winner gets the width that machines with landmarks
want (`widths`).
"""

from typing import Any, NamedTuple

import numpy as np

from frugalsvm.arrays.namespace import arrays_of, on_host
from frugalsvm.compiling.threads import ONE_THREAD, Threads, blas_threads
from frugalsvm.core.blocks import is_of_products
from frugalsvm.exceptions import ParameterError
from frugalsvm.metric_learning.agop import MOST_DIRECTIONS
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
from frugalsvm.metric_learning.judges import OVER_LEARNED, OVER_PLAIN, Judgment, is_better, judge
from frugalsvm.metric_learning.machine import Rows
from frugalsvm.metric_learning.widths import trial_on, with_best_width

__all__ = ["KINDS", "Outcome", "kinds_of", "number_of_judges", "race"]

KINDS = ("plain", "factors", "matrix")
_JUDGE_SHARE, _MOST_JUDGES = 0.15, 2**14
_MOST_COURT = 2**15  # rows that judge, and that predict them
_SOME_LEAVES = 16  # that tell which of several matrices to go on with
_FEW_JUDGES, _LARGEST_SHARE = 1000, 0.25  # where rows are few


class Outcome(NamedTuple):
    """What came of a race."""

    kind: str  # of `KINDS`
    point: Point  # on the host; for columns as they were before they were scaled, and for a kernel with gamma 1
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
    n_threads: int = 1,
    for_landmarks: bool = True,
) -> Outcome:
    """Learn metrics of all kinds from the rows, in float64, and choose.

    Parameters
    ----------
    kernel : a kernel of differences with gamma 1
    rows : Rows
        Arrays, or tensors: all is computed where they are. Columns should be of about the same size.
    rng : numpy.random.Generator
    kinds : tuple of str or None, default=None
        Some of `KINDS`, "plain" among them, or all that the kernel can have.
    scales : array (n_features,) or None, default=None
        What the columns were multiplied by to be of about the same size: ``rows.X`` is ``X * scales``. The plain metric
        is that of X, and the outcome is for X. Other metrics start from the better of the two: columns of one unit,
        such as pixels, are often better as they are.
    classes : bool, default=False
        Whether targets are 1 for the class of a row and -1 for others: wrong classes are counted. Otherwise errors are
        squared.
    schedule : Schedule
    n_threads : int, default=1
        For batches side by side, on the CPU.
    for_landmarks : bool, default=True
        Whether the winner gets the width that machines with landmarks want: who chooses gamma afterwards needs none.
    """
    kinds = kinds_of(kernel) if kinds is None else kinds
    if not set(kinds) <= set(kinds_of(kernel)):
        raise ParameterError("metric", "full", "'diag' or 'auto' for kernels of L1 distances, which no matrix changes")
    arrays = arrays_of(rows.X)
    rows = Rows(*(arrays.asarray(each, "float64") for each in tuple(rows)))
    before = np.ones(rows.X.shape[1]) if scales is None else 1.0 / np.asarray(on_host(scales), float)
    rows = rows[rng.permutation(len(rows.X))]
    court = _Court(kernel, rows, number_of_judges(len(rows.X)), classes, schedule, rng, _threads(arrays, n_threads))
    with blas_threads(None):  # each product on one thread: there are many of them side by side
        final = court.final(before, kinds)
        best = kinds[0]
        for kind in kinds[1:]:
            if is_better(final[kind], final[best], OVER_PLAIN if best == "plain" else OVER_LEARNED):
                best = kind
        A, ridge = court.with_best_width(final[best].point) if for_landmarks else final[best].point
    return Outcome(best, Point(arrays.host(A) / before, ridge), {kind: each.error for kind, each in final.items()})


def _threads(arrays, n_threads):
    return ONE_THREAD if arrays.is_torch else Threads(n_threads)


def number_of_judges(n_rows: int) -> int:
    """How many rows judge metrics that are learned from the others."""
    few = min(_FEW_JUDGES, int(_LARGEST_SHARE * n_rows))
    return min(max(int(_JUDGE_SHARE * n_rows), few), _MOST_JUDGES)


class _Court(NamedTuple):
    """All that metrics are learned from and judged by."""

    kernel: Any
    rows: Rows  # the first of them are the judges
    n_judges: int
    classes: bool
    schedule: Schedule
    rng: np.random.Generator
    threads: Threads

    @property
    def learned(self) -> Rows:
        return self.rows[self.n_judges :]

    def judge(self, point, most_leaves=None) -> Judgment:
        """By all judges, or by those in some leaves."""
        some, options = self.rows[:_MOST_COURT], {"classes": self.classes, "threads": self.threads}
        return judge(self.kernel, point, some, self.n_judges, self.rng, most_leaves=most_leaves, **options)

    def learn(self, way, *start) -> Any:
        """What comes of one of the ways in `entrants`."""
        return way(self.kernel, self.learned, *start, self.schedule, self.rng, self.threads)

    def with_best_width(self, point) -> Point:
        trial = trial_on(arrays_of(self.rows.X))
        judges = self.rows[: min(self.n_judges, trial.n_fitted // 2)]
        return with_best_width(self.kernel, point, trial, self.learned, judges, self.threads)

    def final(self, before, kinds) -> dict[str, Judgment]:
        """The best metric of each kind, for the rows; ``before`` are the factors of the plain one."""
        arrays = arrays_of(self.rows.X)
        starts = [self.learn(best_start, arrays.asarray(before))]
        found = {"plain": self.judge(starts[0].point)} if "plain" in kinds else {}
        if set(kinds) == {"plain"}:
            return found
        if (before != 1.0).any():
            starts.append(self.learn(best_start, arrays.asarray(np.ones_like(before))))
        start = min(starts, key=lambda each: each.loss).point
        factors = self.learn(learned_factors, start)
        if "factors" in kinds:
            found["factors"] = self.judge(factors)
        if "matrix" in kinds:
            found["matrix"] = self._best_matrix(start, factors)
        return found

    def _best_matrix(self, start, factors) -> Judgment:
        ways = (start, self.schedule.n_rounds), (factors, 1), (factors, 0)
        if len(factors.A) > MOST_DIRECTIONS:
            ways = ways[:-1]
        matrices = [self._in_some_leaves(self.learn(next_matrix, *way)) for way in ways]
        best = min(matrices, key=lambda each: each.squared_error)
        if is_worth_polishing(best.point, len(self.learned.X)):
            best = min(
                best, self._in_some_leaves(self.learn(polished, best.point)), key=lambda each: each.squared_error
            )
        return self.judge(best.point)

    def _in_some_leaves(self, point) -> Judgment:
        return self.judge(point, _SOME_LEAVES)
