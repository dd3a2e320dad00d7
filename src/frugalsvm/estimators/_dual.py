"""What the classifiers share that learn in the dual: the machine, the published numbers, selective sampling."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from frugalsvm.core.expansion import N_SLOTS
from frugalsvm.core.predict import decision_values
from frugalsvm.dual.learn import Machine, learn, machine_of, new_machine, remembered
from frugalsvm.dual.state import BIAS, N_SUPPORT, support_of
from frugalsvm.estimators._base import blas_threads, new_kernel
from frugalsvm.estimators._classes import n_outputs_for
from frugalsvm.estimators._online import OnlineClassifier, closeness
from frugalsvm.estimators._validation import check_choice, check_count, check_positive, validated_rows

__all__ = ["DualClassifier"]

SELECTIONS = ("random", "margin", "gradient")


class DualClassifier(OnlineClassifier):
    """Base of classifiers with a dual machine; subclasses define ``_new_learner``."""

    _machine: Machine

    def _new_learner(self, kernel, random_state):
        raise NotImplementedError

    def _check_dual_params(self):
        check_positive("C", self.C)
        check_positive("cache_size", self.cache_size)
        check_count("max_iter", self.max_iter)
        check_choice("selection", self.selection, SELECTIONS)
        check_count("pool_size", self.pool_size)
        if self.n_selected is not None:
            check_count("n_selected", self.n_selected)
            if self.selection == "random":
                raise ValueError("n_selected is for selection='margin' or 'gradient'; a random choice is up to you.")

    def _start(self, X, classes, random_state):
        self._kernel = new_kernel(self.kernel, self.gamma, self.degree, self.coef0, X)
        n_outputs = n_outputs_for(len(classes))
        self._machine = new_machine(X.shape[1], n_outputs, X.dtype, int(self.cache_size * 2**20))
        self._learner = self._new_learner(self._kernel, random_state)
        self._slot_of_row = None
        self.classes_ = classes

    def _current_learner(self):
        """The learner for the present parameters, which may have been set anew."""
        return self._learner

    def __getstate__(self):
        """Everything but the cache of kernel rows, which is as large as ``cache_size`` says."""
        state = dict(super().__getstate__())
        if "_machine" in state:
            state["_machine"] = state["_machine"].dual
        return state

    def __setstate__(self, state):
        super().__setstate__(state)
        if "_machine" in state:
            self._machine = machine_of(state["_machine"], int(self.cache_size * 2**20))

    # --- learning -----------------------------------------------------------------------------------------

    def _learn(self, X, labels, weights, order):
        self._learner = self._current_learner()
        boxes = np.full(X.shape[0], float(self.C)) if weights is None else self.C * weights
        with blas_threads(self.n_jobs):
            self._machine = learn(self._learner, self._machine, X, labels, boxes, order, self._slot_of_row)

    def _passes(self, X, labels, weights, random_state):
        self._slot_of_row = remembered(X.shape[0]) if self.max_iter > 1 else None
        if self.selection == "random":
            super()._passes(X, labels, weights, random_state)
        else:
            for _ in range(self.max_iter):
                self._learn_selected(X, labels, weights, random_state)
        self._slot_of_row = None  # the next rows are other rows

    def _learn_selected(self, X, labels, weights, random_state):
        """Pick the next example from a pool of unseen ones again and again, until all are seen or enough."""
        unseen = random_state.permutation(X.shape[0] if weights is None else np.flatnonzero(weights))
        n_picked = len(unseen) if self.n_selected is None else min(self.n_selected, len(unseen))
        for k in range(n_picked):
            n_left = len(unseen) - k
            size = min(self.pool_size, n_left)
            chosen = random_state.choice(n_left, size, replace=False) if size < n_left else np.arange(n_left)
            pool = unseen[chosen]
            best = chosen[self._pick(X[pool], labels[pool])] if k > 0 else chosen[0]
            row = unseen[best]
            unseen[best] = unseen[n_left - 1]
            self._learn(X, labels, weights, np.array([row]))

    def _pick(self, X, labels):
        """The place of the example that is to be learned next."""
        values = self._raw_scores(X)
        if self.selection == "margin":
            return int(np.argmin(closeness(values)))
        if values.shape[1] == 1:
            return int(np.argmin(np.where(labels == 1, values[:, 0], -values[:, 0])))
        own = values[np.arange(len(labels)), labels]
        return int(np.argmin(own))

    # --- what was learned ---------------------------------------------------------------------------------

    @property
    def _expansion(self):  # type: ignore[override]
        return support_of(self._machine.dual)

    @property
    def _dtype(self):
        return self._machine.dual.members.rows.dtype

    def _coefficients(self):
        expansion = self._expansion
        return expansion.coef[:, : expansion.counts[N_SLOTS]].T

    def _raw_scores(self, X):
        values = decision_values(self._kernel, self._expansion, X, in_float64=True)
        return values + self._machine.dual.sums[:, BIAS]

    def _scores(self, X):
        check_is_fitted(self)
        X = validated_rows(self, X, reset=False, dtype=self._dtype)
        with blas_threads(self.n_jobs):
            return self._raw_scores(X)

    @property
    def intercept_(self):
        """The bias of each output; zero for variants without one."""
        check_is_fitted(self)
        return self._machine.dual.sums[:, BIAS].copy()

    @property
    def n_support_(self):
        """Number of support vectors of each output."""
        check_is_fitted(self)
        return self._machine.dual.tallies[:, N_SUPPORT].copy()

    @property
    def duality_gap_(self):
        """Primal minus dual objective on the members, summed over the outputs; zero is optimal."""
        check_is_fitted(self)
        dual = self._machine.dual
        n = dual.members.counts[N_SLOTS]
        gradient, alpha, bound = dual.gradient[:, :n], dual.members.coef[:, :n], dual.bound[:, :n]
        hinge = np.maximum(bound * (gradient - dual.sums[:, BIAS, None]), 0.0)
        return float(np.sum(hinge - alpha * gradient))
