"""Which metric is the best: one for all features alike, a factor for each, or a matrix. Told by rows none of them saw.

Metrics are learned from most rows, each from the one before. A part of the rows is kept out of it: on these, small
machines with each metric are compared. A richer metric wins only if it is better by more than chance: by more than a
standard error of the mean difference of squared errors, row by row.
"""

from typing import Any, NamedTuple

import numpy as np

from frugalsvm.core.blocks import kernel_matrix
from frugalsvm.metric_learning.descent import FACTORS, MATRIX, Plan, Point, descend
from frugalsvm.metric_learning.held_out import Rows, in_metric, judged, solver

__all__ = ["KINDS", "Outcome", "race"]

KINDS = ("plain", "factors", "matrix")
_JUDGE_SHARE, _MOST_JUDGES = 0.15, 4096
_MOST_FITTED, _MOST_LANDMARKS = 8192, 512
_WIDTHS = 0.1, 0.3, 1.0, 3.0, 10.0  # median squared distances, to begin with
_RIDGES = 1e-6, 1e-5, 1e-4, 1e-3
_NEAR_WIDTHS, _NEAR_RIDGES = (0.5, 1.0, 2.0), (0.1, 1.0, 10.0)  # times what was learned
_PAIRS = 4096  # of rows, for the median distance
_JITTER = 1e-9


class Outcome(NamedTuple):
    """What came of a race."""

    kind: str  # of `KINDS`
    point: Point
    errors: dict[str, float]  # mean squared errors on the judges, of all kinds that took part


def race(
    kernel: Any, rows: Rows, rng: np.random.Generator, *, kinds=KINDS, plans=None, classes=False, scales=None
) -> Outcome:
    """Learn metrics of all kinds from the rows, in float64, and choose.

    ``kinds`` are some of `KINDS` in their order, "plain" among them. Columns should be of about the same size.
    """
    plans = plans or {"factors": FACTORS, "matrix": MATRIX}
    order = rng.permutation(len(rows.X))
    n_judges = min(int(_JUDGE_SHARE * len(order)), _MOST_JUDGES)
    judges, learned = rows[order[:n_judges]], rows[order[n_judges:]]
    point = _start(kernel, learned, plans["factors"], rng)
    points = {"plain": point}
    if "factors" in kinds or "matrix" in kinds:
        points["factors"] = point = descend(kernel, learned, point, plans["factors"], rng)
    if "matrix" in kinds:
        points["matrix"] = descend(kernel, learned, Point(np.diag(point.A), point.ridge), plans["matrix"], rng)
    found = {kind: _judge(kernel, points[kind], learned, judges) for kind in kinds}
    best = "plain"
    for kind in kinds:
        if _is_better(found[kind].squares, found[best].squares, judges.weights):
            best = kind
    return Outcome(best, found[best].point, {kind: each.error for kind, each in found.items()})


def _start(kernel, rows, plan: Plan, rng) -> Point:
    """The same factor for all features, and a ridge: the best of a few on one batch."""
    batch, unit = plan.batch(rows, rng), 1.0 / np.sqrt(_median_square(rows.X, rng))
    points = [Point(np.full(rows.X.shape[1], unit * np.sqrt(width)), ridge) for width in _WIDTHS for ridge in _RIDGES]
    return min(points, key=lambda point: judged(kernel, point.A, point.ridge, batch, diagonal=True).loss)


def _median_square(X, rng):
    """The median squared distance of two rows, or the mean where half of them are equal."""
    first, second = rng.integers(len(X), size=(2, _PAIRS))
    squares = np.square(X[first] - X[second]).sum(axis=1)
    return float(np.median(squares)) or float(squares.mean()) or 1.0


class _Judged(NamedTuple):
    point: Point
    squares: np.ndarray  # of the errors of each judge, all outputs together
    error: float


def _judge(kernel, point, rows, judges) -> _Judged:
    """The errors of a machine with a metric on the judges; widths and ridges near those at hand take part."""
    fitted = rows[np.arange(min(len(rows.X), _MOST_FITTED))]
    Z = fitted.X[:_MOST_LANDMARKS]
    best = None
    for width in _NEAR_WIDTHS:
        A = point.A * np.sqrt(width)
        U_z = in_metric(A, Z)
        K, K_j, K_m = (kernel_matrix(kernel, in_metric(A, X), U_z) for X in (fitted.X, judges.X, Z))
        weighted = K * fitted.weights[:, None]
        square, right = weighted.T @ K, weighted.T @ fitted.targets
        for factor in _NEAR_RIDGES:
            H = square + point.ridge * factor * fitted.weights.sum() * K_m
            squares = np.square(judges.targets - K_j @ solver(H, _JITTER)(right)).sum(axis=1)
            error = float(np.average(squares, weights=judges.weights))
            if best is None or error < best.error:
                best = _Judged(Point(A, point.ridge * factor), squares, error)
    assert best is not None
    return best


def _is_better(squares, others, weights) -> bool:
    """Whether errors are smaller by more than a standard error of the mean difference."""
    gains = others - squares
    mean = np.average(gains, weights=weights)
    spread = np.average((gains - mean) ** 2, weights=weights)
    return bool(mean > np.sqrt(spread * np.square(weights).sum()) / weights.sum())
