"""What ASSET's classifier and regressor share: parameters, feature maps, training, scores."""

import numbers
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from frugalsvm.asset.fourier import new_fourier, prefers_structured
from frugalsvm.asset.landmarks import SAMPLE_PER_LANDMARK, place_landmarks
from frugalsvm.asset.maps import linear_values, map_bytes, whitening_of, width_of
from frugalsvm.asset.nystroem import Nystroem, new_nystroem
from frugalsvm.asset.solve import Settings, certified, solve_warm
from frugalsvm.core.capabilities import check_kernel
from frugalsvm.core.kernels import KERNELS, RBF
from frugalsvm.device.arrays import arrays_on, best_device
from frugalsvm.estimators._asset_device import DTYPES, device_values, host_rows, new_device_map, solve_on_device
from frugalsvm.estimators._asset_steps import run_epochs
from frugalsvm.estimators._base import blas_threads, new_kernel
from frugalsvm.estimators._low_rank import Data, Watcher, new_training, scores_on, solve_path
from frugalsvm.estimators._origin import RelativeRows
from frugalsvm.estimators._threads import thread_count
from frugalsvm.estimators._validation import (
    AS_IT_IS,
    check_choice,
    check_count,
    check_positive,
    parsed_bytes,
)
from frugalsvm.estimators._warnings import warn_at_limit, warn_if_above
from frugalsvm.exceptions import ParameterError

__all__ = ["FEATURE_MAPS", "SOLVERS", "LowRankMachine", "dense_rows", "with_weight"]

FEATURE_MAPS = ("nystroem", "fourier")
SOLVERS = ("newton", "asset", "asset*")
LANDMARKS = ("uniform", "kmeans++", "kmeans")
_NEWTON_STEPS, _EPOCHS = 30, 20  # unless max_iter says otherwise


def dense_rows(X):
    """Rows as a float32 array."""
    return np.ascontiguousarray(X if isinstance(X, np.ndarray) else X.toarray(), np.float32)


def with_weight(X, targets, weights):
    """Rows, targets and weights in float32, without the rows of weight 0; None stands for weights of 1."""
    weights = np.ones(X.shape[0], np.float32) if weights is None else weights.astype(np.float32)
    if weights.all():
        return X, targets, weights
    keep = np.flatnonzero(weights)
    return X[keep], targets[:, keep], weights[keep]


def _held_apart(data, share, rng):
    """Data without some rows, and these rows."""
    if data.X is None:
        raise ValueError("A list of C needs rows that can be held apart: on a device, pass arrays to `fit`.")
    n_held = int(np.ceil(share * data.n_rows))
    if n_held >= data.n_rows:
        raise ValueError(f"validation_fraction={share!r} leaves none of the {data.n_rows} rows to learn from.")
    order = rng.permutation(data.n_rows)
    parts = (np.sort(index) for index in (order[n_held:], order[:n_held]))
    return [Data(iter, data.X[part], data.targets[:, part], data.weights[part]) for part in parts]


class LowRankMachine(RelativeRows, BaseEstimator):
    """Base of estimators that are linear in Nystroem or Fourier features.

    The model is ``_map`` and ``_unknowns``, an output's weights and intercept in each row.
    """

    _map: Any
    _rng: np.random.Generator
    _unknowns: np.ndarray
    _n_iter: int
    _n_fitted: int
    _in_float32 = True

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

    def _check_machine(self):
        check_choice("feature_map", self.feature_map, FEATURE_MAPS)
        check_choice("solver", self.solver, SOLVERS)
        check_choice("landmarks", self.landmarks, LANDMARKS)
        check_choice("kernel", self.kernel, KERNELS)
        check_choice("structured", self.structured, ("auto", True, False))
        check_count("n_components", self.n_components)
        if self.feature_map == "fourier":
            check_kernel("feature_map", "fourier", ("gaussian",), self.kernel, "use feature_map='nystroem'")
        for value in self._all_C():
            check_positive("C", value)
        if self.alpha is not None:
            check_positive("alpha", self.alpha)
            if self._is_path():
                raise ValueError("alpha takes the place of C: with a list of C, it must be None.")
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
        if self._is_path() and self.solver != "newton":
            raise ValueError(f"A list of C needs solver='newton', not {self.solver!r}.")

    def _check_device(self):
        check_choice("dtype", self.dtype, DTYPES)
        if self.memory_limit is not None:
            parsed_bytes("memory_limit", self.memory_limit)
        if self._device() == "cpu":
            return
        self._arrays()  # says what is missing
        for name, usual in (("solver", "newton"), ("early_stopping", False)):
            if getattr(self, name) != usual:
                raise ValueError(f"{name}={getattr(self, name)!r} is for device='cpu', not {self.device!r}.")

    def _is_path(self):
        return not isinstance(self.C, numbers.Real)

    def _all_C(self):
        """The values of C in increasing order."""
        if not self._is_path():
            return [self.C]
        try:
            values = sorted(set(self.C))
        except TypeError:
            values = []
        if not values:
            raise ParameterError("C", self.C, "a positive number or a list of them")
        return values

    def _holds_out(self):
        return self.early_stopping or self._is_path()

    def _penalty(self, C, n_rows):
        return float(self.alpha) if self.alpha is not None else 1.0 / (C * n_rows)

    # --- feature maps ---------------------------------------------------------------------------------------

    def _n_candidates(self, n_rows):
        """How many rows landmarks are made from."""
        per_landmark = 1 if self.landmarks == "uniform" else SAMPLE_PER_LANDMARK
        return min(n_rows, per_landmark * self.n_components)

    def _new_map(self, kernel, candidates, sparse, rng):
        """A map for a kernel; ``candidates`` are dense rows from which landmarks are made."""
        if self.feature_map == "nystroem":
            landmarks = place_landmarks(self.landmarks, candidates, self.n_components, rng)
            return new_nystroem(kernel, landmarks, self.eigenvalue_threshold, self.rank)
        assert isinstance(kernel, RBF)
        n_features = self.n_features_in_
        structured = self.structured
        if structured == "auto":
            structured = prefers_structured(n_features, self.n_components, sparse)
        return new_fourier(n_features, self.n_components, kernel.gamma, rng, structured)

    def _kernel_for(self, X):
        return new_kernel(self.kernel, self.gamma, self.degree, self.coef0, X)

    # --- batch training -------------------------------------------------------------------------------------

    def _fit_rows(self, X, targets, weights, loss, unit):
        """Learn rows in memory."""
        X, targets, weights = with_weight(X, targets, weights)
        n_rows = X.shape[0]
        if not n_rows:
            raise ValueError("All weights are zero: there is nothing to learn.")
        candidates = self._rng.choice(n_rows, self._n_candidates(n_rows), replace=False)
        self._fit_data(Data(lambda: iter((X,)), X, targets, weights), host_rows(X, candidates), loss, unit)

    def _fit_data(self, data, candidates, loss, unit):
        if self._device() != "cpu":
            self._n_iter = self._fit_on_device(data, candidates, loss, unit)
            self._n_fitted = data.n_rows
            return
        sparse = data.X is not None and not isinstance(data.X, np.ndarray)
        with blas_threads(self.n_jobs):
            self._map = self._new_map(self._kernel, candidates, sparse, self._rng)
            self._n_iter = self._train(data, loss, unit, self._rng)
        self._n_fitted = data.n_rows

    def _fit_on_device(self, data, candidates, loss, unit):
        """The same on a device; returns the number of Newton steps."""
        arrays, rng = self._arrays(), self._rng
        device_map = new_device_map(self, arrays, candidates, rng)
        memory = arrays.free_bytes() if self.memory_limit is None else parsed_bytes("memory_limit", self.memory_limit)
        settings = Settings(self.tol, self.max_iter or _NEWTON_STEPS, unit)

        def solved(part, values_of_C, start=None):
            penalties = [self._penalty(C, part.n_rows) for C in values_of_C]
            return solve_on_device(self, arrays, device_map, part, loss, unit, penalties, settings, memory, rng, start)

        self._map = device_map.kept
        if not self._is_path():
            solutions, _ = solved(data, self._all_C())
            self._publish(solutions[0])
            return solutions[0].n_iter
        known, held = _held_apart(data, self.validation_fraction, rng)
        solutions, unknowns = solved(known, self._all_C())
        scores = []
        for solution in solutions:
            self._unknowns = solution.unknowns
            values = device_values(self, arrays, held.X).T
            scores.append(self._quality(values, arrays.host(held.targets), held.weights))
        best = self._tell_path(scores, solutions)
        final, _ = solved(data, [self.C_], unknowns[best])
        self._publish(final[0])
        return sum(each.n_iter for each in (*solutions, *final))

    def _train(self, data, loss, unit, rng):
        """Learn rows in batch; returns the number of Newton steps or epochs."""
        memory = parsed_bytes("memory", self.memory)
        share = self.validation_fraction if self._holds_out() else 0.0
        by_newton = self.solver == "newton"
        training = new_training(self._map, data, loss, self.fit_intercept, memory, share, rng, whiten=not by_newton)
        watcher = Watcher(training, self._quality, self.n_iter_no_change) if self.early_stopping else None
        train = self._train_newton if by_newton else self._train_steps
        return train(training, unit, watcher, rng)

    def _train_newton(self, training, unit, watcher, rng):
        """Solve for all values of C, and keep the best."""
        settings = Settings(self.tol, self.max_iter or _NEWTON_STEPS, unit)
        penalties = [self._penalty(C, training.task.rows.n_rows) for C in self._all_C()]
        if self._is_path():
            solutions = solve_path(training, penalties, settings, rng)
            self._publish(self._best_of_path(training, solutions, settings, rng))
        else:
            solutions = solve_path(training, penalties, settings, rng, watcher)
            task = training.task._replace(penalty=penalties[0])
            self._warn_if_watched_in_vain(watcher, solutions[0].converged, settings.max_iter)
            self._publish(solutions[0] if watcher is None else self._best_watched(watcher, task, unit, rng))
        return sum(each.n_iter for each in solutions)

    def _train_steps(self, training, unit, watcher, rng):
        """Epochs of subgradient steps."""
        task = training.task._replace(penalty=self._penalty(self.C, training.task.rows.n_rows))
        n_epochs = self.max_iter or _EPOCHS
        unknowns, n_taken = run_epochs(self.solver, self.average, task, self._map, n_epochs, watcher, rng)
        self._warn_if_watched_in_vain(watcher, n_taken < n_epochs, n_epochs)
        if watcher is None:
            self._publish(certified(task, unknowns, unit, rng))
        else:
            self._publish(self._best_watched(watcher, task, unit, rng))
        return n_taken

    def _warn_if_watched_in_vain(self, watcher, ended, n_most):
        """Tell if early stopping did not come to stop."""
        if watcher is not None and not (watcher.is_done or ended):
            rising = f"the score on the validation rows still rose within the last {self.n_iter_no_change} steps"
            advice = f"{rising}; raise max_iter"
            warn_at_limit(self, f"max_iter={n_most}", advice)

    def _best_watched(self, watcher, task, unit, rng):
        """The solution that did best on the held rows."""
        self.best_validation_score_ = watcher.best
        return certified(task, watcher.unknowns, unit, rng)

    def _publish(self, solution):
        """Keep a solution; tell its objective, and how far above the optimum it may be at most."""
        self._unknowns = solution.unknowns
        self.objective_ = float(solution.objectives.sum())
        self.suboptimality_bound_ = float((solution.objectives - solution.bounds).sum())
        warn_if_above(self, solution.converged, self.max_iter or _NEWTON_STEPS)

    def _best_of_path(self, training, solutions, settings, rng):
        """The solution on all rows for the value of C that does best on the held ones."""
        held = training.held
        scores = [self._quality(scores_on(training, held, s.unknowns), held.targets, held.weights) for s in solutions]
        best = self._tell_path(scores, solutions)
        whole = training.whole._replace(penalty=self._penalty(self.C_, training.whole.rows.n_rows))
        return solve_warm(whole, solutions[best].unknowns, settings, rng)

    def _tell_path(self, scores, solutions):
        """Publish how all values of C did; returns the number of the best."""
        best = int(np.argmax(scores))
        self.C_ = self._all_C()[best]
        self.path_ = {
            "C": np.array(self._all_C()),
            "validation_score": np.array(scores),
            "objective": np.array([s.objectives.sum() for s in solutions]),
            "suboptimality_bound": np.array([(s.objectives - s.bounds).sum() for s in solutions]),
        }
        return best

    # --- scores ---------------------------------------------------------------------------------------------

    def _raw_coefficients(self):
        """Coefficients of raw features, one column per output."""
        weights, whitening = self._unknowns[:, :-1], whitening_of(self._map)
        return (weights if whitening is None else weights @ whitening.T).T

    def _output(self, X, arrays=None):
        """Decision values, one column per output; computed on a given device, or on the machine's own."""
        check_is_fitted(self)
        arrays = arrays or (self._arrays() if self._device() != "cpu" else None)
        if arrays is not None and arrays.is_torch:
            return device_values(self, arrays, self._known_rows(X, AS_IT_IS))
        X = self._known_rows(X, None)
        with blas_threads(self.n_jobs):
            return linear_values(self._map, X, self._raw_coefficients()) + self._unknowns[:, -1]

    @property
    def coef_(self):
        """Weights of the features, shape (n_outputs, n_features of the map)."""
        check_is_fitted(self)
        return self._unknowns[:, :-1].copy()

    @property
    def intercept_(self):
        """Intercepts, shape (n_outputs,)."""
        check_is_fitted(self)
        return self._unknowns[:, -1].copy()

    @property
    def landmarks_(self):
        """Landmarks of the Nystroem map, shape (n_landmarks, n_features); None with a Fourier map."""
        check_is_fitted(self)
        return self._absolute(self._map.landmarks) if isinstance(self._map, Nystroem) else None

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
        return self._unknowns.shape[1] - 1

    @property
    def model_bytes_(self):
        """Bytes that prediction needs: the map and one coefficient for each raw feature and output."""
        check_is_fitted(self)
        return map_bytes(self._map) + 4 * (width_of(self._map) + 1) * len(self._unknowns)
