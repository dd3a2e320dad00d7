"""Least-squares support vector machines in cells, as a scikit-learn regressor with intervals.

Intervals are leave-one-out errors, relative to how large errors are around a row. A second machine, of small cells,
learns the logarithms of the leave-one-out errors of some rows. It sees the features and, beside them, the predictions:
noise often grows with the target. Its own leave-one-out values are what errors are divided by, so that a row is
compared with new ones on equal terms.
"""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from frugalsvm._locks import shared
from frugalsvm.arrays.namespace import arrays_on, on_host
from frugalsvm.calibration.intervals import (
    MOST_ERRORS,
    beside,
    error_quantiles,
    relative_factors,
    relative_logarithms,
    scale_beside,
    some_errors,
)
from frugalsvm.core.capabilities import offers
from frugalsvm.core.kernels import KERNELS
from frugalsvm.estimators._local_saved import LOCAL, scale_is_bounded
from frugalsvm.estimators.constraints import is_auto, one_of, parsed_bytes
from frugalsvm.estimators.fit_warnings import warn_if_mean_is_as_good
from frugalsvm.estimators.local_machine import LocalMachine
from frugalsvm.estimators.parameters import estimator, parameter
from frugalsvm.estimators.targets import TargetScale, checked_targets, checked_weights, scale_of
from frugalsvm.lowrank.losses import Squared
from frugalsvm.lowrank.targets import explained
from frugalsvm.persist.values import IS_BOOL, array, object_of, or_none, part

_MOST_ROWS, _LEAST_ROWS = 2**15, 100  # that the second machine learns; with fewer, all intervals are equally wide
_CELL_SIZE, _N_TREES = 256, 2
_SHARE, _FEWEST_ERRORS = 20, 100  # of a budget: errors that are kept
_C = 1.0  # logarithms of errors are mostly noise

_INTERVALS = {
    "_errors_left_out": or_none(array("f", 2)),
    "_spread": or_none(object_of("LocalSVR")),
    "_prediction_scale": or_none(array("f", 2)),
}


def _intervals_are_sound(model: Any) -> bool:
    """Whether what intervals are made of fits to the model."""
    errors, spread, n_outputs = model._errors_left_out, model._spread, len(model._target_scale.center)
    if errors is None or spread is None:
        return spread is None and (errors is None or _are_errors(errors, n_outputs))
    scale = model._prediction_scale
    is_scale = scale is not None and scale.shape == (2, n_outputs)
    fits = spread.n_features_in_ == model._width + n_outputs and len(spread._target_scale.center) == n_outputs
    return is_scale and fits and _are_errors(errors, n_outputs)


def _are_errors(errors, n_outputs) -> bool:
    return len(errors) == n_outputs and errors.size > 0 and bool((np.diff(errors, prepend=0.0) >= 0).all())


def _most_errors(budget: str | None, n_rows: int, n_outputs: int) -> int:
    """How many errors of each output are kept: of a budget, they take a small part, if they are enough then."""
    most = min(n_rows, MOST_ERRORS)
    if budget is None:
        return most
    return min(most, max(_FEWEST_ERRORS, parsed_bytes("budget", budget) // (_SHARE * 8 * n_outputs)))


class _LeftOutIntervals:
    """For regressors in cells with a parameter ``intervals``."""

    _target_scale: TargetScale
    _errors_left_out: np.ndarray | None = None  # (n_outputs, n) in increasing order, relative to the spread
    _spread: Any = None  # a regressor of the logarithms of errors
    _prediction_scale: np.ndarray | None = None  # (2, n_outputs): predictions minus the one, times the other

    def _learn_intervals(self: Any, rows_at, predictions, errors, weights) -> None:
        """Keep what intervals need, from leave-one-out predictions and their errors, both (n, n_outputs).

        ``rows_at`` gives rows, as the kernel sees them, of some indices.
        """
        self._errors_left_out = self._spread = self._prediction_scale = None
        if self.intervals is None:
            return
        random_state = check_random_state(self.random_state)
        some = _some_rows(len(errors), weights, random_state)
        weights, sizes = None if weights is None else weights[some], np.abs(errors[some])
        # A budget has no room for a second machine.
        if self.intervals == "local" and self.budget is None and len(some) >= _LEAST_ROWS:
            self._fit_spread(np.asarray(on_host(rows_at(some))), predictions[some], sizes, weights, random_state)
            sizes = sizes / relative_factors(self._spread.loo_scores_)
            del self._spread.loo_scores_
        most = _most_errors(self.budget, len(sizes), sizes.shape[1])
        self._errors_left_out = np.array([some_errors(each, weights, most) for each in sizes.T])

    def _bytes_beside(self: Any, n_rows: int, n_outputs: int) -> int:
        """Bytes of the errors that are kept, at most."""
        return 0 if self.intervals is None else 8 * n_outputs * _most_errors(self.budget, n_rows, n_outputs)

    def _fit_spread(self: Any, rows, predictions, sizes, weights, random_state):
        logarithms = relative_logarithms(sizes, weights)
        self._prediction_scale = scale = scale_beside(rows, predictions)
        kernel = self.kernel if offers(KERNELS[self.kernel], "shift_invariant") else "matern12"
        self._spread = type(self)(
            _C, kernel=kernel, cell_size=_CELL_SIZE, n_trees=_N_TREES, intervals=None, memory=self.memory,
            dtype=self.dtype, n_jobs=self.n_jobs, random_state=int(random_state.randint(np.iinfo(np.int32).max)),
        ).fit(beside(rows, predictions, scale), logarithms, weights)  # fmt: skip

    @property
    def model_bytes_(self: Any):
        """Bytes that prediction needs: rows, trees, coefficients, and what intervals are made of."""
        errors = 0 if self._errors_left_out is None else self._errors_left_out.nbytes
        return super().model_bytes_ + errors + (0 if self._spread is None else self._spread.model_bytes_)  # type: ignore[misc]

    @shared
    def predict_interval(self: Any, X, coverage=0.9):
        """Intervals around the predictions of the rows of ``X``, for numbers that come as those of `fit` came.

        They reach from the prediction as far as a quantile of the leave-one-out errors of the training rows, which
        count by their weights. With ``intervals="local"``, these are errors relative to how large errors are around a
        row, and intervals are narrow where they are small.

        These are intervals of the jackknife. They do not have the guarantee of the jackknife+, which misses at most
        twice the share that it may, whatever the data: the prediction stays as it is when a row of the same cell is
        left out, and so do trees, gamma, C and widths. Where single rows matter little, both miss about the share that
        they may. It holds for new rows that come as those of `fit` came, and in the mean over all of them: where errors
        are large, intervals hold less often than where they are small, "local" ones less so. A metric that was learned
        from the same rows may make errors look smaller than they are. For streams and whatever changes, see
        :doc:`/howto/conformal`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        coverage : float, default=0.9
            The share of intervals that shall have the true number, between 0 and 1.

        Returns
        -------
        ndarray of shape (n_samples, 2) or, for several targets, (n_samples, n_outputs, 2)
            Lower and upper ends.

        References
        ----------
        R. F. Barber, E. J. Candes, A. Ramdas, R. J. Tibshirani (2021). Predictive inference with the jackknife+. Annals
        of Statistics 49.
        """
        check_is_fitted(self)
        if self._errors_left_out is None:
            raise ValueError(
                f"This {type(self).__name__} has learned with intervals=None, and keeps no errors on rows left out: "
                "fit it with intervals='local' or 'constant'."
            )
        predictions = self._in_units(self.scores_of(X))
        widths = np.broadcast_to(error_quantiles(self._errors_left_out, coverage), predictions.shape)
        if self._spread is not None:
            rows = self._known_rows(on_host(X), self._dtype)
            widths = widths * relative_factors(self._spread.predict(beside(rows, predictions, self._prediction_scale)))
        found = np.stack([predictions - widths, predictions + widths], axis=-1)
        return found if self._in_columns else found[:, 0]


def _some_rows(n_rows, weights, random_state):
    """Indices of rows that have a weight: all, or a random sample."""
    known = np.arange(n_rows) if weights is None else np.flatnonzero(weights)
    if len(known) <= _MOST_ROWS:
        return known
    return np.sort(random_state.choice(known, _MOST_ROWS, replace=False))


def _is_sound(model):
    n_outputs, scale = model._cells[0].intercepts.shape[1], model._target_scale
    targets = getattr(model, "_row_targets", None)
    if targets is not None and (targets.dtype.kind != "f" or targets.shape[1] != n_outputs):
        return False
    right = model.loo_error_ >= 0 and len(scale.center) == n_outputs and (n_outputs == 1 or model._in_columns)
    right = right and scale_is_bounded(scale, model._rows.dtype) and LOCAL.is_sound(model)
    return right and _intervals_are_sound(model)


@estimator
class LocalSVR(_LeftOutIntervals, RegressorMixin, LocalMachine):
    """Kernel regression in the cells of a balanced tree: for tables of up to tens of millions of rows.

    A tree divides the rows into cells of one or two thousand, and each cell has a least-squares SVM of all its rows.
    The time is proportional to the number of rows, and cells are solved side by side on all cores. Leave-one-out
    predictions come with it, exactly: gamma and C are chosen by them.

    Parameters
    ----------
    C : float or "auto", default="auto"
        Large values fit the rows more closely; it does not depend on the unit of the target. "auto" is chosen by
        leave-one-out errors on some cells.
    intervals : {"local", "constant"} or None, default="local"
        Widths of `predict_interval`: narrow where errors are small, for which a small second machine is learned, or the
        same for all rows, as they are with a budget. None keeps nothing for it.

    Attributes
    ----------
    loo_scores_ : ndarray of shape (n_samples, n_outputs)
        Predictions of every row by the machines that have not learned it; the trees stay as they are.
    loo_error_ : float
        Their root mean squared error, by weight, over all outputs: an estimate of the error on new rows. That gamma and
        C are chosen by such errors makes it hardly smaller; a metric that is learned from the same rows may.
    C_, cell_size_, n_cells_, model_bytes_, metric_, n_features_in_
    row_ids_, structure_rows_, forgotten_

    References
    ----------
    M. Meister, I. Steinwart (2016). Optimal learning rates for localized SVMs. Journal of Machine Learning Research 17.

    Examples
    --------
    >>> import numpy as np
    >>> from frugalsvm import LocalSVR
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(5000, 2))
    >>> y = np.sin(X[:, 0]) * X[:, 1]
    >>> model = LocalSVR(kernel="rbf", cell_size=500, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.99
    True
    >>> model.predict_interval(X[:3], coverage=0.9).shape
    (3, 2)
    """

    intervals: str | None = parameter(default="local", check=one_of(("local", "constant", None)))

    _in_columns = False
    _saved = LOCAL._replace(
        required={**LOCAL.required, "_target_scale": part("target-scale"), "_in_columns": IS_BOOL},
        optional={**LOCAL.optional, **_INTERVALS},
        is_sound=_is_sound,
    )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _examples_of(self, X, y, sample_weight, *, first):
        if y is None:
            checked_targets(type(self).__name__, y, X)  # which says so
        X = self._new_rows(X, None)
        return X, *self._scaled(y, sample_weight, X)

    def targets_of(self, y, sample_weight):
        return self._scaled(y, sample_weight, y[:, None])

    def known_targets(self, y):
        return np.ascontiguousarray(self._target_scale.standardized(y.reshape(len(y), -1)).T)

    def _scaled(self, y, sample_weight, X):
        """Standardized targets, and weights, of all rows."""
        targets, self._in_columns = checked_targets(type(self).__name__, y, X)
        weights = checked_weights(on_host(sample_weight), X)
        self._target_scale = scale_of(targets, weights, None)
        return np.ascontiguousarray(self._target_scale.standardized(targets).T), weights

    def _kept_targets(self, targets):
        return np.ascontiguousarray(targets.T, self._dtype)

    def _targets_kept(self, kept):
        return kept.T

    def _as_given(self, kept):
        return self._in_units(kept.astype(np.float64))

    def _own_targets(self, y, rows):
        targets, _ = checked_targets(type(self).__name__, y, rows)
        self._check_outputs(targets)
        return self._kept_targets(self.known_targets(targets))

    def _units_of_outputs(self):
        return self._target_scale.spread

    def partial_fit(self, X, y, sample_weight=None):
        """Add rows: each joins its cell in every tree, which is solved again; a cell that is too large is divided.

        The first call is a `fit`, which chooses the metric, gamma and C: its rows should be like those to come. Later
        calls keep them, and the scale of the targets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None
            Rows of weight 0 are ignored, but have ids.

        Returns
        -------
        self
        """
        if not hasattr(self, "_rows"):
            return self.fit(X, y, sample_weight)
        self._add(X, y, sample_weight)
        return self

    def _check_outputs(self, targets):
        if targets.shape[1] != len(self._target_scale.center):
            raise ValueError(
                f"y has {targets.shape[1]} targets for each row, but the model has {len(self._target_scale.center)}."
            )

    def _more_examples(self, X, y, sample_weight):
        if y is None:
            checked_targets(type(self).__name__, y, X)  # which says so
        X = self._known_rows(X, self._dtype)
        targets, _ = checked_targets(type(self).__name__, y, X)
        self._check_outputs(targets)
        return X, self.known_targets(targets), checked_weights(on_host(sample_weight), X)

    def take_left_out(self, scores, targets, weights):
        self._keep_left_out(scores, targets, weights)
        if is_auto(self.C):  # else it was not to be the best
            left = np.average(np.square(targets.T - scores).mean(axis=1), weights=weights)
            warn_if_mean_is_as_good(self, targets.T, float(left))

    def _keep_left_out(self, scores, targets, weights):
        errors = (targets.T - scores) * self._target_scale.spread
        self.loo_scores_ = self._in_units(scores)
        self.loo_error_ = float(np.sqrt(np.average(np.square(errors).mean(axis=1), weights=weights)))

    def _retake_left_out(self, left_out):
        self._keep_left_out(left_out.scores, *self._in_order_of_ids()[1:])

    def _look_back_again(self):
        order, targets, weights = self._in_order_of_ids()
        self._look_back(self._rows, np.argsort(order), targets, weights)

    def _in_order_of_ids(self):
        """Where rows are stored, in the order of their ids, and their targets and weights."""
        order = self._order_of_ids()
        weights = None if self._row_weights is None else self._row_weights[order]
        return order, self._row_targets[order].T, weights

    def _look_back(self, rows, numbers, targets, weights):
        places = np.arange(len(rows)) if numbers is None else np.argsort(numbers)
        numbers = places if numbers is None else numbers[places]
        predictions = self.loo_scores_[numbers]
        errors = self._in_units(targets.T[numbers]) - predictions
        weights = None if weights is None else weights[numbers]
        self._learn_intervals(lambda some: rows[places[some]], predictions, errors, weights)

    def standardized_left_out(self) -> np.ndarray:
        """``loo_scores_`` in standard deviations of the targets, from their mean."""
        return self._target_scale.standardized(self.loo_scores_)

    def _in_units(self, scores):
        return scores * self._target_scale.spread + self._target_scale.center

    def quality(self, scores, targets, weights):
        """R^2 of predictions (n_outputs, n_rows)."""
        return explained(Squared(), scores, targets, np.ones(targets.shape[1]) if weights is None else weights)

    @shared
    def predict(self, X, *, device=None):
        """Predicted values of the rows of ``X``: one column for each target, where they are several.

        They are computed on a device if one is given.
        """
        values = self._in_units(self.scores_of(X, None if device is None else arrays_on(device)))
        return values if self._in_columns else values[:, 0]
