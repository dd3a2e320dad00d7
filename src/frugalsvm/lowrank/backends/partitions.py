"""The back end of rows that are in different places: what a partition tells, and what is made of it.

The objective is a sum over rows, and so are its slope and its curvature: a Newton step over all partitions needs from
each of them sums of the size of the model, however many rows there are. A round is

* ``moments_of``: every partition tells its loss, its gradient and the Hessian of a sample of its rows near the margin;
* their sums (``summed``) give one direction for each output;
* how far to go is told by a sample of all rows where the step is made; a step that makes the objective of all rows
  larger after all is halved in the next round.

One more round tells what no model can be below, as in `frugalsvm.lowrank.duality`: ``dual_of_part``. An intercept needs
dual variables that sum to zero, and what has to be scaled down for it is not known before all have told. So each tells
sums of the positive and of the negative ones, which are scaled afterwards.

The result does not depend on how many partitions there are, except for rounding and for which rows are sampled. The
mean of solutions that they find by themselves (``mean_iterates``) does: with 113 352 rows of ijcnn1 in 2, 8 and 32
partitions its accuracy was 99.12, 98.97 and 98.69 %, that of these rounds 99.1 % for all three. Means are right for
subgradient steps, where a partition continues from the mean of the round before.

Who asks the partitions is not known here: ``ask(function, place)`` returns the sum of ``function(blocks, place, rng)``
over all of them, where ``blocks`` are compiled problems on some rows each. `frugalsvm.dask` has one.
"""

import math
import threading
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dsymv

from frugalsvm.arrays.namespace import HOST
from frugalsvm.lowrank.backends.compiled import COMPILED, regularized_hessian
from frugalsvm.lowrank.duality import Sides, balance_of, best_bounds, conjugate_sums
from frugalsvm.lowrank.hessian import Cholesky
from frugalsvm.lowrank.options import Options
from frugalsvm.lowrank.problem import Point, regularized
from frugalsvm.lowrank.visits import visited

__all__ = [
    "OPTIONS",
    "Dual",
    "Moments",
    "PartitionedProblem",
    "Place",
    "dual_of_part",
    "mean_iterates",
    "moments_of",
    "options_for",
    "rows_to_begin_with",
    "summed",
]

OPTIONS = Options(
    least_subsamples=1,  # the first, long steps need no round
    rough=0.015,  # steps with the least smoothing are shorter, and a round is dear
    several=5,  # outputs have a Hessian each
    # Partitions make whole matrices of their rows, where one machine multiplies with vectors: fewer rows, and one
    # careful step, whose bound needs more of them.
    sample=16,
    careful_sample=2,
    careful_steps=1,
    ends_when_told=True,
    longest=3.0,
)
_ROUNDING = 1e-6  # of objectives, relatively
_FADING = 0.5  # of samples of the round before
# Of the mean curvature, for Hessians of samples: rare rows may be missing, and steps go far where they are.
_RIDGE = 1e-3
_WIDE = 1024  # features: matrices of more take longer than passes over a million rows, so that samples are smaller
_START_BYTES = 2**28  # of features where steps are made, to begin with
_GRAM_NUMBERS = 2**20  # features of rows that are multiplied with each other at a time


class Place(NamedTuple):
    """Where a round is: parameters, where they are to go, and how."""

    number: int
    parameters: np.ndarray
    smoothing: float
    options: Options
    sampled: float  # share of the rows that make the curvature, at most
    whole: bool  # whether validation rows count
    directions: np.ndarray | None = None
    lengths: np.ndarray | None = None  # of the steps


# --- what a partition tells ---------------------------------------------------------------------------------------


class Moments(NamedTuple):
    """Sums over the rows of a partition, at given parameters."""

    n_rows: int
    losses: np.ndarray  # (n_outputs,)
    excess: np.ndarray  # (n_outputs,) what smoothing adds to them
    slopes: np.ndarray  # (n_outputs, d + 1) without the penalty
    curvatures: np.ndarray  # (n_outputs, (d + 1)(d + 2) / 2) lower triangles, float32

    def objectives(self, parameters, penalty):
        """The objective of each output, with the loss as it is."""
        return regularized(self.losses / self.n_rows, parameters, penalty)


class Dual(NamedTuple):
    """Sums over the rows of a partition: those whose dual variables are positive, and those where they are negative."""

    n_rows: int
    duals: np.ndarray  # (2, n_outputs) of the dual variables
    linear: np.ndarray  # (2, n_outputs) of the conjugates
    sums: np.ndarray  # (2, n_outputs, d) of rows by their dual variables
    losses: np.ndarray  # (n_outputs,) after the step

    def bounds(self, penalty, intercept):
        """What the objective of each output cannot be below, from the sums of all partitions.

        Conjugates are concave, and zero at zero: scaled down, they are at least the same share of what they were.
        """
        up, down = self.duals
        factors = balance_of(HOST, Sides(up, up + down)) if intercept else np.ones((2, len(up)))
        linear, sums = (factors * self.linear).sum(axis=0), (factors[:, :, None] * self.sums).sum(axis=0)
        quadratic = np.square(sums / self.n_rows).sum(axis=1) / (2.0 * penalty)
        return best_bounds(linear / self.n_rows, quadratic)


def summed(parts):
    """Sums of sums: what several partitions told, in their order, as one."""
    first = parts[0]
    return type(first)(*(sum(values[1:], start=values[0]) for values in zip(*parts, strict=True)))


def moments_of(blocks, place, rng):
    """What a partition tells of the objective at a place.

    ``blocks`` are problems on some rows each, one after the other: their features are read once, and only those of one
    block need to be there at a time. The curvature of a sample is scaled to that of all rows.
    """
    n_rows, parameters, sums = 0, place.parameters, _Sums(len(place.parameters))
    losses, excess, slope_sums = (np.zeros(shape) for shape in (len(parameters), len(parameters), (len(parameters), 1)))
    hessians, raw = [_Gram(parameters.shape[1]) for _ in parameters], None
    for block in blocks:
        raw = block.whitening.raw(parameters[:, :-1]) if raw is None else raw
        shifts = parameters[:, -1] if block.intercept else np.zeros(len(parameters))
        scores, slopes, curvatures, gradient = visited(block, raw, shifts, place.smoothing, place.options.cut)
        sums.add(block, gradient)
        if block.intercept:
            slope_sums += slopes.sum(axis=1, keepdims=True, dtype=np.float64)
        n_rows += block.n_rows
        losses += COMPILED.total(block, scores)
        if not block.loss.is_smooth:
            excess += COMPILED.excess(block, scores, place.smoothing)
        for hessian, curved in zip(hessians, curvatures, strict=True):
            hessian.add(block, *_near_rows(block, curved, place, rng))
    slopes = np.hstack([sums.of_features(parameters.shape[1] - 1), slope_sums])
    return Moments(n_rows, losses, excess, slopes, np.array([hessian.triangle() for hessian in hessians]))


def _with_scores(blocks, parameters):
    """Blocks with their scores; what a matrix makes of the parameters is the same for all, and made once."""
    raw = None
    for block in blocks:
        raw = block.whitening.raw(parameters[:, :-1]) if raw is None else raw
        scores = block.rows.scores(raw)
        if block.intercept:
            scores += parameters[:, -1:].astype(np.float32)
        yield block, scores


class _Sums:
    """Sums of rows by weights, over blocks; they are whitened at the end, once."""

    def __init__(self, n_outputs):
        self._n_outputs, self._total, self.whitening = n_outputs, 0.0, None

    def add(self, block, gradient):
        self._total, self.whitening = self._total + gradient, block.whitening

    def of_features(self, n_features):
        """In feature space; zeros where there was no row."""
        return (
            np.zeros((self._n_outputs, n_features)) if self.whitening is None else self.whitening.features(self._total)
        )


def _near_rows(block, second, place, rng):
    """A sample of the rows near the margin of one output, and the roots of their curvatures."""
    near = np.flatnonzero(second > place.options.near * second.max()) if second.any() else np.zeros(0, np.int64)
    total, n_sampled = second.sum(dtype=np.float64), int(np.ceil(block.n_rows * place.sampled))
    if len(near) > n_sampled:
        near = near[COMPILED.choose(len(near), n_sampled, rng)]
    weights = second[near].astype(np.float64)
    weights *= total / weights.sum() if len(near) else 0.0
    return near, np.sqrt(weights).astype(np.float32)


class _Memory(threading.local):
    """Arrays of a thread that serve again in the next round.

    Workers of Dask give memory back to the system at once, and new memory takes longer than what is done with it.
    """

    def array(self, name, *shape):
        """In float32, with anything in it."""
        size = math.prod(shape)
        if name not in self.__dict__ or self.__dict__[name].size < size:
            self.__dict__[name] = np.empty(size, np.float32)
        return self.__dict__[name][:size].reshape(shape)


_MEMORY = _Memory()


class _Gram:
    """The Hessian of one output, of rows near its margin and the roots of their curvatures: some rows at a time."""

    def __init__(self, size):
        self._size, self._sum = size, np.zeros((size, size), np.float32)

    def add(self, block, near, weights):
        most = max(_GRAM_NUMBERS // block.rows.width, 1)
        for start in range(0, len(near), most):
            part = slice(start, start + most)
            self._add_some(block, near[part], weights[part])

    def _add_some(self, block, near, weights):
        rows = _MEMORY.array("rows", len(near), block.rows.width)
        np.take(block.rows.block, near, axis=0, out=rows, mode="clip")
        rows *= weights[:, None]
        # With the ones of the intercept as one more column, rounding keeps the product positive semi-definite.
        roots = _MEMORY.array("roots", len(near), self._size)
        roots[:, -1] = weights
        roots[:, :-1] = block.whitening.features(rows)
        self._sum += np.matmul(roots.T, roots, out=_MEMORY.array("product", self._size, self._size))

    def triangle(self):
        """Its numbers up to the diagonal, row by row."""
        return np.concatenate([row[: i + 1] for i, row in enumerate(self._sum)])


def _duals_of(blocks, place):
    """Feasible dual variables of each block after a full step, with its scores and how a step changes them."""
    # Rows are read once.
    for block, both in _with_scores(blocks, np.concatenate([place.parameters, place.directions])):
        scores, changes = np.split(both, 2)
        slopes = block.slopes(Point(place.parameters, scores), place.smoothing, place.options)
        duals = -(slopes.first + slopes.second * changes)
        yield block, block.loss.feasible(np, block.targets, duals, block.weights), scores, changes


def dual_of_part(blocks, place, rng=None):
    """What a partition tells of the dual objective, and its losses after the step."""
    shape = 2, len(place.parameters)
    n_rows, total, linear, losses, sums = 0, np.zeros(shape), np.zeros(shape), np.zeros(shape[1]), _Sums(2 * shape[1])
    for block, duals, scores, changes in _duals_of(blocks, place):
        sides = np.stack([np.maximum(duals, 0.0), np.minimum(duals, 0.0)])
        n_rows += block.n_rows
        total += sides.sum(axis=2, dtype=np.float64)
        linear += [conjugate_sums(np, block.loss, block.targets, side, block.weights) for side in sides]
        sums.add(block, block.rows.gradient(sides.reshape(2 * shape[1], -1)))
        losses += COMPILED.total(block, scores + place.lengths[:, None].astype(np.float32) * changes)
    return Dual(n_rows, total, linear, sums.of_features(place.parameters.shape[1] - 1).reshape(*shape, -1), losses)


def mean_iterates(iterates, weights):
    """The mean of parameters ``(n_outputs, d + 1)`` for the same feature map, weighted by examples."""
    weights = np.asarray(weights, np.float64)
    if len(weights) != len(iterates) or not len(weights) or not (weights >= 0).all() or not weights.sum() > 0:
        raise ValueError("A mean needs a weight for each of its parts, none of them negative and not all of them zero.")
    total = np.zeros(np.shape(iterates[0]))
    for iterate, weight in zip(iterates, weights, strict=True):
        total += weight * iterate
    return total / weights.sum()


# --- what is made of it -------------------------------------------------------------------------------------------


class _SummedHessian:
    """The Hessians of the objectives, the lower triangle of a matrix for each output."""

    def __init__(self, problem, moments, ridge=0.0):
        each = (_lower_of(triangle, moments.n_rows) for triangle in moments.curvatures)
        self._matrices = [regularized_hessian(problem, _with_ridge(matrix, ridge)) for matrix in each]

    def times(self, directions):
        # In the order of Fortran, a lower triangle is an upper one.
        return np.array([dsymv(1.0, matrix.T, own) for matrix, own in zip(self._matrices, directions, strict=True)])

    def preconditioner(self, options, rng):
        return Cholesky(self._matrices, patience=-1)  # of matrices that are new in every round


def _with_ridge(matrix, share):
    weights = np.arange(len(matrix) - 1)
    matrix[weights, weights] += share * matrix[weights, weights].mean() if len(weights) else 0.0
    return matrix


def _lower_of(triangle, divisor):
    """A matrix with the numbers of a lower triangle, divided."""
    size = int(np.sqrt(2 * len(triangle)))
    matrix, start = np.zeros((size, size)), 0
    for i, row in enumerate(matrix, start=1):
        np.divide(triangle[start : start + i], divisor, out=row[:i])
        start += i
    return matrix


class _Curvatures:
    """Curvatures of a round, and of those before with the same smoothing.

    Samples of rows are small, and what is near the margin hardly changes from round to round: the mean is much less
    noisy. What is older counts less.
    """

    def __init__(self):
        self._smoothing, self._size, self._mean = None, 0.0, None

    def with_new(self, told, smoothing, size):
        """Sums over all rows, as those of a round are; ``size`` is that of its sample."""
        new = told.curvatures / np.float32(told.n_rows)
        older = _FADING * self._size if smoothing == self._smoothing else 0.0
        if older:
            new = (new * np.float32(size) + self._mean * np.float32(older)) / np.float32(size + older)
        self._smoothing, self._size, self._mean = smoothing, size + older, new
        return new * np.float32(told.n_rows)


class _Made(NamedTuple):
    """A step that was made."""

    place: Place
    smoothed: np.ndarray  # objectives before it, of the smoothed losses


class PartitionedProblem:
    """As `frugalsvm.lowrank.problem.Problem`, of rows that are asked for; ``sample`` is a problem on some at hand.

    Objectives after a step are not known before the next round: until then they are those before it. Validation rows
    count in the last, careful steps; or always, or never, if ``whole`` says so.
    """

    backend, arrays = COMPILED, HOST

    def __init__(self, sample, ask, n_rows, penalty, *, whole=None):
        self._sample, self._ask = sample, ask
        self.n_rows, self.penalty = n_rows, penalty
        self.rows, self.loss, self.intercept = sample.rows, sample.loss, sample.intercept
        self.n_outputs, self.n_features = sample.n_outputs, sample.n_features
        self._whole, self._is_fixed = bool(whole), whole is not None
        self._n_rounds, self._made, self._told = 0, None, None
        self._curvatures = _Curvatures()
        self.measured = np.full(sample.n_outputs, np.nan)  # objectives before the last step

    def subsample(self, sample, n_rows):
        whole = self._sample._replace(penalty=self.penalty * self.n_rows / self._sample.n_rows)
        return whole.subsample(sample, min(n_rows, sample.rows.n_rows))

    def subsample_options(self, options):
        # Of the compiled back end; while partitions wait for the start, a coarser preconditioner is soon made.
        return Options(*options[:3], factor_sample=3)

    @property
    def is_whole(self):
        """Whether validation rows count."""
        return self._whole

    def careful(self):
        """From now on, validation rows count too, unless it was said otherwise."""
        self._whole, self._made = self._whole or not self._is_fixed, None
        return self

    def scores(self, parameters):
        """Of the sample."""
        return self._sample.scores(parameters)

    def point_at(self, parameters):
        self._made = None
        return Point(parameters.copy(), self.scores(parameters))

    def slopes(self, point, smoothing, options) -> Moments:
        """What all partitions tell; a step before that made the objective larger went too far, and is halved first."""
        while True:
            place = self._place(point.parameters, smoothing, options)
            told = self._ask(moments_of, place)
            self.measured = told.objectives(point.parameters, self.penalty)
            smoothed, made = self.measured + told.excess / told.n_rows, self._made
            if made is None or made.place.smoothing != smoothing:
                break  # another objective
            too_far = smoothed > made.smoothed * (1 + _ROUNDING)
            if not too_far.any():
                break
            self._take_back(point, np.where(too_far, 0.5, 1.0) * made.place.lengths)
        self._n_rounds += 1
        told = told._replace(curvatures=self._curvatures.with_new(told, smoothing, options.sample))
        self._told, self._made = told, _Made(place, smoothed)
        return told

    def _place(self, parameters, smoothing, options):
        n_sampled = options.sample * parameters.shape[1] // (1 if len(parameters) == 1 else options.several)
        sampled = min(n_sampled / self.n_rows, 1.0)
        options = options._replace(tell=None)  # whom to tell is here
        return Place(self._n_rounds, parameters.copy(), smoothing, options, sampled, self._whole)

    def gradient(self, parameters, told):
        gradients = told.slopes / told.n_rows
        gradients[:, :-1] += self.penalty * parameters[:, :-1]
        return gradients

    def hessian(self, told, options, rng):
        is_sampled = self._made is not None and self._made.place.sampled < 1.0
        return _SummedHessian(self, told, _RIDGE if is_sampled else 0.0)

    def along(self, point, changes, smoothing, start, lengths, active):
        """The sample tells only how slopes change along the step.

        How steep the objective of all rows is at its beginning is known, and close to the optimum that is what matters.
        """
        sums, begun = (
            COMPILED.along(self._sample, point.scores, changes, smoothing, each, active)
            for each in (lengths, 0 * lengths)
        )
        scale = self.n_rows / self._sample.n_rows
        return start + scale * (sums[0] - begun[0]), scale * sums[1]

    def move(self, point, step):
        place = self._made.place._replace(directions=step.directions, lengths=step.lengths)
        self._made = self._made._replace(place=place)
        self._sample.move(point, step)

    def _take_back(self, point, lengths):
        """Be where the last step leads with other lengths."""
        place = self._made.place
        self._made = self._made._replace(place=place._replace(lengths=lengths))
        point.parameters[:] = place.parameters + lengths[:, None] * place.directions
        point.scores[:] = self.scores(point.parameters)

    def objectives(self, point):
        return self.measured

    def excess(self, point, smoothing):
        return self._told.excess / self._told.n_rows

    def gains(self, before, reached, step):
        return 0.5 * step.decrements

    def certify(self, point, step, reached):
        """Objectives after a careful step, and bounds; where it went too far, it is taken back."""
        before, (reached, bounds) = self.measured, self._certified()
        too_far = reached > before * (1 + _ROUNDING)
        if too_far.any():
            self._take_back(point, np.where(too_far, 0.0, self._made.place.lengths))
            reached, bounds = self._certified()
        self.measured = reached
        return reached, bounds

    def certify_start(self, point):
        """The same for the place where the last step began, to which the point goes back."""
        self._take_back(point, np.zeros(self.n_outputs))
        return self._certified()

    def _certified(self):
        place = self._made.place
        dual = self._ask(dual_of_part, place)
        parameters = place.parameters + place.lengths[:, None] * place.directions
        reached = regularized(dual.losses / dual.n_rows, parameters, self.penalty)
        return reached, np.minimum(dual.bounds(self.penalty, self.intercept), reached)


def options_for(width):
    """How problems with so many features are solved."""
    return OPTIONS if width <= _WIDE else OPTIONS._replace(sample=4, subsamples=OPTIONS.subsamples[1:])


def rows_to_begin_with(width):
    """Rows of a sample that steps begin on: as far as memory should go."""
    return _START_BYTES // (4 * width)
