"""The duality gap of classifiers that learn in the dual: over their members, and of the whole training problem."""

import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from frugalsvm.dual.gap import NotTheProblemError, training_gap
from frugalsvm.dual.state import BIAS
from frugalsvm.estimators._base import blas_threads
from frugalsvm.estimators._online import OnlineClassifier
from frugalsvm.estimators._validation import encoded_labels, example_weights

__all__ = ["TrainingGap"]


class TrainingGap(OnlineClassifier):
    """The part of `DualClassifier` that tells how far from the optimum it is."""

    _machine: Any

    @property
    def _keeps_all(self) -> bool:
        """Whether all examples stay members."""
        return False

    def _refuse_gap(self) -> None:
        """Raise a ValueError where the training problem is not convex."""

    @property
    def member_gap_(self):
        """Primal minus dual objective over the members, of the last iterate, summed over the outputs.

        It bounds what more steps on the members could gain. Examples that are no members have losses, too, which are
        not in it: see `duality_gap`. It is made of gradients that are kept in the type of the rows: those of float32
        rows are rounded, each to about a millionth of the sum of the coefficients.
        """
        check_is_fitted(self)
        dual = self._machine.dual
        n = dual.members.counts[0]["n_slots"]
        gradient, alpha, bound = dual.gradient[:, :n], dual.members.coef[:, :n], dual.bound[:, :n]
        hinge = np.maximum(bound * (gradient - dual.sums[:, BIAS, None]), 0.0)
        return float(np.sum(hinge - alpha * gradient))

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
        n_outputs = self._machine.dual.bound.shape[0]
        positive = labels[None] == (np.ones((1, 1)) if n_outputs == 1 else np.arange(n_outputs)[:, None])
        truth, boxes = np.where(positive, 1.0, -1.0), self._boxes(X, weights)
        support, bias = self._expansion, self._machine.dual.sums[:, BIAS]
        n = support.counts[0]["n_slots"]
        try:
            with blas_threads(self.n_jobs):
                return training_gap(self._kernel, support.rows[:n], support.coef[:, :n], bias, X, truth, boxes)
        except NotTheProblemError as error:
            raise ValueError(
                f"duality_gap needs all rows that the model has learned, with the same weights and C: {error}."
            ) from error
