"""Kernel values of whole matrices, for callers in Python: with BLAS for kernels of products, without for the others."""

import numpy as np

from frugalsvm._compile import entry
from frugalsvm.core.kernels import kernel_block, kernel_row, pairing_of, without_negligible
from frugalsvm.core.l1_distances import TILE_ROWS, TILE_WIDTH, pack_columns, tile_distances
from frugalsvm.core.pairing import Products, add_feature, slot_sum, start_pairs

__all__ = ["distance_rows", "is_of_products", "kernel_matrix"]

BLOCK_ROWS = 256  # rows that stay in the cache while they meet all others


def is_of_products(kernel) -> bool:
    """Whether a kernel is a function of inner products and norms."""
    return isinstance(pairing_of(kernel), Products)


def kernel_matrix(kernel, A, B):
    """Kernel values of the rows of two matrices in float64."""
    A, B = (np.ascontiguousarray(each, np.float64) for each in (A, B))
    out = np.empty((len(A), len(B)))
    if not is_of_products(kernel):
        return distance_rows(kernel, A, B, out)
    norms_a, norms_b = np.einsum("ij,ij->i", A, A), np.einsum("ij,ij->i", B, B)
    kernel_block(kernel, A @ B.T, norms_b, norms_a, out)
    return out


def distance_rows(kernel, X, others, out):
    """``out[i, j] = K(X[i], others[j])`` for a kernel of L1 distances; X is a matrix or a CSR matrix.

    Kernel values are computed in the type of the others, and do not depend on the rows that they are computed with.
    """
    dtype, others = others.dtype, _read_only(others)
    columns, distances = np.zeros(others.shape[1] * TILE_WIDTH, dtype), np.zeros((TILE_ROWS, TILE_WIDTH), dtype)
    sums = np.zeros(TILE_WIDTH, dtype)
    for start in range(0, X.shape[0], BLOCK_ROWS):
        part = slice(start, start + BLOCK_ROWS)
        rows, block = X[part].astype(dtype, copy=False), out[part]
        if isinstance(rows, np.ndarray):
            dense_block(kernel, _read_only(np.ascontiguousarray(rows)), others, columns, distances, block)
        else:
            indices, indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
            sparse_block(kernel, rows.data, indices, indptr, others, columns, sums, distances[0], block)
    return out


def _read_only(array):
    """A view: there is one compiled type for arrays that can be written and that cannot."""
    view = array.view()
    view.flags.writeable = False
    return view


@entry
def dense_block(kernel, rows, others, columns, distances, out):
    """Kernel values of two matrices; ``columns`` and ``distances`` are for work."""
    last = len(rows) - 1
    for start in range(0, len(others), TILE_WIDTH):
        width = min(TILE_WIDTH, len(others) - start)
        pack_columns(others, start, width, columns)
        for i in range(0, len(rows), TILE_ROWS):
            # The last row again where there are no four.
            j, k, m = min(i + 1, last), min(i + 2, last), min(i + 3, last)
            p, q, r, s = distances[0], distances[1], distances[2], distances[3]
            tile_distances(rows, i, j, k, m, columns, TILE_WIDTH, p, q, r, s, TILE_WIDTH)
            for t in range(min(TILE_ROWS, len(rows) - i)):
                values = out[i + t, start : start + width]
                kernel_row(kernel, distances[t], distances[t], distances[t, 0], values, width)  # norms are not needed
                without_negligible(kernel, values)


@entry
def sparse_block(kernel, data, indices, indptr, others, columns, sums, distances, out):
    """The same for the rows of a CSR matrix."""
    pairing = pairing_of(kernel)
    for start in range(0, len(others), TILE_WIDTH):
        width = min(TILE_WIDTH, len(others) - start)
        pack_columns(others, start, width, columns)
        for c in range(width):
            sums[c] = slot_sum(pairing, others, start + c)
        for i in range(len(out)):
            start_pairs(pairing, sums, distances, TILE_WIDTH)
            for k in range(indptr[i], indptr[i + 1]):
                add_feature(pairing, data[k], columns[indices[k] * TILE_WIDTH :], distances, TILE_WIDTH)
            values = out[i, start : start + width]
            kernel_row(kernel, distances, distances, distances[0], values, width)
            without_negligible(kernel, values)
