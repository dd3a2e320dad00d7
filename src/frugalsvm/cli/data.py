"""Data for the commands: how a stream is opened, and its first rows."""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.cli.fingerprint import rows_after
from frugalsvm.cli.pipes import PIPE_ROWS, Pipe
from frugalsvm.cli.running import labels_of

__all__ = ["DataOptions", "Head", "Opened", "open_data", "peeked", "prepared"]

HEAD_ROWS = 6000  # from which parameters are chosen
BATCH_ROWS = 4096
_HEADERS: dict[str, bool | str] = {"auto": "auto", "yes": True, "no": False}


class DataOptions(NamedTuple):
    """How rows are read; part of a model file, so that a run can be resumed as it was begun."""

    source: str
    format: str | None = None
    label: str | None = None
    on_bad_line: str = "fail"
    header: str = "auto"
    delimiter: str | None = None
    n_features: int | None = None
    shuffle_buffer: int = 0
    seed: int = 0


class Opened(NamedTuple):
    stream: Any  # as it was opened: it knows its length and its bad lines
    batches: Iterable  # what to read


def open_data(
    options: DataOptions,
    *,
    start: int = 0,
    has_labels: bool | None = None,
    prefetch: bool = True,
    pipe: Pipe | None = None,
) -> Opened:
    """A stream from row ``start`` on, shuffled if wanted, read ahead on a second thread.

    By default rows have labels, which must be classes; with ``has_labels=True`` labels are read, whatever they are. A
    pipe is read in small batches, unless they are shuffled.
    """
    from frugalsvm.streams import open_stream, prefetched, shuffled

    # A shuffled stream is the same every time, but only from its beginning.
    begins_anew = options.shuffle_buffer > 0
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
    )
    batches: Any = prefetched(stream, 2 * BATCH_ROWS // batch_rows) if prefetch else stream
    if begins_anew:
        batches = rows_after(shuffled(batches, options.shuffle_buffer, options.seed), start)
    if has_labels is None:
        batches = _of_classes(batches, options.source, stream, numbered=not begins_anew)
    return Opened(stream, batches)


def _of_classes(batches: Iterable, source: str, stream: Any, *, numbered: bool) -> Iterator:
    """The batches, with a sentence about the first label that is no class: most often another column was meant."""
    for batch in batches:
        if batch.y is not None and batch.y.dtype.kind == "f":
            wrong = np.flatnonzero(batch.y != np.floor(batch.y))
            if wrong.size:
                schema = stream.schema
                column = "" if schema is None else f" in column {schema.label!r}"
                row = f", row {batch.start + int(wrong[0]) + 1}" if numbered else ""
                what = f"{source}{row}: the label{column} is {batch.y[wrong[0]]:g}"
                raise ValueError(f"{what}, and classes are whole numbers or text; --label says where they are.")
        yield batch


def _column(label: str | None) -> str | int | None:
    return int(label) if label is not None and label.lstrip("-").isdigit() else label


def peeked(batches: Iterable, n_rows: int = HEAD_ROWS) -> tuple[list, Iterator]:
    """The first batches, with so many rows at least, and all batches, these included."""
    iterator = iter(batches)
    head: list = []
    while sum(batch.n_rows for batch in head) < n_rows and (batch := next(iterator, None)) is not None:
        head.append(batch)
    return head, itertools.chain(head, iterator)


class Head(NamedTuple):
    """The first rows as an estimator would see them: scaled, and with columns of text encoded."""

    X: Any
    y: np.ndarray
    is_scaled: bool
    encoder: Any  # not fitted; None without columns of text


def prepared(head: list, scale: str = "auto") -> Head:
    """Rows and labels of some batches; scaled if that was asked for, or if their values ask for it."""
    from scipy.sparse import issparse, vstack

    from frugalsvm.cli.choosing import needs_scaling
    from frugalsvm.pipelines import ColumnEncoder, StreamingScaler
    from frugalsvm.pipelines.encoder import joined

    rows = [batch.X for batch in head]
    X = vstack(rows, format="csr") if issparse(rows[0]) else np.concatenate(rows)
    is_scaled = bool(X.shape[1]) and (needs_scaling(X) if scale == "auto" else scale == "yes")
    if is_scaled:
        X = StreamingScaler().fit(X).transform(X)
    encoder = ColumnEncoder() if head[0].columns is not None else None
    if encoder is not None:
        columns = {name: np.concatenate([batch.columns[name] for batch in head]) for name in head[0].columns}
        X = joined(X, ColumnEncoder().fit(columns).transform(columns))
    return Head(X, np.concatenate([labels_of(batch) for batch in head]), is_scaled, encoder)
