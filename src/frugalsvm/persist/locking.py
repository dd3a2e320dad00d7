"""One writer for each file: two trainings into one output would overwrite each other's checkpoints."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["OutputLockedError", "locked"]

# Errors of file systems that have no locks: then there is none.
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}


class OutputLockedError(OSError):
    """Another process writes the same file."""


@contextmanager
def locked(path: str | os.PathLike) -> Iterator[None]:
    """Keep other processes from writing a file; they get an `OutputLockedError` with a sentence.

    The system holds the lock on a small file beside it, ``.name.lock``, and gives it up when the process ends, however
    that happens. The small file is removed at the end; one that a killed process leaves locks nothing.
    """
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".{target.name}.lock")
    descriptor = _taken(beside, path)
    try:
        yield
    finally:
        if descriptor is not None:
            with suppress(OSError):
                beside.unlink()  # while it is locked: whoever waits for it sees that it is gone
            os.close(descriptor)


def _taken(beside: Path, path: str | os.PathLike) -> int | None:
    """The locked file; None where there are no locks."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    while True:
        descriptor = os.open(beside, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            owner = os.pread(descriptor, 20, 0).decode(errors="replace").strip()
            os.close(descriptor)
            if error.errno in _NO_LOCKS:
                return None
            who = f"process {owner}" if owner.isdigit() else "another process"
            message = f"{os.fspath(path)} is being written by {who}: wait for it, or choose another output."
            raise OutputLockedError(errno.EBUSY, message) from None
        if _is_still(descriptor, beside):
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"{os.getpid()}\n".encode())
            return descriptor
        os.close(descriptor)  # the one who had it has removed it meanwhile


def _is_still(descriptor: int, beside: Path) -> bool:
    """Whether the name still means the file that was opened."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(beside))
    except FileNotFoundError:
        return False
