"""Truncated Newton on a smoothed loss, directly on raw kernel rows.

A step is one pass over the rows that have a slope (the gradient), conjugate gradients on a sample of those near the
margin (`hessian`), one pass over all rows (how far the direction moves each score), and an exact line search on these
changes, which needs no rows at all. All outputs move together. From a device, nothing is read back but a few numbers
for each output; the line search computes with them on the host, where that takes less time than launching operations.
"""

import math
from typing import Any, NamedTuple

import numpy as np

_TINY = 1e-300
_NO_GRADIENT = 1e-150  # squares of smaller numbers vanish
_FAR, _STRIDE = 1e3, 10.0  # times the present length: a loss may have no curvature here, but farther on; go on so far
_SHARPEST = 1e-3  # times the present length: directions may be too long by many powers of ten where nothing is curved


class Step(NamedTuple):
    slopes: Any  # before the step
    directions: Any  # (n_outputs, d + 1)
    changes: Any  # of the scores, for a step of length 1
    lengths: np.ndarray  # (n_outputs,)
    decrements: np.ndarray  # twice the reduction that the quadratic model promises
    smoothing: float


def minimize(problem, point, smoothing, tolerance, options, rng, *, preconditioner=None, watch=None):
    """Move ``point`` until a step promises a relative reduction below ``tolerance``.

    ``watch``, if given, is called with the parameters and the step after each one; what it returns tells whether to
    stop. Without a preconditioner, one is made. Returns the number of steps, and the preconditioner as it is then.
    """
    n_steps, done = 0, False
    while n_steps < options.max_iter and not done:
        step, preconditioner = newton_step(problem, point, smoothing, preconditioner, options, rng)
        n_steps += 1
        done = _promises_little(0.5 * step.decrements, tolerance * problem.objectives(point), options)
        if watch is not None:
            done = watch(point.parameters, step) or done
    return n_steps, preconditioner


def _promises_little(reductions, limits, options):
    return bool(reductions.sum() <= limits.sum() if options.together else (reductions <= limits).all())


def newton_step(problem, point, smoothing, preconditioner, options, rng):
    """Move a point by one step; returns the step, and the preconditioner, None where it did not serve well."""
    arrays, xp, backend = problem.arrays, problem.arrays.xp, problem.backend
    slopes = problem.slopes(point, smoothing, options)
    gradients = problem.gradient(point.parameters, slopes)
    hessian = problem.hessian(slopes, options, rng)
    if preconditioner is None:
        preconditioner = _Fresh(hessian.preconditioner(options, rng))
    forcing = options.forcing if gradients.shape[0] == 1 else options.forcing_several
    # Gradients become small: in units of their own, nothing vanishes in float32.
    units = xp.sqrt(xp.sum(gradients * gradients, axis=1, keepdims=True)) + _NO_GRADIENT
    scaled = arrays.cast(gradients / units, backend.direction_dtype)
    directions, n_steps = hessian.directions(preconditioner, scaled, forcing, options.cg_steps)
    directions = arrays.double(directions) * units
    changes = problem.scores(directions)
    start = arrays.host(xp.sum(gradients * directions, axis=1))
    lengths = line_search(problem, point, smoothing, directions, changes, start, options)
    step = Step(slopes, directions, changes, lengths, -start, smoothing)
    problem.move(point, step)
    if options.tell is not None:
        options.tell(problem, point, step)
    return step, None if preconditioner.is_stale(n_steps) else preconditioner


class _Fresh:
    """A preconditioner that remembers how many steps conjugate gradients took when it was new."""

    def __init__(self, made):
        self.made, self.solve, self._patience, self._first_steps = made, made.solve, made.patience, None

    def is_stale(self, n_steps):
        if self._first_steps is None:
            self._first_steps = n_steps
        return n_steps > self._first_steps + self._patience


class _Search:
    """Newton's method for the length of one output's step, kept inside an interval that has the minimum."""

    def __init__(self, start):
        self.start, self.is_active = start, start < 0  # otherwise rounding alone is left
        self.length, self.low, self.high = float(self.is_active), 0.0, math.inf
        self._low_slope, self._cut = start, 0.5

    def advance(self, slope, curvature, options):
        """Continue from the slope and the curvature of the objective at the present length."""
        length = self.length
        if slope < 0:
            self.low, self._low_slope = length, slope
        else:
            self.high = length
        if abs(slope) <= options.line_slope * abs(self.start) and self._is_downhill(slope):
            self.is_active = False
            return
        guess = length - slope / max(curvature, _TINY)
        if not self.low < guess < min(self.high, _FAR * length):
            guess = self._between() if self.high < math.inf else _STRIDE * length
        self.length, self.is_active = guess, abs(guess - length) > options.line_tolerance * length

    def _is_downhill(self, slope):
        """Whether the objective is below that at the beginning, for sure: slopes only increase.

        It falls by ``low * |slope there|`` at least on the way to ``low``, and rises by ``slope`` for each unit at most
        on the way from there.
        """
        return slope < 0 or slope * (self.length - self.low) <= -self._low_slope * self.low

    def _between(self):
        if self.low > 0:
            return 0.5 * (self.low + self.high)
        guess, self._cut = self._cut * self.high, max(self._cut**2, _SHARPEST)
        return guess

    def found(self, options):
        """What is not there yet goes as far as is known to be downhill."""
        return min(self.low if self.is_active else self.length, options.longest)


def line_search(problem, point, smoothing, directions, changes, start, options):
    """Lengths that minimize the smoothed objective along the directions, whose slopes at the beginning are ``start``.

    Outputs are searched side by side, in plain numbers: there are too few of them for arrays.
    """
    arrays, n_rows = problem.arrays, problem.n_rows
    weights, moves = point.parameters[:, :-1], directions[:, :-1]
    linear, quadratic = (problem.penalty * arrays.host(arrays.xp.vecdot(each, moves)) for each in (weights, moves))
    risk = n_rows * (start - linear)
    searches = [_Search(each) for each in start.tolist()]
    for _ in range(options.line_steps):
        active = [search.is_active for search in searches]
        if not any(active):
            break
        lengths = np.array([search.length for search in searches])
        slopes, curvatures = problem.along(point, changes, smoothing, risk, lengths, active)
        slopes = slopes / n_rows + linear + lengths * quadratic
        curvatures = curvatures / n_rows + quadratic
        for search, slope, curvature in zip(searches, slopes.tolist(), curvatures.tolist(), strict=True):
            if search.is_active:
                search.advance(slope, curvature, options)
    return np.array([search.found(options) for search in searches])
