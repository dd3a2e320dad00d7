"""The held-out loss of a small ridge machine in plain numpy, for a metric and a ridge: written for reading."""

import numpy as np

from tests.oracles.kernels import value


def held_out_loss(name, gamma, A, ridge, fitted, held_out, n_landmarks):
    """Of rows (X, targets, weights) to fit, of which the first are landmarks, and others to judge."""
    (X, y, w), (X_v, y_v, w_v) = fitted, held_out
    Z = X[:n_landmarks]
    K, K_v, K_m = (value(name, rows @ A.T, Z @ A.T, gamma) for rows in (X, X_v, Z))
    H = K.T @ np.diag(w) @ K + ridge * w.sum() * K_m
    H += 1e-8 * np.trace(H) / len(H) * np.eye(len(H))
    a = np.linalg.solve(H, K.T @ np.diag(w) @ y)
    return (w_v[:, None] * (y_v - K_v @ a) ** 2).sum() / w_v.sum()
