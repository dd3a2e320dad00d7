"""All rows of a stream in random order: in memory, or through temporary files where they do not fit.

Rows are dealt to piles at random, and each pile is shuffled by itself when its turn comes: every order is equally
likely, the source is read once, in its order, and memory holds a pile at a time.
"""

from __future__ import annotations

import copy
import pickle
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, Self

import numpy as np
from scipy import sparse

from frugalsvm.streams.bad_lines import StreamError
from frugalsvm.streams.batch import Batch, dropped, rebatched, rows_taken, stacked
from frugalsvm.streams.stream_wrapper import StreamWrapper

__all__ = ["Permuted", "Reordered"]

MEMORY_BYTES = 1 << 28
N_PILES = 64
_BYTES_OF_TEXT = 64  # roughly, for a short text


class Reordered(StreamWrapper):
    """A stream in another order, the same in every pass: subclasses define ``_mixed``."""

    def __init__(self, stream: Any, seed: int, start: int) -> None:
        super().__init__(stream)
        self.seed, self.start = seed, start

    def from_row(self, start: int) -> Self:
        """The same order, from another row on; all rows before it are read for it."""
        other = copy.copy(self)
        other.stream, other.start = self.stream.from_row(self.stream.start), start
        return other

    def __iter__(self) -> Iterator[Batch]:
        batches = rebatched(self._mixed(), self.stream.batch_rows, self.stream.start)
        if self.start <= self.stream.start:
            return batches
        return rebatched(dropped(batches, self.start - self.stream.start), self.stream.batch_rows, self.start)

    def _mixed(self) -> Iterator[Batch]:
        raise NotImplementedError


class Permuted(Reordered):
    """A stream in random order; made by `shuffled`."""

    def _mixed(self) -> Iterator[Batch]:
        rng = np.random.default_rng(self.seed)
        with ExitStack() as stack:
            piles: list[Any] = []
            waiting: list[Batch] = []
            n_bytes = 0
            for batch in self.stream:
                waiting.append(batch)
                n_bytes += _bytes_of(batch)
                if n_bytes >= MEMORY_BYTES // 2:  # stacking copies the rows
                    piles = piles or [stack.enter_context(tempfile.TemporaryFile()) for _ in range(N_PILES)]
                    self._deal(stacked(waiting), piles, rng)
                    waiting, n_bytes = [], 0
            if not piles:
                if waiting:
                    rows = stacked(waiting)
                    waiting.clear()
                    yield rows_taken(rows, rng.permutation(rows.n_rows))
                return
            if waiting:
                self._deal(stacked(waiting), piles, rng)
                waiting = []
            for pile in piles:
                pile.seek(0)
                rows = stacked([_unpacked(packed) for packed in _read(pile)])
                yield rows_taken(rows, rng.permutation(rows.n_rows))
                pile.truncate(0)

    def _deal(self, rows: Batch, piles: list[Any], rng: np.random.Generator) -> None:
        """Write each row to a random pile."""
        pile_of_row = rng.integers(len(piles), size=rows.n_rows)
        try:
            for number, pile in enumerate(piles):
                pickle.dump(tuple(rows_taken(rows, pile_of_row == number)), pile, protocol=pickle.HIGHEST_PROTOCOL)
        except OSError as error:
            where = f"temporary files in {tempfile.gettempdir()}"
            raise StreamError(f"{self.name} cannot be shuffled through {where}: {error.strerror or error}.") from error


def _read(pile: Any) -> Iterator[Any]:
    """What was written to a file that no other program can open: it has no name."""
    while True:
        try:
            yield pickle.load(pile)
        except EOFError:
            return


def _unpacked(parts: tuple) -> Batch:
    return Batch(*parts)


def _bytes_of(batch: Batch) -> int:
    X = batch.X
    n_bytes = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sparse.issparse(X) else X.nbytes
    return n_bytes + batch.n_rows * _BYTES_OF_TEXT * len(batch.columns or ())
