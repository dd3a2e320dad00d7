"""The limit of several threads: a matrix product of given shape, and kernel values over blocks of rows side by side."""

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.limit import best_of
from frugalsvm._threads import Threads, row_blocks

__all__ = ["product_seconds", "thread_counts"]

BLOCK_ROWS = 4096
MEASURED_ROWS = 65_536


def thread_counts(n_cores):
    """1, 2, 4, ... and all cores."""
    return sorted({*(2**i for i in range(n_cores.bit_length()) if 2**i <= n_cores), n_cores})


def product_seconds(n_rows, n_features, n_columns, n_threads):
    """Least seconds of the product of so many rows with a matrix, in float32: the faster of two ways.

    One has blocks of rows side by side, with one thread each; the other leaves the threads to BLAS. Up to 65 536 rows
    are measured, which stand for all.
    """
    n_measured = min(n_rows, MEASURED_ROWS)
    rng = np.random.default_rng(0)
    X = rng.random((n_measured, n_features), np.float32)
    columns = rng.random((n_features, n_columns), np.float32)
    blocks = row_blocks(n_measured, n_threads, most=BLOCK_ROWS)
    out = np.empty((n_measured, n_columns), np.float32)

    def multiply(block):
        np.dot(X[block], columns, out=out[block])

    with threadpool_limits(1, user_api="blas"):
        side_by_side = best_of(lambda: Threads(n_threads).run(multiply, blocks), repeats=3)
    with threadpool_limits(n_threads, user_api="blas"):
        by_blas = best_of(lambda: multiply(slice(None)), repeats=3)
    return min(side_by_side, by_blas) * n_rows / n_measured
