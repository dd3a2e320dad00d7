"""Alarms at a promised rate."""

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.metaestimators import available_if

from frugalsvm._locks import exclusive, shared
from frugalsvm.conformal._models import answers, batch_of, is_river
from frugalsvm.conformal._promises import KeepsPromise, wraps_river
from frugalsvm.conformal._saved import DETECTOR
from frugalsvm.core.score_reservoir import HUGE


class ConformalDetector(KeepsPromise, OutlierMixin, BaseEstimator):
    """A novelty detector with p-values, and with alarms at a promised rate.

    Rows are scored before they are learned, and ranked among the latest scores. A row is an alarm if its score is
    beyond a quantile of them, whose level makes up for alarms that were too many or too few.

    Parameters
    ----------
    estimator : outlier detector
        Of this library, of scikit-learn or of river. It needs ``score_samples`` or ``decision_function``, which are low
        for strange rows (for river, ``score_one``, which is high), and ``partial_fit`` to learn a stream. One that is
        fitted and shall stay as it is can be wrapped in scikit-learn's `FrozenEstimator`.
    alarm_rate : float, default=0.01
        The promised share of alarms, between 0 and 1.
    window : int, default=2000
        How many of the latest scores are kept.
    patience : float, default=None
        In alarms: there are none after this many too many. None is ``alarm_rate / 0.005``, and at least 2.
    random_state : int, RandomState instance or None, default=None
        For the rows that `fit` calibrates with.

    Attributes
    ----------
    estimator_ : outlier detector
        The one that learns.
    offset_ : float
        Rows with scores below are alarms: ``decision_function(X) = score_samples(X) - offset_``.
    thresholds_ : ndarray of shape (1,)
        The same for scores that are large for strange rows.
    alarm_rate_ : float
        The share of alarms so far, of rows that came by `partial_fit`.

    See Also
    --------
    frugalsvm.BSGDOneClassSVM : Has p-values and an alarm rate without a wrapper.

    References
    ----------
    V. Vovk, A. Gammerman, G. Shafer (2005). Algorithmic learning in a random world. Springer.

    I. Gibbs, E. Candes (2021). Adaptive conformal inference under distribution shift. NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import SGDOneClassSVM
    >>> from frugalsvm.conformal import ConformalDetector
    >>> rng = np.random.default_rng(0)
    >>> model = ConformalDetector(SGDOneClassSVM(random_state=0), alarm_rate=0.01)
    >>> for _ in range(200):
    ...     model = model.partial_fit(1.0 + rng.normal(size=(100, 3)) ** 2)
    >>> bool(0.0095 < model.alarm_rate_ < 0.0105)
    True
    """

    _saved = DETECTOR
    _ways = ("score_samples_one_row", "score_one")
    _answers = (("score_samples", "decision_function"), ("score_one",))
    _has_targets = False

    def __init__(self, estimator, alarm_rate=0.01, *, window=2000, patience=None, random_state=None):
        self.estimator = estimator
        self.alarm_rate = alarm_rate
        self.window = window
        self.patience = patience
        self.random_state = random_state

    _rate = property(lambda self: self.alarm_rate)

    # --- learning -----------------------------------------------------------------------------------------

    @exclusive
    def fit(self, X, y=None):
        """Learn from most rows, and take the scores of the others: a quarter of them, and at most ``window``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : object
            Not used.

        Returns
        -------
        self
        """
        return self._fit(X, None, None)

    @exclusive
    def partial_fit(self, X, y=None, sample_weight=None, *, outputs=None):
        """Score rows, and then learn them in the given order, once.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Or dicts of features for models of river.
        y : object
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
        outputs : ndarray of shape (n_samples,), default=None
            What `outputs` said when these rows were judged, for rows that are learned late. None asks now.

        Returns
        -------
        self
        """
        self._learn(X, None, sample_weight, outputs)
        return self

    @exclusive
    def test_then_train(self, X, y=None, sample_weight=None):
        """Judge rows, each with the threshold that the rows before it left, and learn them.

        Parameters
        ----------
        X, y, sample_weight
            As in `partial_fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            -1 for alarms, +1 for others. Of rows that came before there was a model, none is an alarm.
        """
        strange, thresholds = self._learn(X, None, sample_weight, None)
        return np.ones(len(thresholds), int) if strange is None else np.where(strange > thresholds[:, 0], -1, 1)

    def _outputs_of(self, model, X):
        if is_river(model):
            return np.array(answers(model, X, "", "score_one"), np.float64)
        name = "score_samples" if hasattr(model, "score_samples") else "decision_function"
        return -np.asarray(getattr(model, name)(X), np.float64)

    def _scored(self, outputs, y):
        return outputs

    def _judged_row(self, made, x, y=None):
        return 0, made.asks_row(x) if is_river(made.model) else -made.asks_row(x)

    # --- predicting ---------------------------------------------------------------------------------------

    @property
    def alarm_rate_(self) -> float:
        """The share of alarms so far."""
        return self._missed

    @property
    def offset_(self) -> float:
        """Rows with scores below are alarms."""
        return float(np.clip(-self.thresholds_[0], -HUGE, HUGE))

    def score_samples(self, X):
        """Scores of rows: the lower, the stranger."""
        return -self.outputs(X)

    @shared
    def decision_function(self, X):
        """Scores less those at which alarms begin: below zero for alarms, and 1e300 as long as there can be none."""
        return self.score_samples(X) - self.offset_

    @shared
    def predict(self, X):
        """-1 for alarms among the rows of ``X``, +1 for the others."""
        return np.where(self.outputs(X) > self.thresholds_[0], -1, 1)

    @shared
    def p_values(self, X):
        """How usual rows are: the share of the latest scores that are at least as strange as theirs.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._p_values(self._reservoirs[0], self.outputs(X))

    @shared
    def predict_one_row(self, x):
        """-1 if a row is an alarm, +1 otherwise, as `predict` has it, fast where `learn_one_row` is."""
        made = self._fast_model()
        if made is None:
            return int(self.predict(batch_of(self.estimator, x))[0])
        return -1 if self._judged_row(made, x)[1] > made.takers[0].threshold else 1

    @available_if(wraps_river)
    @shared
    def score_one(self, x):
        """1 less the p-value of a row: near 1 for strange ones, and 0 before the first row."""
        return 1.0 - float(self.p_values([x])[0]) if hasattr(self, "estimator_") else 0.0
