"""Data for the commands: how a stream is opened."""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.cli.fingerprint import rows_after
from frugalsvm.cli.pipes import PIPE_ROWS, Pipe
from frugalsvm.cli.running import labels_of

__all__ = ["DataOptions", "Head", "Opened", "as_learned", "open_data", "peeked", "prepared"]

HEAD_ROWS = 6000  # from which parameters are chosen
BATCH_ROWS = 4096
_HEADERS: dict[str, bool | str] = {"auto": "auto", "yes": True, "no": False}


class DataOptions(NamedTuple):
    """How rows are read; part of a model file, so that a run can be resumed as it was begun."""

    source: str | list[str]
    format: str | None = None
    label: str | None = None
    on_bad_line: str = "fail"
    header: str = "auto"
    delimiter: str | None = None
    n_features: int | None = None
    shuffle_buffer: int = 0
    seed: int = 0
    decimal: str | None = None
    thousands: str | None = None
    missing: str = "median"
    shuffle: str = "auto"
    categorical: str | None = None
    ignore: str | None = None
    hash_features: int | None = None
    columns: list | None = None  # those that were learned from: name, kind and role of each

    @property
    def name(self) -> str:
        """What to call the source in messages."""
        if isinstance(self.source, str):
            return self.source
        return f"{self.source[0]} and {len(self.source) - 1} more"

    @property
    def imputes(self) -> str | None:
        """What missing numbers are filled with, if they are."""
        return self.missing if self.missing in ("mean", "median") else None


class Opened(NamedTuple):
    stream: Any  # as it was opened: it knows its length and its bad lines
    batches: Iterable  # what to read
    order: Any = None  # a stream that knows the order of its labels, if they are read as they come


def open_data(
    options: DataOptions,
    *,
    start: int = 0,
    has_labels: bool | None = None,
    prefetch: bool = True,
    pipe: Pipe | None = None,
) -> Opened:
    """A stream from row ``start`` on, shuffled if wanted, read ahead on a second thread.

    By default rows have labels, which must be classes; with ``has_labels=True`` they have some that are not read. A
    pipe is read in small batches, unless they are shuffled.
    """
    from frugalsvm.streams import open_stream, prefetched, shuffled
    from frugalsvm.streams.ordering import Watched

    # A shuffled stream is the same every time, but only from its beginning.
    begins_anew = options.shuffle_buffer > 0 or options.shuffle == "yes"
    batch_rows = BATCH_ROWS if pipe is None or begins_anew else PIPE_ROWS
    stream = open_stream(
        options.source if pipe is None else pipe,
        format=options.format,
        label=_column(options.label),
        batch_rows=batch_rows,
        n_features=options.n_features,
        start=0 if begins_anew else start,
        on_bad_line=options.on_bad_line,
        header=_HEADERS[options.header],
        has_labels=has_labels is not False,
        delimiter=options.delimiter,
        # Where bad lines are errors, the first one gets a sentence with advice: see `_of_classes`.
        class_labels=has_labels is None and options.on_bad_line == "skip",
        decimal=options.decimal,
        thousands=options.thousands,
        missing=options.missing if options.imputes is None else "nan",
        unlabeled="skip",
        categorical=_columns(options.categorical),
        ignore=_columns(options.ignore),
        reads_labels=has_labels is None,
        like=_schema_of(options.columns),
        hash_features=options.hash_features,
    )
    batches: Any = prefetched(stream, 2 * BATCH_ROWS // batch_rows) if prefetch else stream
    order = batches = Watched(batches)
    if begins_anew:
        buffer_rows = None if options.shuffle == "yes" else options.shuffle_buffer
        batches = rows_after(shuffled(batches, buffer_rows, options.seed), start)
    if has_labels is None:
        batches = _of_classes(batches, stream, numbered=not begins_anew)
    return Opened(stream, batches, order)


def _of_classes(batches: Iterable, stream: Any, *, numbered: bool) -> Iterator:
    """The batches, with a sentence about the first label that is no class: most often another column was meant."""
    for batch in batches:
        if batch.y is not None and batch.y.dtype.kind == "f":
            wrong = np.flatnonzero(batch.y != np.floor(batch.y))
            if wrong.size:
                schema = stream.schema
                column = "" if schema is None else f" in column {schema.label!r}"
                row = f", row {batch.start + int(wrong[0]) + 1}" if numbered else ""
                what = f"{stream.name}{row}: the label{column} is {batch.y[wrong[0]]:g}"
                raise ValueError(f"{what}, and classes are whole numbers or text; --label says where they are.")
        yield batch


def _column(label: str | None) -> str | int | None:
    return int(label) if label is not None and label.lstrip("-").isdigit() else label


def _columns(names: str | None) -> list[str | int]:
    """Columns that a flag lists, with commas between them."""
    return [] if names is None else [_column(name.strip()) for name in names.split(",")]  # type: ignore[misc]


def _schema_of(columns: list | None) -> Any:
    """The schema that a model file describes."""
    from frugalsvm.persist import ModelFileError
    from frugalsvm.streams import Column, Schema

    if columns is None:
        return None
    good = isinstance(columns, list) and all(
        isinstance(column, list) and len(column) == 3 and all(isinstance(word, str) for word in column)
        for column in columns
    )
    if not good:
        raise ModelFileError("The model file is malformed: its columns are not described as they should be.")
    return Schema(tuple(Column(*column) for column in columns))


def as_learned(options: DataOptions, model_file: Any, fitted: Any) -> DataOptions:
    """Options for data that a model is to judge: with the columns that it has learned from, in the same way."""
    from frugalsvm.persist import describe

    begun = describe(model_file).metadata.get("training", {}).get("data", {})
    return options._replace(
        columns=begun.get("columns"),
        hash_features=begun.get("hash_features"),
        missing=getattr(fitted, "impute", None) or "fail",
        n_features=getattr(fitted, "n_features_in_", None) or None,  # text alone has no width
        shuffle="no",
    )


def peeked(batches: Iterable, n_rows: int = HEAD_ROWS) -> tuple[list, Iterator]:
    """The first batches, with so many rows at least, and all batches, these included."""
    iterator = iter(batches)
    head: list = []
    while sum(batch.n_rows for batch in head) < n_rows and (batch := next(iterator, None)) is not None:
        head.append(batch)
    return head, itertools.chain(head, iterator)


class Head(NamedTuple):
    """The first rows as an estimator would see them: complete, scaled, and with columns of text encoded."""

    X: Any
    y: np.ndarray
    is_scaled: bool
    encoder: Any  # not fitted; None without columns of text


def prepared(head: list, scale: str = "auto", impute: str | None = None) -> Head:
    """Rows and labels of some batches; scaled if that was asked for, or if their values ask for it."""
    from scipy.sparse import issparse, vstack

    from frugalsvm.cli.choosing import needs_scaling
    from frugalsvm.pipelines import ColumnEncoder, MissingValueFiller, StreamingScaler
    from frugalsvm.pipelines.encoder import joined

    rows = [batch.X for batch in head]
    X = vstack(rows, format="csr") if issparse(rows[0]) else np.concatenate(rows)
    if impute is not None and X.shape[1]:
        X = MissingValueFiller(impute).fit(X).transform(X)
    is_scaled = bool(X.shape[1]) and (needs_scaling(X) if scale == "auto" else scale == "yes")
    if is_scaled:
        X = StreamingScaler().fit(X).transform(X)
    encoder = ColumnEncoder() if head[0].columns is not None else None
    if encoder is not None:
        columns = {name: np.concatenate([batch.columns[name] for batch in head]) for name in head[0].columns}
        X = joined(X, ColumnEncoder().fit(columns).transform(columns))
    return Head(X, np.concatenate([labels_of(batch) for batch in head]), is_scaled, encoder)
