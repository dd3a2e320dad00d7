"""ASSET as a scikit-learn classifier."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from frugalsvm._locks import shared
from frugalsvm.arrays.namespace import HOST, on_host
from frugalsvm.compiling.threads import blas_threads
from frugalsvm.core.outputs import n_outputs_for
from frugalsvm.estimators._asset import LowRankMachine
from frugalsvm.estimators._asset_saved import LOW_RANK
from frugalsvm.estimators._base import StreamClassifier
from frugalsvm.estimators._calibrated import check_calibrate
from frugalsvm.estimators._multilabel import check_for_labels, label_matrix
from frugalsvm.estimators._targets import checked_weights
from frugalsvm.estimators._unchanged import unchanged_on_error
from frugalsvm.estimators._validation import (
    check_classes_have_weight,
    classes_in,
    encoded_labels,
    example_weights,
)
from frugalsvm.estimators._warnings import warn_after_fit
from frugalsvm.lowrank.targets import accuracy, class_indices, class_targets, label_accuracy
from frugalsvm.persist.values import IS_BOOL, is_classes

__all__ = ["ASSETClassifier"]


def _is_sound(model):
    return len(model._weights) == model._n_outputs() and LOW_RANK.is_sound(model)


class ASSETClassifier(LowRankMachine, StreamClassifier):
    """Low-rank kernel SVM: the fast one for large data, in batch or as a stream with an intercept.

    The kernel is replaced by the inner product of ``n_components`` features, Nystroem or random Fourier. On them `fit`
    solves the SVM problem to about 0.1 % in a handful of passes, and `partial_fit` takes stochastic subgradient steps
    in constant memory. More than two classes are learned one-vs-rest, on shared features. So are labels in
    columns, of which a row may have several or none (``y`` of zeros and ones, of shape (n_samples, n_labels)): see
    :ref:`several-outputs`.

    Choose it for 10^4 to 10^7 rows when all of them can be read several times: it is tens of times faster than `SVC`
    and a little less accurate, the less so the more components it has. Choose `BSGDClassifier` for smaller models and
    for streams, `LASVMClassifier` for the accuracy of `SVC`.

    Parameters
    ----------
    feature_map : {"nystroem", "fourier"}, default="nystroem"
        Kernel values with some rows of the data, the landmarks, whitened; or random Fourier features (of kernels of
        differences), which need no data at all but more components for the same accuracy.
    n_components : int, default=512
        Number of landmarks or of Fourier features. More are more accurate; time and memory are proportional to it, with
        a cubic part that shows from a few thousand on.
    C : float, list of float or "auto", default="auto"
        As in `sklearn.svm.SVC`: the regularization strength is ``lambda = 1 / (C n)``. A list is a path: all values
        are solved for, each from the one before, on the same kernel values; the one that does best on validation rows
        (``validation_fraction`` of them) is solved for again with all rows. Ten values cost two or three single fits.
        "auto" is chosen on some thousands of rows, together with gamma if that is "auto", too, see :ref:`first-rows`.
        Streams take ``n = 10 000`` unless ``alpha`` is given.
    kernel : str, KernelSum or callable, default="rbf"
        Kernel, see :ref:`kernels`; a `KernelSum` of several; or a function ``kernel(A, B)`` of your own that returns
        the values of all pairs of rows.
    gamma : {"auto", "scale"} or float, default="auto"
        Kernel coefficient; "scale" is ``1 / X.var(axis=0).sum()``. "auto" is chosen on some thousands of the first
        rows, in a fraction of a second, see :ref:`first-rows`.
    metric : {"diag", "full", "auto"}, array or None, default=None
        How the kernel measures distances. None: all features count alike. "diag" learns a factor for each feature, so
        that those that do not matter do not count; "full" a matrix, for directions across features (not with
        "laplacian", nor for sparse rows). "auto" learns both, and takes what does best on rows that none of them was
        learned from, the plain metric included. `partial_fit` learns it from the first batch; then it stays. Unless
        gamma is a number, it is learned along with it. An array of factors, or a matrix with a column for each
        feature, is taken as it is: such as ``metric_`` of another model. See :ref:`metric`.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1.0
        Constant of the polynomial kernel.
    loss : {"hinge", "squared_hinge"}, default="hinge"
    solver : {"newton", "asset", "asset*"}, default="newton"
        How `fit` solves the problem: truncated Newton, by far the fastest and the only one that comes near the
        optimum; or the stochastic subgradient steps of the paper, ``"asset"`` with steps that fall like
        ``1 / sqrt(t)`` and an unpenalized intercept, ``"asset*"`` with steps of ``1 / (lambda t)``, where an
        intercept is penalized. `partial_fit` takes subgradient steps always, those of "asset" for "newton".
    fit_intercept : bool, default=True
    alpha : float, default=None
        The regularization strength lambda; replaces C. Set it for streams.
    landmarks : {"uniform", "kmeans++", "kmeans"} or array of shape (n_landmarks, n_features), default="uniform"
        Random rows; rows that are spread out; or means of the rows around these, which are better for images and cost
        about as much as the kernel values of ten thousand rows. An array has landmarks of your own, and
        ``n_components`` does not count then.
    rank : int, default=None
        Maximum number of features that the Nystroem map keeps, those with the largest eigenvalues.
    eigenvalue_threshold : float, default=1e-7
        It keeps those above this share of the largest eigenvalue. Kernel values are float32: far below that, features
        are rounding errors.
    structured : bool or "auto", default="auto"
        Whether Fourier features use Hadamard transforms instead of a matrix product: as accurate, and several times
        faster for wide rows. "auto" takes the faster.
    max_iter : int, default=None
        Newton steps of each stage (None is 30), or epochs of subgradient steps (None is 20).
    tol : float, default=5e-3
        Newton steps end when the next would reduce the objective by a smaller share than this. The default ends about
        0.1 % above the optimum.
    average : "suffix", int or False, default="suffix"
        What subgradient steps return: the mean of the last half of all iterates; of this many last ones (the paper has
        100, which is far less accurate); or the last.
    early_stopping : bool, default=False
        Whether to stop when the score on the validation set has not risen for ``n_iter_no_change`` steps or epochs, and
        take the model that did best on them.
    validation_fraction : float, default=0.1
        Share of rows in the validation set, for early stopping and for choosing C.
    cv : int, default=None
        Number of folds, to choose C from a list by cross-validation instead of on a validation set. Folds and values
        share all kernel values; on a GPU they are solved side by side.
    n_iter_no_change : int, default=5
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes ("balanced" in `fit` only).
    memory : str, default="4GB"
        On the CPU: limit for features and what is computed from them. If all features take more, they are computed
        again in every pass, which takes several times as long.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where `fit` and predictions are computed: compiled code on the CPU, or PyTorch on a GPU (``"cuda:1"`` is the
        second), for which the extra ``torch`` must be installed. "auto" takes a GPU if there is one. Rows can be
        arrays, CSR matrices or tensors; `partial_fit` takes its steps on the CPU.
    dtype : {"float32", "tf32", "float16"}, default="float32"
        On a GPU: "tf32" rounds the products in kernel values to 11 bits, which is faster for wide rows; "float16"
        stores kernel values in half the memory.
    memory_limit : str, default=None
        On a GPU: limit for rows, features and what is computed from them; None is most of the free memory. What does
        not fit is computed again in every pass, and rows that do not fit are sent again.
    calibrate : {"platt", "isotonic"} or None, default=None
        How to calibrate `predict_proba`, see :ref:`calibration`: by sigmoids of decision values, or by any
        increasing function of them, which needs some thousands of rows.
    n_jobs : int, default=None
        Threads; None is one, -1 all cores. `fit`, predictions and the features of `partial_fit` go through rows in
        blocks, side by side; subgradient steps are taken one after another. Results are the same up to rounding.
    verbose : int, default=0
        With 1, `fit` shows its progress in a line on standard error: rows, rows per second, time left, and how
        good the model is.
    random_state : int, RandomState instance or None, default=None
        For landmarks, frequencies, samples of rows and the order of steps.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Of labels in columns: the numbers of the columns.
    multilabel_ : bool
        Whether it has learned labels in columns.
    objective_ : float
        ``lambda / 2 ||w||^2 + mean loss`` of the last `fit`, summed over outputs. The mean is that of weight times loss
        over the rows with a weight; with early stopping, over those that are not for validation.
    suboptimality_bound_ : float
        How far it may be above the optimum of the same features, by duality: the truth is often a tenth of that. A
        smaller ``tol`` makes both smaller.
    C_, path_ : float, dict of arrays
        With a list of C, or ``C="auto"``: the chosen one. With a list: values of C with their validation scores,
        and, without ``cv``, objectives and bounds.
    best_validation_score_ : float
        With early stopping.
    landmarks_, dual_coef_ : ndarray or None
        With a Nystroem map: ``decision_function(X) == kernel(X, landmarks_) @ dual_coef_.T + intercept_``.
    coef_ : ndarray of shape (n_outputs, n_map_features)
        Weights of the features.
    intercept_ : ndarray of shape (n_outputs,)
    rank_ : int
        Number of features.
    gamma_ : float
    model_bytes_ : int
    n_iter_ : int
        Newton steps, in all stages, or epochs.
    t_ : int
        Examples learned from.
    metric_, feature_importances_ : ndarray
        With a metric: what rows are multiplied by, shape (n_features,) or (n_directions, n_features), and the share
        that each feature has in distances then.
    calibration_ : object
        With ``calibrate``: what turns decision values into probabilities; it has ``probabilities(values)``.
    n_features_in_ : int

    References
    ----------
    S. Lee, S. J. Wright (2012). ASSET: approximate stochastic subgradient estimation training for support vector
    machines. International Conference on Pattern Recognition Applications and Methods.

    Examples
    --------
    >>> from frugalsvm import ASSETClassifier
    >>> from frugalsvm.datasets import make_checkerboard
    >>> X, y = make_checkerboard(20_000, random_state=0)
    >>> model = ASSETClassifier(n_components=128, C=[1, 10, 100], gamma=8.0, random_state=0).fit(X[:15_000], y[:15_000])
    >>> model.C_ in (1, 10, 100)
    True
    >>> model.score(X[15_000:], y[15_000:]) > 0.97
    True
    """

    def __init__(
        self,
        feature_map="nystroem",
        n_components=512,
        *,
        C: float | Sequence[float] | str = "auto",
        kernel: Any = "rbf",
        gamma: float | str = "auto",
        metric=None,
        degree=3,
        coef0=1.0,
        loss="hinge",
        solver="newton",
        fit_intercept=True,
        alpha=None,
        landmarks: Any = "uniform",
        rank=None,
        eigenvalue_threshold=1e-7,
        structured: bool | str = "auto",
        max_iter=None,
        tol=5e-3,
        average: int | str = "suffix",
        early_stopping=False,
        validation_fraction=0.1,
        cv=None,
        n_iter_no_change=5,
        class_weight=None,
        memory="4GB",
        device="cpu",
        dtype="float32",
        memory_limit=None,
        calibrate=None,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        self.feature_map = feature_map
        self.n_components = n_components
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.metric = metric
        self.degree = degree
        self.coef0 = coef0
        self.loss = loss
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.alpha = alpha
        self.landmarks = landmarks
        self.rank = rank
        self.eigenvalue_threshold = eigenvalue_threshold
        self.structured = structured
        self.max_iter = max_iter
        self.tol = tol
        self.average = average
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.cv = cv
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.memory = memory
        self.device = device
        self.dtype = dtype
        self.memory_limit = memory_limit
        self.calibrate = calibrate
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    _for_classes = True
    _multilabel = False
    _saved = LOW_RANK._replace(
        required={**LOW_RANK.required, "classes_": is_classes},
        optional={**LOW_RANK.optional, "_multilabel": IS_BOOL},
        is_sound=_is_sound,
    )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags

    def _examples(self, X, y, sample_weight):
        labels = None if y is None else label_matrix(y)
        if labels is not None:
            return self._with_labels(X, labels, sample_weight, first=True)
        X, y, classes = self._validated(X, on_host(y), reset=True)
        return X, *self._labeled(y, classes, X, on_host(sample_weight))

    def _surveyed(self, survey):
        return self._labeled(survey.y, classes_in(survey.y), survey.y[:, None], survey.sample_weight)

    def _labeled(self, y, classes, X, sample_weight):
        """Indices of classes, and weights, of all rows; the classes are these."""
        if len(classes) < 2:
            raise ValueError(
                f"Training needs at least two classes, but all labels are {classes[:1].tolist()[0]!r}: one class."
            )
        labels = encoded_labels(y, classes, classes, may_grow=False)
        weights = example_weights(sample_weight, self.class_weight, X, classes, labels)
        check_classes_have_weight(weights, classes, labels)
        self.classes_, self._multilabel = classes, False
        return labels, weights

    def _with_labels(self, X, labels, sample_weight, *, first):
        """Rows, labels in columns and weights, after checks of all."""
        check_for_labels(self)
        X = self._new_rows(X, self._first_dtype) if first else self._known_rows(X, self._dtype)
        check_consistent_length(X, labels)
        if first:
            self.classes_, self._multilabel = np.arange(labels.shape[1]), True
        elif not self._multilabel or labels.shape[1] != len(self.classes_):
            what = f"labels in {len(self.classes_)} columns" if self._multilabel else "one class for each row"
            raise ValueError(f"The model has learned {what}, but y has {labels.shape[1]} columns.")
        return X, labels, checked_weights(sample_weight, X)

    def _look_back(self, X, y, weights):
        if not self._multilabel:
            warn_after_fit(self, X, y, weights)

    def _n_outputs(self):
        return len(self.classes_) if self._multilabel else n_outputs_for(len(self.classes_))

    def _targets(self, y, arrays):
        if self._multilabel:
            return arrays.asarray(np.ascontiguousarray(2 * y.T - 1, np.float32))
        return class_targets(arrays, y, len(self.classes_))

    def quality(self, scores, targets, weights):
        """Accuracy of scores (n_outputs, n_rows), by weight."""
        return (label_accuracy if self._multilabel else accuracy)(scores, targets, weights)

    # --- probabilities --------------------------------------------------------------------------------------

    def _check_params(self):
        check_calibrate(self.calibrate)
        super()._check_params()

    @property
    def _calibrates(self):  # type: ignore[override]
        return self.calibrate is not None

    def _calibrate_with(self, scores, targets, weights):
        if not self._calibrates:
            return
        labels = class_indices(targets)
        known = np.flatnonzero(weights)
        self.calibrate_on(scores.T[known].astype(np.float64), labels[known], weights[known].astype(np.float64))

    def _seen_scores(self, X):
        if self.t_ == 0 or self._map is None:  # rows wait for landmarks
            return None
        with blas_threads(None):
            return self._values(on_host(X))

    def _learn_some(self, X, labels, weights, rows):
        self._learn(X[rows], labels[rows], None if weights is None else weights[rows], None)

    # --- streams --------------------------------------------------------------------------------------------

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from a batch of rows, in the given order, once.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
        classes : array-like, default=None
            All classes that will ever come. Needed in the first call if that batch does not have all of them. Labels in
            columns need none.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self
        """
        labels = None if y is None else label_matrix(y)
        if labels is None:
            if self._multilabel:
                raise ValueError(f"The model has learned labels in {len(self.classes_)} columns, but y has none.")
            return super().partial_fit(X, y, classes, sample_weight)
        with unchanged_on_error(self) as attempt:
            self._check_params()
            first = not hasattr(self, "classes_")
            X, labels, weights = self._with_labels(X, labels, sample_weight, first=first)
            self._learn_next(attempt, X, self._targets(labels, HOST), weights, first=first)
        return self

    def _start(self, X, classes, random_state):
        self.classes_ = classes
        self._begin_with(X, random_state)

    def _learn(self, X, labels, weights, order):
        self._learn_rows(X, self._targets(labels, HOST), weights)

    # --- scores ---------------------------------------------------------------------------------------------

    @property
    def multilabel_(self):
        """Whether the model has learned labels in columns."""
        check_is_fitted(self)
        return self._multilabel

    @shared
    def predict(self, X, *, device=None):
        """Predicted class of each row of ``X``, or labels 0 and 1 in columns; ``device`` as in `decision_function`."""
        check_is_fitted(self)
        if self._multilabel:
            return (self._scores_on(X, device) >= 0).astype(np.int64)
        return super().predict(X, device=device)

    @shared
    def query(self, X, n=1):
        """Which rows of an unlabeled pool to label next, see `StreamClassifier.query`; not for labels in columns."""
        if self._multilabel:
            raise ValueError("query compares the classes of each row: it is not for labels in columns.")
        return super().query(X, n)

    def _scores(self, X):
        return self._output(X)

    def _device_scores(self, X, arrays):
        return self._output(X, arrays)
