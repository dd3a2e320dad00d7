"""The back end of devices: whole arrays of PyTorch, or of NumPy to test it with, by the array API standard.

Conjugate gradients are in float32: directions need no more digits, and small problems take as long as it takes to
launch their operations, conversions among them. Nothing here imports PyTorch.
"""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from frugalsvm.arrays.expansion import expansion_values
from frugalsvm.arrays.maps import fourier_map, kernel_map
from frugalsvm.arrays.namespace import is_torch, on_host
from frugalsvm.arrays.sources import DeviceSource, HostSource, block_rows
from frugalsvm.lowrank.fourier import DenseFourier
from frugalsvm.lowrank.hessian import NearMargin, conjugate_gradients, thinned, with_ridge
from frugalsvm.lowrank.nystroem import Nystroem
from frugalsvm.lowrank.options import Options
from frugalsvm.lowrank.whitening import NoWhitening, is_whitened_at_once, new_whitening

_DEAR = 8192  # features: making a preconditioner takes longer than many steps

OPTIONS = Options(
    subsamples=(*Options().subsamples, (256, 0.12)),  # a device is fast enough for a large one before all rows
    small=2**28,
    together=True,
    line_slope=0.1,
    kept_above=_DEAR,
    careful_features=_DEAR,
    careful_keeps=True,
    careful_solve=(4, 0.01),
)


class Torch:
    """What the solver asks for beside products with rows; arrays are (n_outputs, n_rows), in float32."""

    is_of_whole_arrays = True

    def __init__(self, arrays):
        self.arrays, self.direction_dtype = arrays, arrays.xp.float32

    def slopes(self, problem, scores, smoothing, cut):
        xp = self.arrays.xp
        first, second = problem.loss.derivatives(xp, smoothing, problem.targets, scores)
        first = xp.where(xp.abs(first) > cut, first, xp.zeros_like(first))
        return first * problem.weights, second * problem.weights

    def total(self, problem, scores):
        xp = self.arrays.xp
        values = problem.loss.values(xp, problem.targets, scores)
        return xp.sum(values * problem.weights, axis=1, dtype=xp.float64)

    def excess(self, problem, scores, smoothing):
        xp = self.arrays.xp
        added = problem.loss.smoothing_excess(xp, problem.targets, scores, smoothing)
        return xp.sum(added * problem.weights, axis=1, dtype=xp.float64)

    def along(self, problem, scores, changes, smoothing, lengths, active):
        xp = self.arrays.xp
        scores = scores + self.arrays.asarray(lengths, "float32")[:, None] * changes
        first, second = problem.loss.derivatives(xp, smoothing, problem.targets, scores)
        weighted = changes * problem.weights
        slopes = xp.sum(first * weighted, axis=1, dtype=xp.float64)
        curvatures = xp.sum(second * weighted * changes, axis=1, dtype=xp.float64)
        return self.arrays.host(xp.stack((slopes, curvatures)))

    def add_scaled(self, scores, lengths, changes):
        scores += lengths[:, None] * changes

    def add_constants(self, scores, constants):
        scores += constants[:, None]

    def totals(self, values):
        return self.arrays.xp.sum(values, axis=1, keepdims=True, dtype=self.arrays.xp.float64)

    def over_parts(self, function, scores):
        return [function(slice(None))]

    def near_margin(self, second, least):
        """Rows with more than a share of the largest curvature of some output."""
        return NearMargin(self.arrays, second, least)

    def curved_sums(self, rows, weights):
        def sums(vectors, shifts):
            changes = vectors @ rows.T
            changes += shifts[:, None]
            changes *= weights
            return changes @ rows, self.arrays.xp.sum(changes, axis=1, keepdims=True)

        return sums

    def directions(self, hessian, preconditioner, gradients, forcing, max_steps):
        return conjugate_gradients(self.arrays.xp, hessian, preconditioner, gradients, forcing, max_steps)

    def choose(self, n, count, rng):
        return self.arrays.strided(n, count)  # rows are in random order

    def preconditioner(self, hessian, options, rng):
        return Preconditioner(hessian, options, rng)


# --- the preconditioner -------------------------------------------------------------------------------------------

_MOST_DOUBLE = 32_768  # features: beyond, matrices in float64 leave no room for others
_ROWS_EACH = ((4096, 6), (8192, 3))  # features, rows for each of them; beyond, two
_OWN_ROWS = 16  # rows for each feature where outputs have their own: few of them are near the margin of any one
_OWN_NUMBERS = 2**25  # of matrices, one for each output
_BLOCK_NUMBERS = 2**30  # features of rows that are made at a time
_PATIENCE = {"small": 4, "usual": 10, "dear": 20}  # steps more than when it was new before a new one is made
_WHOLE = 2048  # features: with no more of them, inverses are whole matrices, and solving is one operation


class Preconditioner:
    """Approximate inverses of the Hessian, by Cholesky factors of those of fewer rows.

    With many features, several outputs share the mean of theirs; with few, each has its own.
    """

    def __init__(self, hessian, options, rng):
        problem, arrays, weights = hessian.problem, hessian.problem.arrays, hessian.weights
        d, xp, self._arrays, self._intercept = problem.n_features, arrays.xp, arrays, problem.intercept
        is_small = 1 < weights.shape[0] <= _OWN_NUMBERS // d**2
        # One matrix serves all outputs where their weights are alike, as where all scores are zero.
        self.is_own = is_small and not bool(xp.all(weights[1:] == weights[:1]))
        self.patience = _PATIENCE["small"] if is_small else _PATIENCE["dear" if d >= _DEAR else "usual"]
        rows_each = _OWN_ROWS if self.is_own else next((each for most, each in _ROWS_EACH if d <= most), 2)
        rows, weights = thinned(hessian, rows_each, options, rng)
        weights = arrays.single(weights)
        roots = xp.sqrt(weights if self.is_own else xp.mean(weights, axis=0, keepdims=True))
        matrices, sides = _moments(problem, rows, roots)
        corners = xp.sum(arrays.double(roots) ** 2, axis=1)
        # Explicit inverses: their products are limited by memory alone, solutions of triangular systems are not.
        self._inverse = arrays.inverse_of_lower(_factorized(arrays, matrices, problem.penalty))
        if self._intercept:  # the last columns, by their Schur complements
            self._side = self._inner(sides)
            left = corners - xp.sum(arrays.double(sides) * arrays.double(self._side), axis=1)
            self._corner = arrays.single(xp.maximum(left, 1e-6 * corners + 1e-30))[:, None]
        self._whole = self._as_whole() if d <= _WHOLE else None

    def _as_whole(self):
        """The inverses of whole Hessians, with the row and column of the intercept."""
        n, d = self._inverse.shape[:2]
        whole = self._arrays.zeros((n, d + 1, d + 1), "float32")
        whole[:, :d, :d] = self._inverse.mT @ self._inverse
        if self._intercept:
            scaled = self._side / self._corner
            whole[:, :d, :d] += scaled[:, :, None] * self._side[:, None, :]
            whole[:, :d, d] = whole[:, d, :d] = -scaled
            whole[:, d, d] = 1 / self._corner[:, 0]
        return whole

    def solve(self, vectors: Any) -> Any:
        """An output's vector in each row, the intercept last."""
        if self._whole is None:
            return self._solve_by_parts(vectors)
        if self._whole.shape[0] == 1:
            return vectors @ self._whole[0]
        return (self._whole @ vectors[:, :, None])[:, :, 0]

    def _solve_by_parts(self, vectors):
        xp = self._arrays.xp
        inner = self._inner(vectors[:, :-1])
        if not self._intercept:
            return xp.concat((inner, 0 * vectors[:, -1:]), axis=1)
        last = (vectors[:, -1:] - xp.sum(vectors[:, :-1] * self._side, axis=1, keepdims=True)) / self._corner
        return xp.concat((inner - last * self._side, last), axis=1)

    def _inner(self, vectors):
        if self._inverse.shape[0] == 1:
            inverse = self._inverse[0]
            return (vectors @ inverse.T) @ inverse
        return (self._inverse.mT @ (self._inverse @ vectors[:, :, None]))[:, :, 0]


def _moments(problem, rows, roots):
    """Sums of outer products of weighted features, and of the features themselves, for each row of ``roots``."""
    arrays, n, d = problem.arrays, roots.shape[0], problem.n_features
    matrices, sides = arrays.zeros((n, d, d), "float32"), arrays.zeros((n, d), "float32")
    step = max(1, _BLOCK_NUMBERS // (n * d))
    for start in range(0, rows.shape[0], step):
        part = slice(start, start + step)
        scaled = problem.whitening.features(rows[part])[None] * roots[:, part, None]
        arrays.add_squares(matrices, scaled)
        sides += (roots[:, None, part] @ scaled)[:, 0]
    return matrices, sides


def _factorized(arrays, matrices, penalty: float):
    """Cholesky factors in float32; changes the matrices."""
    largest = float(arrays.xp.max(arrays.xp.linalg.diagonal(matrices)))
    if matrices.shape[-1] <= _MOST_DOUBLE:
        matrices = arrays.double(matrices)
    added = 0.0

    def attempt(ridge):
        nonlocal added
        arrays.add_to_diagonal(matrices, penalty + ridge - added)
        added = penalty + ridge
        return arrays.cholesky(matrices)

    return arrays.single(with_ridge(attempt, largest))


# --- rows ---------------------------------------------------------------------------------------------------------

_SUM_ROWS = 2**16  # rows that are summed in float32 before the sum goes to float64


class StoredRows:
    """All features in the memory of the device, in float32 or in half precision."""

    def __init__(self, backend, block):
        self.backend, self._arrays, self.block = backend, backend.arrays, block
        self.n_rows, self.width = block.shape
        self._is_single = block.dtype == self._arrays.xp.float32

    def scores(self, coefficients: Any) -> Any:
        coefficients = self._arrays.single(coefficients)
        if self._is_single:
            return coefficients @ self.block.T
        return self._arrays.xp.concat([coefficients @ rows.T for _, rows in self._parts()], axis=1)

    def gradient(self, weights: Any) -> Any:
        return _weighted_sums(self, weights, self._parts())

    def _parts(self):
        step = _SUM_ROWS if self._is_single else block_rows(self.width)
        for start in range(0, self.n_rows, step):
            part = slice(start, start + step)
            yield part, self._arrays.single(self.block[part])

    def take(self, index: Any, positions: Any = None) -> Any:
        return _positioned(self._arrays, self._arrays.single(self.block[index]), positions)

    chosen = take

    def subsample(self, n_rows: int) -> "StoredRows":
        return StoredRows(self.backend, self.block[:n_rows])


def stored_rows(backend, device_map, source, whitening=None, dtype="float32") -> StoredRows:
    """All features of a source; whitened at once if a whitening is given."""
    arrays = backend.arrays
    block = arrays.empty((source.n_rows, device_map.width if whitening is None else whitening.n_features), dtype)
    for start, X in source.blocks(block_rows(device_map.width)):
        raw = device_map.rows(X)
        made = raw if whitening is None else whitening.features(raw)
        block[start : start + X.shape[0]] = arrays.cast(made, block.dtype)
    return StoredRows(backend, block)


class ComputedRows:
    """Features that are computed whenever they are needed."""

    def __init__(self, backend, device_map, source):
        self.backend, self._arrays, self._map, self._source = backend, backend.arrays, device_map, source
        self.n_rows, self.width = source.n_rows, device_map.width

    def _parts(self):
        for start, X in self._source.blocks(block_rows(self.width)):
            yield slice(start, start + X.shape[0]), self._map.rows(X)

    def scores(self, coefficients: Any) -> Any:
        coefficients = self._arrays.single(coefficients)
        out = self._arrays.empty((coefficients.shape[0], self.n_rows))
        for part, rows in self._parts():
            out[:, part] = coefficients @ rows.T
        return out

    def gradient(self, weights: Any) -> Any:
        return _weighted_sums(self, weights, self._parts())

    def take(self, index: Any, positions: Any = None) -> Any:
        """Features of some rows, whose numbers are in increasing order."""
        out = self._arrays.empty((index.shape[0], self.width))
        step = block_rows(self.width)
        for start in range(0, index.shape[0], step):
            part = index[start : start + step]
            out[start : start + step] = self._map.rows(self._source.take(part))
        return _positioned(self._arrays, out, positions)

    chosen = take


def _weighted_sums(rows, weights, parts):
    """``weights @ rows`` in float64."""
    total = rows.backend.arrays.zeros((weights.shape[0], rows.width))
    for part, block in parts:
        total += weights[:, part] @ block
    return total


def _positioned(arrays, rows, positions):
    """Rows at given positions."""
    if positions is None:
        return rows
    out = arrays.empty(rows.shape)
    out[positions] = rows
    return out


# --- maps ---------------------------------------------------------------------------------------------------------


def device_map(arrays, feature_map):
    """What a feature map is on a device."""
    if isinstance(feature_map, Nystroem):
        return kernel_map(arrays, feature_map.kernel, arrays.asarray(feature_map.landmarks))
    if isinstance(feature_map, DenseFourier):
        return fourier_map(arrays, feature_map.frequencies, feature_map.offsets)
    raise ValueError("Structured Fourier features are for the CPU: predict with device='cpu'.")


def device_values(arrays, feature_map, coefficients, X) -> np.ndarray:
    """Linear functions of raw features, a column for each output; coefficients are (n_outputs, width)."""
    return expansion_values(arrays, device_map(arrays, feature_map), coefficients, X)


# --- where rows and features are kept -----------------------------------------------------------------------------

# Shares of the memory that may be used
_FOR_X = 0.3
_FOR_FEATURES = 0.5
_FOR_SAMPLE = 0.2

# How features are stored. Not in bfloat16: with 8 bits, kernel values are too rough (objectives were a sixth higher,
# errors a quarter).
STORED_AS = {"float32": "float32", "tf32": "float32", "float16": "float16"}
_ITEM_BYTES = {"float32": 4, "float16": 2}

_MANY = 32_768  # components
_SAMPLE_ROWS = 256  # rows of a sample for each landmark
_LEAST_SAMPLE = 2  # likewise, at least
_WHITENED_AT_ONCE = 2048  # features: with more of them, whitening many rows takes longer than the solver


class TorchStorage:
    """Brings rows to a device as far as they fit, and computes their features once if these fit as well."""

    def __init__(self, arrays, feature_map, *, threshold, rank, memory, dtype):
        self.backend, self._arrays, self._memory = Torch(arrays), arrays, memory
        self._map, self._dtype = device_map(arrays, feature_map), STORED_AS[dtype]
        self.width, self._most_sample_numbers = self._map.width, int(_FOR_SAMPLE * memory) // 4
        self.whitening: Any = NoWhitening(self.width)
        self._is_whitened = not isinstance(feature_map, Nystroem)
        if not self._is_whitened:
            landmarks = arrays.asarray(feature_map.landmarks)
            self.whitening = new_whitening(arrays, self._map, landmarks, threshold, rank)

    def options(self, is_stored):
        """Where passes are dear, better directions make for fewer of them."""
        options = OPTIONS._replace(most_sample_numbers=self._most_sample_numbers)
        return options if is_stored else options._replace(sample=4 * options.sample, several=1)

    def fits(self, data) -> bool:
        self._check_memory(data.n_rows)
        return _ITEM_BYTES[self._dtype] * data.n_rows * self.width <= _FOR_FEATURES * self._memory

    def _check_memory(self, n_rows):
        """Hessians of fewer rows than this lead nowhere."""
        each = _LEAST_SAMPLE if self.width <= _MANY else 1  # of the most, no device holds more
        least = int(np.ceil(4 * self.width * min(each * self.width, n_rows) / _FOR_SAMPLE))
        if self._memory < least:
            raise ValueError(
                f"{self._memory} bytes of memory on the device are too few for {self.width} components, which take "
                f"{least} at least: choose a larger memory_limit, or a smaller n_components."
            )

    def stored(self, data, order):
        """All features, of rows in an order; of batches in their own."""
        at_once = self._dtype == "float32" and not self._is_whitened and self._is_whitened_at_once(data.n_rows)
        source = _source(self._arrays, data, self._memory, order)
        rows = stored_rows(self.backend, self._map, source, self.whitening if at_once else None, self._dtype)
        return rows, NoWhitening(rows.width) if at_once else self.whitening

    def _is_whitened_at_once(self, n_rows):
        n_features = self.whitening.n_features
        return n_features <= _WHITENED_AT_ONCE or is_whitened_at_once(n_rows, self.width, n_features)

    def computed(self, data):
        """Features that are computed again in every pass."""
        return ComputedRows(self.backend, self._map, _source(self._arrays, data, self._memory, None)), self.whitening

    def kept(self, rows):
        return StoredRows(self.backend, rows)

    def most_rows(self):
        """Rows of a sample at the most, and validation rows."""
        room = self._most_sample_numbers // self.width
        return min(_SAMPLE_ROWS * self.width, room), room

    def published(self, parameters) -> np.ndarray:
        """Coefficients of raw features, with the intercepts: what whitens them stays on the device."""
        coefficients, intercepts = self.whitening.raw(parameters[:, :-1]), parameters[:, -1:]
        return np.column_stack([self._arrays.host(coefficients), self._arrays.host(intercepts)]).astype(np.float64)


def _source(arrays, data, memory, order):
    X = data.X
    if X is None:
        return HostSource(arrays, data.blocks, data.n_rows)
    there = None if order is None else arrays.asarray(order)
    if arrays.holds(X) and arrays.is_gpu:
        return DeviceSource(arrays, X, there)
    item_bytes = X.element_size() if is_torch(X) else min(X.dtype.itemsize, 4)
    if not issparse(X) and X.shape[0] * X.shape[1] * item_bytes <= _FOR_X * memory:
        X = arrays.asarray(X if is_torch(X) or X.dtype != np.float64 else X.astype(np.float32))
        return DeviceSource(arrays, X, there)
    X = on_host(X)
    if order is None:
        return HostSource(arrays, lambda: iter((X,)), data.n_rows, X)
    return HostSource(arrays, lambda: (X[order[i : i + 2**16]] for i in range(0, len(order), 2**16)), data.n_rows)
