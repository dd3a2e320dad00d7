"""When and how the concept of a drifting stream changes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalsvm.datasets._blocks import check_at_least

DRIFTS = ("none", "abrupt", "gradual", "recurring", "incremental")


class Schedule:
    """The concept of every row."""

    def __init__(self, drift: str, changes: int | Sequence[int], width: int, n_concepts: int) -> None:
        if drift not in DRIFTS:
            raise ValueError(f"drift must be one of {', '.join(DRIFTS)}, got {drift!r}")
        check_at_least("width", width, 1)
        check_at_least("n_concepts", n_concepts, 2)
        self._drift, self._width, self._n_concepts = drift, width, n_concepts
        self._every = 0
        self._changes = np.empty(0, dtype=np.int64)
        if np.ndim(changes) == 0:
            check_at_least("changes", changes, 1)  # type: ignore[arg-type]
            self._every = int(changes)  # type: ignore[arg-type]
            shortest: float = self._every
        else:
            self._changes = _increasing(changes)
            shortest = np.diff(self._changes).min() if len(self._changes) > 1 else np.inf
        if drift == "gradual" and width > shortest:
            raise ValueError(f"width must be at most the number of rows between two changes, {shortest}, got {width}")

    def concepts(self, positions: NDArray[np.int64], gates: NDArray[np.floating]) -> NDArray[np.float64]:
        """Concepts of rows; ``gates`` are uniform numbers that decide in gradual changes."""
        if self._drift == "gradual":
            number, share = self._last_change(positions)
            return (number - (gates >= share)).astype(np.float64)
        return self.mean_concepts(positions)

    def mean_concepts(self, positions: NDArray[np.int64]) -> NDArray[np.float64]:
        if self._drift == "none":
            return np.zeros(positions.shape)
        if self._drift == "incremental":
            return self._between_changes(positions)
        number, share = self._last_change(positions)
        if self._drift == "gradual":
            return number - 1.0 + share
        return (number % self._n_concepts if self._drift == "recurring" else number).astype(np.float64)

    def _last_change(self, positions: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """How many changes there were, and how far the last one has come."""
        if self._every:
            number = positions // self._every
            begun = number * self._every
        else:
            number = np.searchsorted(self._changes, positions, side="right")
            begun = np.concatenate([[0], self._changes])[number]
        share = np.minimum((positions - begun) / self._width, 1.0)
        return number, np.where(number == 0, 1.0, share)

    def _between_changes(self, positions: NDArray[np.int64]) -> NDArray[np.float64]:
        if self._every:
            return positions / self._every
        whole = np.arange(len(self._changes) + 1.0)
        return np.interp(positions, np.concatenate([[0], self._changes]), whole)


def _increasing(changes: Any) -> NDArray[np.int64]:
    positions = np.asarray(changes)
    if positions.ndim != 1 or len(positions) == 0 or positions.dtype.kind not in "iu":
        raise ValueError(f"changes must be a number of rows, or positions of rows, got {changes!r}")
    if positions[0] < 1 or (np.diff(positions) < 1).any():
        raise ValueError(f"changes must be positive and increasing, got {changes!r}")
    return positions.astype(np.int64)
