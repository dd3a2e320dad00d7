"""What a classifier does that is made of exact machines, one for each pair of classes: learn, predict, tell."""

from contextlib import contextmanager

import numpy as np
from sklearn.utils.validation import check_is_fitted

from frugalsvm.estimators._base import blas_threads, new_kernel, unchanged_on_error
from frugalsvm.estimators._limits import MEGABYTE, LimitedMemory
from frugalsvm.estimators._pairs import Examples, no_examples
from frugalsvm.estimators._writable import prepare_to_learn
from frugalsvm.exact.conditions import dual_objective, optimal_bias, violation
from frugalsvm.exact.incremental import change_C, restored
from frugalsvm.exact.machine import machine_of, new_machine, saved
from frugalsvm.exact.one_vs_one import expansion_of, learn_pairs, pair_values, pairs_of, support_of, votes
from frugalsvm.exact.state import DRIFT, trimmed

__all__ = ["ExactClassifier"]


@contextmanager
def _solver_errors():
    """A solver that makes no progress is a problem of the data: a ValueError, as all of these are."""
    try:
        yield
    except ArithmeticError as error:
        raise ValueError(str(error)) from error


class ExactClassifier(LimitedMemory):
    """Base of a classifier with exact machines for pairs of classes."""

    # Everything is in float64. The result does not depend on the order: there is one pass, in the order of the rows.
    _first_dtype, _n_passes = np.float64, 1
    shuffle, warm_start, random_state = False, False, None
    _stays = True  # examples are found again by their rows, bit for bit; and float64 has room

    @property
    def _dtype(self):
        return np.float64

    def _start(self, X, classes, random_state):
        self._kernel = new_kernel(self.kernel, self.gamma, self.degree, self.coef0, X)
        n_pairs = len(pairs_of(len(classes)))
        self._cache_bytes = int(self.cache_size * MEGABYTE) // n_pairs
        self._machines = [new_machine(X.shape[1], self._cache_bytes, n_slots=1) for _ in range(n_pairs)]
        self._examples, self._n_learned = no_examples(len(classes)), 0
        self.C_ = float(self.C)
        self.classes_ = classes

    def __getstate__(self):
        """Everything but the caches of kernel rows, which are as large as ``cache_size`` says, and unused room."""
        state = dict(super().__getstate__())
        if "_machines" in state:
            state["_machines"] = [trimmed(machine.exact) for machine in state["_machines"]]
        return state

    def __setstate__(self, state):
        super().__setstate__(state)
        if "_machines" in state:
            self._machines = [machine_of(exact, self._cache_bytes) for exact in state["_machines"]]

    # --- changes ------------------------------------------------------------------------------------------

    @contextmanager
    def _changing(self):
        """Context in which the machines change; if that fails, they are as before."""
        with _solver_errors(), unchanged_on_error(self), blas_threads(self.n_jobs):
            prepare_to_learn(self)
            before = [saved(machine) for machine in self._machines]
            self._left_out = None
            try:
                yield
            except BaseException:
                for m, machine in enumerate(self._machines):
                    self._machines[m] = restored(self._kernel, machine, before[m])
                raise

    def _learn(self, X, labels, weights, order):
        self._reserve(X, labels)
        with self._changing():
            self._move_to(float(self.C))
            boxes = np.full(len(labels), self.C_) if weights is None else self.C_ * weights
            slots = learn_pairs(self._kernel, self._machines, X, labels, boxes, len(self.classes_), self._next_room)
            ids = np.arange(self._n_learned, self._n_learned + len(labels))
            self._examples = self._examples.and_also(Examples(ids, labels, slots))
            self._n_learned += len(labels)

    def _move_to(self, C):
        """The solution for another C."""
        if C != self.C_:
            for m, machine in enumerate(self._machines):
                self._machines[m] = change_C(self._kernel, machine, C / self.C_, self._next_room(m))
            self.C_ = C

    # --- what was learned ---------------------------------------------------------------------------------

    def _supporting(self):
        return support_of(self._examples, self._machines)

    @property
    def _expansion(self):  # type: ignore[override]
        if self._predictor is not None:
            return self._predictor.expansion()
        return expansion_of(self._examples, self._machines, self._n_learned)

    def _coefficients(self):
        return (self._supporting()[1] if self._predictor is None else self._predictor.coef).T

    def _scores(self, X):
        check_is_fitted(self)
        X = self._known_rows(X, self._dtype)
        with blas_threads(self.n_jobs):
            return self._class_scores(pair_values(self._kernel, self._expansion, self.intercept_, X))

    def _class_scores(self, values):
        return values if values.shape[1] == 1 else votes(values, len(self.classes_))

    def _of_machines(self, function):
        check_is_fitted(self)
        return [function(machine.exact) for machine in self._machines]

    @property
    def n_examples_(self):
        """Number of examples learned and not unlearned."""
        check_is_fitted(self)
        return len(self._examples.ids)

    @property
    def example_ids_(self):
        """Their ids: numbers from 0 in the order of learning, since the last `fit`."""
        check_is_fitted(self)
        return self._examples.ids.copy()

    @property
    def support_(self):
        """The ids of the support vectors, ascending."""
        check_is_fitted(self)
        return self._examples.ids[self._supporting()[0]]

    @property
    def n_support_(self):
        """Number of support vectors of each class."""
        check_is_fitted(self)
        return np.bincount(self._examples.labels[self._supporting()[0]], minlength=len(self.classes_))

    @property
    def intercept_(self):
        """The bias of each pair of classes."""
        if self._predictor is not None:
            return self._predictor.intercept.copy()
        return np.array(self._of_machines(optimal_bias))

    @property
    def kkt_violation_(self):
        """The largest violation of the optimality conditions, over all pairs."""
        return max(self._of_machines(lambda exact: violation(exact, optimal_bias(exact))))

    @property
    def dual_objective_(self):
        """The dual objective, which is maximised, summed over all pairs."""
        return sum(self._of_machines(dual_objective))

    @property
    def drift_(self):
        """The largest error that rounding made in a decision value before it was removed, in any pair."""
        return max(self._of_machines(lambda exact: float(exact.scalars[DRIFT])))
