"""The stages of the batch solver on a device: growing samples and narrowing losses, then all rows.

The same stages as `frugalsvm.asset.solve`, where they are explained.
"""

from typing import Any, NamedTuple

import numpy as np

from frugalsvm.asset.losses import HINGES, SQUARED
from frugalsvm.asset.stages import CAREFUL_STEPS, HEADS, MAX_EXCESS, MAX_SHARE, NARROWER, ROUGH, WIDTHS
from frugalsvm.device.losses import smoothing_excess
from frugalsvm.device.newton import ALL_ROWS, Options, last_step, minimise, objectives, point_at

__all__ = ["Sample", "Settings", "Solution", "solve"]

_HEADS = (*HEADS, (256, 0.12))  # a device is fast enough for a large sample before all rows
_DEAR = 8192  # features
_SMALL = 2**28  # features of all rows: passes over fewer take no longer than launching their operations


class Sample(NamedTuple):
    """Rows in random order that are stored on the device, to begin with."""

    rows: Any
    targets: Any
    weights: Any


class Settings(NamedTuple):
    tolerance: float = 5e-3
    max_iter: int = 30
    unit: float = 1.0  # of the targets: widths are in units of it
    options: Options = Options()


class Solution(NamedTuple):
    unknowns: Any  # on the device
    objectives: np.ndarray
    bounds: np.ndarray
    n_iter: int
    converged: bool = True  # False: the last stage ended because it had taken all its steps


def solve(problem, sample, settings, start=None) -> Solution:
    """Minimise a problem: from a sample of its rows upwards, or from the solution of a similar one."""
    n_iter, unknowns = 0, start
    if _is_small(problem):  # then directions may as well be made of all rows
        settings = settings._replace(options=settings.options._replace(sample=ALL_ROWS))
    if start is None:
        unknowns = problem.arrays.zeros((problem.targets.shape[0], problem.factor.n_features + 1))
        if problem.intercept and not isinstance(problem.loss, HINGES):
            # Far from the targets a tube has no curvature, and Newton steps know no length.
            medians = np.median(problem.arrays.host(sample.targets), axis=1)
            unknowns[:, -1] = problem.arrays.asarray(medians, "float64")
        for n_rows, width in _heads(problem, sample):
            head = _head(problem, sample, n_rows)
            point, _, n_steps = minimise(
                head,
                point_at(head, unknowns),
                width * settings.unit,
                max(ROUGH, settings.tolerance),
                settings.max_iter,
                settings.options,
            )
            n_iter, unknowns = n_iter + n_steps, point.unknowns
    return _on_all_rows(problem, unknowns, WIDTHS if start is None else WIDTHS[-1:], settings, n_iter)


def _is_small(problem):
    return problem.rows.n_rows * problem.rows.width <= _SMALL


def _heads(problem, sample):
    width = problem.rows.width
    if isinstance(problem.loss, SQUARED) and _is_small(problem):
        return []  # there is nothing to narrow, and all rows take as long as a few
    most = min(sample.rows.n_rows, MAX_SHARE * problem.rows.n_rows)
    return [(k * width, smooth) for k, smooth in _HEADS if k * width <= most]


def _head(problem, sample, n_rows):
    """The problem on the first rows of a sample; the same C makes for a larger penalty on fewer rows."""
    return problem._replace(
        rows=sample.rows.head(n_rows),
        targets=sample.targets[:, :n_rows],
        weights=sample.weights[:n_rows],
        penalty=problem.penalty * problem.rows.n_rows / n_rows,
    )


def _on_all_rows(problem, unknowns, widths, settings, n_iter) -> Solution:
    if isinstance(problem.loss, SQUARED):  # nothing to smooth
        widths = widths[-1:]
    point, options = point_at(problem, unknowns), settings.options

    # A new width deserves a new preconditioner, unless making one takes longer than the steps that it saves.
    keeps = problem.factor.n_features > _DEAR
    preconditioner = None

    def reduced(point, width, tolerance, kept):
        return minimise(problem, point, width * settings.unit, tolerance, settings.max_iter, options, kept)

    for width in widths:
        tolerance = settings.tolerance if width == widths[-1] else max(ROUGH, settings.tolerance)
        point, preconditioner, n_steps = reduced(point, width, tolerance, preconditioner if keeps else None)
        n_iter += n_steps
    width = widths[-1]
    for _ in range(NARROWER):
        if not _is_too_wide(problem, point, width * settings.unit, settings.tolerance):
            break
        width /= 3
        point, preconditioner, n_steps = reduced(point, width, settings.tolerance, preconditioner if keeps else None)
        n_iter += n_steps
    point, reached, bounds, n_careful = _careful_steps(problem, point, width, preconditioner, settings)
    return Solution(point.unknowns, reached, bounds, n_iter + n_careful, n_steps < settings.max_iter)


def _is_too_wide(problem, point, width, tolerance):
    """Whether smoothing makes a large part of the objective."""
    if isinstance(problem.loss, SQUARED):
        return False
    excess = smoothing_excess(problem.arrays.xp, problem.loss, problem.targets, point.scores, problem.weights, width)
    share = problem.arrays.host(excess) / problem.rows.n_rows
    return bool((share > MAX_EXCESS * tolerance * objectives(problem, point)).any())


def _careful_steps(problem, point, width, preconditioner, settings):
    """Steps that give a bound, until one of them gains little."""
    reached = objectives(problem, point)
    most = CAREFUL_STEPS if len(reached) == 1 and problem.factor.n_features <= _DEAR else 1
    n_steps, done = 0, False
    while n_steps < most and not done:
        before = reached
        point, bounds, preconditioner = last_step(
            problem, point, width * settings.unit, preconditioner, settings.options
        )
        reached = objectives(problem, point)
        n_steps += 1
        # A careful step that gains this much shows that those before it had stopped too early.
        done = bool((before - reached <= 0.1 * settings.tolerance * reached).all())
    return point, reached, np.minimum(bounds, reached), n_steps
