"""The first rows of data to learn: in which order they are, which columns are of use, and whether there are enough."""

from collections.abc import Callable, Container, Iterable, Iterator
from itertools import chain
from shlex import quote
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.cli.catalogue import CATALOGUE, CLASSES
from frugalsvm.cli.console import tell
from frugalsvm.cli.data import FIRST_ROWS, Opened, open_data
from frugalsvm.cli.options import YES_OR_NO, DataOptions
from frugalsvm.cli.words.task import many_classes, task_of, task_words
from frugalsvm.pipelines import ColumnEncoder, MissingValueFiller
from frugalsvm.pipelines.coded import tells_rows_apart
from frugalsvm.pipelines.encoder import joined
from frugalsvm.pipelines.scaling import new_scaler
from frugalsvm.streams import StreamError
from frugalsvm.streams.batch import labels_of, stacked
from frugalsvm.streams.columns import LABEL_NAMES, Schema

__all__ = [
    "Examined",
    "Prepared",
    "check_classes",
    "check_enough",
    "check_numbers",
    "check_size",
    "chosen_scale",
    "described",
    "examine",
    "left_out_notes",
    "many_texts",
    "peeked",
    "prepared",
    "tell_labels",
    "tell_task",
    "with_label_column",
]

_MOST_BYTES = 2**28  # of the vectors of a model, if the width of rows was not given
_HASHED = 2**16  # features that are advised instead


class Examined(NamedTuple):
    """Data whose first rows were looked at."""

    data: DataOptions  # with what was decided
    opened: Opened
    first: list  # batches
    batches: Iterator  # all of them, with the first
    notes: list[str]
    warnings: list[str]

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

    def tell(self, *, quiet: bool) -> None:
        """Tell what was decided, and what may be wrong."""
        for note in () if quiet else (*self.opened.stream.notes, *self.notes):
            tell(f"note: {note}")
        for warning in self.warnings:
            tell(f"warning: {warning}")


def examine(
    data: DataOptions, n_rows: int = FIRST_ROWS, opening: Callable[[DataOptions], Opened] = open_data
) -> Examined:
    """Open data and look at its first rows; a file that is sorted by label is opened again, to be shuffled."""
    opened = opening(data)
    first, batches = peeked(opened.batches, n_rows)
    if not first:
        raise StreamError(f"{opened.stream.name} has no rows.")
    notes: list[str] = []
    warnings: list[str] = []
    if data.shuffle == "auto":
        data, sentence = _ordered(data, opened, first)
        if sentence is not None and data.shuffle == "yes":
            notes.append(sentence)
            batches = iter(())  # ends the thread that reads
            opened = opening(data)
            first, batches = peeked(opened.batches, n_rows)
        elif sentence is not None:
            warnings.append(sentence)
            opened.order.was_told = True
    schema = opened.stream.schema
    if schema is not None:
        unused = _unused_columns(data, first)
        notes += left_out_notes(unused)
        data = data._replace(columns=described(schema, unused))
        if unused:
            if not schema.numbers and len(unused) == len(schema.strings):
                raise ValueError(f"{opened.stream.name} has no column to learn from: {notes[-1]}.")
            first = [_without(batch, unused) for batch in first]
            batches = (_without(batch, unused) for batch in batches)
    return Examined(data, opened, first, batches, notes, warnings)


def _ordered(data: DataOptions, opened: Opened, first: list) -> tuple[DataOptions, str | None]:
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
        advice = "all rows are read and shuffled before they are learned (--shuffle no keeps their order)"
        return data._replace(shuffle="yes", shuffle_buffer=0), f"{words}: {advice}"
    advice = "a model forgets what came first; --shuffle yes collects all rows and shuffles them"
    return data._replace(shuffle="no"), f"{words}, and are learned in this order: {advice}"


def _unused_columns(data: DataOptions, first: list) -> dict[str, str]:
    """Columns of text whose values are nearly all different, which say nothing about other rows; and what they have."""
    kept = {name.strip() for name in (data.categorical or "").split(",")}
    names = [name for name in first[0].columns or {} if name not in kept]
    texts = {name: [text for batch in first for text in batch.columns[name].tolist() if text] for name in names}
    return {name: what for name, values in texts.items() if (what := many_texts(values)) is not None}


def many_texts(values: list[str]) -> str | None:
    """What to say of a column of text whose values are nearly all different; None for others."""
    return f"{len(set(values)):,} different texts in {len(values):,} rows" if tells_rows_apart(values) else None


def left_out_notes(unused: dict[str, str]) -> list[str]:
    """Sentences about columns that are left out."""
    keeps = "it is left out (--categorical {} keeps it)"
    return [f"column {name!r} has {what}: {keeps.format(quote(name))}" for name, what in unused.items()]


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
    """What a pipeline is told for a value of ``--scale``; columns inside of [-1, 1] are best left alone by auto."""
    if scale == "auto":
        return bool((np.abs(X if isinstance(X, np.ndarray) else X.data) > 1.0).any())  # none of missing values is
    return scale == "yes" if scale in YES_OR_NO else scale


def tell_task(examined: Examined, algorithm: str, *, is_guess: bool = False, quiet: bool) -> None:
    """Tell what an algorithm for classes or for numbers is to predict, and warn of classes that look like numbers.

    With ``is_guess`` the labels have decided which of these it is.
    """
    y, classifies = examined.labels, CATALOGUE[algorithm].task == CLASSES
    if not quiet and len(y):
        task = task_of(y, "auto" if is_guess else "classification" if classifies else "regression")
        tell(f"note: {task_words(task, examined.label, examined.where and f' in the{examined.where}')}")
    if classifies and (doubt := many_classes(y, examined.label, algorithm)):
        tell(f"warning: {doubt}")


def check_classes(examined: Examined, algorithm: str, classes: Any) -> None:
    """Refuse one class where all classes must be known from the first rows on."""
    labels = np.unique(np.concatenate([labels_of(batch) for batch in examined.first]))
    if len(labels) > 1 or classes is not None or algorithm == "bsgd":
        return
    may_mix = not examined.opened.stream.reopenable and examined.data.shuffle != "yes"
    raise ValueError(
        f"{examined.name} has one label only{examined.where and f' in its{examined.where}'}, {labels.tolist()[0]!r}, "
        f"and {algorithm} must know all classes before it learns: name them with --classes,"
        f"{' mix the rows with --shuffle yes,' if may_mix else ''} or take -a bsgd."
    )


def check_numbers(examined: Examined) -> None:
    """Refuse text where numbers are to be learned."""
    for batch in examined.first:
        if batch.y.dtype.kind not in "biuf":
            found = batch.y[:1].tolist()[0]
            raise ValueError(
                f"{examined.name} has labels like {found!r}, which are not numbers: is --label the right column?"
            )


def with_label_column(data: DataOptions) -> DataOptions:
    """Data whose named column of labels is described as such, although it is not read: other files may lack it."""
    if data.label is None or data.columns is None:
        return data
    names = [name for name, _, _ in data.columns]
    index = names.index(data.label) if data.label in names else int(data.label)
    columns = [list(column) for column in data.columns]
    columns[index][2] = "label"
    return data._replace(columns=columns)


def tell_labels(examined: Examined) -> None:
    """Warn of a column of labels, by its name, among the features of rows that are learned without labels."""
    schema = examined.schema
    for name in () if schema is None else (*schema.numbers, *schema.strings):
        if name.lower() in LABEL_NAMES:
            tell(f"warning: column {name!r} is used as a feature; --label {name} leaves it out")


def check_enough(examined: Examined, y: np.ndarray) -> None:
    """Refuse rows by which parameters cannot be compared."""
    n_learned = 2 * len(y) // 3
    if n_learned == len(y) or len(np.unique(y[:n_learned])) < 2:
        what = f"{len(y):,} rows, and {len(np.unique(y)):,} different labels"
        raise ValueError(f"{examined.name} has {what}: too few to compare parameters by.")


def check_size(examined: Examined, algorithm: str, budget: int | None) -> None:
    """Refuse rows so wide that the vectors of a model would fill the memory, before that is taken."""
    if examined.data.n_features is not None:  # somebody has said that it is meant
        return
    width = examined.opened.stream.n_features
    n_vectors = (budget or 0) if CATALOGUE[algorithm].budgeted else 0
    n_bytes = width * (4 * n_vectors + 24)  # and the statistics of the scaler
    if n_bytes > _MOST_BYTES:
        raise ValueError(
            f"{examined.name} has {width:,} features, with which a model of {n_vectors:,} vectors takes "
            f"{n_bytes / 2**20:,.0f} MB: --hash-features {_HASHED} brings them to fewer, a smaller --budget helps, and "
            f"--features {width} confirms this size."
        )
