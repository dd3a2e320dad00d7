"""All rows of a source at once, as far as there is memory for them."""

import os
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.streams.batch import rows_of, stacked

__all__ = ["Read", "joined_rows", "read_rows"]

_TEXT_BYTES = 64  # of a text in a column, about


class Read(NamedTuple):
    batches: list
    n_bytes: int
    is_whole: bool  # there are no more rows


def read_rows(batches: Iterable, share: float) -> Read:
    """Batches until they are all there, or take more than a share of the memory of the machine."""
    most, n_bytes, found = _most_bytes(share), 0, []
    for batch in batches:
        n_bytes += _bytes_of(batch)
        found.append(batch)
        if most is not None and n_bytes > most:
            return Read(found, n_bytes, False)
    return Read(found, n_bytes, True)


def _bytes_of(batch: Any) -> int:
    X = batch.X
    numbers = X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes
    return numbers + _TEXT_BYTES * batch.n_rows * len(batch.columns or {})


def _most_bytes(share: float) -> int | None:
    """What rows may take; None where the system does not tell how much memory there is."""
    try:
        return int(share * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return None


def joined_rows(batches: list, labels: Callable[[Any], np.ndarray]) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Rows as pipelines take them, labels and weights of all batches; the batches are given up on the way."""
    y = np.concatenate([labels(batch) for batch in batches])
    joined = stacked(batches)
    batches.clear()
    return rows_of(joined), y, joined.weights
