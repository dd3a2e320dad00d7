"""What a classifier does that is made of exact solvers, one for each pair of classes: learn, predict, tell."""

import math
from contextlib import contextmanager

import numpy as np
from sklearn.utils.validation import check_is_fitted

from frugalsvm._stored import distinct, within
from frugalsvm.estimators._base import blas_threads, new_kernel, unchanged_on_error
from frugalsvm.estimators._online import OnlineClassifier
from frugalsvm.estimators._saved import (
    CLASSIFIER,
    OPTIONAL,
    as_predictor,
    check_loaded_parameters,
    expansion_is_sound,
    predictor_saved,
)
from frugalsvm.estimators._writable import prepare_to_learn
from frugalsvm.exact.incremental import change_C, restored
from frugalsvm.exact.kkt import dual_objective, optimal_bias, violation
from frugalsvm.exact.memory import MemoryLimit, TooLittleMemoryError
from frugalsvm.exact.one_vs_one import (
    Examples,
    expansion_of,
    learn_pairs,
    no_examples,
    pair_values,
    pairs_of,
    support_of,
    votes,
)
from frugalsvm.exact.solver import ExactSolver, new_solver, saved, solver_of
from frugalsvm.exact.state import trimmed
from frugalsvm.persist.savable import Saved
from frugalsvm.persist.values import array, integer, is_positive, or_none, part, parts

__all__ = ["ExactClassifier"]

MEGABYTE = 2**20


@contextmanager
def _solver_errors():
    """A solver that makes no progress is a problem of the data: a ValueError, as all of these are."""
    try:
        yield
    except ArithmeticError as error:
        raise ValueError(str(error)) from error


def _is_sound(model):
    n_classes, examples, solvers = len(model.classes_), model._examples, model._solvers
    n, left_out = len(examples.ids), getattr(model, "_left_out", None)
    right = n_classes > 1 and len(solvers) == len(pairs_of(n_classes)) and examples.slots.shape[1] == n_classes - 1
    right = right and bool((examples.ids[:-1] < examples.ids[1:]).all()) and model._n_learned >= n
    right = right and within(examples.labels, n_classes) and within(examples.ids, model._n_learned)
    if not right or not all(_solver_is_sound(m, solver, examples) for m, solver in enumerate(solvers)):
        return False
    if left_out is not None and left_out.shape != (n, 1 if n_classes == 2 else n_classes):
        return False
    return expansion_is_sound(model, len(solvers))


def _solver_is_sound(m, solver, examples):
    """Whether each of its slots is free or has one of its examples."""
    state, cache = solver
    capacity, n_points = state.points.rows.shape[0], int(state.points.counts[0]["n_slots"])
    if cache.place.size != capacity or cache.values.dtype != np.float64:
        return False
    taken = np.concatenate([slots for k, _, slots in examples.by_solver() if k == m])
    free = state.free_slots[: state.counts[0]["n_free"]]
    right = distinct(taken) and within(taken, n_points) and not np.isin(taken, free).any()
    return bool(right) and len(taken) + len(free) == n_points


class ExactClassifier(OnlineClassifier):
    """Base of a classifier with exact solvers for pairs of classes."""

    _solvers: list[ExactSolver]  # changed in place, so that it is the same list after `unchanged_on_error`
    _examples: Examples
    _saved = Saved(
        {
            **CLASSIFIER, "_solvers": parts("exact-machine"), "_n_learned": integer(), "_cache_bytes": integer(),
            "_examples": part("examples"), "C_": is_positive,
        },
        {**OPTIONAL, "_left_out": or_none(array("f", 2))}, _is_sound, check_loaded_parameters, as_predictor,
        predictor_saved(lambda n_classes: len(pairs_of(n_classes))), renamed={"_machines": "_solvers"},
    )  # fmt: skip

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
        self._solvers = [new_solver(X.shape[1], self._cache_bytes, n_slots=1) for _ in range(n_pairs)]
        self._examples, self._n_learned = no_examples(len(classes)), 0
        self.C_ = float(self.C)
        self.classes_ = classes

    def __getstate__(self):
        """Everything but the caches of kernel rows, which are as large as ``cache_size`` says, and unused room."""
        attributes = dict(super().__getstate__())
        if "_solvers" in attributes:
            attributes["_solvers"] = [trimmed(solver.state) for solver in attributes["_solvers"]]
        return attributes

    def __setstate__(self, attributes):
        super().__setstate__(attributes)
        if "_solvers" in attributes:
            self._solvers = [solver_of(state, self._cache_bytes) for state in attributes["_solvers"]]

    # --- changes ------------------------------------------------------------------------------------------

    @contextmanager
    def _memory_errors(self):
        """Say in terms of the parameters that there is too little memory."""
        try:
            yield
        except TooLittleMemoryError as error:
            raise MemoryError(
                f"{error.what} needs about {error.n_bytes / MEGABYTE:.1f} MB, but max_memory is {self.max_memory} MB. "
                f"Set a larger max_memory, a smaller cache_size (it is {self.cache_size} MB), or unlearn examples."
            ) from None

    @property
    def _memory(self):
        limit = math.inf if self.max_memory is None else self.max_memory * MEGABYTE
        example_bytes = sum(part.nbytes for part in self._examples)
        return MemoryLimit(limit, self.n_features_in_, self._cache_bytes, example_bytes)

    def _next_room(self, m):
        """How the margin set of solver m grows when it is full."""
        return self._memory.next_room(self._solvers, m)

    @contextmanager
    def _changing(self):
        """Context in which the solvers change; if that fails, they are as before."""
        with _solver_errors(), self._memory_errors(), unchanged_on_error(self), blas_threads(self.n_jobs):
            prepare_to_learn(self)
            before = [saved(solver) for solver in self._solvers]
            self._left_out = None
            try:
                yield
            except BaseException:
                for m, solver in enumerate(self._solvers):
                    self._solvers[m] = restored(self._kernel, solver, before[m])
                raise

    def _learn(self, X, labels, weights, order):
        with self._memory_errors():
            self._memory.reserve(self._solvers, X, labels, len(self.classes_), len(self._examples.ids))
        with self._changing():
            self._move_to(float(self.C))
            boxes = np.full(len(labels), self.C_) if weights is None else self.C_ * weights
            slots = learn_pairs(self._kernel, self._solvers, X, labels, boxes, len(self.classes_), self._next_room)
            ids = np.arange(self._n_learned, self._n_learned + len(labels))
            self._examples = self._examples.and_also(Examples(ids, labels, slots))
            self._n_learned += len(labels)

    def _move_to(self, C):
        """The solution for another C."""
        if C != self.C_:
            for m, solver in enumerate(self._solvers):
                self._solvers[m] = change_C(self._kernel, solver, C / self.C_, self._next_room(m))
            self.C_ = C

    # --- what was learned ---------------------------------------------------------------------------------

    def _supporting(self):
        return support_of(self._examples, self._solvers)

    @property
    def _expansion(self):  # type: ignore[override]
        if self._predictor is not None:
            return self._predictor.expansion()
        return expansion_of(self._examples, self._solvers, self._n_learned)

    def _coefficients(self):
        return (self._supporting()[1] if self._predictor is None else self._predictor.coef).T

    def _scores(self, X):
        check_is_fitted(self)
        X = self._known_rows(X, self._dtype)
        with blas_threads(self.n_jobs):
            return self._class_scores(pair_values(self._kernel, self._expansion, self.intercept_, X))

    def _class_scores(self, values):
        return values if values.shape[1] == 1 else votes(values, len(self.classes_))

    def _of_solvers(self, function):
        check_is_fitted(self)
        return [function(solver.state) for solver in self._solvers]

    @property
    def training_bytes_(self):
        """About the bytes of all arrays that learning keeps."""
        check_is_fitted(self)
        return self._memory.taken_by(self._solvers)

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
        return np.array(self._of_solvers(optimal_bias))

    @property
    def kkt_violation_(self):
        """The largest violation of the optimality conditions, over all pairs."""
        return max(self._of_solvers(lambda state: violation(state, optimal_bias(state))))

    @property
    def dual_objective_(self):
        """The dual objective, which is maximized, summed over all pairs."""
        return sum(self._of_solvers(dual_objective))

    @property
    def drift_(self):
        """The largest error that rounding made in a decision value before it was removed, in any pair."""
        return max(self._of_solvers(lambda state: float(state.scalars[0]["drift"])))
