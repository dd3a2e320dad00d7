"""Truncated Newton on raw kernel rows, on any device: the method of `frugalsvm.asset.newton`, on whole arrays.

All outputs move together. Nothing is read back from the device but a few numbers a step: whether conjugate gradients
and line searches are done. Conjugate gradients are in float32: directions need no more digits, and small problems take
as long as it takes to launch their operations, conversions among them.
"""

from typing import Any, NamedTuple

import numpy as np

from frugalsvm.asset.losses import SQUARED
from frugalsvm.asset.task import best_bounds
from frugalsvm.device.losses import balanced, conjugate_sums, feasible, slopes_and_curvatures, total_losses
from frugalsvm.device.preconditioner import Preconditioner

__all__ = ["ALL_ROWS", "Options", "Point", "Problem", "last_step", "minimise", "objectives", "point_at"]

_NEAR = 1e-3  # rows with less than this share of the largest curvature have none
_TINY = 1e-300
_LAST_FORCING = 0.01
ALL_ROWS = 10**9  # more rows for each feature than there are


class Options(NamedTuple):
    """How directions are computed."""

    sample: int = 40  # rows of the Hessian for each feature
    several: int = 2  # with several outputs, this many times fewer
    most_steps: int = 25  # of conjugate gradients
    forcing: float = 0.1  # share of the residual at which they stop
    forcing_several: float = 0.3
    cut: float = 1e-4  # slopes below this count as zero
    line_steps: int = 20
    line_tolerance: float = 1e-2
    line_slope: float = 0.1  # a length is good where the slope is this share of that at the start
    most_sample_numbers: int = 2**40  # features of the sample


class Problem(NamedTuple):
    """``penalty / 2 ||w||^2 + 1/n sum_i weight_i loss(target_i, w . v_i + b)`` for each output."""

    arrays: Any
    rows: Any
    factor: Any
    targets: Any  # (n_outputs, n_rows) float32
    weights: Any  # (n_rows,) float32
    loss: Any
    penalty: float
    intercept: bool


class Point(NamedTuple):
    unknowns: Any  # (n_outputs, n_features + 1) float64, the intercept last
    scores: Any  # (n_outputs, n_rows) float32


class Slopes(NamedTuple):
    first: Any
    second: Any


def point_at(problem, unknowns) -> Point:
    return Point(unknowns, _scores(problem, unknowns))


def _scores(problem, unknowns):
    scores = problem.rows.scores(problem.factor.raw(unknowns[:, :-1]))
    return scores + problem.arrays.single(unknowns[:, -1:]) if problem.intercept else scores


def objectives(problem, point) -> np.ndarray:
    """The objective of each output, with the loss as it is."""
    xp = problem.arrays.xp
    risks = total_losses(xp, problem.loss, problem.targets, point.scores, problem.weights)
    penalties = 0.5 * problem.penalty * xp.sum(point.unknowns[:, :-1] ** 2, axis=1)
    return problem.arrays.host(penalties + risks / problem.rows.n_rows)


def minimise(problem, point, width, tolerance, max_iter, options, preconditioner=None):
    """Newton steps until one promises a reduction of all objectives together by less than a share ``tolerance``.

    Without a preconditioner, one is made. Returns the point, the preconditioner as it is then, and the number of steps.
    """
    n_steps, done = 0, False
    while n_steps < max_iter and not done:
        step = _newton_step(problem, point, width, preconditioner, options)
        point, preconditioner = step.point, step.preconditioner
        n_steps += 1
        done = 0.5 * step.decrements.sum() <= tolerance * objectives(problem, point).sum()
    return point, preconditioner, n_steps


def last_step(problem, point, width, preconditioner, options):
    """One more step, and a lower bound on the objective of each output; see `frugalsvm.asset.newton.last_step`."""
    careful = options._replace(cut=1e-6, sample=2 * options.sample)
    if not isinstance(problem.loss, SQUARED):
        # Without a square, pulls are near the optimum only as far as the whole linear system is solved.
        careful = careful._replace(
            sample=ALL_ROWS, most_steps=4 * options.most_steps, forcing=_LAST_FORCING, forcing_several=_LAST_FORCING
        )
    step = _newton_step(problem, point, width, preconditioner, careful)
    pulls = -(step.slopes.first + step.slopes.second * step.changes)
    bounds = np.minimum(lower_bounds(problem, pulls), objectives(problem, step.point))
    return step.point, bounds, step.preconditioner


def lower_bounds(problem, pulls) -> np.ndarray:
    """What the objectives cannot be below, by duality."""
    xp, n_rows = problem.arrays.xp, problem.rows.n_rows
    pulls = feasible(xp, problem.loss, problem.targets, pulls, problem.weights)
    if problem.intercept:
        pulls = balanced(xp, pulls)
    linear = conjugate_sums(xp, problem.loss, problem.targets, pulls, problem.weights) / n_rows
    sums = problem.factor.features(problem.rows.gradient(pulls)) / n_rows
    linear, squares = (problem.arrays.host(a) for a in (linear, xp.sum(sums * sums, axis=1)))
    return best_bounds(linear, squares / (2.0 * problem.penalty))


class _Step(NamedTuple):
    point: Point
    slopes: Slopes  # before the step
    changes: Any  # of the scores, for a step of length 1
    decrements: np.ndarray  # twice the reduction that the quadratic model promises
    preconditioner: Any  # None where it did not serve well


def _newton_step(problem, point, width, preconditioner, options) -> _Step:
    xp, arrays = problem.arrays.xp, problem.arrays
    slopes = _slopes(problem, point.scores, width, options.cut)
    gradients = _gradient(problem, point.unknowns, slopes.first)
    curvature = _Curvature(problem, slopes.second, options)
    if preconditioner is None:
        divisor = _divisor(slopes.second, options)
        preconditioner = Preconditioner(problem, curvature.rows, curvature.weights, divisor)
    directions, n_steps = _direction(problem, curvature, preconditioner, gradients, options)
    changes = _scores(problem, directions)
    slopes_along = xp.sum(gradients * directions, axis=1)
    lengths = _line_search(problem, point, width, directions, changes, slopes_along, options)
    moved = Point(
        point.unknowns + lengths[:, None] * directions, point.scores + arrays.single(lengths)[:, None] * changes
    )
    decrements = arrays.host(-slopes_along)
    return _Step(moved, slopes, changes, decrements, None if preconditioner.is_stale(n_steps) else preconditioner)


def _slopes(problem, scores, width, cut) -> Slopes:
    xp = problem.arrays.xp
    first, second = slopes_and_curvatures(xp, problem.loss, width, problem.targets, scores)
    first = xp.where(xp.abs(first) > cut, first, xp.zeros_like(first))
    return Slopes(first * problem.weights, second * problem.weights)


def _gradient(problem, unknowns, first):
    xp, n_rows = problem.arrays.xp, problem.rows.n_rows
    weights = problem.factor.features(problem.rows.gradient(first)) / n_rows + problem.penalty * unknowns[:, :-1]
    intercepts = xp.sum(first, axis=1, dtype=xp.float64, keepdims=True) / n_rows
    return xp.concat((weights, intercepts if problem.intercept else 0 * intercepts), axis=1)


class _Curvature:
    """The Hessian of the objective, from a sample of the rows near the margin of some output."""

    def __init__(self, problem, second, options):
        arrays, xp = problem.arrays, problem.arrays.xp
        self.problem = problem
        near = xp.nonzero(xp.any(second > _NEAR * xp.max(second, axis=1, keepdims=True), axis=0))[0]
        limit = options.sample * (problem.factor.n_features + 1) // _divisor(second, options)
        limit = max(1, min(limit, options.most_sample_numbers // problem.rows.width))
        if near.shape[0] > limit:
            near = arrays.take(near, arrays.strided(near.shape[0], limit))
        self.rows = problem.rows.take(near)
        weights = arrays.double(second[:, near])
        scale = xp.sum(second, axis=1, dtype=xp.float64) / xp.clip(xp.sum(weights, axis=1), _TINY, None)
        self.weights = arrays.single(weights * (scale / problem.rows.n_rows)[:, None])

    def times(self, directions):
        """The Hessian times vectors ``(n_outputs, n_features + 1)`` in float32."""
        problem, xp = self.problem, self.problem.arrays.xp
        changes = problem.factor.raw(directions[:, :-1]) @ self.rows.T
        if problem.intercept:
            changes = changes + directions[:, -1:]
        changes = changes * self.weights
        sums = problem.factor.features(changes @ self.rows) + problem.penalty * directions[:, :-1]
        intercepts = xp.sum(changes, axis=1, keepdims=True)
        return xp.concat((sums, intercepts if problem.intercept else 0 * intercepts), axis=1)


def _divisor(second, options):
    return 1 if second.shape[0] == 1 else options.several


def _direction(problem, curvature, preconditioner, gradients, options):
    """Directions that solve ``Hessian direction = -gradient`` for each output, and the number of steps taken."""
    xp, tiny = problem.arrays.xp, 1e-37
    forcing = options.forcing if gradients.shape[0] == 1 else options.forcing_several
    # Gradients become small: in units of their own, nothing vanishes in float32.
    units = xp.sqrt(xp.sum(gradients * gradients, axis=1, keepdims=True)) + _TINY
    residuals = problem.arrays.single(-gradients / units)
    directions = xp.zeros_like(residuals)
    search = solved = preconditioner.solve(residuals)
    sizes = first_sizes = xp.sum(residuals * solved, axis=1)
    n_steps, done = 0, False
    while n_steps < options.most_steps and not done:
        products = curvature.times(search)
        lengths = sizes / xp.clip(xp.sum(search * products, axis=1), tiny, None)
        directions = directions + lengths[:, None] * search
        residuals = residuals - lengths[:, None] * products
        solved = preconditioner.solve(residuals)
        new_sizes = xp.sum(residuals * solved, axis=1)
        n_steps += 1
        done = bool(xp.all(new_sizes <= forcing**2 * first_sizes))
        search = solved + (new_sizes / xp.clip(sizes, tiny, None))[:, None] * search
        sizes = new_sizes
    return problem.arrays.double(directions) * units, n_steps


def _line_search(problem, point, width, directions, changes, slopes_along, options):
    """Lengths that minimise the smoothed objective along the directions: Newton's method inside an interval.

    Each is good where the objective is nearly flat, compared with the slope that it begins with.
    """
    xp, arrays, n_rows = problem.arrays.xp, problem.arrays, problem.rows.n_rows
    linear = problem.penalty * xp.sum(point.unknowns[:, :-1] * directions[:, :-1], axis=1)
    quadratic = problem.penalty * xp.sum(directions[:, :-1] ** 2, axis=1)
    low, high = xp.zeros_like(linear), xp.full_like(linear, float("inf"))
    lengths, weighted = xp.ones_like(linear), changes * problem.weights
    for _ in range(options.line_steps):
        scores = point.scores + arrays.single(lengths)[:, None] * changes
        first, second = slopes_and_curvatures(xp, problem.loss, width, problem.targets, scores)
        slope = xp.sum(first * weighted, axis=1, dtype=xp.float64) / n_rows + linear + lengths * quadratic
        curved = xp.sum(second * weighted * changes, axis=1, dtype=xp.float64) / n_rows + quadratic
        low, high = xp.where(slope < 0, lengths, low), xp.where(slope < 0, high, lengths)
        guess = lengths - slope / xp.clip(curved, _TINY, None)
        bounded = xp.where(high < float("inf"), 0.5 * (low + high), 2 * lengths)
        guess = xp.where((guess > low) & (guess < high), guess, bounded)
        flat = xp.abs(slope) <= options.line_slope * xp.abs(slopes_along)
        near = xp.abs(guess - lengths) <= options.line_tolerance * lengths
        lengths = xp.where(flat, lengths, guess)
        if bool(xp.all(flat | near)):
            break
    return lengths
