"""`IncrementalSVC` without some of its examples: unlearned for good, or each in turn; and calibrated late."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from frugalsvm._locks import exclusive
from frugalsvm.estimators.forget_reports import ReportsForgetting, certificate, digest_of_examples
from frugalsvm.estimators.labels import distinct_labels, encoded_labels
from frugalsvm.estimators.seen_rows import absolute_rows
from frugalsvm.estimators.unchanged import prepare_to_learn
from frugalsvm.exact.forgetting import Freed, erase, indices_of_ids, indices_of_rows
from frugalsvm.exact.incremental import unlearn
from frugalsvm.exact.one_vs_one import left_out_values


class ForgetsExamples(ReportsForgetting):
    """`unlearn`, `loo_predict` and late calibration; the rest of the estimator is in `incremental.py`."""

    # --- forgetting ---------------------------------------------------------------------------------------

    @exclusive
    def unlearn(self: Any, X, y=None, *, certify=False):
        """Take examples out, as if they had never been learned.

        Parameters
        ----------
        X : array-like of int, or array-like or sparse matrix of shape (n_samples, n_features)
            The ids of the examples (see ``example_ids_``), or their rows. Of equal rows the last learned goes first; a
            row that is given twice goes twice.
        y : array-like of shape (n_samples,), default=None
            Labels of the rows: only examples with the same label are meant.
        certify : bool, default=False
            Whether the certificate has digests of the model before and after.

        Returns
        -------
        self

        Notes
        -----
        If there is no such example (any more), that is a ValueError, and none of them is unlearned.
        """
        check_is_fitted(self)
        prepare_to_learn(self)
        indices = self._indices(X, y)
        ids = self._examples.ids[indices]
        with self._changing():
            digest = digest_of_examples(self) if certify else None
            self._forget_calibration()
            freed = self._take_out(indices)
            facts = {} if digest is None else {"digest before": digest, "digest after": digest_of_examples(self)}
            violation = float(self.kkt_violation_)
            self.forgotten_ = [*self.forgotten_, certificate(ids, residual=violation, **facts)]
        erase(self._solvers, freed)
        return self

    def _facts(self: Any):
        check_is_fitted(self)
        return {"rows": self.n_examples_, "digest": digest_of_examples(self)}

    def _take_out(self: Any, indices):
        """Unlearn the examples at some places; returns the slots where they were."""
        freed = []
        for m, _, slots in self._examples.at(indices).by_solver():
            for slot in slots.tolist():
                freed.append(Freed(m, slot, int(self._solvers[m].cache.place[slot])))
                self._solvers[m] = unlearn(self._kernel, self._solvers[m], slot, self._next_room(m))
        self._examples = self._examples.but(indices)
        return freed

    def _indices(self: Any, X, y):
        if np.ndim(X) < 2:
            if y is not None:
                raise ValueError("Ids say which examples are meant: y is for rows only.")
            return indices_of_ids(self._examples, X, self._n_learned)
        X, labels = self._known_rows(X, self._dtype), None
        if y is not None:
            y = column_or_1d(y)
            check_consistent_length(X, y)
            labels = encoded_labels(y, distinct_labels(y), self.classes_, may_grow=False)
        return indices_of_rows(self._examples, self._solvers, X, labels)

    # --- each example left out ----------------------------------------------------------------------------

    @exclusive
    def loo_predict(self: Any):
        """The class that is predicted for each example by a model that has learned all but this one.

        That is exact, and costs an unlearning for each support vector (in each pair of classes); others need nothing.
        The kernel stays the same, also where gamma was "scale".

        Returns
        -------
        ndarray of shape (n_examples,)
            In the order of ``example_ids_``.
        """
        check_is_fitted(self)
        prepare_to_learn(self)  # examples are taken out and put back
        if self._left_out is None:
            with self._memory_errors(), self._products():
                self._left_out = self._class_scores(
                    left_out_values(self._kernel, self._examples, self._solvers, self._next_room, self._solver_threads)
                )
        scores = self._left_out
        return self.classes_[(scores[:, 0] >= 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)]

    def __dir__(self):
        # Notebooks and debuggers read all attributes that are listed here, and so does scikit-learn's own __dir__. What
        # takes an unlearning for each support vector is listed when it is known.
        known = getattr(self, "_left_out", None) is not None
        return [name for name in object.__dir__(self) if known or name != "loo_error_"]

    @property
    def loo_error_(self: Any):
        """The leave-one-out error: the share of examples for which `loo_predict` is wrong; NaN without examples."""
        wrong = self.loo_predict() != self.classes_[self._examples.labels]
        return float(np.mean(wrong)) if len(wrong) > 0 else float("nan")

    # --- calibration of the examples that are held --------------------------------------------------------

    def _calibrate_late(self: Any):
        """Calibrate as `fit` does, with the examples that are held."""
        if self._predictor is not None or self._is_precomputed:
            return
        rows, labels, weights = self._held_examples()
        model = clone(self).set_params(C=self.C_)
        if len(distinct_labels(labels)) < len(self.classes_):  # models of these would have other decision values
            model._calibrate([])
        else:
            model._calibrate_apart(rows, labels, weights)
        self.calibration_ = model.calibration_

    def complete_calibration(self: Any):
        """Calibrate now if only the next `predict_proba` would: before the examples are given away."""
        if self.calibrate is not None and not hasattr(self, "calibration_"):
            self._calibrate_late()

    def _held_examples(self: Any):
        """Rows, labels and weights of the examples, as `fit` would get them."""
        rows, boxes = np.zeros((self.n_examples_, self._width)), np.zeros(self.n_examples_)
        for m, indices, slots in self._examples.at_home():
            state = self._solvers[m].state
            rows[indices], boxes[indices] = state.points.rows[slots], (state.upper - state.lower)[slots]
        weights = boxes / self.C_
        same = np.allclose(weights, 1.0, rtol=1e-9, atol=0.0)
        rows = absolute_rows(rows, self._origin, None)
        return rows, self.classes_[self._examples.labels], None if same else weights
