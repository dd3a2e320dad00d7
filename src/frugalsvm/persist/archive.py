"""The container of a model file: a ZIP archive of uncompressed JSON and NumPy arrays, with a checksum at the end.

Entries are stored as they are and start at multiples of 64 bytes, so that arrays can be mapped into memory. The
archive's comment is the SHA-256 of everything before the digest itself: no byte of a file can change unnoticed. Any ZIP
tool can look into the file; only archives that are written exactly as here are read.

Limits on what is read, so that a hostile file cannot take more memory than it has bytes: nothing is compressed, entries
do not overlap, the directory has at most ``MAX_DIRECTORY`` bytes and each JSON entry at most ``MAX_JSON``.
"""

import hashlib
import io
import mmap
import re
import struct
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.lib import format as npy

_LONGEST = 300  # characters of a reason


class ModelFileError(ValueError):
    """A model file that cannot be read, or an object that cannot be written to one."""


def malformed(why: str) -> ModelFileError:
    """The error for a file whose contents cannot be what `save` wrote; the reason may quote them, in one short line."""
    line = " ".join(why.split())
    line = line[:_LONGEST] + " ..." if len(line) > _LONGEST else line.rstrip(".")
    return ModelFileError(f"The model file is malformed: {line}.")


@contextmanager
def file_errors(what: str) -> Iterator[None]:
    """Turn whatever a malformed file makes library code raise into a `ModelFileError`.

    Files may be hostile, and what NumPy, SciPy or ``zipfile`` raise for nonsense is theirs to choose. Errors of the
    operating system are left as they are: they say something about the disk, not about the file.
    """
    try:
        yield
    except (ModelFileError, OSError):
        raise
    except Exception as error:
        raise malformed(f"{what} ({type(error).__name__}: {error})") from error


ALIGNMENT = 64
MAX_JSON = 8 * 2**20
MAX_DIRECTORY = 16 * 2**20

Buffer = bytes | memoryview

_NAMES = re.compile(r"manifest\.json|model\.json|arrays/(0|[1-9][0-9]{0,8})\.npy")
_MARK = b"sha256="
_DIGEST_CHARACTERS = 64
_COMMENT_BYTES = len(_MARK) + _DIGEST_CHARACTERS
_END, _END64, _LOCATOR64 = struct.Struct("<4s4H2LH"), struct.Struct("<4sQ2H2L4Q"), struct.Struct("<4sLQL")
_LOCAL = struct.Struct("<4s5H3L2H")
_PADDING_ID = 0xD935  # the extra field that other tools use for alignment
_ZIP64_FROM, _ZIP64_EXTRA = 2**30, 20
_CHUNK = 2**20
_MAX_HEADER = 4096
_MAX_DIMENSIONS = 8
_SIZES = {"b": (1,), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8), "c": (8, 16)}
_MAX_TEXT = 2**16  # bytes of a value of a string type


class Entry(NamedTuple):
    """Where the bytes of an entry are in the file."""

    offset: int
    size: int


# --- arrays ----------------------------------------------------------------------------------------------------


def checked_dtype(text: Any) -> np.dtype:
    """A type of numbers or text, by its name in NumPy's short form."""
    with file_errors("it names an unknown type of numbers"):
        dtype = np.dtype(text) if isinstance(text, str) and len(text) < 12 else np.dtype(object)
    allowed = dtype.itemsize in _SIZES.get(dtype.kind, ()) or (dtype.kind in "SU" and dtype.itemsize <= _MAX_TEXT)
    if not allowed or dtype.names is not None or dtype.shape:
        raise ModelFileError(f"Arrays of type {str(text)[:40]!r} cannot be in a model file.")
    return dtype


def stored_form(array: np.ndarray) -> np.ndarray:
    """The array as it is stored: a plain one of little-endian values, consecutive in either order."""
    checked_dtype(array.dtype.str)
    array = array.view(np.ndarray).astype(array.dtype.newbyteorder("<"), copy=False)
    return array if array.flags.c_contiguous or array.flags.f_contiguous else array.copy(order="C")


def description_of(stored: np.ndarray) -> dict[str, Any]:
    """What the model says about an array."""
    by_columns = bool(stored.flags.f_contiguous and not stored.flags.c_contiguous)
    return {"dtype": stored.dtype.str, "shape": list(stored.shape), "fortran_order": by_columns}


def npy_pieces(stored: np.ndarray) -> list[Buffer]:
    """The bytes of an array in NumPy's format: a header, and the array's own memory."""
    header = io.BytesIO()
    npy.write_array_header_1_0(header, npy.header_data_from_array_1_0(stored))
    values = stored.ravel(order="A").view(np.uint8)
    return [header.getvalue(), *([values.data] if values.size else [])]


# --- writing ----------------------------------------------------------------------------------------------------


def write_archive(file: BinaryIO, entries: Iterable[tuple[str, list[Buffer]]]) -> None:
    """Write entries, each a name and its bytes in pieces, to an empty file that can be read again."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, pieces in entries:
            _write_entry(archive, file, name, pieces)
        archive.comment = _MARK + b"0" * _DIGEST_CHARACTERS
    size = file.seek(0, 2)
    digest = _digest(file, 0, size - _DIGEST_CHARACTERS)
    file.seek(size - _DIGEST_CHARACTERS)
    file.write(digest)


def _write_entry(archive: zipfile.ZipFile, file: BinaryIO, name: str, pieces: list[Buffer]) -> None:
    info = zipfile.ZipInfo(name)  # of 1980: the same model gives the same file, bit for bit
    info.create_system, info.external_attr = 3, 0o644 << 16
    info.file_size = sum(len(piece) for piece in pieces)
    large = info.file_size >= _ZIP64_FROM
    begin = file.tell() + _LOCAL.size + len(name) + (_ZIP64_EXTRA if large else 0) + 4
    padding = -begin % ALIGNMENT
    info.extra = struct.pack("<2H", _PADDING_ID, padding) + bytes(padding)
    with archive.open(info, "w", force_zip64=large) as entry:
        for piece in pieces:
            entry.write(piece)


def _digest(file: BinaryIO, offset: int, n_bytes: int) -> bytes:
    """SHA-256 of a part of a file, in hexadecimal."""
    sha = hashlib.sha256()
    file.seek(offset)
    while n_bytes > 0:
        chunk = file.read(min(_CHUNK, n_bytes))
        if not chunk:
            raise ModelFileError("The model file is cut short.")
        sha.update(chunk)
        n_bytes -= len(chunk)
    return sha.hexdigest().encode()


# --- reading ----------------------------------------------------------------------------------------------------


class Archive:
    """The entries of a file that was opened for reading."""

    def __init__(self, file: BinaryIO):
        self.file = file
        self.n_bytes = file.seek(0, 2)
        self._check_end()
        with file_errors("its directory cannot be read"), zipfile.ZipFile(file) as archive:
            infos = archive.infolist()
        self.entries = dict(self._checked(infos))

    def _at(self, offset: int, n_bytes: int) -> bytes:
        self.file.seek(max(offset, 0))
        return self.file.read(n_bytes)

    def _check_end(self) -> None:
        """Check the last record before anything is read that it points to."""
        begin = self.n_bytes - _COMMENT_BYTES - _END.size
        tail = self._at(begin, _END.size + len(_MARK))
        if begin < 0 or not tail.startswith(b"PK\5\6") or tail[_END.size :] != _MARK:
            raise ModelFileError("This is not a frugalsvm model file, or it is cut short.")
        _, *disks, _, _, directory_bytes, _, comment_bytes = _END.unpack(tail[: _END.size])
        locator = self._at(begin - _LOCATOR64.size, _LOCATOR64.size)
        if begin >= _LOCATOR64.size + _END64.size and locator.startswith(b"PK\6\7"):
            last = self._at(begin - _LOCATOR64.size - _END64.size, _END64.size)
            directory_bytes = _END64.unpack(last)[8]
        if any(disks) or comment_bytes != _COMMENT_BYTES or directory_bytes > min(MAX_DIRECTORY, begin):
            raise malformed("its directory is too large or not where it must be")

    def _checked(self, infos: list[zipfile.ZipInfo]) -> Iterator[tuple[str, Entry]]:
        """Names and places of the entries: known names, each once, nothing compressed, nothing on top of another."""
        if len({info.filename for info in infos}) < len(infos):
            raise malformed("two entries have the same name")
        end = 0
        for info in sorted(infos, key=lambda each: each.header_offset):
            name = info.filename
            if not _NAMES.fullmatch(name):
                raise malformed(f"it has an unexpected entry {name[:80]!r}")
            if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size or info.flag_bits:
                raise malformed(f"{name} is compressed or encrypted")
            header = self._at(info.header_offset, _LOCAL.size)
            if info.header_offset < end or len(header) < _LOCAL.size or not header.startswith(b"PK\3\4"):
                raise malformed(f"{name} is not where the directory says")
            offset = info.header_offset + _LOCAL.size + sum(_LOCAL.unpack(header)[-2:])
            end = offset + info.file_size
            if end > self.n_bytes:
                raise malformed(f"{name} is larger than the file")
            yield name, Entry(offset, info.file_size)

    def check(self) -> None:
        """Compare the whole file with its checksum."""
        n_bytes = self.n_bytes - _DIGEST_CHARACTERS
        digest = _digest(self.file, 0, n_bytes)
        if digest != self._at(n_bytes, _DIGEST_CHARACTERS):
            raise ModelFileError("The model file is damaged: its checksum is wrong.")

    def digest(self, name: str) -> str:
        """SHA-256 of an entry, in hexadecimal."""
        return _digest(self.file, *self.entry(name)).decode()

    def entry(self, name: str) -> Entry:
        """The place of an entry that must be there."""
        try:
            return self.entries[name]
        except KeyError:
            raise malformed(f"it has no {name}") from None

    def text(self, name: str) -> bytes:
        """The bytes of a JSON entry."""
        offset, size = self.entry(name)
        if size > MAX_JSON:
            raise malformed(f"{name} has more than {MAX_JSON} bytes")
        return self._at(offset, size)

    def array(self, name: str, described: Any, mapped: mmap.mmap | None) -> np.ndarray:
        """An array that is what the model says about it; a new one, or a view of the file."""
        if not isinstance(described, dict) or set(described) != {"dtype", "shape", "fortran_order"}:
            raise malformed("the description of an array is wrong")
        entry, dtype, shape = self.entry(name), checked_dtype(described["dtype"]), described["shape"]
        is_shape = isinstance(shape, list) and len(shape) <= _MAX_DIMENSIONS
        if not is_shape or not all(type(n) is int and n >= 0 for n in shape):
            raise malformed("an array has an impossible shape")
        start = self._data_offset(entry, (tuple(shape), described["fortran_order"], dtype))
        n_values = int(np.prod(np.array(shape, object))) if shape else 1  # exact: no overflow
        n_bytes = n_values * dtype.itemsize
        if start + n_bytes != entry.offset + entry.size:
            raise malformed("an array does not have the size of its shape")
        if mapped is not None and n_bytes:
            flat: np.ndarray = np.frombuffer(mapped, dtype, n_values, start)
        else:
            flat = np.zeros(n_values, dtype)
            self.file.seek(start)
            if n_bytes and self.file.readinto(flat.view(np.uint8)) != n_bytes:  # type: ignore[attr-defined]
                raise ModelFileError("The model file is cut short.")
        flat = flat.astype(dtype.newbyteorder("="), copy=False)
        return flat.reshape(shape, order="F" if described["fortran_order"] else "C")

    def _data_offset(self, entry: Entry, expected: tuple) -> int:
        """Where the values of an array begin, if its own header says what the model says."""
        self.file.seek(entry.offset)
        header = io.BytesIO(self.file.read(min(entry.size, _MAX_HEADER)))
        with file_errors("an array has no proper header"):
            version = npy.read_magic(header)
            found = npy.read_array_header_1_0(header, max_header_size=_MAX_HEADER) if version == (1, 0) else None
        if found != expected:
            raise malformed("an array and its description differ")
        return entry.offset + header.tell()
