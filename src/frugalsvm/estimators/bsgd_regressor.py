"""Budgeted stochastic gradient descent as a scikit-learn regressor."""

import numbers
from typing import Any

import numpy as np

from frugalsvm._locks import shared
from frugalsvm.budgeted.model_averaging import with_coefficients
from frugalsvm.budgeted.post_pass import refitted
from frugalsvm.core.residuals import LOSSES, loss_of_residuals
from frugalsvm.core.schedules import clock_of
from frugalsvm.estimators._bsgd import BudgetedSGD, has_room_to_learn, prediction_state
from frugalsvm.estimators._saved import HAS_BUDGET, OPTIONAL, check_loaded_parameters, expansion_is_sound
from frugalsvm.estimators.constraints import check_positive, is_auto, one_of
from frugalsvm.estimators.fit_warnings import warn_if_out_of_scale
from frugalsvm.estimators.parameters import estimator, learned, parameter
from frugalsvm.estimators.targets import PINBALL, PredictsNumbers, TargetScale, scale_of
from frugalsvm.exceptions import ParameterError
from frugalsvm.persist.savable import Saved
from frugalsvm.persist.values import IS_BOOL, integer, is_positive, part

_LEARNERS = ("norma", "pegasos")
_PINBALL_PASSES = 4
_ADJUSTING_ROWS = 20_000  # that tell `fit` how far quantiles are off
# With fewer rows for each vector, coefficients near the optimum fit those that were learned too well
_ROWS_FOR_VECTOR, _MOST_LEFT_OUT, _FOLDS = 100, 4000, 5
# epsilon="auto", in standard deviations of the noise: half of one is about the best for normal noise (Smola et al.
# 1998); Huber's constant costs 5 % where there are no outliers (Huber 1964).
_EPSILON_OF_NOISE, _HUBER_OF_NOISE = 0.5, 1.345
_USUAL_NOISE = 0.3  # of standardized targets, where rows are too few to tell


def _is_sound(model):
    n_outputs = model._expansion.n_outputs
    right = len(model._targets.center) == n_outputs and has_room_to_learn(model)
    n_quantiles = len(model._quantiles) if model.loss == PINBALL else n_outputs
    return right and n_quantiles == n_outputs and expansion_is_sound(model, n_outputs)


def _prediction_state(model):
    return {**prediction_state(model), "_targets": model._targets.without_spread, "_in_columns": model._in_columns}


@estimator
class BSGDRegressor(PredictsNumbers, BudgetedSGD):
    """Kernel regression by stochastic gradient descent with a fixed number of support vectors.

    Reads examples one at a time, in one pass or several, and keeps at most ``budget`` support vectors: time per
    example and memory stay constant however long the stream is. Several targets, or several quantiles, share the
    support vectors: kernel values are computed once for all of them.

    Choose it for large or endless data and for small models. `ASSETRegressor` is more accurate where all rows are at
    hand and hundreds of landmarks are not too many. Standardize the features. Targets may have any scale: the model
    learns them standardized by the first rows.

    Parameters
    ----------
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive", "huber", "squared", "pinball"}, \
default="epsilon_insensitive"
        What errors cost. With "pinball", predictions are a ``quantile`` of the target, or several.
    epsilon : float or "auto", default="auto"
        Errors up to this cost nothing, for the first two losses; errors beyond this cost in proportion, for "huber". In
        units of the target. "auto" is half the standard deviation of the noise, or 1.345 of them for "huber", as the
        first rows tell, see :ref:`first-rows`; the others take no notice.
    learner : {"norma", "pegasos"}, default="norma"
        Step sizes: ``eta0 / sqrt(t)``, or ``1 / (alpha t)``. Steps are implicit: they never go beyond the target of
        their example, however long they are.
    alpha : float, default=1e-6
        Strength of the L2 regularization, the lambda of the SVM objective.
    eta0 : float, default=20.0
        Step size for "norma". Targets are standardized: a third of it suits noisy ones, three times as much clean ones.
    half_life : float, default=None
        For streams that change: the number of examples after which what was learned counts half. Steps do not get
        shorter. ``learner``, ``alpha`` and ``eta0`` are not used: the length of the steps, which never go beyond
        their target, is 1. Without ``average``. See :doc:`/howto/drift`.
    average : bool, int or "post", default=False
        "post" makes `fit` add one more pass, in which the support vectors stay and their coefficients come close to the
        optimum: much more accurate, and takes a few times as long as a pass. True or a number predict with the mean of
        all models since the beginning, or since that many examples: good without a budget or with projection, bad with
        merging and removal, which take away the support vectors of the mean.
    standardize : bool or tuple of float, default=True
        Whether the model learns targets less their mean (or quantiles) and over their standard deviation, from the rows
        of `fit`, or from the first batch of `partial_fit`: let it have some hundred rows. Predictions are in units of
        the target anyway. A pair ``(center, spread)`` is taken as it is.

    Attributes
    ----------
    support_vectors_
    dual_coef_ : ndarray of shape (n_outputs, n_support_vectors)
        In units of the target.
    intercept_ : ndarray of shape (n_outputs,)
    gamma_
    epsilon_ : ndarray of shape (n_outputs,)
    budget_
    gradient_error_ : float
        Mean over all ``t_`` examples of what budget maintenance took from the model, over the step size.
    n_updates_, t_, n_iter_, metric_, n_features_in_

    References
    ----------
    Z. Wang, K. Crammer, S. Vucetic (2012). Breaking the curse of kernelization: budgeted stochastic gradient
    descent for large-scale SVM training. Journal of Machine Learning Research 13.

    B. Kulis, P. L. Bartlett (2010). Implicit online learning. International Conference on Machine Learning.

    V. Chernozhukov, I. Fernandez-Val, A. Galichon (2010). Quantile and probability curves without crossing.
    Econometrica 78.

    Examples
    --------
    >>> import numpy as np
    >>> from frugalsvm import BSGDRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(20_000, 2))
    >>> y = 1000 * np.sin(X[:, 0]) * X[:, 1] + 100 * rng.normal(size=len(X))
    >>> model = BSGDRegressor(budget=100, gamma=0.5, average="post", random_state=0).fit(X[:15_000], y[:15_000])
    >>> model.score(X[15_000:], y[15_000:]) > 0.98
    True
    >>> model.set_params(loss="pinball", quantile=[0.05, 0.95], non_crossing=True).fit(X[:15_000], y[:15_000])
    BSGDRegressor(...)
    >>> low, high = model.predict(X[15_000:]).T
    >>> 0.85 < np.mean((low <= y[15_000:]) & (y[15_000:] <= high)) < 0.95
    np.True_
    """

    loss: Any = parameter(default="epsilon_insensitive", check=one_of(LOSSES), kw_only=False)
    maintenance: Any = parameter(default="merge", kw_only=False)
    budget: int | str | None = parameter(default=500, kw_only=False)
    epsilon: float | str = "auto"
    learner: Any = parameter(default="norma", check=one_of(_LEARNERS))
    alpha: Any = 1e-6
    eta0: Any = 20.0
    half_life: Any = None
    metric: Any = None
    average: int | str = False
    standardize: bool | tuple[float, float] = True
    _saved = Saved(
        {"n_features_in_": integer(1), "_kernel": part("kernel"), **HAS_BUDGET, "_expansion": part("expansion"),
         "_policy": part("policy"), "_targets": part("target-scale"), "_in_columns": IS_BOOL},
        {**{name: check for name, check in OPTIONAL.items() if name != "calibration_"}, "_noise": is_positive},
        _is_sound, check_loaded_parameters, _prediction_state,
    )  # fmt: skip
    _narrowing = 1.5  # merged vectors are spread over the rows as those of ridge machines are

    # --- parameters ---------------------------------------------------------------------------------------

    def _check_params(self):
        super()._check_params()
        if not is_auto(self.epsilon):
            check_positive("epsilon", self.epsilon, zero=self.loss != "huber")
        if not self._has_quantiles:
            raise ParameterError("quantile", self.quantile, "a number between 0 and 1, or several")
        self._check_standardize()

    _alpha = property(lambda self: 1.0 / float(clock_of(self.half_life)) if self.forgets else self.alpha)

    def _check_standardize(self):
        if isinstance(self.standardize, bool | np.bool_):
            return
        pair = self.standardize
        if not (isinstance(pair, tuple | list) and len(pair) == 2 and all(isinstance(x, numbers.Real) for x in pair)):
            raise ParameterError("standardize", pair, "True, False, or a pair of a center and a spread")
        check_positive("standardize[1]", pair[1])

    def _take_strength(self, choice, n_rows):
        """Keep what the first rows tell of the noise."""
        self.__dict__.pop("_noise", None)
        if choice is not None and choice.error > 0:
            self._noise = float(np.sqrt(choice.error))

    @property
    def _epsilons(self):
        """Epsilon of each output, in units of the model."""
        if not is_auto(self.epsilon):
            return self.epsilon / self._targets.spread
        share = _HUBER_OF_NOISE if self.loss == "huber" else _EPSILON_OF_NOISE
        return np.full(len(self._targets.spread), share * getattr(self, "_noise", _USUAL_NOISE))

    def _loss(self):
        n_outputs = self._expansion.n_outputs
        quantiles = self._quantiles if self.loss == PINBALL else np.full(n_outputs, 0.5)
        return loss_of_residuals(self.loss, self._epsilons, quantiles)

    # --- learning -----------------------------------------------------------------------------------------

    def _begin(self, X, targets, weights, random_state, *, whole):
        self._targets = self._target_scale(targets, weights)
        return super()._begin(X, targets, weights, random_state, whole=whole)

    def _outputs(self, targets, weights, *, whole):
        return self._targets.standardized(targets).T

    def _start(self, X, targets, random_state, *, whole):
        self._kernel = self._new_kernel(X)
        averaged = self.average is not False and self.average != "post"
        self._empty_store(X.shape[1], len(self._targets.center), X.dtype, averaged)

    def _learn_all(self, X, targets, weights, random_state):
        standardized = self._targets.standardized(targets)
        self._passes(X, standardized, weights, random_state)
        self.n_iter_, before = self.max_iter, self._expansion
        if self.average == "post":
            self._expansion = self._refitted(before, X, standardized, weights, random_state)
            self.n_iter_ += 1
        if self.loss == PINBALL and self.half_life is None:
            known = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights)
            few = len(known) <= _ROWS_FOR_VECTOR * int(before.counts[0]["n_slots"])
            is_left_out = self.average == "post" and few and len(known) >= _FOLDS
            some = np.sort(random_state.permutation(known)[: _MOST_LEFT_OUT if is_left_out else _ADJUSTING_ROWS])
            if is_left_out:
                values = self._left_out(before, X, standardized, weights, known, some, random_state)
            else:
                values = self._seen_scores(X[some])
            self._move_outputs(self._shifts(targets[some] - values, None if weights is None else weights[some]))

    def _learn_next(self, X, targets, weights, *, first):
        standardized = self._targets.standardized(targets)
        if not first:
            warn_if_out_of_scale(self, standardized)
        self._learn(X, standardized, weights, np.arange(X.shape[0]))

    def _refitted(self, expansion, X, targets, weights, random_state):
        """The support vectors as they are, with coefficients near the optimum."""
        rng = np.random.default_rng(random_state.randint(np.iinfo(np.int32).max))
        with self._products_with(len(expansion.rows)):
            n_passes = _PINBALL_PASSES if self.loss == PINBALL else 1
            found = refitted(self._kernel, self._loss(), expansion, X, targets, weights, rng, n_passes)
        return with_coefficients(expansion, found)

    def _left_out(self, expansion, X, targets, weights, known, some, random_state):
        """Values of some rows, each by coefficients that were made near the optimum without its fold."""
        whole, values = self._expansion, np.empty((len(some), expansion.n_outputs))
        n_folds = -(-_FOLDS * len(some) // len(known))
        folds = random_state.permutation(len(some)) % n_folds
        for fold in range(n_folds):
            out = np.flatnonzero(folds == fold)
            others = np.setdiff1d(known, some[out])
            own = None if weights is None else weights[others]
            self._expansion = self._refitted(expansion, X[others], targets[others], own, random_state)
            values[out] = self._seen_scores(X[some[out]])
        self._expansion = whole
        return values

    def _move_outputs(self, shifts):
        self._targets = self._targets.moved(shifts)

    _unsorted = BudgetedSGD._scores

    _n_known = property(lambda self: self._expansion.n_outputs)

    def _target_scale(self, targets, weights):
        quantiles = self._quantiles if self.loss == PINBALL else None
        if self.standardize is True:
            return scale_of(targets, weights, quantiles)
        center, spread = (0.0, 1.0) if self.standardize is False else self.standardize
        n_outputs = targets.shape[1] if quantiles is None else len(quantiles)
        return TargetScale(np.full(n_outputs, float(center)), np.full(n_outputs, float(spread)))

    # --- single rows, for pipelines: see `frugalsvm.pipelines.one_row` --------------------------------------

    @property
    def n_targets(self) -> int:
        """Targets of a row: all quantiles are of one."""
        return 1 if self.loss == PINBALL else self._expansion.n_outputs

    target_scale = property(lambda self: self._targets, doc="Where the targets of each output are, and how far apart.")

    def in_model_units(self, targets):
        """Targets (n, n_targets) as they are learned, (n, n_outputs)."""
        return self._targets.standardized(targets)

    def predictions_of(self, values):
        """Predictions for the values (n, n_outputs) of the model."""
        return self._predictions(values)

    # --- what was learned ---------------------------------------------------------------------------------

    def _coefficients(self):
        return super()._coefficients() * self._targets.spread

    @learned
    def intercept_(self):
        """Means of the first targets; or their quantiles, moved so that their shares of rows are below (`fit`)."""
        return self._targets.center.copy()

    @learned
    def epsilon_(self):
        """The epsilon of each output, in units of the target."""
        return self._epsilons * self._targets.spread

    @shared
    def predict(self, X):
        """Predicted values of the rows of ``X``: one column for each target or quantile, where they are several."""
        return self._predictions(self._scores(X))
