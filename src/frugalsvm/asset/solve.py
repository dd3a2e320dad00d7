"""The stages of the batch solver: growing random samples and narrowing losses, then all rows; and paths of C.

A sample of 4 rows for each landmark is enough for the first, wide steps, 16 and 64 for the next. All rows come last,
twice: with the loss smoothed to 0.1, then to 0.03, where its minimum is within about 0.1 % of that of the hinge.
"""

from typing import NamedTuple

import numpy as np

from frugalsvm.asset.losses import HINGES, SQUARED, smoothing_excess
from frugalsvm.asset.newton import last_step, minimise
from frugalsvm.asset.stages import CAREFUL_STEPS, HEADS, MAX_EXCESS, MAX_SHARE, NARROWER, ROUGH, WIDTHS
from frugalsvm.asset.task import objectives, parts_of, point_at

__all__ = ["Sample", "Settings", "Solution", "certified", "solve", "solve_warm"]

_WARM_WIDTHS = (0.03,)


class Sample(NamedTuple):
    """Rows in random order that are in memory, to begin with."""

    rows: object
    targets: np.ndarray
    weights: np.ndarray


class Solution(NamedTuple):
    unknowns: np.ndarray  # (n_outputs, d + 1)
    objectives: np.ndarray  # (n_outputs,)
    bounds: np.ndarray  # (n_outputs,) the optimal objectives are not below these
    n_iter: int
    converged: bool = True  # False: the last stage ended because it had taken all its steps


class Settings(NamedTuple):
    tolerance: float = 5e-3  # relative reduction of the objective that is not worth another step
    max_iter: int = 30  # steps of a stage
    unit: float = 1.0  # of the targets: widths are in units of it


def solve(task, sample, settings, rng, watch=None):
    """Minimise a task, from a sample of its rows upwards."""
    unknowns = np.zeros((len(task.targets), task.n_features + 1))
    if task.intercept and not isinstance(task.loss, HINGES):
        # Far from the targets a tube has no curvature, and Newton steps know no length.
        seen = sample.weights > 0
        if seen.any():
            unknowns[:, -1] = np.median(sample.targets[:, seen], axis=1)
    n_iter = 0
    for n_rows, width in _heads(task, sample):
        head = _head(task, sample, n_rows)
        point = point_at(head, unknowns)
        n_iter += minimise(head, point, width * settings.unit, max(ROUGH, settings.tolerance), settings.max_iter, rng)
        unknowns = point.unknowns
    return _on_all_rows(task, unknowns, WIDTHS, settings, n_iter, rng, watch)


def solve_warm(task, start, settings, rng):
    """Minimise a task from the solution of a similar one."""
    return _on_all_rows(task, start, _WARM_WIDTHS, settings, 0, rng)


def certified(task, unknowns, unit, rng):
    """The solution that given unknowns are, with a bound; they stay as they are."""
    point = point_at(task, unknowns)
    reached = objectives(task, point)
    bounds = last_step(task, point, WIDTHS[-1] * unit, rng)
    return Solution(unknowns, reached, np.minimum(bounds, reached), 0)


def _heads(task, sample):
    most = min(sample.rows.n_rows, MAX_SHARE * task.rows.n_rows)
    return [(k * task.rows.width, width) for k, width in HEADS if k * task.rows.width <= most]


def _head(task, sample, n_rows):
    """The task on the first rows of a sample; the same C makes for a larger penalty on fewer rows."""
    return task._replace(
        rows=sample.rows.head(n_rows),
        targets=sample.targets[:, :n_rows],
        weights=sample.weights[:n_rows],
        penalty=task.penalty * task.rows.n_rows / n_rows,
    )


def _on_all_rows(task, unknowns, widths, settings, n_iter, rng, watch=None):
    if isinstance(task.loss, SQUARED):  # nothing to smooth
        widths = widths[-1:]
    point, n_steps = point_at(task, unknowns), 0
    for width in widths:
        tolerance = settings.tolerance if width == widths[-1] else max(ROUGH, settings.tolerance)
        n_steps = minimise(task, point, width * settings.unit, tolerance, settings.max_iter, rng, watch)
        n_iter += n_steps
    width = widths[-1]
    for _ in range(NARROWER):
        if not _is_too_wide(task, point, width * settings.unit, settings.tolerance):
            break
        width /= 3
        n_steps = minimise(task, point, width * settings.unit, settings.tolerance, settings.max_iter, rng, watch)
        n_iter += n_steps
    reached, bounds, n_careful = _careful_steps(task, point, width * settings.unit, settings.tolerance, rng)
    return Solution(point.unknowns, reached, bounds, n_iter + n_careful, n_steps < settings.max_iter)


def _is_too_wide(task, point, width, tolerance):
    """Whether smoothing makes a large part of the objective: where losses are small, or many rows are on the margin."""
    if isinstance(task.loss, SQUARED):
        return False
    n_rows, excess = task.rows.n_rows, np.zeros(len(task.targets))
    for part in parts_of(n_rows):
        each = smoothing_excess(task.loss, task.targets[:, part], point.scores[:, part], width)
        excess += each @ task.weights[part]
    return bool((excess / n_rows > MAX_EXCESS * tolerance * objectives(task, point)).any())


def _careful_steps(task, point, width, tolerance, rng):
    """Steps that give a bound, until one of them gains little; returns objectives, bounds and how many there were."""
    reached = objectives(task, point)
    most = CAREFUL_STEPS if len(reached) == 1 else 1
    n_steps, done = 0, False
    while n_steps < most and not done:
        before, bounds = reached, last_step(task, point, width, rng)
        reached = objectives(task, point)
        n_steps += 1
        # A careful step that gains this much shows that those before it had stopped too early.
        done = bool((before - reached <= 0.1 * tolerance * reached).all())
    return reached, bounds, n_steps
