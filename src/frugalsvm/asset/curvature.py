"""Newton directions: the Hessian of a sample of rows, and conjugate gradients with a factor of a smaller sample.

Only rows near the margin have curvature. At most 40 of them for each feature make the Hessian that conjugate gradients
multiply with, and at most 6 for each feature the one that is factorised, whitened, as their preconditioner.
"""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from frugalsvm.asset.task import features_of, raw_coefficients

__all__ = ["Curvature", "Preconditioner", "newton_direction"]

SAMPLE, FACTOR_SAMPLE = 40, 6  # rows of the Hessian and of its factor for each feature
_SEVERAL = 2  # with several outputs, which share both, this many times fewer
_NEAR = 1e-3  # rows with less than this share of the largest curvature have none
_TINY = 1e-300


def _scaled_up(part, whole):
    """A part of some curvatures, scaled to the sum of all."""
    return part * (whole.sum(axis=1, dtype=np.float64) / np.maximum(part.sum(axis=1), _TINY))[:, None]


class Curvature:
    """The Hessian of the objective, from a sample of the rows near the margin of some output."""

    def __init__(self, task, second, sample, rng):
        self.task = task
        near = np.flatnonzero((second > _NEAR * second.max(axis=1, keepdims=True)).any(axis=0))
        limit = sample * (task.n_features + 1) // (1 if len(second) == 1 else _SEVERAL)
        if len(near) > limit:
            near = np.sort(rng.choice(near, limit, replace=False))
        self.rows = task.rows.take(near)
        self.weights = _scaled_up(second[:, near].astype(np.float64), second) / task.rows.n_rows
        self._weights32 = self.weights.astype(np.float32)

    def times(self, directions):
        """The Hessian times vectors ``(n_outputs, d + 1)``."""
        task = self.task
        changes = raw_coefficients(task, directions[:, :-1]).astype(np.float32) @ self.rows.T
        if task.intercept:
            changes += directions[:, -1:].astype(np.float32)
        changes *= self._weights32
        result = np.zeros(directions.shape)
        result[:, :-1] = task.penalty * directions[:, :-1]
        result[:, :-1] += features_of(task, (changes @ self.rows).astype(np.float64))
        if task.intercept:
            result[:, -1] = changes.sum(axis=1, dtype=np.float64)
        return result


class Preconditioner:
    """Cholesky factor of the Hessian of fewer rows; several outputs share the mean of theirs."""

    n_steps = None  # how many steps conjugate gradients took when it was new

    def __init__(self, curvature, rng):
        task, rows, weights = curvature.task, curvature.rows, curvature.weights
        d = task.n_features
        limit = FACTOR_SAMPLE * (d + 1) // (1 if len(weights) == 1 else _SEVERAL)
        if len(rows) > limit:
            part = np.sort(rng.choice(len(rows), limit, replace=False))
            rows, weights = rows[part], _scaled_up(weights[:, part], weights)
        weights = weights.mean(axis=0).astype(np.float32)
        if task.whitening is not None:
            rows = rows @ task.whitening.astype(np.float32)
        # With the ones of the intercept as one more column, rounding keeps the product positive semi-definite.
        roots = np.ones((len(rows), d + 1), np.float32)
        roots[:, :d] = rows
        roots *= np.sqrt(weights)[:, None]
        matrix = (roots.T @ roots).astype(np.float64)
        if not task.intercept:
            matrix[d, :] = matrix[:, d] = 0.0
        matrix[np.arange(d), np.arange(d)] += task.penalty
        self._factor = _factorised(matrix)

    def solve(self, vectors):
        return cho_solve(self._factor, vectors.T, check_finite=False).T


def _factorised(matrix):
    """Cholesky factor, with as much added to the diagonal as it takes: sums in float32 are not exact."""
    ridge = 1e-7 * max(matrix.diagonal().max(), _TINY)
    while True:
        shifted = matrix.copy()
        np.fill_diagonal(shifted, matrix.diagonal() + ridge)
        try:
            return cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            ridge *= 10.0


def newton_direction(curvature, preconditioner, gradients, tolerance, max_steps):
    """Directions that solve ``Hessian direction = -gradient`` for each output, and the number of steps taken."""
    directions = np.zeros_like(gradients)
    residuals = -gradients
    search = solved = preconditioner.solve(residuals)
    sizes = first_sizes = (residuals * solved).sum(axis=1)
    steps = 0
    while steps < max_steps:
        steps += 1
        products = curvature.times(search)
        lengths = sizes / np.maximum((search * products).sum(axis=1), _TINY)
        directions = directions + lengths[:, None] * search
        residuals = residuals - lengths[:, None] * products
        solved = preconditioner.solve(residuals)
        new_sizes = (residuals * solved).sum(axis=1)
        if (new_sizes <= tolerance**2 * first_sizes).all():
            break
        search = solved + (new_sizes / np.maximum(sizes, _TINY))[:, None] * search
        sizes = new_sizes
    return directions, steps
