"""How well a small kernel machine predicts rows that it has not seen, and how that changes with its metric.

The machine is ridge regression on kernel values with m landmarks, of rows ``u = A x``::

    H = K' D K + ridge w K_m,  a = H^-1 K' D y,  loss = |sqrt(D_v) (y_v - K_v a)|^2 / w_v

where K, K_v and K_m are the kernel values of the rows that are fitted, of those that are held out and of the landmarks
themselves, with all landmarks; D and D_v are weights of rows, w and w_v their sums. Kernels are functions of the
Euclidean distance r with slopes ``P = phi'(r) / r`` (`frugalsvm.core.slopes`). With the residuals ``R = y - K a`` and
``R_v = y_v - K_v a``, and ``q = H^-1 K_v' D_v R_v``, the gradient of the loss with respect to A is ``-2 / w_v A S``. S
is the sum of ``W_nm (x_n - z_m) (x_n - z_m)'`` over all pairs, and over three matrices W::

    D_v R_v a' * P_v,  D (R q' - K q a') * P,  -ridge w / 2 (q a' + a q') * P_m

All of it is in float64: in float32, gradients are wrong by up to 40 %.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from frugalsvm.core.kernels import kernel_block
from frugalsvm.core.slopes import slope_block

__all__ = ["Batch", "Judged", "Rows", "in_metric", "judged", "solver"]

_JITTER = 1e-8  # of the mean of the diagonal: rounding errors of kernel values among landmarks that are close


class Rows(NamedTuple):
    X: np.ndarray  # (n, d)
    targets: np.ndarray  # (n, n_outputs)
    weights: np.ndarray  # (n,)

    def __getitem__(self, part: Any) -> "Rows":  # type: ignore[override]
        return Rows(*(np.take(each, part, axis=0) for each in tuple(self)))


class Batch(NamedTuple):
    fitted: Rows
    held_out: Rows
    n_landmarks: int  # the first of the fitted rows


class Judged(NamedTuple):
    """A loss and its gradient."""

    loss: float
    scatter: np.ndarray  # (d, d), or its diagonal (d,): the gradient with respect to A is ``A @ scatter``
    ridge_slope: float  # with respect to the logarithm of the ridge


class _Values(NamedTuple):
    """Kernel values of rows with landmarks."""

    X: np.ndarray
    K: np.ndarray
    slopes: np.ndarray


def judged(kernel: Any, A: np.ndarray, ridge: float, batch: Batch, *, diagonal: bool) -> Judged:
    """The loss of a metric, ``A`` (a matrix, or a vector of factors), on held-out rows, and its gradient."""
    fitted, held_out = batch.fitted, batch.held_out
    Z = fitted.X[: batch.n_landmarks]
    K, K_v, K_m = (_values(kernel, A, X, Z) for X in (fitted.X, held_out.X, Z))
    w, w_v = fitted.weights.sum(), held_out.weights.sum()
    D, D_v = fitted.weights[:, None], held_out.weights[:, None]
    solve = solver(K.K.T @ (D * K.K) + ridge * w * K_m.K, _JITTER)
    a = solve(K.K.T @ (D * fitted.targets))
    R, R_v = fitted.targets - K.K @ a, held_out.targets - K_v.K @ a
    q = solve(K_v.K.T @ (D_v * R_v))
    pairs = (
        (K_v, (D_v * R_v) @ a.T),
        (K, D * (R @ q.T - (K.K @ q) @ a.T)),
        (K_m, -0.5 * ridge * w * (q @ a.T + a @ q.T)),
    )
    scatter = sum(_scatter(values, W * values.slopes, Z, diagonal) for values, W in pairs)
    return Judged(
        float((D_v * R_v**2).sum() / w_v),
        -2.0 / w_v * scatter,
        float(2.0 / w_v * ridge * w * (q * (K_m.K @ a)).sum()),
    )


def in_metric(A: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Rows as the kernel sees them, for a matrix or a vector of factors."""
    return X * A if A.ndim == 1 else X @ A.T


def _values(kernel, A, X, Z) -> _Values:
    U, U_z = in_metric(A, X), in_metric(A, Z)
    norms, norms_z = (np.einsum("ij,ij->i", each, each) for each in (U, U_z))
    products = U @ U_z.T
    K, slopes = np.empty_like(products), np.empty_like(products)
    kernel_block(kernel, products, norms_z, norms, K)
    slope_block(kernel, products, norms_z, norms, slopes)
    return _Values(X, K, slopes)


def solver(H: np.ndarray, jitter: float):
    """Solves systems with a matrix, to whose diagonal a share of its mean is added."""
    factor = cho_factor(H + jitter * np.trace(H) / len(H) * np.eye(len(H)), lower=True, check_finite=False)
    return lambda right: cho_solve(factor, right, check_finite=False)


def _scatter(values, W, Z, diagonal):
    """``sum W_nm (x_n - z_m) (x_n - z_m)'`` over all pairs, or its diagonal."""
    X, of_rows, of_landmarks = values.X, W.sum(axis=1), W.sum(axis=0)
    mixed = W @ Z
    if diagonal:
        return of_rows @ X**2 + of_landmarks @ Z**2 - 2.0 * np.einsum("ni,ni->i", X, mixed)
    crossed = X.T @ mixed
    return (X * of_rows[:, None]).T @ X + (Z * of_landmarks[:, None]).T @ Z - crossed - crossed.T
