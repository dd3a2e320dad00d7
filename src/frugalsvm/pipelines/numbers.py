"""Numbers of many rows, filled and scaled block by block: the only array of their size is the one that is returned."""

from typing import Any

import numpy as np

from frugalsvm.compiling.threads import ONE_THREAD, Threads, row_blocks

__all__ = ["missing_counts", "prepared_numbers"]

_BLOCK_VALUES = 2**17  # in float64 they fit into the cache of a core


def _blocks(X: np.ndarray, n_threads: int) -> list[slice]:
    n_rows = max(1, _BLOCK_VALUES // max(1, X.shape[1]))
    return row_blocks(len(X), n_threads, n_rows, n_rows)


def missing_counts(X: np.ndarray) -> np.ndarray:
    """How many values of each column of dense rows are missing."""
    counts = np.zeros(X.shape[1], np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        for block in _blocks(X, 1):
            if np.isnan(X[block].sum()):  # so do infinite values of both signs
                counts += np.isnan(X[block]).sum(axis=0)
    return counts


def prepared_numbers(X: np.ndarray, filler: Any, scaler: Any, dtype: Any = None, threads: Threads = ONE_THREAD) -> Any:
    """Dense rows that were validated, filled and scaled, with indicators of missing values beside them.

    ``dtype`` is that of rows that are scaled, None for that of ``X``. Others keep theirs: they may be too far from zero
    for another. Returns ``X`` itself where nothing is to be done.
    """
    indicated = np.zeros(0, np.int64) if filler is None else filler.indicated_
    if scaler is None and not indicated.size and (filler is None or not missing_counts(X).any()):
        return X
    n_rows, d = X.shape
    out = np.empty((n_rows, d + indicated.size), X.dtype if scaler is None or dtype is None else dtype)

    def write(block: slice) -> None:
        rows = X[block] if filler is None else filler.filled(X[block])
        if scaler is None:
            out[block, :d] = rows
        else:
            scaler.scaled(rows, out[block, :d])
        if indicated.size:
            out[block, d:] = filler.indicators(X[block])

    threads.run(write, _blocks(X, threads.count))
    return out
