"""The curve of `evaluate --prequential`: a figure for each window of rows, for people, scripts and CSV."""

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["Curve", "write_curve"]


class Curve:
    """Figures of windows of rows, one after the other.

    Parameters
    ----------
    window : int
        Rows of a window; the last one may have fewer.
    figure_of : callable
        From labels and predictions of a window to its figure, a dict of its name and value.
    """

    def __init__(self, window: int, figure_of: Callable[[NDArray, NDArray], dict[str, float]]):
        self._window, self._figure_of = window, figure_of
        self._end = 0  # rows in the windows that are full
        self._waiting: list[tuple[NDArray, NDArray]] = []
        self._rows: list[dict[str, float]] = []

    def add(self, labels: NDArray, predicted: NDArray) -> None:
        while len(labels):
            n_lacking = self._window - sum(len(waiting) for waiting, _ in self._waiting)
            self._waiting.append((labels[:n_lacking], predicted[:n_lacking]))
            if len(labels) >= n_lacking:
                self._rows.append(self._figure())
                self._end, self._waiting = self._end + self._window, []
            labels, predicted = labels[n_lacking:], predicted[n_lacking:]

    def _figure(self) -> dict[str, float]:
        labels, predicted = (np.concatenate(parts) for parts in zip(*self._waiting, strict=True))
        return {"examples": self._end + len(labels), **self._figure_of(labels, predicted)}

    def rows(self) -> list[dict[str, float]]:
        """For each window how many rows there were at its end, and its figure."""
        return [*self._rows, self._figure()] if self._waiting else self._rows


def write_curve(rows: list[dict[str, float]], path: Path) -> None:
    """Write windows as CSV."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
