"""A random sample of the rows of a source, which is read to its end."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from frugalsvm.streams.batch import Batch, rows_taken, stacked

__all__ = ["RowSampler", "Sample", "sample_rows"]


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
    sampler = RowSampler(n_wanted, seed)
    for batch in batches:
        sampler.add(batch)
    return sampler.sample()


class RowSampler:
    """Takes batches in, one after the other, and keeps a random sample of their rows."""

    def __init__(self, n_wanted: int, seed: int):
        self._n_wanted, self._rng = n_wanted, np.random.default_rng(seed)
        self._kept: list[Batch] = []
        self._drawn: list[np.ndarray] = []
        self._limit = np.inf
        self.n_rows = 0

    def add(self, batch: Batch) -> None:
        """Take the next rows in."""
        numbers = self._rng.random(batch.n_rows)
        self.n_rows += batch.n_rows
        chosen = np.flatnonzero(numbers < self._limit)
        self._kept.append(rows_taken(batch, chosen))
        self._drawn.append(numbers[chosen])
        if sum(map(len, self._drawn)) > 2 * self._n_wanted:
            self._thin()

    def sample(self) -> Sample:
        """The sample of all rows so far."""
        if sum(map(len, self._drawn)) > self._n_wanted:
            self._thin()
        return Sample(stacked(self._kept), self.n_rows)

    def _thin(self) -> None:
        self._kept, self._drawn, self._limit = _thinned(self._kept, self._drawn, self._n_wanted)


def _thinned(kept: list[Batch], drawn: list[np.ndarray], n_wanted: int) -> tuple[list[Batch], list[np.ndarray], float]:
    """The rows with the smallest numbers, these, and the largest of them."""
    numbers = np.concatenate(drawn)
    smallest = np.sort(np.argpartition(numbers, n_wanted - 1)[:n_wanted])
    return [rows_taken(stacked(kept), smallest)], [numbers[smallest]], float(numbers[smallest].max())
