"""How good predictions are: accuracy, confusion matrix, AUC; and when these figures say little."""

from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix, roc_auc_score

from frugalsvm.cli.class_report import confusions, per_class
from frugalsvm.cli.console import tell
from frugalsvm.metrics import geometric_mean_score, precision_recall_breakeven

__all__ = ["Scores", "tell_doubts"]


class Scores:
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
    def labels(self) -> np.ndarray:
        """The different labels so far."""
        return np.unique(np.concatenate(self._labels))

    @property
    def n_examples(self) -> int:
        return sum(map(len, self._labels))

    def results(self) -> dict[str, Any]:
        """Accuracy and the confusion matrix; g-means of several classes; for two also AUC and the break-even point."""
        labels, predicted = np.concatenate(self._labels), np.concatenate(self._predicted)
        results: dict[str, Any] = {
            "examples": len(labels),
            "accuracy": float(np.mean(labels == predicted)),
        }
        if len(np.unique(labels)) > 1:
            results["g_means"] = float(geometric_mean_score(labels, predicted))
        positive = labels == self._classes[-1]
        if self._scores and len(np.unique(labels)) == 2 and positive.any():
            scores = np.concatenate(self._scores)
            results["auc"] = float(roc_auc_score(positive, scores))
            results["precision_recall_breakeven"] = float(precision_recall_breakeven(positive, scores))
        names = np.union1d(np.unique(labels), self._classes)
        results["classes"] = names.tolist()
        alone = len(names) == 1  # scikit-learn warns of a matrix that is right
        results["confusion"] = [[len(labels)]] if alone else confusion_matrix(labels, predicted, labels=names).tolist()
        results["per_class"] = per_class(results["classes"], results["confusion"])
        results["worst_confusions"] = confusions(results["classes"], results["confusion"])
        return results


def tell_doubts(labels: np.ndarray, classes: np.ndarray, stream: Any) -> None:
    """Refuse labels that the model does not know; tell why the figures may not mean what they say."""
    if not np.isin(labels.astype(str), classes.astype(str)).any():
        known = ", ".join(map(repr, classes[:3].tolist())) + (", ..." if len(classes) > 3 else "")
        found = f"{stream.name} has labels like {labels.tolist()[0]!r}"
        raise ValueError(f"{found}, and the model knows {known}: is --label the right column?")
    if len(labels) == 1:
        tell(f"warning: all rows of {stream.name} have the label {labels.tolist()[0]!r}: accuracy says little")
    if n := getattr(stream, "n_unlabeled", 0):
        tell(f"note: {n:,} {'row' if n == 1 else 'rows'} without a label: left out")
