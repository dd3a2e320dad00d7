"""Parquet and Arrow IPC files or folders as a stream, through pyarrow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalsvm.exceptions import Sentence
from frugalsvm.streams.bad_lines import BadLines, StreamError, first_line_of, shown
from frugalsvm.streams.batch import Batch, rows_taken
from frugalsvm.streams.columns import Layout, Roles, Schema, assigned
from frugalsvm.streams.dates import DateColumn, date_parts, days_in, days_of
from frugalsvm.streams.reader import Reader
from frugalsvm.streams.row_checks import without_bad_rows
from frugalsvm.streams.source import Source, imported_pyarrow

_BATCH_ROWS = 1 << 13
_INDEX = re.compile(r"__index_level_\d+__")  # what pandas calls the names or numbers of rows


class TableReader(Reader):
    """Reads tables of numbers and text; row groups before the first wanted row are not read."""

    def __init__(
        self, sources: list[Source] | Path, format: str, *, roles: Roles, n_features: int | None, dtype: Any
    ) -> None:
        self.pyarrow = imported_pyarrow(f"Reading {'Parquet' if format == 'parquet' else 'Arrow'} data")
        self.sources, self.format, self.roles, self.dtype = sources, format, roles, np.dtype(dtype)
        self.name = str(sources) if isinstance(sources, Path) else sources[0].name
        self.reopenable = True if isinstance(sources, Path) else all(source.reopenable for source in sources)
        self._wanted_features = n_features
        self._schema: Schema
        self._dataset: Any = None
        self._stream: Any = None
        self._names_of_paths: dict[str, str] = {}

    def _looked_at(self) -> Layout:
        """Read the schema; a pipe of Parquet data is copied to a temporary file for that."""
        schema, n_rows = self._guarded(self._opened_schema)
        names = self._guarded(lambda: schema.names)  # which are not decoded before
        kinds = [self._kind(field) for field in schema]
        self._schema, notes = assigned(names, kinds, self.roles, self.name)
        notes += tuple(
            f"column {name!r} is the index of a data frame: it is left out" for name in names if _INDEX.fullmatch(name)
        )
        width = len(self._schema.numbers)
        self._check_width(width, "columns of numbers")
        return Layout(width, n_rows, self._schema, notes)

    def _guarded(self, function: Any, *args: Any) -> Any:
        try:
            return function(*args)
        except StreamError:
            raise
        # pyarrow raises its own errors, and OSError, KeyError, TypeError and more where files are damaged.
        except Exception as error:
            raise StreamError(f"{self.name} cannot be read as {self.format}: {first_line_of(error)}") from error

    def _opened_schema(self) -> tuple[Any, int | None]:
        if self._is_ipc_stream():
            self._stream = self._open_ipc_stream()
            return self._stream.schema, None
        from pyarrow import dataset

        kind = "parquet" if self.format == "parquet" else "ipc"
        if isinstance(self.sources, Path):
            self._dataset = dataset.dataset(self.sources, format=kind, partitioning="hive")
        else:
            paths = [str(source.local_path()) for source in self.sources]
            self._names_of_paths = {path: source.name for path, source in zip(paths, self.sources, strict=True)}
            self._dataset = dataset.dataset(paths, format=kind)
        return self._dataset.schema, self._dataset.count_rows()

    def _is_ipc_stream(self) -> bool:
        """Whether this is Arrow's format for pipes, which is read in order."""
        if self.format != "arrow" or isinstance(self.sources, Path) or len(self.sources) > 1:
            return False
        return self.sources[0].peek()[:6] != b"ARROW1"

    def _open_ipc_stream(self) -> Any:
        from pyarrow import ipc

        assert isinstance(self.sources, list)
        return ipc.open_stream(self.pyarrow.PythonFile(self.sources[0].open().as_file(), mode="r"))

    def _kind(self, field: Any) -> str:
        types, kind = self.pyarrow.types, field.type
        if types.is_dictionary(kind):
            kind = kind.value_type
        if _INDEX.fullmatch(field.name):
            return "ignored"
        if types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind) or types.is_decimal(kind):
            return "number"
        if types.is_null(kind):  # nothing is there, as in an empty column of delimited text
            return "number"
        if self._is_text(kind):
            return "string"
        if types.is_date(kind) or types.is_timestamp(kind):
            return DateColumn("ymd", date_parts(has_hours=not types.is_date(kind))).kind
        if types.is_time(kind):
            return DateColumn("clock", date_parts(has_hours=True)[-2:]).kind
        known = {} if self.roles.like is None else {column.name: column.role for column in self.roles.like.columns}
        if field.name in self.roles.ignore or known.get(field.name) == "ignored":
            return "ignored"
        what = f"column {shown(field.name)} is {field.type}, neither numbers nor text"
        raise StreamError(Sentence(f"{self.name}: {what}", "; {ignore} leaves it out."))

    def _rows_from(self, row: int, bad: BadLines) -> Iterator[Batch]:
        records = self._streamed(row) if self._dataset is None else self._scanned(row)
        return self._converted(records, bad)

    def _streamed(self, skip: int) -> Iterator[tuple[str, int, Any]]:
        reader, self._stream = self._stream or self._open_ipc_stream(), None
        row = 0
        while True:
            try:
                record = reader.read_next_batch()
            except StopIteration:
                return
            if row + record.num_rows > skip:
                begin = max(skip - row, 0)
                yield self.name, row + begin, record.slice(begin)
            row += record.num_rows

    def _scanned(self, skip: int) -> Iterator[tuple[str, int, Any]]:
        """Record batches with the file and the number of their first row in it."""
        for fragment in sorted(self._dataset.get_fragments(), key=self._order_of):
            row = 0
            is_parquet = self.format == "parquet"
            for part in fragment.split_by_row_group() if is_parquet else [fragment]:
                # `count_rows` of a row group gives the rows of the whole file in some versions of pyarrow.
                n_rows = sum(group.num_rows for group in part.row_groups) if is_parquet else part.count_rows()
                if skip >= n_rows:
                    skip -= n_rows
                    row += n_rows
                    continue
                options = {"batch_size": _BATCH_ROWS, "batch_readahead": 2, "fragment_readahead": 1}
                for record in part.to_batches(schema=self._dataset.schema, **options):
                    begin = min(skip, record.num_rows)
                    skip -= begin
                    if begin < record.num_rows:
                        yield self._names_of_paths.get(fragment.path, fragment.path), row + begin, record.slice(begin)
                    row += record.num_rows

    def _order_of(self, fragment: Any) -> Any:
        order = list(self._names_of_paths)
        return order.index(fragment.path) if order else fragment.path

    def _converted(self, records: Iterator[tuple[str, int, Any]], bad: BadLines) -> Iterator[Batch]:
        while (item := self._guarded(next, records, None)) is not None:
            name, row, record = item
            batch, missing = self._guarded(self._batch, record)

            def where(i: int, name: str = name, row: int = row) -> str:
                return f"{name}, row {row + i} (from 0)"

            if bad.unlabeled == "skip":
                bad.n_unlabeled += int(missing.sum())
            else:
                for i in np.flatnonzero(missing):
                    bad.refuse(where(int(i)), Sentence("the label is missing", remedies=("unlabeled",)))
            if missing.any():
                kept = np.flatnonzero(~missing)
                batch = rows_taken(batch, kept)
                yield without_bad_rows(batch, self._schema.numbers, lambda i, k=kept: where(int(k[i])), bad)  # type: ignore[misc]
            else:
                yield without_bad_rows(batch, self._schema.numbers, where, bad)

    def _batch(self, record: Any) -> tuple[Batch, NDArray]:
        n = record.num_rows
        X = np.empty((n, len(self._schema.numbers)), dtype=self.dtype)
        y = weights = None
        missing = np.zeros(n, dtype=bool)
        texts: dict[str, NDArray] = {}
        index_of = {name: index for index, name in enumerate(self._schema.numbers)}
        # By their place: the schema may have the names of a model instead of those of the file.
        for place, column in enumerate(self._schema.columns):
            if column.role == "ignored":
                continue
            values = record.column(place)
            if column.role == "label":
                missing = np.asarray(values.is_null(), dtype=bool)
                y = self._label_values(values, column.kind)
            elif column.role == "weight":
                weights = self._numbers(values).astype(np.float64)
            elif (date := DateColumn.of_kind(column.kind)) is not None:
                X[:, [index_of[name] for name in date.names(column.name)]] = date.features(self._days(values, date))
            elif column.kind == "string":
                texts[column.name] = self._texts(values)
            else:
                with np.errstate(over="ignore"):
                    X[:, index_of[column.name]] = self._numbers(values)
        return Batch(X, y, weights, 0, texts or None), missing

    def _plain(self, values: Any) -> Any:
        return values.dictionary_decode() if self.pyarrow.types.is_dictionary(values.type) else values

    def _numbers(self, values: Any) -> NDArray:
        values = self._plain(values)
        if not self.pyarrow.types.is_floating(values.type):
            values = values.cast(self.pyarrow.float64(), safe=False)
        return values.to_numpy(zero_copy_only=False)

    def _days(self, values: Any, date: DateColumn) -> NDArray:
        values = self._plain(values)
        if self._is_text(values.type):
            return days_in(self._texts(values), date.order)[1]  # type: ignore[index]
        if self.pyarrow.types.is_time(values.type):
            values = values.cast(self.pyarrow.time64("us"), safe=False).cast(self.pyarrow.int64())  # since 1970-01-01
        # What is below a microsecond is cut off.
        return days_of(values.cast(self.pyarrow.timestamp("us"), safe=False).to_numpy(zero_copy_only=False))

    def _label_values(self, values: Any, kind: str) -> NDArray:
        if kind == "string":
            return self._texts(values)
        values = self._plain(values)
        # Integer labels stay integers, so that classes read as they are written.
        if self.pyarrow.types.is_boolean(values.type):
            return values.fill_null(False).to_numpy(zero_copy_only=False)
        if self.pyarrow.types.is_integer(values.type):
            return values.fill_null(0).to_numpy(zero_copy_only=False)
        return self._numbers(values)

    def _texts(self, values: Any) -> NDArray:
        """Text as in delimited files: without blanks around it, and True and False as pandas writes them there."""
        values = self._plain(values)
        is_truth = self.pyarrow.types.is_boolean(values.type)
        texts = values.cast(self.pyarrow.large_string()).fill_null("").to_pylist()
        return np.array([text.capitalize() if is_truth else text.strip() for text in texts], dtype=object)

    def _is_text(self, kind: Any) -> bool:
        types = self.pyarrow.types
        return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
