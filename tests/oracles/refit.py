"""The best coefficients of given support vectors, in plain numpy: the oracle of `frugalsvm.dask._refit`.

``alpha / 2 a' K a + mean weight_i hinge(y_i k_i . a)`` over the coefficients a of fixed vectors, K their kernel matrix
and k_i the kernel values of row i. With ``K = L L'`` and ``w = L' a`` that is a linear SVM over the features
``L^-1 k_i``, which is solved in the dual, one variable after another (Hsieh et al. 2008).
"""

import numpy as np

from oracles.bsgd import kernel_matrix


def best_coefficients(vectors, rows, signs, alpha, n_passes=300, **kernel):
    """Coefficients (n_vectors,) and the objective; ``signs`` are -1 and 1."""
    gram = kernel_matrix(vectors, vectors, **kernel)
    factor = np.linalg.cholesky(gram + 1e-10 * np.eye(len(vectors)))
    features = np.linalg.solve(factor, kernel_matrix(vectors, rows, **kernel)).T
    limit, duals, w = 1.0 / (alpha * len(rows)), np.zeros(len(rows)), np.zeros(len(vectors))
    squares = np.einsum("ij,ij->i", features, features)
    for _ in range(n_passes):
        for i in range(len(rows)):
            if squares[i] > 0:
                step = (1.0 - signs[i] * (features[i] @ w)) / squares[i]
                new = min(max(duals[i] + step, 0.0), limit)
                w += (new - duals[i]) * signs[i] * features[i]
                duals[i] = new
    coefficients = np.linalg.solve(factor.T, w)
    return coefficients, objective(coefficients, vectors, rows, signs, alpha, **kernel)


def objective(coefficients, vectors, rows, signs, alpha, **kernel):
    """What is minimized."""
    gram = kernel_matrix(vectors, vectors, **kernel)
    margins = signs * (kernel_matrix(rows, vectors, **kernel) @ coefficients)
    norm = coefficients @ gram @ coefficients
    return 0.5 * alpha * norm + np.mean(np.maximum(0.0, 1.0 - margins))
