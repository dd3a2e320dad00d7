"""Inverses of Cholesky factors of many matrices at once, made of matrix products.

Libraries factor matrices of one or two thousand rows one by one, or many at a speed far below that of products. By
halves, with ``A = L L'``,

    A = [A1   ]   L = [L1   ]   L^-1 = [         L1^-1       ]
        [B  A2]       [M  L2]          [-L2^-1 M L1^-1  L2^-1]   M = B L1^-T,  L2 L2' = A2 - M M',

all work but that of small blocks is products of whole stacks, and there is no triangular system to solve.
"""

from typing import Any

__all__ = ["inverse_factors"]

SMALL = 128  # rows of blocks that the library factors


def inverse_factors(arrays: Any, matrices: Any) -> Any:
    """``L^-1`` of symmetric matrices (n_matrices, n, n); NaN where one is not positive definite."""
    out = arrays.xp.zeros_like(matrices)
    _invert(arrays, matrices, out)
    return out


def _invert(arrays, matrices, out) -> None:
    n = matrices.shape[-1]
    if n <= SMALL:
        out[:] = arrays.inverse_of_lower(arrays.factors_of_each(matrices))
        return
    half = _half(n)
    first, second = out[:, :half, :half], out[:, half:, half:]
    _invert(arrays, matrices[:, :half, :half], first)
    side = matrices[:, half:, :half] @ first.mT
    _invert(arrays, matrices[:, half:, half:] - side @ side.mT, second)
    out[:, half:, :half] = -(second @ (side @ first))


def _half(n: int) -> int:
    """About a half, in whole blocks."""
    return -(-n // (2 * SMALL)) * SMALL
