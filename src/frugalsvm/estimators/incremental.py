"""The exact incremental and decremental SVM as a scikit-learn classifier.

How it learns is here; how examples are taken out again, in ``example_changes.py``.
"""

import math
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from frugalsvm.compiling.threads import ONE_THREAD, Threads, blas_threads, thread_count
from frugalsvm.estimators._base import OnlineClassifier
from frugalsvm.estimators._incremental_saved import INCREMENTAL
from frugalsvm.estimators._precomputed import PrecomputedKernel
from frugalsvm.estimators._scoring import Scorer
from frugalsvm.estimators.constraints import check_positive, count, optional, positive
from frugalsvm.estimators.example_changes import ForgetsExamples
from frugalsvm.estimators.parameters import estimator, fixed, learned, parameter
from frugalsvm.estimators.unchanged import prepare_to_learn, unchanged_on_error
from frugalsvm.exact.incremental import change_C, restored
from frugalsvm.exact.kkt import dual_objective, optimal_bias, violation
from frugalsvm.exact.memory import MemoryLimit, TooLittleMemoryError
from frugalsvm.exact.one_vs_one import Examples, expansion_of, learn_pairs, no_examples, pairs_of, support_of, votes
from frugalsvm.exact.solver import capacity_of, new_solver, saved, solver_of
from frugalsvm.exact.state import trimmed

MEGABYTE = 2**20


@contextmanager
def _solver_errors():
    """A solver that makes no progress is a problem of the data: a ValueError, as all of these are."""
    try:
        yield
    except ArithmeticError as error:
        raise ValueError(str(error)) from error


@estimator
class IncrementalSVC(ForgetsExamples, PrecomputedKernel, OnlineClassifier):
    """The SVM of `sklearn.svm.SVC`, kept exactly optimal while examples come, go, and C changes.

    After every `partial_fit`, `unlearn` and `set_C` the model is that of a `fit` on the examples that it holds: the
    conditions of optimality hold to 1e-9 or so, whatever came before. So this is an exact way to forget: an example
    that was unlearned leaves no trace. And leaving out each example in turn, as `loo_predict` does, costs about as much
    as learning them all.

    Choose it where exactness or unlearning matters, up to some 10^4 examples. `LASVMClassifier` is nearly as accurate
    and takes more of them, `BSGDClassifier` takes any number in a fixed size.

    Parameters
    ----------
    C : float, default=1.0
        Inverse regularization strength, as in `sklearn.svm.SVC`. To change it later, use `set_C`; if it is set as a
        parameter, the next `partial_fit` moves the model to it first.
    cache_size : float, default=200
        Megabytes for kernel values that are kept, for all pairs of classes together.
    max_memory : float, default=None
        Megabytes that the model may take while it learns, about. What would need more raises a `MemoryError` before it
        takes it, and leaves the model as it was. None is no limit.
    window : int, default=None
        For streams that change: only this many of the latest examples are held, and older ones are unlearned, exactly.
        None is all of them.
    class_weight : dict, "balanced" or None, default=None
        Factors of ``C`` for the classes, for the examples learned from now on ("balanced" in `fit` only).
    n_jobs : int, default=None
        Threads for predictions, and for learning pairs of classes side by side; None is one, -1 all cores.

    Attributes
    ----------
    classes_
    C_ : float
        The C of the model.
    n_examples_ : int
    example_ids_ : ndarray of int
    row_ids_ : ndarray of int
        The same, under the name that `LocalSVC` has.
    forgotten_
    support_ : ndarray of int
    support_vectors_
    n_support_ : ndarray of int
    dual_coef_ : ndarray of shape (n_pairs, n_support_vectors)
        Their coefficients; with two classes one row, otherwise one for each pair of classes (0, 1), (0, 2), ...,
        (1, 2), ..., with zeros for examples of other classes. The second class of a pair is the positive one.
    intercept_ : ndarray of shape (n_pairs,)
        The bias; where several are optimal, the one in the middle.
    kkt_violation_ : float
        The largest violation of the optimality conditions: by how much a decision value is not what is demanded of it,
        plus by how much the coefficients do not sum to zero. It trusts the decision values that the solver keeps,
        which rounding limits where kernel values are far above 1: scale the features.
    dual_objective_ : float
    drift_ : float
    loo_error_ : float
    training_bytes_ : int
    t_ : int
        Examples learned since the last `fit`.
    n_kernel_evals_, calibration_, n_features_in_

    See Also
    --------
    LASVMClassifier : Nearly as accurate, for more data.

    Notes
    -----
    Memory grows with the data: all examples are kept, for each of them may become a support vector. With two classes
    that is about ``8 n_features + 300`` bytes for each, and 8 to 32 for each pair of margin vectors. Several classes
    are learned one-vs-one as by `SVC`, and each example is kept once for every other class. Everything is in
    float64, and sparse rows are stored dense. ``max_memory`` sets a limit.

    ``sample_weight`` has factors of ``C`` for the examples. One of weight 0 changes nothing, but has an id. Gamma stays
    the same from the first rows on, whatever comes or goes.

    Probabilities, too, are those of a `fit` on the examples that are held: `unlearn`, `set_C`, and a `partial_fit` that
    moves the model to another C drop the calibration, and the next `predict_proba` calibrates again as `fit` does. With
    up to 1,000 examples that takes as long as five trainings, with more as one.

    A pickle leaves out the cache of kernel values.

    References
    ----------
    G. Cauwenberghs, T. Poggio (2000). Incremental and decremental support vector machine learning. NIPS 13.

    Z. Wang, S. Vucetic (2009). Twin vector machines for online learning on a budget. SDM, section 2.

    Examples
    --------
    >>> from frugalsvm import IncrementalSVC
    >>> from frugalsvm.datasets import make_checkerboard
    >>> X, y = make_checkerboard(300, random_state=0)
    >>> model = IncrementalSVC(C=10.0, gamma=8.0).fit(X, y)
    >>> model.unlearn([3, 5]).n_examples_
    298
    >>> model.partial_fit(X[[3, 5]], y[[3, 5]]).example_ids_[-2:]
    array([300, 301])
    >>> model.kkt_violation_ < 1e-8
    True
    """

    C: Any = parameter(default=1.0, check=positive, kw_only=False)
    cache_size: float = parameter(default=200, check=positive)
    max_memory: Any = parameter(default=None, check=optional(positive))
    window: Any = parameter(default=None, check=optional(count(2)))
    random_state: Any = fixed(None)

    shuffle = warm_start = False  # the result does not depend on the order: there is one pass, in the order of the rows

    _saved = INCREMENTAL
    forgotten_: Any = ()  # of models of earlier versions

    _first_dtype = _dtype = np.float64
    _stays = True  # examples are found again by their rows, bit for bit; and float64 has room

    def _start(self, X, targets, random_state, *, whole):
        classes = targets.classes
        self._kernel = self._new_kernel(X)
        n_pairs = len(pairs_of(len(classes)))
        self._cache_bytes = int(self.cache_size * MEGABYTE) // n_pairs
        self._solvers = [new_solver(X.shape[1], self._cache_bytes, n_slots=1) for _ in range(n_pairs)]
        self._examples, self._n_learned, self.forgotten_ = no_examples(len(classes)), 0, []
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
        return MemoryLimit(limit, self._width, self._cache_bytes, example_bytes)

    def _next_room(self, m):
        """How the margin set of solver m grows when it is full."""
        return self._memory.next_room(self._solvers, m)

    @property
    def _solver_threads(self):
        """Threads for solvers side by side. Within a limit, how much room one gets depends on the others."""
        threads = Threads(thread_count(self.n_jobs))
        return threads if self.max_memory is None else ONE_THREAD

    def _products(self):
        """Context for the matrix products of all solvers."""
        capacity = max(map(capacity_of, self._solvers))
        return blas_threads(1) if len(self._solvers) > 1 else self._products_with(capacity)

    @contextmanager
    def _changing(self):
        """Context in which the solvers change; if that fails, they are as before."""
        with _solver_errors(), self._memory_errors(), unchanged_on_error(self):
            prepare_to_learn(self)
            before = [saved(solver) for solver in self._solvers]
            self._left_out = None
            try:
                with self._products():
                    yield
            except BaseException:
                for m, solver in enumerate(self._solvers):
                    self._solvers[m] = restored(self._kernel, solver, before[m])
                raise

    _learns_in_order = False
    _judges_on_its_way = False  # rows keep their order, which may be that of their labels

    def _learn(self, X, labels, weights, order):
        n_before = 0 if self.window is None else max(0, len(labels) - self.window)
        if n_before:  # they would be unlearned at once
            X, labels, weights = X[n_before:], labels[n_before:], None if weights is None else weights[n_before:]
        with self._memory_errors():
            self._memory.reserve(self._solvers, X, labels, len(self.classes_), len(self._examples.ids))
        with self._changing():
            self._move_to(float(self.C))
            self._n_learned += n_before
            if self.window is not None:
                n_old = max(0, len(self._examples.ids) + len(labels) - self.window)
                self._take_out(np.arange(n_old))
            boxes = np.full(len(labels), self.C_) if weights is None else self.C_ * weights
            slots = learn_pairs(
                self._kernel, self._solvers, X, labels, boxes, len(self.classes_), self._next_room, self._solver_threads
            )
            ids = np.arange(self._n_learned, self._n_learned + len(labels))
            self._examples = self._examples.and_also(Examples(ids, labels, slots))
            self._n_learned += len(labels)

    def _learn_some(self, X, labels, weights, rows):
        self._learn(X[rows], labels[rows], None if weights is None else weights[rows], np.arange(len(rows)))

    def _learn_batch(self, X, labels, weights, known, *, first):
        if not first and "calibration_" not in vars(self):  # a batch alone would say less than all examples, later
            self._learn(X, labels, weights, np.arange(X.shape[0]))
            return
        C = self.C_
        super()._learn_batch(X, labels, weights, known, first=first)
        if C != self.C_:
            self._forget_calibration()

    def _move_to(self, C):
        """The solution for another C."""
        if C != self.C_:
            factor = C / self.C_

            def change(m):
                self._solvers[m] = change_C(self._kernel, self._solvers[m], factor, self._next_room(m))

            self._solver_threads.run(change, range(len(self._solvers)))
            self.C_ = C
            self._forget_calibration()

    def set_C(self, C):
        """Set the parameter C and move the model to it: as if all had been learned with it.

        Parameters
        ----------
        C : float

        Returns
        -------
        self
        """
        check_is_fitted(self)
        check_positive("C", C)
        with self._changing():
            self._move_to(float(C))
            self.C = C
        return self

    # --- what was learned ---------------------------------------------------------------------------------

    def _supporting(self):
        return support_of(self._examples, self._solvers)

    @property
    def _expansion(self):  # type: ignore[override]
        if self._predictor is not None:
            return self._predictor.expansion()
        return expansion_of(self._examples, self._solvers, self._n_learned)

    def _scorer(self):
        finish = None if len(self.classes_) == 2 else self._class_scores
        return Scorer(self._kernel, self._expansion, self.intercept_, in_float64=True, finish=finish)

    def _class_scores(self, values):
        return values if values.shape[1] == 1 else votes(values, len(self.classes_))

    def _of_solvers(self, function):
        check_is_fitted(self)
        return [function(solver.state) for solver in self._solvers]

    @learned
    def training_bytes_(self):
        """About the bytes of all arrays that learning keeps."""
        return self._memory.taken_by(self._solvers)

    n_examples_ = learned(lambda self: len(self._examples.ids), doc="Number of examples learned and not unlearned.")

    @learned
    def example_ids_(self):
        """Their ids: numbers from 0 in the order of learning, since the last `fit`."""
        return self._examples.ids.copy()

    row_ids_ = example_ids_

    @learned
    def support_(self):
        """The ids of the support vectors, ascending."""
        return self._examples.ids[self._supporting()[0]]

    @learned
    def n_support_(self):
        """Number of support vectors of each class."""
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
        """The largest rounding error of a decision value that was found and removed, which is every 5000 changes."""
        return max(self._of_solvers(lambda state: float(state.scalars[0]["drift"])))
