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

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from frugalsvm._threads import ONE_THREAD, Threads
from frugalsvm.arrays.namespace import arrays_of, is_torch
from frugalsvm.core.blocks import is_of_products
from frugalsvm.core.metric import mapped
from frugalsvm.core.slopes import sum_weighted_differences
from frugalsvm.metric_learning.machine import Rows, kernel_values, solver, squares, values_and_slopes

__all__ = ["Batch", "Judged", "held_out_loss", "judged"]

_PART_ROWS = 512  # at a time: threads share the parts, and kernel values stay in a core's cache
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


class _Part(NamedTuple):
    """Some rows of a batch, all of them fitted or all of them held out."""

    is_fitted: bool
    rows: Rows
    K: Any  # kernel values with landmarks
    slopes: Any
    R: Any = None  # residuals of a machine

    def predicted(self, a):
        return self._replace(R=self.rows.targets - self.K @ a)

    def sums(self):
        targets, weights = self.rows.targets, self.rows.weights
        return squares(self.K, weights), self.K.T @ (weights[:, None] * targets)


class _Fit:
    """A machine that is fitted to a batch, part by part."""

    def __init__(self, parts, ridge, batch, threads):
        weights, m = batch.rows.weights, batch.n_landmarks
        self.w, self.w_v = (float(each.sum()) for each in (weights[: batch.n_fitted], weights[batch.n_fitted :]))
        totals, rights = zip(*threads.run(_Part.sums, [part for part in parts if part.is_fitted]), strict=True)
        self.solve = solver(sum(totals) + ridge * self.w * parts[0].K[:m], _JITTER)
        self.a = self.solve(sum(rights))
        self.parts = threads.run(lambda part: part.predicted(self.a), parts)

    @property
    def held_out(self):
        return [part for part in self.parts if not part.is_fitted]

    def loss(self):
        return float(sum((part.rows.weights[:, None] * part.R**2).sum() for part in self.held_out) / self.w_v)


def _blocks(batch):
    """Slices of fitted rows, the first with all landmarks, and of those held out; on a device, one of each."""
    edges = 0, batch.n_fitted, len(batch.rows.X)
    size = edges[-1] if is_torch(batch.rows.X) else max(_PART_ROWS, batch.n_landmarks)
    return [slice(first, min(first + size, end)) for start, end in pairwise(edges) for first in range(start, end, size)]


def _parts(kernel, U, batch, threads, values):
    landmarks = U[: batch.n_landmarks]

    def part(block):
        return _Part(block.start < batch.n_fitted, batch.rows[block], *values(kernel, U[block], landmarks))

    return threads.run(part, _blocks(batch))


def held_out_loss(kernel: Any, A: Any, ridge: float, batch: Batch) -> float:
    """The loss of a metric, ``A`` (a matrix, or a vector of factors), on held-out rows."""
    U = mapped(batch.rows.X, A)
    parts = _parts(kernel, U, batch, ONE_THREAD, lambda *each: (kernel_values(*each), None))
    return _Fit(parts, ridge, batch, ONE_THREAD).loss()


def judged(kernel: Any, A: Any, ridge: float, batch: Batch, threads: Threads = ONE_THREAD) -> Judged:
    """The same with its gradient, on threads."""
    Z, m = batch.rows.X[: batch.n_landmarks], batch.n_landmarks
    parts = _parts(kernel, mapped(batch.rows.X, A), batch, threads, values_and_slopes)
    fit = _Fit(parts, ridge, batch, threads)
    a, of_pairs = fit.a, _euclidean if is_of_products(kernel) else _l1
    xp = arrays_of(a).xp
    q = fit.solve(sum(part.K.T @ (part.rows.weights[:, None] * part.R) for part in fit.held_out))
    sides = xp.concat((q, -a), axis=1)

    def gradient(part):
        weights = part.rows.weights[:, None]
        own = weights * part.R
        W = xp.concat((own, weights * (part.K @ q)), axis=1) @ sides.T if part.is_fitted else own @ a.T
        return of_pairs(A, W * part.slopes, part.rows.X, Z)

    half = 0.5 * ridge * fit.w * (q @ a.T)
    of_landmarks = of_pairs(A, -(half + half.T) * parts[0].slopes[:m], Z, Z)
    return Judged(
        fit.loss(),
        -2.0 / fit.w_v * sum(threads.run(gradient, fit.parts), of_landmarks),
        float(2.0 / fit.w_v * ridge * fit.w * (q * (parts[0].K[:m] @ a)).sum()),
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
