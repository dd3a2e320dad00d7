"""What ASSET's classifier and regressor share: parameters, batch training, streams, scores."""

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from frugalsvm.arrays.namespace import HOST, arrays_on, best_device
from frugalsvm.arrays.sources import dense_rows
from frugalsvm.compiling.threads import blas_threads
from frugalsvm.core.dense_scores import UnfitRowsError
from frugalsvm.estimators._asset_saved import LOW_RANK
from frugalsvm.estimators._scoring import rows_to_score
from frugalsvm.estimators.calibrated import n_held_out
from frugalsvm.estimators.constraints import (
    check_count,
    count,
    is_auto,
    is_path,
    non_negative,
    optional,
    parsed_bytes,
    size,
    values_of_path,
)
from frugalsvm.estimators.feature_maps import HasFeatureMap, new_generator
from frugalsvm.estimators.fit_warnings import warn_at_limit, warn_if_above
from frugalsvm.estimators.kernel_model import Fits
from frugalsvm.estimators.parameters import learned, parameter, parameters
from frugalsvm.estimators.progress import following
from frugalsvm.estimators.seen_rows import absolute_rows
from frugalsvm.estimators.unchanged import forget_learned
from frugalsvm.estimators.validation import AS_IT_IS
from frugalsvm.exceptions import ParameterError
from frugalsvm.lowrank.backends.compiled import CompiledStorage
from frugalsvm.lowrank.backends.torch import TorchStorage, device_values
from frugalsvm.lowrank.continuation import Solution, certified, solve
from frugalsvm.lowrank.cross_validation import cross_validated
from frugalsvm.lowrank.epochs import run_epochs
from frugalsvm.lowrank.losses import losses_for
from frugalsvm.lowrank.maps import checks_rows, linear_values, map_bytes, raw_weights, width_of
from frugalsvm.lowrank.nystroem import Nystroem
from frugalsvm.lowrank.stream import nothing_yet, with_weight
from frugalsvm.lowrank.subgradient import STEP
from frugalsvm.lowrank.training import Data, Training, Watcher, new_training, solve_path, validation_scores

SOLVERS = ("newton", "asset", "asset*")
NEWTON_STEPS, _EPOCHS = 30, 20  # unless max_iter says otherwise

# What the last `fit` left behind
_RESULTS = (
    "C_", "path_", "best_validation_score_", "objective_", "suboptimality_bound_", "calibration_", "_n_fitted",
    "_n_iter",
)  # fmt: skip


def _tell(machine, progress, problem, point, step):
    """Tell how far a solver has come, after a step."""
    objective = machine.objective_of(problem.objectives(point))
    promised = 0.5 * machine.objective_of(step.decrements) / max(objective, np.finfo(float).tiny)
    progress.advance(1, f"objective {objective:.4g} on {problem.n_rows:,} rows, {promised:.2g} of it in reach")


class _Comparison(NamedTuple):
    """What is known of values of C."""

    scores: list  # for each: scores of rows that were not learned, with their targets and weights
    starts: list  # parameters to start from with all rows, or None
    results: dict[str, np.ndarray]
    n_iter: int


@parameters
class LowRankParameters:
    """Parameters of low-rank machines.

    Parameters
    ----------
    memory : str
        On the CPU: limit for features and what is computed from them. If all features take more, they are computed
        again in every pass, which takes several times as long.
    """

    max_iter: Any = parameter(default=None, check=optional(count()))
    tol: Any = parameter(default=5e-3, check=non_negative)
    memory: Any = parameter(default="4GB", check=size)


class LowRankMachine(LowRankParameters, HasFeatureMap, Fits):
    """Base of estimators that are linear in Nystroem or Fourier features, learned in batch or as a stream.

    The model is ``_map`` and ``_weights``, an output's weights and intercept in each row. Of a stream, ``_steps`` is
    the run of subgradient steps and ``_first`` the examples that landmarks will be made of; see
    `frugalsvm.lowrank.stream`.

    Subclasses define ``_for_classes``, ``_examples_of``, ``_n_outputs``, ``_targets`` (those of the solver) and
    ``quality``.

    Attributes
    ----------
    suboptimality_bound_ : float
        How far it may be above the optimum of the same features, by duality: the truth is often a tenth of that. A
        smaller ``tol`` makes both smaller.
    coef_ : ndarray of shape (n_outputs, n_map_features)
    rank_ : int
    """

    # What only some estimators have a parameter for
    C: Any = 1.0
    alpha: Any = None
    cv: Any = None
    average: Any = False
    solver, fit_intercept, early_stopping = "newton", True, False
    device, dtype, memory_limit, metric = "cpu", "float32", None, None

    _saved = LOW_RANK
    _for_classes: bool
    _map: Any
    _rng: np.random.Generator
    _weights: np.ndarray
    _steps: Any
    _first: tuple | None
    _n_iter: int
    _n_fitted: int
    _narrowing = 1.5
    _calibrates = False  # with the validation rows
    _changed_in_place = ("_steps", "_rng")

    @property
    def _dtype(self) -> Any:
        # Rows become float32 block by block, here or on the device: no copy of large data.
        return None if self._device() == "cpu" else AS_IT_IS

    _first_dtype = _dtype

    def _device(self):
        """Where `fit` and predictions are computed."""
        return best_device() if self.device == "auto" else self.device

    def _arrays(self):
        return arrays_on(self._device(), tf32=self.dtype == "tf32")

    # --- parameters -----------------------------------------------------------------------------------------

    def _holds_out(self):
        return self.early_stopping or (self._is_path() and self.cv is None)

    def _validation_share(self, n_rows):
        """The part of the rows that is held out."""
        if self._holds_out():
            return self.validation_fraction
        return max(n_held_out(n_rows), 1) / n_rows if self._calibrates and not self._is_path() else 0.0

    def _calibrate_with(self, scores, targets, weights):
        """Calibrate with scores of rows that were not learned."""

    def _take_strength(self, choice, n_rows):
        if is_auto(self.C):
            self._auto_C = 1.0 if choice is None else choice.C  # until results of the last fit are forgotten

    def penalty_for(self, C, n_rows):
        """The penalty for a value of C and a number of rows."""
        return float(self.alpha) if self.alpha is not None else 1.0 / (C * n_rows)

    def new_loss(self):
        """The loss; its fields get the parameters of the same names, others have defaults."""
        part: Any = losses_for(classes=self._for_classes)[self.loss]
        return part(**{name: float(getattr(self, name)) for name in part._fields if hasattr(self, name)})

    # Solvers learn targets that the machine may have standardized; what it publishes is in units of the targets.

    def take_scale(self, targets, weights):
        """Take the scale of some targets (n, n_outputs), if this machine standardizes them; returns it, or None."""

    def objective_of(self, objectives) -> float:
        """The objective from what the solver has for each output."""
        return float(objectives.sum())

    def _in_units_of_targets(self, parameters):
        """Weights and intercepts from those of the solver."""
        return parameters

    def _unit(self, targets, weights):
        """In units of which losses are smoothed."""
        return 1.0

    def _look_back(self, X, y, weights):
        """What there is to say after `fit`."""

    # --- batch training -------------------------------------------------------------------------------------

    def _start(self, X, targets, random_state, *, whole):
        # Streams of classes go on with the numbers that a metric was learned with.
        same = self._for_classes and not whole
        rng = new_generator(random_state if same else check_random_state(self.random_state))
        self.begin(self._new_kernel(X), not isinstance(X, np.ndarray), rng)

    def _learn_all(self, X, targets, weights, random_state):
        self._fit_rows(X, self._targets(targets, self._arrays()), weights)
        self._look_back(X, targets, weights)

    def begin(self, kernel, sparse, rng):
        """Forget all, and be ready to learn rows with a kernel."""
        forget_learned(self)
        for name in _RESULTS:
            if hasattr(self, name):
                delattr(self, name)
        if is_auto(self.C):
            self.C_ = self.__dict__.pop("_auto_C", 1.0)
        n_outputs = self._n_outputs()
        self._kernel, self._rng, self._is_sparse = kernel, rng, sparse
        self._steps, self._map, self._weights = None, None, np.zeros((n_outputs, 1))
        self._first = nothing_yet(n_outputs, self._width) if self.feature_map == "nystroem" else None

    def adopt(self, feature_map, parameters, n_rows):
        """Be a model that was found elsewhere, from a number of rows."""
        self._map, self._weights, self._first, self._n_fitted = feature_map, parameters, None, n_rows

    def _fit_rows(self, X, targets, weights):
        """Learn rows in memory."""
        unit = self._unit(targets, weights)
        X, targets, weights = with_weight(X, targets, weights)
        n_rows = X.shape[0]
        if not n_rows:
            raise ValueError("All weights are zero: there is nothing to learn.")
        candidates = self._candidates(n_rows, lambda index: dense_rows(X[index]), self._rng)
        self._fit_data(Data(lambda: iter((X,)), X, targets, weights), candidates, unit)

    def _fit_data(self, data, candidates, unit):
        arrays = self._arrays()
        is_host, sparse = arrays is HOST, data.X is not None and not isinstance(data.X, np.ndarray)
        self._map = self._new_map(candidates, sparse, self._rng, for_device=not is_host)
        follows = following(self, None, "steps", has_model=False)
        with blas_threads(None) if is_host else nullcontext(), arrays.products(), follows as progress:
            self._n_iter = self._train(self._storage(arrays), data, unit, progress)
        self._n_fitted, self.n_iter_ = data.n_rows, self._n_iter

    # --- a list of C: the best value by validation rows or by cross-validation -------------------------------

    def _is_path(self) -> bool:
        return is_path(self.C)

    def _all_C(self) -> list[float]:
        """The values of C in increasing order."""
        if not self._is_path():
            return [getattr(self, "C_", 1.0) if is_auto(self.C) else self.C]
        return values_of_path(self.C)

    def _check_path(self) -> None:
        if self._is_path() and self.solver != "newton":
            raise ValueError(f"A list of C needs solver='newton', not {self.solver!r}.")
        if self.cv is None:
            return
        check_count("cv", self.cv)
        if self.cv < 2:
            raise ParameterError("cv", self.cv, "None, or a number of folds, 2 or more")
        if not self._is_path():
            raise ValueError(f"cv={self.cv} compares values of C: pass a list of them, such as C=[0.1, 1, 10].")

    def _best_of_path(self, training: Training) -> tuple[Solution, int]:
        """The solution for the best value of C with all rows, and the number of steps on the way."""
        penalties = [self.penalty_for(C, training.problem.n_rows) for C in self._all_C()]
        found = (self._on_validation_rows if self.cv is None else self._by_folds)(training, penalties)
        best = self.take_best(found.scores, found.results)
        C = self._all_C()[best]
        self._calibrate_with(*found.scores[best])
        whole = training.whole._replace(penalty=self.penalty_for(C, training.whole.n_rows))
        solution = solve(whole, training.sample, training.options, self._rng, start=found.starts[best])
        return solution, found.n_iter or solution.n_iter

    def take_best(self, scores: Sequence[tuple], results: dict[str, np.ndarray]) -> int:
        """Take the value of C that is best by scores, targets and weights of rows that were not learned.

        Returns its place in the list; ``path_`` has all results.
        """
        qualities = [self.quality(*each) for each in scores]
        best = int(np.argmax(qualities))
        if self._is_path():
            self.C_ = self._all_C()[best]
            self.path_ = {"C": np.array(self._all_C()), "validation_score": np.array(qualities), **results}
        return best

    def figures_of(self, solutions: Sequence[Solution]) -> dict[str, np.ndarray]:
        """Objectives and bounds of the solutions for all values of C, for ``path_``."""
        return {
            "objective": np.array([self.objective_of(each.objectives) for each in solutions]),
            "suboptimality_bound": np.array([self.objective_of(each.objectives - each.bounds) for each in solutions]),
        }

    def _on_validation_rows(self, training, penalties) -> _Comparison:
        solutions = solve_path(training, penalties, self._rng)
        scores = [validation_scores(training, each.parameters) for each in solutions]
        n_iter = sum(each.n_iter for each in solutions)
        return _Comparison(scores, [each.parameters for each in solutions], self.figures_of(solutions), n_iter)

    def _by_folds(self, training, penalties) -> _Comparison:
        """By scores out of their folds: rows are in a random order, or in the order in which they are read."""
        problem = training.whole
        if problem.n_rows < self.cv:
            raise ValueError(f"cv={self.cv} folds need at least as many rows, but n_samples = {problem.n_rows}.")
        folds = np.arange(problem.n_rows) % self.cv
        targets, weights = (problem.arrays.host(each) for each in (problem.targets, problem.weights))
        found = cross_validated(problem, training.options, folds, penalties, self._rng, self._threads())
        return _Comparison([(each, targets, weights) for each in found], [None] * len(penalties), {}, 0)

    # --- solving --------------------------------------------------------------------------------------------

    def _storage(self, arrays):
        """Where features are kept in training."""
        if arrays is HOST:
            memory, whiten = parsed_bytes("memory", self.memory), self.solver != "newton"
            return CompiledStorage(self._map, memory, whiten=whiten, threads=self._threads())
        limit = self.memory_limit
        memory = arrays.free_bytes() if limit is None else parsed_bytes("memory_limit", limit)
        threshold, rank, dtype = self.eigenvalue_threshold, self.rank, self.dtype
        return TorchStorage(arrays, self._map, threshold=threshold, rank=rank, memory=memory, dtype=dtype)

    def _train(self, storage, data, unit, progress):
        """Learn rows in batch; returns the number of Newton steps or epochs."""
        share = self._validation_share(data.n_rows)
        training = new_training(storage, data, self.new_loss(), self.fit_intercept, share, self._rng)
        options = training.options._replace(tolerance=self.tol, max_iter=self.max_iter or NEWTON_STEPS, unit=unit)
        if progress.is_watched:
            options = options._replace(tell=partial(_tell, self, progress))
        training = training._replace(options=options)
        calibrates_first = self._calibrates and not self.early_stopping
        if self._is_path() or (calibrates_first and self.solver == "newton"):
            solution, n_iter = self._best_of_path(training)
            self._publish(storage, solution)
            self._look_at_folds(storage, data, training)
            return n_iter
        C = self._all_C()[0]
        problem = training.problem._replace(penalty=self.penalty_for(C, training.problem.n_rows))
        watcher = Watcher(training, self.quality, self.n_iter_no_change) if self.early_stopping else None
        if self.solver == "newton":
            solution = solve(problem, training.sample, options, self._rng, watch=watcher)
            n_iter, ended, n_most = solution.n_iter, solution.converged, options.max_iter
        else:
            n_most = self.max_iter or _EPOCHS
            if calibrates_first:
                held_out = run_epochs(self.solver, self.average, problem, self._map, n_most, None, self._rng)
                self._calibrate_with(*validation_scores(training, held_out[0]))
                problem = training.whole._replace(penalty=self.penalty_for(C, training.whole.n_rows))
            parameters, n_iter = run_epochs(self.solver, self.average, problem, self._map, n_most, watcher, self._rng)
            ended = n_iter < n_most
            if watcher is None:
                solution = certified(problem, parameters, options, self._rng)
        if watcher is not None:
            self._warn_if_watched_in_vain(watcher, ended, n_most)
            self.best_validation_score_ = watcher.best
            self._calibrate_with(*validation_scores(training, watcher.best_parameters))
            solution = certified(problem, watcher.best_parameters, options, self._rng)
        self._publish(storage, solution)
        self._look_at_folds(storage, data, training)
        return n_iter

    def _look_at_folds(self, storage, data, training):
        """Learn what rows left out tell of a model that was found."""

    def _warn_if_watched_in_vain(self, watcher, ended, n_most):
        """Warn if early stopping was asked for and did not stop the fit."""
        if not (watcher.is_done or ended):
            rising = f"the score on the validation rows still rose within the last {self.n_iter_no_change} steps"
            advice = f"{rising}; raise max_iter"
            warn_at_limit(self, f"max_iter={n_most}", advice)

    def _publish(self, storage, solution):
        """Keep a solution; tell its objective, and how far above the optimum it may be at most."""
        self._weights = self._in_units_of_targets(storage.published(solution.parameters))
        self.objective_ = self.objective_of(solution.objectives)
        self.suboptimality_bound_ = self.objective_of(solution.objectives - solution.bounds)
        warn_if_above(self, solution.converged, self.max_iter or NEWTON_STEPS)

    @learned
    def t_(self):
        """Number of examples learned from; those of `fit` count once."""
        return int(self._steps.state.clock[STEP]) if self._steps is not None else getattr(self, "_n_fitted", 0)

    # --- scores ---------------------------------------------------------------------------------------------

    def _raw_coefficients(self):
        """Coefficients of raw features, one column per output."""
        return raw_weights(self._map, self._weights[:, :-1]).T

    def _output(self, X, arrays=None):
        """Decision values, one column per output; computed on a given device, or on the machine's own."""
        check_is_fitted(self)
        arrays = arrays or self._arrays()
        if arrays.is_torch:
            X = self._known_rows(X, AS_IT_IS)
            return device_values(arrays, self._map, self._raw_coefficients().T, X) + self._weights[:, -1]
        is_checked = not checks_rows(self._map)
        with blas_threads(None):
            rows = rows_to_score(self, X, self._threads(), checks=is_checked)
            try:
                return self._values(rows, is_checked=is_checked)
            except UnfitRowsError:
                return self._values(self._known_rows(X, None))  # which says what is wrong with them

    def _values(self, X, *, is_checked=True):
        """Decision values of rows as the kernel sees them."""
        values = linear_values(self._map, X, self._raw_coefficients(), self._threads(), is_checked=is_checked)
        values += self._weights[:, -1]
        return values

    coef_ = learned(lambda self: self._weights[:, :-1].copy(), doc="Weights of the features.")
    intercept_ = learned(lambda self: self._weights[:, -1].copy(), doc="Intercepts, shape (n_outputs,).")

    @learned
    def landmarks_(self):
        """Landmarks of the Nystroem map, shape (n_landmarks, n_features); None with a Fourier map."""
        return (
            absolute_rows(self._map.landmarks, self._origin, self._metric) if isinstance(self._map, Nystroem) else None
        )

    @learned
    def dual_coef_(self):
        """Coefficients of the kernel values with the landmarks, shape (n_outputs, n_landmarks); None otherwise."""
        return np.ascontiguousarray(self._raw_coefficients().T) if isinstance(self._map, Nystroem) else None

    @learned
    def rank_(self):
        """Number of features: eigenvalues that were kept, or Fourier components."""
        return self._weights.shape[1] - 1

    @learned
    def model_bytes_(self):
        """Bytes that prediction needs: the map and one coefficient for each raw feature and output."""
        return map_bytes(self._map) + 4 * (width_of(self._map) + 1) * len(self._weights)
