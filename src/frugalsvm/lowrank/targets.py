"""Targets of outputs, and how well scores agree with them."""

import numpy as np


def class_targets(arrays, labels, n_classes: int):
    """+1 for the rows of an output's class, -1 for others, (n_outputs, n_rows); labels are indices of classes."""
    xp = arrays.xp
    numbers = arrays.asarray(np.array([1]) if n_classes == 2 else np.arange(n_classes))[:, None]
    ones = arrays.ones((1, 1))
    return xp.where(arrays.asarray(labels)[None] == numbers, ones, -ones)


def spread(targets, weights) -> float:
    """How far apart the middle half of the targets with a weight is: the median of outputs. Outliers do not count."""
    seen = targets if weights is None or not np.any(weights) else targets[:, weights > 0]
    low, high = np.percentile(seen, [25, 75], axis=1)
    widths = (high - low) / 1.35
    return float(np.median(np.where(widths > 0, widths, seen.std(axis=1)))) or 1.0


def accuracy(scores, targets, weights) -> float:
    """Share of the weights whose rows are classified correctly."""
    if len(scores) == 1:
        right = (scores[0] >= 0) == (targets[0] > 0)
    else:
        right = scores.argmax(axis=0) == targets.argmax(axis=0)
    return float(np.average(right, weights=weights)) if weights.any() else 0.0


def label_accuracy(scores, targets, weights) -> float:
    """Share of the weights whose labels are right, in the mean over labels."""
    right = ((scores >= 0) == (targets > 0)).mean(axis=0)
    return float(np.average(right, weights=weights)) if weights.any() else 0.0


def explained(loss, scores, targets, weights) -> float:
    """1 less the loss over that of the best constants, in the mean over outputs: R^2 for squares."""
    constants = _best_constants(loss, targets, weights)
    errors, usual = (loss.values(np, targets, each) @ weights for each in (scores, constants))
    return float(np.mean(1.0 - errors / np.where(usual > 0, usual, 1.0)))


def _best_constants(loss, targets, weights):
    """What a model without features predicts, as a column: quantiles, or means."""
    weights = weights.astype(np.float64)
    if not hasattr(loss, "quantile"):
        return np.average(targets, axis=1, weights=weights)[:, None]
    below = np.cumsum(weights[np.argsort(targets, axis=1)], axis=1)
    places = [np.searchsorted(own, q * own[-1]) for own, q in zip(below, loss.quantile, strict=True)]
    places = np.minimum(places, targets.shape[1] - 1)
    return np.take_along_axis(np.sort(targets, axis=1), places[:, None], axis=1)


def class_indices(targets: np.ndarray) -> np.ndarray:
    """Indices of the classes, from signs on the host."""
    return (targets[0] > 0).astype(np.int64) if len(targets) == 1 else targets.argmax(axis=0)
