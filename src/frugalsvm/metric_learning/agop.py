"""Average gradient outer products: the directions along which a fitted machine changes.

A machine ``f(x) = sum_j a_j K(x, z_j)`` of rows ``u = A x`` has the gradient ``A' sum_j a_j P_j (u - u_j)`` in x, with
the slopes P of its kernel (`frugalsvm.core.slopes`). The mean of ``grad f grad f'`` over rows, summed over outputs, is
a metric M: it stretches the directions that matter. Its root, scaled so that the median distance of rows stays as it
was, is the next A.

A. Radhakrishnan, D. Beaglehole, P. Pandit and M. Belkin, "Mechanism for feature learning in neural networks and
backpropagation-free machine learning models", Science 383, 2024.
"""

from typing import Any

import numpy as np

from frugalsvm.arrays.namespace import arrays_of
from frugalsvm.core.metric import mapped
from frugalsvm.metric_learning.machine import Rows, median_distance, solver, squares, values_and_slopes

__all__ = ["agop", "average_outer_product", "leading_root"]

_JITTER = 1e-9
_MOST_PRODUCTS = 2**31  # multiplications for the gradients of all rows: with many features, fewer rows are enough
_LEAST_ROWS = 512
KEPT_TRACE, MOST_DIRECTIONS = 0.999, 64


def agop(kernel: Any, A: Any, ridge: float, rows: Rows, n_landmarks: int, rng: np.random.Generator) -> Any:
    """The metric that follows on ``A``, as a matrix: the landmarks are the first rows."""
    M = average_outer_product(kernel, A, ridge, rows, n_landmarks)
    arrays = arrays_of(M)
    root = arrays.asarray(leading_root(arrays.host(M)))
    before, after = (median_distance(kernel, mapped(rows.X, each), rng) for each in (A, root))
    return root * (before / after)


def average_outer_product(kernel: Any, A: Any, ridge: float, rows: Rows, n_landmarks: int) -> Any:
    """The mean of the outer products of gradients of a machine that is fitted to the rows, over the first of them."""
    n_landmarks = min(n_landmarks, len(rows.X))
    U = mapped(rows.X, A)
    U_z = U[:n_landmarks]
    K, slopes = values_and_slopes(kernel, U, U_z)
    H = squares(K, rows.weights) + ridge * rows.weights.sum() * K[:n_landmarks]
    a = solver(H, _JITTER)(K.T @ (rows.weights[:, None] * rows.targets))
    n_outputs, n_features = a.shape[1], U.shape[1]
    n = max(_LEAST_ROWS, _MOST_PRODUCTS // (n_landmarks * n_outputs * (n_features + 1)))
    U, P, weights = U[:n], slopes[:n], rows.weights[:n]
    # All outputs in one product: column (o, f) is a_o z_f.
    ofs = (a[:, :, None] * U_z[:, None, :]).reshape(n_landmarks, -1)
    G = (P @ a)[:, :, None] * U[:, None, :] - (P @ ofs).reshape(len(U), n_outputs, n_features)
    G = (G * (weights**0.5)[:, None, None]).reshape(-1, n_features)
    M = G.T @ G / weights.sum()
    return A[:, None] * M * A if A.ndim == 1 else A.T @ M @ A


def leading_root(M: np.ndarray) -> np.ndarray:
    """A root of a metric: of few features the symmetric one; of many, the directions that make up nearly all of it."""
    values, vectors = np.linalg.eigh(M)
    values = np.maximum(values, 0.0)
    if len(M) <= MOST_DIRECTIONS:
        return (vectors * np.sqrt(values)) @ vectors.T
    values, vectors = values[::-1], vectors[:, ::-1]
    n_kept = min(int(np.searchsorted(np.cumsum(values), KEPT_TRACE * values.sum())) + 1, MOST_DIRECTIONS)
    return np.sqrt(values[:n_kept])[:, None] * vectors[:, :n_kept].T
