"""ASSET as a scikit-learn classifier."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from frugalsvm._locks import shared
from frugalsvm.arrays.namespace import HOST, on_host
from frugalsvm.compiling.threads import blas_threads
from frugalsvm.core.outputs import n_outputs_for
from frugalsvm.estimators._asset_saved import LOW_RANK
from frugalsvm.estimators._asset_streams import StreamMachine
from frugalsvm.estimators._base import Labels, StreamClassifier
from frugalsvm.estimators.fit_warnings import warn_after_fit
from frugalsvm.estimators.labels import classes_in
from frugalsvm.estimators.parameters import estimator, learned
from frugalsvm.estimators.targets import checked_weights
from frugalsvm.lowrank.targets import accuracy, class_indices, class_targets, label_accuracy
from frugalsvm.persist.values import IS_BOOL, is_classes


def _label_matrix(y: Any) -> np.ndarray | None:
    """Labels 0 and 1 as (n, n_labels), or None where y is anything else, such as a class for each row."""
    y = on_host(y)
    y = y if issparse(y) else np.asarray(y)
    if y.ndim != 2 or y.dtype.kind not in "biuf" or y.shape[1] < 2 or type_of_target(y) != "multilabel-indicator":
        return None
    y = y.toarray() if issparse(y) else y
    if not ((y == 0) | (y == 1)).all():
        raise ValueError("Labels in columns are 0 or 1: 1 where a row has the label.")
    return y.astype(np.int64)


def _check_for_labels(estimator: Any) -> None:
    """Refuse parameters that are for one class in each row."""
    for name in ("class_weight", "calibrate"):
        if getattr(estimator, name) is not None:
            raise ValueError(f"{name} is for one class in each row, not for labels in columns: it must be None.")
    if isinstance(estimator.metric, str):
        raise ValueError(
            f"metric={estimator.metric!r} is learned from one class in each row, not from labels in columns: pass an "
            "array, such as metric_ of another model, or None."
        )


def _is_sound(model):
    return len(model._weights) == model._n_outputs() and LOW_RANK.is_sound(model)


@estimator
class ASSETClassifier(StreamMachine, StreamClassifier):
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
    C : float, list of float or "auto", default="auto"
        As in `sklearn.svm.SVC`: the regularization strength is ``lambda = 1 / (C n)``. A list is a path: all values
        are solved for, each from the one before, on the same kernel values; the one that does best on validation rows
        (``validation_fraction`` of them) is solved for again with all rows. Ten values cost two or three single fits.
        "auto" is chosen on some thousands of rows, together with gamma if that is "auto", too, see :ref:`first-rows`.
        Streams take ``n = 10 000`` unless ``alpha`` is given.
    loss : {"hinge", "squared_hinge"}, default="hinge"

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Of labels in columns: the numbers of the columns.
    multilabel_ : bool
    objective_ : float
        ``lambda / 2 ||w||^2 + mean loss`` of the last `fit`, summed over outputs. The mean is that of weight times loss
        over the rows with a weight; with early stopping, over those that are not for validation.
    suboptimality_bound_
    C_, path_ : float, dict of arrays
        With a list of C, or ``C="auto"``: the chosen one. With a list: values of C with their validation scores,
        and, without ``cv``, objectives and bounds.
    best_validation_score_, landmarks_, coef_
    intercept_ : ndarray of shape (n_outputs,)
    rank_, gamma_, model_bytes_, n_iter_, t_, metric_, calibration_, n_features_in_

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

    C: float | Sequence[float] | str = "auto"
    gamma: float | str = "auto"
    loss: Any = "hinge"

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

    def _examples_of(self, X, y, sample_weight, *, first):
        labels = None if y is None else _label_matrix(y)
        if labels is None:
            return super()._examples_of(X, y, sample_weight, first=first)
        return self._with_labels(X, labels, sample_weight, first=first)

    def _next_examples(self, X, y, sample_weight, *, first, announced=None):
        labels = None if y is None else _label_matrix(y)
        if labels is not None:
            return self._with_labels(X, labels, sample_weight, first=first)
        if self._multilabel:
            raise ValueError(f"The model has learned labels in {len(self.classes_)} columns, but y has none.")
        return super()._next_examples(X, y, sample_weight, first=first, announced=announced)

    def _with_labels(self, X, labels, sample_weight, *, first):
        """Rows, labels in columns and weights, after checks of all."""
        _check_for_labels(self)
        X = self._new_rows(X, self._first_dtype) if first else self._known_rows(X, self._dtype)
        check_consistent_length(X, labels)
        if not first and (not self._multilabel or labels.shape[1] != len(self.classes_)):
            what = f"labels in {len(self.classes_)} columns" if self._multilabel else "one class for each row"
            raise ValueError(f"The model has learned {what}, but y has {labels.shape[1]} columns.")
        columns = np.arange(labels.shape[1])
        return X, Labels(labels, columns, columns), checked_weights(sample_weight, X)

    def _surveyed(self, survey):
        classes = classes_in(survey.y)
        labels, weights = self._labeled(survey.y, classes, classes, survey.y[:, None], survey.sample_weight)
        self._take_classes(labels)
        return labels, weights

    def _take_classes(self, labels):
        self.classes_, self._multilabel = labels.classes, labels.indices.ndim == 2

    def _start(self, X, targets, random_state, *, whole):
        self._take_classes(targets)
        super()._start(X, targets, random_state, whole=whole)

    def _look_back(self, X, targets, weights):
        if not self._multilabel:
            warn_after_fit(self, X, targets.indices, weights)

    def _n_outputs(self):
        return len(self.classes_) if self._multilabel else n_outputs_for(len(self.classes_))

    def _targets(self, labels, arrays):
        if labels.indices.ndim == 2:
            return arrays.asarray(np.ascontiguousarray(2 * labels.indices.T - 1, np.float32))
        return class_targets(arrays, labels.indices, len(labels.classes))

    def _outputs(self, targets, weights, *, whole):
        return self._targets(targets, HOST)

    def quality(self, scores, targets, weights):
        """Accuracy of scores (n_outputs, n_rows), by weight."""
        return (label_accuracy if self._multilabel else accuracy)(scores, targets, weights)

    # --- probabilities --------------------------------------------------------------------------------------

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

    def _learn(self, X, labels, weights, order):
        self._learn_rows(X, self._targets(Labels(labels, self.classes_), HOST), weights)

    # --- scores ---------------------------------------------------------------------------------------------

    multilabel_ = learned(lambda self: self._multilabel, doc="Whether the model has learned labels in columns.")

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

    _scores = _device_scores = StreamMachine._output
