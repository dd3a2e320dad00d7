"""How good predictions are, collected batch by batch: accuracy and confusions, errors, quantiles, or alarms."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import is_outlier_detector

from frugalsvm.metrics import geometric_mean_score, precision_recall_breakeven
from frugalsvm.metrics.confusion import confusions, per_class

_CALIBRATION_GROUPS = 10


def scores_for(model: Any, anomaly: str | Callable[[list[str]], str] = "-1") -> Any:
    """What collects predictions of a fitted model: `add` takes labels, predictions and scores, `results` tells.

    Parameters
    ----------
    model : estimator or pipeline
        A classifier, a regressor, one of quantiles, or a detector of anomalies.
    anomaly : str or callable, default="-1"
        The label of anomalies, as text; or a function that chooses it from the different labels.

    Examples
    --------
    >>> from frugalsvm import BSGDClassifier
    >>> from frugalsvm.datasets import make_checkerboard
    >>> from frugalsvm.metrics.collected import scores_for
    >>> X, y = make_checkerboard(2000, random_state=0)
    >>> model = BSGDClassifier(gamma=0.5, alpha=1e-4, budget=50).fit(X[:1000], y[:1000])
    >>> scores = scores_for(model)
    >>> for start in (1000, 1500):
    ...     scores.add(y[start : start + 500], model.predict(X[start : start + 500]))
    >>> scores.n_examples, sorted(scores.results())[:3]
    (1000, ['accuracy', 'classes', 'confusion'])
    """
    if is_outlier_detector(model):
        return NoveltyScores(anomaly)
    if hasattr(model, "classes_"):
        return Scores(model.classes_)
    estimator = getattr(model, "estimator_", model)
    if getattr(estimator, "loss", None) != "pinball":
        return ErrorScores()
    return QuantileScores(np.atleast_1d(np.asarray(estimator.quantile, np.float64)))


class Scores:
    """Collects labels, predictions and scores of batches; memory is proportional to the number of examples."""

    def __init__(self, classes: np.ndarray):
        self._classes = classes
        self._labels: list[np.ndarray] = []
        self._predicted: list[np.ndarray] = []
        self._scores: list[np.ndarray] = []
        self._probabilities: list[np.ndarray] = []

    def add(
        self,
        labels: np.ndarray,
        predicted: np.ndarray,
        scores: np.ndarray | None = None,
        probabilities: np.ndarray | None = None,
    ) -> None:
        self._labels.append(labels)
        self._predicted.append(predicted)
        if probabilities is not None:
            self._probabilities.append(probabilities)
        if scores is not None and scores.ndim == 1:
            self._scores.append(scores)

    @staticmethod
    def of_batch(labels: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
        """The figure of a curve."""
        return {"accuracy": float(np.mean(predicted == labels))}

    @property
    def labels(self) -> np.ndarray:
        """The different labels so far."""
        return np.unique(np.concatenate(self._labels))

    @property
    def n_examples(self) -> int:
        return sum(map(len, self._labels))

    def results(self) -> dict[str, Any]:
        """Accuracy and the confusion matrix; g-means of several classes; for two also AUC and the break-even point."""
        from sklearn.metrics import confusion_matrix, roc_auc_score  # takes a while

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
        if self._probabilities:
            results |= probability_scores(labels, np.concatenate(self._probabilities), self._classes)
        names = np.union1d(np.unique(labels), self._classes)
        results["classes"] = names.tolist()
        alone = len(names) == 1  # scikit-learn warns of a matrix that is right
        results["confusion"] = [[len(labels)]] if alone else confusion_matrix(labels, predicted, labels=names).tolist()
        results["per_class"] = per_class(results["classes"], results["confusion"])
        results["worst_confusions"] = confusions(results["classes"], results["confusion"])
        return results


def probability_scores(labels: np.ndarray, probabilities: np.ndarray, classes: np.ndarray) -> dict[str, float]:
    """Log loss, Brier score and calibration error of the probabilities (n_rows, n_classes) of classes.

    The Brier score of two classes is the mean of ``(p - y)^2``; of several, squares are added up over classes. The
    calibration error is the mean difference between the probability of the predicted class and how often it is right,
    in groups of equal size by that probability.
    """
    is_label = labels[:, None] == classes
    of_label = np.where(is_label, probabilities, 0.0).sum(axis=1)  # 0 for labels that the model does not know
    squares = np.square(probabilities - is_label).sum(axis=1).mean()
    confidence, right = probabilities.max(axis=1), classes[probabilities.argmax(axis=1)] == labels
    groups = np.array_split(np.argsort(confidence, kind="stable"), min(_CALIBRATION_GROUPS, len(labels)))
    gaps = [len(group) * abs(confidence[group].mean() - right[group].mean()) for group in groups]
    return {
        "log_loss": float(-np.log(np.maximum(of_label, np.finfo(np.float64).eps)).mean()),
        "brier": float(squares / 2 if len(classes) == 2 else squares),
        "calibration_error": float(sum(gaps) / len(labels)),
    }


class ErrorScores:
    """The same for numbers; nothing is kept but sums."""

    def __init__(self) -> None:
        self.n_examples = 0
        self._squares = self._absolute = self._largest = 0.0
        self._mean = self._spread = 0.0  # of the labels: their mean, and the sum of squares around it

    def add(self, labels: np.ndarray, predicted: np.ndarray, _: np.ndarray | None = None) -> None:
        errors, n = np.abs(predicted - labels), len(labels)
        if not n:
            return
        self._squares += float(np.square(errors).sum())
        self._absolute += float(errors.sum())
        self._largest = max(self._largest, float(errors.max()))
        mean, total = float(labels.mean()), self.n_examples + n
        self._spread += float(np.square(labels - mean).sum()) + (mean - self._mean) ** 2 * self.n_examples * n / total
        self._mean += (mean - self._mean) * n / total
        self.n_examples = total

    @staticmethod
    def of_batch(labels: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
        """The figure of a curve."""
        return {"rmse": float(np.sqrt(np.mean(np.square(predicted - labels))))}

    def results(self) -> dict[str, Any]:
        """Root mean square and mean absolute error, and the share of the variance that is explained."""
        n = self.n_examples
        return {
            "examples": n,
            "rmse": float(np.sqrt(self._squares / n)),
            "mae": self._absolute / n,
            "largest_error": self._largest,
            "r2": 1.0 - self._squares / self._spread if self._spread else None,
            "label_std": float(np.sqrt(self._spread / n)),
        }


class QuantileScores:
    """Pinball losses of predicted quantiles, and how many labels are below them; nothing is kept but sums."""

    def __init__(self, quantiles: np.ndarray):
        self.n_examples = 0
        self._quantiles = quantiles
        self._losses, self._below = np.zeros(len(quantiles)), np.zeros(len(quantiles))
        self._inside = 0  # labels between the lowest and the highest quantile

    def _losses_of(self, labels: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        errors = labels[:, None] - predicted.reshape(len(labels), -1)
        return np.maximum(self._quantiles * errors, (self._quantiles - 1) * errors).sum(axis=0)

    def add(self, labels: np.ndarray, predicted: np.ndarray, _: np.ndarray | None = None) -> None:
        self._losses += self._losses_of(labels, predicted)
        columns = predicted.reshape(len(labels), -1)
        self._below += (labels[:, None] <= columns).sum(axis=0)
        low, high = columns[:, self._quantiles.argmin()], columns[:, self._quantiles.argmax()]
        self._inside += int(np.count_nonzero((low <= labels) & (labels <= high)))
        self.n_examples += len(labels)

    def of_batch(self, labels: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
        """The figure of a curve."""
        return {"pinball": float(self._losses_of(labels, predicted).mean() / len(labels))}

    def results(self) -> dict[str, Any]:
        """The mean pinball loss, and for each quantile its loss and the share of labels that are not above it."""
        losses, below = self._losses / self.n_examples, self._below / self.n_examples
        coverage = {"coverage": self._inside / self.n_examples} if len(self._quantiles) > 1 else {}
        rows = zip(self._quantiles.tolist(), losses.tolist(), below.tolist(), strict=True)
        return {
            "examples": self.n_examples,
            "pinball": float(losses.mean()),
            "quantiles": [{"quantile": q, "pinball": loss, "below": share} for q, loss, share in rows],
            **coverage,
        }


class NoveltyScores:
    """Collects labels, alarms and scores of batches; memory is proportional to the number of examples."""

    def __init__(self, anomaly: str | Callable[[list[str]], str] = "-1"):
        self.n_examples = 0
        self._anomaly = anomaly
        self._labels: list[np.ndarray] = []
        self._alarms: list[np.ndarray] = []
        self._scores: list[np.ndarray] = []

    def add(self, labels: np.ndarray, predicted: np.ndarray, scores: np.ndarray) -> None:
        self._labels.append(labels.astype(str))
        self._alarms.append(predicted == -1)
        self._scores.append(scores)
        self.n_examples += len(labels)

    @staticmethod
    def of_batch(labels: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
        """The figure of a curve."""
        return {"alarms": float(np.mean(predicted == -1))}

    def results(self) -> dict[str, Any]:
        """Shares of alarms among all rows, usual and unusual ones; AUC where there are both."""
        from sklearn.metrics import roc_auc_score  # takes a while

        labels, alarms = np.concatenate(self._labels), np.concatenate(self._alarms)
        known = np.unique(labels).tolist()
        anomaly = self._anomaly(known) if callable(self._anomaly) else self._anomaly
        unusual = labels == anomaly
        results: dict[str, Any] = {"examples": len(labels), "anomaly": anomaly, "anomalies": int(unusual.sum())}
        results["alarms"] = float(alarms.mean())
        if not unusual.all():
            results["false_alarms"] = float(alarms[~unusual].mean())
        if unusual.any():
            results["found"] = float(alarms[unusual].mean())
        if unusual.any() and not unusual.all():
            results["auc"] = float(roc_auc_score(unusual, -np.concatenate(self._scores)))
        return results
