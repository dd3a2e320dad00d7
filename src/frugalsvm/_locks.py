"""Models in several threads: any number of threads predict with one at once, and one at a time learns.

A prediction sees the model as it was before a batch or as it is after it, never in between. Each object has a lock of
its own, which is neither copied nor saved. A model within another (an estimator in a pipeline) has another lock, which
is always taken after that of the outer one.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import wraps
from threading import Condition, RLock, get_ident
from typing import Any, Concatenate, ParamSpec, TypeVar

__all__ = ["ReadWriteLock", "ThreadSafe", "exclusive", "exclusively", "shared", "sharing"]

P = ParamSpec("P")
R = TypeVar("R")


class ReadWriteLock:
    """Held by any number of readers or by one writer; a thread that holds it may take it again.

    Readers that come while a writer waits let it go first: otherwise there might always be one more of them.
    """

    __slots__ = ("_depth", "_left", "_writer", "readers", "turn")

    def __init__(self) -> None:
        self.turn = RLock()  # held by the writer, and by readers for the moment in which they enter
        self.readers: set[int] = set()  # threads; each is there once, however often it has taken the lock
        self._left = Condition()  # told when a reader leaves
        self._writer: int | None = None  # the thread that writes, or waits for readers to leave
        self._depth = 0  # how often it has taken the lock

    def leave(self, thread: int) -> None:
        """End the reading of a thread."""
        self.readers.discard(thread)
        if self._writer is not None:
            with self._left:
                self._left.notify_all()

    def __enter__(self) -> None:
        """Begin to write."""
        me = get_ident()
        if me in self.readers and self._writer != me:  # two such threads would wait for each other
            raise RuntimeError("A model cannot learn while the same thread predicts with it.")
        self.turn.acquire()
        self._writer, self._depth = me, self._depth + 1
        try:
            if self.readers:
                with self._left:
                    self._left.wait_for(lambda: self.readers <= {me})
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *error: object) -> None:
        """End writing."""
        self._depth -= 1
        if not self._depth:
            self._writer = None
        self.turn.release()


class ThreadSafe:
    """Base of objects with a lock: in a slot, where neither copies nor model files see it."""

    __slots__ = ("_lock",)
    _lock: ReadWriteLock

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        self = super().__new__(cls)
        self._lock = ReadWriteLock()
        return self

    def __getstate__(self) -> dict[str, Any]:
        return dict(vars(self))


def shared(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """A method of a `ThreadSafe` class that only reads the object: any number of threads may be in it."""

    @wraps(method)
    def reading(self: Any, *args: P.args, **kwargs: P.kwargs) -> R:
        lock, me = self._lock, get_ident()
        if me in lock.readers:
            return method(self, *args, **kwargs)
        try:
            with lock.turn:
                lock.readers.add(me)
            return method(self, *args, **kwargs)
        finally:
            lock.leave(me)

    return reading


def exclusive(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """A method of a `ThreadSafe` class that changes the object: others wait until it is done."""

    @wraps(method)
    def writing(self: Any, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._lock:
            return method(self, *args, **kwargs)

    return writing


def exclusively(model: Any) -> Any:
    """Context in which a model is changed; one without a lock is that of the caller alone."""
    return model._lock if isinstance(model, ThreadSafe) else nullcontext()


@contextmanager
def sharing(model: Any) -> Iterator[None]:
    """Context in which a model is read; one without a lock is that of the caller alone."""
    if not isinstance(model, ThreadSafe):
        yield
        return
    lock, me = model._lock, get_ident()
    is_first = me not in lock.readers
    try:
        with lock.turn:
            lock.readers.add(me)
        yield
    finally:
        if is_first:
            lock.leave(me)
