"""`AutoSVC`: a kernel classifier that chooses everything itself."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from frugalsvm._locks import shared
from frugalsvm.arrays.namespace import HOST
from frugalsvm.auto._machine import AutoMachine, ones
from frugalsvm.auto._saved import AUTO
from frugalsvm.auto.targets import looks_continuous
from frugalsvm.calibration import MOST_ROWS, PlattCalibration
from frugalsvm.estimators.asset import ASSETClassifier
from frugalsvm.estimators.caller_warnings import warn_caller
from frugalsvm.estimators.local_svc import LocalSVC
from frugalsvm.estimators.validation import (
    check_classes_have_weight,
    distinct_labels,
    encoded_labels,
    example_weights,
)
from frugalsvm.exceptions import ManyClassesWarning
from frugalsvm.lowrank.losses import SquaredHinge
from frugalsvm.lowrank.targets import class_targets

__all__ = ["AutoSVC"]


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
    time_budget : float or str, default=None
        Limit for `fit`, in seconds or as "90s", "5min" or "1h". A candidate that would not leave enough time for the
        fit on all rows is left out; `report` tells. None searches until nothing better is in sight; the fit on all rows
        takes a time that is proportional to their number.
    memory : str, default="auto"
        Limit for kernel values in training, such as "2GB", and with it for the size of cells. "auto" is 4 GB; on a GPU,
        most of what is free there.
    kernel : "auto", str or list of str, default="auto"
        Kernels to compare: functions of differences, see :ref:`kernels`. "auto" is rbf, laplacian, matern12 and
        matern32.
    metric : "auto" or None, default="auto"
        Whether to learn a metric as well: factors of the features, or directions across them. It is taken if it is
        better on rows that it was not learned from. See :ref:`metric`.
    n_components : "auto" or int, default="auto"
        A number asks for a low-rank machine with that many landmarks: a small model. "auto" takes machines in cells, or
        a low-rank machine where that has fewer errors on rows left out, and for sparse rows.
    missing : {"impute", "refuse"}, default="impute"
        What to do about missing numbers (NaN) of dense rows: fill them with the median, with a further column that
        tells where values were missing; or refuse them. Missing text is a category of its own kind: all zeros.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes. With "balanced", balanced accuracy is what candidates are compared by.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where it is computed, as in `ASSETClassifier`.
    n_jobs : int, default=None
        Threads; None is all cores, 1 one thread.
    verbose : int, default=0
        Whether to print a line for each candidate.
    random_state : int, RandomState instance or None, default=None
        For samples, trees and landmarks. With a number, the same rows give the same model, unless a ``time_budget``
        cuts in.

    Attributes
    ----------
    model_ : LocalSVC or ASSETClassifier
        The estimator inside, which has learned prepared rows.
    pipeline_ : StreamPipeline
        Preparation, model and calibration together: save or export it to predict without this class.
    best_params_ : dict
        ``kernel``, ``gamma``, ``C``, ``rows`` (how they are seen: scaled, in proportion, or in a learned metric), and
        ``cell_size`` and ``n_trees``, or ``n_components`` of a low-rank machine.
    best_score_ : float
        Accuracy on rows left out: by leave-one-out of ``model_``, or of a low-rank machine that was compared with it.
        Rows that a metric was learned from do not count.
    refit_time_ : float
        Seconds that the fit to all rows took, when everything was chosen.
    cv_results_ : dict
        All candidates, in the form of scikit-learn's halving searches, of which ``iter`` is the round. A split is a
        fifth of the rows that count.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X has names.

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

    _classifies = True
    _score_name = "accuracy"
    _saved = AUTO

    def __init__(
        self,
        *,
        time_budget=None,
        memory: str = "auto",
        kernel: str | Sequence[str] = "auto",
        metric: str | None = "auto",
        n_components: int | str = "auto",
        missing="impute",
        class_weight=None,
        device="cpu",
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        self.time_budget = time_budget
        self.memory = memory
        self.kernel = kernel
        self.metric = metric
        self.n_components = n_components
        self.missing = missing
        self.class_weight = class_weight
        self.device = device
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @staticmethod
    def _plain(n_jobs):
        return ASSETClassifier(n_jobs=n_jobs)

    @staticmethod
    def _loss():
        return SquaredHinge()

    def _targets(self, rows):
        classes = distinct_labels(rows.y)
        labels = encoded_labels(rows.y, classes, classes, may_grow=False)
        if len(classes) < 2:
            raise ValueError(
                f"Training needs at least two classes, but all labels are {classes[:1].tolist()[0]!r}: one class."
            )
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
        targets = class_targets(HOST, labels, len(classes))
        return targets, labels.astype(np.min_scalar_type(len(classes))), weights

    @staticmethod
    def _score(error):
        return 1.0 - error

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
        return PlattCalibration.settled(
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
