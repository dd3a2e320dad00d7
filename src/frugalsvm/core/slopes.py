"""How fast kernels of differences fall: the factor that their gradients have in common.

A function of the Euclidean distance, ``K = phi(r)``, has the gradient ``P (x - z)`` with respect to x, ``P = phi'(r) /
r``, and the derivative ``P r^2 / (2 gamma)`` with respect to gamma. A function of the L1 distance, ``K = phi(d)``, has
``P sign(x_f - z_f)`` and ``P d / gamma``, ``P = phi'(d)``. So P, for all pairs, and sums over rows are all that a
metric is learned with.

P is zero where matern12, which has a kink there, is at its top.
"""

from frugalsvm.compiling.functions import compiled, entry, generic
from frugalsvm.core.fastmath import LOG2E, decay
from frugalsvm.core.kernels import RBF, Laplacian, kernel_row
from frugalsvm.core.matern import Matern12, Matern32, Matern52, scaled_distance, steepness


@generic
def slope_row(kernel, products, norms, norm_x, out, n):
    """``out[j]`` is the slope P of ``K(x, z_j)`` for ``j < n``, from what `kernel_row` takes."""


@entry
def slope_block(kernel, products, norms, row_norms, out):
    """``out[i, j]`` is the slope of ``K(x_i, z_j)``, from what `kernel_block` takes: for callers in Python."""
    for i in range(len(out)):
        slope_row(kernel, products[i], norms, row_norms[i], out[i], norms.size)


@entry
def sum_weighted_differences(weights, rows, columns, out):
    """``out[f] += sum_ij weights[i, j] |rows[i, f] - columns[f, j]|``: what L1 distances weigh, feature by feature."""
    for i in range(len(rows)):
        for f in range(out.size):
            out[f] += _weighted_differences(weights[i], rows[i, f], columns[f])


@compiled
def _weighted_differences(weights, a, column):
    total = column.dtype.type(0)
    for j in range(column.size):
        total += weights[j] * abs(a - column[j])
    return total


@slope_row.implement(RBF)
def _rbf_slopes(kernel, products, norms, norm_x, out, n):
    kernel_row(kernel, products, norms, norm_x, out, n)
    factor = out.dtype.type(-2.0 * kernel.gamma)
    for j in range(n):
        out[j] *= factor


@slope_row.implement(Laplacian)
def _laplacian_slopes(kernel, products, norms, norm_x, out, n):
    kernel_row(kernel, products, norms, norm_x, out, n)
    factor = out.dtype.type(-kernel.gamma)
    for j in range(n):
        out[j] *= factor


@generic
def _beside_exp(kernel, s, zero, one):
    """``-phi'(s) exp(s) / s``"""


@_beside_exp.implement(Matern12)
def _beside_exp_12(kernel, s, zero, one):
    return one / s if s > zero else zero


@_beside_exp.implement(Matern32)
def _beside_exp_32(kernel, s, zero, one):
    return one


@_beside_exp.implement(Matern52)
def _beside_exp_52(kernel, s, zero, one):
    return (one + s) / (one + one + one)


@slope_row.implement(Matern12, Matern32, Matern52)
def _matern_slopes(kernel, products, norms, norm_x, out, n):
    square = out.dtype.type(steepness(kernel) * kernel.gamma)
    zero, one, minus = out.dtype.type(0.0), out.dtype.type(1.0), out.dtype.type(-LOG2E)
    for j in range(n):
        s = scaled_distance(square, norms[j] + norm_x, products[j], zero)
        out[j] = -square * _beside_exp(kernel, s, zero, one) * decay(minus * s)
