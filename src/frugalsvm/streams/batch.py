"""The batch: a few rows of a stream, and how batches are cut, joined and brought to one size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = [
    "Batch",
    "bytes_of",
    "dropped",
    "labels_of",
    "rebatched",
    "rows_after",
    "rows_between",
    "rows_of",
    "rows_taken",
    "stacked",
]

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


def _each_part(batch: Batch, take: Any, start: int) -> Batch:
    columns = None if batch.columns is None else {name: take(values) for name, values in batch.columns.items()}
    y = None if batch.y is None else take(batch.y)
    weights = None if batch.weights is None else take(batch.weights)
    return Batch(take(batch.X), y, weights, start, columns)


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
    return _each_part(batch, lambda values: values[first:last], batch.start + first)


def rows_taken(batch: Batch, rows: NDArray) -> Batch:
    """Copies of the rows with these numbers (or of those where a mask is true)."""
    return _each_part(batch, lambda values: values[rows], batch.start)


def stacked(batches: list[Batch]) -> Batch:
    """One batch with the rows of several, which must have the same kinds of columns."""
    first = batches[0]
    if len(batches) == 1:
        return first
    if sparse.issparse(first.X):
        X = sparse.vstack([batch.X for batch in batches], format="csr")
    else:
        X = np.concatenate([batch.X for batch in batches])

    def joined(parts: list[NDArray | None]) -> NDArray | None:
        return None if parts[0] is None else np.concatenate(parts)  # type: ignore[arg-type]

    columns = first.columns
    if columns is not None:
        columns = {name: np.concatenate([batch.columns[name] for batch in batches]) for name in columns}  # type: ignore[index]
    return Batch(X, joined([b.y for b in batches]), joined([b.weights for b in batches]), first.start, columns)


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
