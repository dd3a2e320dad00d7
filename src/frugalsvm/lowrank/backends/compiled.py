"""The back end of the CPU: compiled loops over blocks of rows, on the threads of a fit.

Rows are raw (kernel values with the landmarks, or Fourier features), kept in memory or computed again block by block.
Both kinds have the same verbs: ``scores`` and ``gradient`` are the two products with the whole matrix, ``take`` copies
a few rows, ``subsample`` is the first ones.
"""

from contextlib import contextmanager

import numpy as np

from frugalsvm.arrays.namespace import HOST
from frugalsvm.compiling.threads import ONE_THREAD, Threads
from frugalsvm.lowrank.directions import Codes, Inverse, System, find_directions, new_vectors
from frugalsvm.lowrank.hessian import conjugate_gradients, thinned, with_ridge
from frugalsvm.lowrank.losses.compiled import (
    add_constants,
    add_lines,
    along_lines,
    differentiate,
    total_losses,
    total_rows,
)
from frugalsvm.lowrank.maps import raw_rows, whitening_of, width_of
from frugalsvm.lowrank.near_margin import find_near, take_curvatures
from frugalsvm.lowrank.options import Options
from frugalsvm.lowrank.passes import ChosenRows, CurvedSums, Passes, TwoTriangles
from frugalsvm.lowrank.products import ColumnBlocks
from frugalsvm.lowrank.row_products import LOWER, WHOLE, code_of_scores
from frugalsvm.lowrank.symmetric import gram, inverse_factor, roots_of
from frugalsvm.lowrank.whitening import is_whitened_at_once, whitening_with

BLOCK_ROWS = 4096  # rows of X that a thread has at hand at a time

_LOSS_COST = 8  # a loss and its derivatives take as long as reading this many numbers
_PASSES = 16  # over parts of arrays that stay in the cache
_FEW = 2**16  # numbers of a part, where it is short
_KERNEL_COST = 16  # likewise a kernel value
_DEAR = 400  # landmarks
_SAMPLE_ROWS = 64  # rows of a sample for each landmark


class Compiled:
    """What the solver asks for beside products with rows; arrays are (n_outputs, n_rows), in float32."""

    arrays, direction_dtype = HOST, np.dtype(np.float64)
    is_of_whole_arrays = False

    def __init__(self, threads: Threads = ONE_THREAD):
        self.passes = Passes(threads)

    def slopes(self, problem, scores, smoothing, cut):
        """Weighted slopes and curvatures of all smoothed losses."""
        first, second = np.empty_like(scores), np.empty_like(scores)
        targets, scores = _packed(problem.targets, scores)
        edges = self.passes.edges(scores.shape[1], _LOSS_COST * scores.size)
        self._losses(
            differentiate, scores, problem.loss, smoothing, cut, targets, scores, problem.weights, edges, first, second
        )
        return first, second

    def total(self, problem, scores):
        """Weighted sum of the losses of each output, as they are."""
        targets, scores = _packed(problem.targets, scores)
        edges = self._blocks_of_losses(scores)
        sums = np.empty((len(edges) - 1, len(scores)))
        self._losses(total_losses, scores, problem.loss, targets, scores, problem.weights, edges, sums)
        return sums.sum(axis=0)

    def excess(self, problem, scores, smoothing):
        """Weighted sum of what smoothing adds, for each output."""

        def total(part):
            added = problem.loss.smoothing_excess(np, problem.targets[:, part], scores[:, part], smoothing)
            return (added @ problem.weights[part]).astype(np.float64)

        return sum(self.over_parts(total, scores))

    def along(self, problem, scores, changes, smoothing, lengths, active):
        """Slopes and curvatures of the sum of losses along a step, for the outputs that are active."""
        targets, scores, changes = _packed(problem.targets, scores, changes)
        edges = self._blocks_of_losses(scores)
        sums = np.empty((len(edges) - 1, 2, len(lengths)))
        self._losses(
            along_lines, scores, problem.loss, smoothing, targets, scores, changes, problem.weights, lengths,
            np.array(active, bool), edges, sums,
        )  # fmt: skip
        return sums.sum(axis=0)

    def _blocks_of_losses(self, scores):
        return self.passes.fixed_edges(scores.shape[1], _LOSS_COST * len(scores), _FEW)

    def _losses(self, function, scores, *arguments):
        self.passes.crew.run(function, _LOSS_COST * scores.size, *arguments)

    def add_scaled(self, scores, lengths, changes):
        edges = self.passes.edges(scores.shape[1], 2 * scores.size)
        self.passes.crew.run(add_lines, 2 * scores.size, scores, lengths, changes, edges)

    def add_constants(self, scores, constants):
        """Add a constant to each row."""
        edges = self.passes.edges(scores.shape[1], 2 * scores.size)
        self.passes.crew.run(add_constants, 2 * scores.size, scores, *_packed(constants), edges)

    def totals(self, values):
        """The sum of each row in float64, (n_outputs, 1)."""
        (values,) = _packed(values)
        edges = self.passes.fixed_edges(values.shape[1], len(values), _FEW)
        sums = np.empty((len(edges) - 1, len(values)))
        self.passes.crew.run(total_rows, values.size, values, edges, sums)
        return sums.sum(axis=0)[:, None]

    def over_parts(self, function, scores):
        """What a function makes of parts of all rows, in their order; ``scores`` are an array as long as they are."""
        return self.passes.run(function, scores.shape[1], _PASSES * len(scores))

    def near_margin(self, second, least):
        """As `frugalsvm.lowrank.hessian.NearMargin`."""
        return _NearMargin(self.passes, *_packed(second), least)

    def curved_sums(self, rows, weights):
        """Products with a Hessian, see `CurvedSums`."""
        return CurvedSums(self.passes, rows, weights)

    def directions(self, hessian, preconditioner, gradients, forcing, max_steps):
        """What `conjugate_gradients` finds, in one call."""
        whitening = hessian.problem.whitening.both_ways()
        if whitening is None:
            return conjugate_gradients(np, hessian, preconditioner, gradients, forcing, max_steps)
        return preconditioner.made.directions(hessian, whitening, gradients, forcing, max_steps)

    def choose(self, n, count, rng):
        """Some of n numbers, in increasing order."""
        is_chosen = np.zeros(n, bool)
        is_chosen[rng.choice(n, count, replace=False)] = True
        return np.flatnonzero(is_chosen)

    def preconditioner(self, hessian, options, rng):
        """The inverse of the Hessian of fewer rows; several outputs share the mean of theirs."""
        problem = hessian.problem
        rows, weights = thinned(hessian, options.factor_sample, options, rng)
        # With the ones of the intercept as one more column, rounding keeps the product positive semi-definite.
        weights = np.sqrt(weights.mean(axis=0)).astype(np.float32)
        roots = roots_of(self.passes, rows.block, rows.index, weights, problem.whitening.in_single())
        matrix = regularized_hessian(problem, gram(self.passes, roots))
        inverse = with_ridge(lambda ridge: inverse_factor(self.passes, matrix, ridge), float(matrix.diagonal().max()))
        return _Inverse(self.passes, inverse, options.patience)


class _NearMargin:
    def __init__(self, passes, second, least):
        (n_outputs, n_rows), self._passes, self._second = second.shape, passes, second
        edges = passes.fixed_edges(n_rows, 4 * n_outputs, _FEW)
        n_parts, index = len(edges) - 1, np.empty(n_rows, np.int64)
        self._levels, self._totals = np.empty((n_parts, n_outputs), np.float32), np.empty((n_parts, n_outputs))
        counts = np.empty(n_parts, np.int64)
        passes.crew.run(
            find_near, 3 * second.size, second, np.float32(least), edges, self._levels, self._totals, counts, index
        )
        self.index = np.concatenate([index[start : start + count] for start, count in zip(edges, counts, strict=False)])

    def curvatures(self, index):
        (n_outputs, n_rows), passes = self._second.shape, self._passes
        edges, shape = passes.fixed_edges(len(index), 4 * n_outputs, _FEW), (n_outputs, len(index))
        weights, single, sums = np.empty(shape), np.empty(shape, np.float32), np.empty((len(edges) - 1, n_outputs))
        passes.crew.run(
            take_curvatures, 4 * weights.size, self._second, self._levels, self._totals, index, n_rows, edges, sums,
            weights, single,
        )  # fmt: skip
        return weights, single


class _Inverse:
    """Preconditioner: the inverse of a Hessian, for all outputs, from the transposed inverse of its factor.

    Products with inverses are divided among threads, solutions of triangular systems are not.
    """

    def __init__(self, passes, inverse, patience):
        self._passes, self._product, self.patience = passes, TwoTriangles(passes, inverse), patience

    def solve(self, vectors):
        """An output's vector in each row."""
        return self._product(vectors).astype(vectors.dtype)

    def directions(self, hessian, whitening, gradients, forcing, max_steps):
        """Directions for gradients in float64, and the number of steps taken; ``whitening`` is a matrix both ways."""
        problem, curved, passes, (n_outputs, n) = hessian.problem, hessian.curved_sums, self._passes, gradients.shape
        (matrix, transposed), (parts, totals) = whitening, curved.codes
        cuts = [passes.score_edges(each, n_outputs) for each in (matrix, transposed)]
        cuts.append(passes.score_edges(self._product.lower, n_outputs, LOWER))
        edges, numbers = [cut[0] for cut in cuts], [cut[1] for cut in cuts]
        system = System(
            curved.of, matrix, transposed, edges[0], edges[1], float(problem.penalty), bool(problem.intercept)
        )
        inverse = Inverse(self._product.lower, self._product.upper, edges[2])
        vectors = new_vectors(n_outputs, curved.of.rows.shape[1], n - 1)
        of_raw = system.whitening, WHOLE, vectors.features, system.edges, vectors.raw
        of_solved = inverse.lower, LOWER, vectors.single, inverse.edges, vectors.middle
        double = code_of_scores(*of_raw) if system.whitening.size else 0
        codes = Codes(parts, totals, double, code_of_scores(*of_solved))
        n_steps = passes.crew.run(
            find_directions, curved.numbers + sum(numbers) + numbers[2], codes, system, inverse, vectors,
            np.ascontiguousarray(gradients), float(forcing), int(max_steps),
        )  # fmt: skip
        return vectors.directions, n_steps


COMPILED = Compiled()


def _packed(*arrays):
    """Arrays whose rows lie one after another: compiled code is made for these alone."""
    return tuple(map(np.ascontiguousarray, arrays))


def regularized_hessian(problem, matrix):
    """The Hessian of the objective, from that of the risk, the intercept last; changes the matrix."""
    if not problem.intercept:
        matrix[-1, :] = matrix[:, -1] = 0.0
    weights = np.arange(len(matrix) - 1)
    matrix[weights, weights] += problem.penalty
    return matrix


class StoredRows:
    """All rows in memory."""

    def __init__(self, block, backend=COMPILED):
        self.block, self.backend = block, backend
        self.n_rows, self.width = block.shape

    def scores(self, coefficients):
        """``coefficients @ rows.T`` in float32, an output in each row."""
        return self.backend.passes.scores(self.block, coefficients.astype(np.float32))

    def gradient(self, weights):
        """``weights @ rows`` in float64."""
        return self.backend.passes.weighted_sums(self.block, *_packed(weights))

    def take(self, index):
        """Copy of some rows."""
        return self.block[index]

    def chosen(self, index):
        """Some rows, for a Hessian."""
        return ChosenRows(self.block, index)

    def subsample(self, n_rows):
        """The first rows."""
        return StoredRows(self.block[:n_rows], self.backend)


def stored_rows(feature_map, X, order, whitening=None, out=None, backend=COMPILED, *, steady=False):
    """The rows of X in an order, all in memory; whitened at once if a matrix for it is given.

    ``out``: memory to use, as far as it is large enough. New memory costs several times what writing to it does.
    ``steady``: a row does not depend on its neighbors, see `frugalsvm.lowrank.products`; takes a little longer.
    """
    raw_width = width_of(feature_map)
    width = raw_width if whitening is None else whitening.shape[1]
    if out is None or out.size < len(order) * width:
        out = np.empty(len(order) * width, np.float32)
    block = out[: len(order) * width].reshape(len(order), width)
    whitened, scratch = None if whitening is None else ColumnBlocks(whitening), _Scratch(raw_width)

    def fill(rows):
        X_part, target = X[order[rows]], block[rows]
        if whitened is None:
            raw_rows(feature_map, X_part, target, steady=steady)
            return
        with scratch.rows(len(target)) as raw:
            whitened.multiply(raw_rows(feature_map, X_part, raw, steady=steady), target, steady=steady)

    backend.passes.run(fill, len(order), _KERNEL_COST * raw_width, most=BLOCK_ROWS)
    return StoredRows(block, backend)


class _Scratch:
    """Memory for blocks of rows, one for each thread that asks; used again and again."""

    def __init__(self, width):
        self._width, self._free = width, []

    @contextmanager
    def rows(self, n_rows):
        # Taking from a list is atomic.
        block = self._free.pop() if self._free else np.empty((BLOCK_ROWS, self._width), np.float32)
        yield block[:n_rows]
        self._free.append(block)


class ComputedRows:
    """Rows that are computed again whenever they are needed.

    ``blocks()`` goes through X in a fixed order, in blocks of any size; only one block at a time is looked at.
    """

    def __init__(self, feature_map, blocks, n_rows, backend=COMPILED):
        self._map = feature_map
        self._blocks = blocks
        self.n_rows, self.width, self.backend = n_rows, width_of(feature_map), backend
        self._scratch = _Scratch(self.width)

    def _numbered_blocks(self):
        """All blocks of X with the number of their first row."""
        start = 0
        for X in self._blocks():
            yield start, X
            start += X.shape[0]
        if start != self.n_rows:
            raise ValueError(f"The batches had {self.n_rows} rows at first, but {start} in a later pass.")

    def _over_parts(self, function):
        """``function(first row, part of X)`` of all parts of X, in their order."""
        results = []
        for start, X in self._numbered_blocks():

            def of_part(rows, X=X, start=start):
                return function(start + rows.start, X[rows])

            results += self.backend.passes.run(of_part, X.shape[0], _KERNEL_COST * self.width, most=BLOCK_ROWS)
        return results

    def parts(self):
        """Parts of X with the number of their first row."""
        for start, X in self._numbered_blocks():
            for first in range(0, X.shape[0], BLOCK_ROWS):
                yield start + first, X[first : first + BLOCK_ROWS]

    def scores(self, coefficients):
        vectors = coefficients.T.astype(np.float32)
        out = np.empty((len(coefficients), self.n_rows), np.float32)

        def fill(first, X):
            with self._scratch.rows(X.shape[0]) as rows:
                out[:, first : first + X.shape[0]] = (raw_rows(self._map, X, rows) @ vectors).T

        self._over_parts(fill)
        return out

    def gradient(self, weights):
        total = np.zeros((len(weights), self.width))

        def sums(first, X):
            part = weights[:, first : first + X.shape[0]]
            active = np.flatnonzero(part.any(axis=0))
            with self._scratch.rows(len(active)) as rows:
                return part[:, active] @ raw_rows(self._map, X[active], rows) if active.size else None

        for part in self._over_parts(sums):
            if part is not None:
                total += part
        return total

    def chosen(self, index):
        return ChosenRows(self.take(index), np.arange(len(index)))

    def take(self, index, positions=None):
        """Copy of some rows; their numbers are in increasing order, and they go to given positions of the copy."""
        out = np.empty((len(index), self.width), np.float32)

        def fill(start, X):
            first, last = np.searchsorted(index, (start, start + X.shape[0]))
            if first < last:
                with self._scratch.rows(last - first) as rows:
                    raw_rows(self._map, X[index[first:last] - start], rows)
                    out[slice(first, last) if positions is None else positions[first:last]] = rows

        self._over_parts(fill)
        return out


class CompiledStorage:
    """Where a fit on the CPU keeps its features, within a number of bytes: `frugalsvm.lowrank.training` asks.

    ``whiten``: make features with the kernel as inner product, even where that is slow.
    """

    def __init__(self, feature_map, memory, *, whiten=False, threads=ONE_THREAD):
        self.feature_map, self.memory, self.whiten = feature_map, memory, whiten
        self.backend = Compiled(threads)
        self.width = width_of(feature_map)

    def fits(self, data):
        return data.X is not None and 4 * data.n_rows * self.width <= self.memory

    def options(self, is_stored):
        # Making a preconditioner takes as long as more steps with the one at hand than are ever taken.
        is_dear = self.width > _DEAR
        return Options(kept_above=_DEAR, careful_keeps=is_dear)

    def stored(self, data, order):
        """All features, of rows in an order."""
        matrix = whitening_of(self.feature_map)
        if matrix is not None and (self.whiten or is_whitened_at_once(data.n_rows, *matrix.shape)):
            rows = stored_rows(self.feature_map, data.X, order, matrix, backend=self.backend)
            return rows, whitening_with(None, rows.width)
        return stored_rows(self.feature_map, data.X, order, backend=self.backend), self._whitening()

    def _whitening(self):
        return whitening_with(whitening_of(self.feature_map), self.width, self.backend.passes)

    def computed(self, data):
        """Features that are computed again in every pass."""
        rows = ComputedRows(self.feature_map, data.blocks, data.n_rows, self.backend)
        return rows, self._whitening()

    def kept(self, rows):
        return StoredRows(rows, self.backend)

    def most_rows(self):
        """Rows of a sample at the most, and validation rows."""
        room = self.memory // 8 // (4 * self.width)
        return int(min(_SAMPLE_ROWS * self.width, room)), int(room)

    def published(self, parameters):
        """Parameters as the model keeps them."""
        return parameters
