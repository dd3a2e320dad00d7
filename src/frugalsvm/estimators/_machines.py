"""Classifiers made of one machine, or of one for each class against the rest.

A machine is what ``learn`` takes: the parts of a learner, with the state of its budget policy, and its support vectors.
The machines of one-vs-rest learn the same rows with labels of their own, and each has the whole budget.
"""

from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from frugalsvm._stored import stored
from frugalsvm.budgeted.policy import has_room
from frugalsvm.budgeted.sgd import Parts, learn
from frugalsvm.core.expansion import N_SEEN, N_SLOTS, Expansion, coefficients, moved_rows, new_expansion
from frugalsvm.core.losses import hinge_for
from frugalsvm.estimators._base import blas_threads, bytes_per_slot, expansion_bytes, new_kernel
from frugalsvm.estimators._classes import n_outputs_for
from frugalsvm.estimators._online import FIRST_SLOTS, OnlineClassifier
from frugalsvm.estimators._validation import slots_for_budget

__all__ = ["Machine", "MachinesClassifier", "joined"]


@stored("budgeted-machine")
class Machine(NamedTuple):
    parts: Parts
    expansion: Expansion

    def is_sound(self, sizes) -> bool:
        """Whether there is room for the support vectors that may come."""
        return has_room(self.parts.policy, self.expansion)


def joined(expansions: list[Expansion]) -> Expansion:
    """One expansion with the support vectors of all, each of one output, and an output for each of them."""
    if len(expansions) == 1:
        return expansions[0]
    sizes = [int(expansion.counts[N_SLOTS]) for expansion in expansions]
    rows = expansions[0].rows
    whole = new_expansion(sum(sizes), rows.shape[1], len(expansions), rows.dtype)
    start = 0
    for output, (expansion, n) in enumerate(zip(expansions, sizes, strict=True)):
        for target, source in ((whole.rows, expansion.rows), (whole.norms, expansion.norms)):
            target[start : start + n] = source[:n]
        whole.coef[output, start : start + n] = coefficients(expansion)[:, 0]
        start += n
    whole.counts[:] = np.sum([expansion.counts for expansion in expansions], axis=0)
    whole.counts[N_SEEN] = expansions[0].counts[N_SEEN]
    return whole


class MachinesClassifier(OnlineClassifier):
    """Base of classifiers with machines; subclasses define ``_new_parts`` and ``_is_native``."""

    _machines: list[Machine]

    @property
    def _is_native(self):
        """Whether one machine learns several classes together."""
        return False

    def _new_parts(self, loss, kernel, budget, capacity, random_state):
        """The parts of a new machine."""
        raise NotImplementedError

    def _move_rows(self, shift):
        self._machines = [m._replace(expansion=moved_rows(m.expansion, shift)) for m in self._machines]

    @property
    def _expansion(self):  # type: ignore[override]
        return joined([machine.expansion for machine in self._machines])

    @property
    def _dtype(self):
        return self._machines[0].expansion.rows.dtype

    def _coefficients(self):
        return coefficients(self._expansion)

    def _start(self, X, classes, random_state):
        n_features, n_classes = X.shape[1], len(classes)
        n_outputs = n_outputs_for(n_classes)
        self._kernel = new_kernel(self.kernel, self.gamma, self.degree, self.coef0, X)
        n_machines, n_outputs = (1, n_outputs) if self._is_native or n_outputs == 1 else (n_outputs, 1)
        budget = slots_for_budget(self.budget, bytes_per_slot(n_features, n_outputs, X.dtype) * n_machines)
        self._machines = []
        for _ in range(n_machines):
            n_slots = FIRST_SLOTS if budget is None else budget + 1
            expansion = new_expansion(n_slots, n_features, n_outputs, X.dtype)
            capacity = expansion.rows.shape[0]
            parts = self._new_parts(hinge_for(n_outputs), self._kernel, budget, capacity, random_state)
            self._machines.append(Machine(parts, expansion))
        self.budget_ = budget
        self.classes_ = classes

    def _learn(self, X, labels, weights, order):
        with blas_threads(self.n_jobs):
            self._machines = [
                Machine(*learn(parts, expansion, X, self._labels_for(k, labels), weights, order))
                for k, (parts, expansion) in enumerate(self._machines)
            ]

    def _labels_for(self, k, labels):
        return labels if len(self._machines) == 1 else (labels == k).astype(np.int64)

    @property
    def model_bytes_(self):
        """Bytes that prediction needs: support vectors, their squared norms and coefficients."""
        check_is_fitted(self)
        return sum(expansion_bytes(machine.expansion) for machine in self._machines)
