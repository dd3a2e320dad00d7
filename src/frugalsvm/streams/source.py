"""Where bytes come from: paths, pipes and file objects, decompressed on the way, and what format they are in."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from frugalsvm.streams.bad_lines import StreamError

_MAGIC = {
    "gz": b"\x1f\x8b",
    "bz2": b"BZh",
    "xz": b"\xfd7zXZ\x00",
    "zst": b"\x28\xb5\x2f\xfd",
}
COMPRESSIONS = tuple(_MAGIC)
_PEEKED_BYTES = 1 << 16


def imported_pyarrow(purpose: str) -> Any:
    """The module pyarrow, or an error that says how to get it."""
    try:
        import pyarrow
    except ImportError as error:
        message = f"{purpose} needs pyarrow, which is not installed: pip install 'frugalsvm[streams]'."
        raise ImportError(message) from error
    return pyarrow


class _Prepended(io.RawIOBase):
    """A file that cannot seek, with the bytes that were already read from it in front again."""

    def __init__(self, head: bytes, file: Any) -> None:
        self._head = head
        # One read of what is there: a live pipe must not wait for a full buffer.
        self._read = getattr(file, "read1", file.read)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._head:
            taken, self._head = self._head[: len(buffer)], self._head[len(buffer) :]
        else:
            taken = self._read(len(buffer)) or b""
        if not isinstance(taken, bytes):
            raise StreamError("The file object gives text; open it in binary mode.")
        buffer[: len(taken)] = taken
        return len(taken)


class _AsFile(io.RawIOBase):
    """The bytes of an opened source as a file, for libraries that want one."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        taken = self._opened.read(len(buffer))
        buffer[: len(taken)] = taken
        return len(taken)


class Opened:
    """Decompressed bytes of one source, with errors that name it."""

    def __init__(self, name: str, file: Any, closing: list[Any]) -> None:
        self.name = name
        self._read = getattr(file, "read1", file.read)
        self._closing = closing
        self.head = b""

    def read(self, n: int) -> bytes:
        """At most ``n`` bytes, as soon as there are some; none at the end."""
        if self.head:
            taken, self.head = self.head[:n], self.head[n:]
            return taken
        try:
            return self._read(n) or b""
        except StreamError:
            raise
        # Decompressors raise OSError, EOFError, zlib.error, lzma.LZMAError and pyarrow's own for damaged data.
        except Exception as error:
            raise StreamError(f"{self.name} is damaged or cut short: {error}") from error

    def peek(self) -> bytes:
        """The first bytes, up to the end of a line at least where that is near; they are read again later."""
        head = self.head
        self.head = b""
        while len(head) < _PEEKED_BYTES and (more := self.read(_PEEKED_BYTES)):
            head += more
            if b"\n" in more:
                break
        self.head = head
        return head

    def as_file(self) -> io.BufferedReader:
        """A file whose ``read(n)`` gives ``n`` bytes unless the source ends."""
        return io.BufferedReader(_AsFile(self), 1 << 16)

    def close(self) -> None:
        """Close what was opened here; a file object of the caller's stays open."""
        for file in self._closing:
            file.close()


class Source:
    """One location to read from: a path (or a member of a zip archive there), ``"-"``, or a binary file object."""

    def __init__(self, location: Any, member: str | None = None) -> None:
        self.path: Path | None = None
        self.member = member
        self._file: Any = None
        self._peeked: Opened | None = None
        self._spooled: Any = None
        self._used = False
        if isinstance(location, str) and location == "-":
            self.name, self._file = "standard input", sys.stdin.buffer
        elif isinstance(location, str | os.PathLike):
            self.path = Path(location)
            self.name = str(location) if member is None else f"{location}/{member}"
            if not self.path.exists():
                raise StreamError(f"{self.name} does not exist.")
            if self.path.is_dir():
                raise StreamError(f"{self.name} is a folder, and folders in folders are not read.")
        elif hasattr(location, "read"):
            self.name, self._file = str(getattr(location, "name", "the file object")), location
        else:
            raise TypeError(f"Expected a path, '-' or a binary file object, got {type(location).__name__}.")
        self.reopenable = self.path.is_file() if self.path else self.name != "standard input" and _can_seek(self._file)
        self._origin = self._file.tell() if self._file is not None and self.reopenable else 0

    @property
    def inner_path(self) -> Path:
        """The path whose name tells the format: that of the member in an archive."""
        return Path(self.member) if self.member else self.path or Path()

    @property
    def size(self) -> int | None:
        """Bytes on disk, or None where that is not known."""
        return self.path.stat().st_size if self.path and self.reopenable else None

    def open(self) -> Opened:
        """Begin to read, from the first byte; a pipe can be read once only."""
        if self._peeked is not None:
            opened, self._peeked = self._peeked, None
            return opened
        if self._used and not self.reopenable:
            raise StreamError(f"{self.name} can be read only once; save it to a file for another pass.")
        self._used = True
        try:
            return self._opened()
        except OSError as error:
            raise StreamError(f"{self.name} cannot be opened: {error.strerror or error}.") from error

    def _opened(self) -> Opened:
        file, closing = self._raw()
        if self.reopenable:
            file.seek(self._origin)
            head = file.read(8)
            file.seek(self._origin)
        else:
            head = b""
            while len(head) < 8 and (more := file.read(8 - len(head))):
                if not isinstance(more, bytes):
                    raise StreamError(f"{self.name} gives text; open it in binary mode.")
                head += more
            file = io.BufferedReader(_Prepended(head, file), 1 << 16)
        if not isinstance(head, bytes):
            raise StreamError(f"{self.name} gives text; open it in binary mode.")
        kind = _compression(head)
        self._check_name(kind, empty=not head)
        return Opened(self.name, _decompressed(kind, file), closing)

    def _raw(self) -> tuple[Any, list[Any]]:
        """The file as it is on the disk, and what is to be closed after reading."""
        if self.path is None:
            return self._file, []
        if self.member is None:
            file = open(self.path, "rb")  # noqa: SIM115 - closed by Opened
            return file, [file]
        try:
            archive = zipfile.ZipFile(self.path)
            member = archive.open(self.member)
        # A password, a method that is not known, and damage are errors of different kinds.
        except (RuntimeError, NotImplementedError, KeyError, zipfile.BadZipFile) as error:
            raise StreamError(f"{self.name} cannot be opened: {error}.") from error
        return member, [member, archive]

    def _check_name(self, kind: str | None, empty: bool) -> None:
        promised = self.inner_path.suffix[1:].lower()
        if promised in _MAGIC and promised != kind and not empty:
            raise StreamError(f"{self.name} is not {promised} data, although its name says so.")

    def peek(self) -> bytes:
        """The first decompressed bytes, without using them up."""
        opened = self.open()
        head = opened.peek()
        if self.reopenable:
            opened.close()
        else:
            self._peeked = opened
        return head

    def local_path(self) -> Path:
        """A plain file with the decompressed bytes, for formats that are read in any order.

        The file itself where it is one; otherwise a temporary copy that lives as long as this object.
        """
        if self._spooled is not None:
            return Path(self._spooled.name)
        if self.path and self.reopenable and self.member is None:
            with open(self.path, "rb") as file:
                kind = _compression(file.read(8))
            if kind is None:
                self._check_name(kind, empty=False)
                return self.path
        spooled = tempfile.NamedTemporaryFile(prefix="frugalsvm-", suffix=".spool")  # noqa: SIM115 - kept open
        opened = self.open()
        try:
            shutil.copyfileobj(opened.as_file(), spooled, 1 << 20)
            spooled.flush()
        except OSError as error:
            raise StreamError(f"{self.name} cannot be copied to a temporary file: {error}.") from error
        finally:
            opened.close()
        self._spooled = spooled
        return Path(spooled.name)


def _compression(head: bytes) -> str | None:
    kind = next((kind for kind, magic in _MAGIC.items() if head.startswith(magic)), None)
    # The letters alone could be the beginning of a word; a digit and six fixed bytes follow them.
    return None if kind == "bz2" and head[4:8] not in (b"1AY&", b"\x17rE8") else kind


def _can_seek(file: Any) -> bool:
    try:
        return bool(file.seekable())
    except (AttributeError, ValueError):
        return False


def _decompressed(kind: str | None, file: Any) -> Any:
    if kind == "gz":
        return gzip.GzipFile(fileobj=file)
    if kind == "bz2":
        return bz2.BZ2File(file)
    if kind == "xz":
        return lzma.LZMAFile(file)
    if kind == "zst":
        pyarrow = imported_pyarrow("Reading zst data")
        return pyarrow.CompressedInputStream(pyarrow.PythonFile(file, mode="r"), "zstd")
    return file
