"""What a partition tells of the problem: sums over its rows, of the size of the model.

``moments_of`` has the loss, its gradient and the Hessian of a sample of the rows near the margin, for a Newton step;
``dual_of_part`` what the dual variables add to a lower bound, as in `frugalsvm.lowrank.duality`. An intercept needs
dual variables that sum to zero, and what has to be scaled down for it is not known before all have answered: each tells
sums of the positive and of the negative ones, which are scaled afterwards.

``blocks`` are compiled problems on some rows each, one after the other. `frugalsvm.lowrank.backends.partitions` says
what is made of the sums.
"""

import math
import threading
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import ssyrk

from frugalsvm.arrays.namespace import HOST
from frugalsvm.lowrank.backends.compiled import COMPILED
from frugalsvm.lowrank.duality import Sides, balance_of, best_bounds, conjugate_sums
from frugalsvm.lowrank.options import Options
from frugalsvm.lowrank.problem import Point, regularized
from frugalsvm.lowrank.visits import visited

_GRAM_NUMBERS = 2**21  # features of rows that are multiplied with each other at a time


class Iterate(NamedTuple):
    """Where a round is: parameters, where they are to go, and how."""

    number: int
    parameters: np.ndarray
    smoothing: float
    options: Options
    sampled: float  # share of the rows that make the curvature, at most
    whole: bool  # whether validation rows count
    directions: np.ndarray | None = None
    lengths: np.ndarray | None = None  # of the steps


class Moments(NamedTuple):
    """Sums over the rows of a partition, at given parameters."""

    n_rows: int
    losses: np.ndarray  # (n_outputs,)
    excess: np.ndarray  # (n_outputs,) what smoothing adds to them
    slopes: np.ndarray  # (n_outputs, d + 1) without the penalty
    curvatures: np.ndarray  # (n_outputs, (d + 1)(d + 2) / 2) lower triangles, float32

    def objectives(self, parameters, penalty):
        """The objective of each output, with the loss as it is."""
        return regularized(self.losses / self.n_rows, parameters, penalty)


class Dual(NamedTuple):
    """Sums over the rows of a partition: those whose dual variables are positive, and those where they are negative."""

    n_rows: int
    duals: np.ndarray  # (2, n_outputs) of the dual variables
    linear: np.ndarray  # (2, n_outputs) of the conjugates
    sums: np.ndarray  # (2, n_outputs, d) of rows by their dual variables
    losses: np.ndarray  # (n_outputs,) after the step

    def bounds(self, penalty, intercept):
        """What the objective of each output cannot be below, from the sums of all partitions.

        Conjugates are concave, and zero at zero: scaled down, they are at least the same share of what they were.
        """
        up, down = self.duals
        factors = balance_of(HOST, Sides(up, up + down)) if intercept else np.ones((2, len(up)))
        linear, sums = (factors * self.linear).sum(axis=0), (factors[:, :, None] * self.sums).sum(axis=0)
        quadratic = np.square(sums / self.n_rows).sum(axis=1) / (2.0 * penalty)
        return best_bounds(linear / self.n_rows, quadratic)


def summed(parts):
    """Sums of sums: what several partitions found, in their order, as one."""
    first = parts[0]
    return type(first)(*(sum(values[1:], start=values[0]) for values in zip(*parts, strict=True)))


def moments_of(blocks, iterate, rng):
    """What a partition tells of the objective at an iterate.

    ``blocks`` are problems on some rows each, one after the other: their features are read once, and only those of one
    block need to be there at a time. The curvature of a sample is scaled to that of all rows.
    """
    n_rows, parameters, sums = 0, iterate.parameters, _Sums(len(iterate.parameters))
    losses, excess, slope_sums = (np.zeros(shape) for shape in (len(parameters), len(parameters), (len(parameters), 1)))
    hessians, raw = [_Gram(parameters.shape[1]) for _ in parameters], None
    for block in blocks:
        raw = block.whitening.raw(parameters[:, :-1]) if raw is None else raw
        shifts = parameters[:, -1] if block.intercept else np.zeros(len(parameters))
        scores, slopes, curvatures, gradient = visited(block, raw, shifts, iterate.smoothing, iterate.options.cut)
        sums.add(block, gradient)
        if block.intercept:
            slope_sums += slopes.sum(axis=1, keepdims=True, dtype=np.float64)
        n_rows += block.n_rows
        losses += COMPILED.total(block, scores)
        if not block.loss.is_smooth:
            excess += COMPILED.excess(block, scores, iterate.smoothing)
        for hessian, curved in zip(hessians, curvatures, strict=True):
            hessian.add(block, *_near_rows(block, curved, iterate, rng))
    slopes = np.hstack([sums.of_features(parameters.shape[1] - 1), slope_sums])
    return Moments(n_rows, losses, excess, slopes, np.array([hessian.triangle() for hessian in hessians]))


def _with_scores(blocks, parameters):
    """Blocks with their scores; what a matrix makes of the parameters is the same for all, and made once."""
    raw = None
    for block in blocks:
        raw = block.whitening.raw(parameters[:, :-1]) if raw is None else raw
        scores = block.rows.scores(raw)
        if block.intercept:
            scores += parameters[:, -1:].astype(np.float32)
        yield block, scores


class _Sums:
    """Sums of rows by weights, over blocks; they are whitened at the end, once."""

    def __init__(self, n_outputs):
        self._n_outputs, self._total, self.whitening = n_outputs, 0.0, None

    def add(self, block, gradient):
        self._total, self.whitening = self._total + gradient, block.whitening

    def of_features(self, n_features):
        """In feature space; zeros where there was no row."""
        return (
            np.zeros((self._n_outputs, n_features)) if self.whitening is None else self.whitening.features(self._total)
        )


def _near_rows(block, second, iterate, rng):
    """A sample of the rows near the margin of one output, and the roots of their curvatures."""
    near = np.flatnonzero(second > iterate.options.near * second.max()) if second.any() else np.zeros(0, np.int64)
    total, n_sampled = second.sum(dtype=np.float64), int(np.ceil(block.n_rows * iterate.sampled))
    if len(near) > n_sampled:
        near = near[COMPILED.choose(len(near), n_sampled, rng)]
    weights = second[near].astype(np.float64)
    weights *= total / weights.sum() if len(near) else 0.0
    return near, np.sqrt(weights).astype(np.float32)


class _Memory(threading.local):
    """Arrays of a thread that serve again in the next round.

    Workers of Dask give memory back to the system at once, and new memory takes longer than what is done with it.
    """

    def array(self, name, *shape):
        """In float32, with anything in it."""
        size = math.prod(shape)
        if name not in self.__dict__ or self.__dict__[name].size < size:
            self.__dict__[name] = np.empty(size, np.float32)
        return self.__dict__[name][:size].reshape(shape)


_MEMORY = _Memory()


class _Gram:
    """The Hessian of one output, of rows near its margin and the roots of their curvatures: some rows at a time."""

    def __init__(self, size):
        # In the order of Fortran, as BLAS has it, an upper triangle is a lower one; the other one stays zero.
        self._size, self._sum = size, np.zeros((size, size), np.float32, order="F")

    def add(self, block, near, weights):
        n_parts = max(-(-len(near) * block.rows.width // _GRAM_NUMBERS), 1)
        for part in np.array_split(np.arange(len(near)), n_parts):
            self._add_some(block, near[part], weights[part])

    def _add_some(self, block, near, weights):
        rows = _MEMORY.array("rows", len(near), block.rows.width)
        np.take(block.rows.block, near, axis=0, out=rows, mode="clip")
        rows *= weights[:, None]
        # With the ones of the intercept as one more column, rounding keeps the product positive semi-definite.
        roots = _MEMORY.array("roots", len(near), self._size)
        roots[:, -1] = weights
        roots[:, :-1] = block.whitening.features(rows)
        self._sum = ssyrk(1.0, roots.T, beta=1.0, c=self._sum, overwrite_c=True)

    def triangle(self):
        """Its numbers up to the diagonal, row by row."""
        return np.concatenate([row[: i + 1] for i, row in enumerate(self._sum.T)])


def _duals_of(blocks, iterate):
    """Feasible dual variables of each block after a full step, with its scores and how a step changes them."""
    # Rows are read once.
    for block, both in _with_scores(blocks, np.concatenate([iterate.parameters, iterate.directions])):
        scores, changes = np.split(both, 2)
        slopes = block.slopes(Point(iterate.parameters, scores), iterate.smoothing, iterate.options)
        duals = -(slopes.first + slopes.second * changes)
        yield block, block.loss.feasible(np, block.targets, duals, block.weights), scores, changes


def dual_of_part(blocks, iterate, rng=None):
    """What a partition tells of the dual objective, and its losses after the step."""
    shape = 2, len(iterate.parameters)
    n_rows, total, linear, losses, sums = 0, np.zeros(shape), np.zeros(shape), np.zeros(shape[1]), _Sums(2 * shape[1])
    for block, duals, scores, changes in _duals_of(blocks, iterate):
        sides = np.stack([np.maximum(duals, 0.0), np.minimum(duals, 0.0)])
        n_rows += block.n_rows
        total += sides.sum(axis=2, dtype=np.float64)
        linear += [conjugate_sums(np, block.loss, block.targets, side, block.weights) for side in sides]
        sums.add(block, block.rows.gradient(sides.reshape(2 * shape[1], -1)))
        losses += COMPILED.total(block, scores + iterate.lengths[:, None].astype(np.float32) * changes)
    return Dual(n_rows, total, linear, sums.of_features(iterate.parameters.shape[1] - 1).reshape(*shape, -1), losses)


def mean_iterates(iterates, weights):
    """The mean of parameters ``(n_outputs, d + 1)`` for the same feature map, weighted by examples."""
    weights = np.asarray(weights, np.float64)
    if len(weights) != len(iterates) or not len(weights) or not (weights >= 0).all() or not weights.sum() > 0:
        raise ValueError("A mean needs a weight for each of its parts, none of them negative and not all of them zero.")
    total = np.zeros(np.shape(iterates[0]))
    for iterate, weight in zip(iterates, weights, strict=True):
        total += weight * iterate
    return total / weights.sum()
