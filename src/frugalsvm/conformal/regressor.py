"""Intervals that have the true number as often as promised."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.metaestimators import available_if

from frugalsvm._locks import exclusive, shared
from frugalsvm.conformal._models import answers, batch_of
from frugalsvm.conformal._promises import KeepsCoverage, checked_targets, wraps_river
from frugalsvm.conformal._saved import REGRESSOR
from frugalsvm.core.score_reservoir import HUGE


class ConformalRegressor(KeepsCoverage, RegressorMixin, BaseEstimator):
    """A regressor that predicts intervals, which have the true number as often as promised.

    Rows are predicted before they are learned. The interval of a row reaches from its prediction as far as a quantile
    of the latest errors, whose level makes up for intervals that missed their number. Therefore the promise holds also
    when the stream changes.

    A regressor of two quantiles, such as ``BSGDRegressor(loss="pinball", quantile=[0.05, 0.95])``, gives intervals that
    are wide where the noise is: the quantiles, moved apart or together by the same amount everywhere (conformalized
    quantile regression).

    Parameters
    ----------
    estimator : regressor
        Of this library, of scikit-learn or of river, with one prediction for a row, or two quantiles. It needs
        ``partial_fit`` to learn a stream; one that is fitted and shall stay as it is can be wrapped in scikit-learn's
        `FrozenEstimator`.
    coverage : float, default=0.9
        The promised share of intervals with the true number, between 0 and 1.
    window : int, default=1000
        How many of the latest errors are kept.
    patience : float, default=None
        In misses: after this many misses too many, intervals reach as far as the largest error, and with each further
        miss farther. Small values keep the promise in shorter parts of the stream, with intervals whose width varies
        more. None is ``(1 - coverage) / 0.005``, and at least 2.
    random_state : int, RandomState instance or None, default=None
        For the rows that `fit` calibrates with.

    Attributes
    ----------
    estimator_ : regressor
        The one that learns.
    thresholds_ : ndarray of shape (1,)
        How far intervals reach from the prediction, or beyond the quantiles.
    coverage_ : float
        The share of intervals so far that had the true number, of rows that came by `partial_fit`.

    References
    ----------
    V. Vovk, A. Gammerman, G. Shafer (2005). Algorithmic learning in a random world. Springer.

    Y. Romano, E. Patterson, E. Candes (2019). Conformalized quantile regression. NeurIPS.

    I. Gibbs, E. Candes (2021). Adaptive conformal inference under distribution shift. NeurIPS.

    Examples
    --------
    >>> from frugalsvm import BSGDRegressor
    >>> from frugalsvm.conformal import ConformalRegressor
    >>> from frugalsvm.datasets import DriftStream
    >>> stream = DriftStream("friedman", changes=[5_000], random_state=0)
    >>> model = ConformalRegressor(BSGDRegressor(budget=100))
    >>> for X, y in stream.chunks(10_000, 50):
    ...     model = model.partial_fit(X, y)
    >>> X, y = stream.take(3)
    >>> model.predict_interval(X).shape
    (3, 2)
    >>> round(model.coverage_, 2)
    0.9
    """

    _saved = REGRESSOR
    _ways = ("predict_one_row", "predict_one")
    _answers = (("predict",), ("predict_one",))
    _extrapolates = True

    def __init__(self, estimator, coverage=0.9, *, window=1000, patience=None, random_state=None):
        self.estimator = estimator
        self.coverage = coverage
        self.window = window
        self.patience = patience
        self.random_state = random_state

    @exclusive
    def partial_fit(self, X, y, sample_weight=None, *, outputs=None):
        """Predict rows, and then learn them in the given order, once.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Or dicts of features for models of river.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
        outputs : ndarray, default=None
            What `outputs` said when the intervals of these rows were made, for numbers that come late. None asks now.

        Returns
        -------
        self
        """
        self._learn(X, checked_targets(y), sample_weight, outputs)
        return self

    @exclusive
    def test_then_train(self, X, y, sample_weight=None):
        """Predict the intervals of rows, each with the threshold that the rows before it left, and learn the rows.

        Parameters
        ----------
        X, y, sample_weight
            As in `partial_fit`.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            As of `predict_interval`. Intervals of rows that came before there was a model are infinite.
        """
        bounds, thresholds = self._learn(X, checked_targets(y), sample_weight, None)
        return _widened(np.zeros((len(thresholds), 2)) if bounds is None else bounds, thresholds)

    def _outputs_of(self, model, X):
        return _bounds(answers(model, X, "predict", "predict_one"))

    def _scored(self, outputs, y):
        """How far the true numbers are beyond the bounds; negative for those between them."""
        bounds = _bounds(outputs)
        return np.maximum(bounds[:, 0] - y, y - bounds[:, 1])

    def _judged_row(self, made, x, y):
        low, high = _row_bounds(made.asks_row(x))
        return 0, max(low - y, y - high)

    # --- predicting ---------------------------------------------------------------------------------------

    @shared
    def predict_interval(self, X):
        """The intervals of rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, 2)
            The least and the largest number. Where quantiles were too far apart and are moved together until they
            would cross, both are the middle.
        """
        return _widened(self.outputs(X), self.thresholds_)

    @shared
    def predict(self, X):
        """The prediction of the estimator for each row, or the middle between its quantiles."""
        return self.outputs(X).mean(axis=1)

    @shared
    def predict_interval_one_row(self, x):
        """The interval of a row, as `predict_interval` has it, fast where `learn_one_row` is.

        Parameters
        ----------
        x : array-like of shape (n_features,)

        Returns
        -------
        tuple (low, high)
        """
        made = self._fast_model()
        if made is None:
            low, high = self.predict_interval(batch_of(self.estimator, x))[0].tolist()
            return low, high
        low, high = _row_bounds(made.asks_row(x))
        far = max(made.takers[0].threshold, 0.5 * (low - high))
        return low - far, high + far

    @available_if(wraps_river)
    @shared
    def predict_interval_one(self, x):
        """The interval of a row: as in river."""
        return (-np.inf, np.inf) if self._prepared() is None else self.predict_interval_one_row(x)


def _row_bounds(prediction: Any) -> tuple[float, float]:
    """The same as `_bounds` for a row."""
    if isinstance(prediction, float):  # NumPy's numbers of 64 bits are, too
        return prediction, prediction
    if np.ndim(prediction) == 0:
        return float(prediction), float(prediction)
    low, high = _bounds(prediction[None])[0].tolist()
    return low, high


def _bounds(predictions: Any) -> np.ndarray:
    """Predictions as two columns, of which the first is not above the second."""
    predictions = np.asarray(predictions, np.float64)
    if predictions.ndim == 1:
        return np.stack([predictions, predictions], axis=1)
    if predictions.shape[1] != 2:
        raise ValueError(
            f"The estimator predicts {predictions.shape[1]} numbers for a row: one is needed, or two quantiles."
        )
    return np.sort(predictions, axis=1)


def _widened(bounds: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    far = np.where(np.abs(thresholds) < HUGE, thresholds, np.copysign(np.inf, thresholds)).ravel()
    # Bounds that would cross meet in the middle.
    far = np.maximum(far, 0.5 * (bounds[:, 0] - bounds[:, 1]))
    return bounds + far[:, None] * np.array([-1.0, 1.0])
