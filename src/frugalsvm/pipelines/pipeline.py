"""Encoder, scaler, feature map, estimator and calibration as one estimator that learns from a stream."""

import copy
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

from frugalsvm._locks import exclusive, shared
from frugalsvm.estimators.calibrated import is_calibrated
from frugalsvm.estimators.unchanged import unchanged_on_error
from frugalsvm.estimators.validation import rows_that_count
from frugalsvm.pipelines.drift_in_pipelines import WatchedPipeline
from frugalsvm.pipelines.learning import LearningPipeline
from frugalsvm.pipelines.rows import LabeledRows
from frugalsvm.pipelines.saved import PIPELINE
from frugalsvm.streams.batch import rows_taken


class StreamPipeline(WatchedPipeline, LearningPipeline):
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
            A series has its values by name, if the first rows had names. Or, with an encoder, a pair of such numbers
            (or None) and a dict of text by name.
        y : label, number or array-like of numbers, default=None

        Returns
        -------
        self
        """
        path, is_watched, x = self._row_path(), self.detector is not None, self._row_of(x)
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

    # --- `fit` in steps, for those who choose the estimator themselves -------------------------------------

    def prepare(self, X, y, sample_weight=None) -> LabeledRows:
        """Take the statistics from all rows; returns what an estimator is to learn, which `adopt` then takes in.

        For those who choose the estimator themselves: `fit` is both, with a clone of ``estimator`` between. It is
        `survey` and `prepared_rows`, of all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Or, with an encoder, a DataFrame or a pair ``(matrix, columns)``.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        LabeledRows
            With ``X``, ``y`` and ``weights``.
        """
        return self.prepared_rows(self.survey(X, y, sample_weight))

    @exclusive
    def survey(self, X, y, sample_weight=None) -> LabeledRows:
        """Take the statistics from all rows; returns the rows, checked and not prepared yet, for `prepared_rows`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            As in `prepare`.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        LabeledRows
            With ``X`` as it was passed where that can be: without a copy.
        """
        with unchanged_on_error(self):
            self._check_params()
            rows = self._checked(X, y, sample_weight, reset=True, order=None)
            self._begin(rows)
            return self._take_statistics(rows)

    @shared
    def prepared_rows(self, rows: LabeledRows, index=None, *, dtype=None) -> LabeledRows:
        """Rows of `survey` as an estimator is to learn them, prepared block by block on threads of the estimator.

        Parameters
        ----------
        rows : LabeledRows
        index : array-like of int or slice, default=None
            Which of them; None is all.
        dtype : dtype, default=None
            Type of dense rows that are scaled, such as float32 for rows of float64. Others keep theirs: they may be too
            far from zero for another.

        Returns
        -------
        LabeledRows
            With ``X``, ``y`` and ``weights``. ``X`` is the one that was passed where nothing is to be done.
        """
        chosen = rows if index is None else rows_taken(rows, index)
        return chosen._replace(X=self._prepared(chosen.X, chosen.columns, dtype), columns=None)

    @shared
    def unscaled(self):
        """A pipeline that prepares the rows of `survey` without scaling them."""
        return self._with_scaler(None)

    @shared
    def made_symmetric(self, rows: LabeledRows):
        """A pipeline that draws in long tails of the rows of `survey`, which this one scales robustly."""
        known = rows_that_count(rows.X, rows.weights)
        return self._with_scaler(self.scaler_.made_symmetric(self._filled(known)))

    def _with_scaler(self, scaler):
        same = copy.copy(self)
        same.scale, same.scaler_ = False if scaler is None else clone(scaler), scaler
        return same

    @exclusive
    def adopt(self, estimator, calibration=None, typical_rows=None, out_of_fold_errors=None):
        """Predict with an estimator that has learned the rows of `prepare`, and with a calibration of its scores.

        ``typical_rows`` are some of these rows, which explanations are relative to; ``out_of_fold_errors`` are sizes of
        errors on rows left out, in increasing order, which intervals are made of.

        Returns
        -------
        self
        """
        self.estimator, self.estimator_, self._held = clone(estimator), estimator, None
        if calibration is not None:
            self.calibration_ = calibration
        if typical_rows is not None:
            self.typical_rows_ = typical_rows
        if out_of_fold_errors is not None:
            self.out_of_fold_errors_ = out_of_fold_errors
        return self
