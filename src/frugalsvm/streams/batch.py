"""The batch: a few rows of a stream, and how batches are cut, joined, brought to one size, and collected in memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

_BYTES_OF_TEXT = 64  # roughly, for a short text


class Batch(NamedTuple):
    """Some consecutive rows of a stream.

    Attributes
    ----------
    X : array or csr_matrix of shape (n, n_features)
        The numbers, C-contiguous, in the stream's dtype.
    y : array of shape (n,) or None
        The labels: numbers, or text as an object array.
    weights : array of shape (n,) or None
        Weights of the rows, not negative.
    start : int
        Number of the first row in the whole stream; bad lines do not count.
    columns : dict or None
        Columns of text by name, as object arrays of str, for an encoder; None if the stream has none.

    Examples
    --------
    >>> import numpy as np
    >>> from frugalsvm.streams import Batch
    >>> batch = Batch(np.zeros((3, 2)), np.array([1, 0, 1]), start=10)
    >>> batch.n_rows, batch.end
    (3, 13)
    """

    X: Any
    y: NDArray | None
    weights: NDArray | None = None
    start: int = 0
    columns: dict[str, NDArray] | None = None

    @property
    def n_rows(self) -> int:
        """How many rows this batch has."""
        return self.X.shape[0]

    @property
    def end(self) -> int:
        """Number of the first row after this batch."""
        return self.start + self.n_rows


_Rows = TypeVar("_Rows", bound=Any)  # a batch, or anything else with ``X``, ``y``, ``weights`` and ``columns``


def rows_of(batch: Batch) -> Any:
    """What a pipeline takes: the numbers, with the columns of text if there are any."""
    return batch.X if batch.columns is None else (batch.X, batch.columns)


def labels_of(batch: Batch) -> np.ndarray:
    """Labels; numbers without fractions, which text files have as well, are integers. Without labels, all are 0."""
    y: Any = batch.y
    if y is None:
        return np.zeros(batch.n_rows, np.int64)
    if y.dtype.kind != "f":
        return y.astype(str) if y.dtype.kind == "O" else y
    with np.errstate(invalid="ignore"):  # targets that no integer can be
        whole = y.astype(np.int64)
    return whole if np.array_equal(whole, y) else y


def bytes_of(batch: Batch) -> int:
    """Memory that the rows of a batch take, about."""
    X = batch.X
    n_bytes = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sparse.issparse(X) else X.nbytes
    return n_bytes + batch.n_rows * _BYTES_OF_TEXT * len(batch.columns or ())


def rows_between(batch: Batch, first: int, last: int) -> Batch:
    """Rows ``first`` to ``last - 1`` of a batch; views where that is possible."""
    if first == 0 and last >= batch.n_rows:
        return batch
    return rows_taken(batch, slice(first, last))._replace(start=batch.start + first)


def rows_taken(batch: _Rows, rows: NDArray | slice) -> _Rows:
    """The rows with these numbers, or those where a mask is true, as copies; or a view of a slice of them."""
    columns = batch.columns
    if isinstance(columns, dict):
        columns = {name: values[rows] for name, values in columns.items()}
    elif columns is not None:  # features that they have become
        columns = columns[rows]
    y, weights = (None if each is None else each[rows] for each in (batch.y, batch.weights))
    return batch._replace(X=batch.X[rows], y=y, weights=weights, columns=columns)


def stacked(batches: Sequence[_Rows]) -> _Rows:
    """One batch with the rows of several, which must have the same kinds of columns."""
    first = batches[0]
    if len(batches) == 1:
        return first
    matrices = [batch.X for batch in batches]
    X = sparse.vstack(matrices, format="csr") if sparse.issparse(first.X) else np.concatenate(matrices)
    y, weights, columns = first.y, None, first.columns
    if y is not None:
        y = np.concatenate([batch.y for batch in batches])
    if any(batch.weights is not None for batch in batches):
        weights = np.concatenate([np.ones(b.X.shape[0]) if b.weights is None else b.weights for b in batches])
    if columns is not None:
        columns = {name: np.concatenate([batch.columns[name] for batch in batches]) for name in columns}
    return first._replace(X=X, y=y, weights=weights, columns=columns)


def dropped(batches: Iterable[Batch], n_rows: int) -> Iterator[Batch]:
    """The batches without the first ``n_rows`` rows."""
    for batch in batches:
        if n_rows >= batch.n_rows:
            n_rows -= batch.n_rows
            continue
        yield rows_between(batch, n_rows, batch.n_rows)
        n_rows = 0


def rows_after(batches: Iterable[Batch], row: int) -> Iterator[Batch]:
    """The batches from the row of this number on; one that has the row inside is cut."""
    for batch in batches:
        if batch.end > row:
            yield rows_between(batch, max(row - batch.start, 0), batch.n_rows)


def rebatched(pieces: Iterable[Batch], batch_rows: int, start: int = 0) -> Iterator[Batch]:
    """Cut and join pieces of any size into batches of ``batch_rows`` rows (the last may be shorter).

    Rows are numbered from ``start``.
    """
    waiting: list[Batch] = []
    n_waiting = 0
    for piece in pieces:
        if piece.n_rows == 0:
            continue
        used = 0
        while n_waiting + piece.n_rows - used >= batch_rows:
            taken = batch_rows - n_waiting
            batch = stacked([*waiting, rows_between(piece, used, used + taken)])
            yield batch._replace(start=start)
            start += batch_rows
            used += taken
            waiting, n_waiting = [], 0
        if used < piece.n_rows:
            waiting.append(rows_between(piece, used, piece.n_rows))
            n_waiting += piece.n_rows - used
    if waiting:
        yield stacked(waiting)._replace(start=start)


# --- rows of a source in memory: all of them as far as there is room, or a random sample -----------------------------


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
