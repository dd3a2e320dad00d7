"""The first rows of data to learn: in which order they are, which columns are of use, what an estimator sees."""

from collections.abc import Callable, Container, Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from frugalsvm.exceptions import Sentence
from frugalsvm.pipelines.coded import tells_rows_apart
from frugalsvm.pipelines.digits import blurred, blurred_words
from frugalsvm.pipelines.encoder import ColumnEncoder, joined
from frugalsvm.pipelines.imputer import MissingValueFiller
from frugalsvm.pipelines.label_task import task_of
from frugalsvm.pipelines.preparing import new_scaler
from frugalsvm.pipelines.reading import FIRST_ROWS, DataOptions, Opened, open_data
from frugalsvm.streams import StreamError
from frugalsvm.streams.batch import labels_of, stacked
from frugalsvm.streams.columns import Schema


class Examined(NamedTuple):
    """Data whose first rows were looked at."""

    data: DataOptions  # with what was decided
    opened: Opened
    first: list  # batches
    batches: Iterator  # all of them, with the first
    notes: list[Sentence]
    warnings: list[Sentence]
    words: tuple[str, ...] = ()  # columns of text that are different in almost every row, and were kept

    def without_text(self, names: Container[str]) -> "Examined":
        """The same data, with columns of text described as of no use."""
        return self._replace(data=self.data._replace(columns=described(self.schema, names)))

    @property
    def name(self) -> str:
        """What the source is called in messages."""
        return self.opened.stream.name

    @property
    def schema(self) -> Any:
        """What the columns of a table are; None for other rows."""
        return self.opened.stream.schema

    @property
    def label(self) -> str | None:
        """The column that labels come from, if it has a name."""
        return None if self.schema is None else self.schema.label

    @property
    def labels(self) -> np.ndarray:
        """Labels of the first rows."""
        return np.concatenate([batch.y for batch in self.first])

    @property
    def where(self) -> str:
        """Words about rows of which no others were looked at; none where these are all."""
        n_rows = sum(batch.n_rows for batch in self.first)
        return "" if n_rows < FIRST_ROWS else f" first {n_rows:,} rows"


def examine(
    data: DataOptions, opening: Callable[[DataOptions], Opened] = open_data, *, reads_words: bool = False
) -> Examined:
    """Open data and look at its first rows; a file is opened again for more digits, or to be shuffled.

    Text that is different in almost every row is left out, but for an estimator that ``reads_words``.
    """
    opened, first, batches = _begun(data, opening)
    if not first:
        raise StreamError(f"{opened.stream.name} has no rows.")
    notes: list[Sentence] = []
    warnings: list[Sentence] = []
    wanted, sentence = _with_digits(data, opened, first, opening)
    if sentence is not None:
        (warnings if wanted == data else notes).append(sentence)
    if wanted != data:
        data, batches = wanted, iter(())  # ends the thread that reads
        opened, first, batches = _begun(data, opening)
    if data.shuffle == "auto":
        data, sentence = _ordered(data, opened, first)
        if sentence is not None and data.shuffle == "yes":
            notes.append(sentence)
            batches = iter(())
            opened, first, batches = _begun(data, opening)
        elif sentence is not None:
            warnings.append(sentence)
            opened.order.is_reported = True
    schema = opened.stream.schema
    data = data._replace(zero_based=opened.stream.zero_based)
    read: tuple[str, ...] = ()
    if schema is not None:
        unused = _unused_columns(data, first)
        if reads_words:
            read = tuple(unused)
            notes += _text_notes(unused, "it is read by its words", " ({categorical} takes whole texts)")
            unused = {}
        notes += left_out_notes(unused)
        notation = None if schema.notation is None else list(schema.notation)
        data = data._replace(columns=described(schema, unused), notation=notation)
        if unused:
            if not schema.numbers and len(unused) == len(schema.strings):
                words, last = f"{opened.stream.name} has no column to learn from", notes[-1]
                raise StreamError(Sentence(f"{words}: {last.words}", f"{last.about}.", **last.values))
            first = [_without(batch, unused) for batch in first]
            batches = (_without(batch, unused) for batch in batches)
    return Examined(data, opened, first, batches, notes, warnings, read)


def _begun(data: DataOptions, opening: Callable[[DataOptions], Opened]) -> tuple[Opened, list, Iterator]:
    """What is opened, its first batches, and all of them."""
    opened = opening(data)
    return opened, *peeked(opened.batches, FIRST_ROWS)


def _with_digits(
    data: DataOptions, opened: Opened, first: list, opening: Callable[[DataOptions], Opened]
) -> tuple[DataOptions, Sentence | None]:
    """Data in double precision, where single precision blurs a column, and a sentence about it."""
    stream, rows = opened.stream, stacked(first).X
    if issparse(rows) or not len(columns := blurred(rows, maybe=stream.reopenable)):
        return data, None
    names = None if stream.schema is None else stream.schema.numbers
    if not stream.reopenable:
        words = f"{blurred_words(columns, names)}, and float32 blurs them"
        return data, Sentence(f"{words}: subtract what they have in common, or train on a file")
    in_double = data._replace(dtype="float64")
    rows = stacked(peeked(opening(in_double).batches, FIRST_ROWS)[0]).X
    if not len(columns := blurred(rows)):
        return data, None
    return in_double, Sentence(f"{blurred_words(columns, names)}: rows are read in float64")


def _ordered(data: DataOptions, opened: Opened, first: list) -> tuple[DataOptions, Sentence | None]:
    """Data with a decision about its order, and a sentence if rows are sorted by label."""
    if not opened.order.is_settled and first[0].y is not None:
        opened.order.settle(of_numbers=not task_of(np.concatenate([batch.y for batch in first])).classifies)
    order, stream = opened.order.order, opened.stream
    n_classes = len(order.counts)
    # One class, and more rows behind it: sorted, or nearly without the other ones.
    is_sorted = order.is_sorted or (n_classes == 1 and order.n_rows >= FIRST_ROWS)
    if not is_sorted:
        return data._replace(shuffle="no"), None
    what = f"have one label only, {next(iter(order.counts))!r}" if n_classes == 1 else "are sorted by label"
    words = f"the first {order.n_rows:,} rows of {stream.name} {what}"
    if stream.reopenable:
        words = f"{words}: all rows are read and shuffled before they are learned"
        sentence = Sentence(words, " ({shuffle} keeps their order)", shuffle="no")
        return data._replace(shuffle="yes", shuffle_buffer=0), sentence
    words = f"{words}, and are learned in this order: a model forgets what came first"
    sentence = Sentence(words, "; {shuffle} collects all rows and shuffles them", shuffle="yes")
    return data._replace(shuffle="no"), sentence


def _unused_columns(data: DataOptions, first: list) -> dict[str, str]:
    """Columns of text whose values are nearly all different, which say nothing about other rows; and what they have."""
    kept = {name.strip() for name in (data.categorical or "").split(",")}
    names = [name for name in first[0].columns or {} if name not in kept]
    texts = {name: [text for batch in first for text in batch.columns[name].tolist() if text] for name in names}
    return {name: what for name, values in texts.items() if (what := many_texts(values)) is not None}


def many_texts(values: list[str]) -> str | None:
    """What to say of a column of text whose values are nearly all different; None for others."""
    return f"{len(set(values)):,} different texts in {len(values):,} rows" if tells_rows_apart(values) else None


def left_out_notes(unused: dict[str, str]) -> list[Sentence]:
    """Sentences about columns that are left out."""
    return _text_notes(unused, "it is left out", " ({categorical} keeps it)")


def _text_notes(columns: dict[str, str], became: str, about: str) -> list[Sentence]:
    return [
        Sentence(f"column {name!r} has {what}: {became}", about, categorical=name) for name, what in columns.items()
    ]


def described(schema: Schema, unused: Container[str]) -> list[list[str]]:
    """Name, kind and role of each column, as model files have them."""
    return [[c.name, c.kind, "ignored" if c.name in unused else c.role] for c in schema.columns]


def _without(batch: Any, names: Container[str]) -> Any:
    columns = {name: values for name, values in batch.columns.items() if name not in names}
    return batch._replace(columns=columns or None)


def peeked(batches: Iterable, n_rows: int) -> tuple[list, Iterator]:
    """The first batches, with at least ``n_rows`` rows, and all batches, these included."""
    iterator = iter(batches)
    first: list = []
    while sum(batch.n_rows for batch in first) < n_rows and (batch := next(iterator, None)) is not None:
        first.append(batch)
    return first, chain(first, iterator)


class Prepared(NamedTuple):
    """Rows as an estimator would see them: complete, scaled, and with columns of text encoded."""

    X: Any
    y: np.ndarray
    scale: bool | str  # of a pipeline
    encoder: Any  # not fitted; None without columns of text


def prepared(
    batches: list, scale: str = "auto", impute: str | None = None, *, dense_scale: str | None = None
) -> Prepared:
    """Rows and labels of some batches; scaled if that was asked for, or if their values ask for it.

    ``dense_scale`` is what "auto" is for dense rows, of which the values are not to decide.
    """
    rows = stacked(batches)
    X, columns = rows.X, rows.columns
    if impute is not None and X.shape[1]:
        X = MissingValueFiller(impute).fit(X).transform(X)
    if scale == "auto" and dense_scale is not None and isinstance(X, np.ndarray):
        scale = dense_scale
    chosen = bool(X.shape[1]) and chosen_scale(scale, X)
    if chosen:
        X = new_scaler(chosen).fit(X).transform(X)
    if columns is not None:
        X = joined(X, ColumnEncoder().fit(columns).transform(columns))
    y = np.concatenate([labels_of(batch) for batch in batches])
    return Prepared(X, y, chosen, None if columns is None else ColumnEncoder())


def chosen_scale(scale: str, X: Any) -> bool | str:
    """The ``scale`` of a pipeline for "auto", "yes", "no" or a name; columns inside of [-1, 1] are best left alone."""
    if scale == "auto":
        return bool((np.abs(X if isinstance(X, np.ndarray) else X.data) > 1.0).any())  # none of missing values is
    return {"yes": True, "no": False}.get(scale, scale)


def with_label_column(data: DataOptions) -> DataOptions:
    """Data whose named column of labels is described as such, although it is not read: other files may lack it."""
    if data.label is None or data.columns is None:
        return data
    names = [name for name, _, _ in data.columns]
    index = names.index(data.label) if data.label in names else int(data.label)
    columns = [list(column) for column in data.columns]
    columns[index][2] = "label"
    return data._replace(columns=columns)
