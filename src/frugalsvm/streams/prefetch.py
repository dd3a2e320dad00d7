"""Reading on a second thread, so that it overlaps with learning: parsers and learners hold no lock of Python's."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

from frugalsvm.exceptions import ParameterError
from frugalsvm.streams.batch import Batch
from frugalsvm.streams.stream_wrapper import StreamWrapper

# How often the thread looks whether it is still wanted while nobody takes its batches.
_PATIENCE_SECONDS = 0.1


class _Failure:
    def __init__(self, error: BaseException) -> None:
        self.error = error


class Prefetched(StreamWrapper):
    """A stream that reads ahead; made by `prefetched`."""

    def __init__(self, stream: Any, depth: int) -> None:
        super().__init__(stream)
        self.depth = depth

    def from_row(self, start: int) -> Prefetched:
        """The same stream, read from another row on."""
        return Prefetched(self.stream.from_row(start), self.depth)

    def __iter__(self) -> Iterator[Batch]:
        ready: queue.Queue[Any] = queue.Queue(self.depth)
        stopped = threading.Event()
        thread = threading.Thread(target=_read_ahead, args=(self.stream, ready, stopped), daemon=True)
        thread.start()
        try:
            while (item := ready.get()) is not None:
                if isinstance(item, _Failure):
                    raise item.error
                yield item
        finally:
            stopped.set()
            # A thread that waits for a silent pipe cannot be woken; it ends with the pipe or the process.
            thread.join(timeout=2 * _PATIENCE_SECONDS)


def _read_ahead(stream: Any, ready: queue.Queue[Any], stopped: threading.Event) -> None:
    def put(item: Any) -> bool:
        while not stopped.is_set():
            try:
                ready.put(item, timeout=_PATIENCE_SECONDS)
                return True
            except queue.Full:
                continue
        return False

    batches: Any = None
    try:
        batches = iter(stream)
        for batch in batches:
            if not put(batch):
                return
        put(None)
    except BaseException as error:  # all of them: whatever stops the reading is for the consumer to see
        put(_Failure(error))
    finally:
        # Closes files now, not when the generator happens to be collected.
        if hasattr(batches, "close"):
            batches.close()


def prefetched(stream: Any, depth: int = 2) -> Prefetched:
    """Read a stream on a second thread, up to ``depth`` batches ahead.

    Batches and errors come in the same order as without. When the consumer stops early, the thread ends. What is
    counted meanwhile (`Stream.n_bad`) is as far ahead as the reading.

    Parameters
    ----------
    stream : Stream
        What to read.
    depth : int, default=2
        How many batches may wait.

    Returns
    -------
    Prefetched
        Has the attributes of `Stream`.

    Examples
    --------
    >>> import io
    >>> from frugalsvm.streams import open_stream, prefetched
    >>> stream = open_stream(io.BytesIO(b"x,y\\n1,0\\n2,0\\n3,1\\n4,1\\n"), format="csv", batch_rows=3)
    >>> [(batch.start, batch.n_rows) for batch in prefetched(stream)]
    [(0, 3), (3, 1)]
    """
    if depth < 1:
        raise ParameterError("depth", depth, "at least 1")
    return Prefetched(stream, depth)
