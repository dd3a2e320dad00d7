"""LASVM and its gap-driven, ramp-loss and filtering forms as a scikit-learn classifier."""

import functools
import math
import numbers
import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from frugalsvm.compiling.threads import blas_threads
from frugalsvm.core.blocks import is_of_products
from frugalsvm.core.capabilities import offers
from frugalsvm.core.outputs import n_outputs_for, signs
from frugalsvm.dual.c_path import out_of_fold_values
from frugalsvm.dual.lasvm import LASVM
from frugalsvm.dual.lasvm_nc import HINGE_LOSS, LASVMNC, RAMP_FILTER, RAMP_LOSS
from frugalsvm.dual.online import finish
from frugalsvm.estimators.calibrated import folds_of
from frugalsvm.estimators.constraints import (
    count,
    is_auto,
    is_path,
    one_of,
    or_auto,
    positive,
    strengths,
    values_of_path,
)
from frugalsvm.estimators.dual import DualClassifier, with_learner
from frugalsvm.estimators.fit_warnings import warn_at_limit
from frugalsvm.estimators.parameters import estimator, parameter
from frugalsvm.exceptions import ParameterError
from frugalsvm.persist.savable import with_new_names

VARIANTS = {"lasvm": HINGE_LOSS, "g": HINGE_LOSS, "nc": RAMP_LOSS, "i": RAMP_FILTER, "full": HINGE_LOSS}
STEP_TYPES = ("pair", "single")
FEW = 50  # examples of a class that say where it is
MOST_STEPS = 10**7  # of a finishing phase, or 100 for each member, as in LIBSVM


def _below_one(name: str, value: object) -> None:
    if not isinstance(value, numbers.Real) or not -math.inf < float(value) < 1:
        raise ParameterError(name, value, "a number below 1")


# `steps` was the former name of `step_type`. It must not stay as an attribute: that is the mark of a Pipeline.


def _warned(estimator: Any, parameters: dict[str, Any]) -> dict[str, Any]:
    """The same under their new names, with a warning for each old one."""
    for old in sorted(parameters.keys() & estimator._renamed_parameters.keys()):
        new = estimator._renamed_parameters[old]
        if new in parameters:
            raise TypeError(f"{old!r} is the former name of {new!r}: set the latter only.")
        warnings.warn(
            f"The parameter {old!r} of {type(estimator).__name__} is now called {new!r}; the old name will be removed.",
            FutureWarning,
            stacklevel=3,
        )
    return with_new_names(type(estimator), parameters)


def _takes_old_names(cls: Any) -> Any:
    """Have a constructor take the old names of ``_renamed_parameters``, too; its signature has the new ones only."""
    init = cls.__init__

    @functools.wraps(init)
    def with_old_names(self, *args, **kwargs):
        init(self, *args, **_warned(self, kwargs))

    cls.__init__ = with_old_names
    return cls


@_takes_old_names
@estimator
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

    variant: Any = parameter(default="g", check=one_of(VARIANTS), kw_only=False)
    C: float | Sequence[float] | str = parameter(default="auto", check=or_auto(strengths), kw_only=False)
    s: Any = parameter(default=-1.0, check=_below_one)
    gamma: float | str = "auto"
    metric: Any = None
    step_type: Any = parameter(default="pair", check=one_of(STEP_TYPES))
    tol: Any = parameter(default=1e-3, check=positive)
    finish: bool | str = parameter(default="auto", check=one_of((True, False, "auto")))
    warm_up: int | str = parameter(default="auto", check=or_auto(count(0)))
    clean_every: Any = parameter(default=500, check=count())
    max_idle: Any = parameter(default=1000, check=count(0))
    _saved = with_learner("lasvm-without-bias", "lasvm")

    @functools.wraps(DualClassifier.set_params)
    def set_params(self, **params):
        return super().set_params(**_warned(self, params))

    def _check_params(self):
        super()._check_params()
        if is_path(self.C) and self.variant not in ("g", "full"):
            raise ValueError(f"A list of C is for variant='g' or 'full', not {self.variant!r}: use GridSearchCV.")

    _C = property(lambda self: getattr(self, "C_", 1.0) if is_auto(self.C) or is_path(self.C) else self.C)

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

    _finishes = property(lambda self: self.variant == "lasvm" if self.finish == "auto" else bool(self.finish))

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

    _keeps_all = property(lambda self: self.variant == "full")

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
