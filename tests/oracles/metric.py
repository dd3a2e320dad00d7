"""Small ridge machines in plain numpy, for a metric and a ridge, written for reading.

Their held-out loss, and the average outer products of their gradients.
"""

import numpy as np

from tests.oracles.kernels import gradient, value


def coefficients(name, gamma, A, ridge, rows, n_landmarks, jitter):
    """Of rows (X, targets, weights), of which the first are landmarks."""
    X, y, w = rows
    U = X @ A.T
    K = value(name, U, U[:n_landmarks], gamma)
    H = K.T @ np.diag(w) @ K + ridge * w.sum() * K[:n_landmarks]
    H += jitter * np.trace(H) / len(H) * np.eye(len(H))
    return np.linalg.solve(H, K.T @ np.diag(w) @ y)


def held_out_loss(name, gamma, A, ridge, fitted, held_out, n_landmarks):
    """Of rows to fit, and others to judge."""
    a = coefficients(name, gamma, A, ridge, fitted, n_landmarks, 1e-8)
    (X, y, w), (Z, _, _) = held_out, fitted
    scores = value(name, X @ A.T, Z[:n_landmarks] @ A.T, gamma) @ a
    return (w[:, None] * (y - scores) ** 2).sum() / w.sum()


def predictions(name, gamma, A, ridge, rows, n_landmarks, X):
    a = coefficients(name, gamma, A, ridge, rows, n_landmarks, 1e-9)
    Z, _, _ = rows
    return value(name, X @ A.T, Z[:n_landmarks] @ A.T, gamma) @ a


def average_outer_product(name, gamma, A, ridge, rows, n_landmarks):
    """Row by row and output by output; a row that is a landmark has no gradient of its own kernel value."""
    X, _, w = rows
    a = coefficients(name, gamma, A, ridge, rows, n_landmarks, 1e-9)
    U = X @ A.T
    M = np.zeros((X.shape[1], X.shape[1]))
    for n, u in enumerate(U):
        others = np.arange(n_landmarks) != n
        to_landmarks = gradient(name, u[None], U[:n_landmarks][others], gamma)[0]
        for output in a[others].T:
            g = A.T @ (to_landmarks.T @ output)
            M += w[n] * np.outer(g, g)
    return M / w.sum()
