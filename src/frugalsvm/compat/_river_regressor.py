"""A regressor of this library as a model of river."""

from typing import Any

import numpy as np
from sklearn.base import is_regressor

from frugalsvm import ASSETRegressor
from frugalsvm._locks import exclusive, shared
from frugalsvm.compat._river_adapter import Adapter, base


class RiverRegressor(Adapter, base.MiniBatchRegressor):
    """A regressor of this library for river.

    Parameters
    ----------
    model
        `BSGDRegressor` or `ASSETRegressor`, or a `StreamPipeline` of one. Without a pipeline, the first 100 examples
        (2000 if it learns its metric) are held back.
    n_features
        None makes one feature of each key. Absent keys are 0, or missing if the pipeline has ``impute``. New ones are
        added, with a line in the log: at any time for budgeted models (BSGD, BPA, perceptrons), for others while
        examples are held back. A number hashes keys (and text, as ``key=value``) to that many features.

    Notes
    -----
    `BSGDRegressor` takes some 30 microseconds for an example, others about a millisecond; `learn_many` learns hundreds
    in that time. Before the first example, predictions are 0.

    Examples
    --------
    >>> from frugalsvm import ASSETRegressor
    >>> from frugalsvm.compat.river import RiverRegressor
    >>> model = RiverRegressor(ASSETRegressor(n_components=16, random_state=0))
    >>> model.learn_one({"a": 1.0, "b": 2.0}, 3.0)
    >>> isinstance(model.predict_one({"a": 1.0}), float)
    True
    """

    def __init__(self, model: Any, n_features: int | None = None):
        if not is_regressor(model):
            raise ValueError(f"RiverRegressor takes a regressor, not {type(model).__name__}.")
        self.model = model
        self.n_features = n_features
        self._check_n_features()

    @classmethod
    def _unit_test_params(cls):
        yield {"model": ASSETRegressor(n_components=16, random_state=0)}

    @exclusive
    def learn_one(self, x: dict, y: float) -> None:
        """Learn an example."""
        pipeline, features = self._begin(x)
        pipeline.learn_one_row(features.row(x), float(y))

    @exclusive
    def learn_many(self, X: Any, y: Any) -> None:
        """Learn the rows of a data frame in order."""
        if len(X):
            pipeline, features = self._begin(X.columns)
            pipeline.partial_fit(features.matrix(X), np.asarray(y, np.float64))

    @shared
    def predict_one(self, x: dict, **kwargs: Any) -> float:
        """The predicted number; 0 before the first example."""
        if self._learned is None:
            return 0.0
        pipeline, features = self._learned
        return float(pipeline.predict_one_row(features.row(x)))

    @shared
    def predict_many(self, X: Any) -> Any:
        """The predicted numbers of the rows of a data frame, as a series."""
        from pandas import Series

        if self._learned is None or not len(X):
            return Series(np.zeros(len(X)), index=X.index)
        pipeline, features = self._learned
        return Series(pipeline.predict(features.matrix(X)), index=X.index)
