"""Scores of many rows on several threads: the checks of the rows included.

Dense rows are scored by compiled code that does all of it (``core/dense_scores.py``). Sparse rows, and those of other
types, are converted and scored block by block. Passes over all rows, one after the other on one thread, would take
longer than sixteen threads need for the scores.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from frugalsvm.compiling.threads import Threads, blas_threads, row_blocks, thread_count
from frugalsvm.core.dense_scores import UnfitRowsError, new_scoring, new_vectors, score_on_threads
from frugalsvm.core.expansion import Expansion
from frugalsvm.core.lookahead import BLOCK_ROWS
from frugalsvm.core.predict import decision_values
from frugalsvm.core.seen_rows import largest_size, relative
from frugalsvm.estimators.seen_rows import are_small
from frugalsvm.estimators.validation import refuse_unsuitable, without_duplicates

# Work is counted in multiplications: about 30 take a nanosecond.
_WORTH_A_THREAD = 1e7  # to wake one up, and to wait for Python's lock, takes a tenth of the time for this
_FIRST_SHARE = 0.75
_KERNEL_VALUE = 16  # what it takes besides the product
_MOST_ROWS = 2**14


class Scorer(NamedTuple):
    """A model, ready to score rows as the kernel sees them."""

    kernel: Any
    expansion: Expansion
    bias: np.ndarray  # (n_outputs,)
    in_float64: bool = False  # as in `decision_values`
    finish: Callable[[np.ndarray], np.ndarray] | None = None  # makes scores of the values of all outputs

    def scores(self, rows: Any) -> np.ndarray:
        """Scores of rows on one thread; raises `UnfitRowsError`."""
        values = decision_values(self.kernel, self.expansion, rows, in_float64=self.in_float64) + self.bias
        return values if self.finish is None else self.finish(values)


def scores_by_blocks(estimator: Any, X: Any, scorer: Scorer) -> np.ndarray:
    """Scores of rows that users pass, one column for each output; the rows are checked on the way."""
    rows = _Rows(estimator, X, scorer.expansion.rows.dtype)
    threads, n_slots = Threads(thread_count(estimator.n_jobs)), int(scorer.expansion.counts[0]["n_slots"])
    n_threads = _n_threads(rows.X, n_slots, threads.count)
    score = _dense_scores if rows.are_plain else _scores_of_blocks
    try:
        # Rows side by side, or one product after another on several threads.
        with blas_threads(1) if n_threads > 1 else estimator._products_with(n_slots, len(rows)):
            return score(scorer, rows, threads, n_threads)
    except UnfitRowsError:
        return scorer.scores(estimator._known_rows(X, rows.dtype))  # which says what is wrong with them


def _dense_scores(scorer: Scorer, rows: "_Rows", threads: Threads, n_threads: int) -> np.ndarray:
    vectors = new_vectors(scorer.expansion, len(rows), in_float64=scorer.in_float64, bias=scorer.bias)
    scoring = new_scoring(scorer.kernel, vectors, rows.X, n_threads=n_threads, shift=rows.shift)
    score_on_threads(scoring, n_threads)
    finish = scorer.finish
    if finish is None:
        return scoring.out
    blocks = row_blocks(len(rows), n_threads, most=_MOST_ROWS)
    return np.concatenate(threads.run(lambda block: finish(scoring.out[block]), blocks))


def _scores_of_blocks(scorer: Scorer, rows: "_Rows", threads: Threads, n_threads: int) -> np.ndarray:
    blocks = _blocks(rows.X, n_threads)
    return np.concatenate(threads.run(lambda block: scorer.scores(rows.at(block)), blocks))


def rows_to_score(estimator: Any, X: Any, threads: Threads, *, checks: bool = True) -> Any:
    """Rows as ``estimator._known_rows(X, None)`` gives them, but checked in one pass, on several threads if it is long.

    For models that compute with rows of any type. Each matrix product must use one thread only. Without ``checks``, for
    code that looks at all values anyway, they may be anything.
    """
    if not (isinstance(X, np.ndarray) and X.dtype.kind == "f") or not estimator._sees_rows_as_they_are:
        return estimator._known_rows(X, None)
    rows = validate_data(estimator, X, reset=False, dtype=[np.float64, np.float32], order="C", ensure_all_finite=False)
    refuse_unsuitable(estimator, rows)
    if not checks:
        return rows
    is_good = are_small(rows, largest_size(rows.shape[1], estimator._type_of(rows)), threads)
    return rows if is_good else estimator._known_rows(X, None)


class _Rows:
    """Rows of which the shape is right; they take their type block by block, and their values are not checked."""

    def __init__(self, estimator: Any, X: Any, dtype: Any):
        self.dtype = dtype
        is_matrix = (isinstance(X, np.ndarray) and X.dtype.kind in "biuf") or (issparse(X) and X.format == "csr")
        if is_matrix and estimator._metric is None:
            self.X = validate_data(
                estimator, X, reset=False, accept_sparse="csr", dtype="numeric", ensure_all_finite=False
            )
            refuse_unsuitable(estimator, self.X)
            self._origin = estimator._origin
        else:  # tables and the like, which are converted as a whole; and products with directions
            self.X, self._origin = estimator._known_rows(X, dtype), None

    @property
    def are_plain(self) -> bool:
        """Whether compiled code takes the rows as they are."""
        X = self.X
        return isinstance(X, np.ndarray) and X.dtype in (np.float32, np.float64) and X.flags.c_contiguous

    @property
    def shift(self) -> np.ndarray | None:
        """What is to be subtracted from the rows; None is nothing."""
        return None if self._origin is None or self._origin.is_zero else self._origin.point

    def __len__(self) -> int:
        return self.X.shape[0]

    def at(self, block: slice) -> Any:
        """A block of rows relative to the origin, C-contiguous or CSR without duplicates."""
        with np.errstate(over="ignore", invalid="ignore"):  # what becomes infinite is found
            X = relative(self.X[block], self._origin, self.dtype)
        return np.ascontiguousarray(X) if isinstance(X, np.ndarray) else without_duplicates(X)


def _n_threads(X: Any, n_slots: int, n_threads: int) -> int:
    """How many threads score rows: nothing for other threads to do where there is little to do."""
    n_rows = X.shape[0]
    n_values = X.shape[1] if isinstance(X, np.ndarray) else X.nnz / n_rows
    work = n_rows * n_slots * (n_values + _KERNEL_VALUE)
    return max(1, int(min(n_threads, work // _WORTH_A_THREAD, n_rows // BLOCK_ROWS)))


def _blocks(X: Any, n_threads: int) -> list[slice]:
    """How rows that must be converted are shared out.

    Threads begin one after the other, and cores are not equally fast: most rows are in one block for each thread, the
    others in small ones for those that are ready first. Rows are multiplied `BLOCK_ROWS` at a time. Blocks are whole
    numbers of that, so that scores do not depend on them.
    """
    n_rows = X.shape[0]
    most = _MOST_ROWS if isinstance(X, np.ndarray) else None  # sparse rows have arrays for each block
    n_first = n_rows if n_threads == 1 else int(_FIRST_SHARE * n_rows) // BLOCK_ROWS * BLOCK_ROWS
    first = row_blocks(n_first, n_threads, most=most, step=BLOCK_ROWS)
    rest = row_blocks(n_rows - n_first, n_threads, most=most, step=BLOCK_ROWS) if n_first < n_rows else []
    return first + [slice(block.start + n_first, block.stop + n_first) for block in rest]
