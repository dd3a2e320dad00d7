"""The training loop: test, then learn, batch after batch; checkpoints; and an end that loses nothing."""

import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Every", "Interruption", "Progress", "labels_of", "learn_stream", "rows_of"]


class Every(NamedTuple):
    """How often a checkpoint is written: after so many examples, or so many seconds."""

    rows: int | None = None
    seconds: float | None = None

    @classmethod
    def parsed(cls, text: str | None) -> "Every":
        """From ``100000`` (examples), ``30s`` or ``5m``."""
        if text is None:
            return cls()
        try:
            if text[-1:] in ("s", "m"):
                return cls(seconds=float(text[:-1]) * (60 if text.endswith("m") else 1))
            return cls(rows=int(float(text)))
        except ValueError:
            raise ValueError(
                f"--checkpoint-every {text!r} is not a number of examples, or a time such as 30s."
            ) from None


class Progress:
    """What has been learned so far; counts survive in checkpoints."""

    def __init__(self, counts: dict[str, Any] | None = None):
        counts = counts or {}
        self.rows: int = counts.get("rows", 0)  # examples read
        self.tested: int = counts.get("tested", 0)  # predicted before they were learned
        self.right: int = counts.get("right", 0)
        self.seconds: float = 0.0  # of learning, since this process began
        self.learned: int = 0  # examples, since this process began

    @property
    def accuracy(self) -> float:
        """Share of examples that were predicted right before they were learned."""
        return self.right / self.tested if self.tested else float("nan")

    @property
    def speed(self) -> float:
        """Examples per second."""
        return self.learned / self.seconds if self.seconds else float("nan")

    def counts(self) -> dict[str, int]:
        return {"rows": self.rows, "tested": self.tested, "right": self.right}


class Interrupted(Exception):
    """Somebody has asked the program to end while it waited for data."""


class Interruption:
    """Whether somebody has asked the program to end."""

    signal_number: int | None = None
    _waits = False

    @contextmanager
    def watched(self):
        """Note SIGINT, SIGTERM and SIGHUP instead of ending at once; a second Ctrl-C ends at once."""
        before = {number: signal.signal(number, self._note) for number in _signals_to_note()}
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _note(self, number, frame):
        if self.signal_number is not None:
            # Only a person means it: terminals and schedulers tell a process, and its group as well.
            if number == signal.SIGINT == self.signal_number:
                raise KeyboardInterrupt
            return
        self.signal_number = number
        if self._waits:
            raise Interrupted

    def next_of(self, iterator: Iterator) -> Any:
        """The next of an iterator; None at its end, or if the program is to end while it waits."""
        try:
            try:
                self._waits = self.signal_number is None
                return next(iterator, None) if self._waits else None
            finally:
                self._waits = False  # a signal may still come right before this
        except Interrupted:
            return None


def _signals_to_note() -> list[signal.Signals]:
    """Requests to end; not those that the process was started to ignore, as ``nohup`` does."""
    names = ("SIGINT", "SIGTERM", "SIGHUP")  # there is no SIGHUP on Windows
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    return [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]


def learn_stream(
    model: Any,
    batches: Iterable,
    progress: Progress,
    *,
    classes: Any = None,
    test: bool = True,
    every: Every = Every(),  # noqa: B008 - it is immutable
    checkpoint: Callable[[], None] | None = None,
    show: Callable[[], None] | None = None,
    interruption: Interruption | None = None,
) -> None:
    """Learn all batches, each after predicting it."""
    saved_rows, saved_at = progress.rows, time.monotonic()
    iterator, interruption = iter(batches), interruption or Interruption()
    while (batch := interruption.next_of(iterator)) is not None:
        start = time.perf_counter()
        labels = labels_of(batch)
        if test and hasattr(model, "classes_") and progress.rows:
            progress.right += int(np.count_nonzero(model.predict(rows_of(batch)) == labels))
            progress.tested += batch.n_rows
        model.partial_fit(rows_of(batch), labels, classes=classes, sample_weight=batch.weights)
        progress.rows = batch.end
        progress.learned += batch.n_rows
        progress.seconds += time.perf_counter() - start
        if show is not None:
            show()
        if interruption.signal_number is not None:
            return
        if checkpoint is not None and _is_due(every, progress.rows - saved_rows, time.monotonic() - saved_at):
            checkpoint()
            saved_rows, saved_at = progress.rows, time.monotonic()


def rows_of(batch: Any) -> Any:
    """What a pipeline takes: the numbers, with the columns of text if there are any."""
    return batch.X if batch.columns is None else (batch.X, batch.columns)


def labels_of(batch: Any) -> np.ndarray:
    """Labels; numbers without fractions, which text files have as well, are integers."""
    y = batch.y
    if y.dtype.kind != "f":
        return y.astype(str) if y.dtype.kind == "O" else y
    whole = y.astype(np.int64)
    return whole if np.array_equal(whole, y) else y


def _is_due(every: Every, rows: int, seconds: float) -> bool:
    return (every.rows is not None and rows >= every.rows) or (every.seconds is not None and seconds >= every.seconds)
