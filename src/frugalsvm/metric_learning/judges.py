"""How good metrics are, told by rows that none of them saw, and whether one is better than another by more than chance.

A machine with the metric is fitted to rows, and predicts the judges. Its width and ridge are the best of a few near
those that were learned, by squared errors. Metrics are then compared by what counts: wrong classes, or squared errors.

Heats are quick, and find widths. The final has more landmarks, for which kernels may be narrower: with few, metrics
look good that are too smooth.
"""

from typing import Any, NamedTuple

import numpy as np

from frugalsvm._threads import ONE_THREAD, Threads
from frugalsvm.arrays.namespace import on_host
from frugalsvm.core.metric import mapped
from frugalsvm.metric_learning.descent import Point
from frugalsvm.metric_learning.machine import Rows, kernel_values, solver, squares

__all__ = ["FINAL", "HEAT", "Judgment", "Trial", "final_on", "is_better", "judge"]

_LEAST_RIDGE = 1e-9
_JITTER = 1e-9
# Standard errors. On mere noise, one of two other metrics passes the plain one in about a tenth of races; with one
# standard error, in a quarter.
_MARGIN = 2.0


class Trial(NamedTuple):
    """What metrics are put to."""

    n_fitted: int
    n_landmarks: int
    smallest: float  # factor of squared distances: these are doubled, or else halved, for as long as that is better
    largest: float
    ridges: tuple[float, ...]  # factors, too


HEAT = Trial(4096, 512, 0.25, 8.0, (0.01, 0.1, 1.0, 10.0))
FINAL = Trial(8192, 1024, 1.0, 4.0, (0.1, 1.0, 10.0))
# There, as many landmarks as machines mostly have take no longer: some metrics are only better with fewer.
_FINAL_ON_GPU = FINAL._replace(n_fitted=16_384, n_landmarks=4096)


def final_on(arrays: Any) -> Trial:
    """The final for rows on a device."""
    return _FINAL_ON_GPU if arrays.is_gpu else FINAL


class Judgment(NamedTuple):
    point: Point  # with the best width and ridge
    squares: np.ndarray  # squared errors of the judges, all outputs together
    losses: np.ndarray  # what counts: the same, or 1 for each wrong class
    weights: np.ndarray  # of the judges

    @property
    def squared_error(self) -> float:
        return float(np.average(self.squares, weights=self.weights))

    @property
    def error(self) -> float:
        return float(np.average(self.losses, weights=self.weights))


def judge(
    kernel: Any,
    point: Point,
    trial: Trial,
    fitted: Rows,
    judges: Rows,
    *,
    classes: bool,
    threads: Threads = ONE_THREAD,
) -> Judgment:
    """The errors of a machine with a metric on the judges, at the best width and ridge."""
    fitted = fitted[: trial.n_fitted]

    def at_width(factor):
        return _at_width(kernel, point, factor, trial, fitted, judges, classes)

    found = dict(zip((1.0, 2.0), threads.run(at_width, (1.0, 2.0)), strict=True))
    best = min(found, key=lambda each: found[each].squared_error)
    step, factor = (2.0, 2.0) if best == 2.0 else (0.5, 1.0)
    while factor == best and trial.smallest <= factor * step <= trial.largest:
        factor *= step
        found[factor] = at_width(factor)
        best = min(found, key=lambda each: found[each].squared_error)
    return found[best]


def _at_width(kernel, point, factor, trial, fitted, judges, classes) -> Judgment:
    """The best of a few ridges."""
    A = point.A * factor**0.5
    U = mapped(fitted.X, A)
    U_z = U[: trial.n_landmarks]
    K, K_j = (kernel_values(kernel, rows, U_z) for rows in (U, mapped(judges.X, A)))
    total, right = squares(K, fitted.weights), K.T @ (fitted.weights[:, None] * fitted.targets)
    found = []
    for share in trial.ridges:
        ridge = max(point.ridge * share, _LEAST_RIDGE)
        H = total + ridge * fitted.weights.sum() * K[: len(U_z)]
        scores = K_j @ solver(H, _JITTER)(right)
        errors = on_host(((judges.targets - scores) ** 2).sum(axis=1))
        losses = _is_wrong(scores, judges.targets) if classes else errors
        found.append(Judgment(Point(A, ridge), errors, losses, on_host(judges.weights)))
    return min(found, key=lambda each: each.squared_error)


def _is_wrong(scores, targets) -> np.ndarray:
    """1 for a row whose class is not that of its largest score, or of the sign of its only one."""
    if targets.shape[1] == 1:
        wrong = ((scores > 0) != (targets > 0))[:, 0]
    else:
        wrong = scores.argmax(axis=1) != targets.argmax(axis=1)
    return on_host(wrong).astype(float)


def is_better(one: Judgment, other: Judgment) -> bool:
    """Whether losses are smaller by more than the margin: standard errors of the mean difference, row by row."""
    gains, weights = other.losses - one.losses, one.weights
    mean = np.average(gains, weights=weights)
    spread = np.average((gains - mean) ** 2, weights=weights)
    return bool(mean > _MARGIN * np.sqrt(spread * np.square(weights).sum()) / weights.sum())
