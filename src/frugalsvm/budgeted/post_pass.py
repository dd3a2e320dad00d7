"""The last pass of a regression: support vectors stay, and their coefficients come close to the optimum.

Steps of stochastic gradient descent learn slowly where the kernel has small eigenvalues. With B fixed vectors, whose
kernel values with a row are k(x), the coefficients c of ``f = c' k(x)`` can be preconditioned by the second moment
``M = E[k k']``: on blocks of rows

    g = mean(slope(y - c' k) k),   p = (M + ridge G)^-1 g,   c <- c + rho_t min(1, g'p / mean((p' k)^2)) / curvature p

where G is the kernel matrix of the vectors. For the squared loss, whose curvature is 1, and ``rho = 1`` on all rows
that is Newton's step. For the others it is the mean slope of a difference, of the length of a usual residual: they
have no second derivative where it matters. The ratio is the length that is best for the block itself, on which the step
may not overshoot: where a vector is near one outlier only, M says too little.

The step rho falls to zero, and the result is the mean of the last quarter of all iterates (Polyak & Juditsky 1992):
the noise of blocks cancels out. Quantiles far out take more passes, since few rows pull, or pull hard.
"""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from frugalsvm.budgeted.model_averaging import kernel_values
from frugalsvm.core.expansion import coefficients

_RHO = 0.4
_AVERAGED = 0.75  # of all steps are made before averaging begins
_LEAST_BLOCK, _LEAST_STEPS = 256, 24
_MOMENT_ROWS = 16  # times as many rows as vectors tell the second moment
_RIDGE, _JITTER = 0.1, 1e-9  # over the number of rows; share of the mean of the diagonal
_CURVATURE_EVERY = 8  # blocks
_LEAST_CURVATURE, _LEAST_CHANGE = 1e-6, 1e-300


def refitted(kernel, loss, expansion, X, targets, weights, rng, n_passes=1):
    """Coefficients (n, n_outputs) of the support vectors, near those of the least mean loss.

    Parameters
    ----------
    kernel, loss : NamedTuple
        The loss is one of residuals.
    expansion : Expansion
        Where to begin.
    X, targets : matrix or CSR matrix, array (n_rows, n_outputs)
    weights : array (n_rows,) or None
    rng : numpy.random.Generator
        For the order of the rows.
    n_passes : int, default=1
        Over the rows; short ones are visited more often.
    """
    rows = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights)
    n = int(expansion.counts[0]["n_slots"])
    if n == 0 or len(rows) == 0:
        return coefficients(expansion)
    vectors = expansion.rows[:n]

    def block_of(index):
        weight = np.ones(len(index)) if weights is None else weights[index]
        block = X[index] if isinstance(X, np.ndarray) else X[index].toarray()
        return kernel_values(kernel, block, vectors), targets[index], weight / weight.sum()

    order = rng.permutation(rows)
    gram = kernel_values(kernel, vectors, vectors)
    precondition = _preconditioner(block_of(order[: _MOMENT_ROWS * n]), gram, len(rows))
    length = min(max(n, _LEAST_BLOCK), len(rows))
    n_steps = n_passes * max(len(rows) // length, _LEAST_STEPS)
    coef, total, n_averaged = coefficients(expansion).copy(), np.zeros((n, expansion.n_outputs)), 0
    curvature = np.ones(expansion.n_outputs)
    for step in range(n_steps):
        start = step * length % (len(rows) - length + 1)
        values, wanted, weight = block_of(order[start : start + length])
        residuals = wanted - values @ coef
        if step % _CURVATURE_EVERY == 0:
            curvature = _curvature(loss, residuals, weight)
        rho = _RHO * (1.0 - step / n_steps)
        coef += rho / curvature * _newton_step(values, weight, _slopes(loss, residuals), precondition)
        if step >= int(_AVERAGED * n_steps):
            total += coef
            n_averaged += 1
    return total / n_averaged


def _newton_step(values, weight, slopes, precondition):
    """The step for a loss of curvature 1, for each output, and no longer than is best for the block."""
    gradient = values.T @ (weight[:, None] * slopes)
    direction = precondition(gradient)
    change = weight @ np.square(values @ direction)
    longest = (gradient * direction).sum(axis=0) / np.maximum(change, _LEAST_CHANGE)
    return np.minimum(longest, 1.0) * direction


def _preconditioner(block, gram, n_rows):
    """``(M + ridge G)^-1`` times something."""
    values, _, weight = block
    moment = values.T @ (weight[:, None] * values) + _RIDGE / n_rows * gram
    moment[np.diag_indices_from(moment)] += _JITTER * np.trace(moment)
    factor = cho_factor(moment)
    return lambda gradient: cho_solve(factor, gradient)


def _slopes(loss, residuals):
    """Minus the derivatives of the losses by the predictions."""
    dead = residuals - np.clip(residuals, -loss.epsilon, loss.epsilon)
    return np.clip(loss.gain * dead, loss.low, loss.high)


def _curvature(loss, residuals, weight):
    """Mean slope, for each output, of the derivative over the width of a usual residual."""
    width = np.maximum(weight @ np.abs(residuals) + loss.epsilon, 1e-12)
    change = weight @ (_slopes(loss, residuals + width) - _slopes(loss, residuals - width))
    return np.maximum(change / (2.0 * width), _LEAST_CURVATURE)
