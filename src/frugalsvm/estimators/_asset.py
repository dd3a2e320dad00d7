"""What ASSET's classifier and regressor share: parameters, batch training, streams, scores."""

import numbers
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from frugalsvm.arrays.namespace import HOST, arrays_on, best_device, on_host
from frugalsvm.arrays.sources import HostSource, dense_rows
from frugalsvm.compiling.threads import blas_threads, thread_count
from frugalsvm.core.capabilities import offers
from frugalsvm.core.moments import moments_of
from frugalsvm.core.origin import origin_of_moments
from frugalsvm.estimators._asset_path import PathOfC
from frugalsvm.estimators._asset_saved import LOW_RANK
from frugalsvm.estimators._auto import chooses, is_auto
from frugalsvm.estimators._batches import Batches
from frugalsvm.estimators._calibrated import n_held_out
from frugalsvm.estimators._kernel_model import KernelEstimator
from frugalsvm.estimators._maps import LANDMARKS, check_map, landmark_rows
from frugalsvm.estimators._metric import check_metric, most_rows
from frugalsvm.estimators._origin import absolute_rows
from frugalsvm.estimators._progress import begin_callbacks, check_verbose, end_callbacks, following, with_callbacks
from frugalsvm.estimators._scoring import rows_to_score
from frugalsvm.estimators._unchanged import unchanged_on_error
from frugalsvm.estimators._validation import (
    AS_IT_IS,
    check_choice,
    check_count,
    check_positive,
    parsed_bytes,
)
from frugalsvm.estimators._warnings import warn_at_limit, warn_if_above
from frugalsvm.estimators._writable import forget_learned, prepare_to_learn
from frugalsvm.exceptions import ParameterError
from frugalsvm.lowrank.backends.compiled import CompiledStorage
from frugalsvm.lowrank.backends.torch import STORED_AS, TorchStorage, device_values
from frugalsvm.lowrank.continuation import certified, solve
from frugalsvm.lowrank.epochs import parameters_of, run_epochs
from frugalsvm.lowrank.losses import losses_for
from frugalsvm.lowrank.maps import MapPlan, linear_values, map_bytes, moved_map, n_candidates, raw_weights, width_of
from frugalsvm.lowrank.nystroem import Nystroem, with_whitening
from frugalsvm.lowrank.passes import Passes
from frugalsvm.lowrank.stream import LENGTH, Learned, Method, Stream, learn_batch, nothing_yet, with_weight
from frugalsvm.lowrank.subgradient import STEP
from frugalsvm.lowrank.training import Data, Watcher, new_training, validation_scores

__all__ = ["NEWTON_STEPS", "SOLVERS", "LowRankMachine"]

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


def _generator(random_state):
    return np.random.default_rng(random_state.randint(2**31))


class LowRankMachine(PathOfC, KernelEstimator):
    """Base of estimators that are linear in Nystroem or Fourier features, learned in batch or as a stream.

    The model is ``_map`` and ``_weights``, an output's weights and intercept in each row. Of a stream, ``_steps`` is
    the run of subgradient steps and ``_first`` the examples that landmarks will be made of; see
    `frugalsvm.lowrank.stream`.

    Subclasses define ``_for_classes``, ``_examples`` (rows, labels or values, weights of `fit`), ``_surveyed`` (labels
    or values and weights of `fit_batches`), ``_n_outputs``, ``_targets`` and ``quality``.

    Parameters
    ----------
    feature_map : {"nystroem", "fourier"}
        Kernel values with some rows of the data, the landmarks, whitened; or random Fourier features (of kernels of
        differences), which need no data at all but more components for the same accuracy.
    n_components : int
        Number of landmarks or of Fourier features. More are more accurate; time and memory are proportional to it, with
        a cubic part that shows from a few thousand on.
    kernel : str, KernelSum or callable
        Kernel, see :ref:`kernels`; a `KernelSum` of several; or a function ``kernel(A, B)`` of your own that returns
        the values of all pairs of rows.
    solver : {"newton", "asset", "asset*"}
        How `fit` solves the problem: truncated Newton, by far the fastest and the only one that comes near the
        optimum; or the stochastic subgradient steps of the paper, ``"asset"`` with steps that fall like
        ``1 / sqrt(t)`` and an unpenalized intercept, ``"asset*"`` with steps of ``1 / (lambda t)``, where an
        intercept is penalized. `partial_fit` takes subgradient steps always, those of "asset" for "newton".
    fit_intercept : bool
    alpha : float
        The regularization strength lambda; replaces C. Set it for streams.
    landmarks : {"uniform", "kmeans++", "kmeans"} or array of shape (n_landmarks, n_features)
        Random rows; rows that are spread out; or means of the rows around these, which are better for images and cost
        about as much as the kernel values of ten thousand rows. An array has landmarks of your own, and
        ``n_components`` does not count then.
    rank : int
        Maximum number of features that the Nystroem map keeps, those with the largest eigenvalues.
    eigenvalue_threshold : float
        It keeps those above this share of the largest eigenvalue. Kernel values are float32: far below that, features
        are rounding errors.
    structured : bool or "auto"
        Whether Fourier features use Hadamard transforms instead of a matrix product: as accurate, and several times
        faster for wide rows. "auto" takes the faster.
    max_iter : int
        Newton steps of each stage (None is 30), or epochs of subgradient steps (None is 20).
    tol : float
        Newton steps end when the next would reduce the objective by a smaller share than this. The default ends about
        0.1 % above the optimum.
    average : "suffix", int or False
        What subgradient steps return: the mean of the last half of all iterates; of this many last ones (the paper has
        100, which is far less accurate); or the last.
    early_stopping : bool
        Whether to stop when the score on the validation set has not risen for ``n_iter_no_change`` steps or epochs, and
        take the model that did best on them.
    validation_fraction : float
        Share of rows in the validation set, for early stopping and for choosing C.
    cv : int
        Number of folds, to choose C from a list by cross-validation instead of on a validation set. Folds and values
        share all kernel values; on a GPU they are solved side by side.
    n_iter_no_change : int
    memory : str
        On the CPU: limit for features and what is computed from them. If all features take more, they are computed
        again in every pass, which takes several times as long.
    device : {"cpu", "cuda", "auto"}
        Where `fit` and predictions are computed: compiled code on the CPU, or PyTorch on a GPU (``"cuda:1"`` is the
        second), for which the extra ``torch`` must be installed. "auto" takes a GPU if there is one. Rows can be
        arrays, CSR matrices or tensors; `partial_fit` takes its steps on the CPU.
    dtype : {"float32", "tf32", "float16"}
        On a GPU: "tf32" rounds the products in kernel values to 11 bits, which is faster for wide rows; "float16"
        stores kernel values in half the memory.
    memory_limit : str
        On a GPU: limit for rows, features and what is computed from them; None is most of the free memory. What does
        not fit is computed again in every pass, and rows that do not fit are sent again.
    n_jobs : int
        Threads; None is one, -1 all cores. `fit`, predictions and the features of `partial_fit` go through rows in
        blocks, side by side; subgradient steps are taken one after another. Results are the same up to rounding.
    random_state : int, RandomState instance or None
        For landmarks, frequencies, samples of rows and the order of steps.

    Attributes
    ----------
    suboptimality_bound_ : float
        How far it may be above the optimum of the same features, by duality: the truth is often a tenth of that. A
        smaller ``tol`` makes both smaller.
    best_validation_score_ : float
        With early stopping.
    landmarks_, dual_coef_ : ndarray or None
        With a Nystroem map: ``decision_function(X) == kernel(X, landmarks_) @ dual_coef_.T + intercept_``.
    coef_ : ndarray of shape (n_outputs, n_map_features)
        Weights of the features.
    rank_ : int
        Number of features.
    n_iter_ : int
        Newton steps, in all stages, or epochs.
    """

    _saved = LOW_RANK
    _for_classes: bool
    _map: Any
    _rng: np.random.Generator
    _weights: np.ndarray
    _steps: Any
    _first: tuple | None
    _n_iter: int
    _n_fitted: int
    _in_float32 = True
    _narrowing = 1.5
    _calibrates = False  # with the validation rows
    _landmarks: tuple[str, ...] = LANDMARKS  # ways to find them
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
        return HOST if self._device() == "cpu" else arrays_on(self._device(), tf32=self.dtype == "tf32")

    # --- parameters -----------------------------------------------------------------------------------------

    def _check_params(self):
        check_choice("loss", self.loss, losses_for(classes=self._for_classes))
        check_choice("solver", self.solver, SOLVERS)
        check_choice("structured", self.structured, ("auto", True, False))
        check_count("n_components", self.n_components)
        check_map(self.feature_map, self.kernel, self.landmarks, self.structured, self._landmarks)
        if callable(self.kernel):
            for name, usual in (("metric", None), ("device", "cpu")):
                if getattr(self, name) is not usual and getattr(self, name) != usual:
                    raise ValueError(f"A KernelSum or a kernel function of your own needs {name}={usual!r}.")
        else:
            check_metric(self.metric, self.kernel)
        if is_auto(self.C) and not self._for_classes:
            raise ParameterError("C", self.C, "a positive number or a list of them")
        for value in self._all_C():
            check_positive("C", value)
        if self.alpha is not None:
            check_positive("alpha", self.alpha)
            if self._is_path():
                raise ValueError("alpha replaces C: with a list of C, it must be None.")
        if self.rank is not None:
            check_count("rank", self.rank)
        if self.max_iter is not None:
            check_count("max_iter", self.max_iter)
        check_positive("eigenvalue_threshold", self.eigenvalue_threshold, zero=True)
        check_positive("tol", self.tol, zero=True)
        check_count("n_iter_no_change", self.n_iter_no_change)
        parsed_bytes("memory", self.memory)
        thread_count(self.n_jobs)  # on a GPU it would not be checked otherwise
        self._check_device()
        if self.average is not False and self.average != "suffix":
            check_count("average", self.average)
        share = self.validation_fraction
        if self._holds_out() and not (isinstance(share, numbers.Real) and 0 < float(share) < 1):
            raise ParameterError("validation_fraction", share, "between 0 and 1")
        self._check_path()

    def _check_device(self):
        check_choice("dtype", self.dtype, STORED_AS)
        if self.memory_limit is not None:
            parsed_bytes("memory_limit", self.memory_limit)
        if self._device() == "cpu":
            return
        self._arrays()  # says what is missing
        for name, usual in (("solver", "newton"), ("early_stopping", False)):
            if getattr(self, name) != usual:
                raise ValueError(f"{name}={getattr(self, name)!r} is for device='cpu', not {self.device!r}.")

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

    def _in_units_of_solver(self, parameters):
        """The other way round."""
        return parameters

    def _begin_steps(self, n_rows, targets, weights):
        """The loss and the penalty of a stream that begins with some targets, as if it had ``n_rows`` rows."""
        return self.new_loss(), self.penalty_for(getattr(self, "C_", self._all_C()[-1]), n_rows)

    def _standardized(self, targets):
        """Targets (n_outputs, n_rows) as the solver takes them."""
        return targets

    def _on_own_scale(self, targets, weights):
        """Targets (n_outputs, n_rows) for choices from some rows, before there is a scale for all."""
        return targets

    def _unit(self, targets, weights):
        """In units of which losses are smoothed."""
        return 1.0

    def map_plan(self):
        """How the feature map is made."""
        names = ("feature_map", "n_components", "landmarks", "eigenvalue_threshold", "rank", "structured")
        values = {name: getattr(self, name) for name in names}
        if not isinstance(self.landmarks, str):
            values |= {"landmarks": "uniform", "n_components": len(self.landmarks)}
        return MapPlan(kernel=self._kernel, n_features=self._width, **values)

    def _look_back(self, X, y, weights):
        """What there is to say after `fit`."""

    # --- batch training -------------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Learn from all rows.

        Ctrl-C leaves the model that was there before.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the examples; rows of weight 0 are ignored.

        Returns
        -------
        self
        """
        begin_callbacks(self, X, y)
        with unchanged_on_error(self):
            self._check_params()
            check_verbose(self)
            X, y, weights = self._examples(X, y, sample_weight)
            random_state = check_random_state(self.random_state)
            X = self._with_metric(X, lambda: self._targets(y, HOST), weights, random_state, whole=True)
            self._begin_with(X)
            X = self._with_origin(X, whole=True)
            self._fit_rows(X, self._targets(y, self._arrays()), weights)
            self._look_back(X, y, weights)
        end_callbacks(self, X, y)
        return self

    def fit_batches(self, batches):
        """Learn from data that does not fit into memory, read batch by batch, several times.

        Features are computed again in every pass, and what is kept at a time is within ``memory``.

        Parameters
        ----------
        batches : iterable or callable
            Batches ``(X, y)`` or ``(X, y, sample_weight)``: a list, any object that can be iterated again and again, or
            a function that returns a new iterator. They are the same rows in the same order every time.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from frugalsvm import ASSETClassifier
        >>> X = np.random.default_rng(0).normal(size=(5000, 3))
        >>> y = np.sin(3 * X[:, 0]) > 0
        >>> def batches():  # a file would be read here
        ...     for start in range(0, 5000, 1000):
        ...         yield X[start : start + 1000], y[start : start + 1000]
        >>> model = ASSETClassifier(n_components=64, C=10, memory="1MB", random_state=0).fit_batches(batches)
        >>> model.score(X, y) > 0.9
        True
        """
        with unchanged_on_error(self):
            self._check_params()
            batches = Batches(batches)
            survey = batches.survey(self)
            y, weights = self._surveyed(survey)
            moments = self._moments_in_metric(batches, survey.moments, y, weights)
            kernel = self._new_kernel(moments)
            self.begin(kernel, False, _generator(check_random_state(self.random_state)))
            self._origin = origin_of_moments(moments, np.float32) if offers(kernel, "shift_invariant") else None
            targets = self._targets(y, self._arrays())
            del survey, y  # as long as all targets
            self._fit_batches(batches.seen_by(self), targets, weights)
        return self

    def _moments_in_metric(self, batches, moments, y, weights):
        """The moments of rows as the kernel will see them: with a metric, of those that it is learned from."""
        if self.metric is None and not chooses(self):
            return moments
        n_rows, random_state = moments.n_rows, check_random_state(self.random_state)
        n_some = min(n_rows, most_rows(self.n_features_in_))
        index = np.sort(_generator(random_state).choice(n_rows, n_some, replace=False))
        X = dense_rows(HostSource(HOST, batches.rows, n_rows).take(index))
        targets, some = self._targets(y, HOST), None if weights is None else weights[index]
        return moments_of(self._with_metric(X, lambda: targets[:, index], some, random_state, whole=True))

    def _begin_with(self, X, random_state=None):
        """A machine for rows like these that has learned nothing."""
        kernel = self._new_kernel(X)
        rng = _generator(random_state or check_random_state(self.random_state))
        self.begin(kernel, not isinstance(X, np.ndarray), rng)

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
        if isinstance(self.landmarks, str):
            n_drawn = n_candidates(self.landmarks, self.n_components, n_rows)
            candidates = dense_rows(X[self._rng.choice(n_rows, n_drawn, replace=False)])
        else:
            candidates = self.given_landmarks()
        self._fit_data(Data(lambda: iter((X,)), X, targets, weights), candidates, unit)

    def given_landmarks(self):
        """Landmarks that users pass, as the kernel sees them."""
        return self._as_seen(landmark_rows(self, self.landmarks), np.float32)

    def _fit_batches(self, batches, targets, weights):
        """Learn rows that are read again in every pass."""
        n_rows, unit = targets.shape[1], self._unit(targets, weights)
        if self._device() != "cpu" and (self._is_path() or self._calibrates):
            what = "A list of C" if self._is_path() else "calibrate"
            raise ValueError(f"{what} needs a validation set: on a device, pass arrays to `fit`.")
        weights = np.ones(n_rows, np.float32) if weights is None else weights.astype(np.float32)
        if isinstance(self.landmarks, str):
            n_drawn = n_candidates(self.landmarks, self.n_components, n_rows)
            index = np.sort(self._rng.choice(n_rows, n_drawn, replace=False))
            candidates = self._rng.permutation(dense_rows(HostSource(HOST, batches.rows, n_rows).take(index)))
        else:
            candidates = self.given_landmarks()
        self._fit_data(Data(batches.rows, None, targets, weights), candidates, unit)

    def _fit_data(self, data, candidates, unit):
        arrays = self._arrays()
        is_host, sparse = arrays is HOST, data.X is not None and not isinstance(data.X, np.ndarray)
        self._map = self._new_map(candidates, sparse, for_device=not is_host)
        follows = following(self, None, "steps", has_model=False)
        with blas_threads(None) if is_host else nullcontext(), arrays.products(), follows as progress:
            self._n_iter = self._train(self._storage(arrays), data, unit, progress)
        self._n_fitted, self.n_iter_ = data.n_rows, self._n_iter

    def _new_map(self, candidates, sparse, *, for_device=False):
        with blas_threads(None):
            passes = Passes(self._threads())
            return self.map_plan().new(candidates, self._rng, sparse=sparse, for_device=for_device, passes=passes)

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

    # --- streams --------------------------------------------------------------------------------------------

    def _learn_next(self, attempt, X, targets, weights, *, first):
        """Learn a batch of `partial_fit`: the first one, or one more."""
        if first:
            random_state = check_random_state(self.random_state)
            X = self._with_metric(X, lambda: self._on_own_scale(targets, weights), weights, random_state, whole=False)
            self._begin_with(X)
            X = self._with_origin(X, whole=False)
        else:
            prepare_to_learn(self)
            attempt.begin(X.shape[0])
        self._learn_rows(self._follow(X), targets, weights)

    def _learn_rows(self, X, targets, weights):
        """Learn a batch in its order."""
        # One step after the other: that is for the CPU, whatever `fit` is for.
        X, targets, weights = with_weight(on_host(X), targets, weights)
        with blas_threads(None):
            learned = self._learned()
            stream = learn_batch(
                Stream(self._map, self._steps, self._first), self._method(learned), X, targets, weights
            )
            self._map, self._steps, self._first = stream
        if self._steps is not None:
            self._weights = self._in_units_of_targets(parameters_of(self._steps))

    def _learned(self):
        """What `fit` found, in terms of features; None where there was none."""
        if not hasattr(self, "_n_fitted"):
            return None
        self._first = None  # the map is that of `fit`
        if isinstance(self._map, Nystroem) and self._map.whitening is None:  # which was on a device
            self._map, self._weights = with_whitening(self._map, self._weights, self.eigenvalue_threshold, self.rank)
        return Learned(self._in_units_of_solver(self._weights), self._n_fitted)

    def _method(self, learned):
        """How the stream learns."""
        n_rows = LENGTH if learned is None else learned.n_rows
        return Method(
            solver="asset" if self.solver == "newton" else self.solver,
            average=self.average,
            begin=partial(self._begin_steps, n_rows),
            standardized=self._standardized,
            intercept=self.fit_intercept,
            # Landmarks that are given need not wait for rows.
            n_components=self.n_components if isinstance(self.landmarks, str) else 1,
            new_map=self._stream_map,
            learned=learned,
            threads=self._threads(),
        )

    def _stream_map(self, rows):
        """The map of a stream, from its first rows; None for a map that needs none."""
        if rows is not None and not isinstance(self.landmarks, str):
            rows = self.given_landmarks()
        return self._new_map(rows, self._is_sparse and rows is None)

    def _move_rows(self, shift):
        if self._map is not None:
            self._map = moved_map(self._map, shift)
        if self._first is not None:
            self._first = (self._first[0] - np.float32(shift), *self._first[1:])

    @property
    def t_(self):
        """Number of examples learned from; those of `fit` count once."""
        check_is_fitted(self)
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
        with blas_threads(None):
            return self._values(rows_to_score(self, X, self._threads()))

    def _values(self, X):
        """Decision values of rows as the kernel sees them."""
        return linear_values(self._map, X, self._raw_coefficients(), self._threads()) + self._weights[:, -1]

    @property
    def coef_(self):
        """Weights of the features, shape (n_outputs, n_features of the map)."""
        check_is_fitted(self)
        return self._weights[:, :-1].copy()

    @property
    def intercept_(self):
        """Intercepts, shape (n_outputs,)."""
        check_is_fitted(self)
        return self._weights[:, -1].copy()

    @property
    def landmarks_(self):
        """Landmarks of the Nystroem map, shape (n_landmarks, n_features); None with a Fourier map."""
        check_is_fitted(self)
        return (
            absolute_rows(self._map.landmarks, self._origin, self._metric) if isinstance(self._map, Nystroem) else None
        )

    @property
    def dual_coef_(self):
        """Coefficients of the kernel values with the landmarks, shape (n_outputs, n_landmarks); None otherwise."""
        check_is_fitted(self)
        return np.ascontiguousarray(self._raw_coefficients().T) if isinstance(self._map, Nystroem) else None

    @property
    def gamma_(self):
        """The kernel's gamma as a number."""
        check_is_fitted(self)
        return getattr(self._kernel, "gamma", None)

    @property
    def rank_(self):
        """Number of features: eigenvalues that were kept, or Fourier components."""
        check_is_fitted(self)
        return self._weights.shape[1] - 1

    @property
    def model_bytes_(self):
        """Bytes that prediction needs: the map and one coefficient for each raw feature and output."""
        check_is_fitted(self)
        return map_bytes(self._map) + 4 * (width_of(self._map) + 1) * len(self._weights)
