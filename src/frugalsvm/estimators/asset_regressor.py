"""ASSET as a scikit-learn regressor."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from frugalsvm._locks import shared
from frugalsvm.arrays.namespace import arrays_on
from frugalsvm.estimators._asset_saved import LOW_RANK
from frugalsvm.estimators._asset_streams import StreamMachine
from frugalsvm.estimators.constraints import check_positive
from frugalsvm.estimators.fit_warnings import warn_if_units_differ
from frugalsvm.estimators.parameters import estimator
from frugalsvm.estimators.targets import PINBALL, PredictsNumbers, TargetScale, robust_scale_of
from frugalsvm.exceptions import ParameterError
from frugalsvm.lowrank.cross_validation import are_few, errors_left_out
from frugalsvm.lowrank.losses import Pinball, Squared
from frugalsvm.lowrank.targets import explained, spread
from frugalsvm.persist.values import IS_BOOL, integer, or_none, part


def _is_sound(model):
    """Whether outputs are what the parameters say: losses of quantiles have as many."""
    n_outputs = len(model._quantiles) if model.loss == PINBALL else model._n_targets
    right = len(model._weights) == n_outputs and (n_outputs == 1 or model._in_columns)
    return right and (model._target_scale is None or len(model._target_scale.center) == n_outputs)


@estimator
class ASSETRegressor(PredictsNumbers, StreamMachine):
    """Low-rank kernel regression, in batch or as a stream: support vector regression, least squares, quantiles.

    The same features and solvers as `ASSETClassifier`, for targets that are numbers. Several targets (``y`` with
    columns), or several quantiles, share the landmarks and all kernel values, and are solved for together. They share C
    and ``epsilon`` as well: standardize targets of different scales.

    Parameters
    ----------
    C : float or list of float, default=1.0
        As in `sklearn.svm.SVR`: the regularization strength is ``lambda = 1 / (C n)``. A list is a path: all values
        are solved for, each from the one before, on the same kernel values; the one that does best on validation rows
        (``validation_fraction`` of them) is solved for again with all rows. Ten values cost two or three single fits.
        As in SVR, C of "epsilon_insensitive" and "huber" goes with the unit of the target: ten times as large targets
        need ten times as large a C and ``epsilon`` for the same model. That of other losses does not; for "pinball",
        targets count in units of their spread, the distance of their quartiles over 1.35.
        Streams take ``n = 10 000`` unless ``alpha`` is given.
    epsilon : float, default=0.1
        Errors up to this, in the unit of the target, cost nothing; for "huber", larger ones cost in proportion, and not
        their square. The other losses take no notice.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive", "huber", "squared", "pinball"}, \
default="epsilon_insensitive"
        What errors cost. "squared" is kernel ridge regression. With "pinball", predictions are the ``quantile`` of the
        target, adjusted by errors on rows left out so that they hold for new rows. See :ref:`several-outputs`.

    Attributes
    ----------
    objective_ : float
        ``lambda / 2 ||w||^2 + mean loss`` of the last `fit`, summed over outputs. The mean is that of weight times loss
        over the rows with a weight; with early stopping, over those that are not for validation. Of quantiles: before
        they were adjusted.
    suboptimality_bound_
    C_, path_ : float, dict of arrays
        With a list of C: the chosen one; values of C with their validation scores and, without ``cv``, objectives and
        bounds.
    best_validation_score_, landmarks_, coef_
    intercept_ : ndarray of shape (n_outputs,)
        Outputs are targets, or quantiles.
    rank_, gamma_, model_bytes_, n_iter_, t_, metric_, n_features_in_

    References
    ----------
    S. Lee, S. J. Wright (2012). ASSET: approximate stochastic subgradient estimation training for support vector
    machines. International Conference on Pattern Recognition Applications and Methods.

    I. Takeuchi, Q. V. Le, T. D. Sears, A. J. Smola (2006). Nonparametric quantile estimation. Journal of Machine
    Learning Research 7.

    V. Chernozhukov, I. Fernandez-Val, A. Galichon (2010). Quantile and probability curves without crossing.
    Econometrica 78.

    Examples
    --------
    >>> import numpy as np
    >>> from frugalsvm import ASSETRegressor
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(5000, 2))
    >>> y = np.sin(X[:, 0]) * X[:, 1]
    >>> model = ASSETRegressor(n_components=128, C=10.0, epsilon=0.01, gamma=0.5, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.99
    True
    >>> y = y + np.random.default_rng(1).normal(size=5000)
    >>> model.set_params(loss="pinball", quantile=[0.05, 0.5, 0.95], non_crossing=True).fit(X, y).predict(X).shape
    (5000, 3)
    """

    C: float | Sequence[float] = 1.0
    epsilon: Any = 0.1
    loss: Any = "epsilon_insensitive"

    _for_classes = False
    _n_targets = 1  # or quantiles
    _target_scale: TargetScale | None = None
    _saved = LOW_RANK._replace(
        optional={
            **LOW_RANK.optional,
            "_in_columns": IS_BOOL,
            "_n_targets": integer(1),
            "_target_scale": or_none(part("target-scale")),
        },
        is_sound=lambda model: _is_sound(model) and LOW_RANK.is_sound(model),
    )

    def _check_params(self):
        super()._check_params()
        check_positive("epsilon", self.epsilon, zero=self.loss != "huber")
        if self.loss == PINBALL and not self._has_quantiles:
            raise ParameterError("quantile", self.quantile, "between 0 and 1, or a sequence of such numbers")

    def new_loss(self):
        """The loss of all outputs, in units of the solver."""
        loss = self._loss_of_targets()
        if getattr(loss, "epsilon", 0.0) == 0.0:
            return loss
        return loss._replace(epsilon=loss.epsilon / float(self._scale.spread[0]))

    def _loss_of_targets(self):
        return Pinball(self._quantiles) if self.loss == PINBALL else super().new_loss()

    # --- the scale of the targets ---------------------------------------------------------------------------

    @property
    def _scale(self) -> TargetScale:
        """What the solver learns is relative to it; without one (in older files, too), targets are as they come."""
        if self._target_scale is not None:
            return self._target_scale
        return TargetScale(np.zeros(self._n_targets), np.ones(self._n_targets))

    def take_scale(self, targets, weights):
        """Take the scale of some targets (n, n_outputs), or of the one that all quantiles are of; returns it."""
        loss = self._loss_of_targets()
        self._target_scale = None
        if getattr(loss, "degree", None) is None:  # a loss of somebody's own that may not depend on differences only
            return self._scale
        scale = robust_scale_of(targets, weights)
        center, spread = (np.repeat(each, self._n_targets // len(each)) for each in scale)
        center = center if self.fit_intercept else np.zeros_like(center)
        if getattr(loss, "epsilon", 0.0) > 0 or self._unit_power:  # outputs share epsilon and C, in one unit
            spread = np.full_like(spread, np.median(spread))
        self._target_scale = TargetScale(center, spread)
        return self._target_scale

    _degree = property(lambda self: getattr(self._loss_of_targets(), "degree", 1))

    @property
    def _unit_power(self):
        """C goes with this power of the targets' unit: as in `SVR` where there is an epsilon in it as well, else 0."""
        return 2 - self._degree if hasattr(self._loss_of_targets(), "epsilon") else 0

    def penalty_for(self, C, n_rows):
        """The penalty for a value of C and a number of rows, in units of the solver.

        Its objective, ``penalty / 2 ||w||^2`` and a loss, is that of the targets over a power of their spread.
        """
        return super().penalty_for(C, n_rows) * float(self._scale.spread[0]) ** self._unit_power

    def objective_of(self, objectives):
        """The objective, in units of the targets, from what the solver has for each output."""
        return float((objectives * self._scale.spread**self._degree).sum())

    def _in_units_of_targets(self, parameters):
        return self._scale.of_targets(parameters)

    def _in_units_of_solver(self, parameters):
        return self._scale.of_model(parameters)

    def _begin_steps(self, n_rows, targets, weights):
        if not hasattr(self, "_n_fitted"):  # otherwise it is that of `fit`
            self.take_scale(targets.T, weights)
        return super()._begin_steps(n_rows, targets, weights)

    def _standardized(self, targets):
        return np.ascontiguousarray(self._scale.standardized(targets.T).T, np.float32)

    # --- targets --------------------------------------------------------------------------------------------

    def _numbers(self, y, sample_weight, X, *, first):
        """Targets (n_outputs, n_rows), of which quantiles share one, and weights or None."""
        targets, weights = super()._numbers(y, sample_weight, X, first=first)
        targets = np.repeat(targets.T, len(self._quantiles), axis=0) if self.loss == PINBALL else targets.T
        self._n_targets = len(targets)
        return targets, weights

    _n_known = property(lambda self: len(self._weights))

    def _surveyed(self, survey):
        targets, weights = self._numbers(survey.y, survey.sample_weight, survey.y[:, None], first=True)
        self.take_scale(targets.T, weights)
        return targets, weights

    def _begin(self, X, targets, weights, random_state, *, whole):
        if whole:
            self.take_scale(targets.T, weights)
        return super()._begin(X, targets, weights, random_state, whole=whole)

    def _outputs(self, targets, weights, *, whole):
        if whole:
            return self._standardized(targets)
        scale = robust_scale_of(targets.T, weights)  # there is none for all rows yet
        return np.ascontiguousarray(scale.standardized(targets.T).T, np.float32)

    def _learn_next(self, X, targets, weights, *, first):
        self._learn_rows(X, targets, weights)

    def expect(self, target_shape):
        """Be ready to learn targets of a shape: () for one, (3,) for three in columns."""
        if self.loss == PINBALL and target_shape not in ((), (1,)):
            raise ValueError(f"loss='pinball' is for one target, but y has {target_shape[0]} columns.")
        self._n_targets = len(self._quantiles) if self.loss == PINBALL else int(np.prod(target_shape))
        self._in_columns = np.ndim(self.quantile) == 1 if self.loss == PINBALL else bool(target_shape)

    def _n_outputs(self):
        return self._n_targets

    def _targets(self, y, arrays):
        return self._standardized(y)

    def _unit(self, targets, weights):
        return spread(targets, weights)

    def _look_back(self, X, y, weights):
        warn_if_units_differ(self, X, y, weights, self._scale.spread[0])

    def quality(self, scores, targets, weights):
        """R^2 of scores (n_outputs, n_rows), or with quantiles D^2, as `score` has it."""
        loss = self.new_loss() if self.loss == PINBALL else Squared()
        return explained(loss, scores, targets, weights)

    # --- quantiles that hold --------------------------------------------------------------------------------

    def _look_at_folds(self, storage, data, training):
        """Adjust quantiles by errors on rows left out: with few rows, they fit those that were learned too well."""
        solved = self.solver == "newton" and not self.early_stopping and storage.fits(data)
        if self.loss == PINBALL and self.fit_intercept and solved and are_few(training.whole):
            C = getattr(self, "C_", self._all_C()[0])
            problem = training.whole._replace(penalty=self.penalty_for(C, training.whole.n_rows))
            errors, weights = errors_left_out(problem, training.options, self._rng, self._threads())
            self._move_outputs(self._shifts(errors, weights) * self._scale.spread)

    def _move_outputs(self, shifts):
        if not self.fit_intercept:
            raise ValueError("adjust_quantiles moves intercepts: it needs fit_intercept=True.")
        if self._target_scale is None:  # that of a model file from before there were scales
            self._target_scale = self._scale
        self._target_scale = self._target_scale.moved(shifts)
        self._weights = self._weights.copy()
        self._weights[:, -1] += shifts

    _unsorted = StreamMachine._output

    # --- predictions ----------------------------------------------------------------------------------------

    @shared
    def predict(self, X, *, device=None):
        """Predicted values of the rows of ``X``: one column for each target or quantile, where they are several.

        They are computed on a device if one is given.
        """
        check_is_fitted(self)
        values = self._output(X, None if device is None else arrays_on(device))
        return self._predictions(values)
