"""A regressor of this library as a model of river."""

from typing import Any

import numpy as np
from sklearn.base import is_regressor

from frugalsvm import ASSETRegressor
from frugalsvm.compat._river_adapter import Adapter, base

__all__ = ["RiverRegressor"]


class RiverRegressor(Adapter, base.MiniBatchRegressor):
    """A regressor of this library for river.

    Parameters
    ----------
    model
        `BSGDRegressor` or `ASSETRegressor`, or a `StreamPipeline` of one. Without a pipeline, the first 100 examples
        (2000 if it learns its metric) are held back.
    n_features
        None makes one feature of each key of the first example: keys that lack later are 0, new ones are ignored. A
        number hashes keys (and text, as ``key=value``) to that many features, so that new keys count.

    Notes
    -----
    Every example takes about a millisecond; `learn_many` learns hundreds in the same time. Before the first example,
    predictions are 0.

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

    def _learn(self, matrix_of, names, data, y) -> None:
        if self._pipeline is None or self._features is None:
            self._features, self._pipeline = self._features_for(names), self._new_pipeline()
        self._pipeline.partial_fit(matrix_of(self._features, data), np.asarray(y, np.float64))

    def learn_one(self, x: dict, y: float) -> None:
        """Learn an example."""
        self._learn(lambda features, x: features.row(x)[None], x, x, [y])

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn the rows of a data frame in order."""
        if len(X):
            self._learn(lambda features, X: features.matrix(X), X.columns, X, y)

    def predict_one(self, x: dict, **kwargs: Any) -> float:
        """The predicted number; 0 before the first example."""
        if self._pipeline is None or self._features is None or not hasattr(self._pipeline, "_held"):
            return 0.0
        return float(self._pipeline.predict_one_row(self._features.row(x)))

    def predict_many(self, X: Any) -> Any:
        """The predicted numbers of the rows of a data frame, as a series."""
        from pandas import Series

        if self._pipeline is None or self._features is None or not len(X) or not hasattr(self._pipeline, "_held"):
            return Series(np.zeros(len(X)), index=X.index)
        return Series(self._pipeline.predict(self._features.matrix(X)), index=X.index)
