"""A pipeline for those who choose the estimator themselves: rows are surveyed, prepared, and learned elsewhere."""

import copy

from sklearn.base import clone

from frugalsvm._locks import exclusive, shared
from frugalsvm.estimators.unchanged import unchanged_on_error
from frugalsvm.estimators.validation import rows_that_count
from frugalsvm.pipelines.learning import LearningPipeline
from frugalsvm.pipelines.rows import LabeledRows, rows_at

__all__ = ["SurveyedPipeline"]


class SurveyedPipeline(LearningPipeline):
    """The part of `StreamPipeline` that `AutoSVC` and `DaskPipeline` call: `fit` in steps."""

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
        chosen = rows if index is None else rows_at(rows, index)
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
