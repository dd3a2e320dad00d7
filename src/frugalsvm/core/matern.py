"""The kernels of Matern, of half, one and a half, and two and a half: their parameters, and parts of their values.

They are polynomials of ``s = sqrt(c gamma) ||x - z||`` times ``exp(-s)``. Distances of rows that are nearly the same
are made of rounding errors, which their roots must not make large.
"""

from typing import NamedTuple

import numpy as np

from frugalsvm._stored import Positive, stored
from frugalsvm.compiling.functions import generic, inlined

# Errors of a squared distance, relative to the norms that it is made of: four units of the last place
ROUNDING = {"float32": 2.0**-21, "float64": 2.0**-50}
_ROUNDING_32, _ROUNDING_64 = np.float32(ROUNDING["float32"]), np.float64(ROUNDING["float64"])


@stored("matern12", kind="kernel")
class Matern12(NamedTuple):
    """``exp(-s)`` with ``s = sqrt(gamma) ||x - z||``"""

    gamma: Positive

    shift_invariant = True
    spectral = True


@stored("matern32", kind="kernel")
class Matern32(NamedTuple):
    """``(1 + s) exp(-s)`` with ``s = sqrt(3 gamma) ||x - z||``"""

    gamma: Positive

    shift_invariant = True
    spectral = True


@stored("matern52", kind="kernel")
class Matern52(NamedTuple):
    """``(1 + s + s^2 / 3) exp(-s)`` with ``s = sqrt(5 gamma) ||x - z||``"""

    gamma: Positive

    shift_invariant = True
    spectral = True


MATERN = (Matern12, Matern32, Matern52)


@generic
def steepness(kernel):
    """``c`` in the ``s = sqrt(c gamma) ||x - z||`` of a Matern kernel: twice its order."""


@steepness.implement(Matern12)
def _steepness_12(kernel):
    return 1.0


@steepness.implement(Matern32)
def _steepness_32(kernel):
    return 3.0


@steepness.implement(Matern52)
def _steepness_52(kernel):
    return 5.0


@generic
def before_exp(kernel, s, one):
    """What ``exp(-s)`` is multiplied with; a constant is typed, not to widen float32 loops."""


@before_exp.implement(Matern12)
def _before_exp_12(kernel, s, one):
    return one


@before_exp.implement(Matern32)
def _before_exp_32(kernel, s, one):
    return one + s


@before_exp.implement(Matern52)
def _before_exp_52(kernel, s, one):
    return one + s + s * s / (one + one + one)


@generic
def rounding(norms):
    """What may be rounding errors in squared distances that are made of norms."""


@rounding.implement(np.float32)
def _rounding_float32(norms):
    return _ROUNDING_32 * norms


@rounding.implement(np.float64)
def _rounding_float64(norms):
    return _ROUNDING_64 * norms


@inlined
def scaled_distance(square, norms_of_both, product, zero):
    """``s`` from ``c gamma``, ``||x||^2 + ||z||^2`` and ``<x, z>``, all of one type."""
    squared = norms_of_both - (product + product)
    # The root of a rounding error is a large one: what may be zero is zero.
    return np.sqrt(square * squared if squared > rounding(norms_of_both) else zero)
