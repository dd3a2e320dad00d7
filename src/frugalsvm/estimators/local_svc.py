"""Least-squares support vector machines in cells, as a scikit-learn classifier."""

from typing import Any

import numpy as np

from frugalsvm.arrays.namespace import on_host
from frugalsvm.calibration import MOST_ROWS
from frugalsvm.core.outputs import n_outputs_for, signs
from frugalsvm.estimators._base import ScoreClassifier
from frugalsvm.estimators._calibrated import check_calibrate
from frugalsvm.estimators._local import LocalMachine
from frugalsvm.estimators._local_saved import LOCAL
from frugalsvm.estimators._scoring import predicted_labels
from frugalsvm.estimators._validation import (
    check_classes_have_weight,
    classes_in,
    distinct_labels,
    encoded_labels,
    example_weights,
)
from frugalsvm.estimators._warnings import warn_if_poor_left_out
from frugalsvm.persist.values import is_classes

__all__ = ["LocalSVC"]


def _is_sound(model):
    return model._cells[0].intercepts.shape[1] == n_outputs_for(len(model.classes_)) and LOCAL.is_sound(model)


def _some_known(weights, n_rows, n_most):
    """About ``n`` of the rows that have a weight, from all over."""
    if weights is None:
        return np.arange(0, n_rows, -(-n_rows // n_most))
    known = np.flatnonzero(weights)
    return known[:: -(-len(known) // n_most)]


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
    kernel : str, default="matern12"
        See :ref:`kernels`. Tables with sharp boundaries like "matern12", smooth ones "rbf".
    gamma : float, "scale" or "auto", default="auto"
        Factor of squared distances; "scale" is one over the sum of the variances, and "auto" chosen together with C.
    metric : {"diag", "full", "auto"}, array or None, default=None
        What rows are multiplied by before the kernel sees them: learned, or an array, such as ``metric_`` of another
        model. See :ref:`metric`.
    degree : int, default=3
        Of kernel="poly".
    coef0 : float, default=1.0
        Of kernel="poly".
    cell_size : int or "auto", default="auto"
        Most rows of a cell. The time is proportional to its square, and larger cells are more accurate. "auto" is 2048,
        and up to 4096 rows are one cell.
    n_trees : int, default=1
        Several trees are averaged, which is more accurate, and takes as many times as long.
    class_weight : dict, "balanced" or None, default=None
    calibrate : {"platt", "isotonic"} or None, default="platt"
        How to calibrate `predict_proba` with leave-one-out scores, see :ref:`calibration`.
    budget : str or None, default=None
        Most bytes of the model, such as "20MB": rows are kept as codes of few bits, and only as many as there is room
        for, with more of them where cells are hard to learn. None keeps all rows as they are.
    memory : str, default="4GB"
        Limit for the matrices of cells: fewer threads work where there is no room for all. On a GPU, so much of its
        memory: as many cells are solved together as there is room for.
    copy_X : bool, default=True
        False lets the model keep rows where they are, if they have its type, and with a metric write there what the
        kernel sees: do not use ``X`` afterwards then.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where `fit` and predictions are computed. "cuda" is a GPU, with PyTorch; tensors that are there stay there. The
        model does not depend on it, up to rounding, and predicts on a CPU as well.
    dtype : {"float32", "float64"}, default="float32"
        Type in which kernels are computed and cells are solved; those that float32 is too coarse for are solved in
        float64 anyway.
    n_jobs : int, default=None
        Threads; None is one, -1 all cores. The model does not depend on it, unless there are fewer cells than threads.
    verbose : int, default=0
        With 1, `fit` shows its progress in a line on standard error: cells, cells per second, time left.
    random_state : int, RandomState instance or None, default=None
        For the directions in which trees divide.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    loo_scores_ : ndarray of shape (n_samples, n_outputs)
        Decision values of every row by the machines that have not learned it; the trees stay as they are.
    loo_error_ : float
        Share of rows, by weight, that they classify wrongly: an estimate of the error on new rows. That gamma and C are
        chosen by leave-one-out errors makes it hardly smaller; a metric that is learned from the same rows may.
    C_, gamma_ : float
    cell_size_ : int
    n_cells_ : int
    model_bytes_ : int
    metric_, feature_importances_ : ndarray
        With a metric: what rows are multiplied by, and the share that each feature has in distances then.
    n_features_in_ : int

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

    def __init__(
        self,
        C: float | str = "auto",
        *,
        kernel="matern12",
        gamma: float | str = "auto",
        metric: Any = None,
        degree=3,
        coef0=1.0,
        cell_size: int | str = "auto",
        n_trees=1,
        class_weight: Any = None,
        calibrate: str | None = "platt",
        budget: str | None = None,
        memory="4GB",
        copy_X=True,
        device="cpu",
        dtype="float32",
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.metric = metric
        self.degree = degree
        self.coef0 = coef0
        self.cell_size = cell_size
        self.n_trees = n_trees
        self.class_weight = class_weight
        self.calibrate = calibrate
        self.budget = budget
        self.memory = memory
        self.copy_X = copy_X
        self.device = device
        self.dtype = dtype
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    _saved = LOCAL._replace(required={**LOCAL.required, "classes_": is_classes}, is_sound=_is_sound)

    def _check_params(self):
        check_calibrate(self.calibrate)
        super()._check_params()

    def _examples(self, X, y, sample_weight):
        X, y, classes = self._validated(X, on_host(y), reset=True)
        return X, *self._labeled(y, classes, X, sample_weight)

    def _surveyed(self, y, sample_weight):
        return self._labeled(y, classes_in(y), y[:, None], sample_weight)

    def _known_targets(self, y):
        labels = encoded_labels(y, distinct_labels(y), self.classes_, may_grow=False)
        return signs(labels, n_outputs_for(len(self.classes_)), self._dtype)

    def _labeled(self, y, classes, X, sample_weight):
        """Signs and weights of all rows; the classes are these."""
        if len(classes) < 2:
            raise ValueError(
                f"Training needs at least two classes, but all labels are {classes[:1].tolist()[0]!r}: one class."
            )
        labels = encoded_labels(y, classes, classes, may_grow=False)
        weights = example_weights(on_host(sample_weight), self.class_weight, X, classes, labels)
        check_classes_have_weight(weights, classes, labels)
        self.classes_ = classes
        return signs(labels, n_outputs_for(len(classes)), self._dtype), weights

    def _take_left_out(self, scores, targets, weights):
        numbers = np.arange(len(self.classes_), dtype=np.min_scalar_type(len(self.classes_)))  # there are many rows
        labels, left_out = (predicted_labels(each, numbers, self.n_jobs) for each in (targets.T, scores))
        self.loo_scores_ = scores
        self.loo_error_ = float(np.average(labels != left_out, weights=weights))
        warn_if_poor_left_out(self, labels == left_out, labels, weights)
        self._forget_calibration()
        if self.calibrate is not None:
            some = _some_known(weights, len(scores), MOST_ROWS)
            own = None if weights is None else weights[some]
            self.calibrate_on(scores[some], labels[some].astype(np.int64), own)

    # --- scores ---------------------------------------------------------------------------------------------

    def _scores(self, X):
        return self._output(X)

    def _device_scores(self, X, arrays):
        return self._output(X, arrays)
