"""A kernel that is a function of somebody's own: a block of rows in, a block of kernel values out.

It runs in Python, so only feature maps use it, which ask for whole blocks. Model files hold those functions that are
values (`frugalsvm.lowrank.kernel_sum`), and no code.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from frugalsvm._stored import stored

_ASYMMETRY = 1e-4  # relative to the largest value


def is_symmetric(values: np.ndarray) -> bool:
    """Whether a square matrix is its transpose, up to rounding."""
    largest = np.abs(values).max(initial=0.0)
    return bool(np.abs(values - values.T).max(initial=0.0) <= _ASYMMETRY * largest)


@stored("own-kernel", kind="kernel")
class OwnKernel(NamedTuple):
    """``function(A, B)[i, j]`` is the kernel value of ``A[i]`` and ``B[j]``."""

    function: Callable[[Any, Any], Any]

    def block(self, A: Any, B: np.ndarray) -> np.ndarray:
        """Kernel values of two sets of rows."""
        values = np.asarray(self.function(A, B))
        if values.shape != (A.shape[0], len(B)) or values.dtype.kind not in "biuf":
            raise ValueError(
                f"The kernel function must return numbers of shape ({A.shape[0]}, {len(B)}) for blocks of that "
                f"many rows, but returned {values.dtype} of shape {values.shape}."
            )
        if not np.isfinite(values).all():
            raise ValueError("The kernel function returned NaN or infinity.")
        return values

    def matrix(self, rows: np.ndarray) -> np.ndarray:
        """Kernel values of rows with each other, in float64."""
        values = self.block(rows, rows).astype(np.float64)
        if not is_symmetric(values):
            raise ValueError("The kernel function is not symmetric: K(a, b) must be K(b, a).")
        return (values + values.T) / 2.0
