"""Whether rows are ordered by their labels: neighbors have the same label far more often than by chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from frugalsvm.streams.batch import Batch
from frugalsvm.streams.stream_wrapper import StreamWrapper

__all__ = ["LabelOrder", "Watched"]

# A series whose labels stay for a while is no sorted file: they change a third as often as by chance, or more.
_SHARE = 0.1
_LEAST_EXPECTED = 8.0


class LabelOrder:
    """Counts how often the label changes from one row to the next.

    Examples
    --------
    >>> from frugalsvm.streams.label_order import LabelOrder
    >>> order = LabelOrder()
    >>> order.add(["a"] * 50 + ["b"] * 50)
    >>> order.n_changes, order.expected_changes, order.is_sorted
    (1, 50.0, True)
    """

    def __init__(self) -> None:
        self.counts: Counter[Any] = Counter()
        self.n_changes = 0
        self._last: Any = None

    def add(self, labels: Any) -> None:
        """Take the next labels in."""
        labels = np.asarray(labels)
        if not len(labels):
            return
        if self.counts and labels[0] != self._last:
            self.n_changes += 1
        self.n_changes += int(np.count_nonzero(labels[1:] != labels[:-1]))
        values, counts = np.unique(labels.astype(str) if labels.dtype.kind == "O" else labels, return_counts=True)
        self.counts.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))
        self._last = labels[-1]

    @property
    def n_rows(self) -> int:
        """Rows so far."""
        return self.counts.total()

    @property
    def expected_changes(self) -> float:
        """How often the label would change if the rows were in random order."""
        n = self.n_rows
        return (n * (n - 1) - sum(c * (c - 1) for c in self.counts.values())) / n if n else 0.0

    @property
    def is_sorted(self) -> bool:
        """Whether there is an order by label; one class alone has none."""
        expected, n_classes = self.expected_changes, len(self.counts)
        if n_classes < 2 or expected < _LEAST_EXPECTED:
            return False
        all_together = self.n_changes == n_classes - 1 and expected > 2 * n_classes + _LEAST_EXPECTED
        return all_together or self.n_changes <= _SHARE * expected


class Watched(StreamWrapper):
    """A stream whose labels are looked at on their way; ``order`` is that of the latest pass, so far.

    Without ``looks`` they are not: numbers have no order by label.
    """

    def __init__(self, stream: Any, *, looks: bool = True) -> None:
        super().__init__(stream)
        self.looks = looks
        self.order = LabelOrder()
        self.was_told = False  # of an order, by whoever looks at it

    def from_row(self, start: int) -> Watched:
        """The same stream, read from another row on."""
        return Watched(self.stream.from_row(start), looks=self.looks)

    def __iter__(self) -> Iterator[Batch]:
        self.order = LabelOrder()
        return self._looked_at(self.order)

    def _looked_at(self, order: LabelOrder) -> Iterator[Batch]:
        for batch in self.stream:
            if self.looks and batch.y is not None:
                order.add(batch.y)
            yield batch
