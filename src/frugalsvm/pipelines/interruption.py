"""A request to end, by Ctrl-C or a signal, that loses nothing of what was learned."""

import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from frugalsvm.streams import StreamError
from frugalsvm.streams.pipes import Pipe


class _Interrupted(Exception):
    """Somebody has asked the program to end while it waited for data."""


class Interruption:
    """Whether somebody has asked the program to end; a pipe is ended, and what it has brought is still learned."""

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
            raise _Interrupted

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
        except _Interrupted:
            return None
        except StreamError:
            if self._pipe is not None and self.signal_number is not None:
                return None  # compressed data, or a table, that was cut off where the pipe was ended
            raise


def _signals_to_note() -> list[signal.Signals]:
    """Requests to end; not those that the process was started to ignore, as ``nohup`` does."""
    names = ("SIGINT", "SIGTERM", "SIGHUP")  # there is no SIGHUP on Windows
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    return [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
