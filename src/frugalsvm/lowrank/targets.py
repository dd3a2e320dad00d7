"""Targets of outputs, and how well scores agree with them."""

import numpy as np

__all__ = ["accuracy", "class_targets", "r_squared", "spread"]


def class_targets(arrays, labels, n_classes: int):
    """+1 for the rows of an output's class, -1 for others, (n_outputs, n_rows); labels are indices of classes."""
    xp = arrays.xp
    numbers = arrays.asarray(np.array([1]) if n_classes == 2 else np.arange(n_classes))[:, None]
    ones = arrays.ones((1, 1))
    return xp.where(arrays.asarray(labels)[None] == numbers, ones, -ones)


def spread(targets, weights) -> float:
    """How far apart the middle half of the targets with a weight is; outliers do not count."""
    seen = targets if weights is None or not np.any(weights) else targets[:, weights > 0]
    low, high = np.percentile(seen, [25, 75])
    return float(high - low) / 1.35 or float(seen.std()) or 1.0


def accuracy(scores, targets, weights) -> float:
    """Share of the weights whose rows are classified correctly."""
    if len(scores) == 1:
        right = (scores[0] >= 0) == (targets[0] > 0)
    else:
        right = scores.argmax(axis=0) == targets.argmax(axis=0)
    return float(np.average(right, weights=weights)) if weights.any() else 0.0


def r_squared(scores, targets, weights) -> float:
    """R^2 of the one output."""
    variance = np.average(np.square(targets[0] - np.average(targets[0], weights=weights)), weights=weights)
    return 1.0 - float(np.average(np.square(scores[0] - targets[0]), weights=weights) / (variance or 1.0))
