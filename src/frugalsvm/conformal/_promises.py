"""What all conformal estimators share: scores of rows before they are learned, and the promise on them."""

from operator import attrgetter
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import _safe_indexing, check_random_state, get_tags, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted, column_or_1d

from frugalsvm._locks import ThreadSafe, exclusive, shared
from frugalsvm.conformal._models import batch_of, check_model, copied, has_learned, is_river, learns, rows_of, teach
from frugalsvm.conformal._one_score import OneScore, Prepared, bounded
from frugalsvm.core.score_reservoir import (
    Promise,
    ScoreReservoir,
    forgive,
    known_scores,
    new_reservoir,
    observe,
    p_values_among,
    threshold_of,
)
from frugalsvm.estimators.constraints import check_count, check_positive
from frugalsvm.estimators.targets import checked_weights
from frugalsvm.estimators.unchanged import prepare_to_learn
from frugalsvm.estimators.validation import numbers_with_weight
from frugalsvm.exceptions import ParameterError

_STEP, _LEAST_PATIENCE = 0.005, 2.0  # of levels, as in the paper; misses
_HELD_OUT = 4  # `fit` holds out one row in four


def wraps_river(model: Any) -> bool:
    """For methods of single rows."""
    return is_river(model.estimator)


def checked_outputs(outputs: Any, n_rows: int) -> np.ndarray:
    """What a model has said of rows before, as users kept it."""
    outputs = np.asarray(outputs, np.float64)
    if outputs.ndim == 0 or len(outputs) != n_rows:
        raise ValueError(f"outputs has the shape {outputs.shape}, but there are {n_rows} rows.")
    return outputs


def checked_targets(y: Any) -> np.ndarray:
    """Labels or numbers as one column; the look at other types costs as much as all the rest for a row."""
    return y if y.__class__ is np.ndarray and y.ndim == 1 else column_or_1d(y, warn=True)


class _Shortcuts(ThreadSafe):
    """What is prepared for single rows: in a slot, so that neither copies nor model files have it."""

    __slots__ = ("_fast",)


class KeepsPromise(_Shortcuts):
    """Base of estimators with the parameters ``estimator``, ``window``, ``patience`` and ``random_state``.

    Subclasses define ``_rate`` (the promised share of misses), ``_outputs_of`` (what a model says of rows), ``_scored``
    (the scores of that, which the promise is about) and ``_judged_row`` (for a single row the number of a reservoir,
    and the score that it will take; None if a batch has to be made of the row). Models of river, which learn dicts one
    by one, differ from those of arrays here only.
    """

    estimator: Any
    window: int
    patience: float | None
    random_state: Any
    estimator_: Any
    _reservoirs: list[ScoreReservoir]

    _extrapolates = False
    _ways: tuple[str, str]  # the methods of models of arrays, and of river, that answer for a single row
    _answers: tuple[tuple[str, ...], tuple[str, ...]]  # of which models of arrays, and of river, need one
    _has_targets = True
    _settings_of: Any  # from an estimator to its parameters that matter here
    _rate: Any
    partial_fit: Any
    _outputs_of: Any
    _scored: Any
    _judged_row: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        kind: Any = cls
        if issubclass(kind, BaseEstimator):
            names = set(kind._get_param_names()) - {"random_state"}  # which may be an object that equals nothing
            cls._settings_of = attrgetter(*sorted(names))

    @property
    def _promise(self) -> Promise:
        patience = max(_LEAST_PATIENCE, self._rate / _STEP) if self.patience is None else self.patience
        return Promise(float(self._rate), float(patience), self._extrapolates)

    def _check_params(self) -> None:
        """Check all parameters."""
        check_model(self.estimator, *self._answers)
        name = "coverage" if hasattr(self, "coverage") else "alarm_rate"
        value = getattr(self, name)
        check_positive(name, value)
        if value >= 1:
            raise ParameterError(name, value, "a number between 0 and 1")
        check_count("window", self.window, least=10)
        if self.patience is not None:
            check_positive("patience", self.patience)

    # --- what does not change from row to row ---------------------------------------------------------------

    def _prepared(self) -> Prepared | None:
        """What single rows take, made again if a parameter or the model has changed; None before there is a model."""
        made = getattr(self, "_fast", None)
        if made is not None and made.is_of(self.__dict__, self._settings_of(self)):
            return made
        self._check_params()
        if not hasattr(self, "estimator_") or not has_learned(self.estimator_):
            return None
        self._make_writable()
        takers = [OneScore(reservoir, self._promise) for reservoir in self._reservoirs]
        labels = self.__dict__.get("_labels")
        self._fast = Prepared(self._settings_of(self), self.estimator_, self._reservoirs, labels, takers, self._ways)
        return self._fast

    def _fast_model(self) -> Prepared | None:
        """The same, if the model has a way for single rows and has begun to learn."""
        made = self._prepared()
        is_ready = made is not None and made.asks_row is not None and not getattr(made.model, "n_held_", False)
        return made if is_ready else None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        if not wraps_river(self):
            inner = get_tags(self.estimator)
            tags.input_tags = inner.input_tags
            for name in ("classifier_tags", "regressor_tags"):
                if getattr(tags, name) is not None:
                    setattr(tags, name, getattr(inner, name))
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def _new_model(self) -> Any:
        """The model that is asked and taught: the one there is, or a copy of the parameter."""
        if hasattr(self, "estimator_"):
            return self.estimator_
        model = copied(self.estimator)
        if not learns(model) and not has_learned(model):
            raise ValueError(
                f"{type(model).__name__} has no partial_fit, and has learned nothing: call fit first, or pass a fitted "
                "model in sklearn.frozen.FrozenEstimator."
            )
        return model

    def _begin(self, model: Any, n_reservoirs: int = 1) -> None:
        """Keep a model that has learned its first rows, with empty reservoirs."""
        self.estimator_ = model
        self._reservoirs = [new_reservoir(self.window) for _ in range(n_reservoirs)]

    def _fitted_on_most(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        """A model of most rows, and the rows and targets that were held out."""
        if wraps_river(self):
            raise ValueError("Models of river learn row by row: use partial_fit.")
        X, y, sample_weight = indexable(X, y, sample_weight)
        sample_weight = checked_weights(sample_weight, X)
        known = numbers_with_weight(sample_weight, _num_samples(X))
        n_rows = len(known)
        if n_rows < 2:
            raise ValueError(f"fit learns some rows and calibrates with others: {n_rows} sample is not enough.")
        order = check_random_state(self.random_state).permutation(known)
        n_held = max(1, min(self.window, n_rows // _HELD_OUT))
        held, learned = np.sort(order[:n_held]), np.sort(order[n_held:])
        weights = {} if sample_weight is None else {"sample_weight": sample_weight[learned]}
        targets = () if y is None else (y[learned],)
        model = clone(self.estimator).fit(_safe_indexing(X, learned), *targets, **weights)
        return model, _safe_indexing(X, held), None if y is None else y[held]

    # --- learning -------------------------------------------------------------------------------------------

    def _places(self, y: Any) -> np.ndarray | None:
        """The number of the reservoir of each row: None if there is one for all, -1 for labels that are new."""
        return None

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Any:
        self._check_params()
        model, X, y = self._fitted_on_most(X, y, sample_weight)
        outputs = self._outputs_of(model, X)
        self._begin(model)
        self._calibrate(self._places(y), self._scored(outputs, y))
        return self

    def _learn(self, X: Any, y: Any, sample_weight: Any, outputs: Any) -> tuple[np.ndarray | None, np.ndarray]:
        """Ask and learn; returns the outputs of rows, None where there was no model, and the thresholds for them."""
        is_known = self._prepared() is not None
        model, n_rows = self._new_model(), _num_samples(X)
        if outputs is not None:
            outputs = checked_outputs(outputs, n_rows)
        if is_river(model):
            asked = [self._outputs_of(model, [])]
            for k, x in enumerate(rows_of(X)):
                asked.append(self._outputs_of(model, [x]))
                model.learn_one(x, *(() if y is None else (y[k],)))
            outputs = np.concatenate(asked) if outputs is None else outputs
        else:
            if outputs is None and (is_known or has_learned(model)):
                outputs = self._outputs_of(model, X)
            teach(model, X, y, sample_weight=sample_weight)
        if not hasattr(self, "estimator_"):
            self._begin(model)
        if outputs is None:
            return None, np.full((n_rows, 1), np.inf)
        return outputs, self._take(None, self._scored(outputs, y))

    @exclusive
    def learn_one_row(self, x, y=None):
        """Judge a row and learn it: the same as `partial_fit`, with a few microseconds more than the model takes.

        Parameters
        ----------
        x : array-like of shape (n_features,)
        y : label or float
            The truth. A detector does not use it.

        Returns
        -------
        self

        Notes
        -----
        It is fast for a `StreamPipeline` with a budgeted estimator, which has `learn_one_row` itself, and for models of
        river. Others learn a batch of one row.
        """
        targets, made = (y,) if self._has_targets else (), self._fast_model()
        judged = None if made is None else self._judged_row(made, x, y)
        if made is None or judged is None:
            batch = [[y] if wraps_river(self) else np.asarray([y])] if targets else []
            return self.partial_fit(batch_of(self.estimator, x), *batch)
        made.teach_row(x, *targets)
        made.takers[judged[0]].take(judged[1])
        return self

    @available_if(wraps_river)
    def learn_one(self, x, y=None):
        """Judge a row, and learn it: as in river."""
        self.learn_one_row(x, y)

    @shared
    def outputs(self, X):
        """What the estimator says of rows: for `partial_fit`, if the truth comes later.

        Returns
        -------
        ndarray
            Of a classifier, how strange each label of each row would be, (n_samples, n_classes). Of a regressor, the
            prediction, twice, or both quantiles in order, (n_samples, 2). Of a detector, how strange each row is.
        """
        self._check_learned()
        return self._outputs_of(self.estimator_, X)

    # --- scores -------------------------------------------------------------------------------------------

    def _take(self, places: np.ndarray | None, scores: np.ndarray) -> np.ndarray:
        """Take scores, each into the reservoir of its place; returns the thresholds before each of them.

        The thresholds have a column for each reservoir. ``places`` is None if there is one.
        """
        if places is None and len(scores) == 1:
            made = self._prepared()
            if made is not None:
                threshold = made.takers[0].threshold
                made.takers[0].take(float(scores[0]))
                return np.array([[threshold]])
        promise, scores = self._promise, bounded(scores)
        self._make_writable()
        if places is None:
            thresholds = np.empty(len(scores))
            observe(self._reservoirs[0], promise, scores, thresholds)
            return thresholds[:, None]
        along = np.empty((len(scores), len(self._reservoirs)))
        for place, reservoir in enumerate(self._reservoirs):
            rows = np.flatnonzero(places == place)
            found = np.empty(len(rows) + 1)
            observe(reservoir, promise, scores[rows], found[:-1])
            found[-1] = reservoir.scalars[0]["threshold"]
            # A reservoir keeps its threshold until its next score.
            along[:, place] = found[np.searchsorted(rows, np.arange(len(scores)))]
        return along

    def _make_writable(self) -> None:
        if not self._reservoirs[0].ring.flags.writeable:  # it came from another process
            prepare_to_learn(self)

    def _calibrate(self, places: np.ndarray | None, scores: np.ndarray) -> None:
        """Take scores of rows that come all at once: nothing is promised for them."""
        self._take(places, scores)
        for reservoir in self._reservoirs:
            forgive(reservoir, self._promise)

    def _p_values(self, reservoir: ScoreReservoir, scores: np.ndarray) -> np.ndarray:
        """The share of scores in a reservoir that are at least as strange as each of these."""
        return p_values_among(-known_scores(reservoir)[::-1], -bounded(scores))

    def _check_learned(self) -> None:
        """Refuse to answer before the first rows; scikit-learn's own check looks at all tags."""
        if "estimator_" not in self.__dict__:
            check_is_fitted(self)

    # --- what was learned --------------------------------------------------------------------------------------

    @property
    def n_features_in_(self) -> int:
        """Number of features, where the model knows."""
        if not hasattr(self, "estimator_"):
            raise AttributeError(f"This {type(self).__name__} has learned nothing yet.")
        return self.estimator_.n_features_in_

    @property
    def thresholds_(self) -> np.ndarray:
        """Scores above are misses: a threshold, or one for each class."""
        self._check_learned()
        return np.array([threshold_of(reservoir) for reservoir in self._reservoirs])

    @property
    def _missed(self) -> float:
        """The share of misses among the rows so far."""
        self._check_learned()
        counts = [reservoir.counts[0] for reservoir in self._reservoirs]
        n_rows = sum(int(each["n_rows"]) for each in counts)
        return sum(int(each["n_misses"]) for each in counts) / n_rows if n_rows else np.nan


class KeepsCoverage(KeepsPromise):
    """Base of estimators that promise to name the truth, in a set or an interval."""

    coverage: float

    _rate = property(lambda self: 1.0 - self.coverage)

    @property
    def coverage_(self) -> float:
        """The share of sets or intervals so far that had the truth."""
        return 1.0 - self._missed

    @exclusive
    def fit(self, X, y, sample_weight=None):
        """Learn from most rows, and take the scores of the others: a quarter of them, and at most ``window``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            Rows of weight 0 are ignored.

        Returns
        -------
        self
        """
        return self._fit(X, checked_targets(y), sample_weight)
