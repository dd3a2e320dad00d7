"""What the Dask estimators share: the client, partitions, stopping on validation rows, predictions by partition."""

import numbers
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import dask.array as da
import numpy as np
from dask import delayed
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_outlier_detector, is_regressor
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from frugalsvm.dask._cluster import Cluster, SchedulerLostError, client_for
from frugalsvm.dask._collections import as_array, sources_of
from frugalsvm.dask._predicting import Counting, Judging, Predicting, quality_of, share_of_right
from frugalsvm.dask._preparing import (
    VALIDATION_ROWS,
    Overview,
    Plan,
    Rows,
    class_weights_of,
    examined,
    overview_of,
    prepared,
    raw_sample,
    sampled,
    shares,
    stacked,
)
from frugalsvm.estimators._auto import chooses
from frugalsvm.estimators._calibrated import is_calibrated, n_held_out
from frugalsvm.estimators._metric import most_rows
from frugalsvm.estimators._origin import for_known_rows
from frugalsvm.estimators._validation import check_choice, check_count
from frugalsvm.estimators._warnings import warn_if_poor
from frugalsvm.estimators.learner import begin
from frugalsvm.exceptions import ParameterError

__all__ = ["DaskClassifier", "DaskEstimator", "DaskRegressor", "Training", "Watch"]

_KEPT_SHARE = 0.3  # of the cluster's memory, for rows that are kept between rounds


@dataclass
class Training:
    """All that a training has at hand when rounds begin."""

    cluster: Cluster
    overview: Overview
    rows: list[Any]  # partitions, as futures where they are kept and as delayed objects where they are not
    drawn: Callable[[], list[tuple[Rows, Rows]]]  # rows that come to the client, from each partition: waits for them
    n_train: np.ndarray  # rows of each partition that are not for validation
    rng: np.random.Generator
    tell: Callable[..., None]  # the end of a round

    @cached_property
    def _drawn(self) -> tuple[Rows, Rows, np.ndarray]:
        drawn = self.drawn()
        validation, sample = (stacked(list(parts)) for parts in zip(*drawn, strict=True))
        # In their partitions, they come after the validation rows.
        places = np.concatenate([held.n_rows + np.arange(rows.n_rows) for held, rows in drawn])
        order = self.rng.permutation(sample.n_rows)
        return validation, Rows(-1, *sample.part(order), 0), places[order]

    @property
    def validation(self) -> Rows:
        return self._drawn[0]

    @property
    def sample(self) -> Rows:
        """Other rows, in random order."""
        return self._drawn[1]

    @property
    def sample_places(self) -> np.ndarray:
        """Where the rows of the sample are in their partitions."""
        return self._drawn[2]

    @property
    def is_sparse(self) -> bool:
        """Whether rows are CSR matrices."""
        return not isinstance(self.sample.X, np.ndarray)


class Watch:
    """Keeps the model that did best on the validation rows, and tells when it is time to stop."""

    def __init__(self, patience: int, least_gain: float):
        self._patience, self._least_gain = patience, least_gain
        self._without_gain, self._mark = 0, -np.inf
        self.best, self.value = -np.inf, None

    def __call__(self, score: float, value: Any) -> bool:
        if score > self.best:
            self.best, self.value = score, value
        if score > self._mark + self._least_gain:
            self._mark, self._without_gain = score, 0
        else:
            self._without_gain += 1
        return self._without_gain >= self._patience


class DaskEstimator(BaseEstimator):
    """Base of estimators that are trained on a Dask cluster.

    Subclasses define ``_new_local`` (the ordinary estimator for the parameters), ``_n_sample`` (how many rows they want
    to see beforehand) and ``_rounds``, which makes the ordinary estimator a trained one.
    """

    quality_name: str | None  # what validation rows tell, in ``history_``
    class_weight: Any = None
    client: Any
    random_state: Any
    validation_fraction: float
    n_iter_no_change: int
    persist: Any
    history_: list[dict[str, Any]]
    last_model_: Any
    _local: Any

    def __getstate__(self):
        state = dict(super().__getstate__())
        state["client"] = None  # a connection stays where it is
        return state

    def __sklearn_clone__(self):
        """A copy of the parameters that has the same client: a connection cannot be copied."""
        others = {name: clone(value, safe=False) for name, value in self.get_params(False).items() if name != "client"}
        return type(self)(**others, client=self.client)

    def _new_local(self) -> Any:
        raise NotImplementedError

    def _n_sample(self, local: Any, overview: Overview) -> int:
        raise NotImplementedError

    def _rounds(self, local: Any, training: Training) -> None:
        raise NotImplementedError

    # --- training -------------------------------------------------------------------------------------------

    def fit(self, X, y, sample_weight=None, *, callback=None):
        """Learn from all partitions, in rounds.

        Parameters
        ----------
        X : Dask array, Dask data frame, or list of delayed objects or futures
            The rows. A partition is an array, a CSR matrix or a data frame; partitions may be empty.
        y : the same, with as many partitions
        sample_weight : the same, default=None
            Weights of the examples; rows of weight 0 are ignored.
        callback : callable, default=None
            Called after every round with what is also appended to ``history_``.

        Returns
        -------
        self
        """
        local = self._new_local()
        local.check_parameters()
        self._check_own_params()
        self.last_model_, self.history_ = None, []
        try:
            training = self._begin(Cluster(client_for(self.client)), local, X, y, sample_weight, callback)
            self._rounds(local, training)
        except SchedulerLostError as error:
            error.model = self.last_model_
            raise
        self._look_back(local, training.validation)
        self._local = local
        self.n_features_in_, self.n_iter_ = local.n_features_in_, len(self.history_)
        self.last_model_ = local
        return self

    def _look_back(self, local: Any, validation: Rows) -> None:
        """What there is to take, and to say, after training."""
        local.n_iter_ = len(self.history_)

    def _check_own_params(self) -> None:
        share = self.validation_fraction
        if not (isinstance(share, numbers.Real) and 0 <= float(share) < 1):
            raise ParameterError("validation_fraction", share, "0 or more, and below 1")
        check_count("n_iter_no_change", self.n_iter_no_change)
        check_choice("persist", self.persist, ("auto", True, False))

    def _begin(self, cluster: Cluster, local: Any, X, y, sample_weight, callback) -> Training:
        """Look at all partitions, prepare them, and draw a sample."""
        sources = sources_of(X, y, sample_weight, in_columns=is_regressor(self))
        if y is None and not is_outlier_detector(self):
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        overview = overview_of(cluster.each(examined, sources, local))
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        n_rows = int(overview.n_rows.sum())
        n_validation = shares(overview.n_rows, self._n_validation(n_rows))
        n_train = overview.n_rows - n_validation
        seed = int(rng.integers(2**31))
        plan = Plan(overview.classes, overview.dtype, class_weights_of(overview, self.class_weight), seed)
        chosen = [(*sources[number], int(n)) for number, n in zip(overview.numbers, n_validation, strict=True)]
        first = None
        if local.metric is not None or chooses(local):
            n_first = shares(n_train, min(most_rows(overview.n_features), int(n_train.sum())))
            parts = [(*source, int(n)) for source, n in zip(chosen, n_first, strict=True)]
            first = stacked(cluster.each(raw_sample, parts, local, plan))
        self._start(local, overview, first)
        cluster.check_parts(self._parts_of(local))
        plan = plan._replace(metric=local.metric_part_, origin=local.origin_)
        keep = self.persist is True or (self.persist == "auto" and overview.n_bytes <= _KEPT_SHARE * cluster.memory())
        rows = (cluster.kept if keep else cluster.lazy)(prepared, chosen, local, plan)
        n_sample = shares(n_train, min(self._n_sample(local, overview), int(n_train.sum())))
        drawn = cluster.begun(sampled, [(part, int(n)) for part, n in zip(rows, n_sample, strict=True)])
        return Training(cluster, overview, rows, drawn, n_train, rng, self._teller(callback))

    def _n_validation(self, n_rows: int) -> int:
        """How many of all rows are for validation."""
        return min(VALIDATION_ROWS, int(self.validation_fraction * n_rows))

    def _start(self, local: Any, overview: Overview, first: Rows | None) -> None:
        """Tell the ordinary estimator what a look at all data found; it learns its metric from the first rows."""
        begin(local, overview, first)

    def _parts_of(self, local: Any) -> Iterable[Any]:
        """The parts of the model that may be somebody's own."""
        return [local.kernel_]

    def _teller(self, callback):
        def tell(model, **figures):
            self.last_model_ = model
            self.history_.append({"round": len(self.history_) + 1, **figures})
            if callback is not None:
                callback(self.history_[-1])

        return tell

    # --- what was learned -----------------------------------------------------------------------------------

    def _sent(self, function: Any) -> Any:
        """A function that has the model, as one that is delayed; it travels inside each task."""
        return delayed(function, pure=False)

    def to_local(self):
        """The ordinary estimator, which needs no Dask: to predict, to save, to continue learning.

        Returns
        -------
        estimator
        """
        check_is_fitted(self, "_local")
        return deepcopy(self._local)


def _has_probabilities(estimator: Any) -> bool:
    if not is_calibrated(estimator):
        raise AttributeError("Probabilities need calibrate='platt' or calibrate='isotonic'.")
    return True


class DaskClassifier(ClassifierMixin, DaskEstimator):
    """Base of classifiers that are trained on a Dask cluster."""

    quality_name = "accuracy"
    calibrate: Any
    classes_: np.ndarray

    def _look_back(self, local: Any, validation: Rows) -> None:
        super()._look_back(local, validation)
        warn_if_poor(local, validation.X, validation.labels, validation.weights)
        self.classes_ = local.classes_

    def _check_own_params(self) -> None:
        super()._check_own_params()
        if self.class_weight is not None and not isinstance(self.class_weight, dict):
            check_choice("class_weight", self.class_weight, ("balanced",))
        if is_calibrated(self) and not self.validation_fraction:
            raise ValueError(
                f"calibrate={self.calibrate!r} needs validation rows: validation_fraction must be above 0."
            )

    def _n_validation(self, n_rows):
        usual = super()._n_validation(n_rows)
        return max(usual, n_held_out(n_rows)) if is_calibrated(self) else usual

    def predict(self, X):
        """Predicted class of each row.

        Parameters
        ----------
        X : Dask array, Dask data frame, or list of delayed objects or futures

        Returns
        -------
        Dask array
            Not computed yet; a chunk for each partition.
        """
        check_is_fitted(self, "_local")
        return as_array(self._sent(Predicting(self._local, "predict")), X, None, self.classes_.dtype)

    def decision_function(self, X):
        """Decision values of each row, one or as many as there are classes.

        Parameters
        ----------
        X : Dask array, Dask data frame, or list of delayed objects or futures

        Returns
        -------
        Dask array
            Not computed yet; a chunk for each partition.
        """
        check_is_fitted(self, "_local")
        n_columns = None if len(self.classes_) == 2 else len(self.classes_)
        return as_array(self._sent(Predicting(self._local, "decision_function")), X, n_columns, np.dtype(np.float64))

    @available_if(_has_probabilities)
    def predict_proba(self, X):
        """Probabilities of the classes, if ``calibrate`` is set; the highest is that of the predicted class.

        Parameters
        ----------
        X : Dask array, Dask data frame, or list of delayed objects or futures

        Returns
        -------
        Dask array of shape (n_samples, n_classes)
            Not computed yet; a chunk for each partition, and columns in the order of ``classes_``.
        """
        check_is_fitted(self, "_local")
        return as_array(
            self._sent(Predicting(self._local, "predict_proba")), X, len(self.classes_), np.dtype(np.float64)
        )

    def score(self, X, y, sample_weight=None):
        """Accuracy, weighted by ``sample_weight``.

        Parameters
        ----------
        X, y, sample_weight : Dask arrays, Dask data frames, or lists of delayed objects or futures

        Returns
        -------
        Dask array of no dimensions
            Not computed yet: ``float()`` does that, and so does every comparison.
        """
        check_is_fitted(self, "_local")
        count = self._sent(Counting(self._local))
        counts = [count(*source) for source in sources_of(X, y, sample_weight)]
        return da.from_delayed(delayed(share_of_right, pure=False)(counts), shape=(), dtype=np.float64)


class DaskRegressor(RegressorMixin, DaskEstimator):
    """Base of regressors that are trained on a Dask cluster."""

    quality_name = "score"

    def _start(self, local: Any, overview: Overview, first: Rows | None) -> None:
        local.expect(overview.target_shape)
        super()._start(local, overview, first)

    def predict(self, X):
        """Predicted values of each row, in columns where targets or quantiles are several.

        Parameters
        ----------
        X : Dask array, Dask data frame, or list of delayed objects or futures

        Returns
        -------
        Dask array
            Not computed yet; a chunk for each partition.
        """
        check_is_fitted(self, "_local")
        tail = Predicting(self._local, "predict").of_no_rows().shape[1:]
        return as_array(
            self._sent(Predicting(self._local, "predict")), X, tail[0] if tail else None, np.dtype(np.float64)
        )

    def score(self, X, y, sample_weight=None):
        """R^2, or with quantiles D^2, as that of `ASSETRegressor`; predictions of all rows are collected for it.

        Parameters
        ----------
        X, y, sample_weight : Dask arrays, Dask data frames, or lists of delayed objects or futures

        Returns
        -------
        Dask array of no dimensions
            Not computed yet: ``float()`` does that, and so does every comparison.
        """
        check_is_fitted(self, "_local")
        judge = self._sent(Judging(self._local))
        judged = [judge(*source) for source in sources_of(X, y, sample_weight, in_columns=True)]
        return da.from_delayed(self._sent(partial(quality_of, self._local))(judged), shape=(), dtype=np.float64)


def validation_accuracy(local: Any, validation: Rows) -> float:
    """Accuracy on the validation rows; NaN where there are none."""
    if not validation.n_rows:
        return float("nan")
    right = for_known_rows(local).predict(validation.X) == local.classes_[validation.labels]
    return float(np.average(right, weights=validation.weights))


def calibrate_on_validation(local: Any, validation: Rows) -> None:
    """Calibrate a model that has not learned the validation rows with its decision values for them."""
    values = for_known_rows(local).decision_function(validation.X)
    local.calibrate_on(values.reshape(validation.n_rows, -1), validation.labels, validation.weights)
