"""Whether rows are those that were learned: a digest of all that a run has read, kept in its checkpoints."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from hashlib import sha256
from typing import Any

import numpy as np
from scipy.sparse import issparse

from frugalsvm.streams.batch import rows_between


class ChangedDataError(ValueError):
    """Rows that were learned are not what the source has now."""

    def __init__(self, source: str, what: str):
        super().__init__(f"{source} {what} since the run was saved")


class Fingerprint:
    """A digest of rows, labels, weights and columns of text; how rows are divided into batches does not matter.

    It is computed on a thread of its own while the next rows are learned: neither holds Python's lock for long.
    """

    def __init__(self, also: Callable[[Any], None] | None = None) -> None:
        self.n_rows = 0
        self._also = also  # takes the same rows in
        self._digests: dict[str, Any] = {}
        self._thread = ThreadPoolExecutor(1)
        self._pending: Future | None = None

    def add(self, batch: Any) -> None:
        """Take the next rows in; they must stay as they are."""
        self.n_rows += batch.n_rows
        if self._also is not None:
            self._also(batch)
        self._wait()
        self._pending = self._thread.submit(self._take, batch)

    def _wait(self) -> None:
        if self._pending is not None:
            self._pending.result()
            self._pending = None

    def _take(self, batch: Any) -> None:
        if issparse(batch.X):
            # Values and indices are consecutive, and lengths tell where rows end, whatever the batches are. Names are
            # part of the digest, and checkpoints hold digests with these.
            for name, values in (("X", batch.X.data), ("places", batch.X.indices), ("ends", np.diff(batch.X.indptr))):
                self._update(name, values if name == "X" else values.astype(np.int64))
        else:
            self._update("X", batch.X)
        self._update("y", batch.y)
        self._update("weights", batch.weights)
        for name, values in (batch.columns or {}).items():
            self._update(f"column {name}", values)

    def _update(self, name: str, values: Any) -> None:
        if values is None:
            return
        values = np.asarray(values)
        if values.dtype.kind in "OUS":
            data: Any = "".join(f"{len(text)}:{text}" for text in map(str, values.ravel().tolist())).encode()
        else:
            data = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        self._digests.setdefault(name, sha256()).update(data)

    def digest(self) -> str:
        """The digest of all rows so far, in hexadecimal."""
        self._wait()
        whole = sha256()
        for name, digest in sorted(self._digests.items()):
            whole.update(f"{len(name)}:{name}".encode() + digest.digest())
        return whole.hexdigest()

    def saved(self) -> dict[str, Any]:
        """What goes into a model file."""
        return {"rows": self.n_rows, "digest": self.digest()}


def rows_that_are(batches: Iterator, saved: dict[str, Any], read: Fingerprint, source: str) -> Iterator:
    """The batches after the rows that a fingerprint is of, once these were read and are the same.

    ``read`` takes these rows in, and is the fingerprint to go on with.
    """
    n_rows, rest = saved["rows"], None
    while read.n_rows < n_rows and (batch := next(batches, None)) is not None:
        n_known = min(batch.n_rows, n_rows - read.n_rows)
        read.add(rows_between(batch, 0, n_known))
        rest = rows_between(batch, n_known, batch.n_rows) if n_known < batch.n_rows else None
    if read.n_rows < n_rows:
        raise ChangedDataError(source, f"has become shorter ({read.n_rows:,} rows, of {n_rows:,} that were learned)")
    if read.digest() != saved["digest"]:
        raise ChangedDataError(source, f"has changed in its first {n_rows:,} rows")
    if rest is not None:
        yield rest
    yield from batches
