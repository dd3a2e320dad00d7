"""What classifiers that learn in the dual share: a solver, selective sampling, duality gaps, model files."""

import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from frugalsvm._locks import shared
from frugalsvm.compiling.threads import blas_threads
from frugalsvm.core.expansion import moved_rows
from frugalsvm.core.outputs import n_outputs_for, signs
from frugalsvm.core.predict import decision_values
from frugalsvm.dual.duality_gap import NotTheProblemError, member_gap, training_gap
from frugalsvm.dual.online import learn, new_solver, remembered, solver_of
from frugalsvm.dual.selective_sampling import SELECTIONS, PackedSupport, most_informative, selected_rows
from frugalsvm.dual.state import support_of, trimmed
from frugalsvm.estimators._base import OnlineClassifier
from frugalsvm.estimators._precomputed import PrecomputedKernel
from frugalsvm.estimators._saved import (
    CLASSIFIER,
    OPTIONAL,
    as_predictor,
    check_loaded_parameters,
    expansion_is_sound,
    is_path_of_C,
    predictor_saved,
)
from frugalsvm.estimators._scoring import Scorer
from frugalsvm.estimators.constraints import constraints, count, one_of, optional, positive
from frugalsvm.estimators.expansion_model import PassParameters
from frugalsvm.estimators.labels import encoded_labels, example_weights
from frugalsvm.estimators.parameters import learned, parameter, parameters
from frugalsvm.persist.savable import Saved, with_new_names
from frugalsvm.persist.values import array, is_positive, or_none, part


def _is_sound(model):
    (state, cache), learner = model._solver, model._learner
    n_outputs, rows = n_outputs_for(len(model.classes_)), state.working_set.rows
    right = state.working_set.n_outputs == n_outputs and cache.place.size == rows.shape[0]
    right = right and cache.values.dtype == rows.dtype and learner.kernel == model._kernel
    if hasattr(learner, "lag"):
        right = right and learner.lag.shape[0] == n_outputs
        right = right and int(learner.moved.max(initial=-1)) < rows.shape[0]
    return bool(right) and expansion_is_sound(model)


def with_learner(*names):
    """How model files hold a classifier whose algorithm is one of these parts."""
    return Saved(
        {
            **CLASSIFIER, "_solver": part("dual-machine"), "_slot_of_row": or_none(array("i", 1)),
            "_learner": part(*names),
        },
        {**OPTIONAL, "C_": is_positive, "path_": is_path_of_C}, _is_sound, check_loaded_parameters, as_predictor,
        predictor_saved(), renamed={"_machine": "_solver"},
    )  # fmt: skip


@parameters
class DualClassifier(PrecomputedKernel, PassParameters, OnlineClassifier):
    """Base of classifiers that learn in the dual.

    Subclasses define ``_new_learner`` (the part of `frugalsvm.dual` that is their algorithm); where it applies, what
    `fit` does at its end (``_finish``), whether all examples are kept (``_keeps_all``), whether there is no duality gap
    (``_refuse_gap``), and coefficients that differ from the last iterate (``_slot_coefficients``).

    Parameters
    ----------
    selection : {"random", "margin", "gradient"}
        Which example `fit` learns next: any, or out of a random pool of unseen ones the one nearest to the boundary,
        or the one that violates its margin most.
    pool_size : int
        Size of that pool.
    n_selected : int
        Stop after this many selected examples; None learns all.
    cache_size : float
        Megabytes for kernel values that are kept.
    class_weight : dict, "balanced" or None
        Factors of ``C`` for the classes ("balanced" in `fit` only).
    n_jobs : int
        Threads for predictions, and for matrix products in learning that are large; None is one, -1 all cores.
    """

    _constraints = constraints(C=positive)
    selection: Any = parameter(default="random", check=one_of(SELECTIONS))
    pool_size: Any = parameter(default=50, check=count())
    n_selected: Any = parameter(default=None, check=optional(count()))
    cache_size: float = parameter(default=200, check=positive)
    _changed_in_place = ("_solver", "_learner")

    def _current_learner(self):
        """The learner for the present parameters, which may have been set again."""
        return self._learner

    def _slot_coefficients(self):
        """The coefficients of all slots in the model that predicts."""
        return self._solver.state.working_set.coef

    _keeps_all: ClassVar[Any] = False  # whether all examples stay members

    def _refuse_gap(self) -> None:
        """Raise a ValueError where the training problem is not convex."""

    _C = property(lambda self: self.C, doc="The penalty as a number, or what was set instead, which is refused later.")

    def _check_params(self):
        super()._check_params()
        if self.n_selected is not None and self.selection == "random":
            raise ValueError(
                "n_selected is for selection='margin' or 'gradient'; to learn a random subset, pass fewer rows."
            )

    def _start(self, X, targets, random_state, *, whole):
        classes = targets.classes
        self._kernel = self._new_kernel(X)
        self._solver = new_solver(X.shape[1], n_outputs_for(len(classes)), X.dtype, self._cache_bytes)
        self._learner = self._new_learner(self._kernel, random_state)
        self._slot_of_row = None
        self.classes_ = classes

    _cache_bytes = property(lambda self: int(self.cache_size * 2**20))

    def __getstate__(self):
        """Everything but the cache of kernel rows, which is as large as ``cache_size`` says, and unused room."""
        attributes = dict(super().__getstate__())
        if "_solver" in attributes:
            attributes["_solver"] = trimmed(attributes["_solver"].state)
        return attributes

    def __setstate__(self, attributes):
        attributes = with_new_names(type(self), attributes)
        super().__setstate__(attributes)
        if "_solver" in attributes:
            self._solver = solver_of(attributes["_solver"], self._cache_bytes)

    def _empty_caches(self):
        state, cache = self._solver
        self._solver = solver_of(state, self._cache_bytes, cache.buffer)

    # --- learning -----------------------------------------------------------------------------------------

    def _learn(self, X, labels, weights, order):
        n_slots = int(self._solver.state.working_set.counts[0]["n_slots"])
        with self._products_with(n_slots + X.shape[0] // 4):  # about as many become members
            self._learn_rows(X, labels, self._boxes(X, weights), order)

    def _boxes(self, X, weights):
        return np.full(X.shape[0], float(self._C)) if weights is None else self._C * weights

    def _learn_rows(self, X, labels, boxes, order):
        self._learner = self._current_learner()
        self._solver = learn(self._learner, self._solver, X, labels, boxes, order, self._slot_of_row)

    _judges_on_its_way = property(lambda self: self.selection == "random")

    def _passes(self, X, labels, weights, random_state):
        self._slot_of_row = remembered(X.shape[0]) if self.max_iter > 1 else None
        if self.selection == "random":
            super()._passes(X, labels, weights, random_state)
        else:
            with blas_threads(1):  # of a small pool, and of single rows
                for _ in range(self.max_iter):
                    self._learn_selected(X, labels, weights, random_state)
        self._slot_of_row = None  # the next rows are other rows

    def _learn_selected(self, X, labels, weights, random_state):
        unseen = random_state.permutation(X.shape[0] if weights is None else np.flatnonzero(weights))
        n_selected = len(unseen) if self.n_selected is None else min(self.n_selected, len(unseen))
        boxes, support = self._boxes(X, weights), PackedSupport(self._solver.state.working_set)

        def choose(pool):
            return self._pick(X[pool], labels[pool], support)

        for row in selected_rows(unseen, n_selected, self.pool_size, random_state, choose):
            self._learn_rows(X, labels, boxes, np.array([row]))

    def _pick(self, X, labels, support):
        """The index of the example that is to be learned next."""
        state = self._solver.state
        expansion = support.update(state.working_set, self._slot_coefficients())
        values = decision_values(self._kernel, expansion, X, in_float64=True) + state.sums["bias"]
        state.working_set.counts[0]["n_kernel_evals"] += X.shape[0] * expansion.counts[0]["n_slots"]
        return most_informative(self.selection, values, labels)

    # --- what was learned ---------------------------------------------------------------------------------

    @property
    def _expansion(self):  # type: ignore[override]
        if self._predictor is not None:
            return self._predictor.expansion()
        return support_of(self._solver.state, self._slot_coefficients())

    def _move_rows(self, shift):
        solver = self._solver
        moved = solver.state._replace(working_set=moved_rows(solver.state.working_set, shift))
        self._solver = solver._replace(state=moved)  # kernel values stay what they are

    @property
    def _dtype(self):
        return (self._solver.state.working_set if self._predictor is None else self._predictor).rows.dtype

    def _scorer(self):
        return Scorer(self._kernel, self._expansion, self.intercept_, in_float64=True)

    @learned
    def intercept_(self):
        """The bias of each output; zero for variants without one."""
        bias = self._solver.state.sums["bias"] if self._predictor is None else self._predictor.intercept
        return bias.copy()

    @learned
    def n_support_(self):
        """Number of support vectors of each output."""
        return self._solver.state.counts["n_support"].copy()

    # --- duality gaps -------------------------------------------------------------------------------------

    @learned
    def member_gap_(self):
        """Primal minus dual objective over the members, of the last iterate, summed over the outputs.

        It bounds what more steps on the members could gain. Examples that are no members have losses, too, which are
        not in it: see `duality_gap`. It is made of gradients that are kept in the type of the rows: those of float32
        rows are rounded, each to about a millionth of the sum of the coefficients.
        """
        return member_gap(self._solver.state)

    @property
    def duality_gap_(self):
        """The same as ``member_gap_``, where all examples are members; otherwise that name is deprecated."""
        gap = self.member_gap_
        if not self._keeps_all:
            warnings.warn(
                "duality_gap_ is over the members only, and no bound for the whole training problem: it is now called "
                "member_gap_, and duality_gap(X, y) is such a bound. The old name will be removed.",
                FutureWarning,
                stacklevel=2,
            )
        return gap

    @shared
    def duality_gap(self, X, y, sample_weight=None):
        """Primal minus dual objective of the whole training problem, summed over the outputs: a bound.

        The primal objective ``|w|^2 / 2 + sum_i C weight_i max(0, 1 - y_i f(x_i))`` of this model is above the smallest
        by no more than that. It is computed again, in float64, with ``n_samples`` times ``n_support_vectors`` kernel
        values.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            All rows that the model has learned; those of several calls of `partial_fit` one below the other.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            As in `fit`.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        self._refuse_gap()
        X, y, seen = self._validated(X, y, reset=False)
        labels = encoded_labels(y, seen, self.classes_, may_grow=False)
        weights = example_weights(sample_weight, self.class_weight, X, self.classes_, labels)
        support, bias = self._expansion, self._solver.state.sums["bias"]
        try:
            with blas_threads(self.n_jobs):
                return training_gap(self._kernel, support, bias, X, signs(labels, len(bias)), self._boxes(X, weights))
        except NotTheProblemError as error:
            raise ValueError(
                f"duality_gap needs all rows that the model has learned, with the same weights and C: {error}."
            ) from error
