"""How well a small kernel machine predicts rows that it has not seen, and how that changes with its metric.

The machine is that of `machine`, of rows ``u = A x``, and the loss that of held-out rows::

    loss = |sqrt(D_v) (y_v - K_v a)|^2 / w_v

where K_v are their kernel values with all landmarks, D_v their weights and w_v the sum of these. With the residuals
``R = y - K a`` and ``R_v = y_v - K_v a``, with ``q = H^-1 K_v' D_v R_v`` and three matrices W::

    D_v R_v a' for rows held out,  D (R q' - K q a') for rows that are fitted,  -ridge w / 2 (q a' + a q') for landmarks

the loss changes by ``-2 / w_v sum W_nm dK_nm`` over all pairs. For kernels of the Euclidean distance with slopes P
(`frugalsvm.core.slopes`) the gradient with respect to A is ``-2 / w_v A S``, where S is the sum of ``W_nm P_nm (x_n -
z_m) (x_n - z_m)'``. For those of the L1 distance, whose metrics are factors, the sum of ``W_nm P_nm |x_n - z_m|`` is in
the place of ``A S``.

All of it is in float64: in float32, gradients are wrong by up to 40 %.
"""

from typing import Any, NamedTuple

import numpy as np

from frugalsvm.arrays.namespace import arrays_of, is_torch
from frugalsvm.core.blocks import is_of_products
from frugalsvm.core.metric import mapped
from frugalsvm.core.slopes import sum_weighted_differences
from frugalsvm.metric_learning.machine import Rows, kernel_values, solver, squares, values_and_slopes

__all__ = ["Batch", "Judged", "held_out_loss", "judged"]

_JITTER = 1e-8  # of the mean of the diagonal: rounding errors of kernel values among landmarks that are close


class Batch(NamedTuple):
    rows: Rows
    n_fitted: int  # the first of the rows; the others are held out
    n_landmarks: int  # the first of these


class Judged(NamedTuple):
    """A loss and its gradient."""

    loss: float
    gradient: Any  # with respect to A
    ridge_slope: float  # with respect to the logarithm of the ridge


class _Fit(NamedTuple):
    solve: Any
    a: Any
    residuals: Any  # of all rows of the batch
    w: float  # weights of fitted rows, and of those held out
    w_v: float

    def loss(self, batch):
        R, weights = self.residuals[batch.n_fitted :], batch.rows.weights[batch.n_fitted :]
        return float((weights[:, None] * R**2).sum() / self.w_v)


def _fit(K, ridge, batch) -> _Fit:
    (_, targets, weights), n, m = batch.rows, batch.n_fitted, batch.n_landmarks
    w = float(weights[:n].sum())
    solve = solver(squares(K[:n], weights[:n]) + ridge * w * K[:m], _JITTER)
    a = solve(K[:n].T @ (weights[:n, None] * targets[:n]))
    return _Fit(solve, a, targets - K @ a, w, float(weights[n:].sum()))


def held_out_loss(kernel: Any, A: Any, ridge: float, batch: Batch) -> float:
    """The loss of a metric, ``A`` (a matrix, or a vector of factors), on held-out rows."""
    U = mapped(batch.rows.X, A)
    return _fit(kernel_values(kernel, U, U[: batch.n_landmarks]), ridge, batch).loss(batch)


def judged(kernel: Any, A: Any, ridge: float, batch: Batch) -> Judged:
    """The same with its gradient."""
    (X, _, weights), n, m = batch
    U = mapped(X, A)
    K, slopes = values_and_slopes(kernel, U, U[:m])
    fit = _fit(K, ridge, batch)
    a, weighted = fit.a, weights[:, None] * fit.residuals
    q = fit.solve(K[n:].T @ weighted[n:])
    xp = arrays_of(K).xp
    W = xp.empty_like(K)
    W[n:] = weighted[n:] @ a.T
    W[:n] = xp.concat((weighted[:n], weights[:n, None] * (K[:n] @ q)), axis=1) @ xp.concat((q, -a), axis=1).T
    half = 0.5 * ridge * fit.w * (q @ a.T)
    W[:m] -= half + half.T
    W *= slopes
    return Judged(
        fit.loss(batch),
        -2.0 / fit.w_v * (_euclidean if is_of_products(kernel) else _l1)(A, W, X, X[:m]),
        float(2.0 / fit.w_v * ridge * fit.w * (q * (K[:m] @ a)).sum()),
    )


def _euclidean(A, W, X, Z):
    """``A S``, where S is ``sum W_nm (x_n - z_m) (x_n - z_m)'`` over all pairs: for factors, its diagonal."""
    of_rows, of_landmarks = W.sum(axis=1), W.sum(axis=0)
    mixed = W @ Z
    if A.ndim == 1:
        return A * (of_rows @ X**2 + of_landmarks @ Z**2 - 2.0 * (X * mixed).sum(axis=0))
    crossed = X.T @ mixed
    return A @ ((X * of_rows[:, None]).T @ X + (Z * of_landmarks[:, None]).T @ Z - crossed - crossed.T)


def _l1(A, W, X, Z):
    """``sum W_nm |x_n - z_m|`` over all pairs, for each feature."""
    if is_torch(W):
        xp = arrays_of(W).xp
        return xp.stack([xp.sum(W * xp.abs(X[:, f, None] - Z[:, f])) for f in range(len(A))])
    out = np.zeros(len(A))
    sum_weighted_differences(W, np.ascontiguousarray(X), np.ascontiguousarray(Z.T), out)
    return out
