"""Figures of a stream as it goes: one for each window of rows, and the mean over the last rows."""

import csv
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_BIN_ROWS, _N_BINS = 500, 10
RECENT_ROWS = _BIN_ROWS * _N_BINS


class Curve:
    """Figures of windows of rows, one after the other; the last one may have fewer rows.

    ``figure_of`` makes a figure, a dict of its name and value, of the labels and predictions of a window.
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

    def write_csv(self, path: str | Path) -> None:
        """Write them to a file, with a header."""
        rows = self.rows()
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


def added(total: float, values: NDArray) -> float:
    """A sum, made one value after the other: it does not depend on where a run was interrupted."""
    return float(np.add.accumulate(np.append(float(total), values))[-1])


class RecentMean:
    """The mean of the last 5,000 values, or up to 500 fewer: they go in bins, the oldest first.

    ``bins`` are how many values each bin has, and their sum; the last one may lack some.
    """

    def __init__(self, bins: Sequence[Sequence[float]] = ()):
        self._bins = [(int(n), float(total)) for n, total in bins]

    def add(self, values: NDArray) -> None:
        while len(values):
            n, total = self._bins.pop() if self._bins and self._bins[-1][0] < _BIN_ROWS else (0, 0.0)
            part, values = values[: _BIN_ROWS - n], values[_BIN_ROWS - n :]
            self._bins.append((n + len(part), added(total, part)))
            del self._bins[:-_N_BINS]

    @property
    def n_rows(self) -> int:
        return sum(n for n, _ in self._bins)

    @property
    def mean(self) -> float:
        return sum(total for _, total in self._bins) / self.n_rows if self._bins else float("nan")

    def saved(self) -> list[list[float]]:
        return [list(each) for each in self._bins]
