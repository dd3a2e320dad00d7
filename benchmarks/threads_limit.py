"""The machine's limit with several threads: kernel values in blocks of rows side by side, with nothing learned."""

import threading

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.limit import best_of, to_kernel_values
from frugalsvm.compiling.threads import Threads, row_blocks
from frugalsvm.core.kernels import RBF

__all__ = ["kernel_seconds", "thread_counts"]

BLOCK_ROWS = 1024
MEASURED_ROWS = 65_536


def thread_counts(n_cores):
    """1, 2, 4, ... and all cores."""
    return sorted({*(2**i for i in range(n_cores.bit_length()) if 2**i <= n_cores), n_cores})


def kernel_seconds(n_rows, n_features, n_vectors, n_threads):
    """Least seconds in which so many threads compute an RBF kernel between rows and vectors, in float32.

    Each block is one matrix product and one pass over it, by one thread, in memory that is used again for the next
    block. Up to 65 536 rows are measured, which stand for all.
    """
    n_measured = min(n_rows, MEASURED_ROWS)
    rng = np.random.default_rng(0)
    X, vectors = (rng.random((n, n_features), np.float32) for n in (n_measured, n_vectors))
    row_norms, norms = (np.square(rows).sum(axis=1) for rows in (X, vectors))
    here = threading.local()

    def compute(block):
        if not hasattr(here, "products"):
            here.products, here.row = np.empty((BLOCK_ROWS, n_vectors), np.float32), np.empty(n_vectors, np.float32)
        count = block.stop - block.start
        np.dot(X[block], vectors.T, out=here.products[:count])
        to_kernel_values(RBF(1.0), here.products, norms, row_norms[block], count, here.row, n_vectors)

    blocks = row_blocks(n_measured, n_threads, most=BLOCK_ROWS)
    with threadpool_limits(1, user_api="blas"):
        return best_of(lambda: Threads(n_threads).run(compute, blocks), repeats=3) * n_rows / n_measured
