"""Kernel values of whole matrices, for callers in Python: with BLAS for kernels of products, without for the others."""

import numpy as np

from frugalsvm._compile import entry
from frugalsvm.core.kernels import kernel_block, pairing_of, values_in_row
from frugalsvm.core.l1_distances import TILE_WIDTH, rows_distances
from frugalsvm.core.pairing import Products, add_feature, start_pairs

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
    others = _read_only(others)
    write = _dense_writer(kernel, others) if isinstance(X, np.ndarray) else _sparse_writer(kernel, others)
    for start in range(0, X.shape[0], BLOCK_ROWS):
        write(X[start : start + BLOCK_ROWS].astype(others.dtype, copy=False), out[start : start + BLOCK_ROWS])
    return out


def _dense_writer(kernel, others):
    columns = np.empty(others.shape[1] * TILE_WIDTH, others.dtype)
    distances = np.empty((BLOCK_ROWS, len(others)), others.dtype)

    def write(rows, block):
        _dense_block(kernel, _read_only(np.ascontiguousarray(rows)), others, columns, distances, block)

    return write


def _sparse_writer(kernel, others):
    columns = np.ascontiguousarray(others.T)
    sums, distances = np.abs(others).sum(axis=1), np.empty(len(others), others.dtype)

    def write(rows, block):
        indices, indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
        _sparse_block(kernel, rows.data, indices, indptr, columns, sums, distances, block)

    return write


def _read_only(array):
    """A view: there is one compiled type for arrays that can be written and that cannot."""
    view = array.view()
    view.flags.writeable = False
    return view


# Kernels of L1 distances get these twice: norms are not needed.


@entry
def _dense_block(kernel, rows, others, columns, distances, out):
    """Kernel values of two matrices; ``columns`` and ``distances`` are for work."""
    rows_distances(rows, 0, len(rows), others, columns, distances)
    for i in range(len(rows)):
        values_in_row(kernel, distances[i], distances[i], distances[i, 0], out[i])


@entry
def _sparse_block(kernel, data, indices, indptr, columns, sums, distances, out):
    """The same for the rows of a CSR matrix and others feature by feature; ``distances`` are for work."""
    pairing, n = pairing_of(kernel), sums.size
    for i in range(len(out)):
        start_pairs(pairing, sums, distances, n)
        for k in range(indptr[i], indptr[i + 1]):
            add_feature(pairing, data[k], columns[indices[k]], distances, n)
        values_in_row(kernel, distances, distances, distances[0], out[i])
