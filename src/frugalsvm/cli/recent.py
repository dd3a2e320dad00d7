"""The mean of a figure over the last rows of a stream, in a few numbers that a checkpoint can hold."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["RECENT_ROWS", "RecentMean", "added"]

_BIN_ROWS, _N_BINS = 500, 10
RECENT_ROWS = _BIN_ROWS * _N_BINS


def added(total: float, values: NDArray) -> float:
    """A sum, made one value after the other: it does not depend on where a run was interrupted."""
    return float(np.add.accumulate(np.append(float(total), values))[-1])


class RecentMean:
    """The mean of the last 5,000 values, or up to 500 fewer: they go in bins, the oldest first.

    Parameters
    ----------
    bins : sequence of (n, total)
        How many values each bin has, and their sum; the last one may lack some.
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
