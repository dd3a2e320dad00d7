"""Decision values for many rows: the scoring half of training, without the learning."""

import numpy as np

from frugalsvm.compiling.functions import compiled, entry, generic, inlined, larger, smaller
from frugalsvm.core.dense_scores import UnfitRowsError, most_bits, new_scoring, new_vectors, score_rows
from frugalsvm.core.expansion import whole_groups
from frugalsvm.core.fastmath import float64_sum, magnitude_bits, weighted_sums
from frugalsvm.core.kernels import kernel_row, scored_row
from frugalsvm.core.lookahead import example_norm, load, products_row
from frugalsvm.core.sources import new_source, rows_at_a_time
from frugalsvm.core.workspace import new_workspace


@generic
def scored(source, kernel, i, expansion, work):
    """What `score_example` does."""


@inlined
def score_example(kernel, source, i, expansion, work):
    """Raw scores of example i of the block for all outputs; leaves its kernel row in the workspace."""
    scored(source, kernel, i, expansion, work)


@scored.implement()
def _scored_by_products(source, kernel, i, expansion, work):
    n = expansion.counts[0]["n_slots"]
    full = whole_groups(n)  # empty slots have no weight
    begin = products_row(source, i, expansion)
    norm = example_norm(source, i)
    # A view, not an offset: only then does the compiler see consecutive values.
    products = source.products[begin:]
    work.scores[0] = scored_row(kernel, products, expansion.norms, norm, expansion.weights, work.kernel_row, full)
    if work.scores.size > 1:
        weighted_sums(expansion.weights, 1, work.kernel_row, full, work.scores)
    expansion.counts[0]["n_kernel_evals"] += n


@compiled
def _largest_bits(source, count):
    """`magnitude_bits` of the largest value of the ``count`` examples that were loaded."""
    most = magnitude_bits(source.data.dtype.type(0))
    for i in range(count):
        row = source.order[source.state[0]["start"] + i]
        for k in range(source.indptr[row], source.indptr[row + 1]):
            most = larger(most, magnitude_bits(source.data[k]))
    return most


@entry
def _score_sparse(kernel, source, n_rows, block_rows, expansion, work, out, largest):
    """Score all rows of a CSR matrix; false at the first value whose bits are above ``largest``."""
    start = 0
    while start < n_rows:
        count = load(source, start, smaller(block_rows, n_rows - start), expansion)
        if _largest_bits(source, count) > largest:
            return False
        for i in range(count):
            score_example(kernel, source, i, expansion, work)
            for o in range(work.scores.size):
                out[start + i, o] = work.scores[o]
        start += count
    return True


@entry
def _score_sparse_in_float64(kernel, source, n_rows, block_rows, expansion, work, out, largest):
    """The same with sums in float64."""
    n = expansion.counts[0]["n_slots"]
    start = 0
    while start < n_rows:
        count = load(source, start, smaller(block_rows, n_rows - start), expansion)
        if _largest_bits(source, count) > largest:
            return False
        for i in range(count):
            products = source.products[products_row(source, i, expansion) :]
            kernel_row(kernel, products, expansion.norms, example_norm(source, i), work.kernel_row, n)
            for o in range(work.scores.size):
                out[start + i, o] = float64_sum(expansion.coef, o, work.kernel_row, n)
        start += count
    return True


def decision_values(kernel, expansion, X, *, in_float64=False):
    """Scores ``sum_j weights[o, j] K(x_j, x)`` of the rows of ``X``, ``(n_rows, n_outputs)`` in float64.

    With ``in_float64`` they are summed in float64 over ``coef`` instead: for thousands of large coefficients, which
    cancel. Several threads may do so with the same expansion: it stays as it is, its counters included.

    Raises `UnfitRowsError` for values above `largest_size`: rows are looked at while they are in the cache.
    """
    if not isinstance(X, np.ndarray):
        return _sparse_values(kernel, expansion, X, in_float64)
    scoring = new_scoring(kernel, new_vectors(expansion, len(X), in_float64=in_float64), X)
    score_rows(scoring)
    return scoring.out


def _sparse_values(kernel, expansion, X, in_float64):
    expansion = expansion._replace(counts=expansion.counts.copy())
    n_rows = X.shape[0]
    out = np.empty((n_rows, expansion.n_outputs))
    source = new_source(kernel, X, np.arange(n_rows), expansion)
    score = _score_sparse_in_float64 if in_float64 else _score_sparse
    work, largest = new_workspace(expansion), most_bits(X.shape[1], X.dtype)
    if not score(kernel, source, n_rows, rows_at_a_time(source), expansion, work, out, largest):
        raise UnfitRowsError
    return out


def confidence(values):
    """How far decision values, a row for each example, are from a tie between classes."""
    if values.shape[1] == 1:
        return np.abs(values[:, 0])
    highest = np.partition(values, -2, axis=1)[:, -2:]
    return highest[:, 1] - highest[:, 0]
