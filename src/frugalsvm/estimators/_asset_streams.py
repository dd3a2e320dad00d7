"""What ASSET's classifier and regressor learn beyond rows in memory: batches read again and again, and streams."""

import numbers
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from frugalsvm.arrays.namespace import HOST, on_host
from frugalsvm.arrays.sources import HostSource, dense_rows
from frugalsvm.compiling.threads import blas_threads
from frugalsvm.core.capabilities import offers
from frugalsvm.core.moments import moments_of
from frugalsvm.core.seen_rows import origin_of_moments
from frugalsvm.estimators._base import Labels
from frugalsvm.estimators._batches import Batches
from frugalsvm.estimators.automatic import chooses
from frugalsvm.estimators.constraints import (
    check_choice,
    check_count,
    constraints,
    count,
    is_auto,
    one_of,
    optional,
    or_auto,
    positive,
    size,
    strengths,
)
from frugalsvm.estimators.feature_maps import new_generator
from frugalsvm.estimators.kernel_model import FitsAndFollows
from frugalsvm.estimators.low_rank_machine import SOLVERS, LowRankMachine
from frugalsvm.estimators.parameters import parameter, parameters
from frugalsvm.estimators.seen_rows import most_rows
from frugalsvm.estimators.unchanged import unchanged_on_error
from frugalsvm.exceptions import ParameterError
from frugalsvm.lowrank.backends.torch import STORED_AS
from frugalsvm.lowrank.epochs import parameters_of
from frugalsvm.lowrank.losses import losses_for
from frugalsvm.lowrank.maps import moved_map
from frugalsvm.lowrank.nystroem import Nystroem, with_whitening
from frugalsvm.lowrank.stream import LENGTH, Learned, Method, Stream, learn_batch, with_weight
from frugalsvm.lowrank.training import Data


@parameters
class StreamMachine(LowRankMachine, FitsAndFollows):
    """Base of low-rank machines that learn more than rows in memory.

    Subclasses define ``_surveyed`` (targets and weights of all rows, for `fit_batches`).

    Parameters
    ----------
    solver : {"newton", "asset", "asset*"}
        How `fit` solves the problem: truncated Newton, by far the fastest and the only one that comes near the
        optimum; or the stochastic subgradient steps of the paper, ``"asset"`` with steps that fall like
        ``1 / sqrt(t)`` and an unpenalized intercept, ``"asset*"`` with steps of ``1 / (lambda t)``, where an
        intercept is penalized. `partial_fit` takes subgradient steps always, those of "asset" for "newton".
    fit_intercept : bool
    alpha : float
        The regularization strength lambda; replaces C. Set it for streams.
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
    best_validation_score_ : float
        With early stopping.
    landmarks_, dual_coef_ : ndarray or None
        With a Nystroem map: ``decision_function(X) == kernel(X, landmarks_) @ dual_coef_.T + intercept_``.
    n_iter_ : int
        Newton steps, in all stages, or epochs.
    """

    _constraints = constraints(C=or_auto(strengths))
    feature_map: Any = parameter(default="nystroem", kw_only=False)
    n_components: Any = parameter(default=512, kw_only=False)
    metric: Any = None
    solver: Any = parameter(default="newton", check=one_of(SOLVERS))
    fit_intercept: Any = True
    alpha: Any = parameter(default=None, check=optional(positive))
    average: int | str = "suffix"
    early_stopping: Any = False
    validation_fraction: Any = 0.1
    cv: Any = None
    n_iter_no_change: Any = parameter(default=5, check=count())
    device: Any = "cpu"
    dtype: Any = parameter(default="float32", check=one_of(STORED_AS))
    memory_limit: Any = parameter(default=None, check=optional(size))

    def _check_params(self):
        super()._check_params()
        check_choice("loss", self.loss, losses_for(classes=self._for_classes))
        if callable(self.kernel):
            for name, usual in (("metric", None), ("device", "cpu")):
                if getattr(self, name) is not usual and getattr(self, name) != usual:
                    raise ValueError(f"A KernelSum or a kernel function of your own needs {name}={usual!r}.")
        if is_auto(self.C) and not self._for_classes:
            raise ParameterError("C", self.C, "a positive number or a list of them")
        if self.alpha is not None and self._is_path():
            raise ValueError("alpha replaces C: with a list of C, it must be None.")
        self._check_device()
        if self.average is not False and self.average != "suffix":
            check_count("average", self.average)
        share = self.validation_fraction
        if self._holds_out() and not (isinstance(share, numbers.Real) and 0 < float(share) < 1):
            raise ParameterError("validation_fraction", share, "between 0 and 1")
        self._check_path()

    def _check_device(self):
        if self._device() == "cpu":
            return
        self._arrays()  # says what is missing
        for name, usual in (("solver", "newton"), ("early_stopping", False)):
            if getattr(self, name) != usual:
                raise ValueError(f"{name}={getattr(self, name)!r} is for device='cpu', not {self.device!r}.")

    # --- batches --------------------------------------------------------------------------------------------

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
            if weights is not None and not weights.all():
                known = np.flatnonzero(weights)
                batches, weights = batches.only(known), weights[known]
                y = y.at(known) if isinstance(y, Labels) else y[:, known]
            moments = self._moments_in_metric(batches, survey.moments, y, weights)
            kernel = self._new_kernel(moments)
            self.begin(kernel, False, new_generator(check_random_state(self.random_state)))
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
        index = np.sort(new_generator(random_state).choice(n_rows, n_some, replace=False))
        X = dense_rows(HostSource(HOST, batches.rows, n_rows).take(index))
        targets, some = self._targets(y, HOST), None if weights is None else weights[index]
        return moments_of(self._with_metric(X, lambda: targets[:, index], some, random_state, whole=True))

    def _fit_batches(self, batches, targets, weights):
        """Learn rows that are read again in every pass."""
        n_rows, unit = targets.shape[1], self._unit(targets, weights)
        if self._device() != "cpu" and (self._is_path() or self._calibrates):
            what = "A list of C" if self._is_path() else "calibrate"
            raise ValueError(f"{what} needs a validation set: on a device, pass arrays to `fit`.")
        weights = np.ones(n_rows, np.float32) if weights is None else weights.astype(np.float32)

        def rows_at(index):
            return self._rng.permutation(dense_rows(HostSource(HOST, batches.rows, n_rows).take(np.sort(index))))

        candidates = self._candidates(n_rows, rows_at, self._rng)
        self._fit_data(Data(batches.rows, None, targets, weights), candidates, unit)

    # --- streams --------------------------------------------------------------------------------------------

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
        return self._new_map(rows, self._is_sparse and rows is None, self._rng)

    def _move_rows(self, shift):
        if self._map is not None:
            self._map = moved_map(self._map, shift)
        if self._first is not None:
            self._first = (self._first[0] - np.float32(shift), *self._first[1:])

    def _in_units_of_solver(self, parameters):
        """The other way round."""
        return parameters

    def _begin_steps(self, n_rows, targets, weights):
        """The loss and the penalty of a stream that begins with some targets, as if it had ``n_rows`` rows."""
        return self.new_loss(), self.penalty_for(getattr(self, "C_", self._all_C()[-1]), n_rows)

    def _standardized(self, targets):
        """Targets (n_outputs, n_rows) as the solver takes them."""
        return targets
