"""The back end of the CPU: NumPy, and compiled loops over losses and sparse sums of rows.

Rows are raw (kernel values with the landmarks, or Fourier features), kept in memory or computed again block by block.
Both kinds have the same verbs: ``scores`` and ``gradient`` are the two products with the whole matrix, ``take`` copies
a few rows, ``subsample`` is the first ones.
"""

import numpy as np

from frugalsvm._compile import entry
from frugalsvm.arrays.namespace import HOST
from frugalsvm.lowrank.hessian import Cholesky, thinned
from frugalsvm.lowrank.losses.compiled import along_line, differentiate, total_loss
from frugalsvm.lowrank.maps import raw_rows, whitening_of, width_of
from frugalsvm.lowrank.options import Options
from frugalsvm.lowrank.whitening import whitening_with

__all__ = ["BLOCK_ROWS", "COMPILED", "CompiledStorage", "ComputedRows", "StoredRows", "stored_rows"]

BLOCK_ROWS = 4096  # rows of X that are at hand at a time

_FLUSH = 256  # rows summed in float32 before the sum goes to float64
_PART = 2**16  # rows at a time, where that saves memory
_NARROW = 1 / 3  # with fewer features than this share of the landmarks, rows are whitened once and for all
_SAMPLE_ROWS = 64  # rows of a sample for each landmark
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


class Compiled:
    """What the solver asks for beside products with rows; arrays are (n_outputs, n_rows), in float32."""

    arrays, direction_dtype = HOST, np.dtype(np.float64)

    def slopes(self, problem, scores, smoothing, cut):
        """Weighted slopes and curvatures of all smoothed losses."""
        first, second = np.empty_like(scores), np.empty_like(scores)
        for o in range(len(scores)):
            differentiate(
                problem.loss, smoothing, cut, problem.targets[o], scores[o], problem.weights, first[o], second[o]
            )
        return first, second

    def total(self, problem, scores):
        """Weighted sum of the losses of each output, as they are."""
        each = zip(problem.targets, scores, strict=True)
        return np.array([total_loss(problem.loss, targets, own, problem.weights) for targets, own in each])

    def excess(self, problem, scores, smoothing):
        """Weighted sum of what smoothing adds, for each output."""
        total = np.zeros(len(scores))
        for part in self.parts(scores.shape[1]):
            added = problem.loss.smoothing_excess(np, problem.targets[:, part], scores[:, part], smoothing)
            total += added @ problem.weights[part]
        return total

    def along(self, problem, scores, changes, smoothing, lengths, active):
        """Slopes and curvatures of the sum of losses along a step, for the outputs that are active."""
        found = np.zeros((2, len(lengths)))
        for o in np.flatnonzero(active):
            found[:, o] = along_line(
                problem.loss, smoothing, problem.targets[o], scores[o], changes[o], problem.weights, lengths[o]
            )
        return found

    def add_scaled(self, scores, lengths, changes):
        for own, length, change in zip(scores, lengths, changes, strict=True):
            own += length * change

    def parts(self, n_rows):
        """Slices that cover all rows."""
        return [slice(start, start + _PART) for start in range(0, n_rows, _PART)]

    def choose(self, n, count, rng):
        """Some of n numbers, in increasing order."""
        return np.sort(rng.choice(n, count, replace=False))

    def units(self, gradients):
        return 1.0  # float64 needs none

    def preconditioner(self, hessian, options, rng):
        """Cholesky factor of the Hessian of fewer rows; several outputs share the mean of theirs."""
        problem, d = hessian.problem, hessian.problem.n_features
        rows, weights = thinned(hessian, options.factor_sample, options, rng)
        # With the ones of the intercept as one more column, rounding keeps the product positive semi-definite.
        roots = np.ones((len(rows), d + 1), np.float32)
        roots[:, :d] = problem.whitening.features(rows)
        roots *= np.sqrt(weights.mean(axis=0).astype(np.float32))[:, None]
        matrix = (roots.T @ roots).astype(np.float64)
        return Cholesky([regularized_hessian(problem, matrix)], options.patience)


COMPILED = Compiled()


def regularized_hessian(problem, matrix):
    """The Hessian of the objective, from that of the risk, the intercept last; changes the matrix."""
    if not problem.intercept:
        matrix[-1, :] = matrix[:, -1] = 0.0
    weights = np.arange(len(matrix) - 1)
    matrix[weights, weights] += problem.penalty
    return matrix


class StoredRows:
    """All rows in memory."""

    backend = COMPILED

    def __init__(self, block):
        self.block = block
        self.n_rows, self.width = block.shape

    def scores(self, coefficients):
        """``coefficients @ rows.T`` in float32, an output in each row."""
        return coefficients.astype(np.float32) @ self.block.T

    def gradient(self, weights):
        """``weights @ rows`` in float64."""
        return weighted_row_sums(self.block, weights)

    def take(self, index):
        """Copy of some rows."""
        return self.block[index]

    def subsample(self, n_rows):
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

    backend = COMPILED

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

    def scores(self, coefficients):
        coefficients = coefficients.astype(np.float32)
        out = np.empty((len(coefficients), self.n_rows), np.float32)
        for start, part in self.parts():
            np.matmul(coefficients, self._raw(part).T, out=out[:, start : start + part.shape[0]])
        return out

    def gradient(self, weights):
        total = np.zeros((len(weights), self.width))
        for start, part in self.parts():
            own = weights[:, start : start + part.shape[0]]
            active = np.flatnonzero(own.any(axis=0))
            if active.size:
                total += own[:, active] @ self._raw(part[active])
        return total

    def take(self, index, positions=None):
        """Copy of some rows; their numbers are in increasing order, and they go to given positions of the copy."""
        rows = np.empty((len(index), self.width), np.float32)
        for start, part in self.parts():
            first, last = np.searchsorted(index, (start, start + part.shape[0]))
            if first < last:
                raw = self._raw(part[index[first:last] - start])
                rows[slice(first, last) if positions is None else positions[first:last]] = raw
        return rows


class CompiledStorage:
    """Where a fit on the CPU keeps its features, within so many bytes: `frugalsvm.lowrank.training` asks.

    ``whiten``: make features with the kernel as inner product, even where that is slow.
    """

    backend = COMPILED

    def __init__(self, feature_map, memory, *, whiten=False):
        self.feature_map, self.memory, self.whiten = feature_map, memory, whiten
        self.width = width_of(feature_map)

    def fits(self, data):
        return data.X is not None and 4 * data.n_rows * self.width <= self.memory

    def options(self, is_stored):
        return Options()

    def stored(self, data, order):
        """All features, of rows in an order."""
        matrix = whitening_of(self.feature_map)
        if matrix is not None and (self.whiten or matrix.shape[1] < _NARROW * matrix.shape[0]):
            rows = stored_rows(self.feature_map, data.X, order, matrix)
            return rows, whitening_with(None, rows.width)
        return stored_rows(self.feature_map, data.X, order), whitening_with(matrix, self.width)

    def computed(self, data):
        """Features that are computed again in every pass."""
        rows = ComputedRows(self.feature_map, data.blocks, data.n_rows)
        return rows, whitening_with(whitening_of(self.feature_map), self.width)

    def kept(self, rows):
        return StoredRows(rows)

    def most_rows(self):
        """Rows of a sample at the most, and validation rows."""
        room = self.memory // 8 // (4 * self.width)
        return int(min(_SAMPLE_ROWS * self.width, room)), int(room)

    def published(self, parameters):
        """Parameters as the model keeps them."""
        return parameters
