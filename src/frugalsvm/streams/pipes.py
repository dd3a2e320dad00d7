"""A pipe that can be told to end: what has come by then is read up to its last whole line, as at the end of a file.

A run that waits for rows and is asked to end must not lose those that it has. They may be anywhere between the pipe and
the learner: in a block of text that is not full yet, or in a batch. An end of the pipe brings all of them there.
"""

import io
import os
import select
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

from frugalsvm.streams.batch import stacked

PIPE_ROWS = 256  # rows that are read from a pipe before somebody looks at them
_READ_BYTES = 1 << 16
_LONGEST_LINE = 1 << 24  # what is held back at most; data without line ends passes through


def is_read_once(source: Any) -> bool:
    """Whether rows come from standard input or a named pipe, which cannot be read a second time."""
    if not isinstance(source, str):
        return False
    return source == "-" or _is_fifo(source)


def _is_fifo(path: str) -> bool:
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except OSError:
        return False


def pipe_for(source: Any) -> "Pipe | None":
    """The pipe that a source is; None for files, and where pipes cannot be waited for."""
    if os.name != "posix" or not is_read_once(source):
        return None
    if source != "-":
        return Pipe(os.open(source, os.O_RDONLY), source)
    try:
        return Pipe(sys.stdin.fileno(), "standard input")
    except (AttributeError, OSError, ValueError):  # something else than a file stands in for it
        return None


class Pipe(io.RawIOBase):
    """Reads a pipe as rows come, and ends early if it is told to.

    Parameters
    ----------
    descriptor : int
    name : str
        For messages.
    """

    def __init__(self, descriptor: int, name: str):
        self.name, self._descriptor = name, descriptor
        self._woken, self._waker = os.pipe()
        self._ready = self._begun = b""
        self._is_over = False
        self.n_lines = 0  # that have come

    def end(self) -> None:
        """End as soon as all whole lines that were read are out; may be called by a handler of signals."""
        os.write(self._waker, b"\0")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Bytes of whole lines, as soon as there are some; none at the end."""
        while not self._ready and not self._is_over:
            self._fetch()
        taken, self._ready = self._ready[: len(buffer)], self._ready[len(buffer) :]
        buffer[: len(taken)] = taken
        return len(taken)

    def _fetch(self) -> None:
        """Wait for bytes. A line that is not whole waits for its end: a part of one can look like a row."""
        readable, _, _ = select.select([self._descriptor, self._woken], [], [])
        if self._woken in readable:
            self._is_over = True
            return
        chunk = os.read(self._descriptor, _READ_BYTES)
        n_whole = chunk.rfind(b"\n") + 1
        if not chunk:
            self._ready, self._begun, self._is_over = self._begun, b"", True
        elif n_whole:
            self._ready, self._begun = self._begun + chunk[:n_whole], chunk[n_whole:]
            self.n_lines += chunk.count(b"\n")
        else:
            self._begun += chunk
            if len(self._begun) > _LONGEST_LINE:
                self._ready, self._begun = self._begun, b""


def grouped(batches: Iterable, rows: int, *, hasty_after: int | None, patience: float = 5.0) -> Iterator:
    """Batches that end at multiples of ``rows``, from small ones.

    After ``hasty_after`` of them (None is never), those that take longer than ``patience`` seconds to come together are
    given as they are: what a slow pipe brings is learned, shown and saved soon.
    """
    waiting: list = []
    began = time.monotonic()
    for batch in batches:
        waiting.append(batch)
        is_slow = hasty_after is not None and batch.end > hasty_after * rows and time.monotonic() - began > patience
        if batch.end % rows == 0 or is_slow:
            yield stacked(waiting)
            waiting, began = [], time.monotonic()
    if waiting:
        yield stacked(waiting)
