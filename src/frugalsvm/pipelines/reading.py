"""How rows of files and pipes are read, to be learned or to be predicted: what is said of them, and how to open them.

`frugalsvm.streams.open_stream` reads rows as they are. Here they are read ahead, shuffled if that is wanted, and looked
at: whether they are sorted by their labels, and whether these are classes.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.exceptions import Sentence, TaskError
from frugalsvm.streams import open_stream, prefetched, shuffled
from frugalsvm.streams.batch import Batch, rows_after
from frugalsvm.streams.columns import schema_of
from frugalsvm.streams.label_order import Watched
from frugalsvm.streams.pipes import PIPE_ROWS, Pipe, is_read_once
from frugalsvm.streams.row_checks import are_classes, why_no_class
from frugalsvm.words import NOVELTIES, NUMBERS

FIRST_ROWS = 6000  # from which parameters are chosen
BATCH_ROWS = 4096
HEADERS: dict[str, bool | str] = {"auto": "auto", "yes": True, "no": False}


class DataOptions(NamedTuple):
    """How rows are read."""

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
    notation: list | None = None  # their decimal mark and thousands separator
    dtype: str = "float32"  # of numbers
    zero_based: bool | None = None  # whether feature numbers of LIBSVM text start at 0; None looks at the first lines

    @property
    def name(self) -> str:
        """What to call the source in messages."""
        if isinstance(self.source, str):
            return self.source
        return f"{self.source[0]} and {len(self.source) - 1} more"

    @property
    def is_read_once(self) -> bool:
        """Whether rows come from standard input or a named pipe, which cannot be read a second time."""
        return is_read_once(self.source)

    @property
    def is_shuffled(self) -> bool:
        """Whether rows are learned in another order than they come in."""
        return self.shuffle == "yes" or self.shuffle_buffer > 0

    @property
    def imputes(self) -> str | None:
        """What missing numbers are filled with, if they are."""
        return self.missing if self.missing in ("mean", "median") else None


class Opened(NamedTuple):
    stream: Any  # as it was opened: it knows its length and its bad lines
    batches: Iterable  # what to read
    order: Any = None  # a stream that knows the order of its labels; None if all rows are kept
    surprises: Any = None  # what the rows so far have that the training data of a model had not


def name_features(model: Any, stream: Any) -> None:
    """Let what a pipeline says of features name the columns of a table."""
    if stream.schema is not None:
        model.names_in_messages = stream.schema.numbers


def open_data(
    options: DataOptions,
    *,
    start: int = 0,
    has_labels: bool | None = None,
    of_classes: bool = True,
    of_numbers: bool = False,
    kept: bool = False,
    pipe: Pipe | None = None,
) -> Opened:
    """A stream from row ``start`` on, shuffled if wanted, read ahead on a second thread.

    Rows that are all ``kept``, to be learned at once, are neither read ahead, as nothing happens between batches, nor
    looked at for their order.

    By default rows have labels, which must be classes unless ``of_classes`` is false, or ``of_numbers`` says what they
    are; with ``has_labels=True`` they have some that are not read. A pipe is read in small batches, unless they are
    shuffled.
    """
    of_classes = of_classes and not of_numbers
    like = schema_of(options.columns)
    if like is not None and options.notation is not None:
        like = like._replace(notation=tuple(options.notation))
    # A shuffled stream is the same every time, but only from its beginning.
    from_the_start = options.is_shuffled
    batch_rows = BATCH_ROWS if pipe is None or from_the_start else PIPE_ROWS
    stream = open_stream(
        options.source if pipe is None else pipe,
        format=options.format,
        label=column_in(options.label),
        batch_rows=batch_rows,
        n_features=options.n_features,
        start=0 if from_the_start else start,
        on_bad_line=options.on_bad_line,
        header=HEADERS[options.header],
        has_labels=has_labels is not False,
        dtype=options.dtype,
        delimiter=options.delimiter,
        # Where bad lines are errors, the first one gets a sentence with advice: see `of_classes_only`.
        class_labels=of_classes and has_labels is None and options.on_bad_line == "skip",
        decimal=options.decimal,
        thousands=options.thousands,
        missing=options.missing if options.imputes is None else "nan",
        unlabeled="skip",
        categorical=columns_in(options.categorical),
        ignore=columns_in(options.ignore),
        reads_labels=has_labels is None,
        like=like,
        zero_based=options.zero_based,
        hash_features=options.hash_features,
    )
    order: Watched | None = None
    batches: Iterable[Batch] = stream
    if not kept:
        ahead = prefetched(stream, 2 * BATCH_ROWS // batch_rows)
        order = batches = Watched(ahead, of_numbers=of_numbers if of_classes or of_numbers else None)
    if from_the_start:
        buffer_rows = None if options.shuffle == "yes" else options.shuffle_buffer
        batches = rows_after(shuffled(batches, buffer_rows, options.seed), start)
    if has_labels is None and of_classes:
        batches = of_classes_only(batches, stream, numbered=not from_the_start)
    return Opened(stream, batches, order)


def reading_for(task: str | None, options: DataOptions) -> dict[str, bool]:
    """What `open_data` has to know of labels for a task; where none are needed, a column that is named is left out.

    None is a task that the labels are to decide.
    """
    if task is None:
        return {"of_classes": False}
    if task == NOVELTIES:
        return {"has_labels": options.label is not None}
    return {"of_numbers": task == NUMBERS}


def of_classes_only(batches: Iterable, stream: Any, *, numbered: bool) -> Iterator:
    """The batches, unless they have labels that are not classes."""
    for batch in batches:
        refuse_other_labels(batch, stream, numbered=numbered)
        yield batch


def refuse_other_labels(batch: Batch, stream: Any, *, numbered: bool) -> None:
    """Refuse the first label that is not a class: most often another column was meant."""
    if batch.y is None or batch.y.dtype.kind != "f":
        return
    wrong = np.flatnonzero(~are_classes(batch.y))
    if not wrong.size:
        return
    label, schema = batch.y[wrong[0]], stream.schema
    column = "" if schema is None else f" in column {schema.label!r}"
    row = f", row {batch.start + int(wrong[0]) + 1}" if numbered else ""
    words = f"{stream.name}{row}: the label{column} is {label:g}, and {why_no_class(label)}"
    if label != np.floor(label):
        raise TaskError(Sentence(words, "; {label} says where they are, and {task} learns numbers.", task="regression"))
    as_text = () if schema is None else (f"categorical={schema.label}",)  # in which all digits count
    raise TaskError(Sentence(words, ".", as_text))


def column_in(label: str | None) -> str | int | None:
    """The column that a flag names, or gives the index of."""
    return int(label) if label is not None and label.lstrip("-").isdigit() else label


def columns_in(names: str | None) -> list[str | int]:
    """Columns of a flag, comma-separated."""
    return [] if names is None else [column_in(name.strip()) for name in names.split(",")]  # type: ignore[misc]
