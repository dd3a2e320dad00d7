"""The machine's limit: the same kernel values, computed in blocks, with nothing learned.

An online kernel learner cannot be faster than the kernel values it needs. Given all of them at once, they are
one matrix product and one pass that turns products into kernel values; both are timed here at their best block
size, on one thread, with the code that the engine itself uses. For several outputs the product of the kernel
values with the coefficients is added, which every such learner needs too.

L1 distances are no product. Where that takes one instruction, they take two, a difference and a sum: their limit is the
time of two products.
"""

import time

import numpy as np

from frugalsvm.compiling.functions import entry
from frugalsvm.core.blocks import is_of_products
from frugalsvm.core.kernels import kernel_row

BLOCKS = (64, 256, 1024)
MEASURED_ROWS = 8192


@entry
def to_kernel_values(kernel, products, norms, row_norms, n_rows, row, width):
    for i in range(n_rows):
        kernel_row(kernel, products[i], norms, row_norms[i], row, width)


def best_of(function, repeats=5, *, warm_up=True):
    """Least wall time of a call."""
    if warm_up:
        function()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def nanoseconds_per_value(kernel, X, support_vectors, n_outputs=1):
    """Least time per kernel value, over block sizes, for rows of X against the support vectors."""
    return min(_with_block(kernel, X[:MEASURED_ROWS], support_vectors, n_outputs, block) for block in BLOCKS)


def _with_block(kernel, X, support_vectors, n_outputs, block):
    n_values = len(X) // block * block * len(support_vectors)
    return best_of(all_values(kernel, X, support_vectors, n_outputs, block)) / n_values * 1e9


def all_values(kernel, X, support_vectors, n_outputs, block):
    """A function that computes the kernel values of whole blocks of rows of X with all support vectors."""
    X = np.ascontiguousarray(X[: len(X) // block * block])
    n_slots = len(support_vectors)
    transposed = support_vectors.T
    products = np.empty((block, n_slots), X.dtype)
    weights = np.ones((n_slots, n_outputs), X.dtype)
    scores = np.empty((block, n_outputs), X.dtype)
    norms = np.square(support_vectors).sum(axis=1)
    row_norms = np.square(X).sum(axis=1)
    row = np.empty(n_slots, X.dtype)

    n_products = 1 if is_of_products(kernel) else 2

    def all_blocks():
        for start in range(0, len(X), block):
            for _ in range(n_products):
                np.dot(X[start : start + block], transposed, out=products)
            to_kernel_values(kernel, products, norms, row_norms[start : start + block], block, row, n_slots)
            if n_outputs > 1:
                np.dot(products, weights, out=scores)

    return all_blocks
