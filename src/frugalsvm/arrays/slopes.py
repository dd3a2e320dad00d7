"""Kernels of differences and how fast they fall, for arrays of any library: see `frugalsvm.core.slopes`."""

from typing import Any

from frugalsvm.arrays.decay import decayed, matern_value
from frugalsvm.core.kernels import RBF, Laplacian
from frugalsvm.core.matern import MATERN, steepness


def radial_value(xp: Any, kernel: Any, distances: Any) -> Any:
    """``K`` for squared Euclidean distances, or for the L1 distances of a Laplacian kernel."""
    if isinstance(kernel, (RBF, Laplacian)):
        return decayed(xp, -kernel.gamma * distances)
    if not isinstance(kernel, MATERN):
        raise TypeError(f"{type(kernel).__name__} kernels are not functions of a distance.")
    c = steepness(kernel)
    return matern_value(xp, int(c), xp.sqrt(c * kernel.gamma * distances))


def radial_slope(xp: Any, kernel: Any, distances: Any) -> Any:
    """``P`` for squared Euclidean distances, or for the L1 distances of a Laplacian kernel."""
    if isinstance(kernel, RBF):
        return -2.0 * kernel.gamma * decayed(xp, -kernel.gamma * distances)
    if isinstance(kernel, Laplacian):
        return -kernel.gamma * decayed(xp, -kernel.gamma * distances)
    if not isinstance(kernel, MATERN):
        raise TypeError(f"The slope of {type(kernel).__name__} kernels is not known.")
    c = steepness(kernel)
    s = xp.sqrt(c * kernel.gamma * distances)
    slope = -c * kernel.gamma * decayed(xp, -s)
    if c == 1.0:
        is_top = s == 0.0
        return xp.where(is_top, xp.zeros_like(s), slope / xp.where(is_top, xp.ones_like(s), s))
    return slope if c == 3.0 else slope * (1.0 + s) / 3.0
