"""Rows on disk, brought together part by part: an external sort.

Rows fill a buffer. When it is full, it is sorted by part and written to the end of one file: a run. The rows of a part
are in as many places of that file as there are runs. Files have no name, so that they are gone when they are closed,
also where a process is killed.
"""

import shutil
import tempfile
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from frugalsvm.cells.tree import Tree, cells_of
from frugalsvm.cells.trunk import with_members
from frugalsvm.compiling.threads import Threads

_BLOCK_BYTES = 2**22  # that are sorted at a time


class Spill:
    """Rows by part; a context, after which they are gone.

    Parameters
    ----------
    n_parts : int
    width : int
        Columns of a row.
    dtype : dtype
    n_buffered : int
        Rows in memory.
    folder : str, path or None
        Where the file is; None is the folder of the system.
    """

    def __init__(self, n_parts: int, width: int, dtype: Any, n_buffered: int, folder: Any = None):
        self._rows, self._parts = np.empty((n_buffered, width), dtype), np.empty(n_buffered, np.int64)
        self._n_parts, self._n = n_parts, 0
        self._runs: list[np.ndarray] = []  # where the rows of each part begin in the file, and where the last ones end
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  it is closed with this context

    def __enter__(self) -> "Spill":
        return self

    def __exit__(self, *error: Any) -> None:
        self._file.close()

    def add(self, rows: np.ndarray, parts: np.ndarray) -> None:
        """Take rows, each of a part."""
        while len(rows):
            if self._n == len(self._rows):
                self._write_run()
            count = min(len(rows), len(self._rows) - self._n)
            own = slice(self._n, self._n + count)
            self._rows[own], self._parts[own] = rows[:count], parts[:count]
            self._n += count
            rows, parts = rows[count:], parts[count:]

    def _write_run(self) -> None:
        parts = self._parts[: self._n]
        start = self._runs[-1][-1] if self._runs else 0
        self._runs.append(start + np.concatenate([[0], np.cumsum(np.bincount(parts, minlength=self._n_parts))]))
        order = np.argsort(parts, kind="stable")
        step = max(1, _BLOCK_BYTES // self._row_bytes)
        for first in range(0, self._n, step):
            self._file.write(self._rows[order[first : first + step]].data)
        self._n = 0

    @property
    def _row_bytes(self) -> int:
        return max(1, self._rows.shape[1] * self._rows.itemsize)

    def finish(self) -> None:
        """There are no more rows; the buffer is not needed any longer."""
        self._write_run()
        self._rows, self._parts = self._rows[:0].copy(), self._parts[:0].copy()

    def part(self, number: int) -> np.ndarray:
        """The rows of a part, in the order in which they came."""
        ends = [run[number : number + 2] for run in self._runs]
        rows = np.empty((sum(int(stop - start) for start, stop in ends), self._rows.shape[1]), self._rows.dtype)
        first = 0
        for start, stop in ends:
            self._file.seek(int(start) * self._row_bytes)
            own = rows[first : first + int(stop - start)]
            if self._file.readinto(own) != own.nbytes:  # type: ignore[attr-defined]
                raise OSError("A temporary file is shorter than what was written to it.")
            first += len(own)
        return rows

    def mapped(self, folder: Any = None) -> np.ndarray:
        """All rows, part after part, in a file of their own that is memory-mapped."""
        with tempfile.TemporaryFile(dir=folder) as file:
            for number in range(self._n_parts):
                file.write(self.part(number).data)
            file.flush()
            return mapped_rows(file, self._rows.shape[1], self._rows.dtype)


def mapped_rows(file: Any, width: int, dtype: Any) -> np.ndarray:
    """The rows in a file as an array: read when they are needed, and forgotten when memory is.

    The file may be closed. Changes of the array reach it: rows that are forgotten are overwritten on the disk as well.
    """
    return np.asarray(np.memmap(file, dtype, mode="r+").reshape(-1, width))


def check_space(n_bytes: int, folder: Any) -> None:
    """Refuse to begin what would not fit on the disk."""
    folder = tempfile.gettempdir() if folder is None else folder
    free = shutil.disk_usage(folder).free
    if n_bytes > free:
        raise ValueError(
            f"The rows take {n_bytes / 2**30:,.1f} GB on disk while they are sorted, and {folder} has "
            f"{free / 2**30:,.1f} GB left: pass another folder."
        )


def sorted_rows(
    blocks: Iterable[np.ndarray], n_rows: int, trunks: Sequence[Tree], n_buffered: int, folder: Any, threads: Threads
) -> tuple[np.ndarray, np.ndarray, list[Tree]]:
    """All rows by the parts of the first trunk, memory-mapped; their order; and the trunks with these rows."""
    width, dtype = trunks[0].directions.shape[1], trunks[0].directions.dtype
    check_space(2 * n_rows * width * dtype.itemsize, folder)
    parts, start = np.empty((len(trunks), n_rows), np.int32), 0
    with Spill(trunks[0].n_cells, width, dtype, n_buffered, folder) as spill:
        for rows in blocks:
            own = slice(start, start + len(rows))
            for trunk, of_rows in zip(trunks, parts, strict=True):
                of_rows[own] = cells_of(trunk, rows, threads)
            spill.add(rows, parts[0, own])
            start += len(rows)
        spill.finish()
        rows = spill.mapped(folder)
    trees = [with_members(trunk, of_rows) for trunk, of_rows in zip(trunks, parts, strict=True)]
    order = trees[0].members
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return rows, order, [tree._replace(members=place[tree.members]) for tree in trees]
