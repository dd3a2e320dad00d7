"""What the Dask estimators share: the client, partitions, stopping on validation rows, predictions by partition."""

import numbers
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from inspect import Parameter, Signature, signature
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_outlier_detector, is_regressor
from sklearn.utils import check_random_state, get_tags

from frugalsvm.dask._cluster import Cluster, SchedulerLostError, client_for
from frugalsvm.dask._collections import Source, sources_of
from frugalsvm.dask._predicting import LazyPredictions
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
from frugalsvm.estimators.automatic import chooses
from frugalsvm.estimators.calibrated import is_calibrated, n_held_out
from frugalsvm.estimators.constraints import check_choice, check_count
from frugalsvm.estimators.fit_warnings import warn_if_poor
from frugalsvm.estimators.labels import refuse_no_target
from frugalsvm.estimators.learner import begin
from frugalsvm.estimators.seen_rows import for_known_rows, most_rows
from frugalsvm.exceptions import ParameterError

_KEPT_SHARE = 0.3  # of the cluster's memory, for rows that are kept between rounds
# Parameters of ordinary estimators about threads, devices and streams, which a cluster has nothing for
_ON_ONE_MACHINE = (
    "copy_X",
    "device",
    "early_stopping",
    "half_life",
    "memory_limit",
    "n_jobs",
    "new_classes",
    "shuffle",
    "verbose",
    "warm_start",
)


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


def _constructor(local: type, without: Iterable[str], own: dict[str, Any]) -> Callable:
    """A constructor with the parameters of an ordinary estimator, in their order, and some more."""
    apart = {*_ON_ONE_MACHINE, *without, *own}
    shared = [each for name, each in signature(local.__init__).parameters.items() if name not in apart]  # type: ignore
    more = [Parameter(name, Parameter.KEYWORD_ONLY, default=value) for name, value in own.items()]
    known = Signature([*shared, *more])

    def __init__(self, *values, **named):
        arguments = known.bind(self, *values, **named)
        arguments.apply_defaults()
        for name, value in list(arguments.arguments.items())[1:]:
            setattr(self, name, value)

    __init__.__signature__ = known  # type: ignore[attr-defined]
    return __init__


class DaskEstimator(LazyPredictions):
    """Base of estimators that are trained on a Dask cluster.

    Subclasses are made as ``class DaskX(..., local=X, without=[...], name=default)``: they have the parameters and
    defaults of the ordinary estimator X, without some, and with some of their own and ``client``. They define
    ``_n_sample`` (how many rows they want to see beforehand) and ``_rounds``, which makes the ordinary estimator a
    trained one.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        Weights of the classes; "balanced" counts the labels of all partitions.
    validation_fraction : float
        Share of rows for the validation set, at most 10 000. With 0 only ``tol`` and ``max_iter`` end the training.
    calibrate : {"platt", "isotonic"} or None
        How to calibrate `predict_proba`, see :ref:`calibration`. The validation rows serve for it: a fifth of all rows,
        up to 4096, or ``validation_fraction`` if that is more.
    persist : {"auto", True, False}
        Whether prepared partitions stay in the memory of the workers between rounds; otherwise they are computed, or
        read, in each of them. "auto" keeps them if they take less than 30 % of the memory of all workers.
    metric : {"diag", "full", "auto"}, array or None
        As in the ordinary estimator; the client learns it from a sample of all rows but those for validation, before
        the first round. See :ref:`metric`.
    client : distributed.Client
        None takes that of the context.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_iter_ : int
        Number of rounds.
    history_ : list of dict
        What was measured after each round.
    last_model_ : estimator or None
        The ordinary estimator after the last round that was finished, also if training failed later.
    """

    class_weight: Any = None
    calibrate: Any = None
    client: Any
    random_state: Any
    validation_fraction: float
    n_iter_no_change: int
    persist: Any
    classes_: np.ndarray
    history_: list[dict[str, Any]]
    last_model_: Any
    _ordinary: type
    _n_sample: Any
    _rounds: Any

    def __init_subclass__(cls, local: type | None = None, without: Iterable[str] = (), **own: Any):
        super().__init_subclass__()
        if local is not None:
            cls._ordinary = local
            cls.__init__ = _constructor(local, without, {**own, "client": None})  # type: ignore[method-assign]

    def __init__(self, *values: Any, **named: Any):
        raise NotImplementedError

    def __getstate__(self):
        state = dict(super().__getstate__())
        state["client"] = None  # a connection stays where it is
        return state

    def __sklearn_clone__(self):
        """A copy of the parameters that has the same client: a connection cannot be copied."""
        others = {name: clone(value, safe=False) for name, value in self.get_params(False).items() if name != "client"}
        return type(self)(**others, client=self.client)

    def new_local(self) -> Any:
        """The ordinary estimator for the parameters, which has learned nothing."""
        names = set(signature(self._ordinary).parameters) - {"validation_fraction"}  # which may be 0 here
        return self._ordinary(**{name: value for name, value in self.get_params(False).items() if name in names})

    _predictor = new_local

    @property
    def quality_name(self) -> str | None:
        """What validation rows tell, in ``history_``."""
        return {"classifier": "accuracy", "regressor": "score"}.get(str(get_tags(self).estimator_type))

    # --- training -------------------------------------------------------------------------------------------

    def fit(self, X, y=None, sample_weight=None, *, callback=None):
        """Learn from all partitions, in rounds.

        Parameters
        ----------
        X : Dask array, Dask data frame, or list of delayed objects or futures
            The rows. A partition is an array, a CSR matrix or a data frame; partitions may be empty.
        y : the same, with as many partitions
            Not used by outlier detectors.
        sample_weight : the same, default=None
            Weights of the examples; rows of weight 0 are ignored.
        callback : callable, default=None
            Called after every round with what is also appended to ``history_``.

        Returns
        -------
        self
        """
        local = self.new_local()
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
        if is_classifier(self):
            warn_if_poor(local, validation.X, validation.labels, validation.weights)
            self.classes_ = local.classes_

    def _check_own_params(self) -> None:
        share = self.validation_fraction
        if not (isinstance(share, numbers.Real) and 0 <= float(share) < 1):
            raise ParameterError("validation_fraction", share, "0 or more, and below 1")
        check_count("n_iter_no_change", self.n_iter_no_change)
        check_choice("persist", self.persist, ("auto", True, False))
        self._check_class_weight()
        if is_calibrated(self) and not share:
            raise ValueError(
                f"calibrate={self.calibrate!r} needs validation rows: validation_fraction must be above 0."
            )

    def _check_class_weight(self) -> None:
        if self.class_weight is not None and not isinstance(self.class_weight, dict):
            check_choice("class_weight", self.class_weight, ("balanced",))

    def _partitions(self, X, y, sample_weight) -> list[Source]:
        if is_outlier_detector(self):
            return sources_of(X, None, sample_weight)
        refuse_no_target(type(self).__name__, y)
        return sources_of(X, y, sample_weight, in_columns=is_regressor(self))

    def _begin(self, cluster: Cluster, local: Any, X, y, sample_weight, callback) -> Training:
        """Look at all partitions, prepare them, and draw a sample."""
        sources = self._partitions(X, y, sample_weight)
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
        usual = min(VALIDATION_ROWS, int(self.validation_fraction * n_rows))
        return max(usual, n_held_out(n_rows)) if is_calibrated(self) else usual

    def _start(self, local: Any, overview: Overview, first: Rows | None) -> None:
        """Tell the ordinary estimator what a look at all data found; it learns its metric from the first rows."""
        if is_regressor(self):
            local.expect(overview.target_shape)
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
