"""Kernels in plain numpy, written for reading: values, and gradients of kernels of differences.

C. E. Rasmussen and C. K. I. Williams, "Gaussian Processes for Machine Learning", 2006, section 4.2.1; the length scale
is ``1 / sqrt(gamma)`` here. For histograms: M. J. Swain and D. H. Ballard, "Color Indexing", 1991 (intersection), and
J. Zhang et al., "Local Features and Kernels for Classification of Texture and Object Categories", 2007 (chi2). For
fingerprints: L. Ralaivola et al., "Graph kernels for chemical informatics", 2005 (Tanimoto).
"""

import numpy as np

ORDERS = {"matern12": 1, "matern32": 3, "matern52": 5}  # twice the order
OTHERS = ("chi2", "intersection", "tanimoto", "cosine")  # than kernels of differences


def differences(X, Z):
    return X[:, None, :] - Z[None, :, :]


def value(name, X, Z, gamma):
    """K of all pairs of rows."""
    if name in OTHERS:
        return np.array([[_other(name, x, z, gamma) for z in Z] for x in X])
    if name == "laplacian":
        return np.exp(-gamma * np.abs(differences(X, Z)).sum(axis=2))
    r = np.sqrt((differences(X, Z) ** 2).sum(axis=2))
    if name == "rbf":
        return np.exp(-gamma * r**2)
    s = np.sqrt(ORDERS[name] * gamma) * r
    before = {"matern12": 1.0, "matern32": 1.0 + s, "matern52": 1.0 + s + s**2 / 3.0}[name]
    return before * np.exp(-s)


def _other(name, x, z, gamma):
    """K of two rows; what would be 0 / 0 is 0."""
    if name == "intersection":
        return np.minimum(x, z).sum()
    if name == "chi2":
        sums = x + z
        return np.exp(-gamma * ((x - z)[sums > 0] ** 2 / sums[sums > 0]).sum())
    beneath = x @ x + z @ z - x @ z if name == "tanimoto" else np.sqrt((x @ x) * (z @ z))
    return x @ z / beneath if beneath > 0 else 0.0


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
