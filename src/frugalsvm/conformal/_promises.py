"""What all conformal estimators share: scores of rows before they are learned, and the promise on them."""

from operator import attrgetter
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import _safe_indexing, check_random_state, get_tags, indexable
from sklearn.utils.validation import _num_samples, check_is_fitted, column_or_1d

from frugalsvm._locks import ThreadSafe
from frugalsvm.conformal._models import copied, has_learned, is_river, learns
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
from frugalsvm.estimators._validation import check_count, check_positive
from frugalsvm.estimators._writable import prepare_to_learn
from frugalsvm.exceptions import ParameterError

__all__ = ["KeepsPromise", "checked_outputs", "checked_targets", "wraps_river"]

_STEP, _LEAST_PATIENCE = 0.005, 2.0  # of levels, as in the paper; misses
_HELD_OUT = 4  # `fit` holds out one row in four


def wraps_river(model: Any) -> bool:
    """For methods of single rows."""
    return is_river(model.estimator)


def checked_targets(y: Any) -> np.ndarray:
    """Labels or numbers as one column; the look at other types costs as much as all the rest for a row."""
    return y if y.__class__ is np.ndarray and y.ndim == 1 else column_or_1d(y, warn=True)


def checked_outputs(outputs: Any, n_rows: int) -> np.ndarray:
    """What was said of rows when they were predicted."""
    outputs = np.asarray(outputs, np.float64)
    if outputs.ndim == 0 or len(outputs) != n_rows:
        raise ValueError(f"outputs has the shape {outputs.shape}, but there are {n_rows} rows.")
    return outputs


class _Shortcuts(ThreadSafe):
    """What is prepared for single rows: in a slot, where no copy and no model file sees it."""

    __slots__ = ("_fast",)


class KeepsPromise(_Shortcuts, BaseEstimator):
    """Base of estimators with the parameters ``estimator``, ``window``, ``patience`` and ``random_state``."""

    estimator: Any
    window: int
    patience: float | None
    random_state: Any
    estimator_: Any
    _reservoirs: list[ScoreReservoir]

    _extrapolates = False
    _asks_row: str  # the method of models that scores a single row, where they have one
    _settings_of: Any  # from an estimator to its parameters that matter here

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        names = set(cls._get_param_names()) - {"random_state"}  # which may be an object that equals nothing
        cls._settings_of = attrgetter(*sorted(names))

    @property
    def _rate(self) -> float:
        """The promised share of misses."""
        raise NotImplementedError

    @property
    def _promise(self) -> Promise:
        patience = max(_LEAST_PATIENCE, self._rate / _STEP) if self.patience is None else self.patience
        return Promise(float(self._rate), float(patience), self._extrapolates)

    def _check_promise(self, name: str) -> None:
        """Check the parameters, of which the promised share has this name."""
        value = getattr(self, name)
        check_positive(name, value)
        if value >= 1:
            raise ParameterError(name, value, "a number between 0 and 1")
        check_count("window", self.window, least=10)
        if self.patience is not None:
            check_positive("patience", self.patience)

    def _check_params(self) -> None:
        """Check all parameters."""
        raise NotImplementedError

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
        self._fast = Prepared(
            self._settings_of(self), self.estimator_, self._reservoirs, labels, takers, self._asks_row
        )
        return self._fast

    def _fast_model(self) -> Prepared | None:
        """The same, if the model has a way for single rows and has begun to learn."""
        made = self._prepared()
        return made if made is not None and made.asks_row is not None and not made.model.n_held_ else None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if not wraps_river(self):
            tags.input_tags = get_tags(self.estimator).input_tags
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
        n_rows = _num_samples(X)
        if n_rows < 2:
            raise ValueError(f"fit learns some rows and calibrates with others: {n_rows} sample is not enough.")
        order = check_random_state(self.random_state).permutation(n_rows)
        n_held = max(1, min(self.window, n_rows // _HELD_OUT))
        held, learned = np.sort(order[:n_held]), np.sort(order[n_held:])
        weights = {} if sample_weight is None else {"sample_weight": np.asarray(sample_weight)[learned]}
        targets = () if y is None else (y[learned],)
        model = clone(self.estimator).fit(_safe_indexing(X, learned), *targets, **weights)
        return model, _safe_indexing(X, held), None if y is None else y[held]

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
            own = np.flatnonzero(places == place)
            found = np.empty(len(own) + 1)
            observe(reservoir, promise, scores[own], found[:-1])
            found[-1] = reservoir.scalars[0]["threshold"]
            # Until its next own score, the threshold of a reservoir stays what it is.
            along[:, place] = found[np.searchsorted(own, np.arange(len(scores)))]
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
