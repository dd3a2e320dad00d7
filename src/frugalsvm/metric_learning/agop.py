"""Average gradient outer products: the directions along which a fitted machine changes.

A machine ``f(x) = sum_j a_j K(x, x_j)`` of rows ``u = A x`` has the gradient ``A' sum_j a_j P_j (u - u_j)`` in x, with
the slopes P of its kernel (`frugalsvm.core.slopes`). The mean of ``grad f grad f'`` over rows, summed over outputs, is
a metric M: it stretches the directions that matter. Its root, scaled so that the median distance of rows stays as it
was, is the next A. Machines are those of batches, and M is the mean of all of them.

A. Radhakrishnan, D. Beaglehole, P. Pandit and M. Belkin, "Mechanism for feature learning in neural networks and
backpropagation-free machine learning models", Science 383, 2024.
"""

from typing import Any

import numpy as np

from frugalsvm.arrays.namespace import arrays_of
from frugalsvm.compiling.threads import ONE_THREAD, Threads
from frugalsvm.core.seen_rows import mapped
from frugalsvm.metric_learning.machine import Rows, for_each, machine_of, median_distance, values_and_slopes

KEPT_TRACE, MOST_DIRECTIONS = 0.999, 64


def agop(
    kernel: Any,
    A: Any,
    ridge: float,
    rows: Rows,
    batches: Any,
    rng: np.random.Generator,
    threads: Threads = ONE_THREAD,
) -> Any:
    """The metric that follows on ``A``, as a matrix."""
    M = average_outer_product(kernel, A, ridge, rows, batches, threads)
    arrays = arrays_of(M)
    root = arrays.asarray(leading_root(arrays.host(M)))
    before, after = (median_distance(kernel, mapped(rows.X, each), rng) for each in (A, root))
    return root * (before / after)


def average_outer_product(
    kernel: Any, A: Any, ridge: float, rows: Rows, batches: Any, threads: Threads = ONE_THREAD
) -> Any:
    """The mean of the outer products of gradients of machines, each at the rows that it is fitted to."""
    each = for_each(lambda part: _outer_products(kernel, A, ridge, part), rows, batches, threads)
    sums, weights = (sum(values) for values in zip(*each, strict=True))
    M = sums / weights
    return A[:, None] * M * A if A.ndim == 1 else A.T @ M @ A


def _outer_products(kernel, A, ridge, rows):
    """The sum over rows, or over the rows of a stack of batches, and that of their weights."""
    U = mapped(rows.X, A)
    K, P = values_and_slopes(kernel, U, U)
    a = machine_of(K, ridge, rows).a
    # All outputs in one product: column (o, f) is a_o u_f.
    ofs = a[..., :, None] * U[..., None, :]
    mixed = (P @ ofs.reshape(*U.shape[:-1], -1)).reshape(ofs.shape)
    G = (P @ a)[..., :, None] * U[..., None, :] - mixed
    G = (G * (rows.weights**0.5)[..., None, None]).reshape(-1, U.shape[-1])
    return G.T @ G, rows.weights.sum()


def leading_root(M: np.ndarray) -> np.ndarray:
    """A root of a metric: of few features the symmetric one; of many, the directions that make up nearly all of it."""
    values, vectors = np.linalg.eigh(M)
    values = np.maximum(values, 0.0)
    if len(M) <= MOST_DIRECTIONS:
        return (vectors * np.sqrt(values)) @ vectors.T
    values, vectors = values[::-1], vectors[:, ::-1]
    n_kept = min(int(np.searchsorted(np.cumsum(values), KEPT_TRACE * values.sum())) + 1, MOST_DIRECTIONS)
    return np.sqrt(values[:n_kept])[:, None] * vectors[:, :n_kept].T
