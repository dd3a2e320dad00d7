"""Feature maps on a device: an affine product, then one function of each number.

A block of kernel values is ``g(A B')``, where the rows of A are examples with a few more columns and those of B are
landmarks with as many: for the Gaussian kernel the exponent ``2 gamma <x, z> - gamma ||x||^2 - gamma ||z||^2`` is one
product if the norms are columns. Then a block is one matrix product and one pass over its memory.

A norm takes three columns, not one: parts of 11 bits each, which products in tf32 do not round. What they round then
are the products of features, never the norms.

Sums over features are no such product, nor are angles: of the landmarks themselves, which are the columns then.
"""

from typing import Any, NamedTuple

import numpy as np

from frugalsvm.arrays.decay import decayed, matern_value
from frugalsvm.arrays.kernel_values import kernel_values
from frugalsvm.core.kernels import RBF, Chi2, Cosine, Intersection, Laplacian, Linear, Poly, Tanimoto
from frugalsvm.core.matern import MATERN, steepness

_PARTS = 3
_PART_BITS = 11
_ROUNDING = 2.0**-20  # errors of a squared distance in float32, relative to the squared norm of a row


class DeviceMap(NamedTuple):
    """What turns rows into features."""

    arrays: Any
    kind: str  # "exp", "matern", "power", "cos", "same", or "other": values of the kernel itself
    columns: Any  # (n_features + extra, width) float32
    norm_factor: float  # of the squared norms of rows, in their columns; 0 for maps that need none
    degree: int = 1  # of a power; twice the order of a Matern kernel
    scale: float = 1.0  # of a cosine
    kernel: Any = None  # of another kind

    @property
    def width(self) -> int:
        return self.columns.shape[1]

    def rows(self, X: Any, *, exact: bool = False) -> Any:
        """Features of rows on the device, in float32."""
        xp = self.arrays.xp
        if self.kind == "other":
            with self.arrays.products(rounded=not exact):
                return kernel_values(self.arrays, self.kernel, self.arrays.single(X)[None], self.columns.T[None])[0]
        # The order 1/2 has a kink where rows are alike: there, the root of a rounding error would be a large one.
        has_kink = self.kind == "matern" and self.degree == 1
        with self.arrays.products(rounded=not (exact or has_kink)):
            values = self._extended(X) @ self.columns
        if self.kind == "exp":
            return decayed(xp, values)
        if self.kind == "matern":
            return self._matern(X, -values)
        if self.kind == "cos":
            return xp.cos(values) * self.scale
        if self.kind == "power":
            return _power(values, self.degree)
        return values

    def _matern(self, X, squares):
        """Kernel values from ``s^2``; what may be zero is zero, as it is in compiled code."""
        xp, X = self.arrays.xp, self.arrays.single(X)
        noise = xp.sum(X * X, axis=1)[:, None] * (-self.norm_factor * _ROUNDING)
        return matern_value(xp, self.degree, xp.sqrt(xp.where(squares > noise, squares, xp.zeros_like(squares))))

    def _extended(self, X):
        xp = self.arrays.xp
        X = self.arrays.single(X)
        n_extra = self.columns.shape[0] - X.shape[1]
        if not n_extra:
            return X
        ones = self.arrays.ones((X.shape[0], 1 if self.norm_factor == 0 else _PARTS))
        if self.norm_factor == 0:
            return xp.concat((X, ones), axis=1)
        norms = xp.sum(X * X, axis=1) * self.norm_factor
        return xp.concat((X, *(part[:, None] for part in _parts(self.arrays, norms)), ones), axis=1)


def kernel_map(arrays, kernel, landmarks) -> DeviceMap:
    """Kernel values with landmarks (on the device)."""
    xp = arrays.xp
    Z = arrays.single(landmarks)
    if isinstance(kernel, RBF):
        return DeviceMap(arrays, "exp", _exponent_columns(arrays, Z, kernel.gamma), -kernel.gamma)
    if isinstance(kernel, MATERN):
        degree = int(steepness(kernel))
        factor = degree * kernel.gamma
        return DeviceMap(arrays, "matern", _exponent_columns(arrays, Z, factor), -factor, degree)
    if isinstance(kernel, (Laplacian, Chi2, Intersection, Tanimoto, Cosine)):
        return DeviceMap(arrays, "other", arrays.contiguous(Z.T), 0.0, kernel=kernel)
    if isinstance(kernel, Poly):
        constant = arrays.ones((1, Z.shape[0])) * kernel.coef0
        return DeviceMap(arrays, "power", xp.concat((kernel.gamma * Z.T, constant), axis=0), 0.0, kernel.degree)
    if isinstance(kernel, Linear):
        return DeviceMap(arrays, "same", Z.T, 0.0)
    raise TypeError(f"{type(kernel).__name__} kernels are not available on a device.")


def _exponent_columns(arrays, Z, factor):
    """The columns with which a product is ``-factor ||x - z||^2``."""
    norms = arrays.single(-factor * arrays.xp.sum(arrays.double(Z) ** 2, axis=1))
    ones = arrays.ones((_PARTS, Z.shape[0]))
    own = [part[None, :] for part in _parts(arrays, norms)]
    return arrays.xp.concat((2 * factor * Z.T, ones, *own), axis=0)


def fourier_map(arrays, frequencies, offsets) -> DeviceMap:
    """Random Fourier features; frequencies (n_features, d) and offsets (d) are in turns."""
    turn = 2 * np.pi
    columns = arrays.asarray(np.vstack([frequencies, offsets[None]]) * turn, "float32")
    return DeviceMap(arrays, "cos", columns, 0.0, scale=float(np.sqrt(2 / offsets.size)))


def _parts(arrays, values):
    """Numbers as sums of three, the first two with so few bits that no product in tf32 rounds them."""
    xp = arrays.xp
    parts, rest = [], values
    for _ in range(_PARTS - 1):
        unit = 2.0 ** (xp.ceil(xp.log2(xp.maximum(xp.abs(rest), arrays.ones(()) * 1e-30))) - (_PART_BITS - 1))
        part = xp.round(rest / unit) * unit
        parts.append(part)
        rest = rest - part
    return [*parts, rest]


def _power(values, degree):
    result = values
    for _ in range(degree - 1):
        result = result * values
    return result
