"""What a result is worth: the objective evaluates the numbers of a model itself, and trusts no solver's predictions.

A result is one of two functions of a row x:

* a kernel expansion ``sum_j coefficients_j exp(-gamma ||x - vectors_j||^2) + intercept``, or
* a sum of waves ``sum_j coefficients_j cos(<x, vectors_j> + offsets_j) + intercept`` (random Fourier features).
"""

import numpy as np
from scipy.sparse import issparse

__all__ = ["decision_values", "hinge", "model_bytes", "squared_norm"]

KERNEL_VALUES_AT_A_TIME = 4_000_000  # 32 MB


def decision_values(X, gamma, vectors, coefficients, intercept, offsets=None):
    """Decision values of the rows of X, dense or CSR, in float64.

    Examples
    --------
    >>> decision_values(np.array([[0.0], [1.0]]), 1.0, np.array([[1.0]]), np.array([2.0]), 0.5).round(3)
    array([1.236, 2.5  ])
    """
    coefficients = np.asarray(coefficients, np.float64)
    values = np.full(X.shape[0], float(intercept))
    if len(coefficients) == 0:
        return values
    vectors = _double(vectors)
    norms = _squared_norms(vectors)
    n_rows = max(1, KERNEL_VALUES_AT_A_TIME // len(coefficients))
    for start in range(0, X.shape[0], n_rows):
        rows = _double(X[start : start + n_rows])
        products = rows @ vectors.T
        products = products.toarray() if issparse(products) else products
        if offsets is None:
            distances = _squared_norms(rows)[:, None] + norms - 2 * products
            parts = np.exp(-gamma * np.maximum(distances, 0, out=distances), out=distances)
        else:
            parts = np.cos(products + offsets, out=products)
        values[start : start + n_rows] += parts @ coefficients
    return values


def squared_norm(gamma, vectors, coefficients, offsets=None):
    """The squared norm of an expansion in the space of the kernel; infinite for waves, which are not in that space.

    Examples
    --------
    >>> squared_norm(1.0, np.array([[0.0], [1.0]]), np.array([1.0, -1.0])).round(3)  # 2 - 2 / e
    np.float64(1.264)
    """
    if offsets is not None:
        return np.inf
    return np.dot(coefficients, decision_values(vectors, gamma, vectors, coefficients, 0.0))


def hinge(y, values):
    """The losses of decision values; y is +1 or -1."""
    return np.maximum(0.0, 1.0 - y * values)


def model_bytes(vectors, coefficients, offsets=None):
    """Bytes of the numbers that predictions need, as the solver stores them."""
    if issparse(vectors):
        stored = vectors.data.nbytes + vectors.indices.nbytes + vectors.indptr.nbytes
    else:
        stored = np.asarray(vectors).nbytes
    return stored + np.asarray(coefficients).nbytes + (0 if offsets is None else np.asarray(offsets).nbytes)


def _double(X):
    return X.astype(np.float64) if issparse(X) else np.asarray(X, np.float64)


def _squared_norms(X):
    if issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)
