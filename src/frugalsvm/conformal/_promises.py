"""What all conformal estimators share: scores of rows before they are learned, and the promise on them."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import _safe_indexing, check_random_state, get_tags, indexable
from sklearn.utils.validation import _num_samples, check_is_fitted

from frugalsvm._compile import machine_code_for
from frugalsvm.conformal._models import copied, is_river
from frugalsvm.core.score_reservoir import (
    HUGE,
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

__all__ = ["KeepsPromise", "checked_outputs", "wraps_river"]

_STEP, _LEAST_PATIENCE = 0.005, 2.0  # of levels, as in the paper; misses
_HELD_OUT = 4  # one row of so many is held out by `fit`
_NOT_READ = np.empty(1)  # thresholds of single rows


def wraps_river(model: Any) -> bool:
    """For methods of single rows."""
    return is_river(model.estimator)


@cache
def _code_for_rows() -> Callable:
    """The machine code of `observe`, whose arguments always have the same types: single rows need no look at them."""
    nothing = np.empty(0)
    return machine_code_for(observe, new_reservoir(1), Promise(0.5, 1.0, False), nothing, nothing)


def checked_outputs(outputs: Any, n_rows: int) -> np.ndarray:
    """What was said of rows when they were predicted."""
    outputs = np.asarray(outputs, np.float64)
    if outputs.ndim == 0 or len(outputs) != n_rows:
        raise ValueError(f"outputs has the shape {outputs.shape}, but there are {n_rows} rows.")
    return outputs


def _bounded(scores: Any) -> np.ndarray:
    """Scores as the reservoir takes them: those that are no numbers are beyond all others."""
    scores = np.ascontiguousarray(scores, np.float64)
    return np.clip(np.where(np.isnan(scores), HUGE, scores), -0.1 * HUGE, HUGE)


class KeepsPromise(BaseEstimator):
    """Base of estimators with the parameters ``estimator``, ``window``, ``patience`` and ``random_state``."""

    estimator: Any
    window: int
    patience: float | None
    random_state: Any
    estimator_: Any
    _reservoirs: list[ScoreReservoir]

    _extrapolates = False

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

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if not wraps_river(self):
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def _new_model(self) -> Any:
        """The model that is asked and taught: the one there is, or a copy of the parameter."""
        return self.estimator_ if hasattr(self, "estimator_") else copied(self.estimator)

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
        promise, scores = self._promise, _bounded(scores)
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

    def _take_one(self, place: int, score: float) -> None:
        """Take one score."""
        self._make_writable()
        scores = np.array([score if abs(score) < HUGE else HUGE])  # also if it is no number
        _code_for_rows()(self._reservoirs[place], self._promise, scores, _NOT_READ)

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
        return p_values_among(-known_scores(reservoir)[::-1], -_bounded(scores))

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
        check_is_fitted(self)
        return np.array([threshold_of(reservoir) for reservoir in self._reservoirs])

    @property
    def _missed(self) -> float:
        """The share of misses among the rows so far."""
        check_is_fitted(self)
        counts = [reservoir.counts[0] for reservoir in self._reservoirs]
        n_rows = sum(int(each["n_rows"]) for each in counts)
        return sum(int(each["n_misses"]) for each in counts) / n_rows if n_rows else np.nan
