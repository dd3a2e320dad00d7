"""Single scores, past all that is the same for every row: microseconds, where arrays take some hundred of them."""

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from frugalsvm.compiling.functions import machine_code_for
from frugalsvm.conformal._models import is_river, learns
from frugalsvm.core.score_reservoir import HUGE, Promise, ScoreReservoir, new_reservoir, observe

_LEAST = -0.1 * HUGE
_NOT_READ = np.empty(1)  # thresholds of single rows


def bounded(scores: Any) -> np.ndarray:
    """Scores as the reservoir takes them: NaN is beyond all others."""
    scores = np.ascontiguousarray(scores, np.float64)
    return np.clip(np.where(np.isnan(scores), HUGE, scores), _LEAST, HUGE)


@cache
def _code_for_rows() -> Callable:
    """The machine code of `observe`, whose arguments always have the same types: single rows need no look at them."""
    nothing = np.empty(0)
    return machine_code_for(observe, new_reservoir(1), Promise(0.5, 1.0, False), nothing, nothing)


class OneScore:
    """Takes scores into one reservoir, one by one."""

    __slots__ = ("_code", "_promise", "_reservoir", "_score", "_threshold")

    def __init__(self, reservoir: ScoreReservoir, promise: Promise):
        self._code, self._reservoir, self._promise = _code_for_rows(), reservoir, promise
        self._score = np.empty(1)
        self._threshold = reservoir.scalars["threshold"]  # a view

    @property
    def threshold(self) -> float:
        """That of the next score, which may be infinite."""
        threshold = self._threshold.item()
        return threshold if -HUGE < threshold < HUGE else math.copysign(math.inf, threshold)

    def take(self, score: float) -> None:
        """Take a score; what is not a number is beyond all others."""
        self._score[0] = score if _LEAST <= score < HUGE else _LEAST if score < 0.0 else HUGE
        self._code(self._reservoir, self._promise, self._score, _NOT_READ)


class Prepared:
    """What single rows of a conformal estimator take, and what it was made of.

    ``asks_row`` is what scores a row, and ``teach_row`` what learns it. Both are None if the model takes no single
    rows, or knows one label only.
    """

    __slots__ = ("_labels", "_reservoirs", "_settings", "asks_row", "indices", "model", "takers", "teach_row")

    def __init__(self, settings: tuple, model: Any, reservoirs: list, labels: Any, takers: list[OneScore], ways: tuple):
        self._settings, self.model, self._reservoirs, self._labels = settings, model, reservoirs, labels
        self.takers = takers
        self.indices = {} if labels is None else {label: k for k, label in enumerate(labels.tolist())}
        asked, learned = (ways[1], "learn_one") if is_river(model) else (ways[0], "learn_one_row")
        # A frozen model shows the methods of the one inside, which must not learn.
        learns_rows = learns(model) and hasattr(model, learned) and (is_river(model) or len(self.indices) != 1)
        self.asks_row: Any = getattr(model, asked, None) if learns_rows else None
        self.teach_row: Any = getattr(model, learned) if learns_rows else None

    def is_of(self, attributes: Mapping[str, Any], settings: tuple) -> bool:
        """Whether it is still that of an estimator with these attributes."""
        return (
            attributes.get("_reservoirs") is self._reservoirs
            and attributes.get("estimator_") is self.model
            and attributes.get("_labels") is self._labels
            and settings == self._settings
        )

    def index_of(self, label: Any) -> int | None:
        """The place of a label among those that are known; None if it is not there."""
        try:
            return self.indices.get(label)
        except TypeError:  # something that cannot be hashed
            return None
