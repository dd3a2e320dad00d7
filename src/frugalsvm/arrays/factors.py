"""Inverses of Cholesky factors of many matrices at once, made of matrix products, in the place of the matrices.

Libraries factor matrices of one or two thousand rows one by one, or many at a speed far below that of products. By
halves, with ``A = L L'``,

    A = [A1   ]   L = [L1   ]   L^-1 = [         L1^-1       ]
        [B  A2]       [M  L2]          [-L2^-1 M L1^-1  L2^-1]   M = B L1^-T,  L2 L2' = A2 - M M',

all work but that of small blocks is products of whole stacks, and there is no triangular system to solve. Besides the
matrices there are two quarters of them at a time: M, and its product with the inverse of L1.
"""

from typing import Any

SMALL = 128  # rows of blocks that the library factors


def invert_factors(arrays: Any, matrices: Any) -> None:
    """Replace symmetric matrices (n_matrices, n, n) by ``L^-1``; by NaN where one is not positive definite."""
    n = matrices.shape[-1]
    if n <= SMALL:
        matrices[:] = arrays.inverse_of_lower(arrays.factors_of_each(matrices))
        return
    half = -(-n // (2 * SMALL)) * SMALL  # in whole blocks
    first, second, side = matrices[:, :half, :half], matrices[:, half:, half:], matrices[:, half:, :half]
    invert_factors(arrays, first)
    M = side @ first.mT
    arrays.add_products(second, M, M.mT, -1.0)
    invert_factors(arrays, second)
    side[:] = 0.0
    arrays.add_products(side, second, M @ first, -1.0)
    matrices[:, :half, half:] = 0.0
