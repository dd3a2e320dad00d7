"""Streams in another order: with a bounded buffer, or all rows in random order.

In a buffer each row waits in a random slot until another one takes its place. Of all rows, those that do not fit into
memory wait in temporary files: rows are dealt to piles at random, and each pile is shuffled by itself when its turn
comes. So every order is equally likely, the source is read once, in its order, and memory holds a pile at a time.
"""

from __future__ import annotations

import copy
import pickle
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from frugalsvm.exceptions import ParameterError
from frugalsvm.streams.bad_lines import StreamError
from frugalsvm.streams.batch import Batch, bytes_of, dropped, rebatched, rows_between, rows_taken, stacked
from frugalsvm.streams.stream_wrapper import StreamWrapper

MEMORY_BYTES = 1 << 28
N_PILES = 64


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
                n_bytes += bytes_of(batch)
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
                rows = stacked([Batch(*parts) for parts in _read(pile)])
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


class _SparseRows:
    """CSR rows in slots: one arena for their values, packed when it is full, so that memory stays bounded."""

    def __init__(self, X: Any) -> None:
        self.width = X.shape[1]
        self.begins, self.lengths = X.indptr[:-1].astype(np.int64), np.diff(X.indptr).astype(np.int64)
        self.indices, self.values, self.used = X.indices, X.data, X.nnz

    def _positions(self, slots: NDArray) -> NDArray:
        """Positions in the arena of all values of these slots, one row after the other."""
        lengths = self.lengths[slots]
        ends = np.cumsum(lengths)
        return np.arange(ends[-1] if len(ends) else 0) + np.repeat(self.begins[slots] - (ends - lengths), lengths)

    def __getitem__(self, slots: NDArray) -> Any:
        positions = self._positions(slots)
        ends = np.zeros(len(slots) + 1, dtype=np.int32)
        np.cumsum(self.lengths[slots], out=ends[1:])
        return sparse.csr_matrix(
            (self.values[positions], self.indices[positions], ends), shape=(len(slots), self.width)
        )

    def __setitem__(self, slots: NDArray, X: Any) -> None:
        self.lengths[slots] = 0
        if self.used + X.nnz > len(self.indices):
            self._pack(X.nnz)
        end = self.used + X.nnz
        self.indices[self.used : end], self.values[self.used : end] = X.indices, X.data
        self.begins[slots], self.lengths[slots] = X.indptr[:-1] + self.used, np.diff(X.indptr)
        self.used = end

    def _pack(self, n_more: int) -> None:
        """Move the rows together, in an arena with room for as much again."""
        positions = self._positions(np.arange(len(self.lengths)))
        room = 2 * (len(positions) + n_more)
        indices, values = np.empty(room, dtype=self.indices.dtype), np.empty(room, dtype=self.values.dtype)
        indices[: len(positions)], values[: len(positions)] = self.indices[positions], self.values[positions]
        self.begins = np.cumsum(self.lengths) - self.lengths
        self.indices, self.values, self.used = indices, values, len(positions)


class _Slots:
    """The buffer: one array for each part of a batch."""

    def __init__(self, batch: Batch) -> None:
        self.X = _SparseRows(batch.X) if sparse.issparse(batch.X) else batch.X.copy()
        self.others = {name: values.copy() for name, values in _others(batch).items()}
        self.names = list(batch.columns or {})

    def taken(self, slots: NDArray) -> Batch:
        others = {name: values[slots] for name, values in self.others.items()}
        columns = {name: others["column", name] for name in self.names} or None  # type: ignore[index]
        return Batch(self.X[slots], others.get("y"), others.get("weights"), 0, columns)  # type: ignore[call-overload]

    def put(self, slots: NDArray, batch: Batch) -> None:
        self.X[slots] = batch.X
        for name, values in _others(batch).items():
            kept = self.others[name]
            if kept.dtype.kind in "US" and values.dtype.itemsize > kept.dtype.itemsize:
                kept = self.others[name] = kept.astype(values.dtype)
            kept[slots] = values


def _others(batch: Batch) -> dict[Any, NDArray]:
    parts: dict[Any, NDArray | None] = {"y": batch.y, "weights": batch.weights}
    parts |= {("column", name): values for name, values in (batch.columns or {}).items()}
    return {name: values for name, values in parts.items() if values is not None}


class Shuffled(Reordered):
    """A stream in another order; made by `shuffled`."""

    def __init__(self, stream: Any, buffer_rows: int, seed: int, start: int) -> None:
        super().__init__(stream, seed, start)
        self.buffer_rows = buffer_rows

    def _mixed(self) -> Iterator[Batch]:
        rng = np.random.default_rng(self.seed)
        first: list[Batch] = []
        n_first, slots = 0, None
        for batch in self.stream:
            if slots is None:
                used = min(batch.n_rows, self.buffer_rows - n_first)
                first.append(rows_between(batch, 0, used))
                n_first += used
                if n_first < self.buffer_rows:
                    continue
                slots, first = _Slots(stacked(first)), []
                batch = rows_between(batch, used, batch.n_rows)
            for begin in range(0, batch.n_rows, self.buffer_rows):
                part = rows_between(batch, begin, begin + self.buffer_rows)
                positions = rng.choice(self.buffer_rows, part.n_rows, replace=False)
                yield slots.taken(positions)
                slots.put(positions, part)
        if slots is not None:
            order = rng.permutation(self.buffer_rows)
            for begin in range(0, self.buffer_rows, self.stream.batch_rows):
                yield slots.taken(order[begin : begin + self.stream.batch_rows])
        elif first:
            yield rows_taken(stacked(first), rng.permutation(n_first))


def shuffled(stream: Any, buffer_rows: int | None, seed: int = 0) -> Shuffled | Permuted:
    """Mix the rows of a stream: with a buffer of ``buffer_rows`` rows, or all of them.

    The order depends on the stream, its batch size, `buffer_rows` and `seed` only: every pass gives it again, and
    `from_row` resumes in it. A buffer as large as the stream gives a random permutation. None does so for streams of
    any length, and reads all rows before it gives the first; those beyond 256 MB wait in temporary files.

    Parameters
    ----------
    stream : Stream
        What to mix.
    buffer_rows : int or None
        How many rows wait at a time; this bounds the memory. A sorted stream needs None.
    seed : int, default=0
        Seed of the order.

    Returns
    -------
    Shuffled or Permuted
        Has the attributes of `Stream`.

    Examples
    --------
    >>> import io
    >>> from frugalsvm.streams import open_stream, shuffled
    >>> stream = open_stream(io.BytesIO(b"x,y\\n1,0\\n2,0\\n3,1\\n4,1\\n"), format="csv", batch_rows=3)
    >>> sorted(float(value) for batch in shuffled(stream, 2) for value in batch.X[:, 0])
    [1.0, 2.0, 3.0, 4.0]
    """
    if buffer_rows is None:
        return Permuted(stream, seed, stream.start)
    if buffer_rows < 1:
        raise ParameterError("buffer_rows", buffer_rows, "at least 1")
    return Shuffled(stream, buffer_rows, seed, stream.start)
