"""Rows of a source in memory: all of them as far as there is room, or a random sample."""

import os
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.streams.batch import Batch, bytes_of, rows_of, rows_taken, stacked

__all__ = ["Read", "RowSampler", "Sample", "joined_rows", "read_rows", "sample_rows"]


class Read(NamedTuple):
    batches: list
    n_bytes: int
    is_whole: bool  # there are no more rows


def read_rows(batches: Iterable, share: float) -> Read:
    """Batches until they are all there, or take more than a share of the memory of the machine."""
    most, n_bytes, found = _most_bytes(share), 0, []
    for batch in batches:
        n_bytes += bytes_of(batch)
        found.append(batch)
        if most is not None and n_bytes > most:
            return Read(found, n_bytes, False)
    return Read(found, n_bytes, True)


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
