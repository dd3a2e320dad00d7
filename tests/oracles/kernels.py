"""Kernels of differences in plain numpy, written for reading: values, and gradients with respect to x and to gamma.

C. E. Rasmussen and C. K. I. Williams, "Gaussian Processes for Machine Learning", 2006, section 4.2.1; the length scale
is ``1 / sqrt(gamma)`` here.
"""

import numpy as np

ORDERS = {"matern12": 1, "matern32": 3, "matern52": 5}  # twice the order


def differences(X, Z):
    return X[:, None, :] - Z[None, :, :]


def value(name, X, Z, gamma):
    """K of all pairs of rows."""
    if name == "laplacian":
        return np.exp(-gamma * np.abs(differences(X, Z)).sum(axis=2))
    r = np.sqrt((differences(X, Z) ** 2).sum(axis=2))
    if name == "rbf":
        return np.exp(-gamma * r**2)
    s = np.sqrt(ORDERS[name] * gamma) * r
    before = {"matern12": 1.0, "matern32": 1.0 + s, "matern52": 1.0 + s + s**2 / 3.0}[name]
    return before * np.exp(-s)


def slope(name, X, Z, gamma):
    """phi'(r) / r of the Euclidean distance r, which is not zero; or phi'(d) of the L1 distance d."""
    K = value(name, X, Z, gamma)
    if name == "laplacian":
        return -gamma * K
    if name == "rbf":
        return -2.0 * gamma * K
    r = np.sqrt((differences(X, Z) ** 2).sum(axis=2))
    c = ORDERS[name]
    s = np.sqrt(c * gamma) * r
    if name == "matern12":
        return -np.sqrt(gamma) * K / r
    return -c * gamma * np.exp(-s) * (1.0 if name == "matern32" else (1.0 + s) / 3.0)


def gradient(name, X, Z, gamma):
    """The gradient of all values with respect to x, (n, m, n_features)."""
    D = differences(X, Z)
    return slope(name, X, Z, gamma)[:, :, None] * (np.sign(D) if name == "laplacian" else D)


def gamma_derivative(name, X, Z, gamma):
    """The derivative of all values with respect to gamma."""
    D = differences(X, Z)
    if name == "laplacian":
        return slope(name, X, Z, gamma) * np.abs(D).sum(axis=2) / gamma
    return slope(name, X, Z, gamma) * (D**2).sum(axis=2) / (2.0 * gamma)
