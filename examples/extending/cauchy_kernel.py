"""A kernel of your own: the Cauchy kernel ``1 / (1 + gamma ||x - z||^2)``, which falls more slowly than the RBF kernel.

Import this module before you fit, and ``kernel="cauchy"`` works in all estimators that take a kernel.
"""

from typing import NamedTuple

from frugalsvm.core.kernels import KERNELS, kernel_row, kernel_value


class Cauchy(NamedTuple):
    """The parameters. Fields called gamma, coef0 and degree are filled by the estimators."""

    gamma: float

    shift_invariant = True  # it depends on differences of rows only, so that they may be relative to an origin


@kernel_value.implement(Cauchy)
def _cauchy_value(kernel, product, norm_x, norm_z):
    return 1.0 / (1.0 + kernel.gamma * max(norm_x + norm_z - 2.0 * product, 0.0))


@kernel_row.implement(Cauchy)
def _cauchy_row(kernel, products, norms, norm_x, out, n):
    # Constants in the type of the row: a plain 1.0 would turn a loop over float32 into one over float64.
    one, two, zero = out.dtype.type(1.0), out.dtype.type(2.0), out.dtype.type(0.0)
    gamma = out.dtype.type(kernel.gamma)
    for j in range(n):
        out[j] = one / (one + gamma * max(norms[j] + norm_x - two * products[j], zero))


KERNELS["cauchy"] = Cauchy  # the registry line
