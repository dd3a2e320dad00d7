"""`AutoSVR`: a kernel regressor that chooses everything itself."""

import numpy as np
from sklearn.base import RegressorMixin

from frugalsvm.auto._machine import AutoMachine, ones
from frugalsvm.auto._saved import AUTO
from frugalsvm.calibration.intervals import check_coverage, error_quantiles, some_errors
from frugalsvm.estimators.asset_regressor import ASSETRegressor
from frugalsvm.estimators.fit_warnings import warn_if_mean_is_as_good
from frugalsvm.estimators.local_svr import LocalSVR
from frugalsvm.estimators.parameters import estimator
from frugalsvm.estimators.targets import checked_targets, scale_of
from frugalsvm.lowrank.losses import SquaredEpsilonInsensitive
from frugalsvm.pipelines import StreamPipeline
from frugalsvm.selection.rounds import optimism_of

_LEAST_ERRORS = 20


def half_width(pipeline: StreamPipeline, coverage: float) -> float:
    """Half of the width of intervals, from the errors that the pipeline of a fitted `AutoSVR` keeps."""
    check_coverage(coverage)
    errors = getattr(pipeline, "out_of_fold_errors_", None)
    if errors is None:
        raise ValueError(
            "The model keeps no errors on rows left out, which intervals are made of: fit AutoSVR to more rows, or "
            "wrap a regressor in frugalsvm.conformal.ConformalRegressor."
        )
    return float(error_quantiles(errors, coverage))


@estimator
class AutoSVR(RegressorMixin, AutoMachine):
    """One call from a table to a kernel regressor.

    The same search as that of `AutoSVC`, for targets that are numbers: candidates are compared by squared leave-one-out
    errors, and squared errors are what the model minimizes.

    Parameters
    ----------

    Attributes
    ----------
    model_ : LocalSVR or ASSETRegressor
        The estimator inside, which has learned prepared rows.
    pipeline_ : StreamPipeline
        Preparation and model together: save or export it to predict without this class.
    best_params_
    best_score_ : float
        R^2 on rows left out: by leave-one-out of ``model_``, or of a low-rank machine that was compared with it. Rows
        that a metric was learned from do not count.
    refit_time_, cv_results_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> from frugalsvm import AutoSVR
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(600, 2))
    >>> y = np.sin(X[:, 0]) * X[:, 1]
    >>> model = AutoSVR(kernel="rbf", metric=None, random_state=0).fit(X[:400], y[:400])
    >>> model.score(X[400:], y[400:]) > 0.95
    True
    """

    _classifies = False
    _score_name = "R^2"
    _saved = AUTO

    @staticmethod
    def _loss():
        return SquaredEpsilonInsensitive(0.0)

    def _targets(self, rows):
        weights = ones(len(rows.y)) if rows.weights is None else rows.weights
        standardized, _ = self._standardized(rows)
        return np.ascontiguousarray(standardized.T, np.float32), None, weights

    def _standardized(self, rows):
        """Targets in standard deviations, and their scale: neither an offset nor a unit makes a difference then."""
        targets, _ = checked_targets(type(self).__name__, rows.y, rows.X)
        scale = scale_of(targets, rows.weights, None)
        return scale.standardized(targets), scale

    def _errors(self, last, entries, rows):
        """Sizes of the errors of rows left out, in the unit of y, in increasing order: some thousand, by weight."""
        targets, scale = self._standardized(rows)
        warn_if_mean_is_as_good(self, targets, last.judgment.squared_error)
        weights = None if rows.weights is None else last.judgment.weights.astype(np.float64)
        sizes = some_errors(np.sqrt(last.judgment.squares), weights)
        if len(sizes) < _LEAST_ERRORS:
            return None
        return sizes * np.sqrt(optimism_of(entries)) * scale.spread[0]

    def predict_interval(self, X, coverage=0.9):
        """Intervals around the predictions of the rows of ``X``, for numbers that come as those of `fit` came.

        Their half width is a quantile of the errors on rows left out, which count by their weights, the same for all
        rows: leave-one-out errors of machines in cells, or those of a low-rank machine without these rows, which is
        slightly less accurate. They are a little wider than that where rows are few, since the winner was chosen by
        such errors. For a promise that holds whatever comes, widths that differ from row to row, and streams, see
        :doc:`/howto/conformal`.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        coverage : float, default=0.9
            The share of intervals that shall have the true number, between 0 and 1.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper ends.
        """
        predicted, width = self.predict(X), half_width(self.pipeline_, coverage)
        return np.column_stack([predicted - width, predicted + width])

    @staticmethod
    def _cells_machine():
        return LocalSVR(intervals=None)

    @staticmethod
    def _left_out(model):
        return model.standardized_left_out()

    @staticmethod
    def _low_rank_machine():
        return ASSETRegressor(loss="squared_epsilon_insensitive", epsilon=0.0)
