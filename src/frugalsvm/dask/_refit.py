"""The coefficients of given support vectors, learned once more on a sample of the rows that the client has.

A model that was put together from those of partitions, or that one of them learned by itself, has good support vectors
and poor coefficients. With the vectors fixed, the best coefficients are the solution of a small convex problem, that of
`frugalsvm.lowrank` with the support vectors as landmarks: ``alpha / 2 ||f||^2 + mean hinge loss``. Some hundred rows
for each support vector tell it as well as all of them: no second pass over the rows is needed.
"""

from typing import Any, NamedTuple

import numpy as np

from frugalsvm.budgeted.learner import Learner
from frugalsvm.budgeted.model_averaging import with_coefficients
from frugalsvm.compiling.threads import ONE_THREAD, Threads, blas_threads
from frugalsvm.dask._asset_tasks import Shared, sample_problem
from frugalsvm.dask._preparing import Rows
from frugalsvm.lowrank.backends.compiled import COMPILED
from frugalsvm.lowrank.continuation import solve
from frugalsvm.lowrank.losses import Hinge
from frugalsvm.lowrank.maps import raw_weights
from frugalsvm.lowrank.nystroem import Nystroem, new_nystroem
from frugalsvm.lowrank.options import Options
from frugalsvm.lowrank.problem import Problem, Sample

_PER_VECTOR, _LEAST_SHARE = 200, 1 / 200  # rows for each support vector, or a share of all if that is more
_MOST_BYTES = 2**28  # of kernel values, and of the rows themselves
_FEW = 32  # rows for each support vector: enough to tell which of two models has the better ones
_OPTIONS = Options(careful_steps=1)
_ROUGHLY = Options(subsamples=(), smoothings=(0.3,), narrower=0, tolerance=0.05, careful_steps=1)  # for that


def rows_for(budget: int, n_rows: int, row_bytes: int) -> int:
    """Rows of a sample that is large enough for the coefficients of a number of support vectors."""
    wanted = max(_PER_VECTOR * budget, int(_LEAST_SHARE * n_rows))
    return int(min(wanted, n_rows, _MOST_BYTES // (4 * budget), _MOST_BYTES // row_bytes))


class Refit(NamedTuple):
    """Learns coefficients for the support vectors of learners."""

    sample: Rows  # in random order
    n_classes: int
    alpha: Any  # a number, where there are rows
    threads: Threads = ONE_THREAD

    def __call__(self, learner: Learner) -> Learner:
        """The learner with the best coefficients for the rows of the sample."""
        if not (_n_vectors(learner) and self.sample.n_rows):
            return learner
        with blas_threads(None):
            return self._learned(learner, slice(None), _OPTIONS)[0]

    def better(self, first: Learner, second: Learner) -> Learner:
        """The one of two learners whose support vectors are better.

        Each gets coefficients from some rows, and what counts is the loss of as many others.
        """
        n_rows = min(_FEW * max(_n_vectors(first), _n_vectors(second)), self.sample.n_rows // 2)
        if not n_rows:
            return first
        with blas_threads(None):
            losses = [self._loss_on_others(learner, n_rows) for learner in (first, second)]
        return first if losses[0] <= losses[1] else second

    def _loss_on_others(self, learner: Learner, n_rows: int) -> float:
        if not _n_vectors(learner):
            return float("inf")
        _, feature_map, parameters = self._learned(learner, slice(n_rows), _ROUGHLY)
        others = self._problem(feature_map, slice(n_rows, 2 * n_rows))
        return float(COMPILED.total(others, others.scores(parameters)).sum())

    def _learned(self, learner: Learner, part: slice, options: Options) -> tuple[Learner, Nystroem, np.ndarray]:
        expansion = learner.expansion
        feature_map = new_nystroem(learner.parts.kernel, expansion.rows[: _n_vectors(learner)])
        problem = self._problem(feature_map, part)
        sample = Sample(problem.rows, problem.targets, problem.weights)
        parameters = solve(problem, sample, options, np.random.default_rng(0)).parameters
        coefficients = raw_weights(feature_map, parameters[:, :-1]).T
        return learner._replace(expansion=with_coefficients(expansion, coefficients)), feature_map, parameters

    def _problem(self, feature_map: Nystroem, part: slice) -> Problem:
        rows = Rows(-1, *self.sample.part(part), 0)
        problem = sample_problem(rows, Shared(feature_map, Hinge(), False, self.n_classes), self.threads)
        return problem._replace(penalty=float(self.alpha))


def _n_vectors(learner: Learner) -> int:
    return int(learner.expansion.counts[0]["n_slots"])
