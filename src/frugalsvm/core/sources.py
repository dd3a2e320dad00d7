"""Choosing the source of inner products that suits the rows."""

import numpy as np

from frugalsvm.core.dense_sources import DenseBlocks, new_dense_source
from frugalsvm.core.kernels import pairing_of
from frugalsvm.core.lookahead import LONG_BLOCK_ROWS
from frugalsvm.core.pairing import Products
from frugalsvm.core.sparse_source import SparseColumns, new_sparse_source


def new_source(kernel, X, order, expansion, block_rows=None, *, stays=False):
    """The source for a kernel and a matrix of the store's type, C-contiguous or CSR, taken in ``order``.

    ``stays``: vectors stay in their slots, and come there by ``place_example`` only; then the columns of sparse rows
    can be kept current instead of being packed for every block.
    """
    if isinstance(X, np.ndarray):
        return new_dense_source(pairing_of(kernel), X, order, expansion, block_rows)
    return new_sparse_source(pairing_of(kernel), X, order, expansion, stays)


def rows_at_a_time(source):
    """How many examples a source takes at a time."""
    return len(source.block) if isinstance(source, DenseBlocks) else LONG_BLOCK_ROWS


def current_columns(source):
    """All slots feature by feature, if the source keeps them so, and for products; otherwise an empty matrix."""
    whole = isinstance(source, SparseColumns) and source.state[0]["is_whole"] != 0
    whole = whole and isinstance(source.pairing, Products)
    return source.columns if whole else np.zeros((0, 0), source.products.dtype)
