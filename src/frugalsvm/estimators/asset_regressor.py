"""ASSET as a scikit-learn regressor."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from frugalsvm._locks import shared
from frugalsvm.arrays.namespace import arrays_on
from frugalsvm.estimators._asset import LowRankMachine
from frugalsvm.estimators._asset_saved import LOW_RANK
from frugalsvm.estimators._quantiles import PINBALL, PredictsQuantiles, are_few, errors_left_out
from frugalsvm.estimators._targets import TargetScale, checked_targets, checked_weights, robust_scale_of
from frugalsvm.estimators._unchanged import unchanged_on_error
from frugalsvm.estimators._validation import check_positive
from frugalsvm.estimators._warnings import warn_if_units_differ
from frugalsvm.exceptions import ParameterError
from frugalsvm.lowrank.losses import Pinball, Squared
from frugalsvm.lowrank.targets import explained, spread
from frugalsvm.persist.values import IS_BOOL, integer, or_none, part

__all__ = ["ASSETRegressor"]


def _is_sound(model):
    """Whether outputs are what the parameters say: losses of quantiles have as many."""
    n_outputs = len(model._quantiles) if model.loss == PINBALL else model._n_targets
    right = len(model._weights) == n_outputs and (n_outputs == 1 or model._in_columns)
    return right and (model._target_scale is None or len(model._target_scale.center) == n_outputs)


class ASSETRegressor(PredictsQuantiles, RegressorMixin, LowRankMachine):
    """Low-rank kernel regression, in batch or as a stream: support vector regression, least squares, quantiles.

    The same features and solvers as `ASSETClassifier`, for targets that are numbers. Several targets (``y`` with
    columns), or several quantiles, share the landmarks and all kernel values, and are solved for together. They share C
    and ``epsilon`` as well: standardize targets of different scales.

    Parameters
    ----------
    feature_map : {"nystroem", "fourier"}, default="nystroem"
        Kernel values with some rows of the data, the landmarks, whitened; or random Fourier features (of kernels of
        differences), which need no data at all but more components for the same accuracy.
    n_components : int, default=512
        Number of landmarks or of Fourier features. More are more accurate; time and memory are proportional to it, with
        a cubic part that shows from a few thousand on.
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
    kernel : str, KernelSum or callable, default="rbf"
        Kernel, see :ref:`kernels`; a `KernelSum` of several; or a function ``kernel(A, B)`` of your own that returns
        the values of all pairs of rows.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel coefficient; "scale" is ``1 / X.var(axis=0).sum()``. "auto" is chosen on some thousands of the first
        rows, in a fraction of a second, see :ref:`first-rows`.
    metric : {"diag", "full", "auto"}, array or None, default=None
        How the kernel measures distances. None: all features count alike. "diag" learns a factor for each feature, so
        that those that do not matter do not count; "full" a matrix, for directions across features (not with
        "laplacian", nor for sparse rows). "auto" learns both, and takes what does best on rows that none of them was
        learned from, the plain metric included. `partial_fit` learns it from the first batch; then it stays. With
        ``gamma="scale"``, gamma is learned along with it. An array of factors, or a matrix with a column for each
        feature, is taken as it is: such as ``metric_`` of another model. See :ref:`metric`.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1.0
        Constant of the polynomial kernel.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive", "huber", "squared", "pinball"}, \
default="epsilon_insensitive"
        What errors cost. "squared" is kernel ridge regression. With "pinball", predictions are the ``quantile`` of the
        target, adjusted by errors on rows left out so that they hold for new rows. See :ref:`several-outputs`.
    quantile : float or sequence of float, default=0.5
        For ``loss="pinball"``: one, or several at once; then predictions have a column for each.
    non_crossing : bool, default=False
        Whether to sort the predicted quantiles of each row. They are learned side by side, and may be in the wrong
        order where rows are few; sorted ones are never farther from the truth (Chernozhukov et al. 2010).
    solver : {"newton", "asset", "asset*"}, default="newton"
        How `fit` solves the problem: truncated Newton, by far the fastest and the only one that comes near the
        optimum; or the stochastic subgradient steps of the paper, ``"asset"`` with steps that fall like
        ``1 / sqrt(t)`` and an unpenalized intercept, ``"asset*"`` with steps of ``1 / (lambda t)``, where an
        intercept is penalized. `partial_fit` takes subgradient steps always, those of "asset" for "newton".
    fit_intercept : bool, default=True
    alpha : float, default=None
        The regularization strength lambda; replaces C. Set it for streams.
    landmarks : {"uniform", "kmeans++", "kmeans"} or array of shape (n_landmarks, n_features), default="uniform"
        Random rows; rows that are spread out; or means of the rows around these, which are better for images and cost
        about as much as the kernel values of ten thousand rows. An array has landmarks of your own, and
        ``n_components`` does not count then.
    rank : int, default=None
        Maximum number of features that the Nystroem map keeps, those with the largest eigenvalues.
    eigenvalue_threshold : float, default=1e-7
        It keeps those above this share of the largest eigenvalue. Kernel values are float32: far below that, features
        are rounding errors.
    structured : bool or "auto", default="auto"
        Whether Fourier features use Hadamard transforms instead of a matrix product: as accurate, and several times
        faster for wide rows. "auto" takes the faster.
    max_iter : int, default=None
        Newton steps of each stage (None is 30), or epochs of subgradient steps (None is 20).
    tol : float, default=5e-3
        Newton steps end when the next would reduce the objective by a smaller share than this. The default ends about
        0.1 % above the optimum.
    average : "suffix", int or False, default="suffix"
        What subgradient steps return: the mean of the last half of all iterates; of this many last ones (the paper has
        100, which is far less accurate); or the last.
    early_stopping : bool, default=False
        Whether to stop when the score on the validation set has not risen for ``n_iter_no_change`` steps or epochs, and
        take the model that did best on them.
    validation_fraction : float, default=0.1
        Share of rows in the validation set, for early stopping and for choosing C.
    cv : int, default=None
        Number of folds, to choose C from a list by cross-validation instead of on a validation set. Folds and values
        share all kernel values; on a GPU they are solved side by side.
    n_iter_no_change : int, default=5
    memory : str, default="4GB"
        On the CPU: limit for features and what is computed from them. If all features take more, they are computed
        again in every pass, which takes several times as long.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where `fit` and predictions are computed: compiled code on the CPU, or PyTorch on a GPU (``"cuda:1"`` is the
        second), for which the extra ``torch`` must be installed. "auto" takes a GPU if there is one. Rows can be
        arrays, CSR matrices or tensors; `partial_fit` takes its steps on the CPU.
    dtype : {"float32", "tf32", "float16"}, default="float32"
        On a GPU: "tf32" rounds the products in kernel values to 11 bits, which is faster for wide rows; "float16"
        stores kernel values in half the memory.
    memory_limit : str, default=None
        On a GPU: limit for rows, features and what is computed from them; None is most of the free memory. What does
        not fit is computed again in every pass, and rows that do not fit are sent again.
    n_jobs : int, default=None
        Threads; None is one, -1 all cores. `fit`, predictions and the features of `partial_fit` go through rows in
        blocks, side by side; subgradient steps are taken one after another. Results are the same up to rounding.
    verbose : int, default=0
        With 1, `fit` shows its progress in a line on standard error: rows, rows per second, time left, and how
        good the model is.
    random_state : int, RandomState instance or None, default=None
        For landmarks, frequencies, samples of rows and the order of steps.

    Attributes
    ----------
    objective_ : float
        ``lambda / 2 ||w||^2 + mean loss`` of the last `fit`, summed over outputs. The mean is that of weight times loss
        over the rows with a weight; with early stopping, over those that are not for validation. Of quantiles: before
        they were adjusted.
    suboptimality_bound_ : float
        How far it may be above the optimum of the same features, by duality: the truth is often a tenth of that. A
        smaller ``tol`` makes both smaller.
    C_, path_ : float, dict of arrays
        With a list of C: the chosen one; values of C with their validation scores and, without ``cv``, objectives and
        bounds.
    best_validation_score_ : float
        With early stopping.
    landmarks_, dual_coef_ : ndarray or None
        With a Nystroem map: ``decision_function(X) == kernel(X, landmarks_) @ dual_coef_.T + intercept_``.
    coef_ : ndarray of shape (n_outputs, n_map_features)
        Weights of the features.
    intercept_ : ndarray of shape (n_outputs,)
        Outputs are targets, or quantiles.
    rank_ : int
        Number of features.
    gamma_ : float
    model_bytes_ : int
    n_iter_ : int
        Newton steps, in all stages, or epochs.
    t_ : int
        Examples learned from.
    metric_, feature_importances_ : ndarray
        With a metric: what rows are multiplied by, shape (n_features,) or (n_directions, n_features), and the share
        that each feature has in distances then.
    n_features_in_ : int

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

    def __init__(
        self,
        feature_map="nystroem",
        n_components=512,
        *,
        C: float | Sequence[float] = 1.0,
        epsilon=0.1,
        kernel: Any = "rbf",
        gamma: float | str = "scale",
        metric=None,
        degree=3,
        coef0=1.0,
        loss="epsilon_insensitive",
        quantile: float | Sequence[float] = 0.5,
        non_crossing=False,
        solver="newton",
        fit_intercept=True,
        alpha=None,
        landmarks: Any = "uniform",
        rank=None,
        eigenvalue_threshold=1e-7,
        structured: bool | str = "auto",
        max_iter=None,
        tol=5e-3,
        average: int | str = "suffix",
        early_stopping=False,
        validation_fraction=0.1,
        cv=None,
        n_iter_no_change=5,
        memory="4GB",
        device="cpu",
        dtype="float32",
        memory_limit=None,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        self.feature_map = feature_map
        self.n_components = n_components
        self.C = C
        self.epsilon = epsilon
        self.kernel = kernel
        self.gamma = gamma
        self.metric = metric
        self.degree = degree
        self.coef0 = coef0
        self.loss = loss
        self.quantile = quantile
        self.non_crossing = non_crossing
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.alpha = alpha
        self.landmarks = landmarks
        self.rank = rank
        self.eigenvalue_threshold = eigenvalue_threshold
        self.structured = structured
        self.max_iter = max_iter
        self.tol = tol
        self.average = average
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.cv = cv
        self.n_iter_no_change = n_iter_no_change
        self.memory = memory
        self.device = device
        self.dtype = dtype
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    _for_classes = False
    _in_columns = False  # whether predictions have columns, as the targets or quantiles had
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

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self.loss != PINBALL
        return tags

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

    @property
    def _degree(self):
        return getattr(self._loss_of_targets(), "degree", 1)

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

    def _checked(self, X, y, sample_weight, *, reset):
        """Rows, targets (n_outputs, n_rows) in float64, and weights or None."""
        if y is None:
            checked_targets(type(self).__name__, y, X)  # which says so
        X = self._new_rows(X, self._dtype) if reset else self._known_rows(X, self._dtype)
        return X, *self._outputs(y, sample_weight, X, reset=reset)

    def _outputs(self, y, sample_weight, X, *, reset):
        targets, in_columns = checked_targets(type(self).__name__, y, X)
        targets = targets.T
        if self.loss == PINBALL:
            if len(targets) > 1:
                raise ValueError(f"loss='pinball' is for one target, but y has {len(targets)} columns.")
            targets, in_columns = np.repeat(targets, len(self._quantiles), axis=0), np.ndim(self.quantile) == 1
        if reset:
            self._in_columns = bool(in_columns)
        elif len(targets) != len(self._weights):
            raise ValueError(
                f"The model has {len(self._weights)} outputs, but the targets and parameters need {len(targets)}."
            )
        self._n_targets = len(targets)
        return targets, checked_weights(sample_weight, X)

    def _examples(self, X, y, sample_weight):
        X, targets, weights = self._checked(X, y, sample_weight, reset=True)
        self.take_scale(targets.T, weights)
        return X, targets, weights

    def _surveyed(self, survey):
        targets, weights = self._outputs(survey.y, survey.sample_weight, survey.y[:, None], reset=True)
        self.take_scale(targets.T, weights)
        return targets, weights

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

    def _on_own_scale(self, targets, weights):
        """Targets (n_outputs, n_rows) for choices from some rows, before there is a scale for all."""
        return np.ascontiguousarray(robust_scale_of(targets.T, weights).standardized(targets.T).T, np.float32)

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

    def _unsorted(self, X):
        return self._output(X)

    # --- learning and predictions ---------------------------------------------------------------------------

    def partial_fit(self, X, y, sample_weight=None):
        """Learn from a batch of rows, in the given order, once.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self
        """
        with unchanged_on_error(self) as attempt:
            self._check_params()
            first = not hasattr(self, "_weights")
            X, targets, weights = self._checked(X, y, sample_weight, reset=first)
            self._learn_next(attempt, X, targets, weights, first=first)
        return self

    @shared
    def predict(self, X, *, device=None):
        """Predicted values of the rows of ``X``: one column for each target or quantile, where they are several.

        They are computed on a device if one is given.
        """
        check_is_fitted(self)
        values = self._output(X, None if device is None else arrays_on(device))
        return self._predictions(values)
