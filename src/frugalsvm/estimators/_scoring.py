"""Scores of many rows, block by block on several threads: the checks of the rows included.

A block of rows is checked, made relative to the origin, and scored while it is in the cache. Passes over all rows,
one after the other on one thread, would take longer than sixteen threads need for the scores.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from frugalsvm._threads import Threads, blas_threads, row_blocks, thread_count
from frugalsvm.core.expansion import Expansion
from frugalsvm.core.lookahead import BLOCK_ROWS
from frugalsvm.core.origin import relative
from frugalsvm.core.outputs import n_outputs_for
from frugalsvm.core.predict import UnfitRowsError, largest_size
from frugalsvm.estimators._validation import without_duplicates

__all__ = ["Scorer", "best_columns", "rows_to_score", "scores_by_blocks"]

# Work is counted in multiplications: about 30 take a nanosecond.
_WORTH_A_THREAD = 1e7  # to wake one up, and to wait for Python's lock, takes a tenth of the time for this
_FIRST_SHARE = 0.75
_KERNEL_VALUE = 16  # what it takes besides the product
_MOST_ROWS = 2**14
_ROWS_OF_SCORES = 2**13
_VALUES_TO_CHECK = 2**21  # about a millisecond


class Scorer(NamedTuple):
    """A model, ready to score rows as the kernel sees them."""

    expansion: Expansion
    scores: Callable[[Any], np.ndarray]  # called by several threads; raises `UnfitRowsError`


def scores_by_blocks(estimator: Any, X: Any, scorer: Scorer) -> np.ndarray:
    """Scores of rows that users pass, one column for each output; the rows are checked on the way."""
    rows = _Rows(estimator, X, scorer.expansion.rows.dtype)
    out = np.empty((len(rows), n_outputs_for(len(estimator.classes_))))

    def score(block):
        out[block] = scorer.scores(rows.at(block))

    threads, n_slots = Threads(thread_count(estimator.n_jobs)), int(scorer.expansion.counts[0]["n_slots"])
    blocks = _blocks(rows.X, n_slots, threads.count)
    try:
        # Blocks side by side, or one product after another on several threads.
        with blas_threads(1) if len(blocks) > 1 else estimator._products_with(n_slots, len(rows)):
            threads.run(score, blocks)
    except UnfitRowsError:
        return scorer.scores(estimator._known_rows(X, rows.dtype))  # which says what is wrong with them
    return out


def rows_to_score(estimator: Any, X: Any, threads: Threads) -> Any:
    """Rows as ``estimator._known_rows(X, None)`` gives them, but checked in one pass, on several threads if it is long.

    For models that compute with rows of any type. Each matrix product must use one thread only.
    """
    origin = estimator._origin
    if not (isinstance(X, np.ndarray) and X.dtype.kind == "f") or not (origin is None or origin.is_zero):
        return estimator._known_rows(X, None)
    rows = validate_data(estimator, X, reset=False, dtype=[np.float64, np.float32], order="C", ensure_all_finite=False)
    largest = largest_size(rows.shape[1], estimator._type_of(rows))

    def is_good(block):
        values = rows[block].ravel()
        with np.errstate(over="ignore", invalid="ignore"):
            return bool(values.dot(values) <= largest**2)  # then each of them is at most the largest; NaN is not

    blocks = row_blocks(len(rows), threads.count, _VALUES_TO_CHECK // rows.shape[1])
    return rows if all(threads.run(is_good, blocks)) else estimator._known_rows(X, None)


class _Rows:
    """Rows of which the shape is right; they take their type block by block, and their values are not checked."""

    def __init__(self, estimator: Any, X: Any, dtype: Any):
        self.dtype = dtype
        if (isinstance(X, np.ndarray) and X.dtype.kind in "biuf") or (issparse(X) and X.format == "csr"):
            self.X = validate_data(
                estimator, X, reset=False, accept_sparse="csr", dtype="numeric", ensure_all_finite=False
            )
            self._origin = estimator._origin
        else:  # tables and the like, which are converted as a whole
            self.X, self._origin = estimator._known_rows(X, dtype), None

    def __len__(self) -> int:
        return self.X.shape[0]

    def at(self, block: slice) -> Any:
        """A block of rows relative to the origin, C-contiguous or CSR without duplicates."""
        with np.errstate(over="ignore", invalid="ignore"):  # what becomes infinite is found
            X = relative(self.X[block], self._origin, self.dtype)
        return np.ascontiguousarray(X) if isinstance(X, np.ndarray) else without_duplicates(X)


def _blocks(X: Any, n_slots: int, n_threads: int) -> list[slice]:
    """How rows are shared out: nothing for other threads to do where there is little to do.

    Threads begin one after the other, and cores are not equally fast: most rows are in one block for each thread, the
    others in small ones for those that are ready first. Rows are multiplied `BLOCK_ROWS` at a time. Blocks are whole
    numbers of that, so that scores do not depend on them.
    """
    is_dense, n_rows = isinstance(X, np.ndarray), X.shape[0]
    work = n_rows * n_slots * ((X.shape[1] if is_dense else X.nnz / n_rows) + _KERNEL_VALUE)
    n_blocks = max(1, int(min(n_threads, work // _WORTH_A_THREAD)))
    most = _MOST_ROWS if is_dense else None  # sparse rows have arrays for each block that are worth many rows
    n_first = n_rows if n_blocks == 1 else int(_FIRST_SHARE * n_rows) // BLOCK_ROWS * BLOCK_ROWS
    first = row_blocks(n_first, n_blocks, most=most, step=BLOCK_ROWS)
    rest = row_blocks(n_rows - n_first, n_blocks, most=most, step=BLOCK_ROWS) if n_first < n_rows else []
    return first + [slice(block.start + n_first, block.stop + n_first) for block in rest]


def best_columns(scores: np.ndarray, n_jobs: Any) -> np.ndarray:
    """The index of the largest score in each row, the first one of equals."""
    threads = Threads(thread_count(n_jobs))
    blocks = row_blocks(len(scores), threads.count, _ROWS_OF_SCORES)
    return np.concatenate(threads.run(lambda block: scores[block].argmax(axis=1), blocks))
