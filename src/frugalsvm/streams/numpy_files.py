"""NumPy files (npy, npz) as a stream: memory-mapped, or read piece by piece; never unpickled."""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalsvm.streams.bad_lines import BadLines, StreamError, first_line_of, shown
from frugalsvm.streams.batch import Batch
from frugalsvm.streams.columns import Layout, Roles, Schema, assigned
from frugalsvm.streams.reader import Reader
from frugalsvm.streams.row_checks import without_bad_rows
from frugalsvm.streams.source import Source

_PIECE_BYTES = 1 << 21


class ArrayRows:
    """The rows of one array, in order: from memory (or a memory map), or from a file that is read on."""

    def __init__(self, name: str, file: Any = None, array: NDArray | None = None) -> None:
        self.name, self._file, self._array, self._at = name, file, array, 0
        if array is not None:
            self.shape, self.dtype = array.shape, array.dtype
        else:
            self.shape, by_column, self.dtype = self._header(file)
            self._check()
            if by_column and len(self.shape) > 1:
                size = math.prod(self.shape)
                self._array = np.frombuffer(self._exactly(size * self.dtype.itemsize), self.dtype)
                self._array = self._array.reshape(self.shape[::-1]).T
        self._check()

    def _header(self, file: Any) -> tuple[tuple[int, ...], bool, np.dtype]:
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            return np.lib.format.read_array_header_1_0(file)
        if version == (2, 0):
            return np.lib.format.read_array_header_2_0(file)
        raise StreamError(f"{self.name} has an npy version that is not read here: {version}.")

    def _check(self) -> None:
        if self.dtype.hasobject or self.dtype.kind not in "biufUS":
            raise StreamError(f"{self.name} holds {self.dtype}; only numbers and text are read.")
        if len(self.shape) not in (1, 2):
            raise StreamError(f"{self.name} has {len(self.shape)} dimensions; rows need two, labels one.")

    def _exactly(self, n: int) -> bytes:
        parts, got = [], 0
        # In steps: the header may promise more bytes than there are, or than fit into memory.
        while got < n and (part := self._file.read(min(n - got, _PIECE_BYTES))):
            parts.append(part)
            got += len(part)
        if got < n:
            raise StreamError(f"{self.name} ends early: its header promises {self.shape[0]} rows.")
        return b"".join(parts)

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return max(self.dtype.itemsize * math.prod(self.shape[1:]), 1)

    def take(self, n: int) -> NDArray:
        """The next ``n`` rows, or those that are left."""
        n = min(n, self.shape[0] - self._at)
        self._at += n
        if self._array is not None:
            return self._array[self._at - n : self._at]
        width = math.prod(self.shape[1:])
        data = np.frombuffer(self._exactly(n * width * self.dtype.itemsize), self.dtype, count=n * width)
        return data.reshape(n, *self.shape[1:])

    def skip(self, n: int) -> None:
        """Step over ``n`` rows."""
        if self._array is not None:
            self._at = min(self._at + n, self.shape[0])
            return
        while n > 0 and (step := min(n, _PIECE_BYTES // self.row_bytes + 1, self.shape[0] - self._at)) > 0:
            self.take(step)
            n -= step


def _as_labels(values: NDArray) -> NDArray:
    values = values.reshape(len(values), -1)[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    return np.char.decode(values, "utf-8") if values.dtype.kind == "S" else np.array(values)


class _ArrayReader(Reader):
    """What npy and npz have in common: X, perhaps y and weights, each with one row per example."""

    def __init__(self, source: Source, *, roles: Roles, n_features: int | None, dtype: Any) -> None:
        self.source, self.roles, self.dtype = source, roles, np.dtype(dtype)
        self.name, self.reopenable = source.name, source.reopenable
        self._wanted_features = n_features
        self._schema: Schema | None = None

    def _opened(self, stack: ExitStack) -> tuple[ArrayRows, ArrayRows | None, ArrayRows | None]:
        raise NotImplementedError

    def _take_roles(self, X: ArrayRows) -> tuple[int, tuple[str, ...]]:
        """How many features there are, and notes; npy files have labels among the columns."""
        return X.shape[1], ()

    def _looked_at(self) -> Layout:
        """Read the headers; a pipe is copied to a temporary file for that."""
        if not self.reopenable:
            self.source.local_path()
        with ExitStack() as stack:
            return self._layout_of(*self._all_opened(stack))

    def _all_opened(self, stack: ExitStack) -> tuple[ArrayRows, ArrayRows | None, ArrayRows | None]:
        try:
            return self._opened(stack)
        except StreamError:
            raise
        # NumPy and zipfile raise a dozen kinds of errors for damaged files.
        except Exception as error:
            raise StreamError(f"{self.name} cannot be read: {first_line_of(error)}") from error

    def _layout_of(self, X: ArrayRows, y: ArrayRows | None, weights: ArrayRows | None) -> Layout:
        if len(X.shape) != 2 or X.dtype.kind not in "biuf":
            raise StreamError(f"{X.name} must be a two-dimensional array of numbers.")
        for other in (y, weights):
            if other is not None and (other.shape[0] != X.shape[0] or math.prod(other.shape[1:]) != 1):
                raise StreamError(
                    f"{other.name} has the shape {other.shape}, which does not fit {X.shape} of {X.name}."
                )
        if weights is not None and weights.dtype.kind not in "biuf":
            raise StreamError(f"{weights.name} holds no numbers.")
        width, notes = self._take_roles(X)
        if width < 1:
            raise StreamError(f"{X.name} has no column left for features.")
        self._check_width(width, "features", X.name)
        return Layout(width, X.shape[0], self._schema, notes)

    def _rows_from(self, row: int, bad: BadLines) -> Iterator[Batch]:
        with ExitStack() as stack:
            parts = self._all_opened(stack)
            X = parts[0]
            step = max(min(8192, _PIECE_BYTES // X.row_bytes), 1)
            try:
                for part in parts:
                    if part is not None:
                        part.skip(row)
                while row < X.shape[0]:
                    rows, y, weights = (None if part is None else part.take(step) for part in parts)
                    assert rows is not None
                    batch, begin = self._batch(rows, y, weights), row
                    row += len(rows)
                    yield without_bad_rows(batch, self._names(batch), lambda i, b=begin: self._where(b + i), bad)  # type: ignore[misc]
            except (OSError, EOFError, ValueError, zipfile.BadZipFile) as error:
                raise error if isinstance(error, StreamError) else StreamError(f"{self.name}: {error}") from error

    def _where(self, row: int) -> str:
        return f"{self.name}, row {row} (from 0)"

    def _names(self, batch: Batch) -> list[str]:
        return [str(column) for column in range(batch.X.shape[1])]

    def _batch(self, rows: NDArray, y: NDArray | None, weights: NDArray | None) -> Batch:
        with np.errstate(over="ignore"):
            X = np.array(rows, dtype=self.dtype, order="C")
        weights = None if weights is None else np.array(weights, dtype=np.float64).reshape(-1)
        return Batch(X, None if y is None else _as_labels(y), weights)


class NpzReader(_ArrayReader):
    """An archive with X and y (or X_train and y_train); label and weight name other arrays in it."""

    def _opened(self, stack: ExitStack) -> tuple[ArrayRows, ArrayRows | None, ArrayRows | None]:
        archive = stack.enter_context(zipfile.ZipFile(self.source.local_path()))
        names = [name.removesuffix(".npy") for name in archive.namelist()]
        suffix = "" if "X" in names else "_train"

        def rows(name: str | int) -> ArrayRows:
            if name not in names:
                raise StreamError(f"{self.name} has no array {shown(str(name))}; it has {', '.join(names[:20])}.")
            return ArrayRows(f"{self.name}:{name}", stack.enter_context(archive.open(f"{name}.npy")))

        roles = self.roles
        label = f"y{suffix}" if roles.label is None and roles.has_labels else roles.label
        label = label if roles.reads_labels else None
        return (
            rows(f"X{suffix}"),
            None if label is None else rows(label),
            None if roles.weight is None else rows(roles.weight),
        )


class NpyReader(_ArrayReader):
    """One array; labels and weights are columns of it, or come from npy files of their own."""

    def _opened(self, stack: ExitStack) -> tuple[ArrayRows, ArrayRows | None, ArrayRows | None]:
        def beside(location: str | int | None) -> ArrayRows | None:
            return _npy_rows(Source(location), stack) if isinstance(location, str | os.PathLike) else None

        return _npy_rows(self.source, stack), beside(self.roles.label), beside(self.roles.weight)

    def _take_roles(self, X: ArrayRows) -> tuple[int, tuple[str, ...]]:
        own = self.roles._replace(
            label=self.roles.label if isinstance(self.roles.label, int) else None,
            weight=self.roles.weight if isinstance(self.roles.weight, int) else None,
            has_labels=self.roles.has_labels and self.roles.label is None,
        )
        names = [f"column {i}" for i in range(X.shape[1])]
        self._schema, notes = assigned(names, ["number"] * len(names), own, self.name)
        return len(self._schema.numbers), notes

    def _names(self, batch: Batch) -> list[str]:
        assert self._schema is not None
        return list(self._schema.numbers)

    def _batch(self, rows: NDArray, y: NDArray | None, weights: NDArray | None) -> Batch:
        assert self._schema is not None
        roles = [column.role for column in self._schema.columns]
        if "label" in roles:
            y = rows[:, roles.index("label")]
        if "weight" in roles:
            weights = rows[:, roles.index("weight")]
        if len(roles) != roles.count("feature"):
            rows = rows[:, [i for i, role in enumerate(roles) if role == "feature"]]
        return super()._batch(rows, y, weights)


def _npy_rows(source: Source, stack: ExitStack) -> ArrayRows:
    path = source.local_path() if not source.reopenable else source.path
    if path is not None and source.local_path() == path:
        return ArrayRows(source.name, array=np.load(path, mmap_mode="r", allow_pickle=False))
    opened = source.open()
    stack.callback(opened.close)
    return ArrayRows(source.name, opened.as_file())
