"""What a fitted estimator makes of a partition: predictions, and what scores are made of."""

from typing import Any

import numpy as np

__all__ = ["Counting", "Judging", "Predicting", "quality_of", "share_of_right"]


class Predicting:
    """A method of an estimator as a function of a partition; the estimator travels with it."""

    def __init__(self, estimator: Any, method: str):
        self._estimator, self._method = estimator, method
        self.__name__ = method

    def __call__(self, X: Any) -> np.ndarray:
        if not X.shape[0]:  # nothing can be predicted, but the type must be right
            return self.of_no_rows()
        return getattr(self._estimator, self._method)(X)

    def of_no_rows(self) -> np.ndarray:
        """What there is to tell of no rows, with the right type and columns."""
        if not hasattr(self._estimator, "classes_"):
            model = getattr(self._estimator, "estimator_", self._estimator)  # that in a pipeline
            return getattr(model, self._method)(np.zeros((1, model.n_features_in_)))[:0]
        n_classes = len(self._estimator.classes_)
        if self._method == "predict":
            return self._estimator.classes_[:0]
        return np.zeros(0 if n_classes == 2 and self._method == "decision_function" else (0, n_classes))


class Counting:
    """The weights of the rows of a partition that are predicted correctly, and of all."""

    def __init__(self, estimator: Any):
        self._predict = Predicting(estimator, "predict")

    def __call__(self, number: int, X: Any, y: Any, weight: Any) -> tuple[float, float]:
        y = np.asarray(y).ravel()
        if X.shape[0] != len(y):
            raise ValueError(f"Partition {number}: there are {X.shape[0]} rows, but {len(y)} labels.")
        weight = np.ones(len(y)) if weight is None else np.asarray(weight, np.float64).ravel()
        return float(weight[self._predict(X) == y].sum()), float(weight.sum())


class Judging:
    """Targets, predictions and weights of the rows of a partition."""

    def __init__(self, estimator: Any):
        self._predict = Predicting(estimator, "predict")

    def __call__(self, number: int, X: Any, y: Any, weight: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        y = np.asarray(y, np.float64)
        if X.shape[0] != len(y):
            raise ValueError(f"Partition {number}: there are {X.shape[0]} rows, but {len(y)} targets.")
        weight = np.ones(len(y)) if weight is None else np.asarray(weight, np.float64).ravel()
        predicted = self._predict(X).reshape(len(y), -1)
        return np.broadcast_to(y.reshape(len(y), -1), predicted.shape), predicted, weight


def quality_of(estimator: Any, judged: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> np.ndarray:
    targets, predicted, weights = (np.concatenate(parts) for parts in zip(*judged, strict=True))
    if not weights.any():
        raise ValueError("There are no rows with a weight: a score needs some.")
    return np.array(estimator.quality(predicted.T, targets.T, weights))


def share_of_right(counts: list[tuple[float, float]]) -> np.ndarray:
    right, total = (sum(values) for values in zip(*counts, strict=True))
    if not total > 0:
        raise ValueError("There are no rows with a weight: an accuracy needs some.")
    return np.array(right / total)
