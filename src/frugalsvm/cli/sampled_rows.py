"""A random sample of the rows of a source, which is read to its end."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from frugalsvm.streams.batch import Batch, rows_taken, stacked

__all__ = ["Sample", "sample_rows"]


class Sample(NamedTuple):
    rows: Batch  # in the order of the source
    n_rows: int  # of the source


def sample_rows(batches: Iterable[Batch], n_wanted: int, seed: int) -> Sample:
    """``n_wanted`` rows, drawn at random, or all if there are not more.

    Each row draws a number, and those with the smallest ones are kept: the sample does not depend on where batches end.

    Examples
    --------
    >>> import numpy as np
    >>> from frugalsvm.streams import Batch
    >>> batches = [Batch(np.full((10, 1), k), np.arange(10), start=10 * k) for k in range(5)]
    >>> sample = sample_rows(batches, 8, seed=0)
    >>> sample.rows.n_rows, sample.n_rows
    (8, 50)
    """
    rng = np.random.default_rng(seed)
    kept: list[Batch] = []
    drawn: list[np.ndarray] = []
    n_rows, n_kept, limit = 0, 0, np.inf
    for batch in batches:
        numbers = rng.random(batch.n_rows)
        n_rows += batch.n_rows
        chosen = np.flatnonzero(numbers < limit)
        kept.append(rows_taken(batch, chosen))
        drawn.append(numbers[chosen])
        n_kept += len(chosen)
        if n_kept > 2 * n_wanted:
            kept, drawn, limit = _thinned(kept, drawn, n_wanted)
            n_kept = n_wanted
    if n_kept > n_wanted:
        kept, drawn, _ = _thinned(kept, drawn, n_wanted)
    return Sample(stacked(kept), n_rows)


def _thinned(kept: list[Batch], drawn: list[np.ndarray], n_wanted: int) -> tuple[list[Batch], list[np.ndarray], float]:
    """The rows with the smallest numbers, these, and the largest of them."""
    numbers = np.concatenate(drawn)
    smallest = np.sort(np.argpartition(numbers, n_wanted - 1)[:n_wanted])
    return [rows_taken(stacked(kept), smallest)], [numbers[smallest]], float(numbers[smallest].max())
