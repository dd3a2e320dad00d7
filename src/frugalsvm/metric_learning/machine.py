"""Small kernel machines, in float64: ridge regression on kernel values with landmarks, of rows in a metric.

With kernel values K of the rows with all landmarks, and K_m of the landmarks themselves, weights D of the rows and
their sum w, the coefficients are ``a = H^-1 K' D y``, ``H = K' D K + ridge w K_m``.
"""

from typing import Any, NamedTuple, NoReturn

import numpy as np

from frugalsvm.arrays.namespace import arrays_of, is_torch, on_host
from frugalsvm.arrays.slopes import radial_slope, radial_value
from frugalsvm.core.blocks import is_of_products, kernel_matrix
from frugalsvm.core.kernels import RBF, Laplacian, kernel_block
from frugalsvm.core.slopes import slope_block

__all__ = [
    "Rows",
    "kernel_values",
    "median_distance",
    "refuse_rows",
    "solver",
    "squares",
    "standardized",
    "values_and_slopes",
]

_SLOPES = {RBF: -2.0, Laplacian: -1.0}  # for kernels whose slopes are multiples of gamma and of their values
_PAIRS = 4096  # of rows, for the median distance
_ROUNDING = 2.0**-50  # errors of a squared distance, relative to the norms that it is made of


class Rows(NamedTuple):
    """Rows in float64: arrays of NumPy, or tensors of one device."""

    X: Any  # (n, d)
    targets: Any  # (n, n_outputs)
    weights: Any  # (n,)

    def __getitem__(self, part: Any) -> "Rows":  # type: ignore[override]
        return Rows(*(each[part] for each in tuple(self)))


def standardized(targets: np.ndarray) -> np.ndarray:
    """Values, an output in each column, in their standard deviations; signs of classes as they are."""
    if (np.abs(targets) == 1.0).all():
        return targets
    spread = targets.std(axis=0)
    return (targets - targets.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def median_distance(kernel: Any, U: Any, rng: np.random.Generator) -> float:
    """The median distance of two rows, as the kernel measures it, or the mean where half of them are equal."""
    first, second = rng.integers(len(U), size=(2, _PAIRS))
    differences = on_host(U[first] - U[second])
    if is_of_products(kernel):
        distances = np.sqrt(np.square(differences).sum(axis=1))
    else:
        distances = np.abs(differences).sum(axis=1)
    return float(np.median(distances)) or float(distances.mean()) or 1.0


def kernel_values(kernel: Any, U: Any, landmarks: Any) -> Any:
    """Kernel values of rows with landmarks, both in the metric."""
    if is_torch(U):
        return radial_value(arrays_of(U).xp, kernel, _distances(kernel, U, landmarks))
    return kernel_matrix(kernel, U, landmarks)


def values_and_slopes(kernel: Any, U: Any, landmarks: Any) -> tuple[Any, Any]:
    """Kernel values, and their slopes (`frugalsvm.core.slopes`)."""
    if type(kernel) in _SLOPES:
        K = kernel_values(kernel, U, landmarks)
        return K, _SLOPES[type(kernel)] * kernel.gamma * K
    if is_torch(U):
        xp, distances = arrays_of(U).xp, _distances(kernel, U, landmarks)
        return radial_value(xp, kernel, distances), radial_slope(xp, kernel, distances)
    norms, landmark_norms = (np.einsum("ij,ij->i", each, each) for each in (U, landmarks))
    products = U @ landmarks.T
    K, slopes = np.empty_like(products), np.empty_like(products)
    kernel_block(kernel, products, landmark_norms, norms, K)
    slope_block(kernel, products, landmark_norms, norms, slopes)
    return K, slopes


def _distances(kernel, U, landmarks):
    """On a device: squared Euclidean distances, or L1 distances."""
    xp = arrays_of(U).xp
    if not is_of_products(kernel):
        return xp.cdist(U, landmarks, p=1.0)
    norms = xp.sum(U * U, axis=-1)[..., :, None] + xp.sum(landmarks * landmarks, axis=-1)[..., None, :]
    found = norms - 2.0 * (U @ landmarks.mT)
    # The root of a rounding error is a large one: what may be zero is zero, as it is in compiled code.
    return xp.where(found > _ROUNDING * norms, found, xp.zeros_like(found))


def squares(K: Any, weights: Any) -> Any:
    """``K' D K``: a product of a matrix with itself, which takes half the time of one with another."""
    root = K if (weights == 1.0).all() else K * arrays_of(K).xp.sqrt(weights)[:, None]
    return root.T @ root


def refuse_rows() -> NoReturn:
    """Say that there is no machine for these rows."""
    raise np.linalg.LinAlgError(
        "No kernel machine can be fitted to the rows: their values may be too large, or too small."
    )


def solver(H: Any, jitter: float):
    """Solves systems with a matrix, which is overwritten: a share of the mean of its diagonal is added to it."""
    arrays = arrays_of(H)
    arrays.add_to_diagonal(H, jitter * float(arrays.xp.linalg.trace(H)) / len(H))
    factor = arrays.cholesky(H)
    if factor is None:
        refuse_rows()
    return lambda right: arrays.solve_factored(factor, right)
