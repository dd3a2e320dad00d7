"""Small ridge machines in plain numpy, for a metric and a ridge, written for reading.

Their leave-one-out loss, and the average outer products of their gradients.
"""

import numpy as np

from tests.oracles.kernels import gradient, value


def coefficients(name, gamma, A, ridge, rows, mean):
    """Of rows (X, targets, weights); ``ridge`` is relative to a number, such as the sum of weights."""
    X, y, w = rows
    U = X @ A.T
    return np.linalg.solve(value(name, U, U, gamma) + np.diag(ridge / w), y - mean)


def mean_target(rows):
    _, y, w = rows
    return w @ y / w.sum()


def leave_one_out_loss(name, gamma, A, ridge, rows):
    """Machines of all rows but one, each of which predicts that one; the mean of targets stays that of all."""
    X, y, w = rows
    mean, total = mean_target(rows), 0.0
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        part = X[others], y[others], w[others]
        a = coefficients(name, gamma, A, ridge * w.sum(), part, mean)
        score = value(name, X[i : i + 1] @ A.T, X[others] @ A.T, gamma) @ a + mean
        total += w[i] * ((y[i] - score) ** 2).sum()
    return total / w.sum()


def predictions(name, gamma, A, ridge, rows, X):
    """Of a machine of all rows, for others."""
    Z, _, w = rows
    mean = mean_target(rows)
    return value(name, X @ A.T, Z @ A.T, gamma) @ coefficients(name, gamma, A, ridge * w.sum(), rows, mean) + mean


def average_outer_product(name, gamma, A, ridge, rows):
    """Row by row and output by output; a row has no gradient of its own kernel value."""
    X, _, w = rows
    a = coefficients(name, gamma, A, ridge * w.sum(), rows, mean_target(rows))
    U = X @ A.T
    M = np.zeros((X.shape[1], X.shape[1]))
    for n, u in enumerate(U):
        others = np.arange(len(X)) != n
        to_others = gradient(name, u[None], U[others], gamma)[0]
        for output in a[others].T:
            g = A.T @ (to_others.T @ output)
            M += w[n] * np.outer(g, g)
    return M / w.sum()
