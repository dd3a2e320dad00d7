"""Increasing curves through zero that turn decision values into log odds: a slope for each range of values.

Ranges are given by the decision values between them, one of which is zero. Curves are straight within a range, so that
a decision value is a sum of its parts in all ranges, each times the slope there. The slopes of the least log loss are
found by Newton's method in their logarithms: that keeps them positive, and scaled parts are their own derivatives.
"""

from typing import NamedTuple

import numpy as np

from frugalsvm.compiling.threads import blas_threads

__all__ = ["LARGEST_LOG", "LARGEST_STEP", "Derivatives", "derivatives", "parts_of", "settled_slopes"]

LARGEST_STEP = 0.5  # of the logarithm of a slope, for one batch
LARGEST_LOG = 30.0
_PASSES = 50
_FACTORS = (1.0, 0.5, 0.25, 0.125)  # of a Newton step: the loss is not convex
_SMALLEST_GAIN = 1e-6  # of the sum of the losses of all rows
_LARGEST_BLOCK = 2**20  # parts of rows at a time


class Derivatives(NamedTuple):
    """Log loss of rows; its gradient with respect to the logarithms of slopes, and its Fisher information."""

    loss: float
    gradient: np.ndarray  # (n_ranges,)
    information: np.ndarray  # (n_ranges, n_ranges)


def parts_of(values: np.ndarray, breaks: np.ndarray) -> np.ndarray:
    """What of decision values is in each of the ranges between the breaks, (..., n_ranges); its sum is the value."""
    edges = np.concatenate([[-np.inf], breaks, [np.inf]])
    lower, upper = edges[:-1], edges[1:]
    return np.clip(values[..., None], lower, upper) - np.where(upper <= 0, upper, lower)


def derivatives(scaled: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None) -> Derivatives:
    """Of rows with these scaled parts (n_rows, n_outputs, n_ranges), summed."""
    n_rows, n_outputs, n_ranges = scaled.shape
    weights = np.ones(n_rows) if weights is None else weights
    one_block = max(1, _LARGEST_BLOCK // (n_outputs * n_ranges))
    total = Derivatives(0.0, np.zeros(n_ranges), np.zeros((n_ranges, n_ranges)))
    of_block = _of_two if n_outputs == 1 else _of_several
    for start in range(0, n_rows, one_block):
        rows = slice(start, start + one_block)
        found = of_block(scaled[rows], labels[rows], weights[rows])
        total = Derivatives(*(before + more for before, more in zip(total, found, strict=True)))
    return total


def _of_two(scaled, labels, weights) -> Derivatives:
    scaled, sign = scaled[:, 0], np.where(labels == 1, 1.0, -1.0)
    margin = sign * scaled.sum(axis=1)
    wrong = 0.5 * (1.0 - np.tanh(0.5 * margin))
    spread = weights * wrong * (1.0 - wrong)
    loss = float(weights @ np.logaddexp(0.0, -margin))
    return Derivatives(loss, scaled.T @ (-sign * wrong * weights), (scaled * spread[:, None]).T @ scaled)


def _of_several(scaled, labels, weights) -> Derivatives:
    rows, log_odds = np.arange(len(labels)), scaled.sum(axis=2)
    log_odds -= log_odds.max(axis=1, keepdims=True)
    shares = np.exp(log_odds)
    totals = shares.sum(axis=1, keepdims=True)
    shares /= totals
    loss = float(weights @ (np.log(totals[:, 0]) - log_odds[rows, labels]))
    mean = np.matmul(shares[:, None, :], scaled)[:, 0]
    flat = scaled.reshape(-1, scaled.shape[2])
    squares = (flat * (shares * weights[:, None]).reshape(-1, 1)).T @ flat
    return Derivatives(loss, weights @ (mean - scaled[rows, labels]), squares - (mean * weights[:, None]).T @ mean)


def settled_slopes(values, labels, weights, breaks: np.ndarray, *, usual: float, tie: float):
    """The logarithms of the most probable slopes, and what is known of them.

    Before anything is known, slopes are such that usual decision values become about 1 (``usual`` is how much that
    counts), and those of neighboring ranges are about equal (``tie``).
    """
    start = limited(-np.log(max(float(np.abs(values).mean()), np.exp(-LARGEST_LOG))))
    n_ranges = len(breaks) + 1
    apart = np.diff(np.eye(n_ranges), axis=0)
    prior = usual * np.eye(n_ranges) + tie * apart.T @ apart
    parts = parts_of(values, breaks)
    if weights is not None:
        weights = weights / max(float(weights.mean()), 1e-300)

    def at(logs) -> Derivatives:
        found, away = derivatives(parts * np.exp(logs), labels, weights), logs - start
        loss = found.loss + 0.5 * float(away @ prior @ away)
        return Derivatives(loss, found.gradient + prior @ away, found.information + prior)

    with blas_threads(1):  # products are small
        return _smallest_loss(at, np.full(n_ranges, start))


def _smallest_loss(at, now):
    """Newton's method; it ends where neither slopes nor the loss change any more."""
    found = at(now)
    for _ in range(_PASSES):
        step = np.clip(np.linalg.solve(found.information, found.gradient), -LARGEST_STEP, LARGEST_STEP)
        for factor in _FACTORS:
            moved = limited(now - factor * step)
            there = at(moved)
            if there.loss <= found.loss:
                break
        gain = found.loss - there.loss
        now, found = moved, there
        if np.abs(step).max() < 1e-6 or abs(gain) < _SMALLEST_GAIN:
            break
    return now, found.information


def limited(logs):
    """Logarithms of slopes that keep all decision values finite."""
    return np.clip(logs, -LARGEST_LOG, LARGEST_LOG)
