"""Rows of features on a device: stored, or computed again in every pass; and where the rows of X come from.

Both kinds of rows have the verbs of `frugalsvm.asset.rows`: ``scores`` and ``gradient`` are the products with the whole
matrix, ``take`` copies a few rows.
"""

from typing import Any

import numpy as np

__all__ = ["ComputedRows", "DeviceSource", "HostSource", "StoredRows", "stored_rows"]

_BLOCK_NUMBERS = 2**26  # features that are computed at a time
_SUM_ROWS = 2**16  # rows that are summed in float32 before the sum goes to float64


def block_rows(width: int) -> int:
    """How many rows are computed at a time."""
    return max(1, _BLOCK_NUMBERS // width)


class StoredRows:
    """All features in the memory of the device, in float32 or in half precision."""

    def __init__(self, arrays, block):
        self._arrays, self.block = arrays, block
        self.n_rows, self.width = block.shape
        self._is_single = block.dtype == arrays.xp.float32

    def scores(self, coefficients: Any) -> Any:
        """``coefficients @ rows.T`` in float32, an output in each row."""
        coefficients = self._arrays.single(coefficients)
        if self._is_single:
            return coefficients @ self.block.T
        return self._arrays.xp.concat([coefficients @ rows.T for _, rows in self._parts()], axis=1)

    def gradient(self, weights: Any) -> Any:
        """``weights @ rows`` in float64."""
        total = self._arrays.zeros((weights.shape[0], self.width))
        for part, rows in self._parts():
            total += weights[:, part] @ rows
        return total

    def _parts(self):
        step = _SUM_ROWS if self._is_single else block_rows(self.width)
        for start in range(0, self.n_rows, step):
            part = slice(start, start + step)
            yield part, self._arrays.single(self.block[part])

    def take(self, index: Any) -> Any:
        return self._arrays.single(self._arrays.take(self.block, index))

    def head(self, n_rows: int) -> "StoredRows":
        """The first rows."""
        return StoredRows(self._arrays, self.block[:n_rows])


def stored_rows(arrays, device_map, source, factor=None, dtype="float32") -> StoredRows:
    """All features of a source; whitened at once if a factor is given."""
    block = arrays.empty((source.n_rows, device_map.width if factor is None else factor.n_features), dtype)
    for start, X in source.blocks(block_rows(device_map.width)):
        raw = device_map.rows(X)
        made = raw if factor is None else factor.features(raw)
        block[start : start + X.shape[0]] = arrays.xp.astype(made, block.dtype)
    return StoredRows(arrays, block)


class ComputedRows:
    """Features that are computed whenever they are needed."""

    def __init__(self, arrays, device_map, source):
        self._arrays, self._map, self._source = arrays, device_map, source
        self.n_rows, self.width = source.n_rows, device_map.width

    def _blocks(self):
        for start, X in self._source.blocks(block_rows(self.width)):
            yield slice(start, start + X.shape[0]), self._map.rows(X)

    def scores(self, coefficients: Any) -> Any:
        coefficients = self._arrays.single(coefficients)
        out = self._arrays.empty((coefficients.shape[0], self.n_rows))
        for part, rows in self._blocks():
            out[:, part] = coefficients @ rows.T
        return out

    def gradient(self, weights: Any) -> Any:
        total = self._arrays.zeros((weights.shape[0], self.width))
        for part, rows in self._blocks():
            total += weights[:, part] @ rows
        return total

    def take(self, index: Any) -> Any:
        """Features of some rows, whose numbers are in increasing order."""
        out = self._arrays.empty((index.shape[0], self.width))
        step = block_rows(self.width)
        for start in range(0, index.shape[0], step):
            part = index[start : start + step]
            out[start : start + step] = self._map.rows(self._source.take(part))
        return out


class DeviceSource:
    """Rows of X that are on the device, in an order of their own; X is not copied."""

    def __init__(self, arrays, X, order=None):
        self._arrays, self._X, self._order = arrays, X, order
        self.n_rows = X.shape[0]

    def blocks(self, n_rows: int):
        """Blocks of rows with the number of their first."""
        for start in range(0, self.n_rows, n_rows):
            part = slice(start, min(start + n_rows, self.n_rows))
            yield start, self._X[part] if self._order is None else self._arrays.take(self._X, self._order[part])

    def take(self, index: Any) -> Any:
        return self._arrays.take(self._X, index if self._order is None else self._order[index])


class HostSource:
    """Rows of X in the memory of the host or in a file, moved to the device block by block.

    Parameters
    ----------
    arrays : Arrays
    batches : callable
        Returns an iterator over the rows in a fixed order, in arrays or CSR matrices of any size.
    n_rows : int
    X : array, default=None
        All rows, if they can be had at random; without, `take` goes through the batches.
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
    from frugalsvm.device.transfer import overlapped

    yield from overlapped(parts, arrays.device)
