"""Intervals of `LocalSVR`: its leave-one-out errors, relative to how large errors are around a row.

A second machine, of small cells, learns the logarithms of the leave-one-out errors of some rows. It sees the features
and, beside them, the predictions: noise often grows with the target. Its own leave-one-out values are what errors are
divided by, so that a row is compared with new ones on equal terms.
"""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from frugalsvm._locks import shared
from frugalsvm.arrays.namespace import on_host
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
from frugalsvm.estimators.targets import TargetScale
from frugalsvm.estimators.validation import parsed_bytes
from frugalsvm.persist.values import array, object_of, or_none

__all__ = ["INTERVALS", "LeftOutIntervals", "intervals_are_sound"]

_MOST_ROWS, _LEAST_ROWS = 2**15, 100  # that the second machine learns; with fewer, all intervals are equally wide
_CELL_SIZE, _N_TREES = 256, 2
_SHARE, _FEWEST_ERRORS = 20, 100  # of a budget: errors that are kept
_C = 1.0  # logarithms of errors are mostly noise

INTERVALS = {
    "_errors_left_out": or_none(array("f", 2)),
    "_spread": or_none(object_of("LocalSVR")),
    "_prediction_scale": or_none(array("f", 2)),
}


def intervals_are_sound(model: Any) -> bool:
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


def most_errors(budget: str | None, n_rows: int, n_outputs: int) -> int:
    """How many errors of each output are kept: of a budget, they take a small part, if they are enough then."""
    most = min(n_rows, MOST_ERRORS)
    if budget is None:
        return most
    return min(most, max(_FEWEST_ERRORS, parsed_bytes("budget", budget) // (_SHARE * 8 * n_outputs)))


class LeftOutIntervals:
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
        most = most_errors(self.budget, len(sizes), sizes.shape[1])
        self._errors_left_out = np.array([some_errors(each, weights, most) for each in sizes.T])

    def _bytes_beside(self: Any, n_rows: int, n_outputs: int) -> int:
        """Bytes of the errors that are kept, at most."""
        return 0 if self.intervals is None else 8 * n_outputs * most_errors(self.budget, n_rows, n_outputs)

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
