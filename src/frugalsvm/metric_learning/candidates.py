"""Candidates for the best metric: how each of them is learned, from the gentlest to the richest.

- The plain metric: all features alike, with a width and a ridge.
- A matrix of average gradient outer products from there: gentle, good where features are alike, helpless against noise.
- A factor for each feature, by steps that go on as long as they pay: features that are noise lose theirs.
- A matrix of average gradient outer products from the factors, and that of the factors themselves.
- The best of these matrices, after a few steps where there are rows enough for the numbers of a matrix.

Steps go along gradients of leave-one-out losses, each of new batches, and are Adam's; the metric is the mean of the
last third of them, when they have become short. What they cost hardly depends on the number of rows.

D. P. Kingma and J. Ba, "Adam: a method for stochastic optimization", 2015.
"""

from typing import Any, NamedTuple

import numpy as np

from frugalsvm.arrays.namespace import arrays_of, on_host
from frugalsvm.compiling.threads import ONE_THREAD, Threads
from frugalsvm.core.seen_rows import mapped
from frugalsvm.metric_learning.agop import agop
from frugalsvm.metric_learning.machine import Rows, judged, mean_losses, median_distance, some_leaves

# --- the way down ----------------------------------------------------------------------------------------------------

_MOMENTS = 0.9, 0.99
_TINY = 1e-12
_RIDGE_BOUNDS = 1e-7, 1.0  # the smallest and the largest
_RIDGE_RATE = 0.15  # of its logarithm
_STEPS_PER_TREE = 8  # it is one of the metric when it was grown


class Plan(NamedTuple):
    rate: float  # length of a step: of logarithms of factors; for a matrix, in units of the largest number of a column
    n_steps: int
    n_rows: int = 256  # of a batch
    n_batches: int = 4  # of a step

    def share_at(self, step: int) -> float:
        """The length of a step, in full ones: 1 for the first half, then falling to zero."""
        return min(1.0, 2.0 * (1.0 - step / self.n_steps))


class _Batches:
    """The batches of each step: leaves of a tree, each of them once, and then those of another one."""

    def __init__(self, rows, plan, rng):
        self.rows, self.plan, self.rng, self._waiting = rows, plan, rng, []

    def at(self, A):
        """Neighbors in a metric."""
        plan = self.plan
        if len(self._waiting) == 0:
            self._waiting = some_leaves(self.rows.X, A, plan.n_rows, _STEPS_PER_TREE * plan.n_batches, self.rng)
        found, self._waiting = self._waiting[: plan.n_batches], self._waiting[plan.n_batches :]
        return found


class Point(NamedTuple):
    """A metric, as factors of features (d,) or as a matrix (d, d), and the ridge that goes with it."""

    A: Any
    ridge: float


class _Adam:
    """Steps of about the same length for all parameters, whatever the sizes of their gradients."""

    def __init__(self):
        self._mean = self._square = 0.0
        self._n_steps = 0

    def step(self, gradient):
        self._n_steps += 1
        fast, slow = _MOMENTS
        self._mean = fast * self._mean + (1 - fast) * gradient
        self._square = slow * self._square + (1 - slow) * gradient**2
        mean, square = self._mean / (1 - fast**self._n_steps), self._square / (1 - slow**self._n_steps)
        return mean / (square**0.5 + _TINY)


def descend(
    kernel: Any, rows: Rows, start: Point, plan: Plan, rng: np.random.Generator, threads: Threads = ONE_THREAD
) -> Point:
    """A better metric than the one at the start, of the same kind."""
    walk, batches = (_Factors if start.A.ndim == 1 else _Matrix)(start.A), _Batches(rows, plan, rng)
    xp = arrays_of(start.A).xp
    log_ridge, (least, most) = xp.log(_number(start.A, start.ridge)), np.log(_RIDGE_BOUNDS)
    steps, ridge_steps, last = _Adam(), _Adam(), []
    for step in range(plan.n_steps):
        found = judged(kernel, walk.A, xp.exp(log_ridge), rows, batches.at(walk.A), threads)
        share = plan.share_at(step)
        walk.move(plan.rate * share * steps.step(walk.gradient(found.gradient)))
        log_ridge = xp.clip(log_ridge - _RIDGE_RATE * share * ridge_steps.step(found.ridge_slope), least, most)
        if step >= 2 * plan.n_steps // 3:
            last.append((walk.parameters, log_ridge))
    parameters, log_ridges = zip(*last, strict=True)
    walk.parameters = sum(parameters) / len(parameters)
    return Point(walk.A, float(xp.exp(sum(log_ridges) / len(log_ridges))))


def _number(A, value):
    """A number where A is: on a device, none is waited for then."""
    return arrays_of(A).asarray(np.array(value, np.float64))


class _Factors:
    def __init__(self, A):
        self._xp = arrays_of(A).xp
        self.parameters = self._xp.log(A)

    A = property(lambda self: self._xp.exp(self.parameters))

    def gradient(self, gradient):
        return self.A * gradient

    def move(self, step):
        self.parameters = self.parameters - step


class _Matrix:
    def __init__(self, A):
        xp = arrays_of(A).xp
        self.parameters, self._units = A, xp.max(xp.abs(A), axis=0)  # of each feature: so its unit does not matter

    A = property(lambda self: self.parameters)

    def gradient(self, gradient):
        return gradient

    def move(self, step):
        self.parameters = self.parameters - self._units * step


# --- candidates ------------------------------------------------------------------------------------------------------

_WIDTHS = 0.1, 0.3, 1.0, 3.0, 10.0  # median squared distances, to begin with
_RIDGES = 1e-6, 1e-5, 1e-4, 1e-3
_OTHER_WIDTHS, _OTHER_RIDGES = (0.5, 1.0, 2.0), (0.1, 1.0, 10.0)  # factors, for the next matrix
_LOST, _PROBED = 0.1, 0.3  # shares of the largest factor: what is below, and what it is tried with
_MOST_PROBED, _PROBES = 64, 4  # features, and leaves
_OF_USE = 0.01  # of the loss that a feature must save
_JUDGING_LEAVES, _JUDGING_SIZE = 128, 128  # many small ones: a few large ones may all be of easy rows
_PAYS = 0.03  # of the loss, that more steps must save
_MOST_TIMES, _PATIENCE = 16, 2  # rounds of more steps, and how many of them in a row may save less
_ROWS_PER_NUMBER = 2  # of a matrix that is polished
_MANY_FEATURES, _LEAST_SHARE = 128, 0.25  # steps for factors of more are fewer, but for this share of them
_MOST_PRODUCTS = 2**31  # multiplications for outer products: with many features, fewer batches are enough
_LEAST_BATCHES = 4


class Schedule(NamedTuple):
    """The steps of all candidates."""

    factors: Plan = Plan(0.15, 50)
    farther: Plan = Plan(0.2, 12, 256, 8)  # factors again, as long as it pays
    last: Plan = Plan(0.1, 24, 512, 2)  # and once more in smaller steps, which end closer to the best
    matrix: Plan = Plan(0.02, 20, 256, 8)
    n_rounds: int = 2  # of average gradient outer products from the plain metric
    n_batches: int = 16  # of these


SCHEDULE = Schedule()


class Start(NamedTuple):
    """A metric at its best width and ridge."""

    point: Point
    loss: float


def best_start(
    kernel: Any,
    rows: Rows,
    factors: Any,
    schedule: Schedule,
    rng: np.random.Generator,
    threads: Threads = ONE_THREAD,
) -> Start:
    """These factors times the best of a few widths, and a ridge."""
    plan = schedule.factors
    batches = some_leaves(rows.X, factors, plan.n_rows, plan.n_batches, rng)
    unit = factors / median_distance(kernel, mapped(rows.X, factors), rng)
    return _best_width(kernel, rows, Point(unit, 1.0), _WIDTHS, _RIDGES, batches, threads)


def _best_width(kernel, rows, point, widths, ridges, batches, threads) -> Start:
    """The best of some factors of squared distances and of the ridge."""
    found = []
    for width in widths:
        A, all_ridges = point.A * width**0.5, [point.ridge * factor for factor in ridges]
        losses = mean_losses(kernel, A, all_ridges, rows, batches, threads)
        found += [Start(Point(A, ridge), loss) for loss, ridge in zip(losses, all_ridges, strict=True)]
    return min(found, key=lambda each: each.loss)


def learned_factors(
    kernel: Any,
    rows: Rows,
    start: Point,
    schedule: Schedule,
    rng: np.random.Generator,
    threads: Threads = ONE_THREAD,
) -> Point:
    """A factor for each feature; with many of them, each step takes longer, and there are fewer."""
    share = max(_LEAST_SHARE, min(1.0, _MANY_FEATURES / rows.X.shape[1]))
    first, last = (plan._replace(n_steps=round(share * plan.n_steps)) for plan in (schedule.factors, schedule.last))
    found = descend(kernel, rows, start, first, rng, threads)
    found = _as_far_as_it_pays(kernel, rows, found, schedule.farther, rng, threads)
    found = _with_lost(kernel, rows, found, last, rng, threads)
    return descend(kernel, rows, found, last, rng, threads)


def _as_far_as_it_pays(kernel, rows, start, plan, rng, threads) -> Point:
    """More steps, as long as they save some of the loss: a factor may have to grow a thousandfold.

    The losses are those of different leaves, as each metric has its own: so one that is no smaller may be chance.
    """

    def loss(point):
        batches = some_leaves(rows.X, point.A, _JUDGING_SIZE, _JUDGING_LEAVES, rng)
        return mean_losses(kernel, point.A, [point.ridge], rows, batches, threads)[0]

    best, least, misses = start, loss(start), 0
    for _ in range(_MOST_TIMES):
        start = descend(kernel, rows, start, plan, rng, threads)
        after = loss(start)
        misses = 0 if after < (1.0 - _PAYS) * least else misses + 1
        if after < least:
            best, least = start, after
        if misses == _PATIENCE:
            break
    return best


def _with_lost(kernel, rows, point, plan, rng, threads) -> Point:
    """Factors with those features that were lost on the way and are of use now.

    A feature that only matters together with others may look like noise until the noise is gone.
    """
    A = on_host(point.A)
    lost = np.flatnonzero(_LOST * A.max() > A)
    if not 0 < len(lost) < len(A) <= _MOST_PROBED:
        return point
    arrays, batches = arrays_of(point.A), some_leaves(rows.X, point.A, plan.n_rows, _PROBES, rng)

    def loss(A):
        return mean_losses(kernel, arrays.asarray(A), [point.ridge], rows, batches, threads)[0]

    size, limit = _PROBED * A.max(), (1.0 - _OF_USE) * loss(A)
    found = [k for k in lost if loss(np.where(np.arange(len(A)) == k, size, A)) < limit]
    return point._replace(A=arrays.asarray(np.where(np.isin(np.arange(len(A)), found), size, A)))


def next_matrix(
    kernel: Any,
    rows: Rows,
    start: Point,
    n_rounds: int,
    schedule: Schedule,
    rng: np.random.Generator,
    threads: Threads = ONE_THREAD,
) -> Point:
    """A matrix of average gradient outer products, at its best width; after no rounds, that of the factors."""
    plan, A = schedule.matrix, start.A
    for _ in range(n_rounds):
        batches = some_leaves(rows.X, A, plan.n_rows, _number_of_batches(rows, plan.n_rows, schedule), rng)
        A = agop(kernel, A, start.ridge, rows, batches, rng, threads)
    if A.ndim == 1:
        A = arrays_of(A).asarray(np.diag(on_host(A)))
    batches = some_leaves(rows.X, A, plan.n_rows, plan.n_batches, rng)
    return _best_width(kernel, rows, Point(A, start.ridge), _OTHER_WIDTHS, _OTHER_RIDGES, batches, threads).point


def _number_of_batches(rows, size, schedule):
    per_batch = size**2 * rows.targets.shape[1] * rows.X.shape[1]
    return min(schedule.n_batches, max(_LEAST_BATCHES, _MOST_PRODUCTS // per_batch))


def is_worth_polishing(matrix: Point, n_rows: int) -> bool:
    """Whether there are rows enough for all numbers of a matrix."""
    return n_rows >= _ROWS_PER_NUMBER * len(matrix.A) ** 2


def polished(
    kernel: Any,
    rows: Rows,
    start: Point,
    schedule: Schedule,
    rng: np.random.Generator,
    threads: Threads = ONE_THREAD,
) -> Point:
    """A matrix after some steps; if it has fewer directions than there are features, among these."""
    n_directions, n_features = start.A.shape
    if n_directions == n_features:
        return descend(kernel, rows, start, schedule.matrix, rng, threads)
    arrays = arrays_of(start.A)
    left, sizes, directions = np.linalg.svd(arrays.host(start.A), full_matrices=False)
    own, directions = arrays.asarray(left * sizes), arrays.asarray(directions)
    found = descend(
        kernel, rows._replace(X=rows.X @ directions.T), Point(own, start.ridge), schedule.matrix, rng, threads
    )
    return Point(found.A @ directions, found.ridge)
