"""A novelty detector of this library as a model of river."""

from typing import Any

import numpy as np
from sklearn.base import clone

from frugalsvm import BSGDOneClassSVM
from frugalsvm.compat._river_adapter import FIRST_ROWS, Adapter

try:
    from river.base import AnomalyDetector
except ImportError:  # where older versions of river have it
    from river.anomaly.base import AnomalyDetector  # type: ignore[no-redef]

__all__ = ["RiverAnomalyDetector"]


class RiverAnomalyDetector(Adapter, AnomalyDetector):
    """A novelty detector of this library for river.

    Parameters
    ----------
    model
        `BSGDOneClassSVM`. The first 100 examples are held back, and nothing is scaled: put a scaler of river before it.
    n_features
        None makes one feature of each key of the first example: keys that lack later are 0, new ones are ignored. A
        number hashes keys (and text, as ``key=value``) to that many features, so that new keys count.

    Notes
    -----
    Scores are 1 less the p-value: of usual examples, one in a hundred has a score above 0.99. They are 0 while examples
    are held back. Every example takes about a millisecond.

    Examples
    --------
    >>> from river import preprocessing
    >>> from frugalsvm import BSGDOneClassSVM
    >>> from frugalsvm.compat.river import RiverAnomalyDetector
    >>> model = preprocessing.StandardScaler() | RiverAnomalyDetector(BSGDOneClassSVM())
    >>> for k in range(500):
    ...     model.learn_one({"a": k % 10, "b": k % 7})
    >>> model.score_one({"a": 100, "b": -100}) > 0.99
    True
    """

    def __init__(self, model: Any, n_features: int | None = None):
        if not isinstance(model, BSGDOneClassSVM):
            raise ValueError(f"RiverAnomalyDetector takes a BSGDOneClassSVM, not {type(model).__name__}.")
        self.model = model
        self.n_features = n_features
        self._check_n_features()
        self._detector: BSGDOneClassSVM | None = None
        self._held: list[np.ndarray] = []

    @classmethod
    def _unit_test_params(cls):
        yield {"model": BSGDOneClassSVM(budget=20)}

    def learn_one(self, x: dict) -> None:
        """Learn an example."""
        if self._features is None:
            self._features = self._features_for(x)
        row = self._features.row(x)
        if self._detector is not None:
            self._detector.partial_fit(row[None])
            return
        self._held.append(np.array(row))
        if len(self._held) == FIRST_ROWS:
            self._detector = clone(self.model).partial_fit(np.stack(self._held))
            self._held = []

    def score_one(self, x: dict) -> float:
        """1 less the p-value of an example: near 1 for anomalies."""
        if self._detector is None or self._features is None:
            return 0.0
        return 1.0 - float(self._detector.p_values(self._features.row(x)[None])[0])
