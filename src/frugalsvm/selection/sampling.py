"""Which rows take part in a comparison, in a random order that spreads classes evenly."""

import numpy as np

__all__ = ["FEW", "random_order", "sampled"]

FEW = 10  # rows that every class keeps, if it has them
_MOST_ROWS = 2**18  # of an order: nobody looks at more


def random_order(labels: np.ndarray | None, n_rows: int, rng: np.random.Generator) -> np.ndarray:
    """A random order of all rows, or of very many; with labels (indices of classes), classes are in proportion."""
    if n_rows > _MOST_ROWS:
        some = _drawn(labels, n_rows, rng)
        return some[random_order(None if labels is None else labels[some], len(some), rng)]
    order = rng.permutation(n_rows)
    if labels is None:
        return order
    ranks, counts = _ranks(labels[order])
    places = (ranks + rng.random(n_rows)) / counts[labels[order]]
    return order[np.argsort(places, kind="stable")]


def _drawn(labels, n_rows, rng) -> np.ndarray:
    """Some rows, with a few of every class."""
    some = np.unique(rng.integers(n_rows, size=_MOST_ROWS // 2))
    if labels is None:
        return some
    counts = np.bincount(labels, minlength=labels.max() + 1)
    lacking = np.flatnonzero(np.bincount(labels[some], minlength=len(counts)) < np.minimum(counts, FEW))
    return np.unique(np.concatenate([some, *(np.flatnonzero(labels == each)[:FEW] for each in lacking)]))


def sampled(order: np.ndarray, labels: np.ndarray | None, n_rows: int) -> np.ndarray:
    """The first rows of a random order, and a few rows of classes that would have fewer among them."""
    if n_rows >= len(order) or labels is None:
        return order[:n_rows]
    ranks, _ = _ranks(labels[order])
    return order[(np.arange(len(order)) < n_rows) | (ranks < FEW)]


def _ranks(labels):
    """How many rows of its class come before each row, and how many there are of each class."""
    counts = np.bincount(labels)
    by_class = np.argsort(labels, kind="stable")
    first = np.cumsum(counts) - counts
    ranks = np.empty(len(labels), np.int64)
    ranks[by_class] = np.arange(len(labels)) - first[labels[by_class]]
    return ranks, counts
