"""Classifiers made of one learner, or of one for each class against the rest.

The learners of one-vs-rest learn the same rows with labels of their own, and each has the whole budget.
"""

from sklearn.utils.validation import check_is_fitted

from frugalsvm.budgeted.learner import Learner
from frugalsvm.core.expansion import coefficients, moved_rows, new_expansion
from frugalsvm.core.losses import hinge_for
from frugalsvm.core.outputs import binary_labels, joined, n_outputs_for
from frugalsvm.estimators._base import blas_threads, bytes_per_slot, expansion_bytes
from frugalsvm.estimators._online import FIRST_SLOTS
from frugalsvm.estimators._saved import (
    CLASSIFIER,
    HAS_BUDGET,
    OPTIONAL,
    check_loaded_parameters,
    expansion_is_sound,
    kept_for_prediction,
    trimmed_learner,
)
from frugalsvm.estimators._validation import slots_for_budget
from frugalsvm.estimators.learner import BudgetedClassifier
from frugalsvm.persist.savable import Saved
from frugalsvm.persist.values import parts

__all__ = ["OneVsRestLearners"]


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


class OneVsRestLearners(BudgetedClassifier):
    """Base of budgeted classifiers; subclasses define ``_new_parts`` and ``_is_native``."""

    _saved = Saved(
        {**CLASSIFIER, **HAS_BUDGET, "_machines": parts("budgeted-machine")},
        OPTIONAL, _is_sound, check_loaded_parameters, _prediction_state,
    )  # fmt: skip
    _machines: list[Learner]  # the list stays the same while a model learns row by row

    @property
    def _is_native(self):
        """Whether one learner learns several classes together."""
        return False

    def _new_parts(self, loss, kernel, budget, capacity, random_state):
        """The parts of a new learner."""
        raise NotImplementedError

    @property
    def state(self):
        return self._machines

    @property
    def learners(self):
        return list(self._machines)

    def set_learner(self, k, learner):
        self._machines[k] = learner

    def _move_rows(self, shift):
        self._machines = [own._replace(expansion=moved_rows(own.expansion, shift)) for own in self._machines]

    @property
    def _expansion(self):  # type: ignore[override]
        return joined([learner.expansion for learner in self._machines])

    @property
    def _dtype(self):
        return self._machines[0].expansion.rows.dtype

    def _coefficients(self):
        return coefficients(self._expansion)

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
        with blas_threads(self.n_jobs):
            self._machines = [
                learner.learn(X, binary_labels(labels, k, len(self._machines)), weights, order)
                for k, learner in enumerate(self._machines)
            ]

    @property
    def model_bytes_(self):
        """Bytes that prediction needs: support vectors, their squared norms and coefficients."""
        check_is_fitted(self)
        return sum(expansion_bytes(learner.expansion) for learner in self._machines)
