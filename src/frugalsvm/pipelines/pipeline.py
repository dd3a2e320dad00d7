"""Encoder, scaler, feature map, estimator and calibration as one estimator that learns from a stream."""

from typing import Any

import numpy as np
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from frugalsvm._locks import exclusive, shared
from frugalsvm.calibration import PlattCalibration
from frugalsvm.estimators.calibrated import is_calibrated
from frugalsvm.estimators.caller_warnings import warn_caller
from frugalsvm.estimators.unchanged import unchanged_on_error
from frugalsvm.exceptions import UnknownValuesWarning
from frugalsvm.pipelines.drift_in_pipelines import WatchedPipeline
from frugalsvm.pipelines.learning import decision_values
from frugalsvm.pipelines.one_row import row_path_for
from frugalsvm.pipelines.rows import LabeledRows, check_lengths, matrix_of, split_input
from frugalsvm.pipelines.saved import PIPELINE
from frugalsvm.pipelines.surprises import Surprises

__all__ = ["StreamPipeline"]


def _has_probabilities(pipeline) -> bool:
    return bool(pipeline.calibrate) or is_calibrated(pipeline.estimator)


class StreamPipeline(WatchedPipeline):
    """Encoder, scaler, feature map and estimator that learn a stream together, batch by batch or row by row.

    Support vectors are stored scaled, and a scale that drifts would corrupt them. The first ``warmup_rows`` rows are
    therefore held back: when they have come, the scaler takes its statistics from them and keeps them, the feature map
    is fitted on them, and they are learned in order. Values far outside are clipped; a feature that stays outside for
    long gets new statistics, with a warning (see `StreamingScaler`). The model does not depend on the sizes of the
    batches.

    Choose it for streams of raw features. `fit` takes the statistics from all rows, as a scikit-learn pipeline does.
    Rows that come one by one are learned fastest by `learn_one_row`.

    Parameters
    ----------
    estimator : estimator
        Any classifier, regressor or outlier detector of this library. Detectors learn without labels: ``y`` is None.
    scale : bool, {"robust", "soft", "symmetric", "standard", "following"} or StreamingScaler, default=True
        Whether and how the numbers are scaled: True and "robust" are ``StreamingScaler()``, "soft" is
        ``StreamingScaler(soft_clip=True)``, "symmetric" draws long tails in as well, and "standard" takes mean and
        standard deviation and clips nothing, as scikit-learn's `StandardScaler`. "following" is for streams that
        change, and estimators that forget:
        ``StreamingScaler("standard", half_life=20_000)``. Encoded columns are not scaled.
    encoder : ColumnEncoder, default=None
        For columns of text. ``X`` is then a DataFrame of pandas or polars, or a pair of a matrix (or None) and a dict
        of columns. Dates of a DataFrame become numbers, days since 1970; for weekdays or hours, add columns of them.
    warmup_rows : int, default=1000
        Number of rows that the statistics, the feature map and ``gamma="scale"`` are taken from; without a scaler it
        can be 0, which is the first batch. If the estimator learns its metric (``metric="auto"``, "diag" or "full"), or
        has a ``half_life`` and ``gamma="auto"``, at least 2000 rows are held back for it; so they are for a
        `BSGDClassifier` of which nothing was chosen (see Notes), unless ``warmup_rows`` is below 1000.
    calibrate : bool, default=False
        Whether to have `predict_proba`: before a batch is learned, its decision values ``f`` update the slopes ``a``,
        one on each side of zero, of ``sigmoid(a f)``, or of ``softmax(a f)`` with several outputs. Rows that come at
        once (those of the warm-up, and of `fit`) are calibrated on every fifth row, judged by a model of the others.
        Large batches are judged by the model before them, so that probabilities, unlike predictions, depend a little on
        batch sizes. Without it, the pipeline has the probabilities of an estimator that is calibrated itself
        (``BSGDClassifier(calibrate="isotonic")``).
    feature_map : transformer, default=None
        From scaled numbers and encoded columns to the features that the estimator learns from: any transformer of
        scikit-learn's kind, such as `RBFSampler`, `Nystroem` or `PolynomialFeatures`. A copy of it is fitted on the
        rows of the warm-up and stays as it is then.
    impute : {"mean", "median"} or MissingValueFiller, default=None
        What missing numbers (NaN) of dense rows are filled with, as the rows of the warm-up have it; None refuses them.
        ``MissingValueFiller(indicator=True)`` also adds columns that tell which values were missing.
    detector : DriftDetector, default=None
        What finds drifts, such as ``river.drift.ADWIN()``: for classifiers. Every row is predicted before it is
        learned, also within batches, and a copy of the detector gets 1 for each mistake and 0 for each other row. What
        is found does not depend on the sizes of batches. A row takes some 30 microseconds with budgeted estimators, and
        about a millisecond with others.
    on_drift : {"reset", "boost"} or callable, default="reset"
        What is done then. "reset" starts over, with the row at which the drift was found: a new warm-up for scaler,
        encoder, feature map and estimator, which keeps the classes. "boost" lets the next 1000 rows count three times,
        and leaves scaler and encoder as they are, because support vectors are stored scaled; ``scale="following"``
        goes with it. A function gets the pipeline.

    Attributes
    ----------
    estimator_ : estimator
        The estimator, which has learned from scaled rows.
    filler_ : MissingValueFiller or None
    scaler_ : StreamingScaler or None
    encoder_ : ColumnEncoder or None
    feature_map_ : transformer or None
    calibration_ : PlattCalibration
        With ``slope`` and ``slope_below``, the factors; if ``calibrate``.
    classes_ : ndarray of shape (n_classes,)
    n_held_ : int
        Number of rows that are held back.
    drifts_ : list of int
        Numbers of rows after which drifts were found; with a detector.
    detector_ : DriftDetector
        The copy that is in use.
    n_features_in_ : int
        Number of numeric features.
    feature_names_in_ : ndarray of str
        Their names, where the first rows had names. With an encoder, columns of a DataFrame are found by their names,
        in any order; without, they must come in this order, as in scikit-learn.
    date_names_ : ndarray of str
        Those of them that are dates, if there are any.

    Notes
    -----
    While rows are held back, predictions come from a copy whose statistics are from the first 1, 2, 4, 8, ... of them
    (the largest power of two there is), and which has learned all of them, but no metric; if those have one class, it
    is predicted. `flush` ends the warm-up early.

    A stream may change. A `BSGDClassifier` whose half_life, gamma and alpha were not given therefore learns it with
    ``half_life="auto"``, which is as good where nothing changes, and takes about twice the time. `fit` takes it as it
    is.

    The first batch decides whether rows are float32 or float64, and sparse or dense; later ones are converted.

    Several threads may predict and learn at once, see :ref:`threads`.

    Examples
    --------
    >>> from frugalsvm import BSGDClassifier
    >>> from frugalsvm.datasets import make_checkerboard
    >>> from frugalsvm.pipelines import StreamPipeline
    >>> X, y = make_checkerboard(20_000, random_state=0)
    >>> model = StreamPipeline(BSGDClassifier(budget=100, gamma=5.0, alpha=1e-5), calibrate=True)
    >>> for start in range(0, 15_000, 500):
    ...     model = model.partial_fit(1000 * X[start : start + 500], y[start : start + 500])
    >>> model.score(1000 * X[15_000:], y[15_000:]) > 0.9
    True
    >>> model.predict_proba(1000 * X[15_000:]).shape
    (5000, 2)
    """

    _saved = PIPELINE

    def __init__(
        self,
        estimator,
        *,
        scale: Any = True,
        encoder=None,
        warmup_rows=1000,
        calibrate=False,
        feature_map=None,
        impute=None,
        detector=None,
        on_drift="reset",
    ):
        self.estimator = estimator
        self.scale = scale
        self.encoder = encoder
        self.warmup_rows = warmup_rows
        self.calibrate = calibrate
        self.feature_map = feature_map
        self.impute = impute
        self.detector = detector
        self.on_drift = on_drift

    def __sklearn_tags__(self):
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.target_tags, tags.input_tags = inner.target_tags, inner.input_tags
        tags.input_tags.allow_nan = self.impute is not None
        if tags.classifier_tags is not None:
            # Whatever the estimator takes: labels are one column here, while targets of regressors may have several.
            tags.target_tags.multi_output = tags.classifier_tags.multi_label = False
        return tags

    # --- learning ------------------------------------------------------------------------------------------

    @exclusive
    def fit(self, X, y=None, sample_weight=None):
        """Learn from all rows, with statistics from all of them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Or, with an encoder, a DataFrame or a pair ``(matrix, columns)``.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Targets may have columns if the estimator is a regressor that learns several.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            self._check_params()
            self._fit_all(self._checked(X, y, sample_weight, reset=True))
        return self

    @exclusive
    def partial_fit(self, X, y=None, classes=None, sample_weight=None):
        """Learn from a batch of rows, in the given order, once; the first rows are held back.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Or, with an encoder, a DataFrame or a pair ``(matrix, columns)``.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
        classes : array-like, default=None
            All classes that will ever come; needed in the first call if the warm-up does not have all of them.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self

        See Also
        --------
        learn_one_row : The same for one row, some fifty times as fast for budgeted classifiers.
        """
        if self.detector is not None:
            left = self._learn_watched(X, y, classes, sample_weight)
        else:
            with unchanged_on_error(self):
                left = self._take(X, y, classes, sample_weight)
        self._tell_left(left)
        return self

    @exclusive
    def learn_one_row(self, x, y=None):
        """Learn one row: the same as `partial_fit`, some fifty times as fast for budgeted estimators.

        `BSGDClassifier`, `BudgetedPerceptron` and `BPAClassifier` take about 15 microseconds for a row, `BSGDRegressor`
        and `BSGDOneClassSVM` up to twice that, where a call of `partial_fit` takes about a millisecond for its checks.
        Others learn a batch of one row.

        Parameters
        ----------
        x : array-like of shape (n_features,)
            Or, with an encoder, a pair of such numbers (or None) and a dict of text by name.
        y : label, number or array-like of numbers, default=None

        Returns
        -------
        self
        """
        path, is_watched = self._row_path(), self.detector is not None
        if path is not None and not (is_watched and self._n_boosted):  # whose weights are for batches
            calibrates_itself = is_calibrated(self.estimator_)
            scores = path.scores(x) if self.calibrate or calibrates_itself or is_watched else None
            is_wrong = is_watched and scores is not None and path.predicted(scores) != y
            if path.learn(x, y):
                if self.calibrate and scores is not None:
                    self.calibration_ = self.calibration_.updated_by_one(scores, path.index_of(y))
                if calibrates_itself and scores is not None:
                    self.estimator_.calibrate_on_one(scores, path.index_of(y))
                left = path.watched()
                if left is not None:
                    self._tell_left(left)
                if is_watched:
                    self._n_seen += 1
                    rows = LabeledRows(np.array(x, self._dtype)[None], None, np.asarray([y]), None)
                    self._show(np.array([is_wrong]), rows)
                return self
        return self.partial_fit(self._batch_of(x), np.asarray([y]))

    def _batch_of(self, x):
        """One row as a batch."""
        if self.encoder is None:
            return np.asarray(x)[None]
        numbers, columns = x
        return None if numbers is None else np.asarray(numbers)[None], {name: [text] for name, text in columns.items()}

    def _row_path(self):
        """The fast way of this thread for single rows, or None."""
        if getattr(self, "_held", ()) is not None or self._is_sparse:
            return None
        if self.encoder_ is not None or self._map is not None or self.indicates:
            return None
        path = getattr(self._row_paths, "path", None)
        if path is None or not path.is_current(self.estimator_, self.scaler_):
            path = self._row_paths.path = row_path_for(self.estimator_, self.scaler_)
        return path

    # --- predicting ----------------------------------------------------------------------------------------

    @property
    def classes_(self):
        """The classes that predictions know, sorted."""
        if not self._classifies or not hasattr(self, "_held"):
            raise AttributeError(f"This {type(self).__name__} has no classes.")
        answering = self._answering()
        return self._held[0].y[:1] if answering is None else answering.estimator_.classes_

    def _checked_input(self, X):
        check_is_fitted(self)
        X, columns = self.split_columns(X)
        X = matrix_of(self, X, reset=False, dtype=self._dtype, sparse=self._is_sparse)
        check_lengths(X, columns)
        return X, columns

    def _features(self, X):
        """The rows of ``X`` as the estimator takes them, and the pipeline that predicts; warns of unknown values."""
        X, columns = self._checked_input(X)
        answering = self._answering()
        if answering is None:
            return X, None
        sentences = answering._surprises(X, columns).sentences()
        if sentences:
            warn_caller("; ".join(sentences) + ".", UnknownValuesWarning)
        return answering._prepared(X, columns, answering._row_type()), answering

    def _row_type(self):
        """The type that the estimator computes with, in which rows may be written; None if it is not known."""
        known = getattr(self.estimator_, "row_dtype_", None)
        return None if known is None else min(known, self._dtype)

    def split_columns(self, X):
        """The numbers of the rows of ``X``, and with an encoder its columns of text; those of frames by name."""
        return split_input(X, encodes=self.encoder is not None, known=self._known_columns())

    @shared
    def estimator_rows(self, X):
        """The rows of ``X`` as ``estimator_`` takes them: filled, scaled, encoded and mapped."""
        X, columns = self._checked_input(X)
        answering = self._answering()
        return X if answering is None else answering._prepared(X, columns)

    def surprises(self, X, names=None) -> Surprises:
        """What rows have that training had not: unknown categories, and values missing where there were none.

        Predictions warn of it; unknown categories count as none of the known ones, and missing values are filled.
        ``names`` are those of the numbers, where ``X`` has none.
        """
        answering = self._answering()
        return Surprises() if answering is None else answering._surprises(*self._checked_input(X), names)

    @shared
    def predict(self, X, *, device=None):
        """Predicted class or value of each row of ``X``, or whether it is an outlier (-1).

        ``device`` is as in `decision_function`.
        """
        X, answering = self._features(X)
        return np.repeat(self.classes_, X.shape[0]) if answering is None else answering._ask("predict", X, device)

    @available_if(lambda self: self._detects)
    def fit_predict(self, X, y=None):
        """Learn from all rows, and tell which are outliers (-1)."""
        return self.fit(X, y).predict(X)

    @property
    def offset_(self):
        """The score below which rows are outliers."""
        if not self._detects:
            raise AttributeError(f"This {type(self).__name__} has no offset.")
        check_is_fitted(self)
        return self._answering().estimator_.offset_

    @available_if(lambda self: self._detects)
    @shared
    def score_samples(self, X):
        """Scores of the rows of ``X``: the lower, the more unusual."""
        X, answering = self._features(X)
        return answering.estimator_.score_samples(X)

    @available_if(lambda self: hasattr(self.estimator, "p_values"))
    @shared
    def p_values(self, X):
        """How usual the rows of ``X`` are: the share of the latest scores that are as low as theirs."""
        X, answering = self._features(X)
        return answering.estimator_.p_values(X)

    @available_if(lambda self: self._classifies or self._detects)
    @shared
    def decision_function(self, X, *, device=None):
        """Decision values of the rows of ``X``, as those of the estimator; zeros while there is one class.

        ``device`` is where the estimator computes them: "cpu", "cuda" or "auto"; None is where it does anyway.
        """
        X, answering = self._features(X)
        return np.zeros(X.shape[0]) if answering is None else answering._ask("decision_function", X, device)

    def _ask(self, method, X, device):
        """What the estimator says; one without the parameter ``device`` is asked without it."""
        return getattr(self.estimator_, method)(X, **({} if device is None else {"device": device}))

    @available_if(_has_probabilities)
    @shared
    def predict_proba(self, X):
        """Probabilities of the classes, a row for each row of ``X``; the highest is that of the predicted class."""
        X, answering = self._features(X)
        if answering is None or len(answering.classes_) < 2:
            return np.ones((X.shape[0], 1))
        if not self.calibrate:
            return answering.estimator_.predict_proba(X)
        return answering.calibration_.probabilities(decision_values(answering.estimator_, X))

    @available_if(lambda self: not self._detects)
    @shared
    def score(self, X, y, sample_weight=None):
        """Accuracy of a classifier; R^2 of a regressor, or its own score for quantiles."""
        if not self._classifies:
            X, answering = self._features(X)
            return answering.estimator_.score(X, y, sample_weight)
        from sklearn.metrics import accuracy_score  # takes a while

        return accuracy_score(y, self.predict(X), sample_weight=sample_weight)

    def _row_scores(self, x):
        """Decision values of one row by the fast way; None if there is none, or if the row is a bad one."""
        path = self._row_path()
        return None if path is None else path.scores(x)

    @shared
    def predict_one_row(self, x):
        """Predicted class, or value, of one row: the same as `predict`, many times faster for budgeted ones."""
        path = self._row_path()
        scores = None if path is None else path.scores(x)
        if scores is None:
            answering = self._answering() if getattr(self, "_held", None) else self
            if answering is not self and answering is not None:
                return answering.predict_one_row(x)
            return self.predict(self._batch_of(x))[0]
        return path.predicted(scores)

    @available_if(lambda self: self._classifies or self._detects)
    @shared
    def decision_function_one_row(self, x):
        """Decision values of one row, one for each output: the same as `decision_function`."""
        scores = self._row_scores(x)
        if scores is None:
            return np.atleast_1d(self.decision_function(self._batch_of(x))[0])
        return scores - self.offset_ if self._detects else scores.copy()

    @available_if(lambda self: self._detects)
    @shared
    def score_samples_one_row(self, x):
        """The score of one row: the lower, the more unusual."""
        scores = self._row_scores(x)
        return float(self.score_samples(self._batch_of(x))[0] if scores is None else scores[0])

    @available_if(lambda self: hasattr(self.estimator, "p_values"))
    @shared
    def p_values_one_row(self, x):
        """The p-value of one row: the same as `p_values`."""
        scores = self._row_scores(x)
        return float((self.p_values(self._batch_of(x)) if scores is None else self.estimator_.p_values_of(scores))[0])

    @available_if(_has_probabilities)
    @shared
    def predict_proba_one_row(self, x):
        """Probabilities of the classes for one row, in the order of ``classes_``."""
        scores = self._row_scores(x)
        if scores is None:
            return self.predict_proba(self._batch_of(x))[0]
        calibrated = self if self.calibrate else self.estimator_
        return calibrated.calibration_.probabilities(scores[None])[0]

    @property
    def slope_(self) -> float:
        """The factor of decision values from zero upwards in the probabilities."""
        return getattr(self, "calibration_", PlattCalibration()).slope
