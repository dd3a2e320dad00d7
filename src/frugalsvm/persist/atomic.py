"""Files that are replaced as a whole or not at all, whatever happens meanwhile, and by one process at a time."""

import errno
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


def previous_of(path: str | os.PathLike) -> Path:
    """Where the file before this one is kept."""
    path = Path(path)
    return path.with_name(path.name + ".previous")


def check_writable(path: str | os.PathLike) -> None:
    """Raise an `OSError` now, not when there is a model to lose, if a file cannot be written there.

    An empty file is made beside it and removed again: permissions alone do not tell of file systems that are read-only
    or names that are too long.
    """
    target = _target_of(path)
    temporary = _temporary_beside(target)
    with _errors_in_words(path, target, "The model"):
        os.close(_created(temporary))
        temporary.unlink()


def write_atomically(
    path: str | os.PathLike, write: Callable[[BinaryIO], None], *, keep_previous: bool = False, what: str = "The model"
) -> None:
    """Write a file in another place beside it, and put it in place when it is safely on the disk.

    It has the permissions of the file that it replaces: what only its owner may read stays so. ``write`` gets an open
    binary file, for writing and reading. With ``keep_previous``, the file that was there is kept as
    ``path + ".previous"``. ``what`` is what is written, for messages.
    """
    target = _target_of(path)
    _remove_leftovers(target)
    temporary = _temporary_beside(target)
    with _errors_in_words(path, target, what):
        try:
            with open(_created(temporary, like=target), "w+b") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            if keep_previous and target.exists():
                _keep(target)
            os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
    _sync_folder(target.parent)


def _target_of(path: str | os.PathLike) -> Path:
    """The file to replace: where a link leads to, so that a link stays a link."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        message = f"The model cannot be saved as {os.fspath(path)!r}: that is a folder."
        raise IsADirectoryError(errno.EISDIR, message)
    if target.exists() and not target.is_file():  # a device or a pipe would be replaced by a file
        message = f"The model cannot be saved as {os.fspath(path)!r}: that is something else than a file."
        raise OSError(errno.EINVAL, message)
    return target


def _temporary_beside(target: Path) -> Path:
    return target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")


def _created(path: Path, *, like: Path | None = None) -> int:
    """A new file, with the permissions of another one if that is there, and else with those of any new file here."""
    mode = None
    with suppress(OSError):
        mode = stat.S_IMODE(os.stat(like).st_mode) if like is not None else None
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, 0o666 if mode is None else mode & 0o666)
    if mode is not None and hasattr(os, "fchmod"):
        with suppress(OSError):  # some file systems have no permissions
            os.fchmod(descriptor, mode)
    return descriptor


@contextmanager
def _errors_in_words(path: str | os.PathLike, target: Path, what: str) -> Iterator[None]:
    """Errors of the system that say which file could not be saved, and what is there now."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        state = "the file that was there is unchanged" if target.exists() else "nothing was written"
        message = f"{what} could not be saved to {os.fspath(path)!r}: {reason}; {state}."
        raise type(error)(error.errno, message) from error


def _keep(target: Path) -> None:
    """Make ``.previous`` another name of the present file, so that there is a file at both names at every moment."""
    link = _temporary_beside(target)
    try:
        os.link(target, link)
    except OSError:  # a file system without links: for a moment there is only the previous file
        os.replace(target, previous_of(target))
        return
    try:
        os.replace(link, previous_of(target))
    finally:
        # Where both were the same file already, replacing does nothing and leaves the link.
        with suppress(OSError):
            link.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Make the new name durable, where folders can be synchronized."""
    if os.name == "posix":
        # Some network file systems refuse, and so do folders that may not be listed; the file itself is on the disk.
        with suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _remove_leftovers(target: Path) -> None:
    """Remove what processes that were killed while they saved left behind."""
    if os.name != "posix":  # elsewhere, asking whether a process lives may end it
        return
    pattern = re.compile(re.escape(f".{target.name}.") + r"(\d+)-[0-9a-f]{8}\.tmp")
    with suppress(OSError):
        for name in os.listdir(target.parent):
            match = pattern.fullmatch(name)
            if match and not _is_alive(int(match[1])):
                with suppress(OSError):
                    target.with_name(name).unlink()


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


# --- one writer: two trainings into one output would overwrite each other's checkpoints ------------------------------

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
