"""The first rows of data to learn: in which order they are, which columns are of use, and whether there are enough."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.cli.catalogue import CATALOGUE
from frugalsvm.cli.choosing import can_choose
from frugalsvm.cli.data import HEAD_ROWS, DataOptions, Opened, open_data, peeked
from frugalsvm.cli.running import labels_of
from frugalsvm.cli.showing import tell, tell_notes
from frugalsvm.streams import StreamError

__all__ = ["Begun", "begin", "check_classes", "check_enough", "check_size", "counts_of", "tell_begun", "tell_end"]

_MANY_VALUES = 50  # of a column of text, of which more than half are different: names, dates, texts
_MOST_BYTES = 2**28  # of the vectors of a model, if the width of rows was not given
_HASHED = 2**16  # features that are advised instead


class Begun(NamedTuple):
    """Data whose first rows were looked at."""

    data: DataOptions  # with what was decided
    opened: Opened
    head: list  # batches
    batches: Iterator  # all of them, with those of the head
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


def begin(data: DataOptions, n_rows: int = HEAD_ROWS, opening: Callable[[DataOptions], Opened] = open_data) -> Begun:
    """Open data and look at its first rows; a file that is sorted by label is opened again, to be shuffled."""
    opened = opening(data)
    head, batches = peeked(opened.batches, n_rows)
    if not head:
        raise StreamError(f"{opened.stream.name} has no rows.")
    notes: list[str] = []
    warnings: list[str] = []
    if data.shuffle == "auto":
        data, sentence = _ordered(data, opened, head)
        if sentence is not None and data.shuffle == "yes":
            notes.append(sentence)
            batches = iter(())  # ends the thread that reads
            opened = opening(data)
            head, batches = peeked(opened.batches, n_rows)
        elif sentence is not None:
            warnings.append(sentence)
            opened.order.was_told = True
    schema = getattr(opened.stream, "schema", None)
    if schema is not None:
        unused = _unused_columns(data, head)
        notes += [
            f"column {name!r} has {what}: it is left out (--categorical {name} keeps it)" for name, what in unused
        ]
        names = {name for name, _ in unused}
        data = data._replace(
            columns=[[c.name, c.kind, "ignored" if c.name in names else c.role] for c in schema.columns]
        )
        if names:
            if not schema.numbers and len(names) == len(schema.strings):
                raise ValueError(f"{opened.stream.name} has no column to learn from: {notes[-1]}.")
            head = [_without(batch, names) for batch in head]
            batches = (_without(batch, names) for batch in batches)
    return Begun(data, opened, head, batches, tuple(notes), tuple(warnings))


def _ordered(data: DataOptions, opened: Opened, head: list) -> tuple[DataOptions, str | None]:
    """Data with a decision about its order, and a sentence if rows are sorted by label."""
    order, stream = opened.order.order, opened.stream
    n_classes = len(order.counts)
    # One class, and more rows behind it: sorted, or nearly without the other ones.
    is_sorted = order.is_sorted or (n_classes == 1 and order.n_rows >= HEAD_ROWS)
    if not is_sorted:
        return data._replace(shuffle="no"), None
    what = f"have one label only, {next(iter(order.counts))!r}" if n_classes == 1 else "are sorted by label"
    first = f"the first {order.n_rows:,} rows of {stream.name} {what}"
    if stream.reopenable:
        advice = "all rows are read and shuffled before they are learned (--shuffle no keeps their order)"
        return data._replace(shuffle="yes", shuffle_buffer=0), f"{first}: {advice}"
    advice = "a model forgets what came first; --shuffle yes collects all rows and shuffles them"
    return data._replace(shuffle="no"), f"{first}, and are learned in this order: {advice}"


def _unused_columns(data: DataOptions, head: list) -> list[tuple[str, str]]:
    """Columns of text whose values are nearly all different, which say nothing about other rows."""
    kept = {name.strip() for name in (data.categorical or "").split(",")}
    found = []
    for name in head[0].columns or {}:
        values = [text for batch in head for text in batch.columns[name].tolist() if text]
        n_different = len(set(values))
        if len(values) >= _MANY_VALUES and 2 * n_different > len(values) and name not in kept:
            found.append((name, f"{n_different:,} different texts in {len(values):,} rows"))
    return found


def _without(batch: Any, names: set[str]) -> Any:
    columns = {name: values for name, values in batch.columns.items() if name not in names}
    return batch._replace(columns=columns or None)


def check_classes(begun: Begun, algorithm: str, classes: Any) -> None:
    """Refuse one class where all classes must be known from the first rows on."""
    labels = np.unique(np.concatenate([labels_of(batch) for batch in begun.head]))
    if len(labels) > 1 or classes is not None or algorithm == "bsgd":
        return
    n_rows = sum(batch.n_rows for batch in begun.head)
    where = "" if n_rows < HEAD_ROWS else f" in its first {n_rows:,} rows"
    advice = (
        "" if begun.opened.stream.reopenable or begun.data.shuffle == "yes" else " mix the rows with --shuffle yes,"
    )
    raise ValueError(
        f"{begun.opened.stream.name} has one label only{where}, {labels.tolist()[0]!r}, and {algorithm} must know all "
        f"classes before it learns: name them with --classes,{advice} or take -a bsgd."
    )


def check_enough(begun: Begun, y: np.ndarray) -> None:
    """Refuse rows by which parameters cannot be compared."""
    if not can_choose(y):
        what = f"{len(y):,} rows, and {len(np.unique(y)):,} different labels"
        raise ValueError(f"{begun.opened.stream.name} has {what}: too few to compare parameters by.")


def check_size(begun: Begun, algorithm: str, budget: int | None) -> None:
    """Refuse rows so wide that the vectors of a model would fill the memory, before that is taken."""
    if begun.data.n_features is not None:  # somebody has said that it is meant
        return
    width = begun.opened.stream.n_features
    n_vectors = (budget or 0) if CATALOGUE[algorithm].budgeted else 0
    n_bytes = width * (4 * n_vectors + 24)  # and the statistics of the scaler
    if n_bytes > _MOST_BYTES:
        raise ValueError(
            f"{begun.opened.stream.name} has {width:,} features, with which a model of {n_vectors:,} vectors takes "
            f"{n_bytes / 2**20:,.0f} MB: --hash-features {_HASHED} brings them to fewer, a smaller --budget helps, and "
            f"--features {width} says that the size is meant."
        )


def counts_of(stream: Any) -> dict[str, int]:
    """Rows that reading has left out, and values that were missing."""
    names = {"unlabeled_rows": "n_unlabeled", "incomplete_rows": "n_incomplete", "missing_values": "n_missing"}
    return {key: getattr(stream, name, 0) for key, name in names.items()}


def tell_begun(begun: Begun, *, quiet: bool) -> None:
    """What was decided by itself, and what may be wrong."""
    if not quiet:
        tell_notes(begun.opened.stream)
        for note in begun.notes:
            tell(f"note: {note}")
    for warning in begun.warnings:
        tell(f"warning: {warning}")


def tell_end(data: DataOptions, opened: Opened, model: Any, *, quiet: bool) -> None:
    """What reading has left out or filled, and what may be wrong with the model because of its data."""
    counts = counts_of(opened.stream)
    sentences = {
        "unlabeled_rows": "{} without a label: left out",
        "incomplete_rows": "{} with missing values: left out",
        "missing_values": f"{{}}: filled with the {data.missing} of the first rows in their column (--missing)",
    }
    for key, n in counts.items():
        if n and not quiet:
            what = "missing value" if key == "missing_values" else "row"
            tell("note: " + sentences[key].format(f"{n:,} {what}{'' if n == 1 else 's'}"))
    classes = getattr(model, "classes_", None)
    if classes is not None and len(classes) == 1:
        tell(
            f"warning: all rows have the label {classes.tolist()[0]!r}: the model knows no other and always predicts it"
        )
    order = opened.order.order
    is_mixed = data.shuffle == "yes" or data.shuffle_buffer > 0 or opened.order.was_told
    if not is_mixed and order.is_sorted and order.n_rows > HEAD_ROWS:
        changes = f"{order.n_changes:,} changes of the label in {order.n_rows:,} rows"
        tell(f"warning: rows were learned sorted by label ({changes}), and a model forgets; --shuffle yes mixes them")
