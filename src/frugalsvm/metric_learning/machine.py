"""Small kernel machines, in float64: ridge regression on kernel values with landmarks, of rows in a metric.

With kernel values K of the rows with all landmarks, and K_m of the landmarks themselves, weights D of the rows and
their sum w, the coefficients are ``a = H^-1 K' D y``, ``H = K' D K + ridge w K_m``.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from frugalsvm.core.blocks import is_of_products, kernel_matrix
from frugalsvm.core.kernels import RBF, Laplacian, kernel_block
from frugalsvm.core.slopes import slope_block

__all__ = ["Rows", "in_metric", "kernel_values", "median_distance", "solver", "squares", "values_and_slopes"]

_SLOPES = {RBF: -2.0, Laplacian: -1.0}  # for kernels whose slopes are multiples of gamma and of their values
_PAIRS = 4096  # of rows, for the median distance


class Rows(NamedTuple):
    X: np.ndarray  # (n, d)
    targets: np.ndarray  # (n, n_outputs)
    weights: np.ndarray  # (n,)

    def __getitem__(self, part: Any) -> "Rows":  # type: ignore[override]
        return Rows(*(each[part] for each in tuple(self)))


def in_metric(A: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Rows as the kernel sees them, for a matrix or a vector of factors."""
    return X * A if A.ndim == 1 else X @ A.T


def median_distance(kernel: Any, U: np.ndarray, rng: np.random.Generator) -> float:
    """The median distance of two rows, as the kernel measures it, or the mean where half of them are equal."""
    first, second = rng.integers(len(U), size=(2, _PAIRS))
    differences = U[first] - U[second]
    if is_of_products(kernel):
        distances = np.sqrt(np.square(differences).sum(axis=1))
    else:
        distances = np.abs(differences).sum(axis=1)
    return float(np.median(distances)) or float(distances.mean()) or 1.0


def kernel_values(kernel: Any, U: np.ndarray, landmarks: np.ndarray) -> np.ndarray:
    """Kernel values of rows with landmarks, both in the metric."""
    return kernel_matrix(kernel, U, landmarks)


def values_and_slopes(kernel: Any, U: np.ndarray, landmarks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Kernel values, and their slopes (`frugalsvm.core.slopes`)."""
    if type(kernel) in _SLOPES:
        K = kernel_values(kernel, U, landmarks)
        return K, _SLOPES[type(kernel)] * kernel.gamma * K
    norms, landmark_norms = (np.einsum("ij,ij->i", each, each) for each in (U, landmarks))
    products = U @ landmarks.T
    K, slopes = np.empty_like(products), np.empty_like(products)
    kernel_block(kernel, products, landmark_norms, norms, K)
    slope_block(kernel, products, landmark_norms, norms, slopes)
    return K, slopes


def squares(K: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """``K' D K``: a product of a matrix with itself, which takes half the time of one with another."""
    root = K if (weights == 1.0).all() else K * np.sqrt(weights)[:, None]
    return root.T @ root


def solver(H: np.ndarray, jitter: float):
    """Solves systems with a matrix, to whose diagonal a share of its mean is added."""
    factor = cho_factor(H + jitter * np.trace(H) / len(H) * np.eye(len(H)), lower=True, check_finite=False)
    return lambda right: cho_solve(factor, right, check_finite=False)
