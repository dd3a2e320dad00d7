"""What out-of-fold scores are worth: losses of rows, their means in folds, and differences with a standard error."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Judgment(NamedTuple):
    """Losses of rows that were left out; those of rows that were not are not a number."""

    losses: np.ndarray  # (n,) what counts: 1 for a wrong class, or the squared error
    squares: np.ndarray  # (n,) squared errors, all outputs together: smoother where few rows are wrong
    weights: np.ndarray  # (n,)
    folds: np.ndarray  # (n,)

    @property
    def error(self) -> float:
        """The mean loss."""
        return _mean(self.losses, self.weights)

    @property
    def squared_error(self) -> float:
        return _mean(self.squares, self.weights)

    def fold_errors(self) -> np.ndarray:
        """The mean loss in each fold."""
        folds = np.unique(self.folds[self.folds >= 0])
        return np.array([_mean(self.losses[self.folds == k], self.weights[self.folds == k]) for k in folds])


def _mean(values, weights):
    there = ~np.isnan(values) & (weights > 0)
    return float(np.average(values[there], weights=weights[there])) if there.any() else np.nan


def row_losses(scores: np.ndarray, targets: np.ndarray, *, classes: bool) -> tuple[np.ndarray, np.ndarray]:
    """Losses that count, and squared errors, of scores and targets (n_outputs, n)."""
    squares = np.square(targets - scores)
    if not classes:
        return squares.sum(axis=0), squares.sum(axis=0)
    squares = np.where(targets * scores > 1.0, 0.0, squares).sum(axis=0)  # beyond the margin, all is well
    if len(scores) == 1:
        wrong = (scores[0] >= 0) != (targets[0] > 0)
    else:
        wrong = np.nan_to_num(scores).argmax(axis=0) != targets.argmax(axis=0)
    return np.where(np.isnan(scores[0]), np.nan, wrong), squares


def judged(scores, targets, weights, folds, *, classes: bool) -> Judgment:
    return Judgment(*row_losses(scores, targets, classes=classes), weights, folds)


def better_by(one: Judgment, other: Judgment, *, squares: bool = False) -> tuple[float, float]:
    """By how much mean losses of the first are smaller, or squared errors, and the standard error of that: by row."""
    gains = other.squares - one.squares if squares else other.losses - one.losses
    there = ~np.isnan(gains) & (one.weights > 0)
    return mean_gain(gains[there], one.weights[there].astype(float))


def mean_gain(gains: np.ndarray, weights: np.ndarray | None = None) -> tuple[float, float]:
    """The mean of paired differences, a row each, and its standard error."""
    if not len(gains):
        return 0.0, np.inf
    if weights is None:
        weights = np.ones(len(gains))
    mean = np.average(gains, weights=weights)
    spread = np.average(np.square(gains - mean), weights=weights)
    return float(mean), float(np.sqrt(spread * np.square(weights).sum()) / weights.sum())


def optimism(judgments: Sequence[Judgment]) -> float:
    """How many times as large the losses of the best of some candidates are on rows that it was not chosen by.

    In each fold, the losses of the one that is best in the others, over those of the one that is best in all
    (Tibshirani and Tibshirani 2009); at least 1.
    """
    errors = np.array([judgment.fold_errors() for judgment in judgments])
    n_folds = errors.shape[1]
    if len(errors) < 2 or n_folds < 2:
        return 1.0
    elsewhere = (errors.sum(axis=1, keepdims=True) - errors).argmin(axis=0)
    best = errors.mean(axis=1).min()
    return max(1.0, float(errors[elsewhere, np.arange(n_folds)].mean() / best)) if best > 0 else 1.0
