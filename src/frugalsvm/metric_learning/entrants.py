"""Who takes part in a race of metrics: how each of them is learned, from the gentlest to the richest.

- The plain metric: all features alike, with a width and a ridge.
- A matrix of average gradient outer products from there: gentle, good where features are alike, helpless against noise.
- A factor for each feature, by small steps and then some with larger batches: features that are noise lose theirs.
- A matrix of average gradient outer products from the factors.
- The better of the two matrices after a few steps with larger batches, where rows are enough for so many numbers.
"""

from typing import Any, NamedTuple

import numpy as np

from frugalsvm._threads import ONE_THREAD, Threads
from frugalsvm.arrays.namespace import arrays_of
from frugalsvm.core.metric import mapped
from frugalsvm.metric_learning.agop import agop
from frugalsvm.metric_learning.descent import Plan, Point, descend
from frugalsvm.metric_learning.held_out import held_out_loss
from frugalsvm.metric_learning.machine import Rows, median_distance

__all__ = ["SCHEDULE", "Schedule", "best_start", "is_worth_polishing", "learned_factors", "next_matrix", "polished"]

_WIDTHS = 0.1, 0.3, 1.0, 3.0, 10.0  # median squared distances, to begin with
_RIDGES = 1e-6, 1e-5, 1e-4, 1e-3
_ROWS_PER_NUMBER = 2  # of a matrix that is polished
_AGOP_ROWS = 8192
_MANY_FEATURES, _LEAST_SHARE = 128, 0.25  # steps for factors of more are fewer, but for this share of them


class Schedule(NamedTuple):
    """The steps of all entrants."""

    factors: tuple[Plan, ...] = (Plan(0.15, 80, 1024, 512, 192), Plan(0.1, 20, 4096, 2048, 512))
    matrix: Plan = Plan(0.01, 20, 4096, 2048, 512)
    n_rounds: int = 2  # of average gradient outer products from the plain metric
    n_landmarks: int = 1024  # of these


SCHEDULE = Schedule()


def best_start(kernel: Any, rows: Rows, factors: Any, schedule: Schedule, rng: np.random.Generator) -> Point:
    """These factors times the best of a few widths, and a ridge, on one batch."""
    batch = schedule.factors[0].batch(rows, rng)
    unit = factors / median_distance(kernel, mapped(rows.X, factors), rng)
    points = [Point(unit * width**0.5, ridge) for width in _WIDTHS for ridge in _RIDGES]
    return min(points, key=lambda point: held_out_loss(kernel, point.A, point.ridge, batch))


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
    for plan in schedule.factors:
        start = descend(kernel, rows, start, plan._replace(n_steps=round(share * plan.n_steps)), rng, threads)
    return start


def next_matrix(
    kernel: Any, rows: Rows, start: Point, n_rounds: int, schedule: Schedule, rng: np.random.Generator
) -> Point:
    """A matrix of average gradient outer products."""
    A = start.A
    for _ in range(n_rounds):
        A = agop(kernel, A, start.ridge, rows[:_AGOP_ROWS], schedule.n_landmarks, rng)
    return Point(A, start.ridge)


def is_worth_polishing(matrix: Point, n_rows: int) -> bool:
    """Whether there are rows enough for so many numbers."""
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
