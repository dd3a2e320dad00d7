"""Kernel values of whole matrices, for callers in Python: with BLAS for kernels of products, without for the others."""

import numpy as np

from frugalsvm.compiling.functions import entry, read_only
from frugalsvm.core.feature_sums import TILE_WIDTH, Minima, rows_sums
from frugalsvm.core.kernels import kernel_block, pairing_of, values_in_row
from frugalsvm.core.pairing import Products, add_feature, slot_sum, start_pairs

BLOCK_ROWS = 256  # rows that stay in the cache while they meet all others


def is_of_products(kernel) -> bool:
    """Whether a kernel is a function of inner products and norms."""
    return isinstance(pairing_of(kernel), Products)


def row_norms(kernel, rows):
    """What K(x, x) is a function of, for every row: `row_norm`, for callers in Python."""
    return rows.sum(axis=1) if isinstance(pairing_of(kernel), Minima) else np.einsum("ij,ij->i", rows, rows)


def kernel_matrix(kernel, A, B):
    """Kernel values of the rows of two matrices in float64."""
    A, B = (np.ascontiguousarray(each, np.float64) for each in (A, B))
    out = np.empty((len(A), len(B)))
    if not is_of_products(kernel):
        return sum_rows(kernel, A, B, out)
    norms_a, norms_b = np.einsum("ij,ij->i", A, A), np.einsum("ij,ij->i", B, B)
    kernel_block(kernel, A @ B.T, norms_b, norms_a, out)
    return out


def sum_rows(kernel, X, others, out):
    """``out[i, j] = K(X[i], others[j])`` for a kernel of sums over features; X is a matrix or a CSR matrix.

    Kernel values are computed in the type of the others, and do not depend on the rows that they are computed with.
    """
    others = read_only(others)
    write = _dense_writer(kernel, others) if isinstance(X, np.ndarray) else _sparse_writer(kernel, others)
    for start in range(0, X.shape[0], BLOCK_ROWS):
        write(X[start : start + BLOCK_ROWS].astype(others.dtype, copy=False), out[start : start + BLOCK_ROWS])
    return out


def _dense_writer(kernel, others):
    columns = np.empty(others.shape[1] * TILE_WIDTH, others.dtype)
    sums = np.empty((BLOCK_ROWS, len(others)), others.dtype)

    def write(rows, block):
        _dense_block(kernel, read_only(np.ascontiguousarray(rows)), others, columns, sums, block)

    return write


def _sparse_writer(kernel, others):
    columns, sums = np.ascontiguousarray(others.T), np.empty(len(others), others.dtype)
    of_zeros = np.empty_like(sums)
    _sums_of_zeros(kernel, others, of_zeros)

    def write(rows, block):
        indices, indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
        _sparse_block(kernel, rows.data, indices, indptr, columns, of_zeros, sums, block)

    return write


# Kernels of sums over features get these twice: norms are not needed.


@entry
def _dense_block(kernel, rows, others, columns, sums, out):
    """Kernel values of two matrices; ``columns`` and ``sums`` are for work."""
    rows_sums(pairing_of(kernel), rows, 0, len(rows), others, columns, sums)
    for i in range(len(rows)):
        values_in_row(kernel, sums[i], sums[i], sums[i, 0], out[i])


@entry
def _sums_of_zeros(kernel, rows, out):
    """The sums of a row of zeros and each row."""
    for i in range(len(rows)):
        out[i] = slot_sum(pairing_of(kernel), rows, i)


@entry
def _sparse_block(kernel, data, indices, indptr, columns, of_zeros, sums, out):
    """The same for the rows of a CSR matrix and others feature by feature; ``sums`` are for work."""
    pairing, n = pairing_of(kernel), sums.size
    for i in range(len(out)):
        start_pairs(pairing, of_zeros, sums, n)
        for k in range(indptr[i], indptr[i + 1]):
            add_feature(pairing, data[k], columns[indices[k]], sums, n)
        values_in_row(kernel, sums, sums, sums[0], out[i])
