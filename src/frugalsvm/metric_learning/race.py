"""Which metric is the best: the plain one, a factor for each feature, or a matrix. Told by rows none of them saw.

Metrics are learned from most rows (`entrants`). A part of the rows is kept out of it: on these, small machines with
each metric are compared (`judges`). There may be several matrices: heats tell which of them goes to the final. There,
from the gentlest metric to the richest, one takes the lead only if it is better by more than two standard errors.
"""

from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from frugalsvm._threads import ONE_THREAD, Threads, blas_threads
from frugalsvm.arrays.namespace import arrays_of, on_host
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
from frugalsvm.metric_learning.judges import HEAT, Judgment, final_on, is_better, judge
from frugalsvm.metric_learning.machine import Rows

__all__ = ["KINDS", "Outcome", "kinds_of", "number_of_judges", "race"]

KINDS = ("plain", "factors", "matrix")
_JUDGE_SHARE, _MOST_JUDGES = 0.15, 4096
_MOST_THREADS = 4
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
        For products on the CPU, and for judgments side by side.
    """
    kinds = kinds_of(kernel) if kinds is None else kinds
    if not set(kinds) <= set(kinds_of(kernel)):
        raise ParameterError("metric", "full", "'diag' or 'auto' for kernels of L1 distances, which no matrix changes")
    arrays = arrays_of(rows.X)
    rows = Rows(*(arrays.asarray(each, "float64") for each in tuple(rows)))
    before = np.ones(rows.X.shape[1]) if scales is None else 1.0 / np.asarray(on_host(scales), float)
    order = rng.permutation(len(rows.X))
    n_judges = number_of_judges(len(order))
    judges, learned = rows[order[:n_judges]], rows[order[n_judges:]]
    court = _Court(kernel, learned, judges, classes, ONE_THREAD if arrays.is_gpu else Threads(n_threads))
    # Products are small: more threads take longer to be woken than to multiply.
    with blas_threads(min(n_threads, _MOST_THREADS)):
        finalists = _finalists(court, before, kinds, schedule, rng)
    final = dict(zip(kinds, court.judge_all([finalists[kind] for kind in kinds], final_on(arrays)), strict=True))
    best = kinds[0]
    for kind in kinds[1:]:
        if is_better(final[kind], final[best]):
            best = kind
    A, ridge = final[best].point
    return Outcome(best, Point(arrays.host(A) / before, ridge), {kind: each.error for kind, each in final.items()})


def number_of_judges(n_rows: int) -> int:
    """How many rows judge metrics that are learned from the others."""
    few = min(_FEW_JUDGES, int(_LARGEST_SHARE * n_rows))
    return min(max(int(_JUDGE_SHARE * n_rows), few), _MOST_JUDGES)


class _Court(NamedTuple):
    """All that metrics are learned from and judged by."""

    kernel: Any
    learned: Rows
    judges: Rows
    classes: bool
    threads: Threads

    def judge(self, point, trial) -> Judgment:
        return self.judge_all([point], trial)[0]

    def judge_all(self, points, trial) -> list[Judgment]:
        def one(point):
            return judge(
                self.kernel, point, trial, self.learned, self.judges, classes=self.classes, threads=self.threads
            )

        with self._one_each():
            return self.threads.run(one, points, shares=True)

    def descended(self, way, start, schedule, rng) -> Point:
        """What comes of small steps, by one of the ways in `entrants`."""
        with self._one_each():
            return way(self.kernel, self.learned, start, schedule, rng, self.threads)

    def _one_each(self):
        """Matrix products on one thread each, where there are several to run them side by side."""
        return blas_threads(None) if self.threads.count > 1 else nullcontext()

    def after_heat(self, point) -> Point:
        """With the width and the ridge that do best."""
        return self.judge(point, HEAT).point


def _finalists(court, before, kinds, schedule, rng) -> dict[str, Point]:
    """One metric of each kind, for the rows; ``before`` are the factors of the plain one."""
    kernel, rows, arrays = court.kernel, court.learned, arrays_of(court.learned.X)
    starts = [court.judge(best_start(kernel, rows, arrays.asarray(before), schedule, rng), HEAT)]
    found = {"plain": starts[0].point}
    if kinds == ("plain",):
        return found
    if (before != 1.0).any():
        starts.append(court.judge(best_start(kernel, rows, arrays.asarray(np.ones_like(before)), schedule, rng), HEAT))
    start = min(starts, key=lambda each: each.squared_error).point
    factors = court.descended(learned_factors, start, schedule, rng)
    if "factors" in kinds:
        found["factors"] = court.after_heat(factors)
    if "matrix" in kinds:
        found["matrix"] = _best_matrix(court, start, factors, schedule, rng)
    return found


def _best_matrix(court, start, factors, schedule, rng) -> Point:
    kernel, rows = court.kernel, court.learned
    matrices = [
        court.judge(next_matrix(kernel, rows, point, n_rounds, schedule, rng), HEAT)
        for point, n_rounds in ((start, schedule.n_rounds), (factors, 1))
    ]
    best = min(matrices, key=lambda each: each.squared_error).point
    if is_worth_polishing(best, len(rows.X)):
        matrices.append(court.judge(court.descended(polished, best, schedule, rng), HEAT))
    return min(matrices, key=lambda each: each.squared_error).point
