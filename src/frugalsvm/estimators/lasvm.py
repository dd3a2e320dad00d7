"""LASVM and its gap-driven, ramp-loss and filtering forms as a scikit-learn classifier.

`DualClassifier` is what it shares with `TrackingSVC`: a solver in the dual, selective sampling, duality gaps.
"""

import math
import numbers
import warnings
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from frugalsvm._locks import shared
from frugalsvm.compiling.threads import blas_threads
from frugalsvm.core.blocks import is_of_products
from frugalsvm.core.capabilities import offers
from frugalsvm.core.expansion import moved_rows
from frugalsvm.core.outputs import n_outputs_for, signs
from frugalsvm.core.predict import decision_values
from frugalsvm.dual.c_path import out_of_fold_values
from frugalsvm.dual.duality_gap import NotTheProblemError, member_gap, training_gap
from frugalsvm.dual.lasvm import LASVM
from frugalsvm.dual.lasvm_nc import HINGE_LOSS, LASVMNC, RAMP_FILTER, RAMP_LOSS
from frugalsvm.dual.online import DualSolver, finish, learn, new_solver, remembered, solver_of
from frugalsvm.dual.selective_sampling import SELECTIONS, PackedSupport, most_informative, selected_rows
from frugalsvm.dual.state import support_of, trimmed
from frugalsvm.estimators._auto import is_auto
from frugalsvm.estimators._base import OnlineClassifier
from frugalsvm.estimators._dual_saved import with_learner
from frugalsvm.estimators._precomputed import PrecomputedKernel
from frugalsvm.estimators._renamed import takes_old_names, warned
from frugalsvm.estimators._scoring import Scorer
from frugalsvm.estimators.calibrated import check_calibrate, folds_of
from frugalsvm.estimators.fit_warnings import warn_at_limit
from frugalsvm.estimators.metric import check_metric
from frugalsvm.estimators.parameters import documented, keep_parameters
from frugalsvm.estimators.validation import (
    check_choice,
    check_count,
    check_positive,
    encoded_labels,
    example_weights,
    is_path,
    values_of_path,
)
from frugalsvm.exceptions import ParameterError
from frugalsvm.persist.savable import with_new_names

__all__ = ["DualClassifier", "LASVMClassifier"]

VARIANTS = {"lasvm": HINGE_LOSS, "g": HINGE_LOSS, "nc": RAMP_LOSS, "i": RAMP_FILTER, "full": HINGE_LOSS}
STEP_TYPES = ("pair", "single")
FEW = 50  # examples of a class that say where it is
MOST_STEPS = 10**7  # of a finishing phase, or 100 for each member, as in LIBSVM


class DualClassifier(PrecomputedKernel, OnlineClassifier):
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

    _solver: DualSolver
    _changed_in_place = ("_solver", "_learner")

    def _new_learner(self, kernel, random_state):
        raise NotImplementedError

    def _current_learner(self):
        """The learner for the present parameters, which may have been set again."""
        return self._learner

    def _slot_coefficients(self):
        """The coefficients of all slots in the model that predicts."""
        return self._solver.state.working_set.coef

    @property
    def _keeps_all(self) -> bool:
        """Whether all examples stay members."""
        return False

    def _refuse_gap(self) -> None:
        """Raise a ValueError where the training problem is not convex."""

    @property
    def _C(self):
        """The penalty as a number, or what somebody has set who is to be told."""
        return self.C

    def _check_dual_params(self):
        check_positive("C", self._C)
        check_positive("cache_size", self.cache_size)
        check_count("max_iter", self.max_iter)
        check_choice("selection", self.selection, SELECTIONS)
        check_count("pool_size", self.pool_size)
        if self.n_selected is not None:
            check_count("n_selected", self.n_selected)
            if self.selection == "random":
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

    @property
    def _cache_bytes(self):
        return int(self.cache_size * 2**20)

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

    @property
    def _judges_on_its_way(self):
        return self.selection == "random"

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

    def _coefficients(self):
        expansion = self._expansion
        return expansion.coef[:, : expansion.counts[0]["n_slots"]].T

    def _scorer(self):
        return Scorer(self._kernel, self._expansion, self.intercept_, in_float64=True)

    @property
    def intercept_(self):
        """The bias of each output; zero for variants without one."""
        check_is_fitted(self)
        bias = self._solver.state.sums["bias"] if self._predictor is None else self._predictor.intercept
        return bias.copy()

    @property
    def n_support_(self):
        """Number of support vectors of each output."""
        check_is_fitted(self)
        return self._solver.state.counts["n_support"].copy()

    # --- duality gaps -------------------------------------------------------------------------------------

    @property
    def member_gap_(self):
        """Primal minus dual objective over the members, of the last iterate, summed over the outputs.

        It bounds what more steps on the members could gain. Examples that are no members have losses, too, which are
        not in it: see `duality_gap`. It is made of gradients that are kept in the type of the rows: those of float32
        rows are rounded, each to about a millionth of the sum of the coefficients.
        """
        check_is_fitted(self)
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


@documented
class LASVMClassifier(DualClassifier):
    """Online kernel SVM, nearly as accurate as a batch solver after one pass, with a duality gap to tell how near.

    Reads examples one at a time, keeps those that may matter as members, and makes a few exact optimization steps for
    each. The number of support vectors is not limited: it grows like that of an SVM, or slower with the ramp loss,
    which leaves out examples that are far on the wrong side.

    Choose it for accuracy, up to some 10^5 examples: ``"g"`` on clean data, ``"nc"`` or ``"i"`` where labels are noisy,
    which are several times faster and sparser there. With two classes it is as accurate as `SVC` after one pass; with
    many, ``sklearn.multiclass.OneVsOneClassifier(LASVMClassifier())`` is, which has `partial_fit`, too (see Notes). For
    more data or a fixed size choose `BSGDClassifier`.

    Parameters
    ----------
    variant : {"g", "nc", "i", "full", "lasvm"}, default="g"
        ``"g"``: as many steps per example as the duality gap asks for, and members that do not matter are cleaned out.
        ``"nc"``: the same with the ramp loss, by online CCCP. ``"i"``: the hinge loss, but examples outside the ramp
        are left out. ``"full"``: like "g", but all examples stay members; converges to the batch solution with more
        passes. ``"lasvm"``: the original, with a bias, one step per example and a finishing phase.
    C : float, list of float or "auto", default="auto"
        Inverse regularization strength, as in `sklearn.svm.SVC`. "auto" is chosen on some thousands of the first
        rows, together with gamma if that is "auto", too, see :ref:`first-rows`. Of a list, `fit` takes the one that
        is best in a cross-validation in five folds: all of them on the same kernel values, each C from the one
        before, several times faster than a search with a fit for each C and fold (for "g" and "full"). See
        :doc:`/howto/tune`.
    s : float, default=-1.0
        Where the ramp ends, below 1: an example with a margin below it is an outlier ("nc", "i").
    step_type : {"pair", "single"}, default="pair"
        Optimization steps on two coefficients chosen by second order information, or the published ones: on a single
        coefficient ("lasvm": on the pair with the largest violation). Pairs need far fewer steps.
    tol : float, default=1e-3
        Violations of the optimality conditions below this are left alone.
    finish : bool or "auto", default="auto"
        Whether `fit` ends with steps until no violation is above ``tol``; "auto" does so for "lasvm" only.
    warm_up : int or "auto", default="auto"
        Support vectors there must be before the ramp is used; "auto" is 50 for "nc" and 100 for "i".
    clean_every : int, default=500
        Clean up after this many examples became members ("g", "nc", "i").
    max_idle : int, default=1000
        Members with a coefficient of zero that cleaning leaves, for each output.
    random_state : int, RandomState instance or None, default=None
        For shuffling and selection.

    Attributes
    ----------
    classes_, support_vectors_, dual_coef_
    intercept_ : ndarray
        The bias; zero except for "lasvm".
    C_, path_ : float, dict of arrays
        With ``C="auto"`` or a list: the C that was chosen. With a list: the values, ``"C"``, and their accuracies out
        of fold, ``"validation_score"``.
    n_support_ : ndarray of int
        Support vectors of each output.
    member_gap_ : float
        Primal minus dual objective over the members: what more steps on them could gain, at most. That is not how far
        the model is from the optimum of the whole training problem, unless all examples are members ("full"): see
        `duality_gap`.
    n_members_, n_admitted_, n_reprocess_ : ndarray of int
        Present members, examples that became members, and optimization steps beyond the first of an example, per
        output.
    admitted_left_, admitted_right_, cleaned_left_, cleaned_right_ : ndarray of int
        Members that were left (margin below ``s``) or right (above 1) of the ramp when they came, and how many of
        them left.
    n_kernel_evals_, t_, n_iter_, metric_, calibration_, n_features_in_

    See Also
    --------
    BSGDClassifier : A fixed number of support vectors, for more data.

    Notes
    -----
    While examples of a class are lacking (fewer than 50 so far, or none for long), no example is left out or cleaned
    away, up to ``30 * max_idle`` idle ones, so that a stream sorted by label gives a model like that of a shuffled one.

    Several classes are learned one-vs-rest, on shared kernel values. On 4 000 rows of letter (26 classes) with
    ``C=1`` and ``gamma="scale"`` that is 81.1 % accurate, one-vs-rest with `SVC` 82.8 %; one-vs-one it is 85.8 %,
    and `SVC`, which does that always, 85.7 %. Differences shrink with C: with C = 10 it is 90.4, 92.7 and 92.9 %.

    A pickle leaves out the cache of kernel values: a loaded model continues to learn as before, up to rounding.

    References
    ----------
    S. Ertekin, L. Bottou, C. L. Giles (2011). Nonconvex online support vector machines. IEEE TPAMI 33.

    A. Bordes, S. Ertekin, J. Weston, L. Bottou (2005). Fast kernel classifiers with online and active learning. JMLR 6.

    Examples
    --------
    >>> from frugalsvm import LASVMClassifier
    >>> from frugalsvm.datasets import make_checkerboard
    >>> X, y = make_checkerboard(3_000, random_state=0)
    >>> model = LASVMClassifier(C=10.0, gamma=8.0, random_state=0).fit(X[:2_000], y[:2_000])
    >>> model.score(X[2_000:], y[2_000:]) > 0.95
    True
    """

    _renamed_parameters: ClassVar = {"steps": "step_type"}  # an attribute `steps` is the mark of a Pipeline

    _saved = with_learner("lasvm-without-bias", "lasvm")

    @takes_old_names
    def __init__(
        self,
        variant="g",
        C: float | Sequence[float] | str = "auto",
        *,
        s=-1.0,
        kernel="rbf",
        gamma: float | str = "auto",
        metric=None,
        degree=3,
        coef0=1.0,
        step_type="pair",
        tol=1e-3,
        finish: bool | str = "auto",
        warm_up: int | str = "auto",
        clean_every=500,
        max_idle=1000,
        selection="random",
        pool_size=50,
        n_selected=None,
        cache_size: float = 200,
        max_iter=1,
        shuffle=True,
        class_weight=None,
        warm_start=False,
        calibrate=None,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        keep_parameters(self, locals())

    def set_params(self, **params):
        """Set parameters, as in every estimator of scikit-learn.

        Parameters
        ----------
        **params : dict
            Names and values.

        Returns
        -------
        self
        """
        return super().set_params(**warned(self, params))

    def _check_params(self):
        check_choice("variant", self.variant, VARIANTS)
        self._check_kernel()
        check_calibrate(self.calibrate)
        if not self._is_precomputed:
            check_metric(self.metric, self.kernel)
        check_choice("step_type", self.step_type, STEP_TYPES)
        check_choice("finish", self.finish, (True, False, "auto"))
        self._check_dual_params()
        if is_path(self.C):
            self._check_path()
        check_positive("tol", self.tol)
        check_count("clean_every", self.clean_every)
        check_count("max_idle", self.max_idle, least=0)
        if self.warm_up != "auto":
            check_count("warm_up", self.warm_up, least=0)
        if not isinstance(self.s, numbers.Real) or not -math.inf < float(self.s) < 1:
            raise ParameterError("s", self.s, "a number below 1")

    def _check_path(self):
        for value in values_of_path(self.C):
            check_positive("C", value)
        if self.variant not in ("g", "full"):
            raise ValueError(f"A list of C is for variant='g' or 'full', not {self.variant!r}: use GridSearchCV.")

    @property
    def _C(self):
        return getattr(self, "C_", 1.0) if is_auto(self.C) or is_path(self.C) else self.C

    def _take_strength(self, choice, n_rows):
        for name in ("C_", "path_"):
            self.__dict__.pop(name, None)
        if is_auto(self.C):
            self.C_ = 1.0 if choice is None else choice.C
        elif is_path(self.C) and n_rows is None:
            raise ValueError("A list of C is for fit, which has all rows: partial_fit needs a number, or 'auto'.")

    def _passes(self, X, labels, weights, random_state):
        if is_path(self.C) and not hasattr(self, "path_"):  # not so if it goes on
            self._choose_C(X, labels, weights)
        super()._passes(X, labels, weights, random_state)

    def _choose_C(self, X, labels, weights):
        """The C of the list that is best out of fold."""
        if self._is_precomputed or not (is_of_products(self._kernel) or offers(self._kernel, "l1")):
            raise ValueError(f"A list of C cannot be combined with kernel={self.kernel!r}: use GridSearchCV.")
        all_C, own = values_of_path(self.C), signs(labels, n_outputs_for(len(self.classes_)))
        folds = folds_of(labels, np.random.default_rng(0))  # the same ones of the same data, whatever random_state is
        with blas_threads(self.n_jobs):
            values = out_of_fold_values(
                self._kernel, X, own, weights, all_C, folds, self._cache_bytes, tol=float(self.tol)
            )
        predicted = (values[:, 0] >= 0.0).astype(np.int64) if len(own) == 1 else values.argmax(axis=1)
        counted = (folds >= 0) * (1.0 if weights is None else weights)
        scores = np.average(predicted == labels, axis=1, weights=counted)
        self.C_ = float(all_C[int(scores.argmax())])
        self.path_ = {"C": np.array(all_C, np.float64), "validation_score": scores}

    def _new_learner(self, kernel, random_state):
        pairs = self.step_type == "pair"
        if self.variant == "lasvm":
            return LASVM(kernel, float(self._C), float(self.tol), pairs, FEW)
        clean_every = 0 if self.variant == "full" else int(self.clean_every)
        warm_up = (50 if self.variant == "nc" else 100) if self.warm_up == "auto" else int(self.warm_up)
        loss, s, tol = VARIANTS[self.variant], float(self.s), float(self.tol)
        return LASVMNC(kernel, float(self._C), loss, s, warm_up, tol, pairs, clean_every, int(self.max_idle), FEW)

    def _current_learner(self):
        return self._new_learner(self._kernel, None)

    @property
    def _finishes(self):
        return self.variant == "lasvm" if self.finish == "auto" else bool(self.finish)

    @property
    def _judges_on_its_way(self):
        return super()._judges_on_its_way and not self._finishes

    def _finish(self, X, labels, weights, random_state):
        if self._finishes:
            most = max(MOST_STEPS, 100 * int(self.n_members_.sum()))
            with blas_threads(self.n_jobs):
                n_steps = finish(self._learner, self._solver, self.tol, most)
            if n_steps >= most:
                advice = f"violations above tol={self.tol!r} are left; raise tol, lower C, or pass float64 rows"
                warn_at_limit(self, f"{most} finishing steps", advice)

    @property
    def _keeps_all(self):
        return self.variant == "full"

    def _refuse_gap(self):
        if self.variant == "nc":
            raise ValueError(
                "variant='nc' minimizes the ramp loss, which is not convex: duality gives no bound for it."
            )

    def _counts(self, name):
        check_is_fitted(self)
        return self._solver.state.counts[name].copy()

    n_members_ = property(lambda self: self._counts("n_members"), doc="Present members, per output.")
    n_admitted_ = property(lambda self: self._counts("n_admitted"), doc="Examples that became members, per output.")
    n_reprocess_ = property(lambda self: self._counts("n_reprocess"), doc="Steps of REPROCESS, per output.")
    admitted_left_ = property(lambda self: self._counts("n_admitted_left"), doc="Members that came from its left.")
    admitted_right_ = property(lambda self: self._counts("n_admitted_right"), doc="Members that came from its right.")
    cleaned_left_ = property(lambda self: self._counts("n_cleaned_left"), doc="Those from the left that left again.")
    cleaned_right_ = property(lambda self: self._counts("n_cleaned_right"), doc="Those from the right that left again.")
