"""Lower bounds on the objective, by duality.

For any feasible dual variables p (those of an intercept sum to zero), the objective of an output is at least
``1/n sum_i conjugate(p_i) - ||u||^2 / (2 penalty)``, ``u = 1/n sum_i p_i v_i``. All of it are sums over rows, which may
be in different places; only the balance of an intercept needs the sums of all before the others.
"""

from typing import Any, NamedTuple

import numpy as np

_TINY = 1e-300


class Sides(NamedTuple):
    """Sums of dual variables, for each output: of those that are positive, and of all."""

    up: Any
    total: Any


def lower_bounds(problem, duals) -> np.ndarray:
    """What the objective of each output cannot be below; changes the dual variables into feasible ones."""
    loss, arrays, xp = problem.loss, problem.arrays, problem.arrays.xp

    def over_parts(function):
        # Several arrays of the length of a part take less memory than one of all rows.
        def of_part(part):
            return function(part, problem.targets[:, part], problem.weights[part])

        return problem.backend.over_parts(of_part, duals)

    def make_feasible(part, targets, weights):
        duals[:, part] = loss.feasible(xp, targets, duals[:, part], weights)
        return sides_of(xp, duals[:, part])

    def conjugates(part, targets, weights):
        if problem.intercept:
            duals[:, part] = balanced(arrays, duals[:, part], sides)
        return conjugate_sums(xp, loss, targets, duals[:, part], weights)

    sides = Sides(*(sum(each) for each in zip(*over_parts(make_feasible), strict=True)))
    linear = sum(over_parts(conjugates))
    sums = problem.whitening.features(problem.rows.gradient(duals)) / problem.n_rows
    squares = xp.sum(sums * sums, axis=1)
    return best_bounds(arrays.host(linear) / problem.n_rows, arrays.host(squares) / (2.0 * problem.penalty))


def sides_of(xp, duals) -> Sides:
    """The sums of some rows."""
    up = xp.sum(xp.clip(duals, 0.0, None), axis=1, dtype=xp.float64)
    return Sides(up, xp.sum(duals, axis=1, dtype=xp.float64))


def balance_of(arrays, sides):
    """By what positive and negative dual variables are scaled, so that they sum to zero: one of both is 1."""
    xp, down = arrays.xp, sides.up - sides.total
    least = xp.minimum(sides.up, down)
    return xp.stack([least / xp.clip(side, _TINY, None) for side in (sides.up, down)])


def balanced(arrays, duals, sides):
    """Dual variables that sum to zero over all rows: the side with the larger sum is scaled down."""
    raised, lowered = (arrays.single(factor)[:, None] for factor in balance_of(arrays, sides))
    return duals * arrays.xp.where(duals > 0, raised, lowered)


def conjugate_sums(xp, loss, targets, duals, weights):
    """What dual variables add to the bound besides the penalty, ``min_f (weight loss(f) + dual f)``, summed."""
    return xp.sum(loss.conjugates(xp, targets, duals, weights), axis=1, dtype=xp.float64)


def best_bounds(linear, quadratic) -> np.ndarray:
    """The larger of two bounds: that of dual variables, and that of the best multiple of them.

    ``linear`` and ``quadratic`` are the two parts of the dual objective, ``linear - quadratic``. Shrunken dual
    variables are feasible too; for losses without a square, the multiple is the best one.
    """
    factor = np.clip(linear / np.maximum(2.0 * quadratic, _TINY), 0.0, 1.0)
    return np.maximum(np.maximum(factor * linear - factor**2 * quadratic, linear - quadratic), 0.0)
