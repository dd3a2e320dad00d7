"""The training loop: test, then learn, batch after batch; checkpoints; and an end that loses nothing."""

import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.cli.pipes import Pipe
from frugalsvm.streams import StreamError
from frugalsvm.streams.batch import rows_between

__all__ = ["BLOCK_ROWS", "Every", "Interruption", "Progress", "labels_of", "learn_stream", "rows_of"]

# Models do not depend on where batches end if that is at multiples of this: checkpoints are written there.
BLOCK_ROWS = 64


_SECONDS = {"s": 1, "m": 60, "h": 3600}


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
            unit = _SECONDS.get(text[-1:])
            found = cls(rows=int(float(text))) if unit is None else cls(seconds=float(text[:-1]) * unit)
        except (ValueError, OverflowError):
            found = cls()
        if not (found.rows or 0) > 0 and not (found.seconds or 0) > 0:  # neither is a number above 0
            raise ValueError(
                f"--checkpoint-every {text}: give a number of examples, such as 100000, or a time: 30s, 5m, 2h."
            )
        return found

    def due_row(self, progress: "Progress", block: int) -> int:
        """The row at whose end a checkpoint is due by number: the first end of a block there or after it."""
        assert self.rows is not None
        n_lacking = (progress.saved // self.rows + 1) * self.rows - progress.total
        return -(-(progress.rows + max(n_lacking, 1)) // block) * block


class Progress:
    """What has been learned so far; counts survive in checkpoints."""

    def __init__(self, counts: dict[str, Any] | None = None):
        counts = counts or {}
        self.rows: int = counts.get("rows", 0)  # examples read, in this pass
        self.total: int = counts.get("total", self.rows)  # examples learned, in all passes
        self.seen: int = counts.get("seen", self.rows)  # rows of the first pass that were predicted, if they could be
        self.tested: int = counts.get("tested", 0)  # predicted before they were learned
        self.right: int = counts.get("right", 0)
        self.saved: int = self.total  # examples in the last checkpoint
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
        return {name: getattr(self, name) for name in ("rows", "total", "seen", "tested", "right")}


class Interrupted(Exception):
    """Somebody has asked the program to end while it waited for data."""


class Interruption:
    """Whether somebody has asked the program to end; a pipe is told, and what it has brought is still learned."""

    def __init__(self, pipe: Pipe | None = None):
        self.signal_number: int | None = None
        self._pipe = pipe
        self._waits = False

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
        if self._pipe is not None:
            self._pipe.end()
        elif self._waits:
            raise Interrupted

    @property
    def ends_now(self) -> bool:
        """Whether to stop after this batch. A pipe ends by itself: its rows cannot be read again."""
        return self.signal_number is not None and self._pipe is None

    def each(self, batches: Iterable) -> Iterator:
        """The batches, up to their end or to the moment when the program is to end."""
        iterator = iter(batches)
        while (batch := self._next_of(iterator)) is not None:
            yield batch

    def _next_of(self, iterator: Iterator) -> Any:
        try:
            try:
                self._waits = not self.ends_now
                return next(iterator, None) if self._waits else None
            finally:
                self._waits = False  # a signal may still come right before this
        except Interrupted:
            return None
        except StreamError:
            if self._pipe is not None and self.signal_number is not None:
                return None  # compressed data, or a table, that was cut off where the pipe was told to end
            raise


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
    block: int = BLOCK_ROWS,
    checkpoint: Callable[[], None] | None = None,
    show: Callable[[], None] | None = None,
    learned: Callable[[Any], None] | None = None,
    interruption: Interruption | None = None,
) -> None:
    """Learn all batches, each after predicting it; ``learned`` is called with the rows of each part of a batch.

    Parts end where a checkpoint is due, at multiples of ``block``, so that the model is the same without checkpoints.
    """
    saved_at = time.monotonic()
    first_part = _after_warm_up(model, block)
    for batch in batches:
        start = time.perf_counter()
        if test:
            _test(model, batch, progress)
        while progress.rows < batch.end:
            end = first_part if progress.rows < first_part else batch.end
            if every.rows is not None and checkpoint is not None:
                end = min(end, every.due_row(progress, block))
            part = rows_between(batch, progress.rows - batch.start, min(end, batch.end) - batch.start)
            model.partial_fit(rows_of(part), labels_of(part), classes=classes, sample_weight=part.weights)
            progress.rows = part.end
            progress.total += part.n_rows
            progress.learned += part.n_rows
            if learned is not None:
                learned(part)
            if checkpoint is not None and _is_due(every, progress, block, batch.end, time.monotonic() - saved_at):
                progress.seconds += time.perf_counter() - start
                checkpoint()
                start, saved_at = time.perf_counter(), time.monotonic()
        progress.seconds += time.perf_counter() - start
        if show is not None:
            show()
        if interruption is not None and interruption.ends_now:
            return


def _after_warm_up(model: Any, block: int) -> int:
    """The first row that every run begins a part with: where a pipeline ends its warm-up is no end of a block."""
    return -(-getattr(model, "warmup_rows", 0) // block) * block


def _test(model: Any, batch: Any, progress: Progress) -> None:
    """Predict a batch, unless that was done before the run was interrupted in the middle of it."""
    rows = rows_between(batch, max(progress.seen - batch.start, 0), batch.n_rows)
    if rows.n_rows and progress.rows and hasattr(model, "classes_"):
        progress.right += int(np.count_nonzero(model.predict(rows_of(rows)) == labels_of(rows)))
        progress.tested += rows.n_rows
    progress.seen = max(progress.seen, batch.end)


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


def _is_due(every: Every, progress: Progress, block: int, batch_end: int, seconds: float) -> bool:
    """Whether a checkpoint is due at the end of a part; batches end at blocks, except for the last of a pass."""
    if every.rows is not None:
        at_block = progress.rows % block == 0 or progress.rows == batch_end
        return at_block and progress.total // every.rows > progress.saved // every.rows
    return every.seconds is not None and progress.rows == batch_end and seconds >= every.seconds
