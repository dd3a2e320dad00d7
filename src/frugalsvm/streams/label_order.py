"""Whether rows are ordered by their labels: these change, or turn, far less often than by chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from frugalsvm.streams.batch import Batch
from frugalsvm.streams.stream_wrapper import StreamWrapper

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

    @property
    def words(self) -> str:
        """What was counted."""
        return f"{self.n_changes:,} changes of the label in {self.n_rows:,} rows"


class NumberOrder:
    """Counts how often numbers go up and down from one row to the next, and keeps none of them.

    Examples
    --------
    >>> from frugalsvm.streams.label_order import NumberOrder
    >>> order = NumberOrder()
    >>> order.add([1.0, 2.0, 2.0] + list(range(3, 50)))
    >>> order.n_up, order.n_down, order.is_sorted
    (48, 0, True)
    """

    def __init__(self) -> None:
        self.counts: Counter[Any] = Counter()  # there are no classes
        self.n_rows = self.n_up = self.n_down = 0
        self._last = np.nan

    def add(self, labels: Any) -> None:
        """Take the next numbers in; text has no such order."""
        labels = np.asarray(labels)
        if labels.dtype.kind not in "iuf":
            return
        steps = np.diff(labels, prepend=self._last)
        self.n_up += int(np.count_nonzero(steps > 0))
        self.n_down += int(np.count_nonzero(steps < 0))
        self.n_rows += len(labels)
        self._last = labels[-1] if len(labels) else self._last

    @property
    def is_sorted(self) -> bool:
        """Whether nearly all steps go one way; by chance, and in series, half of them do."""
        expected = 0.5 * (self.n_up + self.n_down)
        return expected >= _LEAST_EXPECTED and min(self.n_up, self.n_down) <= _SHARE * expected

    @property
    def words(self) -> str:
        """What was counted."""
        return f"of {self.n_rows:,} labels {self.n_up:,} are above the one before, {self.n_down:,} below"


class Watched(StreamWrapper):
    """A stream whose labels are looked at on their way; ``order`` is that of the latest pass, so far.

    ``of_numbers`` tells whether they are numbers; with None they may be classes as well, until `settle` is called.
    """

    def __init__(self, stream: Any, *, of_numbers: bool | None = False) -> None:
        super().__init__(stream)
        self._of_numbers = of_numbers
        self._orders = self._new_orders()
        self.is_reported = False  # an order, by whoever looks at it

    def _new_orders(self) -> list[LabelOrder | NumberOrder]:
        if not self.is_settled:
            return [LabelOrder(), NumberOrder()]
        return [NumberOrder() if self._of_numbers else LabelOrder()]

    @property
    def order(self) -> LabelOrder | NumberOrder:
        """The order of the labels; before it is settled what they are, that of classes."""
        return self._orders[0]

    @property
    def is_settled(self) -> bool:
        """Whether it is known what the labels are."""
        return self._of_numbers is not None

    def settle(self, *, of_numbers: bool) -> None:
        """Say what the labels are: counts of all different numbers of a long stream would fill the memory."""
        if not self.is_settled:
            self._of_numbers = of_numbers
            del self._orders[0 if of_numbers else 1]

    def from_row(self, start: int) -> Watched:
        """The same stream, read from another row on."""
        return Watched(self.stream.from_row(start), of_numbers=self._of_numbers)

    def __iter__(self) -> Iterator[Batch]:
        self._orders = self._new_orders()
        return self._looked_at(self._orders)

    def _looked_at(self, orders: list[LabelOrder | NumberOrder]) -> Iterator[Batch]:
        for batch in self.stream:
            for order in orders if batch.y is not None else ():
                order.add(batch.y)
            yield batch
