"""Rounds of ASSET: Newton steps on all rows, or epochs of subgradient steps with means between them."""

from copy import copy

import numpy as np

from frugalsvm.compiling.threads import blas_threads
from frugalsvm.dask._asset_tasks import (
    Shared,
    evaluated,
    features_kept,
    mean_by_examples,
    one_epoch,
    rule_for,
    sample_problem,
    targets_of,
)
from frugalsvm.dask._base import Training
from frugalsvm.estimators.calibrated import is_calibrated
from frugalsvm.estimators.fit_warnings import warn_if_above
from frugalsvm.lowrank.backends.partition_sums import summed
from frugalsvm.lowrank.backends.partitions import OPTIONS, PartitionedProblem, options_for
from frugalsvm.lowrank.continuation import Solution, solve
from frugalsvm.lowrank.maps import raw_weights
from frugalsvm.lowrank.newton import newton_step
from frugalsvm.lowrank.options import Options
from frugalsvm.lowrank.problem import Sample
from frugalsvm.lowrank.targets import spread
from frugalsvm.lowrank.training import Watch

_ROUNDS, _EPOCHS = 30, 20  # unless max_iter says otherwise
_FEW = 0.02  # of all rows: one Newton step learns them
_LOOSE = 0.05  # share of the objective: a bound that is farther from it gets more steps
_MOST_TIMES = 6  # that it does


class _Partitions:
    """All partitions, with their features where these are kept: what is asked of one is asked of all.

    Nothing here knows the `Rounds`. Otherwise both would keep each other in memory: features would stay in
    the memory of the workers until Python looks for such circles.
    """

    def __init__(self, cluster, sources, shared: Shared):
        self.cluster, self.sources, self.shared = cluster, sources, cluster.broadcast(shared)

    def ask(self, function, iterate):
        iterate = self.cluster.broadcast(iterate)
        return self.reduced(evaluated, summed, iterate, function)

    def reduced(self, function, join, *arguments):
        """What all partitions tell, as one."""
        return self.cluster.reduced(function, join, self.sources, self.shared, *arguments)


class Rounds:
    """Rounds of one training: ``local`` always has the parameters of the last one. Watches the solver."""

    def __init__(self, estimator, local, training: Training, shared: Shared, sources, penalty):
        self.estimator, self.local, self.training, self.shared = estimator, local, training, shared
        self.partitions = _Partitions(training.cluster, sources, shared)
        self.n_rows, self.penalty = int(training.overview.n_rows.sum()), penalty
        # Newton steps may be near the end without a better accuracy; what ends them is the objective.
        self._watch = Watch(estimator.n_iter_no_change, 0.0)
        self._validation, self.is_done = training.validation, False
        self._quality_name = estimator.quality_name
        self.unseen = None  # parameters that the validation rows have no part in
        # Features of the validation rows stay the same from round to round.
        self._features = features_kept(training.validation, shared.feature_map) if training.validation.n_rows else None
        with blas_threads(None):
            sample = self.sample_problem = sample_problem(training.sample, shared, training.cluster.free_threads())
        self.sample = Sample(*sample[:3])
        self.problem = PartitionedProblem(sample, self.partitions.ask, self.n_rows, penalty)

    def __call__(self, parameters, step) -> bool:
        """The end of a Newton step, as `end`."""
        self.local.objective_ = self.local.objective_of(self.problem.measured)  # before the step: it is less after
        promised = self.local.objective_of(0.5 * step.decrements)
        return self.end(parameters, objective=self.local.objective_, promised=promised, smoothing=step.smoothing)

    def tell_step(self, problem, point, step) -> None:
        """The end of a Newton step that learns the validation rows, too: these do not tell when to stop."""
        self(point.parameters, step)

    @property
    def holds_many(self) -> bool:
        """Whether there are many validation rows: then one last step that learns them is not enough."""
        return self._validation.n_rows > _FEW * self.n_rows and is_calibrated(self.estimator)

    @property
    def n_rounds(self) -> int:
        return len(self.estimator.history_)

    def end(self, parameters, **figures) -> bool:
        """The end of a round; returns whether the validation rows say that it is time to stop."""
        parameters = parameters.copy()
        self.local.adopt(self.shared.feature_map, self.shared.whole(parameters), self.n_rows)
        name, quality = self._quality_name, self._quality(parameters)
        self.training.tell(copy(self.local), **({} if name is None else {name: quality}), **figures)
        if self._features is not None:
            self.is_done = self._watch.note(quality, parameters)
            if not self.problem.is_whole:
                self.unseen = self._watch.best_parameters if self.is_done else parameters
        return self.is_done

    @property
    def best_parameters(self):
        """On the validation rows; the solver returns to them."""
        return self._watch.best_parameters

    def _quality(self, parameters) -> float:
        """On the validation rows; NaN where there are none."""
        if self._features is None:
            return float("nan")
        return self.local.quality(self.validation_values(parameters).T, *self.validation_targets())

    def validation_targets(self) -> tuple[np.ndarray, np.ndarray]:
        """Targets and weights of the validation rows."""
        return targets_of(self._validation, self.shared)

    def validation_values(self, parameters) -> np.ndarray:
        """Decision values of the validation rows, (n_rows, n_outputs)."""
        coefficients = raw_weights(self.shared.feature_map, parameters[:, :-1]).T.astype(np.float32)
        return self._features @ coefficients + parameters[:, -1]

    def calibrate(self):
        """Calibrate with the validation rows, and the last parameters that these had no part in."""
        if is_calibrated(self.estimator) and self.unseen is not None:
            values = self.validation_values(self.unseen)
            self.local.calibrate_on(values, self._validation.labels, self._validation.weights)

    @property
    def unit(self) -> float:
        """In units of which losses are smoothed: that of the targets."""
        return 1.0 if self.shared.n_classes else spread(self.sample.targets, self.sample.weights)

    def publish(self, solution: Solution) -> None:
        self.local.adopt(self.shared.feature_map, self.shared.whole(solution.parameters), self.n_rows)
        self.local.objective_ = self.local.objective_of(solution.objectives)
        self.local.suboptimality_bound_ = self.local.objective_of(solution.objectives - solution.bounds)


def newton_rounds(rounds: Rounds) -> None:
    """Newton steps on all rows, from a start on a sample."""
    with blas_threads(None):
        solution = solve(rounds.problem, rounds.sample, options_of(rounds), rounds.training.rng, watch=rounds)
    if rounds.holds_many:
        rounds_with_all(rounds, solution.parameters)
    else:
        _end(rounds, _tightened(rounds, solution))


def rounds_with_all(rounds: Rounds, start: np.ndarray) -> None:
    """Newton steps on all rows, those for validation among them, from given parameters."""
    _end(rounds, _tightened(rounds, _with_all(rounds, start)))


def _tightened(rounds: Rounds, solution: Solution) -> Solution:
    """After two more steps at a time while the bound is loose, and rounds are left.

    With little regularization, the bound of a step is as good as the step is short.
    """
    for _ in range(_MOST_TIMES):
        is_loose = (solution.bounds < (1 - _LOOSE) * solution.objectives).any()
        if not is_loose or rounds.n_rounds + 1 >= options_of(rounds).max_total:
            break
        solution = _with_all(rounds, solution.parameters)
    return solution


def _with_all(rounds: Rounds, start: np.ndarray) -> Solution:
    options = options_of(rounds)._replace(tell=rounds.tell_step)
    options = options._replace(max_total=max(options.max_total - rounds.n_rounds, 2))
    with blas_threads(None):
        return solve(rounds.problem.careful(), rounds.sample, options, rounds.training.rng, start=start)


def _end(rounds: Rounds, solution: Solution) -> None:
    rounds.publish(solution)
    rounds.calibrate()
    warn_if_above(rounds.local, solution.converged, rounds.estimator.max_iter or _ROUNDS)


def options_of(rounds: Rounds) -> Options:
    """How the solver takes its steps."""
    estimator, n_most = rounds.estimator, rounds.estimator.max_iter or _ROUNDS
    return options_for(rounds.problem.rows.width)._replace(
        tolerance=estimator.tol, max_iter=max(_ROUNDS, n_most), max_total=n_most, unit=rounds.unit
    )


def epochs(rounds: Rounds) -> None:
    """Subgradient steps in every partition by itself, and their mean."""
    estimator, training = rounds.estimator, rounds.training
    rule = rule_for(estimator.solver, training.sample, rounds.shared, rounds.penalty)
    n_steps, mean_rows = 0, int(np.average(training.n_train, weights=training.n_train))
    averages, problem = estimator.average is not False, rounds.problem
    parameters = np.zeros((problem.n_outputs, problem.n_features + 1))
    for number in range(estimator.max_iter or _EPOCHS):
        sent = training.cluster.broadcast(parameters)
        parameters, _ = rounds.partitions.reduced(one_epoch, mean_by_examples, rule, sent, n_steps, number, averages)
        n_steps += mean_rows
        if rounds.end(parameters):
            break
    if rounds.best_parameters is not None:
        parameters = rounds.unseen = rounds.best_parameters
    with blas_threads(None):
        point = problem.careful().point_at(parameters)
        smoothing = OPTIONS.smoothings[-1] * rounds.unit
        newton_step(problem, point, smoothing, None, OPTIONS.careful(problem.loss), training.rng)
        objectives, bounds = problem.certify_start(point)
    rounds.publish(Solution(parameters, objectives, bounds, 0))
    rounds.calibrate()
