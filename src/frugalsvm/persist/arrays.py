"""Arrays in an archive: NumPy's own format, checked against what the model says about them before they are used."""

import io
import mmap
from typing import Any

import numpy as np
from numpy.lib import format as npy

from frugalsvm.persist.archive import Archive, Buffer, Entry
from frugalsvm.persist.errors import ModelFileError, file_errors

__all__ = ["checked_dtype", "description_of", "npy_pieces", "read_array", "stored_form"]

_MAX_HEADER = 4096
_MAX_DIMENSIONS = 8
_SIZES = {"b": (1,), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8), "c": (8, 16)}
_MAX_TEXT = 2**16  # bytes of a value of a string type


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


def read_array(archive: Archive, entry: Entry, described: Any, mapped: mmap.mmap | None) -> np.ndarray:
    """An array that is what the model says about it; a new one, or a view of the file."""
    if not isinstance(described, dict) or set(described) != {"dtype", "shape", "fortran_order"}:
        raise ModelFileError("The model file is malformed: the description of an array is wrong.")
    dtype, shape = checked_dtype(described["dtype"]), described["shape"]
    if not isinstance(shape, list) or len(shape) > _MAX_DIMENSIONS or not all(type(n) is int and n >= 0 for n in shape):
        raise ModelFileError("The model file is malformed: an array has an impossible shape.")
    start = _data_offset(archive, entry, (tuple(shape), described["fortran_order"], dtype))
    n_values = int(np.prod(np.array(shape, object))) if shape else 1  # exact: no overflow
    n_bytes = n_values * dtype.itemsize
    if start + n_bytes != entry.offset + entry.size:
        raise ModelFileError("The model file is malformed: an array does not have the size of its shape.")
    flat: np.ndarray
    if mapped is not None and n_bytes:
        flat = np.frombuffer(mapped, dtype, n_values, start)
    else:
        flat = np.zeros(n_values, dtype)
        archive.file.seek(start)
        if n_bytes and archive.file.readinto(flat.view(np.uint8)) != n_bytes:  # type: ignore[attr-defined]
            raise ModelFileError("The model file is cut short.")
    flat = flat.astype(dtype.newbyteorder("="), copy=False)
    return flat.reshape(shape, order="F" if described["fortran_order"] else "C")


def _data_offset(archive: Archive, entry: Entry, expected: tuple) -> int:
    """Where the values of an array begin, if its own header says what the model says."""
    archive.file.seek(entry.offset)
    header = io.BytesIO(archive.file.read(min(entry.size, _MAX_HEADER)))
    with file_errors("an array has no proper header"):
        version = npy.read_magic(header)
        found = npy.read_array_header_1_0(header, max_header_size=_MAX_HEADER) if version == (1, 0) else None
    if found != expected:
        raise ModelFileError("The model file is malformed: an array and its description differ.")
    return entry.offset + header.tell()
