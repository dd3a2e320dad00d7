"""The learner interface: what the edges (Dask, pipelines, exports, model files) use of an estimator.

All estimators with a kernel have

``check_parameters()``      refuses parameters that are wrong
``kernel_``, ``origin_``    the kernel as a part, and what rows are relative to before it sees them
``metric_part_``            the linear map that rows go through before that; None without one
``check_size(X)``           refuses rows that are too large for the type in which kernels are computed
`begin`                     makes one ready to learn from what is known of all data

those whose model is a kernel expansion besides

``support_rows()``          the support vectors as the kernel sees them; ``row_dtype_`` is their type
``scoring_expansion()``     the model as compiled code scores with it

and the budgeted ones, which inherit `BudgetedClassifier`, their learners: state, learning, merging and scoring are
there (`frugalsvm.budgeted.learner.Learner`), in plain functions that need no estimator.
"""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from frugalsvm._locks import exclusive
from frugalsvm.budgeted.learner import Learner
from frugalsvm.compiling.threads import Threads, blas_threads, thread_count
from frugalsvm.core.capabilities import offers
from frugalsvm.core.expansion import Expansion, moved_rows, new_expansion
from frugalsvm.core.losses import hinge_for
from frugalsvm.core.moments import moments_of
from frugalsvm.core.outputs import binary_labels, joined, n_outputs_for, signs
from frugalsvm.core.seen_rows import origin_of_moments
from frugalsvm.estimators._base import OnlineClassifier
from frugalsvm.estimators._saved import (
    CLASSIFIER,
    HAS_BUDGET,
    OPTIONAL,
    check_loaded_parameters,
    expansion_is_sound,
    kept_for_prediction,
    trimmed_learner,
)
from frugalsvm.estimators.constraints import bytes_per_slot, slots_for_budget
from frugalsvm.estimators.expansion_model import PassParameters, expansion_bytes
from frugalsvm.estimators.parameters import learned
from frugalsvm.estimators.targets import robust_scale_of
from frugalsvm.persist.savable import Saved
from frugalsvm.persist.values import parts

FIRST_SLOTS = 256  # room to begin with where there is no budget


def begin(estimator: Any, survey: Any, sample: Any = None) -> None:
    """Make an estimator ready to learn: features, classes, the kernel, the origin and, if budgeted, an empty model.

    A survey of all data has ``n_features``, ``names`` (of the features), ``dtype`` (of the rows), ``sparse``,
    ``classes`` (None for targets that are numbers) and ``moments``. One with a metric takes or learns that from a
    sample, ``X``, ``labels`` (or targets in columns) and ``weights``; so does one with parameters that are "auto".
    """
    estimator.n_features_in_ = survey.n_features
    if survey.classes is not None:
        estimator.classes_ = survey.classes
    if survey.names is not None:
        estimator.feature_names_in_ = survey.names
    moments = survey.moments
    if sample is not None:
        X, targets = sample.X, _targets_of(sample.labels, survey.classes)
        random_state = check_random_state(estimator.random_state)
        moments = moments_of(estimator._with_metric(X, lambda: targets, sample.weights, random_state, whole=True))
        estimator._take_strength(estimator._chosen, survey.moments.n_rows)  # all rows count, not those of the sample
    kernel = estimator._kernel = estimator._new_kernel(moments)
    if offers(kernel, "shift_invariant") and not survey.sparse:
        estimator._origin = origin_of_moments(moments, np.float32 if estimator._in_float32 else survey.dtype)
    if isinstance(estimator, BudgetedClassifier) and survey.classes is not None:
        estimator._empty(estimator._width, survey.dtype, survey.classes, np.random.RandomState(0))


def _targets_of(labels: np.ndarray, classes: np.ndarray | None) -> np.ndarray:
    """A row for each output; targets that are numbers are standardized."""
    if classes is None:
        return np.ascontiguousarray(robust_scale_of(labels, None).standardized(labels).T)
    return signs(labels, n_outputs_for(len(classes)))


class BudgetedClassifier(OnlineClassifier):
    """Base of classifiers that consist of learners, one or one for each class; subclasses define

    ``state``                             what learning changes: another object if the model was replaced, or learned a
                                          batch of several blocks
    ``learners``                          a list of the learners as they are now
    ``set_learner(k, learner)``           exchanges learner k for one of the same kind
    ``_empty(n_features, dtype, classes, random_state)``, learners that have learned nothing, for the kernel
    """

    _narrowing = 3.0
    _least_gamma = 1.0  # wide kernels need coefficients of a size that small steps do not reach

    experts: Any = None  # those that the columns of the only learner's coefficients belong to, where there are some

    def _start(self, X, targets, random_state, *, whole):
        self._kernel = self._new_kernel(X)
        self._empty(X.shape[1], X.dtype, targets.classes, random_state)


def with_features(expansion: Expansion, n_new: int) -> Expansion:
    """The same model with further features, which are zero in all its rows."""
    rows = expansion.rows
    return expansion._replace(rows=np.concatenate([rows, np.zeros((len(rows), n_new), rows.dtype)], axis=1))


def _is_sound(model):
    n_outputs, learners = n_outputs_for(len(model.classes_)), model._machines
    own = [learner.expansion.n_outputs for learner in learners]
    losses = [getattr(learner.parts.loss, "n_outputs", 1) for learner in learners]
    kernels = {learner.parts.kernel for learner in learners}
    types = {learner.expansion.rows.dtype for learner in learners}
    if sum(own) != n_outputs or own != losses or kernels != {model._kernel} or len(types) != 1:
        return False
    return expansion_is_sound(model)


def _prediction_state(model):
    return {**kept_for_prediction(model), "_machines": list(map(trimmed_learner, model._machines))}


class OneVsRestLearners(PassParameters, BudgetedClassifier):
    """Base of classifiers made of one learner, or of one for each class against the rest.

    The learners of one-vs-rest learn the same rows with labels of their own, and each has the whole budget. Subclasses
    define ``_new_parts`` (those of a new learner) and, where one may learn several classes together, ``_is_native``.

    Parameters
    ----------
    budget : int, str or None
        Maximum number of support vectors; or bytes of the model, such as ``"64KB"``; or None for no limit. Where
        several classes are learned one-vs-rest, each of them has a budget of this number, and a part of
        these bytes.
    """

    _saved = Saved(
        {**CLASSIFIER, **HAS_BUDGET, "_machines": parts("budgeted-machine")},
        OPTIONAL, _is_sound, check_loaded_parameters, _prediction_state,
    )  # fmt: skip
    _changed_in_place = ("_machines",)
    _machines: list[Learner]  # the list stays the same while a model learns row by row, unless a store has to grow

    _is_native: Any = False  # whether one learner learns several classes together

    state = property(lambda self: self._machines)
    learners = property(lambda self: list(self._machines))

    def set_learner(self, k, learner):
        self._machines = [*self._machines[:k], learner, *self._machines[k + 1 :]]  # another list: see `state`

    @exclusive
    def add_features(self, n_new: int) -> None:
        """Take up features that were zero in all rows so far."""
        self._widen_origin(n_new)
        self._machines = [own._replace(expansion=with_features(own.expansion, n_new)) for own in self._machines]

    def _move_rows(self, shift):
        self._machines = [own._replace(expansion=moved_rows(own.expansion, shift)) for own in self._machines]

    @property
    def _expansion(self):  # type: ignore[override]
        return joined([learner.expansion for learner in self._machines])

    _dtype = property(lambda self: self._machines[0].expansion.rows.dtype)

    def _empty(self, n_features, dtype, classes, random_state):
        n_outputs = n_outputs_for(len(classes))
        n_learners, n_outputs = (1, n_outputs) if self._is_native or n_outputs == 1 else (n_outputs, 1)
        budget = slots_for_budget(self.budget, bytes_per_slot(n_features, n_outputs, dtype) * n_learners)
        self._machines = []
        for _ in range(n_learners):
            n_slots = FIRST_SLOTS if budget is None else budget + 1
            expansion = new_expansion(n_slots, n_features, n_outputs, dtype)
            capacity = expansion.rows.shape[0]
            parts = self._new_parts(hinge_for(n_outputs), self._kernel, budget, capacity, random_state)
            self._machines.append(Learner(parts, expansion))
        self.budget_ = budget
        self.classes_ = classes

    def _learn(self, X, labels, weights, order):
        learners = self._machines

        def learned(k):
            return learners[k].learn(X, binary_labels(labels, k, len(learners)), weights, order)

        threads = Threads(thread_count(self.n_jobs))
        # Learners side by side, or the products of the only one on several threads.
        with blas_threads(1) if len(learners) > 1 else self._products_with(len(learners[0].expansion.rows)):
            self._machines = threads.run(learned, range(len(learners)))

    @learned
    def model_bytes_(self):
        """Bytes that prediction needs: support vectors, their squared norms and coefficients."""
        return sum(expansion_bytes(learner.expansion) for learner in self._machines)
