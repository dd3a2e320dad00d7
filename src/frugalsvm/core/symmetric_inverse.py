"""Inverses of symmetric positive definite matrices by LAPACK, without Python's lock: threads invert side by side."""

from functools import cache
from typing import Any

import numpy as np

from frugalsvm.compiling.functions import call_library, entry, library_routine

__all__ = ["inverse"]

_LOWER = np.frombuffer(b"L", np.uint8).copy()


def inverse(matrix: np.ndarray) -> np.ndarray | None:
    """The inverse in the place of the matrix, which is C-contiguous; None if it is not positive definite."""
    sizes = np.array([len(matrix), 0], np.int32)
    return matrix if _invert(*_routines(matrix.dtype), _LOWER, matrix, sizes) else None


@cache
def _routines(dtype: Any) -> tuple[int, int]:
    kind = "s" if dtype == np.float32 else "d"
    return library_routine("lapack", f"{kind}potrf"), library_routine("lapack", f"{kind}potri")


@entry
def _invert(factor, invert, lower, matrix, sizes):
    """A row of ours is a column of LAPACK: its lower triangle is above our diagonal."""
    n, info = sizes[:1], sizes[1:]
    call_library(factor, (lower, n, matrix, n, info))
    if info[0] != 0:
        return False
    call_library(invert, (lower, n, matrix, n, info))
    for i in range(len(matrix)):
        for j in range(i):
            matrix[i, j] = matrix[j, i]
    return info[0] == 0
