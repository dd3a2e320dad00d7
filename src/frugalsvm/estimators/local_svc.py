"""Least-squares support vector machines in cells, as a scikit-learn classifier."""

from typing import Any, cast

import numpy as np
from sklearn.utils.validation import check_consistent_length, column_or_1d

from frugalsvm._stored import within
from frugalsvm.arrays.namespace import on_host
from frugalsvm.calibration import MOST_ROWS
from frugalsvm.core.outputs import n_outputs_for, signs
from frugalsvm.estimators._base import ScoreClassifier, predicted_labels
from frugalsvm.estimators._learned_rows import places_in
from frugalsvm.estimators._local_saved import LOCAL
from frugalsvm.estimators.constraints import one_of
from frugalsvm.estimators.fit_warnings import warn_if_poor_left_out
from frugalsvm.estimators.labels import classes_in, distinct_labels, encoded_labels
from frugalsvm.estimators.local_machine import LocalMachine
from frugalsvm.estimators.parameters import estimator, parameter
from frugalsvm.persist.values import is_classes


def _is_sound(model):
    n_classes, labels = len(model.classes_), getattr(model, "_row_targets", None)
    if labels is not None and not (labels.dtype.kind in "iu" and within(labels, n_classes)):
        return False
    if abs(model.loo_error_ - 0.5) > 0.51:  # a share, up to rounding
        return False
    return model._cells[0].intercepts.shape[1] == n_outputs_for(n_classes) and LOCAL.is_sound(model)


def _some_known(weights, n_rows, n_most):
    """About ``n`` of the rows that have a weight, from all over."""
    if weights is None:
        return np.arange(0, n_rows, -(-n_rows // n_most))
    known = np.flatnonzero(weights)
    return known[:: -(-len(known) // n_most)]


def _are_wrong(scores, labels):
    """Whether scores are those of other classes than these, which are numbers."""
    return labels != (scores[:, 0] >= 0 if scores.shape[1] == 1 else scores.argmax(axis=1))


@estimator
class LocalSVC(ScoreClassifier, LocalMachine):
    """Kernel machines in the cells of a balanced tree: for tables of up to tens of millions of rows.

    A tree divides the rows into cells of one or two thousand, and each cell has a least-squares SVM of all its rows.
    The time is proportional to the number of rows, and cells are solved side by side on all cores. Leave-one-out scores
    come with it, exactly: gamma and C are chosen by them, and probabilities calibrated.

    Parameters
    ----------
    C : float or "auto", default="auto"
        As in `sklearn.svm.SVC`, with squared errors: large values fit the rows more closely. "auto" is chosen by
        leave-one-out errors on some cells.
    class_weight : dict, "balanced" or None, default=None
    calibrate : {"platt", "spline", "isotonic"} or None, default="spline"
        How to calibrate `predict_proba` with leave-one-out scores, see :ref:`calibration`.

    Attributes
    ----------
    classes_
    loo_scores_ : ndarray of shape (n_samples, n_outputs)
        Decision values of every row by the machines that have not learned it; the trees stay as they are.
    loo_error_ : float
        Share of rows, by weight, that they classify wrongly: an estimate of the error on new rows. That gamma and C are
        chosen by leave-one-out errors makes it hardly smaller; a metric that is learned from the same rows may.
    C_, cell_size_, n_cells_, model_bytes_, metric_, n_features_in_
    row_ids_, structure_rows_, forgotten_

    References
    ----------
    J. A. K. Suykens, J. Vandewalle (1999). Least squares support vector machine classifiers. Neural Processing Letters
    9.

    M. Meister, I. Steinwart (2016). Optimal learning rates for localized SVMs. Journal of Machine Learning Research 17.

    Examples
    --------
    >>> from frugalsvm import LocalSVC
    >>> from frugalsvm.datasets import make_checkerboard
    >>> X, y = make_checkerboard(20_000, random_state=0)
    >>> model = LocalSVC(cell_size=500, random_state=0).fit(X[:15_000], y[:15_000])
    >>> model.score(X[15_000:], y[15_000:]) > 0.98
    True
    >>> model.loo_error_ < 0.02
    True
    """

    calibrate: str | None = parameter(default="spline", check=one_of(("platt", "spline", "isotonic", None)))

    _saved = LOCAL._replace(required={**LOCAL.required, "classes_": is_classes}, is_sound=_is_sound)

    def _examples_of(self, X, y, sample_weight, *, first):
        X, labels, weights = super()._examples_of(X, y, sample_weight, first=first)
        if first and self._announced is not None:
            labels = self._with_announced(labels)
        return X, self._taken(labels), weights

    _announced = cast(Any, None)  # all classes that will ever come, while the first batch is learned

    def _with_announced(self, labels):
        """The same labels among all classes that were announced."""
        unknown = np.setdiff1d(labels.classes, self._announced)
        if len(unknown):
            raise ValueError(f"y has the label {unknown[:1].tolist()[0]!r}, which is not in classes.")
        return labels._replace(
            indices=np.searchsorted(self._announced, labels.classes)[labels.indices], classes=self._announced
        )

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Add rows: each joins its cell in every tree, which is solved again; a cell that is too large is divided.

        The first call is a `fit`, which chooses the metric, gamma and C: its rows should be like those to come, and be
        of at least two classes. Later calls keep them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like, default=None
            All classes that will ever come. Needed in the first call if that batch does not have all of them.
        sample_weight : array-like of shape (n_samples,), default=None
            Rows of weight 0 are ignored, but have ids.

        Returns
        -------
        self
        """
        announced = None if classes is None else np.unique(classes)
        if hasattr(self, "_rows"):
            if announced is not None and not np.array_equal(announced, self.classes_):
                raise ValueError(f"classes={classes!r} differs from the classes of the first call: {self.classes_!r}.")
            self._add(X, y, sample_weight)
            return self
        self._announced = announced
        try:
            return self.fit(X, y, sample_weight)
        finally:
            self.__dict__.pop("_announced", None)

    def targets_of(self, y, sample_weight):
        classes = classes_in(y)
        labels, weights = self._labeled(y, classes, classes, y[:, None], sample_weight)
        return self._taken(labels), weights

    def _taken(self, labels):
        """Signs of all rows, whose classes are those of the model."""
        self.classes_ = labels.classes
        return self._signs(labels.indices)

    def _signs(self, labels):
        return signs(labels, n_outputs_for(len(self.classes_)), self._dtype)

    def known_targets(self, y):
        labels = encoded_labels(y, distinct_labels(y), self.classes_, may_grow=False)
        return self._signs(labels)

    def _kept_targets(self, targets):
        labels = targets[0] > 0 if len(targets) == 1 else targets.argmax(axis=0)
        return labels.astype(np.min_scalar_type(len(self.classes_)))

    def _targets_kept(self, kept):
        return self._signs(kept)

    def _as_given(self, kept):
        return self.classes_[kept]

    def _own_targets(self, y, rows):
        y = column_or_1d(on_host(y))
        check_consistent_length(rows, y)
        return self._kept_targets(self.known_targets(y))

    def _more_examples(self, X, y, sample_weight):
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' needs all labels beforehand: to add rows, fit with a dict of weights, or pass "
                "sample_weight."
            )
        return self._examples_of(X, y, sample_weight, first=False)

    def take_left_out(self, scores, targets, weights):
        numbers = np.arange(len(self.classes_), dtype=np.min_scalar_type(len(self.classes_)))  # there are many rows
        labels, left_out = (predicted_labels(each, numbers, self.n_jobs) for each in (targets.T, scores))
        self.loo_scores_ = scores
        self.loo_error_ = float(np.average(labels != left_out, weights=weights))
        warn_if_poor_left_out(self, labels == left_out, labels, weights)
        self._forget_calibration()
        self._calibrate_left_out(scores, lambda some: labels[some], weights)

    def _calibrate_left_out(self, scores, labels_of, weights):
        if self.calibrate is not None:
            some = _some_known(weights, len(scores), MOST_ROWS)
            own = None if weights is None else weights[some]
            self.calibrate_on(scores[some], labels_of(some).astype(np.int64), own)

    def _retake_left_out(self, left_out):
        scores, weights = left_out.scores, self._row_weights
        self.loo_scores_ = scores
        if weights is None:  # the share is that of a count, which changes by that of few rows
            n_wrong = round(self.loo_error_ * left_out.n_before)
            n_wrong += np.count_nonzero(_are_wrong(*left_out.after)) - np.count_nonzero(_are_wrong(*left_out.before))
            self.loo_error_ = n_wrong / len(scores)
        else:
            order = self._order_of_ids()
            weights = weights[order]
            self.loo_error_ = float(np.average(_are_wrong(scores, self._row_targets[order]), weights=weights))
        self._forget_calibration()

        def labels_of(some):
            return self._row_targets[places_in(self._row_ids, left_out.ids[some])]

        self._calibrate_left_out(scores, labels_of, weights)

    _scores = _device_scores = LocalMachine.scores_of
