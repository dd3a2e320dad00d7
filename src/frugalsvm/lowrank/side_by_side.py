"""Many problems of the same rows, solved side by side: folds of a cross-validation, and values of C.

They differ in the weights of the rows and in the penalty alone. On a device, one problem after the other takes as long
as it takes to launch its operations; side by side, each operation is one product of matrices for all of them.

Vectors are in a basis in which features of the rows are nearly uncorrelated, and relative to the mean row. There, the
Hessian of any of the problems is nearly a diagonal, ``penalty + curvature * variances``, which serves as the
preconditioner of conjugate gradients, and needs no factor of its own for each penalty.
"""

from typing import Any, NamedTuple

import numpy as np

from frugalsvm.lowrank.hessian import conjugate_gradients

_ROWS_EACH = 8  # rows for each feature that tell variances
_MOST_NUMBERS = 2**30  # scores of all problems that are solved at a time
_ARRAYS = 4  # as large as these that are there at once, in units of what a sample of the rows may take
_LEAST_PROBLEMS = 2  # fewer are better off with a preconditioner of their own
_MOST_STEPS, _CG_STEPS, _FORCING = 15, 15, 0.1  # where hardly any loss is left, the last digits would take many more
_NO_LOSS = 1e-2  # of the loss of a model that has learned nothing
_LINE_STEPS = 4
_GOOD_SLOPE = 0.5  # of a step: share of the slope at its beginning
_FAR, _CUT = 4.0, 0.25
_TINY = 1e-30


def fits_side_by_side(problem, n_problems: int) -> bool:
    """Whether problems are worth being solved like this: smooth ones, on a device, with all features in memory."""
    block = getattr(problem.rows, "block", None)
    is_there = problem.backend.is_of_whole_arrays and block is not None and block.dtype == problem.arrays.xp.float32
    return is_there and problem.loss.is_smooth and n_problems >= _LEAST_PROBLEMS


def solve_side_by_side(problem, weights: Any, penalties: Any, options) -> Any:
    """Solutions ``(n_sets, n_penalties, n_outputs, d + 1)``, for all sets of weights with all penalties.

    The problem is on a device, with its features in memory, and so are the weights ``(n_sets, n_rows)``; its penalty
    is not looked at.
    """
    basis = _new_basis(problem)
    most = min(_MOST_NUMBERS, options.most_sample_numbers // _ARRAYS)
    room = max(1, most // (problem.n_outputs * problem.n_rows))
    every = [(fold, penalty) for fold in range(len(weights)) for penalty in penalties]
    found = []
    for start in range(0, len(every), room):
        folds, some = zip(*every[start : start + room], strict=True)
        found.append(_solved(_Batch(problem, basis, weights[list(folds)], some), options))
    shape = (len(weights), len(penalties), problem.n_outputs, problem.n_features + 1)
    return problem.arrays.xp.concat(found, axis=0).reshape(shape)


# --- the basis ----------------------------------------------------------------------------------------------------


class _Basis(NamedTuple):
    matrix: Any  # (width, d): a raw row times it is the row in the basis
    rotation: Any  # (d, d): from the basis to features, with the kernel as inner product
    mean: Any  # (d,) of the rows, in the basis
    variances: Any  # (d,) likewise


def _new_basis(problem) -> _Basis:
    """The eigenvectors of the covariance of some rows."""
    arrays, xp, d = problem.arrays, problem.arrays.xp, problem.n_features
    block = problem.rows.block
    some = block[arrays.strided(problem.n_rows, min(problem.n_rows, _ROWS_EACH * d))]
    features = problem.whitening.features(some)
    mean = xp.mean(features, axis=0) if problem.intercept else xp.zeros_like(features[0])
    features = features - mean
    covariance = arrays.double(features.T @ features) / features.shape[0]
    variances, rotation = xp.linalg.eigh(covariance)
    matrix = arrays.single(problem.whitening.raw(rotation.T).T)
    mean = arrays.single(arrays.double(mean) @ rotation)
    return _Basis(matrix, rotation, mean, arrays.single(xp.clip(variances, 0.0, None)))


# --- problems -----------------------------------------------------------------------------------------------------


class _Batch:
    """Problems with an output each; vectors are ``(n, d + 1)``, the intercept last, scores ``(n, n_rows)``."""

    def __init__(self, problem, basis, weights, penalties):
        arrays, self.problem, self.basis = problem.arrays, problem, basis
        self.xp, self.arrays, self._block = arrays.xp, arrays, problem.rows.block
        self._weights, self._n_rows, n_outputs = weights, problem.n_rows, problem.n_outputs
        each = np.repeat(np.asarray(penalties, np.float64), n_outputs)
        self.penalties = arrays.asarray(each, "float32")[:, None]
        self.n = len(each)
        self._shape = (len(penalties), n_outputs, self._n_rows)

    def scores(self, vectors):
        inner = vectors[:, :-1]
        shifts = vectors[:, -1:] - inner @ self.basis.mean[:, None]
        return (inner @ self.basis.matrix.T) @ self._block.T + shifts

    def sums(self, slopes):
        """Of rows times their slopes, over the number of rows."""
        totals = self.xp.sum(slopes, axis=1, keepdims=True)
        inner = (slopes @ self._block) @ self.basis.matrix - totals * self.basis.mean
        totals = totals if self.problem.intercept else 0 * totals
        return self.xp.concat((inner, totals), axis=1) / self._n_rows

    def slopes(self, scores):
        found = self.problem.loss.derivatives(self.xp, 0.0, self.problem.targets, scores.reshape(self._shape))
        return tuple((one * self._weights[:, None, :]).reshape(scores.shape) for one in found)

    def penalized(self, vectors):
        """The slopes of the penalty: there is none on the intercept."""
        return self.xp.concat((self.penalties * vectors[:, :-1], 0 * vectors[:, -1:]), axis=1)

    def objectives(self, vectors, scores):
        values = self.problem.loss.values(self.xp, self.problem.targets, scores.reshape(self._shape))
        risks = self.xp.sum((values * self._weights[:, None, :]).reshape(scores.shape), axis=1) / self._n_rows
        return risks + 0.5 * self.xp.sum(vectors * self.penalized(vectors), axis=1)

    def published(self, vectors):
        """Parameters of features, in float64."""
        inner, basis = self.arrays.double(vectors[:, :-1]), self.basis
        shifts = self.arrays.double(vectors[:, -1:]) - inner @ self.arrays.double(basis.mean)[:, None]
        return self.xp.concat((inner @ basis.rotation.T, shifts), axis=1)


class _Curvature:
    """The Hessians of all problems, and the diagonals that stand for them in a preconditioner."""

    def __init__(self, batch, second):
        self._batch, self._second = batch, second
        xp, has_intercept = batch.xp, batch.problem.intercept
        mean = xp.sum(second, axis=1, keepdims=True) / second.shape[1]
        corner = mean if has_intercept else xp.ones_like(mean)
        diagonal = xp.concat((batch.penalties + mean * batch.basis.variances, corner), axis=1)
        self._diagonal = xp.clip(diagonal, _TINY, None)

    def times(self, vectors):
        return self._batch.sums(self._second * self._batch.scores(vectors)) + self._batch.penalized(vectors)

    def solve(self, vectors):
        return vectors / self._diagonal


# --- steps --------------------------------------------------------------------------------------------------------


def _solved(batch, options):
    """Newton steps until the next would gain little; problems that are done wait for the others."""
    xp = batch.xp
    vectors = batch.arrays.zeros((batch.n, batch.problem.n_features + 1), "float32")
    scores = batch.scores(vectors)
    objectives = batch.objectives(vectors, scores)
    # Where hardly any loss is left, digits of it tell nothing.
    least = _NO_LOSS * objectives
    active = xp.ones_like(objectives)
    for _ in range(min(options.max_iter, _MOST_STEPS)):
        first, second = batch.slopes(scores)
        gradients = (batch.sums(first) + batch.penalized(vectors)) * active[:, None]
        curvature = _Curvature(batch, second)
        units = xp.sqrt(xp.sum(gradients * gradients, axis=1, keepdims=True)) + _TINY
        directions, _ = conjugate_gradients(xp, curvature, curvature, gradients / units, _FORCING, _CG_STEPS)
        directions = directions * units
        starts = xp.sum(gradients * directions, axis=1)
        changes = batch.scores(directions)
        lengths = _lengths(batch, vectors, directions, scores, changes, starts)
        vectors, scores = vectors + lengths * directions, scores + lengths * changes
        objectives = batch.objectives(vectors, scores)
        is_active = -0.5 * starts > options.tolerance * (objectives + least)
        if not bool(xp.any(is_active)):
            break
        active = xp.where(is_active, active, xp.zeros_like(active))
    return batch.published(vectors)


def _lengths(batch, vectors, directions, scores, changes, starts):
    """Of steps, ``(n, 1)``: Newton's method for each, kept inside an interval that has the minimum."""
    xp = batch.xp
    linear = xp.sum(batch.penalized(vectors) * directions, axis=1)
    quadratic = xp.sum(batch.penalized(directions) * directions, axis=1)
    length, low, high = xp.ones_like(starts), xp.zeros_like(starts), xp.full_like(starts, float("inf"))
    slope = starts
    for _ in range(_LINE_STEPS):
        first, second = batch.slopes(scores + length[:, None] * changes)
        slope = xp.sum(first * changes, axis=1) / changes.shape[1] + linear + length * quadratic
        curved = xp.sum(second * changes * changes, axis=1) / changes.shape[1] + quadratic
        low, high = xp.where(slope < 0, length, low), xp.where(slope < 0, high, length)
        guess = length - slope / xp.clip(curved, _TINY, None)
        between = xp.where(high < float("inf"), 0.5 * (low + high), _FAR * length)
        is_good = xp.abs(slope) <= _GOOD_SLOPE * xp.abs(starts)
        inside = (guess > low) & (guess < xp.minimum(high, _FAR * length))
        length = xp.where(is_good, length, xp.where(inside, guess, between))
    # What is not there yet goes as far as is known to be downhill.
    is_good = xp.abs(slope) <= _GOOD_SLOPE * xp.abs(starts)
    length = xp.where(is_good, length, xp.where(low > 0, low, _CUT * length))
    return xp.where(starts < 0, length, xp.zeros_like(length))[:, None]
