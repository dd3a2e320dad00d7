"""The stages of the batch solver: growing random samples and ever less smoothing, then all rows.

A subsample of 4 rows for each landmark is enough for the first, long steps, 16 and 64 for the next. All rows come last,
twice: with the loss smoothed to 0.1, then to 0.03, where its minimum is within about 0.1 % of that of the hinge.
Careful steps at the end give a lower bound.
"""

from typing import Any, NamedTuple

import numpy as np

from frugalsvm.lowrank.newton import minimize, newton_step
from frugalsvm.lowrank.options import ALL_ROWS


class Solution(NamedTuple):
    parameters: Any  # (n_outputs, d + 1), where the problem is
    objectives: np.ndarray  # (n_outputs,)
    bounds: np.ndarray  # (n_outputs,) the optimal objectives are not below these
    n_iter: int
    converged: bool = True  # False: the last stage ended because it had taken all its steps


def solve(problem, sample, options, rng, *, start=None, watch=None) -> Solution:
    """Minimize a problem: from a sample of its rows upwards, or from the solution of a similar one."""
    if _is_small(problem, options):  # then directions may as well be made of all rows
        options = options._replace(sample=ALL_ROWS)
    if start is not None:
        return _on_all_rows(problem, start, options.smoothings[-1:], options, rng, 0, None)
    parameters, n_iter, first = _first_parameters(problem, sample), 0, problem.subsample_options(options)
    for n_rows, smoothing in _subsamples(problem, sample, options):
        part = problem.subsample(sample, n_rows)
        point = part.point_at(parameters)
        n_iter += minimize(part, point, smoothing * options.unit, _rough(first), first, rng)[0]
        parameters = point.parameters
    return _on_all_rows(problem, parameters, options.smoothings, options, rng, n_iter, watch)


def certified(problem, parameters, options, rng) -> Solution:
    """The solution that given parameters are, with a bound; they stay as they are."""
    point = problem.point_at(parameters)
    reached = problem.objectives(point)
    step, _ = newton_step(
        problem, point, options.smoothings[-1] * options.unit, None, options.careful(problem.loss), rng
    )
    _, bounds = problem.certify(point, step, problem.objectives(point))
    return Solution(parameters, reached, np.minimum(bounds, reached), 0)


def _rough(options):
    return max(options.rough, options.tolerance)


def _is_small(problem, options):
    return problem.n_rows * problem.rows.width <= options.small


def _first_parameters(problem, sample):
    """Zeros, and medians of the targets: far from these a tube has no curvature, and Newton steps know no length."""
    arrays = problem.arrays
    parameters = arrays.zeros((problem.n_outputs, problem.n_features + 1))
    if problem.intercept and not problem.loss.for_classes:
        targets, weights = arrays.host(sample.targets), arrays.host(sample.weights)
        if (weights > 0).any():
            parameters[:, -1] = arrays.asarray(np.median(targets[:, weights > 0], axis=1), "float64")
    return parameters


def _subsamples(problem, sample, options):
    """Numbers of rows and smoothing of the first stages."""
    if problem.loss.is_smooth and _is_small(problem, options):
        return []  # there is nothing to smooth less, and all rows take as long as a few
    most = min(sample.rows.n_rows, options.max_share * problem.n_rows)
    wanted = [(k * problem.rows.width, smoothing) for k, smoothing in options.subsamples]
    least = [(min(size, problem.n_rows), smoothing) for size, smoothing in wanted[: options.least_subsamples]]
    return [each for each in wanted if each[0] <= most] or least


def _on_all_rows(problem, parameters, smoothings, options, rng, n_iter, watch) -> Solution:
    smoothings = smoothings[-1:] if problem.loss.is_smooth else smoothings
    stages = _Stages(problem, problem.point_at(parameters), smoothings[0], options, rng, watch)
    for smoothing in smoothings:
        stages.run(smoothing, options.tolerance if smoothing == smoothings[-1] else _rough(options))
    for _ in range(options.narrower):
        if stages.is_over or not _is_too_smooth(problem, stages.point, stages.smoothing, options):
            break
        stages.run(stages.smoothing / 3, options.tolerance)
    if stages.is_stopped:
        stages.point = problem.point_at(watch.best_parameters)
    reached, bounds, n_careful = _careful_steps(stages)
    converged = stages.is_stopped or stages.has_ended
    return Solution(stages.point.parameters, reached, bounds, n_iter + stages.n_iter + n_careful, converged)


class _Stages:
    """Stages on all rows: where they have come to, and what is left."""

    def __init__(self, problem, point, smoothing, options, rng, watch):
        self.problem, self.point, self.smoothing = problem, point, smoothing
        self.options, self.rng, self.watch = options, rng, watch
        self.n_iter, self.preconditioner = 0, None
        self.has_ended = self.is_stopped = False

    @property
    def is_over(self):
        return self.is_stopped or self.n_iter >= self.options.max_total - 1  # one is left for careful steps

    def run(self, smoothing, tolerance):
        """Newton steps with one smoothing, unless it is over."""
        if self.is_over:
            return
        options = self.options._replace(
            max_iter=int(min(self.options.max_iter, self.options.max_total - 1 - self.n_iter))
        )
        # New smoothing deserves a new preconditioner, unless making one takes longer than the steps that it saves.
        kept = self.preconditioner if self.problem.n_features > options.kept_above else None
        n_steps, self.preconditioner = minimize(
            self.problem, self.point, smoothing * options.unit, tolerance, options, self.rng, preconditioner=kept,
            watch=self.watch,
        )  # fmt: skip
        self.n_iter, self.smoothing = self.n_iter + n_steps, smoothing
        self.has_ended = n_steps < options.max_iter
        self.is_stopped = options.stops_early and self.watch is not None and self.watch.is_done


def _is_too_smooth(problem, point, smoothing, options):
    """Whether smoothing makes a large part of the objective: where losses are small, or many rows are on the margin."""
    if problem.loss.is_smooth:
        return False
    excess = problem.excess(point, smoothing * options.unit)
    return bool((excess > options.max_excess * options.tolerance * problem.objectives(point)).any())


def _careful_steps(stages):
    """Steps that give a bound, until one of them gains little; returns objectives, bounds and how many there were."""
    options, point, watch = stages.options, stages.point, stages.watch
    problem, smoothing = stages.problem.careful(), stages.smoothing * options.unit
    one = problem.n_outputs > 1 or problem.n_features > options.careful_features
    most = min(1 if one else options.careful_steps, options.max_total - stages.n_iter)
    careful, kept = options.careful(problem.loss), stages.preconditioner if options.careful_keeps else None
    reached = problem.objectives(point)
    n_steps, done = 0, False
    while not done:
        before = reached
        step, preconditioner = newton_step(problem, point, smoothing, kept, careful, stages.rng)
        kept = preconditioner if options.careful_keeps else None
        reached = problem.objectives(point)
        n_steps += 1
        # A careful step that gains this much shows that those before it had stopped too early.
        little = problem.gains(before, reached, step) <= options.careful_gain * options.tolerance * reached
        done = n_steps >= most or bool(little.all())
        if done:
            reached, bounds = problem.certify(point, step, reached)
        if watch is not None and options.stops_early:
            watch(point.parameters, step)
    return reached, bounds, n_steps
