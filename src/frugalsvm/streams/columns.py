"""Which column of a table is what: features, label, weight."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from frugalsvm.exceptions import Sentence
from frugalsvm.streams.bad_lines import StreamError, shown
from frugalsvm.streams.dates import DateColumn

LABEL_NAMES = ("label", "target", "class", "y")
_BY_NAME = "by its name"
_LISTED = 50  # names of columns in a message


class Column(NamedTuple):
    """One column of a table: name, ``"number"``, ``"string"`` or a kind of dates (`DateColumn`), and what it is for.

    That is ``"feature"``, ``"label"``, ``"weight"`` or ``"ignored"``.
    """

    name: str
    kind: str
    role: str = "feature"


class Schema(NamedTuple):
    """The columns of a table, in the order of the file; and the order of the features, where it is another one.

    Examples
    --------
    >>> from frugalsvm.streams import Column, Schema
    >>> schema = Schema((Column("age", "number"), Column("town", "string"), Column("y", "number", "label")))
    >>> schema.numbers, schema.strings, schema.label
    (('age',), ('town',), 'y')
    """

    columns: tuple[Column, ...]
    order: tuple[str, ...] = ()
    notation: tuple[str, str | None] | None = None  # decimal mark and thousands separator, in delimited text

    def _named(self, kind: str) -> tuple[str, ...]:
        found = [c.name for c in self.columns if c.role == "feature" and c.kind == kind]
        place = {name: index for index, name in enumerate(self.order)}
        return tuple(sorted(found, key=place.__getitem__) if self.order else found)

    def _of_role(self, role: str) -> str | None:
        return next((column.name for column in self.columns if column.role == role), None)

    @property
    def numbers(self) -> tuple[str, ...]:
        """Names of the columns of `Batch.X`: numbers, and then what is made of dates."""
        made = (name for column, date in self.dates for name in date.names(column))
        return (*self._named("number"), *made)

    @property
    def dates(self) -> list[tuple[str, DateColumn]]:
        """Columns of dates, and what is made of them."""
        kinds = {c.name: c.kind for c in self.columns if c.role == "feature"}
        found = [(name, DateColumn.of_kind(kind)) for name, kind in kinds.items()]
        place = {name: index for index, name in enumerate(self.order)}
        dates = [(name, date) for name, date in found if date is not None]
        return sorted(dates, key=lambda each: place[each[0]]) if self.order else dates

    @property
    def strings(self) -> tuple[str, ...]:
        """Names of the columns in `Batch.columns`."""
        return self._named("string")

    @property
    def label(self) -> str | None:
        """Name of the column that the labels come from."""
        return self._of_role("label")

    @property
    def weight(self) -> str | None:
        """Name of the column that the weights come from."""
        return self._of_role("weight")

    @property
    def has_names(self) -> bool:
        """Whether the file names its columns."""
        return _are_given([column.name for column in self.columns])


def schema_of(columns: list | None) -> Any:
    """The schema that a model file describes by name, kind and role of each column."""
    from frugalsvm.persist import ModelFileError

    if columns is None:
        return None
    good = isinstance(columns, list) and all(
        isinstance(column, list) and len(column) == 3 and all(isinstance(word, str) for word in column)
        for column in columns
    )
    if not good:
        raise ModelFileError("The model file is malformed: its description of columns is wrong.")
    return Schema(tuple(Column(*column) for column in columns))


def unnamed(index: int) -> str:
    """What a column without a name is called."""
    return f"column {index}"


class Layout(NamedTuple):
    """What a reader knows before the first row: widths, length where that is cheap, and what it decided."""

    n_features: int
    n_rows: int | None
    schema: Schema | None
    notes: tuple[str, ...]
    zero_based: bool | None = None  # whether feature numbers start at 0, in LIBSVM text


class Roles(NamedTuple):
    """What the caller says about columns; names, or numbers from 0 (negative ones from the end).

    ``reads_labels`` is false where the column of labels is looked for only to be left out. ``like`` is the schema of
    the rows that a model has learned: columns are found by their names, or by their order where one of both has none.
    """

    label: str | int | None = None
    weight: str | int | None = None
    has_labels: bool = True
    categorical: Sequence[str | int] = ()
    ignore: Sequence[str | int] = ()
    reads_labels: bool = True
    like: Schema | None = None


def _position(wanted: str | int, names: Sequence[str], source: str) -> int:
    if isinstance(wanted, str):
        if wanted in names:
            return list(names).index(wanted)
        raise StreamError(f"{source} has no column {shown(wanted)}{_suggested(wanted, names)}.")
    if not -len(names) <= wanted < len(names):
        raise StreamError(f"{source} has no column with index {wanted}; it has {len(names)} columns, indexed from 0.")
    return wanted % len(names)


def _suggested(wanted: str, names: Sequence[str]) -> str:
    """The names that may be meant, and all others as far as a message can hold them."""
    lowered = {name.lower(): name for name in names}
    close = [lowered[name] for name in get_close_matches(wanted.lower(), lowered, n=3)]
    meant = f": did you mean {' or '.join(map(shown, close))}?" if close else ";"
    listed = ", ".join(names[:_LISTED]) + (f" and {len(names) - _LISTED} more" if len(names) > _LISTED else "")
    return f"{meant} {'Its' if close else 'its'} columns are {listed}"


def _label_among(names: Sequence[str], usable: Sequence[int]) -> tuple[int, str]:
    """The column that has the labels by its name, or the last one; and why."""
    lowered = {names[index].lower(): index for index in reversed(usable)}
    named = next((lowered[name] for name in LABEL_NAMES if name in lowered), None)
    if named is None:
        return usable[-1], f"the last one, as none is called {', '.join(LABEL_NAMES)}"
    return named, _BY_NAME


def assigned(names: Sequence[str], kinds: Sequence[str], roles: Roles, source: str) -> tuple[Schema, tuple[str, ...]]:
    """The schema of a table, and sentences about what was decided without being asked for.

    ``kinds`` are what the columns look like, where "ignored" ones are to be left out; those that `Roles.categorical`
    lists become text.
    """
    if len(set(names)) < len(names):
        repeated = next(name for name, count in Counter(names).items() if count > 1)
        raise StreamError(f"{source} has two columns called {shown(repeated)}.")
    if roles.like is not None:
        return _assigned_like(names, kinds, roles, roles.like, source)
    kinds, notes, label = list(kinds), [], None
    for wanted in roles.categorical:
        kinds[_position(wanted, names, source)] = "string"
    for wanted in roles.ignore:
        kinds[_position(wanted, names, source)] = "ignored"
    weight = None if roles.weight is None else _position(roles.weight, names, source)
    if roles.label is not None:
        label = _position(roles.label, names, source)
    elif roles.has_labels:
        usable = [index for index, kind in enumerate(kinds) if kind != "ignored"] or [len(names) - 1]
        label, why = _label_among(names, usable)
        notes.append(f"labels come from column {shown(names[label])} ({why})")
    if label is not None and kinds[label] not in ("number", "ignored"):
        kinds[label] = "string"  # dates are classes there
    if label is not None and label == weight:
        raise StreamError(f"{source}: column {shown(names[label])} cannot be label and weight at once.")
    if weight is not None and kinds[weight] != "number":
        raise StreamError(f"{source}: the weights in column {shown(names[weight])} are not numbers.")
    role_of = {label: "label" if roles.reads_labels else "ignored", weight: "weight"}
    schema = Schema(
        tuple(_column(n, k, role_of.get(i, "feature")) for i, (n, k) in enumerate(zip(names, kinds, strict=True)))
    )
    if not roles.has_labels and roles.label is None:
        # A label column in a table without wanted labels would be learned from: it is the caller's to say.
        notes.append("no labels are read")
    if not schema.numbers and not schema.strings:
        raise StreamError(f"{source} has no column left for features beside {' and '.join(map(shown, names))}.")
    notes += [
        f"column {shown(name)} has {'clock times' if date.is_clock else 'dates'}: {date.words} are learned"
        for name, date in schema.dates
    ]
    if schema.strings:
        notes.append(f"columns of text: {', '.join(schema.strings)}")
    return schema, tuple(notes)


def _column(name: str, kind: str, role: str) -> Column:
    if kind == "ignored":
        return Column(name, "string", "ignored" if role == "feature" else role)
    return Column(name, "string" if role == "ignored" else kind, role)


def _assigned_like(names: Sequence[str], kinds: Sequence[str], roles: Roles, like: Schema, source: str):
    """The schema of a table with the columns of another one, whose features it must have."""
    there = set(names)
    left_out = {wanted for wanted in roles.ignore if wanted in there}
    if not (like.has_names and _are_given(names)):
        return _assigned_by_order(names, kinds, roles, like, left_out, source), ()
    known = {column.name: column for column in like.columns}
    wanted = [column.name for column in like.columns if column.role == "feature"]
    lacking = [name for name in wanted if name not in there or name in left_out]
    if lacking:
        raise StreamError(f"{source} has no column {shown(lacking[0])}, which the model has learned from.")
    label = _label_like(names, roles, like, known, source)
    columns = []
    for name, kind in zip(names, kinds, strict=True):
        column = known.get(name, Column(name, kind))
        if name == label:
            column = _read_label(Column(name, column.kind if kind != "ignored" else "string"), roles)
        elif column.role not in ("feature", "ignored") or name in left_out:
            column = Column(name, "string", "ignored")
        columns.append(_column(column.name, column.kind, column.role))
    unknown = [c.name for c in columns if c.role == "feature" and c.name not in known]
    if unknown:
        words = f"{source} has a column {shown(unknown[0])}, which the model has not learned from"
        raise StreamError(Sentence(words, "; {ignore} leaves it out.", ignore=unknown[0]))
    return Schema(tuple(columns), (*like.numbers, *like.strings)), ()


def _are_given(names: Sequence[str]) -> bool:
    """Whether a file names its columns."""
    return any(name != unnamed(index) for index, name in enumerate(names))


def _read_label(column: Column, roles: Roles) -> Column:
    """The column of labels, which is left out where labels are not read."""
    return column._replace(role="label") if roles.reads_labels else Column(column.name, "string", "ignored")


def _label_like(names: Sequence[str], roles: Roles, like: Schema, known: dict[str, Column], source: str) -> str | None:
    """The column with the labels of a table for a model; None if there is none, and none is read."""
    if roles.label is not None:
        return names[_position(roles.label, names, source)]
    if not roles.has_labels:
        return None
    if like.label is not None:
        if like.label in names or not roles.reads_labels:
            return like.label
        # Any other column could be taken for it, and scores would mean nothing.
        words = f"{source} has no column {shown(like.label)}, which held the labels in training"
        raise StreamError(Sentence(words, "; {label} names another one."))
    label = names[_label_among(names, [i for i, n in enumerate(names) if n not in known] or [-1])[0]]
    if label in known and known[label].role == "feature":
        if roles.reads_labels:
            raise StreamError(_no_labels(source))
        return None
    return label


def _no_labels(source: str) -> str:
    return f"{source} has no column of labels beside the features of the model."


def _assigned_by_order(
    names: Sequence[str], kinds: Sequence[str], roles: Roles, like: Schema, left_out: set, source: str
) -> Schema:
    """The schema of a table whose columns are those of another one in the same order, with the names from there.

    A column of labels may be missing, and where it is named it may be elsewhere.
    """
    label = _label_by_order(names, roles, like, source)
    columns = [column for column in like.columns if column.role != "label"]
    if len(columns) != len(names) - (label is not None):
        n_known = len(like.columns if roles.has_labels else columns)
        raise StreamError(f"{source} has {len(names)} columns where the model has learned from {n_known}.")
    if label is not None:
        known = next((column for column in like.columns if column.role == "label"), None)
        column = known or Column(f"{names[label]} (labels)", "number" if kinds[label] == "number" else "string")
        column = column if kinds[label] != "ignored" else column._replace(kind="string")
        columns.insert(label, _read_label(column, roles))
    elif roles.has_labels and roles.reads_labels:
        raise StreamError(_no_labels(source))
    made = []
    for name, column in zip(names, columns, strict=True):
        is_used = column.role in ("feature", "label") and name not in left_out
        made.append(_column(column.name, column.kind, column.role if is_used else "ignored"))
    return Schema(tuple(made))


def _label_by_order(names: Sequence[str], roles: Roles, like: Schema, source: str) -> int | None:
    """The place of the labels in a table whose columns are found by their order; None if it has none.

    It is that in the other table, unless another one is given; the name from there is no other one.
    """
    if roles.label is not None and (roles.label in names or roles.label != like.label):
        return _position(roles.label, names, source)
    known = next((index for index, column in enumerate(like.columns) if column.role == "label"), None)
    if roles.has_labels and known is not None and len(names) == len(like.columns):
        _check_place(names, known, source)
        return known
    return None


def _check_place(names: Sequence[str], label: int, source: str) -> None:
    """Refuse a table whose names say that the labels are elsewhere than the order does."""
    found, why = _label_among(names, range(len(names)))
    if why == _BY_NAME and names[label].lower() not in LABEL_NAMES:
        words = f"{source} has its labels in column {shown(names[found])}, to judge by its name, and the model, which "
        words += f"knows columns by their order, would take them from {shown(names[label])}"
        raise StreamError(Sentence(words, ": say which with {label}."))
