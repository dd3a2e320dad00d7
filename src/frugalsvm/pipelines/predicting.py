"""How a pipeline predicts: also while rows are held back, by a copy that has learned the first of them."""

import copy
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from frugalsvm._locks import exclusive, shared
from frugalsvm.calibration import PlattCalibration
from frugalsvm.estimators.calibrated import is_calibrated
from frugalsvm.estimators.labels import distinct_labels
from frugalsvm.exceptions import UnknownValuesWarning, warn_caller
from frugalsvm.pipelines.frames import check_names
from frugalsvm.pipelines.learning import LearningPipeline, decision_values
from frugalsvm.pipelines.one_row import row_path_for
from frugalsvm.pipelines.rows import LabeledRows, check_lengths, matrix_of, split_input
from frugalsvm.pipelines.surprises import Surprises
from frugalsvm.streams.batch import rows_taken, stacked


class _Preview(NamedTuple):
    """What predicts while rows are held back."""

    first: LabeledRows  # the first batch that is held back
    n_made_of: int  # rows that the statistics are from
    pipeline: Any  # None while there is one class
    n_learned: int


def _has_probabilities(pipeline) -> bool:
    return bool(pipeline.calibrate) or is_calibrated(pipeline.estimator)


class PredictingPipeline(LearningPipeline):
    """The predicting half of `StreamPipeline`."""

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

    # --- single rows -----------------------------------------------------------------------------------------

    def _row_of(self, x):
        """A row as it was passed; one with names of its own, a series, as an array in the order of the features."""
        if x.__class__ is np.ndarray or not hasattr(x, "reindex"):
            return x
        names = getattr(self, "feature_names_in_", None)
        if names is not None and not np.array_equal(x.index, names):
            check_names(map(str, x.index), names)
            x = x[names]
        return x.to_numpy()

    def _batch_of(self, x):
        """One row as a batch."""
        if self.encoder is None:
            return np.asarray(self._row_of(x))[None]
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

    def _row_scores(self, x):
        """Decision values of one row by the fast way; None if there is none, or if the row is a bad one."""
        path, x = self._row_path(), self._row_of(x)
        return None if path is None else path.scores(x)

    @shared
    def predict_one_row(self, x):
        """Predicted class, or value, of one row: the same as `predict`, many times faster for budgeted ones."""
        path, x = self._row_path(), self._row_of(x)
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

    # --- before the first rows are learned -----------------------------------------------------------------

    def _answering(self):
        """The pipeline that predicts: this one, or while rows are held back a copy that has learned the first of them.

        Their number is the largest power of two, so that asking after every row stays cheap, and the answers do not
        depend on batch sizes. The copy learns the rows since then, too: on a stream that changes, the last ones tell
        the most. None if there is one class only, and the estimator cannot learn that.
        """
        if self._held is None:
            return self
        with self._preview_turn:
            return self._previewing()

    def _previewing(self):
        n_held = self.n_held_
        n_rows = 1 << (n_held.bit_length() - 1)
        made = getattr(self, "_preview", None)
        if made is None or made.first is not self._held[0] or made.n_made_of != n_rows:
            pipeline = self._flushed_copy(rows_taken(stacked(self._held), slice(n_rows)))
            made = _Preview(self._held[0], n_rows, pipeline, n_rows)
        if made.pipeline is not None:
            made.pipeline._learn_last(self._held, n_held - made.n_learned)
            made = made._replace(n_learned=n_held)
        self._preview = made
        return made.pipeline

    @exclusive
    def _learn_last(self, held, n_rows):
        """Learn the last rows of batches that are held back, unless there are labels that are not known yet."""
        last: list[LabeledRows] = []
        while sum(len(rows.y) for rows in last) < n_rows:
            last.insert(0, held[-1 - len(last)])
        if last:
            rows = stacked(tuple(last))
            rows = rows_taken(rows, slice(len(rows.y) - n_rows, None))
            if self._classifies and not self._grows and not np.isin(rows.y, self.estimator_.classes_).all():
                return
            if n_rows == 1 and rows.columns is None and rows.weights is None and not self._is_sparse:
                self.learn_one_row(rows.X[0], rows.y[0])
            else:
                self._learn(rows, None)

    def _flushed_copy(self, rows):
        if self._classifies and self._announced is None and not self._grows and len(distinct_labels(rows.y)) < 2:
            return None
        preview = copy.copy(self)
        preview.detector = None  # it has seen these rows
        preview._start(rows, is_preview=True)
        return preview
