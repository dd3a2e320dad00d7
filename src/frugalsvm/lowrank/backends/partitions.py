"""The back end of rows that are in different places: what is made of what each of them tells.

The objective is a sum over rows, and so are its slope and its curvature: a Newton step over all partitions needs from
each of them sums of the size of the model, however many rows there are. A round is

* ``moments_of``: every partition tells its loss, its gradient and the Hessian of a sample of its rows near the margin;
* their sums (``summed``) give one direction for each output;
* how far to go is known from a sample of all rows where the step is made; a step that makes the objective of all rows
  larger after all is halved in the next round.

One more round (``dual_of_part``) tells what no model can be below, as in `frugalsvm.lowrank.duality`.
`frugalsvm.lowrank.backends.partition_sums` has what a partition tells.

The result does not depend on how many partitions there are, except for rounding and for which rows are sampled. The
mean of solutions that they find by themselves (``mean_iterates``) does: with 113 352 rows of ijcnn1 in 2, 8 and 32
partitions its accuracy was 99.12, 98.97 and 98.69 %, that of these rounds 99.1 % for all three. Means are right for
subgradient steps, where a partition continues from the mean of the round before.

Who asks the partitions is not known here: ``ask(function, iterate)`` returns the sum over all of them of
``function(blocks, iterate, rng)``, where ``blocks`` are compiled problems on some rows each. `frugalsvm.dask` has one.
"""

import math
from itertools import count
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dspmv
from scipy.linalg.lapack import spftrf, spftrs, stpttf

from frugalsvm.arrays.namespace import HOST
from frugalsvm.lowrank.backends.compiled import COMPILED
from frugalsvm.lowrank.backends.partition_sums import Iterate, Moments, dual_of_part, moments_of
from frugalsvm.lowrank.hessian import with_ridge
from frugalsvm.lowrank.options import Options
from frugalsvm.lowrank.problem import Point, regularized

OPTIONS = Options(
    # Where losses are smoothed a lot, a step is good far from the optimum, too: one with each smoothing comes near it
    # in as few rounds as from the optimum of a large sample, which the client would have to find.
    subsamples=((4, 0.5),),
    least_subsamples=1,
    smoothings=(0.5, 0.2, 0.08, 0.03),
    rough=math.inf,
    several=5,  # outputs have a Hessian each
    # Partitions make whole matrices of their rows, where one machine multiplies with vectors: fewer rows, and one
    # careful step, whose bound needs more of them.
    sample=16,
    careful_sample=3,
    careful_steps=1,
    stops_early=True,
    longest=3.0,
)
_ROUNDING = 1e-6  # of objectives, relatively
_CLEARLY, _FEW = 0.02, 4  # likewise, where smoothing or the rows that count are others; and how often it is looked at
_FADING = 0.5  # of samples of the round before
# Of the mean curvature, for Hessians of samples: rare rows may be missing, and steps go far where they are.
_RIDGE = 1e-3
_WIDE = 1024  # features: matrices of more take longer than passes over a million rows, so that samples are smaller
_ENOUGH = 16  # rows of the sample for each feature; with fewer, steps go too far or not far enough
_START_BYTES = 2**27  # of features where steps are made, to begin with


class _SummedHessian:
    """The Hessians of the objectives, one for each output: lower triangles, and their factors in float32.

    As a preconditioner of itself, it is new in every round.
    """

    patience = -1

    def __init__(self, problem, moments, share):
        self._size = moments.slopes.shape[1]
        self._diagonal = np.cumsum(np.arange(1, self._size + 1)) - 1
        self._triangles = moments.curvatures.astype(np.float64)
        self._triangles /= moments.n_rows
        for triangle in self._triangles:
            self._regularize(problem, triangle, share)
        self._factors = [self._factor(triangle) for triangle in self._triangles]

    def _regularize(self, problem, triangle, share):
        weights = self._diagonal[:-1]
        if len(weights):
            triangle[weights] += share * triangle[weights].mean() + problem.penalty
        if not problem.intercept:
            triangle[-self._size :] = 0.0

    def _factor(self, triangle):
        single = triangle.astype(np.float32)

        def attempt(ridge):
            # In the order of Fortran, a lower triangle row by row is an upper one column by column.
            single[self._diagonal] = triangle[self._diagonal] + ridge
            packed, _ = stpttf(self._size, single, uplo="U")
            factor, failed = spftrf(self._size, packed, uplo="U", overwrite_a=True)
            return None if failed else factor

        return with_ridge(attempt, float(triangle[self._diagonal].max()))

    def preconditioner(self, options, rng):
        return self

    def solve(self, vectors):
        """An output's vector in each row."""
        columns = vectors.astype(np.float32)[:, :, None]
        each = zip(self._factors, columns, strict=True)
        return np.array([spftrs(self._size, *both, uplo="U")[0][:, 0] for both in each], np.float64)

    def directions(self, preconditioner, gradients, forcing, max_steps):
        """What solves ``Hessian direction = -gradient`` for each output: twice, for what rounding has left."""
        found = self.solve(-gradients)
        each = zip(self._triangles, found, strict=True)
        left = -gradients - [dspmv(self._size, 1.0, triangle, own) for triangle, own in each]
        return found + self.solve(left), 1


class _Curvatures:
    """Curvatures of a round, and of those before.

    Samples of rows are small, and what is near the margin hardly changes from round to round: the mean is much less
    noisy, although less smoothing sees fewer rows. What is older counts less.
    """

    def __init__(self):
        self._size, self._mean = 0.0, None

    def with_new(self, moments, size):
        """Sums over all rows, as those of a round are; ``size`` is that of its sample."""
        new, older = moments.curvatures / np.float32(moments.n_rows), _FADING * self._size
        if older:
            new = (new * np.float32(size) + self._mean * np.float32(older)) / np.float32(size + older)
        self._size, self._mean = size + older, new
        return new * np.float32(moments.n_rows)


class _Made(NamedTuple):
    """A step that was made."""

    iterate: Iterate
    smoothed: np.ndarray  # objectives before it, of the smoothed losses
    measured: np.ndarray  # and of the losses as they are


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
        self._n_rounds, self._made, self._moments = 0, None, None
        self._curvatures = _Curvatures()
        self.measured = np.full(sample.n_outputs, np.nan)  # objectives before the last step

    def subsample(self, sample, n_rows):
        whole = self._sample._replace(penalty=self.penalty * self.n_rows / self._sample.n_rows)
        return whole.subsample(sample, min(n_rows, sample.rows.n_rows))

    def subsample_options(self, options):
        # Of the compiled back end; while partitions wait for the start, a coarser preconditioner is soon made.
        return Options(*options[:3], factor_sample=3 if self.rows.width <= _WIDE else 1)

    is_whole = property(lambda self: self._whole, doc="Whether validation rows count.")

    def careful(self):
        """From now on, validation rows count too, unless it was said otherwise."""
        self._whole = self._whole or not self._is_fixed
        return self

    def scores(self, parameters):
        """Of the sample."""
        return self._sample.scores(parameters)

    def point_at(self, parameters):
        self._made = None
        return Point(parameters.copy(), self.scores(parameters))

    def slopes(self, point, smoothing, options) -> Moments:
        """What all partitions tell; a step before that made the objective larger went too far, and is halved first."""
        for n_halved in count():
            iterate = self._iterate(point.parameters, smoothing, options)
            moments = self._ask(moments_of, iterate)
            self.measured = moments.objectives(point.parameters, self.penalty)
            smoothed = self.measured + moments.excess / moments.n_rows
            too_far = self._went_too_far(iterate, smoothed, n_halved)
            if not too_far.any():
                break
            self._take_back(point, np.where(too_far, 0.5, 1.0) * self._made.iterate.lengths)
        self._n_rounds += 1
        moments = moments._replace(curvatures=self._curvatures.with_new(moments, options.sample))
        self._moments, self._made = moments, _Made(iterate, smoothed, self.measured)
        return moments

    def _went_too_far(self, iterate, smoothed, n_halved):
        """For which outputs the last step, which was halved ``n_halved`` times, made all rows worse."""
        made = self._made
        if made is not None and (made.iterate.smoothing, made.iterate.whole) == (iterate.smoothing, iterate.whole):
            return smoothed > made.smoothed * (1 + _ROUNDING)
        if made is not None and n_halved < _FEW:
            # The step was to reduce something similar; that may be smaller even where the step began.
            return self.measured > made.measured * (1 + _CLEARLY)
        return np.zeros(self.n_outputs, bool)

    def _iterate(self, parameters, smoothing, options):
        n_sampled = options.sample * parameters.shape[1] // (1 if len(parameters) == 1 else options.several)
        sampled = min(n_sampled / self.n_rows, 1.0)
        options = options._replace(tell=None)  # whom to tell is here
        return Iterate(self._n_rounds, parameters.copy(), smoothing, options, sampled, self._whole)

    def gradient(self, parameters, moments):
        gradients = moments.slopes / moments.n_rows
        gradients[:, :-1] += self.penalty * parameters[:, :-1]
        return gradients

    def hessian(self, moments, options, rng):
        is_sampled = self._made is not None and self._made.iterate.sampled < 1.0
        return _SummedHessian(self, moments, _RIDGE if is_sampled else 0.0)

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
        iterate = self._made.iterate._replace(directions=step.directions, lengths=step.lengths)
        self._made = self._made._replace(iterate=iterate)
        self._sample.move(point, step)

    def _take_back(self, point, lengths):
        """Be where the last step leads with other lengths."""
        iterate = self._made.iterate
        self._made = self._made._replace(iterate=iterate._replace(lengths=lengths))
        point.parameters[:] = iterate.parameters + lengths[:, None] * iterate.directions
        point.scores[:] = self.scores(point.parameters)

    def objectives(self, point):
        return self.measured

    def excess(self, point, smoothing):
        return self._moments.excess / self._moments.n_rows

    def gains(self, before, reached, step):
        return 0.5 * step.decrements

    def certify(self, point, step, reached):
        """Objectives after a careful step, and bounds; where it went too far, it is taken back."""
        before, (reached, bounds) = self.measured, self._certified()
        too_far = reached > before * (1 + _ROUNDING)
        if too_far.any():
            self._take_back(point, np.where(too_far, 0.0, self._made.iterate.lengths))
            reached, bounds = self._certified()
        self.measured = reached
        return reached, bounds

    def certify_start(self, point):
        """The same for the iterate where the last step began, to which the point goes back."""
        self._take_back(point, np.zeros(self.n_outputs))
        return self._certified()

    def _certified(self):
        iterate = self._made.iterate
        dual = self._ask(dual_of_part, iterate)
        parameters = iterate.parameters + iterate.lengths[:, None] * iterate.directions
        reached = regularized(dual.losses / dual.n_rows, parameters, self.penalty)
        return reached, np.minimum(dual.bounds(self.penalty, self.intercept), reached)


def options_for(width):
    """How a problem with a given number of features is solved."""
    if width <= _WIDE:
        return OPTIONS
    ((n_rows, smoothing),) = OPTIONS.subsamples
    most = max(_START_BYTES // (4 * width * width), 1)
    # The mean over rounds has rows enough for a bound, too.
    return OPTIONS._replace(sample=6, careful_sample=1, subsamples=((min(n_rows, most), smoothing),))


def rows_to_begin_with(width, n_rows):
    """Rows of a sample that steps begin on, and that tell later ones how far to go."""
    first = options_for(width).subsamples[0][0] * width
    enough = min(_ENOUGH * width, _START_BYTES // (4 * width))
    return min(max(first, min(enough, n_rows // 2)), n_rows)
