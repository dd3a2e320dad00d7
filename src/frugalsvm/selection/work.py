"""How long fits take, about, and what is left of a limit of time.

Estimates are in seconds of a usual core. What this machine takes for as much work is found on the way: a clock compares
what was foreseen with what it took.
"""

import math
import time
from statistics import median

__all__ = ["CELLS", "LOW_RANK", "Clock", "cell_work", "fit_work", "largest_within"]

CELLS, LOW_RANK = "cells", "low rank"  # kinds of work


def fit_work(n_rows: int, n_landmarks: int, n_outputs: int) -> float:
    """A fit of a low-rank machine: passes over kernel values, and factorizations."""
    passes = 2e-8 * n_rows * n_landmarks * n_outputs * (1.0 + n_landmarks / 4096)
    return passes + 2e-9 * n_rows * n_landmarks + 4e-10 * n_landmarks**3


def cell_work(n_rows: int, size: int) -> float:
    """Machines of all rows, in cells of a size: factors and inverses, kernel values."""
    return 4e-11 * n_rows * size**2 + 4e-9 * n_rows * size


def largest_within(sizes: tuple[int, ...], work, limit: float) -> int:
    """The largest of some increasing sizes whose work is within a limit, or the smallest."""
    return max((size for size in sizes if work(size) <= limit), default=sizes[0])


class Clock:
    """What is left of a limit of time, and how much work fits in; without a limit, everything does.

    Estimates use what was measured: the median ratio of time and work, of the same kind or else of any. Code that is
    compiled on the way makes for a few large ones.
    """

    def __init__(self, limit: float | None = None, now=time.perf_counter):
        self.limit, self._now, self._start = limit, now, now()
        self._ratios: dict[str, list[float]] = {}  # seconds for a unit of work, by kind

    @property
    def spent(self) -> float:
        return self._now() - self._start

    @property
    def left(self) -> float:
        return math.inf if self.limit is None else self.limit - self.spent

    def seconds_for(self, kind: str, work: float) -> float:
        """What so much work will take."""
        return work * self.ratio(kind)

    def ratio(self, kind: str) -> float:
        """How many seconds this machine takes for one of a usual core."""
        every = [ratio for ratios in self._ratios.values() for ratio in ratios]
        return median(self._ratios.get(kind) or every or [1.0])

    def measure(self, kind: str, work: float, seconds: float) -> None:
        """Remember how long work of a kind has taken."""
        self._ratios.setdefault(kind, []).append(seconds / work)

    def fits(self, seconds: float, reserve: float = 0.0) -> bool:
        """Whether there is time for ``seconds``, and for a reserve after them."""
        return self.left >= seconds + reserve
