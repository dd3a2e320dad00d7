"""Feature maps on a device: an affine product, then one function of each number.

A block of kernel values is ``g(A B')``, where the rows of A are examples with a few more columns and those of B are
landmarks with as many: for the Gaussian kernel the exponent ``2 gamma <x, z> - gamma ||x||^2 - gamma ||z||^2`` is one
product if the norms are columns. Then a block is one matrix product and one pass over its memory.

A norm takes three columns, not one: parts of 11 bits each, which products in tf32 do not round. What they round then
are the products of features, never the norms.

Sums over features are no product: of the landmarks themselves, which are the columns then.
"""

from typing import Any, NamedTuple

import numpy as np

from frugalsvm.arrays.decay import decayed
from frugalsvm.core.kernels import (
    MATERN,
    RBF,
    Chi2,
    Cosine,
    Intersection,
    Laplacian,
    Linear,
    Poly,
    Tanimoto,
    steepness,
)

__all__ = ["DeviceMap", "fourier_map", "kernel_map"]

_PARTS = 3
_PART_BITS = 11
_TINY = float(np.finfo(np.float32).tiny)
_ROUNDING = 2.0**-20  # errors of a squared distance in float32, relative to the squared norm of a row


class DeviceMap(NamedTuple):
    """What turns rows into features."""

    arrays: Any
    kind: str  # "exp", "matern", "distances", "chi2", "minima", "tanimoto", "cosine", "power", "cos", "same"
    columns: Any  # (n_features + extra, width) float32
    norm_factor: float  # of the squared norms of rows, in their columns; 0 for maps that need none
    degree: int = 1  # of a power; twice the order of a Matern kernel
    scale: float = 1.0  # of a cosine, or of distances

    @property
    def width(self) -> int:
        return self.columns.shape[1]

    def rows(self, X: Any, *, exact: bool = False) -> Any:
        """Features of rows on the device, in float32."""
        xp = self.arrays.xp
        if self.kind == "distances":
            return decayed(xp, self.arrays.l1_distances(self.arrays.single(X), self.columns) * -self.scale)
        if self.kind in ("chi2", "minima"):
            return self._sums(self.arrays.single(X))
        if self.kind in ("tanimoto", "cosine"):
            return self._angles(self.arrays.single(X), exact=exact)
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

    def _sums(self, X):
        """Kernels of sums over features, one feature after the other."""
        xp, total = self.arrays.xp, self.arrays.ones((X.shape[0], self.width)) * 0.0
        for f in range(X.shape[1]):
            a, b = X[:, f, None], self.columns[None, f]
            total += xp.minimum(a, b) if self.kind == "minima" else (a - b) ** 2 / xp.clip(a + b, min=_TINY)
        return total if self.kind == "minima" else decayed(xp, total * -self.scale)

    def _angles(self, X, *, exact):
        """Inner products, divided by what norms make of them; nothing where rows are zeros."""
        xp = self.arrays.xp
        with self.arrays.products(rounded=not exact):
            products = X @ self.columns
        norms, own = xp.sum(X * X, axis=1)[:, None], xp.sum(self.columns * self.columns, axis=0)[None]
        beneath = xp.sqrt(norms * own) if self.kind == "cosine" else norms + own - products
        return xp.where(beneath > _TINY, products / xp.clip(beneath, min=_TINY), xp.zeros_like(products))

    def _matern(self, X, squares):
        """Kernel values from ``s^2``; what may be zero is zero, as it is in compiled code."""
        xp, X = self.arrays.xp, self.arrays.single(X)
        noise = xp.sum(X * X, axis=1)[:, None] * (-self.norm_factor * _ROUNDING)
        s = xp.sqrt(xp.where(squares > noise, squares, xp.zeros_like(squares)))
        decay = decayed(xp, -s)
        if self.degree == 1:
            return decay
        return (1.0 + s) * decay if self.degree == 3 else (1.0 + s + s * s / 3.0) * decay

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
    if isinstance(kernel, Laplacian):
        return DeviceMap(arrays, "distances", arrays.contiguous(Z.T), 0.0, scale=kernel.gamma)
    if isinstance(kernel, Chi2):
        return DeviceMap(arrays, "chi2", arrays.contiguous(Z.T), 0.0, scale=kernel.gamma)
    if isinstance(kernel, (Intersection, Tanimoto, Cosine)):
        kind = {Intersection: "minima", Tanimoto: "tanimoto", Cosine: "cosine"}[type(kernel)]
        return DeviceMap(arrays, kind, arrays.contiguous(Z.T), 0.0)
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
