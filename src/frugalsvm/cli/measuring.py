"""Figures of merit of predictions."""

from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix, roc_auc_score

from frugalsvm.metrics import geometric_mean_score, precision_recall_breakeven

__all__ = ["Tally"]


class Tally:
    """Collects labels, predictions and scores of batches; memory is proportional to the number of examples."""

    def __init__(self, classes: np.ndarray):
        self._classes = classes
        self._labels: list[np.ndarray] = []
        self._predicted: list[np.ndarray] = []
        self._scores: list[np.ndarray] = []

    def add(self, labels: np.ndarray, predicted: np.ndarray, scores: np.ndarray) -> None:
        self._labels.append(labels)
        self._predicted.append(predicted)
        if scores.ndim == 1:
            self._scores.append(scores)

    @property
    def n_examples(self) -> int:
        return sum(map(len, self._labels))

    def results(self) -> dict[str, Any]:
        """Accuracy, g-means and the confusion matrix; for two classes also AUC and the break-even point."""
        labels, predicted = np.concatenate(self._labels), np.concatenate(self._predicted)
        results: dict[str, Any] = {
            "examples": len(labels),
            "accuracy": float(np.mean(labels == predicted)),
            "g_means": float(geometric_mean_score(labels, predicted)),
        }
        if self._scores and len(np.unique(labels)) == 2:
            scores, positive = np.concatenate(self._scores), labels == self._classes[-1]
            results["auc"] = float(roc_auc_score(positive, scores))
            results["precision_recall_breakeven"] = float(precision_recall_breakeven(positive, scores))
        names = np.union1d(np.unique(labels), self._classes)
        results["classes"] = names.tolist()
        results["confusion"] = confusion_matrix(labels, predicted, labels=names).tolist()
        return results
