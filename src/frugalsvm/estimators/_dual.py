"""What the classifiers share that learn in the dual: the machine, the published numbers, selective sampling."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from frugalsvm.core.expansion import Expansion, moved_rows, new_expansion, resized
from frugalsvm.core.outputs import n_outputs_for
from frugalsvm.core.predict import decision_values
from frugalsvm.dual.learn import Machine, learn, machine_of, new_machine, remembered
from frugalsvm.dual.state import BIAS, CHUNK, N_SUPPORT, support_of
from frugalsvm.estimators._base import blas_threads, new_kernel
from frugalsvm.estimators._online import closeness
from frugalsvm.estimators._training_gap import TrainingGap
from frugalsvm.estimators._validation import check_choice, check_count, check_positive

__all__ = ["DualClassifier"]

_PER_SLOT = ("gradient", "truth", "bound", "up", "down", "zone", "row", "free")
SELECTIONS = ("random", "margin", "gradient")


def without_room(dual):
    """A copy of the state with room for the slots in use alone."""
    members = resized(dual.members, 1)
    capacity = members.rows.shape[0]
    cut = {name: np.ascontiguousarray(getattr(dual, name)[..., :capacity]) for name in _PER_SLOT}
    worst = np.ascontiguousarray(dual.worst[:, : capacity // CHUNK + 1])
    return dual._replace(members=members, worst=worst, **cut)


class PackedSupport:
    """The support vectors side by side, for scoring again and again while the model changes.

    Only those that are new since the last time are copied, into the places of those that are none any more.
    """

    packed: Expansion

    def __init__(self, members):
        self._start(members)

    def _start(self, members):
        capacity, n_features = members.rows.shape
        self.packed = new_expansion(capacity, n_features, members.n_outputs, members.rows.dtype)
        self.slot = np.zeros(capacity, np.int64)

    def update(self, members, coef):
        """The expansion with the slots of ``members`` that have a coefficient other than zero in ``coef``."""
        if members.rows.shape[0] > len(self.slot):
            self._start(members)
        packed, slot = self.packed, self.slot
        lacking = (coef[:, : members.counts[0]["n_slots"]] != 0.0).any(axis=0)
        n = np.count_nonzero(lacking)
        n_known = min(n, packed.counts[0]["n_slots"])
        known = slot[:n_known]
        stays = np.zeros(n, bool)
        # A slot that another example has taken has another birth.
        stays[:n_known] = lacking[known] & (packed.births[:n_known] == members.births[known])
        lacking[slot[:n][stays]] = False
        places, new = np.flatnonzero(~stays), np.flatnonzero(lacking)
        slot[places] = new
        packed.rows[places], packed.norms[places] = members.rows[new], members.norms[new]
        packed.births[places] = members.births[new]
        packed.coef[:, :n] = coef[:, slot[:n]]
        packed.counts[0]["n_slots"] = n
        return packed


class DualClassifier(TrainingGap):
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
        """Everything but the cache of kernel rows, which is as large as ``cache_size`` says, and unused room."""
        state = dict(super().__getstate__())
        if "_machine" in state:
            state["_machine"] = without_room(state["_machine"].dual)
        return state

    def __setstate__(self, state):
        super().__setstate__(state)
        if "_machine" in state:
            self._machine = machine_of(state["_machine"], int(self.cache_size * 2**20))

    # --- learning -----------------------------------------------------------------------------------------

    def _learn(self, X, labels, weights, order):
        with blas_threads(self.n_jobs):
            self._learn_rows(X, labels, self._boxes(X, weights), order)

    def _boxes(self, X, weights):
        return np.full(X.shape[0], float(self.C)) if weights is None else self.C * weights

    def _learn_rows(self, X, labels, boxes, order):
        self._learner = self._current_learner()
        self._machine = learn(self._learner, self._machine, X, labels, boxes, order, self._slot_of_row)

    def _passes(self, X, labels, weights, random_state):
        self._slot_of_row = remembered(X.shape[0]) if self.max_iter > 1 else None
        if self.selection == "random":
            super()._passes(X, labels, weights, random_state)
        else:
            with blas_threads(self.n_jobs):
                for _ in range(self.max_iter):
                    self._learn_selected(X, labels, weights, random_state)
        self._slot_of_row = None  # the next rows are other rows

    def _learn_selected(self, X, labels, weights, random_state):
        """Pick the next example from a pool of unseen ones again and again, until all are seen or enough."""
        unseen = random_state.permutation(X.shape[0] if weights is None else np.flatnonzero(weights))
        n_picked = len(unseen) if self.n_selected is None else min(self.n_selected, len(unseen))
        boxes, support = self._boxes(X, weights), PackedSupport(self._machine.dual.members)
        for k in range(n_picked):
            n_left = len(unseen) - k
            size = min(self.pool_size, n_left)
            chosen = random_state.choice(n_left, size, replace=False) if size < n_left else np.arange(n_left)
            pool = unseen[chosen]
            best = chosen[self._pick(X[pool], labels[pool], support) if k > 0 and size > 1 else 0]
            row = unseen[best]
            unseen[best] = unseen[n_left - 1]
            self._learn_rows(X, labels, boxes, np.array([row]))

    def _pick(self, X, labels, support):
        """The place of the example that is to be learned next."""
        dual = self._machine.dual
        expansion = support.update(dual.members, self._slot_coefficients())
        values = decision_values(self._kernel, expansion, X, in_float64=True) + dual.sums[:, BIAS]
        dual.members.counts[0]["n_kernel_evals"] += X.shape[0] * expansion.counts[0]["n_slots"]
        if self.selection == "margin":
            return int(np.argmin(closeness(values)))
        if values.shape[1] == 1:
            return int(np.argmin(np.where(labels == 1, values[:, 0], -values[:, 0])))
        own = values[np.arange(len(labels)), labels]
        return int(np.argmin(own))

    # --- what was learned ---------------------------------------------------------------------------------

    def _slot_coefficients(self):
        """The coefficients of all slots in the model that predicts, which may be a mean of iterates."""
        coef = self._machine.dual.members.coef
        if getattr(self, "average", False):
            coef = coef.copy()
            outputs, steps = np.nonzero(self._learner.moved >= 0)
            np.subtract.at(coef, (outputs, self._learner.moved[outputs, steps]), self._learner.lag[outputs, steps])
        return coef

    @property
    def _expansion(self):  # type: ignore[override]
        if self._predictor is not None:
            return self._predictor.expansion()
        dual = self._machine.dual
        return support_of(dual._replace(members=dual.members._replace(coef=self._slot_coefficients())))

    def _move_rows(self, shift):
        machine = self._machine
        moved = machine.dual._replace(members=moved_rows(machine.dual.members, shift))
        self._machine = machine._replace(dual=moved)  # kernel values stay what they are

    @property
    def _dtype(self):
        return (self._machine.dual.members if self._predictor is None else self._predictor).rows.dtype

    def _coefficients(self):
        expansion = self._expansion
        return expansion.coef[:, : expansion.counts[0]["n_slots"]].T

    def _raw_scores(self, X):
        values = decision_values(self._kernel, self._expansion, X, in_float64=True)
        return values + self.intercept_

    def _scores(self, X):
        check_is_fitted(self)
        X = self._known_rows(X, self._dtype)
        with blas_threads(self.n_jobs):
            return self._raw_scores(X)

    @property
    def intercept_(self):
        """The bias of each output; zero for variants without one."""
        check_is_fitted(self)
        bias = self._machine.dual.sums[:, BIAS] if self._predictor is None else self._predictor.intercept
        return bias.copy()

    @property
    def n_support_(self):
        """Number of support vectors of each output."""
        check_is_fitted(self)
        return self._machine.dual.tallies[:, N_SUPPORT].copy()
