"""Kernels that decay are exactly zero far away, and from the same distance on in every function that computes them."""

import numpy as np
import pytest

from frugalsvm.arrays.maps import kernel_map
from frugalsvm.arrays.namespace import HOST
from frugalsvm.arrays.slopes import radial_value
from frugalsvm.compiling.functions import entry
from frugalsvm.core.fastmath import FARTHEST
from frugalsvm.core.kernels import UNIT_KERNELS, Chi2, kernel_row, kernel_value, pairing_of, scored_row, values_in_row
from frugalsvm.core.pairing import Products

GAMMA = 0.5
EXPONENTS = np.array([1.0, 20.0, FARTHEST - 0.1, FARTHEST + 0.1, 101.0, 400.0, 600.0, 3000.0]) * np.log(2.0)
IS_FAR = FARTHEST * np.log(2.0) < EXPONENTS
IS_NEGLIGIBLE = 60 * np.log(2.0) < EXPONENTS  # in blocks of low-rank machines, which have intercepts


@entry
def in_all_ways(kernel, products, norms, weights, out, values):
    """Kernel values with the zero vector by each function; returns the score."""
    zero = norms.dtype.type(0.0)
    kernel_row(kernel, products, norms, zero, out[0], norms.size)
    values_in_row(kernel, products, norms, zero, out[1])
    score = scored_row(kernel, products, norms, zero, weights, out[2], norms.size)
    for j in range(norms.size):
        values[j] = kernel_value(kernel, np.float64(products[j]), 0.0, np.float64(norms[j]))
    return score


def distances_of(kernel):
    """Such that the exponentials of the kernel are those above: squared ones where the kernel takes these."""
    steep = {"Matern12": 1.0, "Matern32": 3.0, "Matern52": 5.0}.get(type(kernel).__name__)
    return EXPONENTS / GAMMA if steep is None else EXPONENTS**2 / (steep * GAMMA)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("part", UNIT_KERNELS)
def test_compiled_values(part, dtype):
    kernel, distances = part(GAMMA), distances_of(part(GAMMA)).astype(dtype)
    of_products = isinstance(pairing_of(kernel), Products)
    products, norms = (np.zeros(8, dtype), distances) if of_products else (distances, np.zeros(8, dtype))
    out, values = np.full((3, 8), np.nan, dtype), np.full(8, np.nan)
    score = in_all_ways(kernel, products, norms, np.ones((1, 8), dtype), out, values)
    for each in (out[0], out[2], values):
        np.testing.assert_array_equal(each == 0.0, IS_FAR)
    np.testing.assert_array_equal(out[1] == 0.0, IS_NEGLIGIBLE)
    np.testing.assert_allclose(out, np.tile(values, (3, 1)), rtol=1e-4, atol=2.0**-60 * 1e4)
    assert score == pytest.approx(values.sum(), rel=1e-5)


@pytest.mark.parametrize("part", UNIT_KERNELS)
def test_values_of_arrays(part):
    kernel, distances = part(GAMMA), distances_of(part(GAMMA))
    if part is not Chi2:
        np.testing.assert_array_equal(radial_value(np, kernel, distances) == 0.0, IS_FAR)
    is_squared = isinstance(pairing_of(kernel), Products)
    rows = (np.sqrt(distances) if is_squared else distances)[:, None].astype(np.float32)  # as far from zero
    values = kernel_map(HOST, kernel, np.zeros((1, 1), np.float32)).rows(rows, exact=True)
    np.testing.assert_array_equal(values[:, 0] == 0.0, IS_FAR)
