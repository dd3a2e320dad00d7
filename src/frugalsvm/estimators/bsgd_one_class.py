"""A one-class SVM on a budget as a scikit-learn outlier detector."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from frugalsvm._locks import shared
from frugalsvm.budgeted.one_class import (
    factor_of,
    learn_watching,
    new_window,
    note_scores,
    offset_of,
    p_values_of,
    refill,
    threshold_of,
)
from frugalsvm.core.one_class import OneClass
from frugalsvm.estimators._bsgd import BudgetedSGD, has_room_to_learn, prediction_state
from frugalsvm.estimators._saved import HAS_BUDGET, OPTIONAL, check_loaded_parameters, expansion_is_sound
from frugalsvm.estimators.constraints import count, optional, share
from frugalsvm.estimators.kernel_model import FitsAndFollows
from frugalsvm.estimators.parameters import estimator, fixed, learned, parameter
from frugalsvm.estimators.targets import DetectsOutliers, checked_weights
from frugalsvm.persist.savable import Saved
from frugalsvm.persist.values import integer, part

_ROWS_AT_A_TIME = 2**13  # of a pass in random order


def _is_sound(model):
    return has_room_to_learn(model) and expansion_is_sound(model, 1)


def _prediction_state(model):
    return {**prediction_state(model), "_window": model._window}


@estimator
class BSGDOneClassSVM(DetectsOutliers, FitsAndFollows, BudgetedSGD):
    """Novelty detection on a stream: a one-class SVM with a fixed number of support vectors.

    Reads rows one at a time and keeps at most ``budget`` support vectors: time per row and memory stay constant however
    long the stream is. It may have anomalies in it, as long as they are few. Rows are scored before they are learned,
    and the latest scores are kept in a window: that makes p-values of scores, and an alarm rate that users can set.

    Standardize the features.

    Parameters
    ----------
    nu : float, default=0.5
        The share of rows, between 0 and 1, that the model learns from: those with the lowest scores. Near 1 the score
        is a density estimate; small values look at the border only, and take less time.
    alarm_rate : float, default=None
        The share of rows that `predict` shall call outliers, on the stream as it is: what was promised and not kept is
        made up for. None is ``nu``, as in `sklearn.svm.OneClassSVM`.
    half_life : float, default=None
        For streams that change: the number of rows after which what was learned counts half. None: all count alike.
    window : int, default=2048
        How many of the latest scores are kept.
    gamma : "scale" or float, default="scale"
        Kernel coefficient. "scale" is ``1 / X.var(axis=0).sum()``, from the rows of `fit`, or from the first batch of
        `partial_fit`.
    n_jobs : int, default=None
        Threads for predictions; None is one, -1 all cores.

    Attributes
    ----------
    offset_
    threshold_ : float
    support_vectors_
    dual_coef_ : ndarray of shape (1, n_support_vectors)
    gamma_, budget_, n_updates_, t_, n_iter_, n_features_in_

    References
    ----------
    B. Schoelkopf, J. C. Platt, J. Shawe-Taylor, A. J. Smola, R. C. Williamson (2001). Estimating the support of a
    high-dimensional distribution. Neural Computation 13.

    J. Kivinen, A. J. Smola, R. C. Williamson (2004). Online learning with kernels. IEEE Transactions on Signal
    Processing 52.

    I. Gibbs, E. Candes (2021). Adaptive conformal inference under distribution shift. Advances in Neural Information
    Processing Systems.

    Examples
    --------
    >>> import numpy as np
    >>> from frugalsvm import BSGDOneClassSVM
    >>> rng = np.random.default_rng(0)
    >>> model = BSGDOneClassSVM(alarm_rate=0.01)
    >>> for _ in range(100):
    ...     model = model.partial_fit(rng.normal(size=(500, 2)))
    >>> model.predict([[0.0, 1.0], [6.0, 6.0]])
    array([ 1, -1])
    >>> bool(0.005 < np.mean(model.predict(rng.normal(size=(10_000, 2))) == -1) < 0.02)
    True
    >>> model.p_values([[6.0, 6.0]])[0] < 0.001
    np.True_
    """

    nu: Any = parameter(default=0.5, check=share, kw_only=False)
    maintenance: Any = parameter(default="merge", kw_only=False)
    budget: int | str | None = parameter(default=100, kw_only=False)
    alarm_rate: Any = parameter(default=None, check=optional(share))
    half_life: Any = None
    window: Any = parameter(default=2048, check=count(10))
    warm_start: Any = fixed(False)
    _saved = Saved(
        {"n_features_in_": integer(1), "_kernel": part("kernel"), **HAS_BUDGET, "_expansion": part("expansion"),
         "_policy": part("policy"), "_window": part("score-window")},
        {name: check for name, check in OPTIONAL.items() if name not in ("calibration_", "_metric")},
        _is_sound, check_loaded_parameters, _prediction_state,
    )  # fmt: skip
    _changed_in_place = ("_expansion", "_policy", "_window")
    _alpha = 1.0  # steps of 1 / t: the scale of the model is of no importance

    _rate = property(lambda self: self.nu if self.alarm_rate is None else self.alarm_rate)

    def _loss(self):
        return OneClass(threshold_of(self._window))

    # --- learning -----------------------------------------------------------------------------------------

    def partial_fit(self, X, y=None, sample_weight=None):
        """Learn from a batch of rows, in the given order, once.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : object
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self
        """
        return self._partial_fit(X, y, sample_weight)

    def _examples_of(self, X, y, sample_weight, *, first):
        """Rows that have a weight, no targets, and weights or None."""
        X = self._new_rows(X, self._first_dtype) if first else self._known_rows(X, self._dtype)
        weights = checked_weights(sample_weight, X)
        if weights is not None and not weights.all():
            present = weights > 0
            X, weights = X[present], weights[present]
        return X, None, weights

    def _start(self, X, targets, random_state, *, whole):
        self._kernel = self._new_kernel(X)
        self._empty_store(X.shape[1], 1, X.dtype, averaged=False)
        self._window = new_window(self.window)

    def _learn_all(self, X, targets, weights, random_state):
        """Thresholds are from scores of the model that comes out."""
        self._passes(X, targets, weights, random_state)
        self.n_iter_ = self.max_iter
        sample = self._order(X.shape[0], random_state)[: self.window]
        refill(self._window, self._seen_scores(X[np.sort(sample)])[:, 0], self.nu, self._rate)

    def _learn(self, X, targets, weights, order, policy=None):
        for start in range(0, len(order), _ROWS_AT_A_TIME):
            rows = order[start : start + _ROWS_AT_A_TIME]
            self._learn_rows(X[rows], None if weights is None else weights[rows])

    def _learn_next(self, X, targets, weights, *, first):
        self._learn_rows(X, weights)

    def _learn_rows(self, X, weights):
        with self._products_with(len(self._expansion.rows)):
            parts = self._parts()
            _, self._expansion = learn_watching(parts, self._expansion, self._window, X, weights, self.nu, self._rate)

    # --- single rows, for pipelines: see `frugalsvm.pipelines.one_row` --------------------------------------

    @property
    def row_weight(self) -> float:
        """The weight that the next row is learned with."""
        return factor_of(self._window, self.nu)

    def note_score(self, scores) -> bool:
        """Take in the score (1,) of a row before it was learned; whether thresholds were updated."""
        return note_scores(self._window, scores, self.nu, self._rate)

    # --- what was learned ---------------------------------------------------------------------------------

    score_window = property(lambda self: self._window, doc="The latest scores, and what was taken from them.")
    offset_ = learned(lambda self: offset_of(self._window, self._rate), doc="Rows with scores below are outliers.")
    threshold_ = learned(
        lambda self: threshold_of(self._window), doc="Rows with scores below, the nu-quantile, are learned."
    )

    @shared
    def score_samples(self, X):
        """Scores of the rows of ``X``: the lower, the more unusual."""
        return self._scores(X)[:, 0]

    @shared
    def decision_function(self, X):
        """Scores less the offset: below zero for outliers."""
        return self.score_samples(X) - self.offset_

    @shared
    def p_values(self, X):
        """How usual the rows of ``X`` are: the share of the latest scores that are as low as theirs.

        Of normal rows, as many have p-values below p as p says. The smallest is one over the length of the window.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.p_values_of(self.score_samples(X))

    def p_values_of(self, scores):
        """The p-values of rows whose scores are known."""
        check_is_fitted(self)
        return p_values_of(self._window, scores)
