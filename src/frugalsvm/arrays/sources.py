"""Where the rows of X come from, block by block: from the device itself, or from the host and from files."""

from typing import Any

import numpy as np

from frugalsvm.arrays.namespace import on_host

_BLOCK_NUMBERS = 2**26  # features that are computed at a time


def block_rows(width: int) -> int:
    """How many rows are computed at a time."""
    return max(1, _BLOCK_NUMBERS // width)


class DeviceSource:
    """Rows of X that are on the device, in an order that may be another one; X is not copied."""

    def __init__(self, arrays, X, order=None):
        self._arrays, self._X, self._order = arrays, X, order
        self.n_rows = X.shape[0]

    def blocks(self, n_rows: int):
        """Blocks of rows with the number of their first."""
        for start in range(0, self.n_rows, n_rows):
            part = slice(start, min(start + n_rows, self.n_rows))
            yield start, self._X[part] if self._order is None else self._X[self._order[part]]

    def take(self, index: Any) -> Any:
        return self._X[index if self._order is None else self._order[index]]


class HostSource:
    """Rows of X in the memory of the host or in a file, moved to the device block by block.

    ``batches()`` is an iterator over the rows in a fixed order, in arrays or CSR matrices of any size. ``X`` has all
    rows, if they can be had at random; without it, `take` goes through the batches.
    """

    def __init__(self, arrays, batches, n_rows, X=None):
        self._arrays, self._batches, self._X = arrays, batches, X
        self.n_rows = n_rows

    def blocks(self, n_rows: int):
        start = 0
        for X in _moved(self._arrays, self._parts(n_rows)):
            yield start, X
            start += X.shape[0]
        if start != self.n_rows:
            raise ValueError(f"The batches had {self.n_rows} rows at first, but {start} in a later pass.")

    def _parts(self, n_rows):
        for batch in self._batches():
            for first in range(0, batch.shape[0], n_rows):
                yield dense(batch[first : first + n_rows])

    def take(self, index: Any) -> Any:
        wanted = self._arrays.host(index)
        if self._X is not None:
            return self._arrays.asarray(dense(self._X[wanted]))
        found, start = [], 0
        for batch in self._batches():
            first, last = np.searchsorted(wanted, (start, start + batch.shape[0]))
            if first < last:
                found.append(dense(batch[wanted[first:last] - start]))
            start += batch.shape[0]
        return self._arrays.asarray(np.concatenate(found))


def dense_rows(rows) -> np.ndarray:
    """Rows of any kind as a float32 array of the host."""
    rows = on_host(rows)
    return np.ascontiguousarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), np.float32)


def dense(rows) -> np.ndarray:
    """Rows as an array; one type for all of them, small integers as they are."""
    rows = rows if isinstance(rows, np.ndarray) else rows.toarray()
    return rows.astype(np.float32) if rows.dtype == np.float64 or rows.dtype.kind not in "fu" else rows


def _moved(arrays, parts):
    """Parts on the device; on a GPU, the next one travels while this one is used."""
    if not arrays.is_gpu:
        for part in parts:
            yield arrays.asarray(part)
        return
    from frugalsvm.arrays.transfer import overlapped

    yield from overlapped(parts, arrays.device)
