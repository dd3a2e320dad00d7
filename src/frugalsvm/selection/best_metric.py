"""Which metric is the best: the plain one, a factor for each feature, or a matrix. Told by rows none of them saw.

Metrics are learned from most rows (`frugalsvm.metric_learning.candidates`). A part of the rows is kept out of it: these
judge. They and other rows are divided into leaves of a tree in the metric, and each judge is predicted by a machine of
the other rows of its leaf: a leave-one-out error. Metrics are compared by what counts: wrong classes, or squared
errors. From the gentlest metric to the richest, one is preferred only if it is better by more than two standard errors,
or one where both are learned. The best gets the width that machines with landmarks want (`widths`).
"""

from typing import Any, NamedTuple

import numpy as np

from frugalsvm.arrays.namespace import arrays_of, on_host
from frugalsvm.compiling.threads import ONE_THREAD, Threads, blas_threads
from frugalsvm.core.blocks import is_of_products
from frugalsvm.core.capabilities import offers
from frugalsvm.core.moments import moments_of
from frugalsvm.core.seen_rows import Metric, mapped, new_metric
from frugalsvm.exceptions import ParameterError
from frugalsvm.metric_learning.agop import MOST_DIRECTIONS
from frugalsvm.metric_learning.candidates import (
    SCHEDULE,
    Point,
    Schedule,
    best_start,
    is_worth_polishing,
    learned_factors,
    next_matrix,
    polished,
)
from frugalsvm.metric_learning.machine import Rows, for_each, kernel_values, leaves, machine_of
from frugalsvm.selection.judging import Judgment, better_by, row_losses
from frugalsvm.selection.widths import resources_on, with_best_width

KINDS = ("plain", "factors", "matrix")
_JUDGE_SHARE, _MOST_JUDGES = 0.15, 2**14
_MOST_ROWS = 2**15  # that judge, and that predict them
_SOME_LEAVES = 16  # that tell which of several matrices to go on with
_FEW_JUDGES, _LARGEST_SHARE = 1000, 0.25  # where rows are few
_LEAF_ROWS = 512
# Standard errors. On mere noise, one of two other metrics passes the plain one in about a tenth of cases; with one
# standard error, in a quarter.
_OVER_PLAIN, _OVER_LEARNED = 2.0, 1.0


class BestMetric(NamedTuple):
    """The metric to take, and how good all kinds are."""

    kind: str  # of `KINDS`
    point: Point  # on the host; for columns as they were before they were scaled, and for a kernel with gamma 1
    errors: dict[str, float]  # mean losses of the judges, of all kinds that were compared


def kinds_of(kernel: Any) -> tuple[str, ...]:
    """The kinds of metrics that a kernel can have: a matrix changes Euclidean distances, not those of L1."""
    return KINDS if is_of_products(kernel) else KINDS[:-1]


def best_metric(
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
) -> BestMetric:
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
        is that of X, and the best one is for X. Other metrics start from the better of the two: columns of one unit,
        such as pixels, are often better as they are.
    classes : bool, default=False
        Whether targets are 1 for the class of a row and -1 for others: wrong classes are counted. Otherwise errors are
        squared.
    schedule : Schedule
    n_threads : int, default=1
        For batches side by side, on the CPU.
    for_landmarks : bool, default=True
        Whether the best one gets the width that machines with landmarks want: who chooses gamma afterwards needs none.
    """
    kinds = kinds_of(kernel) if kinds is None else kinds
    if not set(kinds) <= set(kinds_of(kernel)):
        raise ParameterError("metric", "full", "'diag' or 'auto' for kernels of L1 distances, which no matrix changes")
    arrays = arrays_of(rows.X)
    rows = Rows(*(arrays.asarray(each, "float64") for each in tuple(rows)))
    before = np.ones(rows.X.shape[1]) if scales is None else 1.0 / np.asarray(on_host(scales), float)
    rows = rows[rng.permutation(len(rows.X))]
    threads = ONE_THREAD if arrays.is_torch else Threads(n_threads)
    comparison = _Comparison(kernel, rows, number_of_judges(len(rows.X)), classes, schedule, rng, threads)
    with blas_threads(None):  # each product on one thread: there are many of them side by side
        found = comparison.run(before, kinds)
        best = kinds[0]
        for kind in kinds[1:]:
            gain, error = better_by(found[kind].judgment, found[best].judgment)
            if gain > (_OVER_PLAIN if best == "plain" else _OVER_LEARNED) * error:
                best = kind
        A, ridge = comparison.with_best_width(found[best].point) if for_landmarks else found[best].point
    errors = {kind: each.judgment.error for kind, each in found.items()}
    return BestMetric(best, Point(arrays.host(A) / before, ridge), errors)


def number_of_judges(n_rows: int) -> int:
    """How many rows judge metrics that are learned from the others."""
    few = min(_FEW_JUDGES, int(_LARGEST_SHARE * n_rows))
    return min(max(int(_JUDGE_SHARE * n_rows), few), _MOST_JUDGES)


class JudgedMetric(NamedTuple):
    point: Point
    judgment: Judgment  # of the judges, in their order

    @property
    def squared_error(self) -> float:
        return self.judgment.squared_error


def judged_metric(
    kernel: Any,
    point: Point,
    rows: Rows,
    n_judges: int,
    rng: np.random.Generator,
    *,
    classes: bool,
    most_leaves: int | None = None,
    threads: Threads = ONE_THREAD,
) -> JudgedMetric:
    """The errors of machines with a metric on the judges, which are the first rows, or on those in some leaves."""
    U = mapped(rows.X, point.A)
    index = leaves(U, _LEAF_ROWS, rng)
    index = index[rng.permutation(len(index))[:most_leaves]]

    def errors_of(part):
        return on_host(machine_of(kernel_values(kernel, part.X, part.X), point.ridge, part).errors)

    errors = np.empty(rows.targets.shape)
    found = for_each(errors_of, rows._replace(X=U), index, threads)
    index = on_host(index)
    errors[index] = np.reshape(found, (*index.shape, -1))
    judges = np.sort(index[index < n_judges])
    errors, targets, weights = errors[judges], on_host(rows.targets)[judges], on_host(rows.weights)[judges]
    losses, _ = row_losses((targets - errors).T, targets.T, classes=classes)
    return JudgedMetric(point, Judgment(losses, (errors**2).sum(axis=1), weights, np.zeros(len(judges), np.int64)))


class _Comparison(NamedTuple):
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

    def judge(self, point, most_leaves=None) -> JudgedMetric:
        """By all judges, or by those in some leaves."""
        some, options = self.rows[:_MOST_ROWS], {"classes": self.classes, "threads": self.threads}
        return judged_metric(self.kernel, point, some, self.n_judges, self.rng, most_leaves=most_leaves, **options)

    def learn(self, way, *start) -> Any:
        """What comes of one of the ways to learn a candidate."""
        return way(self.kernel, self.learned, *start, self.schedule, self.rng, self.threads)

    def with_best_width(self, point) -> Point:
        resources = resources_on(arrays_of(self.rows.X))
        judges = self.rows[: min(self.n_judges, resources.n_fitted // 2)]
        return with_best_width(self.kernel, point, resources, self.learned, judges)

    def run(self, before, kinds) -> dict[str, JudgedMetric]:
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

    def _best_matrix(self, start, factors) -> JudgedMetric:
        ways = (start, self.schedule.n_rounds), (factors, 1), (factors, 0)
        if len(factors.A) > MOST_DIRECTIONS:
            ways = ways[:-1]
        matrices = [self.judge(self.learn(next_matrix, *way), _SOME_LEAVES) for way in ways]
        best = min(matrices, key=lambda each: each.squared_error)
        if is_worth_polishing(best.point, len(self.learned.X)):
            other = self.judge(self.learn(polished, best.point), _SOME_LEAVES)
            best = min(best, other, key=lambda each: each.squared_error)
        return self.judge(best.point)


# --- what a metric is made of, and what becomes of it ----------------------------------------------------------------


def spreads_of(X: np.ndarray) -> np.ndarray:
    """How far apart the values of each feature are: half the range of the middle 68 %, whatever outliers there are.

    The standard deviation where most values are equal, and 0 where all are.
    """
    low, high = np.percentile(X, (16, 84), axis=0)
    half, deviation = (high - low) / 2.0, (X - X[:1]).std(axis=0)  # differences: those of a constant are exactly 0
    return np.where(half > 0, half, deviation)


def as_usual(
    A: np.ndarray, kernel: Any, X: np.ndarray, center: np.ndarray, scales: np.ndarray, narrowing: float
) -> Metric:
    """A metric under which rows are as far apart as without it, so that gamma means what it always means."""
    before, after = moments_of(X), moments_of(mapped(X, A))
    if offers(kernel, "l1"):
        ratio = np.sqrt(before.var).sum() / max(np.sqrt(after.var).sum(), np.finfo(float).tiny)
        return new_metric(ratio * A, center, scales, float(np.sqrt(narrowing) / ratio))
    ratio = before.var.sum() / max(after.var.sum(), np.finfo(float).tiny)
    return new_metric(np.sqrt(ratio) * A, center, scales, float(narrowing / ratio))
