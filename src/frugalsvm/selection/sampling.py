"""Which rows take part in a comparison, in a random order that spreads classes evenly, and which fold they are in."""

import numpy as np

__all__ = ["FEW", "folds_of", "random_order", "sampled"]

FEW = 10  # rows that every class keeps, if it has them


def random_order(labels: np.ndarray | None, n_rows: int, rng: np.random.Generator) -> np.ndarray:
    """A random order of all rows; with labels (indices of classes), the first rows have all classes in proportion."""
    order = rng.permutation(n_rows)
    if labels is None:
        return order
    ranks, counts = _ranks(labels[order])
    places = (ranks + rng.random(n_rows)) / counts[labels[order]]
    return order[np.argsort(places, kind="stable")]


def sampled(order: np.ndarray, labels: np.ndarray | None, n_rows: int) -> np.ndarray:
    """The first rows of a random order, and a few rows of classes that would have fewer among them."""
    if n_rows >= len(order) or labels is None:
        return order[:n_rows]
    ranks, _ = _ranks(labels[order])
    return order[(np.arange(len(order)) < n_rows) | (ranks < FEW)]


def folds_of(labels: np.ndarray | None, n_rows: int, n_folds: int) -> np.ndarray:
    """The fold of each row, for rows in a random order; classes are spread over all folds."""
    ranks = np.arange(n_rows) if labels is None else _ranks(labels)[0]
    return ranks % n_folds


def _ranks(labels):
    """How many rows of its class come before each row, and how many there are of each class."""
    counts = np.bincount(labels)
    by_class = np.argsort(labels, kind="stable")
    first = np.cumsum(counts) - counts
    ranks = np.empty(len(labels), np.int64)
    ranks[by_class] = np.arange(len(labels)) - first[labels[by_class]]
    return ranks, counts
