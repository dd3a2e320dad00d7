"""Kernels as parts: each is a function of an inner product and two squared norms.

That is all the engine asks of a kernel, so that blocks of kernel values come from one matrix product. A new
kernel is a NamedTuple with its parameters, three bodies below, and one line in ``KERNELS``. What it offers besides,
it declares by class attributes (``core/capabilities.py``).

====== ===================================== =======================
name   K(x, z)                               parameters
====== ===================================== =======================
rbf    exp(-gamma ||x - z||^2)               gamma
poly   (gamma <x, z> + coef0)^degree         gamma, coef0, degree
linear <x, z>
====== ===================================== =======================
"""

from typing import NamedTuple

import numpy as np

from frugalsvm._compile import entry, generic, inlined, smaller
from frugalsvm._stored import NOT_NEGATIVE, POSITIVE, stored
from frugalsvm.core.fastmath import LOG2E, exp2_nonpositive, row_weighted_sum

__all__ = [
    "KERNELS",
    "RBF",
    "Linear",
    "Poly",
    "kernel_block",
    "kernel_row",
    "kernel_value",
    "scored_row",
    "self_value",
    "values_in_row",
]

_LOWEST = -500.0 / LOG2E  # of an exponent, as in `exp2_nonpositive`


_SMALLEST = float(np.finfo(np.float32).tiny)
_BESIDE_ONE = 2.0**-60  # what is nothing beside the largest value of a kernel that is 1 at most


@stored("rbf", kind="kernel", ranges={"gamma": POSITIVE})
class RBF(NamedTuple):
    """``exp(-gamma ||x - z||^2)``"""

    gamma: float

    shift_invariant = True
    gaussian = True


@stored("poly", kind="kernel", ranges={"gamma": POSITIVE, "coef0": NOT_NEGATIVE, "degree": (1, 1000)})
class Poly(NamedTuple):
    """``(gamma <x, z> + coef0)^degree`` with an integer degree >= 1"""

    gamma: float
    coef0: float
    degree: int


@stored("linear", kind="kernel")
class Linear(NamedTuple):
    """``<x, z>``"""


@generic
def kernel_value(kernel, product, norm_x, norm_z):
    """K(x, z) in float64 from ``<x, z>``, ``||x||^2`` and ``||z||^2``."""


@generic
def self_value(kernel, norm):
    """K(x, x) in float64 from ``||x||^2``."""


@generic
def kernel_row(kernel, products, norms, norm_x, out, n):
    """``out[j] = K(x, z_j)`` for ``j < n``, in the type of ``out``; ``products[j] = <x, z_j>``."""


@generic
def scored_row(kernel, products, norms, norm_x, weights, out, n):
    """``kernel_row`` and, in the same pass over memory, ``sum_j weights[0, j] out[j]``."""


@generic
def negligible_value(kernel):
    """Kernel values up to this size are zero in blocks.

    Products with smaller ones would be subnormal numbers, each of which takes most processors a hundred times as long.
    """


@inlined
def values_in_row(kernel, products, norms, norm_x, out):
    """``kernel_row`` with zeros for what is negligible."""
    nothing, zero = out.dtype.type(negligible_value(kernel)), out.dtype.type(0.0)
    # Not in place: a loop that may overwrite what it reads next is not vectorized.
    kernel_row(kernel, products, norms, norm_x, out, norms.size)
    for j in range(out.size):
        out[j] = out[j] if abs(out[j]) > nothing else zero


@entry
def kernel_block(kernel, products, norms, row_norms, out):
    """``out[i, j] = K(x_i, z_j)`` from ``products[i, j] = <x_i, z_j>`` and the squared norms: for callers in Python."""
    for i in range(len(out)):
        values_in_row(kernel, products[i], norms, row_norms[i], out[i])


@negligible_value.implement()
def _negligible_value(kernel):
    return _SMALLEST


@negligible_value.implement(RBF)
def _rbf_negligible_value(kernel):
    return _BESIDE_ONE


@self_value.implement()
def _self_value(kernel, norm):
    norm = np.float64(norm)
    return kernel_value(kernel, norm, norm, norm)


@self_value.implement(RBF)
def _rbf_self_value(kernel, norm):
    return 1.0


@kernel_value.implement(RBF)
def _rbf_value(kernel, product, norm_x, norm_z):
    squared_distance = norm_x + norm_z - 2.0 * product
    return np.exp(max(-kernel.gamma * max(squared_distance, 0.0), _LOWEST))  # not a subnormal number


@kernel_row.implement(RBF)
def _rbf_row(kernel, products, norms, norm_x, out, n):
    gamma = out.dtype.type(kernel.gamma * LOG2E)
    twice = out.dtype.type(2.0 * kernel.gamma * LOG2E)
    zero = out.dtype.type(0.0)
    for j in range(n):
        exponent = twice * products[j] - gamma * (norms[j] + norm_x)
        out[j] = exp2_nonpositive(smaller(exponent, zero))


@scored_row.implement(RBF)
def _rbf_scored_row(kernel, products, norms, norm_x, weights, out, n):
    gamma = out.dtype.type(kernel.gamma * LOG2E)
    twice = out.dtype.type(2.0 * kernel.gamma * LOG2E)
    zero = out.dtype.type(0.0)
    total = out.dtype.type(0.0)
    for j in range(n):
        exponent = twice * products[j] - gamma * (norms[j] + norm_x)
        value = exp2_nonpositive(smaller(exponent, zero))
        out[j] = value
        total += weights[0, j] * value
    return total


@kernel_value.implement(Poly)
def _poly_value(kernel, product, norm_x, norm_z):
    return (kernel.gamma * product + kernel.coef0) ** kernel.degree


@kernel_row.implement(Poly)
def _poly_row(kernel, products, norms, norm_x, out, n):
    gamma = out.dtype.type(kernel.gamma)
    coef0 = out.dtype.type(kernel.coef0)
    for j in range(n):
        base = gamma * products[j] + coef0
        power = base
        for _ in range(kernel.degree - 1):
            power *= base
        out[j] = power


@scored_row.implement(Poly)
def _poly_scored_row(kernel, products, norms, norm_x, weights, out, n):
    kernel_row(kernel, products, norms, norm_x, out, n)
    return row_weighted_sum(weights, 0, out, n)


@kernel_value.implement(Linear)
def _linear_value(kernel, product, norm_x, norm_z):
    return np.float64(product)


@kernel_row.implement(Linear)
def _linear_row(kernel, products, norms, norm_x, out, n):
    for j in range(n):
        out[j] = products[j]


@scored_row.implement(Linear)
def _linear_scored_row(kernel, products, norms, norm_x, weights, out, n):
    kernel_row(kernel, products, norms, norm_x, out, n)
    return row_weighted_sum(weights, 0, out, n)


KERNELS = {"rbf": RBF, "poly": Poly, "linear": Linear}
