"""One process at a time writes a file: others wait."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

__all__ = ["one_writer"]


@contextmanager
def one_writer(path: str | os.PathLike) -> Iterator[None]:
    """Context that one process at a time is in, for a file.

    The system locks a file beside it, ``path + ".lock"``, and unlocks it when the process ends, however that happens;
    the file stays. Where the system has no such locks (Windows, some network file systems), no process waits.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    descriptor = os.open(f"{os.fspath(path)}.lock", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)  # which unlocks it
