"""Kernel values of many groups of rows at once, in arrays of any library and in the type of the rows.

What `frugalsvm.arrays.maps` makes of rows and landmarks that stay the same, this makes of rows that change: there is
nothing to prepare.
"""

from typing import Any

import numpy as np

from frugalsvm.arrays.decay import decayed
from frugalsvm.arrays.slopes import radial_value
from frugalsvm.core.kernels import RBF, UNIT_KERNELS, Chi2, Cosine, Intersection, Laplacian, Linear, Poly, Tanimoto
from frugalsvm.core.matern import MATERN

_TINY = float(np.finfo(np.float32).tiny)
_ROUNDING = {4: 2.0**-20, 8: 2.0**-49}  # errors of a squared distance, relative to the squared norm of a row


def kernel_values(arrays: Any, kernel: Any, X: Any, Z: Any) -> Any:
    """``K(x_i, z_j)``, (n_groups, n, m), of rows (n_groups, n, n_features) and (n_groups, m, n_features)."""
    if isinstance(kernel, (RBF, *MATERN)):
        return radial_value(arrays.xp, kernel, _squared_distances(arrays.xp, X, Z))
    if isinstance(kernel, (Laplacian, Chi2, Intersection)):
        sums = _feature_sums(arrays, kernel, X, Z)
        return sums if isinstance(kernel, Intersection) else decayed(arrays.xp, -kernel.gamma * sums)
    products = X @ Z.mT
    if isinstance(kernel, Linear):
        return products
    if isinstance(kernel, Poly):
        return (kernel.gamma * products + kernel.coef0) ** kernel.degree
    if isinstance(kernel, (Cosine, Tanimoto)):
        return _angles(arrays.xp, kernel, products, _norms(arrays.xp, X), _norms(arrays.xp, Z))
    raise TypeError(f"{type(kernel).__name__} kernels are not available on a device.")


def own_values(arrays: Any, kernel: Any, matrices: Any) -> Any:
    """``K(x_i, x_i)``, (n_groups, n): 1 where that is known, and otherwise from the diagonal of the matrices."""
    diagonal = arrays.xp.linalg.diagonal(matrices)
    return arrays.xp.ones_like(diagonal) if isinstance(kernel, UNIT_KERNELS) else diagonal


def _norms(xp, rows):
    return xp.sum(rows * rows, axis=-1)


def _squared_distances(xp, X, Z):
    """One product, of rows with two more columns: matrices are large, and passes over them take as long as products.

    They are zero where they may be: the root of a rounding error, which Matern kernels take, is a large one.
    """
    norms, others = _norms(xp, X)[..., None], _norms(xp, Z)[..., None]
    left = xp.concat((-2.0 * X, norms, xp.ones_like(norms)), axis=-1)
    right = xp.concat((Z, xp.ones_like(others), others), axis=-1)
    squares = left @ right.mT
    squares *= squares > _ROUNDING[squares.itemsize] * norms
    return squares


def _feature_sums(arrays, kernel, X, Z):
    """Sums over features of what two values differ by, or have in common."""
    if isinstance(kernel, Laplacian) and X.itemsize == 4:
        distances = [arrays.l1_distances(x, z.mT) for x, z in zip(X, Z, strict=True)]
        return arrays.xp.stack(distances) if len(distances) > 1 else distances[0][None]
    xp, total = arrays.xp, X[..., :, :1] * Z[..., :, :1].mT * 0.0
    for f in range(X.shape[-1]):
        total += _feature_term(xp, kernel, X[..., :, f, None], Z[..., None, :, f])
    return total


def _feature_term(xp, kernel, a, b):
    if isinstance(kernel, Intersection):
        return xp.minimum(a, b)
    return xp.abs(a - b) if isinstance(kernel, Laplacian) else (a - b) ** 2 / xp.clip(a + b, min=_TINY)


def _angles(xp, kernel, products, norms, others):
    """Inner products, divided by what norms make of them; nothing where rows are zeros."""
    norms, others = norms[..., :, None], others[..., None, :]
    beneath = xp.sqrt(norms * others) if isinstance(kernel, Cosine) else norms + others - products
    return xp.where(beneath > _TINY, products / xp.clip(beneath, min=_TINY), xp.zeros_like(products))
