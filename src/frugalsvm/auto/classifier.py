"""`AutoSVC`: a kernel classifier that chooses everything itself."""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from frugalsvm._locks import shared
from frugalsvm.auto._machine import AutoMachine, ones
from frugalsvm.auto._saved import AUTO
from frugalsvm.calibration import MOST_ROWS, SplineCalibration
from frugalsvm.core.outputs import n_outputs_for, signs
from frugalsvm.estimators.asset import ASSETClassifier
from frugalsvm.estimators.labels import (
    check_classes_have_weight,
    check_two_classes,
    distinct_labels,
    encoded_labels,
    example_weights,
    looks_continuous,
)
from frugalsvm.estimators.local_svc import LocalSVC
from frugalsvm.estimators.parameters import estimator
from frugalsvm.exceptions import ManyClassesWarning, warn_caller
from frugalsvm.lowrank.losses import SquaredHinge


@estimator
class AutoSVC(ClassifierMixin, AutoMachine):
    """One call from a table to a kernel classifier with probabilities.

    `fit` scales columns robustly, fills missing values, encodes categories and text of data frames, and compares
    kernels, widths, learned metrics and values of C by exact leave-one-out errors of machines of about a thousand rows.
    The winner is fitted to all rows: in the cells of trees, as `LocalSVC` does, or in one cell where rows are few. A
    low-rank machine (`ASSETClassifier`) is taken instead where it has fewer errors on rows left out.

    Choose it for a first model of any table, and often for the last. Choose `LocalSVC` or `ASSETClassifier` if you know
    what you want, `BSGDClassifier` for streams.

    Parameters
    ----------
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes. With "balanced", balanced accuracy is what candidates are compared by.

    Attributes
    ----------
    model_ : LocalSVC or ASSETClassifier
        The estimator inside, which has learned prepared rows.
    pipeline_ : StreamPipeline
        Preparation, model and calibration together: save or export it to predict without this class.
    best_params_
    best_score_ : float
        Accuracy on rows left out: by leave-one-out of ``model_``, or of a low-rank machine that was compared with it.
        Rows that a metric was learned from do not count.
    refit_time_, cv_results_
    classes_ : ndarray of shape (n_classes,)
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from frugalsvm import AutoSVC
    >>> from frugalsvm.datasets import make_checkerboard
    >>> X, y = make_checkerboard(1200, random_state=0)
    >>> model = AutoSVC(kernel="rbf", metric=None, random_state=0).fit(X[:1000], y[:1000])
    >>> model.score(X[1000:], y[1000:]) > 0.9
    True
    >>> model.predict_proba(X[1000:]).shape
    (200, 2)
    """

    class_weight: Any = None

    _classifies = True
    _score_name = "accuracy"
    _saved = AUTO

    @staticmethod
    def _loss():
        return SquaredHinge()

    def _targets(self, rows):
        classes = distinct_labels(rows.y)
        labels = encoded_labels(rows.y, classes, classes, may_grow=False)
        check_two_classes(classes)
        if looks_continuous(rows.y, classes):
            warn_caller(
                f"y has {len(classes):,} different numbers in {len(labels):,} rows, from {classes[0]:g} to "
                f"{classes[-1]:g}, and AutoSVC takes each for a class: AutoSVR predicts numbers.",
                ManyClassesWarning,
            )
        weights = example_weights(rows.weights, self.class_weight, rows.X, classes, labels)
        check_classes_have_weight(weights, classes, labels)
        weights = ones(len(labels)) if weights is None else weights
        if weights.any() and np.bincount(labels[weights > 0]).max() == 1:
            raise ValueError(
                f"Every class has one row only: {type(self).__name__} compares machines by rows left out, and needs "
                "two rows or more of some classes. Is y a number to predict (AutoSVR), or a name?"
            )
        targets = signs(labels, n_outputs_for(len(classes)), np.float32)
        return targets, labels.astype(np.min_scalar_type(len(classes))), weights

    def _cells_machine(self):
        return LocalSVC(class_weight=self.class_weight, calibrate=None)

    @staticmethod
    def _left_out(model):
        return model.loo_scores_

    def _low_rank_machine(self):
        return ASSETClassifier(loss="squared_hinge", class_weight=self.class_weight)

    def _calibration(self, task, last):
        some = np.arange(0, len(last.rows), -(-len(last.rows) // MOST_ROWS))
        index = last.rows[some]
        return SplineCalibration.settled(
            last.scores[some], task.labels[index].astype(np.int64), task.weights[index].astype(np.float64)
        )

    @property
    def classes_(self):
        """The classes, sorted."""
        check_is_fitted(self)
        return self.pipeline_.classes_

    @shared
    def decision_function(self, X, *, device=None):
        """Decision values of the rows of ``X``, computed on a device if one is given."""
        X = self.pipeline_input(X)
        return self.pipeline_.decision_function(X, device=device)

    @shared
    def predict_proba(self, X) -> Any:
        """Probabilities of the classes, calibrated on rows left out; the predicted class has the highest."""
        X = self.pipeline_input(X)
        return self.pipeline_.predict_proba(X)
