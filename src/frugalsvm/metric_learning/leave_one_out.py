"""How well kernel machines predict each of their rows without it, and how that changes with their metric.

A ridge machine of rows ``u = A x`` with weights D, whose sum is w, has ``a = W y``, ``W = (K + ridge w D^-1)^-1``, with
targets y relative to their mean. Without row i, it would predict that row with the error ``r_i = a_i / W_ii``. So the
loss, ``|sqrt(D) r|^2 / w``, needs no rows apart. With ``p = W (2 D r / diag W)`` and ``c = 2 D r^2 / diag W``, summed
over outputs, it changes by ``sum G_nm dK_nm / w``, where::

    G = W diag(c) W - (p a' + a p') / 2

For kernels of the Euclidean distance with slopes P (`frugalsvm.core.slopes`) the gradient with respect to A is ``A S /
w``, where S is the sum of ``V_nm (x_n - x_m) (x_n - x_m)'`` over all pairs, ``V_nm = G_nm P_nm``. For those of the L1
distance, whose metrics are factors, the sum of ``V_nm |x_n - x_m|`` is in the place of ``A S``.

On the CPU a batch is a matrix, and threads share batches; on a device they are a stack, (n_batches, n, n_features).
All of it is in float64: W is the inverse of a matrix that may be nearly singular.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.arrays.factors import invert_factors
from frugalsvm.arrays.namespace import arrays_of, is_torch
from frugalsvm.compiling.threads import ONE_THREAD, Threads
from frugalsvm.core.blocks import is_of_products
from frugalsvm.core.metric import mapped
from frugalsvm.core.slopes import sum_weighted_differences
from frugalsvm.core.symmetric_inverse import inverse
from frugalsvm.metric_learning.machine import Rows, kernel_values, refuse_rows, values_and_slopes

__all__ = ["Judged", "Machine", "for_each", "judged", "machine_of", "mean_losses"]

_LEAST_WEIGHT = 1e-6  # of a row, relative to their mean: no weight at all would divide by zero


class Machine(NamedTuple):
    """A machine of all rows of a batch, and what it predicts for each of them without it."""

    W: Any
    a: Any  # (n, n_outputs)
    errors: Any  # r
    shifts: Any  # of the diagonal of K: ridge w / D
    weights: Any

    @property
    def loss(self) -> Any:
        xp = arrays_of(self.a).xp
        return xp.sum(self.weights[..., None] * self.errors**2, axis=(-2, -1)) / xp.sum(self.weights, axis=-1)


class Judged(NamedTuple):
    """A loss and its gradient."""

    loss: Any
    gradient: Any  # with respect to A
    ridge_slope: Any  # with respect to the logarithm of the ridge


def machine_of(K: Any, ridge: Any, rows: Rows) -> Machine:
    """The machine of rows with kernel values K."""
    arrays = arrays_of(K)
    xp, weights = arrays.xp, rows.weights
    total = xp.sum(weights, axis=-1, keepdims=True)
    weights = xp.maximum(weights, _LEAST_WEIGHT * total / K.shape[-1])
    means = xp.sum(weights[..., None] * rows.targets, axis=-2, keepdims=True) / total[..., None]
    shifts = ridge * total / weights
    W = _inverse(arrays, K, shifts)
    a = W @ (rows.targets - means)
    return Machine(W, a, a / xp.linalg.diagonal(W)[..., None], shifts, weights)


def _inverse(arrays, K, shifts):
    n = K.shape[-1]
    if arrays.is_torch:
        factor = K + shifts[..., None] * arrays.xp.eye(n, dtype=K.dtype, device=K.device)
        invert_factors(arrays, factor)
        return factor.mT @ factor
    shifted = K.copy()
    shifted.reshape(-1)[:: n + 1] += shifts
    W = inverse(shifted)
    if W is None:
        refuse_rows()
    return W


def for_each(function: Any, rows: Rows, batches: Any, threads: Threads) -> list:
    """What a function makes of the rows of each batch; on a device, of all batches at once."""
    if is_torch(rows.X):
        return [function(rows[batches])]
    return threads.run(lambda index: function(rows[index]), list(batches))


def mean_losses(
    kernel: Any, A: Any, ridges: Sequence[float], rows: Rows, batches: Any, threads: Threads = ONE_THREAD
) -> list[float]:
    """The mean loss of batches with a metric, ``A`` (a matrix, or a vector of factors), for each of some ridges."""

    def losses(part):
        U = mapped(part.X, A)
        K = kernel_values(kernel, U, U)
        return [float(machine_of(K, ridge, part).loss.mean()) for ridge in ridges]

    return list(np.mean(for_each(losses, rows, batches, threads), axis=0))


def judged(kernel: Any, A: Any, ridge: Any, rows: Rows, batches: Any, threads: Threads = ONE_THREAD) -> Judged:
    """The mean loss of batches with its gradient."""
    each = for_each(lambda part: _judged(kernel, A, ridge, part), rows, batches, threads)
    if is_torch(rows.X):
        return Judged(*(value.mean(axis=0) for value in each[0]))
    return Judged(*(sum(values) / len(values) for values in zip(*each, strict=True)))


def _judged(kernel, A, ridge, rows):
    U = mapped(rows.X, A)
    K, slopes = values_and_slopes(kernel, U, U)
    found = machine_of(K, ridge, rows)
    W, a, r = found.W, found.a, found.errors
    xp = arrays_of(W).xp
    of_errors = 2.0 * found.weights[..., None] * r / xp.linalg.diagonal(W)[..., None]
    root = xp.sqrt(xp.sum(of_errors * r, axis=-1))[..., None] * W
    p = W @ of_errors
    G = root.mT @ root - 0.5 * (xp.concat((p, a), axis=-1) @ xp.concat((a, p), axis=-1).mT)
    total = xp.sum(found.weights, axis=-1)
    ridge_slope = xp.sum(found.shifts * xp.linalg.diagonal(G), axis=-1) / total
    gradient = (_euclidean if is_of_products(kernel) else _l1)(A, G * slopes, rows.X)
    return Judged(found.loss, gradient / xp.reshape(total, total.shape + (1,) * A.ndim), ridge_slope)


def _euclidean(A, V, X):
    """``A S``: for factors, its diagonal."""
    xp = arrays_of(V).xp
    sums, mixed = xp.sum(V, axis=-1)[..., None], V @ X
    if A.ndim == 1:
        return 2.0 * A * xp.sum(X * (sums * X - mixed), axis=-2)
    return 2.0 * A @ (X.mT @ (sums * X - mixed))


def _l1(A, V, X):
    """``sum V_nm |x_n - x_m|`` over all pairs, for each feature."""
    if is_torch(V):
        xp = arrays_of(V).xp
        each = (X[..., f] for f in range(len(A)))
        return xp.stack([xp.sum(V * xp.abs(x[..., :, None] - x[..., None, :]), axis=(-2, -1)) for x in each], axis=-1)
    out = np.zeros(len(A))
    sum_weighted_differences(V, np.ascontiguousarray(X), np.ascontiguousarray(X.T), out)
    return out
