"""Kernels as parts: each is a function of an inner product and two squared norms, or of a sum over features.

That is all the engine asks of a kernel, so that blocks of kernel values come from one matrix product. A new
kernel is a NamedTuple with its parameters, two bodies below, and one line in ``KERNELS``. What it offers besides,
it declares by class attributes (``core/capabilities.py``). Where a function here says *product*, a kernel of sums over
features gets these (`pairing_of`), and norms that it does not need.

============ ================================================== =======================
name         K(x, z)                                            parameters
============ ================================================== =======================
rbf          exp(-gamma ||x - z||^2)                            gamma
laplacian    exp(-gamma sum_f |x_f - z_f|)                      gamma
matern12     exp(-s), s = sqrt(gamma) ||x - z||                 gamma
matern32     (1 + s) exp(-s), s = sqrt(3 gamma) ||x - z||       gamma
matern52     (1 + s + s^2/3) exp(-s), s = sqrt(5 gamma) ...     gamma
chi2         exp(-gamma sum_f (x_f - z_f)^2 / (x_f + z_f))      gamma
intersection sum_f min(x_f, z_f)
tanimoto     <x, z> / (||x||^2 + ||z||^2 - <x, z>)
cosine       <x, z> / (||x|| ||z||)
poly         (gamma <x, z> + coef0)^degree                      gamma, coef0, degree
linear       <x, z>
============ ================================================== =======================

In all functions of the Euclidean distance gamma is a factor of its square: that of the Matern kernels is one over the
squared length scale.
"""

from typing import Annotated, NamedTuple

import numpy as np

from frugalsvm._stored import NotNegative, Positive, stored
from frugalsvm.compiling.functions import entry, generic, inlined, larger, smaller
from frugalsvm.core.fastmath import FARTHEST, LOG2E, decay, row_weighted_sum
from frugalsvm.core.feature_sums import Chi2Distances, L1Distances, Minima
from frugalsvm.core.matern import MATERN, Matern12, Matern32, Matern52, before_exp, rounding, scaled_distance, steepness
from frugalsvm.core.pairing import Products, own_pair

_LOWEST = -FARTHEST / LOG2E  # of an exponent, as in `decay`
_SMALLEST = float(np.finfo(np.float32).tiny)
_BESIDE_ONE = 2.0**-60  # what is nothing beside the largest value of a kernel that is 1 at most


@stored("rbf", kind="kernel")
class RBF(NamedTuple):
    """``exp(-gamma ||x - z||^2)``"""

    gamma: Positive

    shift_invariant = True
    gaussian = True
    multiplicative = True


@stored("laplacian", kind="kernel")
class Laplacian(NamedTuple):
    """``exp(-gamma sum_f |x_f - z_f|)``"""

    gamma: Positive

    shift_invariant = True
    spectral = True
    by_feature = True
    l1 = True
    multiplicative = True


@stored("chi2", kind="kernel")
class Chi2(NamedTuple):
    """``exp(-gamma sum_f (x_f - z_f)^2 / (x_f + z_f))``"""

    gamma: Positive

    by_feature = True
    nonnegative = True
    multiplicative = True


@stored("intersection", kind="kernel")
class Intersection(NamedTuple):
    """``sum_f min(x_f, z_f)``"""

    by_feature = True
    nonnegative = True
    additive = True


@stored("tanimoto", kind="kernel")
class Tanimoto(NamedTuple):
    """``<x, z> / (||x||^2 + ||z||^2 - <x, z>)``, and 0 for two rows of zeros"""


@stored("cosine", kind="kernel")
class Cosine(NamedTuple):
    """``<x, z> / (||x|| ||z||)``, and 0 for a row of zeros"""


@stored("poly", kind="kernel")
class Poly(NamedTuple):
    """``(gamma <x, z> + coef0)^degree`` with an integer degree >= 1"""

    gamma: Positive
    coef0: NotNegative
    degree: Annotated[int, (1, 1000)]


@stored("linear", kind="kernel")
class Linear(NamedTuple):
    """``<x, z>``"""

    additive = True


class Precomputed(NamedTuple):
    """``matrix[x, z]``, for rows with one number each: their place in the matrix. Not for model files: it is large."""

    matrix: np.ndarray  # (n, n) float64


UNIT_KERNELS = (RBF, Laplacian, *MATERN, Chi2)  # 1 for a row with itself, and at least 0
_ANGLES = (Cosine, Tanimoto)


@generic
def pairing_of(kernel):
    """The number that the kernel is a function of: see ``pairing.py``."""


@pairing_of.implement()
def _from_products(kernel):
    return Products()


@pairing_of.implement(Laplacian)
def _from_distances(kernel):
    return L1Distances()


@pairing_of.implement(Chi2)
def _from_chi2(kernel):
    return Chi2Distances()


@pairing_of.implement(Intersection)
def _from_minima(kernel):
    return Minima()


@generic
def kernel_value(kernel, product, norm_x, norm_z):
    """K(x, z) in float64 from ``<x, z>``, ``||x||^2`` and ``||z||^2``."""


@generic
def self_value(kernel, norm):
    """K(x, x) in float64 from `row_norm`, which is ``||x||^2`` or, for sums of minima, their sum."""


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


@scored_row.implement()
def _scored_row(kernel, products, norms, norm_x, weights, out, n):
    kernel_row(kernel, products, norms, norm_x, out, n)
    return row_weighted_sum(weights, 0, out, n)


@negligible_value.implement()
def _negligible_value(kernel):
    return _SMALLEST


@negligible_value.implement(*UNIT_KERNELS, *_ANGLES)
def _unit_negligible_value(kernel):
    return _BESIDE_ONE


@self_value.implement()
def _self_value(kernel, norm):
    norm = np.float64(norm)
    return kernel_value(kernel, own_pair(pairing_of(kernel), norm), norm, norm)


@self_value.implement(*UNIT_KERNELS)
def _unit_self_value(kernel, norm):
    return 1.0


@inlined
def _decayed(exponent):
    """``exp(exponent)`` in float64, like `decay`."""
    return np.exp(exponent) if exponent > _LOWEST else 0.0


@kernel_value.implement(RBF)
def _rbf_value(kernel, product, norm_x, norm_z):
    squared_distance = norm_x + norm_z - 2.0 * product
    return _decayed(-kernel.gamma * larger(squared_distance, 0.0))


@kernel_row.implement(RBF)
def _rbf_row(kernel, products, norms, norm_x, out, n):
    gamma = out.dtype.type(kernel.gamma * LOG2E)
    twice = out.dtype.type(2.0 * kernel.gamma * LOG2E)
    zero = out.dtype.type(0.0)
    for j in range(n):
        exponent = twice * products[j] - gamma * (norms[j] + norm_x)
        out[j] = decay(smaller(exponent, zero))


@scored_row.implement(RBF)
def _rbf_scored_row(kernel, products, norms, norm_x, weights, out, n):
    gamma = out.dtype.type(kernel.gamma * LOG2E)
    twice = out.dtype.type(2.0 * kernel.gamma * LOG2E)
    zero = out.dtype.type(0.0)
    total = out.dtype.type(0.0)
    for j in range(n):
        exponent = twice * products[j] - gamma * (norms[j] + norm_x)
        value = decay(smaller(exponent, zero))
        out[j] = value
        total += weights[0, j] * value
    return total


# --- kernels with heavier tails -----------------------------------------------------------------------------


@kernel_value.implement(Laplacian, Chi2)
def _decayed_value(kernel, product, norm_x, norm_z):
    return _decayed(-kernel.gamma * max(np.float64(product), 0.0))


@kernel_row.implement(Laplacian, Chi2)
def _decayed_row(kernel, products, norms, norm_x, out, n):
    minus_gamma, zero = out.dtype.type(-kernel.gamma * LOG2E), out.dtype.type(0.0)
    for j in range(n):
        # Distances of sparse rows may be rounded to less than nothing.
        out[j] = decay(smaller(minus_gamma * products[j], zero))


@kernel_value.implement(*MATERN)
def _matern_value(kernel, product, norm_x, norm_z):
    squared_distance = max(norm_x + norm_z - 2.0 * product, 0.0)
    s = np.sqrt(steepness(kernel) * kernel.gamma * np.float64(squared_distance))
    return before_exp(kernel, s, 1.0) * _decayed(-s)


@generic
def value_error(kernel, norm):
    """About the error of the kernel value of two rows that are nearly the same, with such squared norms, in their type.

    Kernels with a cusp there have large ones.
    """


@value_error.implement()
def _no_value_error(kernel, norm):
    return 0.0


@value_error.implement(Matern12)
def _cusp_error(kernel, norm):
    return np.sqrt(kernel.gamma * np.float64(rounding(norm + norm)))


@kernel_row.implement(*MATERN)
def _matern_row(kernel, products, norms, norm_x, out, n):
    square = out.dtype.type(steepness(kernel) * kernel.gamma)
    zero, one, minus = out.dtype.type(0.0), out.dtype.type(1.0), out.dtype.type(-LOG2E)
    for j in range(n):
        s = scaled_distance(square, norms[j] + norm_x, products[j], zero)
        out[j] = before_exp(kernel, s, one) * decay(minus * s)


# --- kernels of angles ----------------------------------------------------------------------------------------


@generic
def _beneath(kernel, product, norms, norm_of_product):
    """What an inner product is divided by, from the sum of the squared norms and from their product."""


@_beneath.implement(Cosine)
def _beneath_cosine(kernel, product, norms, norm_of_product):
    return np.sqrt(norm_of_product)


@_beneath.implement(Tanimoto)
def _beneath_tanimoto(kernel, product, norms, norm_of_product):
    return norms - product


@kernel_value.implement(*_ANGLES)
def _angle_value(kernel, product, norm_x, norm_z):
    product, norm_x, norm_z = np.float64(product), np.float64(norm_x), np.float64(norm_z)
    beneath = _beneath(kernel, product, norm_x + norm_z, norm_x * norm_z)
    return product / beneath if beneath > 0.0 else 0.0


@self_value.implement(*_ANGLES)
def _angle_self_value(kernel, norm):
    return 1.0 if norm > 0.0 else 0.0


@kernel_row.implement(*_ANGLES)
def _angle_row(kernel, products, norms, norm_x, out, n):
    own, zero = out.dtype.type(norm_x), out.dtype.type(0.0)
    tiny = out.dtype.type(_SMALLEST)
    for j in range(n):
        beneath = _beneath(kernel, products[j], norms[j] + own, norms[j] * own)
        out[j] = products[j] / beneath if beneath > tiny else zero


# --- kernels of inner products --------------------------------------------------------------------------------


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


@kernel_value.implement(Linear, Intersection)
def _same_value(kernel, product, norm_x, norm_z):
    return np.float64(product)


@kernel_row.implement(Linear, Intersection)
def _same_row(kernel, products, norms, norm_x, out, n):
    for j in range(n):
        out[j] = products[j]


# --- values that are known --------------------------------------------------------------------------------------


@inlined
def _place(norm):
    """The number whose square it is, in float32 up to 2^24 as well."""
    return np.int64(np.sqrt(np.float64(norm)) + 0.5)


@kernel_value.implement(Precomputed)
def _known_value(kernel, product, norm_x, norm_z):
    return kernel.matrix[_place(norm_x), _place(norm_z)]


@kernel_row.implement(Precomputed)
def _known_row(kernel, products, norms, norm_x, out, n):
    values = kernel.matrix[_place(norm_x)]
    for j in range(n):
        out[j] = values[_place(norms[j])]


KERNELS = {
    "rbf": RBF,
    "laplacian": Laplacian,
    "matern12": Matern12,
    "matern32": Matern32,
    "matern52": Matern52,
    "chi2": Chi2,
    "intersection": Intersection,
    "tanimoto": Tanimoto,
    "cosine": Cosine,
    "poly": Poly,
    "linear": Linear,
}
