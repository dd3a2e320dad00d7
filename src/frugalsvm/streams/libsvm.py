"""LIBSVM (svmlight) text as a stream of CSR rows."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from frugalsvm.exceptions import Sentence
from frugalsvm.streams.bad_lines import BadLines, StreamError, shown
from frugalsvm.streams.batch import Batch
from frugalsvm.streams.columns import Layout
from frugalsvm.streams.number_notation import HardNumbers, number_in, parser_top
from frugalsvm.streams.number_parsing import AT, COUNT, LINE, ROW
from frugalsvm.streams.parsing import parse_rows, scan_indices
from frugalsvm.streams.reader import Block, TextReader, TextSources
from frugalsvm.streams.row_checks import with_classes

# Files up to this size are read through once for the number of features; of larger ones the first lines decide.
_SCANNED_BYTES = 1 << 26
_MOST_FEATURES = 2**31 - 1
# Models have a number for each feature: one wrong digit must not make them fill the memory.
_WIDE = 2**25


class LibsvmReader(TextReader):
    """Reads ``label index:value index:value ...`` lines; ``#`` begins a comment."""

    _comment = ord("#")

    def __init__(
        self,
        text: TextSources,
        *,
        n_features: int | None,
        zero_based: bool | None,
        has_labels: bool,
        dtype: Any,
        hash_features: int | None = None,
    ) -> None:
        self.text, self.has_labels, self.dtype = text, has_labels, np.dtype(dtype)
        self._hash_features = hash_features
        if hash_features is not None:  # numbers are hashed as they are written, wherever they start
            n_features, zero_based = _MOST_FEATURES, True
        self._wanted_features, self._zero_based = n_features, zero_based
        self.reopenable, self.name = text.reopenable, text.name
        self._base, self._width = 1, 0
        # With both given there is nothing to decide from the first lines, and a live pipe is not kept waiting.
        text.fill_first = n_features is None or zero_based is None

    def _looked_at(self) -> Layout:
        """Decide on the first feature number and on the number of features."""
        width, notes = self._wanted_features, []
        if width is None or self._zero_based is None:
            smallest, largest, seen = self._scanned()
            self._base = 0 if (smallest == 0 if self._zero_based is None else self._zero_based) else 1
            notes.append(f"feature numbers start at {self._base}")
            if width is None:
                width = max(largest + 1 - self._base, 1)
                notes.append(f"{width} features, the largest number in {seen}")
        else:
            self._base = 0 if self._zero_based else 1
        if width > _MOST_FEATURES or (self._wanted_features is None and width > _WIDE):
            words = f"{self.name} has a feature number above {_WIDE}"
            raise StreamError(Sentence(words, "; if that is right, give {n_features}."))
        if self._hash_features is not None:
            notes = [f"feature numbers are hashed to {self._hash_features:,} features"]
        self._width = width
        return Layout(self._hash_features or width, None, None, tuple(notes), self._base == 0)

    def _scanned(self) -> tuple[int, int, str]:
        """Smallest and largest feature number, and where they were looked for."""
        bounds = np.array([_MOST_FEATURES, 0], dtype=np.int64)
        size = self.text.size
        whole = self._wanted_features is None and size is not None and size <= _SCANNED_BYTES
        for block in self.text if whole else [self.text.first()]:
            scan_indices(np.frombuffer(block.text, dtype=np.uint8), bounds)
        return int(bounds[0]), int(bounds[1]), "the file" if whole else "the first lines"

    def _piece(self, block: Block, state: NDArray, bad: BadLines) -> tuple[Batch, StreamError | None]:
        failure = None
        width = self._width
        text = np.frombuffer(block.text, dtype=np.uint8)
        most_rows, most_values = block.text.count(b"\n"), block.text.count(b":")
        labels, ends = np.zeros(most_rows), np.zeros(most_rows + 1, dtype=np.int32)
        indices, values = np.empty(most_values, dtype=np.int32), np.empty(most_values, dtype=self.dtype)
        lines = np.empty(most_rows, dtype=np.int64)
        hard = HardNumbers(len(block.text))
        top = parser_top(self.dtype)
        arrays = (labels, ends, indices, values, lines, hard.text, hard.targets)
        while not parse_rows(text, state, self._base, width, self.has_labels, top, *arrays):
            begin = int(state[AT])
            end = block.text.index(b"\n", begin)
            found = self._examined(block.text[begin:end])
            if isinstance(found, str):
                try:
                    bad.refuse(block.where(int(state[LINE])), found)
                except StreamError as error:
                    failure = error
                    break
            else:
                row, count = int(state[ROW]), int(state[COUNT])
                X, y = found
                indices[count : count + X.nnz], values[count : count + X.nnz] = X.indices, X.data
                labels[row], ends[row + 1] = y, count + X.nnz
                state[ROW], state[COUNT] = row + 1, count + X.nnz
            state[AT] = end + 1
            state[LINE] += 1
        hard.settle(state, values, labels)
        n, count = int(state[ROW]), int(state[COUNT])
        X = sparse.csr_matrix((values[:count], indices[:count], ends[: n + 1]), shape=(n, width))
        if self._hash_features is not None:
            X = hashed(X, self._hash_features)
        batch = Batch(X, labels[:n] if self.has_labels else None)
        return with_classes(batch, lambda row: block.where(int(lines[row])), bad), failure

    def _examined(self, line: bytes) -> tuple[Any, float] | str:
        """A line that the parser did not take: its row and label as scikit-learn reads it, or what is wrong."""
        line = line.split(b"#", 1)[0]
        if not self.has_labels and b":" in next(iter(line.split(None, 1)), b":"):
            line = b"0 " + line
        problem = self._problem(line)
        if problem is not None:
            return problem
        from sklearn.datasets import load_svmlight_file

        try:
            X, y = load_svmlight_file(
                io.BytesIO(line + b"\n"), n_features=self._width, dtype=self.dtype, zero_based=self._base == 0
            )
        except (ValueError, IndexError, OverflowError) as error:
            return f"the line cannot be read: {error}"
        return X, float(y[0])

    def _problem(self, line: bytes) -> str | None:
        fields = _fields_of(line)
        first = next(fields, None)
        if first is None:
            return "the line has no label"
        if "," in first:
            return f"column 1: {shown(first)} is more than one label, and this reader takes one"
        label = number_in(first, np.float64)
        if isinstance(label, str):
            return f"column 1 (label): {label}"
        last = -1
        for column, field in enumerate(fields, start=2):
            where = f"column {column}"
            if field.startswith("qid:"):
                return f"{where}: {shown(field)} belongs to ranking data, which is not read here"
            match = re.fullmatch(r"(\d+):(.*)", field, re.ASCII | re.DOTALL)
            if match is None:
                return f"{where}: {shown(field)} is not of the form number:value"
            index = int(match[1][:20]) - self._base
            if index < 0:
                words = f"{where}: feature number 0 where numbers start at 1"
                return Sentence(words, " ({zero_based} allows it)", zero_based=True)
            if index >= self._width:
                words = f"{where}: feature {shown(match[1])} is"
                return Sentence(words, " beyond {n_features}", n_features=self._width)
            if index <= last:
                return f"{where}: feature {match[1]} is not above the one before it"
            last = index
            value = number_in(match[2], self.dtype)
            if isinstance(value, str):
                return f"{where}: {value}"
        return None


def _fields_of(line: bytes) -> Iterator[str]:
    """The fields of a line one by one: all of a long line at once would take many times its memory."""
    return (match[0].decode("utf-8", "backslashreplace") for match in re.finditer(rb"\S+", line))


def hashed(X: Any, n_features: int) -> Any:
    """The rows with their columns hashed to fewer, each with a random sign (Weinberger et al. 2009)."""
    mixed = X.indices.astype(np.uint64)
    for factor in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB):  # the finalizer of splitmix64
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    signs = np.where(mixed >> np.uint64(63), -1.0, 1.0).astype(X.dtype)
    columns = (mixed % np.uint64(n_features)).astype(X.indices.dtype)
    made = sparse.csr_matrix((X.data * signs, columns, X.indptr), shape=(X.shape[0], n_features))
    made.sum_duplicates()
    return made
