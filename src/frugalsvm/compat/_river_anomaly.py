"""A novelty detector of this library as a model of river."""

from typing import Any

from frugalsvm import BSGDOneClassSVM
from frugalsvm._locks import exclusive, shared
from frugalsvm.compat._river_adapter import Adapter

try:
    from river.base import AnomalyDetector
except ImportError:  # where older versions of river have it
    from river.anomaly.base import AnomalyDetector  # type: ignore[no-redef]


class RiverAnomalyDetector(Adapter, AnomalyDetector):
    """A novelty detector of this library for river.

    Parameters
    ----------
    model
        `BSGDOneClassSVM`. The first 100 examples are held back, and nothing is scaled: put a scaler of river before it.
    n_features
        None makes one feature of each key. Absent keys are 0; new keys become features, with a line in the
        log. A number hashes keys (and text, as ``key=value``) to that many features.

    Notes
    -----
    Scores are 1 less the p-value: of usual examples, one in a hundred has a score above 0.99. They are 0 while examples
    are held back.

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

    @classmethod
    def _unit_test_params(cls):
        yield {"model": BSGDOneClassSVM(budget=20)}

    @exclusive
    def learn_one(self, x: dict) -> None:
        """Learn an example."""
        pipeline, features = self._begin(x)
        pipeline.learn_one_row(features.row(x))

    @shared
    def score_one(self, x: dict) -> float:
        """1 less the p-value of an example: near 1 for anomalies."""
        if self._learned is None or self._learned[0].n_held_:
            return 0.0
        pipeline, features = self._learned
        return 1.0 - pipeline.p_values_one_row(features.row(x))
