"""Rows of features that a solver multiplies with: kept in memory, or computed again block by block.

Both have the same verbs: ``scores`` and ``gradient`` are the two products with the whole matrix, and ``take`` copies a
few rows. Rows are raw: kernel values with the landmarks, or Fourier features.
"""

import numpy as np

from frugalsvm._compile import entry
from frugalsvm.asset.maps import raw_rows, width_of

__all__ = ["BLOCK_ROWS", "ComputedRows", "StoredRows", "stored_rows"]

BLOCK_ROWS = 4096  # rows of X that are at hand at a time

_FLUSH = 256  # rows summed in float32 before the sum goes to float64
_FEW = 0.5  # with fewer rows than that share, copying them is cheaper than multiplying with all


@entry
def _weighted_row_sum(rows, weights, partial, total):
    """``total = sum_i weights[i] rows[i]``; rows without weight are not even read."""
    width = rows.shape[1]
    for j in range(width):
        partial[j] = 0
        total[j] = 0
    pending = 0
    for i in range(rows.shape[0]):
        weight = weights[i]
        if weight == 0:
            continue
        row = rows[i]
        for j in range(width):
            partial[j] += weight * row[j]
        pending += 1
        if pending == _FLUSH:
            for j in range(width):
                total[j] += np.float64(partial[j])
                partial[j] = 0
            pending = 0
    for j in range(width):
        total[j] += np.float64(partial[j])


def weighted_row_sums(rows, weights):
    """``weights @ rows`` in float64 for weights (n_outputs, n_rows), many of which are zero."""
    n_outputs, width = len(weights), rows.shape[1]
    total = np.zeros((n_outputs, width))
    if n_outputs == 1:
        _weighted_row_sum(rows, weights[0], np.empty(width, np.float32), total[0])
        return total
    active = np.flatnonzero(weights.any(axis=0))
    if len(active) > _FEW * len(rows):
        for start in range(0, len(rows), BLOCK_ROWS):
            total += weights[:, start : start + BLOCK_ROWS] @ rows[start : start + BLOCK_ROWS]
        return total
    for start in range(0, len(active), BLOCK_ROWS):
        part = active[start : start + BLOCK_ROWS]
        total += weights[:, part] @ rows[part]
    return total


class StoredRows:
    """All rows in memory."""

    def __init__(self, block):
        self.block = block
        self.n_rows, self.width = block.shape

    def scores(self, coefficients, out):
        """``out = coefficients @ rows.T``, an output in each row."""
        np.matmul(coefficients.astype(np.float32), self.block.T, out=out)

    def gradient(self, weights):
        """``weights @ rows`` in float64."""
        return weighted_row_sums(self.block, weights)

    def take(self, index):
        """Copy of some rows."""
        return self.block[index]

    def head(self, n_rows):
        """The first rows."""
        return StoredRows(self.block[:n_rows])


def stored_rows(feature_map, X, order, whitening=None, out=None):
    """The rows of X in an order, all in memory; whitened at once if a matrix for it is given.

    ``out``: memory to use, as far as it is large enough. New memory costs several times what writing to it does.
    """
    width = width_of(feature_map) if whitening is None else whitening.shape[1]
    if out is None or out.size < len(order) * width:
        out = np.empty(len(order) * width, np.float32)
    block = out[: len(order) * width].reshape(len(order), width)
    if whitening is not None:
        raw = np.empty((BLOCK_ROWS, width_of(feature_map)), np.float32)
        whitening = whitening.astype(np.float32)
    for start in range(0, len(order), BLOCK_ROWS):
        part = X[order[start : start + BLOCK_ROWS]]
        target = block[start : start + BLOCK_ROWS]
        if whitening is None:
            raw_rows(feature_map, part, target)
        else:
            np.matmul(raw_rows(feature_map, part, raw[: len(target)]), whitening, out=target)
    return StoredRows(block)


class ComputedRows:
    """Rows that are computed again whenever they are needed.

    ``blocks()`` goes through X in a fixed order, in blocks of any size; only one block at a time is looked at.
    """

    def __init__(self, feature_map, blocks, n_rows):
        self._map = feature_map
        self._blocks = blocks
        self.n_rows, self.width = n_rows, width_of(feature_map)
        self._scratch = np.empty((BLOCK_ROWS, self.width), np.float32)

    def parts(self):
        """Parts of X with the number of their first row."""
        start = 0
        for X in self._blocks():
            for first in range(0, X.shape[0], BLOCK_ROWS):
                part = X[first : first + BLOCK_ROWS]
                yield start, part
                start += part.shape[0]
        if start != self.n_rows:
            raise ValueError(f"The batches had {self.n_rows} rows at first, but {start} in a later pass.")

    def _raw(self, X):
        return raw_rows(self._map, X, self._scratch[: X.shape[0]])

    def scores(self, coefficients, out):
        coefficients = coefficients.astype(np.float32)
        for start, part in self.parts():
            np.matmul(coefficients, self._raw(part).T, out=out[:, start : start + part.shape[0]])

    def gradient(self, weights):
        total = np.zeros((len(weights), self.width))
        for start, part in self.parts():
            own = weights[:, start : start + part.shape[0]]
            active = np.flatnonzero(own.any(axis=0))
            if active.size:
                total += own[:, active] @ self._raw(part[active])
        return total

    def take(self, index, places=None):
        """Copy of some rows; their numbers are in increasing order, and they go to given places of the copy."""
        rows = np.empty((len(index), self.width), np.float32)
        for start, part in self.parts():
            first, last = np.searchsorted(index, (start, start + part.shape[0]))
            if first < last:
                raw = self._raw(part[index[first:last] - start])
                rows[slice(first, last) if places is None else places[first:last]] = raw
        return rows
