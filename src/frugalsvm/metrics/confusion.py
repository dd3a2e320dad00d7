"""A confusion matrix in words: how well each class is found, and which classes are taken for others."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def per_class(classes: Sequence[Any], confusion: Any) -> list[dict[str, Any]]:
    """Precision, recall and number of rows of each class; None where there is nothing to divide by.

    Examples
    --------
    >>> per_class(["a", "b"], [[3, 1], [0, 0]])[0]
    {'class': 'a', 'precision': 1.0, 'recall': 0.75, 'rows': 4}
    >>> per_class(["a", "b"], [[3, 1], [0, 0]])[1]
    {'class': 'b', 'precision': 0.0, 'recall': None, 'rows': 0}
    """
    counts = np.asarray(confusion)
    right, rows, predicted = counts.diagonal(), counts.sum(axis=1), counts.sum(axis=0)
    return [
        {
            "class": name,
            "precision": _share(right[k], predicted[k]),
            "recall": _share(right[k], rows[k]),
            "rows": int(rows[k]),
        }
        for k, name in enumerate(classes)
    ]


def _share(part: Any, whole: Any) -> float | None:
    return float(part / whole) if whole else None


def worst_first(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Classes that are there by their recall, from the lowest; then those without rows."""
    return sorted(rows, key=lambda row: 2.0 if row["recall"] is None else row["recall"])


def confusions(classes: Sequence[Any], confusion: Any, most: int = 10) -> list[dict[str, Any]]:
    """The pairs of classes of which most rows are confused.

    Examples
    --------
    >>> confusions(["a", "b"], [[3, 2], [1, 9]])[0]
    {'class': 'a', 'taken for': 'b', 'rows': 2, 'of': 5}
    """
    counts = np.array(confusion)
    totals = counts.sum(axis=1)
    np.fill_diagonal(counts, 0)
    order = np.argsort(-counts, axis=None, kind="stable")[:most]
    pairs = zip(*np.unravel_index(order, counts.shape), strict=True)
    return [
        {"class": classes[i], "taken for": classes[j], "rows": int(counts[i, j]), "of": int(totals[i])}
        for i, j in pairs
        if counts[i, j]
    ]
