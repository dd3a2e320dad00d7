"""The width and the ridge of a metric for machines with landmarks, told by rows that it was not learned from.

Machines of neighbors, by which metrics are learned and judged, want other widths.
"""

from typing import Any, NamedTuple

from frugalsvm.compiling.threads import ONE_THREAD, Threads
from frugalsvm.core.metric import mapped
from frugalsvm.metric_learning.descent import Point
from frugalsvm.metric_learning.machine import Rows, kernel_values, solver, squares

__all__ = ["Trial", "trial_on", "with_best_width"]

_JITTER = 1e-9
_SMALLEST, _LARGEST = 1 / 16, 16.0  # factors of squared distances
_NO_LOSS = 1e-4  # in squared errors of an output: of widths that do so much alike, the narrowest
_RIDGES = 1e-7, 1e-6, 1e-5, 1e-4, 1e-3


class Trial(NamedTuple):
    """The machines that metrics are put to."""

    n_fitted: int
    n_landmarks: int


_ON_CPU = Trial(4096, 512)
_ON_GPU = Trial(16_384, 4096)  # as many landmarks as machines mostly have: there, they take no longer


def trial_on(arrays: Any) -> Trial:
    """The one for rows on a device."""
    return _ON_GPU if arrays.is_gpu else _ON_CPU


def with_best_width(
    kernel: Any, point: Point, trial: Trial, fitted: Rows, judges: Rows, threads: Threads = ONE_THREAD
) -> Point:
    """The metric with the width and the ridge that do best: squared distances are doubled, or halved, while it pays."""
    fitted = fitted[: trial.n_fitted]

    def at_width(factor):
        return _at_width(kernel, point, factor, trial, fitted, judges)

    (own, first), (narrow, second) = threads.run(at_width, (1.0, 2.0))
    if narrow < own + _NO_LOSS:
        step, least_gain, factor, error, best = 2.0, -_NO_LOSS, 4.0, narrow, second
    else:
        step, least_gain, factor, error, best = 0.5, _NO_LOSS, 0.5, own, first
    while _SMALLEST <= factor <= _LARGEST:
        other, there = at_width(factor)
        if other >= error - least_gain:
            break
        error, best, factor = other, there, factor * step
    return best


def _at_width(kernel, point, factor, trial, fitted, judges) -> tuple[float, Point]:
    """The best of a few ridges, and its mean squared error."""
    A = point.A * factor**0.5
    U = mapped(fitted.X, A)
    U_z = U[: trial.n_landmarks]
    K, K_j = (kernel_values(kernel, rows, U_z) for rows in (U, mapped(judges.X, A)))
    total, right = squares(K, fitted.weights), K.T @ (fitted.weights[:, None] * fitted.targets)
    found = []
    for ridge in _RIDGES:
        H = total + ridge * fitted.weights.sum() * K[: len(U_z)]
        errors = judges.targets - K_j @ solver(H, _JITTER)(right)
        error = (judges.weights[:, None] * errors**2).sum() / (judges.weights.sum() * errors.shape[1])
        found.append((float(error), Point(A, ridge)))
    return min(found, key=lambda each: each[0])
