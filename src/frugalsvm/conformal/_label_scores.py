"""How strange a label would be for a row, by what a classifier says."""

from typing import Any

import numpy as np

from frugalsvm.core.score_reservoir import HUGE


def label_scores(model: Any, X: Any) -> np.ndarray:
    """Scores of all labels, in the order of ``classes_``: the largest value of another label, less its own."""
    if not hasattr(model, "decision_function"):
        return 1.0 - np.asarray(model.predict_proba(X), np.float64)
    values = np.asarray(model.decision_function(X), np.float64)
    if len(model.classes_) == 1:
        return np.zeros((len(values), 1))
    if values.ndim == 1:
        return np.stack([values, -values], axis=1)
    if values.shape[1] != len(model.classes_):
        raise ValueError(
            f"The estimator has {values.shape[1]} decision values for {len(model.classes_)} classes: one for each "
            "class is needed (decision_function_shape='ovr')."
        )
    return _largest_of_others(values) - values


def _largest_of_others(values: np.ndarray) -> np.ndarray:
    rows, best = np.arange(len(values)), values.argmax(axis=1)
    others = np.repeat(values[rows, best, None], values.shape[1], axis=1)
    without = values.copy()
    without[rows, best] = -np.inf
    others[rows, best] = without.max(axis=1)
    return others


def row_label_scores(values: list[float]) -> list[float]:
    """The scores of all labels of a row, from its decision values: those of `label_scores`, bit for bit."""
    if len(values) == 1:
        return [values[0], -values[0]]
    second, largest = sorted(values)[-2:]
    best = values.index(largest)
    return [(second if k == best else largest) - value for k, value in enumerate(values)]


def true_scores(scores: np.ndarray, labels: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The scores of the true labels; `HUGE` for a label that is not among those that have a column."""
    places = np.minimum(np.searchsorted(labels, y), len(labels) - 1)
    return np.where(labels[places] == y, scores[np.arange(len(y)), places], HUGE)
