"""Least-squares support vector machines in cells, as a scikit-learn regressor."""

import numpy as np
from sklearn.base import RegressorMixin

from frugalsvm._locks import shared
from frugalsvm.arrays.namespace import arrays_on, on_host
from frugalsvm.estimators._local_intervals import INTERVALS, LeftOutIntervals, intervals_are_sound
from frugalsvm.estimators._local_saved import LOCAL, scale_is_bounded
from frugalsvm.estimators.constraints import one_of, or_auto, positive
from frugalsvm.estimators.local_machine import LocalMachine
from frugalsvm.estimators.parameters import estimator, parameter
from frugalsvm.estimators.targets import checked_targets, checked_weights, scale_of
from frugalsvm.lowrank.losses import Squared
from frugalsvm.lowrank.targets import explained
from frugalsvm.persist.values import IS_BOOL, part

__all__ = ["LocalSVR"]


def _is_sound(model):
    n_outputs, scale = model._cells[0].intercepts.shape[1], model._target_scale
    right = len(scale.center) == n_outputs and (n_outputs == 1 or model._in_columns)
    right = right and scale_is_bounded(scale, model._rows.dtype) and LOCAL.is_sound(model)
    return right and intervals_are_sound(model)


@estimator
class LocalSVR(LeftOutIntervals, RegressorMixin, LocalMachine):
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

    C: float | str = parameter(default="auto", check=or_auto(positive), kw_only=False)
    intervals: str | None = parameter(default="local", check=one_of(("local", "constant", None)))

    _in_columns = False
    _saved = LOCAL._replace(
        required={**LOCAL.required, "_target_scale": part("target-scale"), "_in_columns": IS_BOOL},
        optional={**LOCAL.optional, **INTERVALS},
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
        errors = (targets.T - scores) * self._target_scale.spread
        self.loo_scores_ = self._in_units(scores)
        self.loo_error_ = float(np.sqrt(np.average(np.square(errors).mean(axis=1), weights=weights)))

    def _retake_left_out(self, left_out):
        order = self._order_of_ids()
        weights = None if self._row_weights is None else self._row_weights[order]
        self.take_left_out(left_out.scores, self._row_targets[order].T, weights)

    def _look_back_again(self):
        order = self._order_of_ids()
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        weights = None if self._row_weights is None else self._row_weights[order]
        self._look_back(self._rows, rank, self._row_targets[order].T, weights)

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
