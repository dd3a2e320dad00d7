"""Which column of a table is what: features, label, weight."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from frugalsvm.streams.bad_lines import StreamError, shown

__all__ = ["Column", "Layout", "Roles", "Schema", "assigned"]

LABEL_NAMES = ("label", "target", "class", "y")


class Column(NamedTuple):
    """One column of a table: its name, ``"number"`` or ``"string"``, and ``"feature"``, ``"label"`` or ``"weight"``."""

    name: str
    kind: str
    role: str = "feature"


class Schema(NamedTuple):
    """The columns of a table, in the order of the file.

    Examples
    --------
    >>> from frugalsvm.streams import Column, Schema
    >>> schema = Schema((Column("age", "number"), Column("town", "string"), Column("y", "number", "label")))
    >>> schema.numbers, schema.strings, schema.label
    (('age',), ('town',), 'y')
    """

    columns: tuple[Column, ...]

    def _named(self, kind: str) -> tuple[str, ...]:
        return tuple(c.name for c in self.columns if c.role == "feature" and c.kind == kind)

    def _of_role(self, role: str) -> str | None:
        return next((column.name for column in self.columns if column.role == role), None)

    @property
    def numbers(self) -> tuple[str, ...]:
        """Names of the columns of `Batch.X`."""
        return self._named("number")

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


class Layout(NamedTuple):
    """What a reader knows before the first row: widths, length where that is cheap, and what it decided."""

    n_features: int
    n_rows: int | None
    schema: Schema | None
    notes: tuple[str, ...]


class Roles(NamedTuple):
    """What the caller says about columns; names, or numbers from 0 (negative ones from the end)."""

    label: str | int | None = None
    weight: str | int | None = None
    has_labels: bool = True
    categorical: Sequence[str | int] = ()


def _position(wanted: str | int, names: Sequence[str], source: str) -> int:
    if isinstance(wanted, str):
        if wanted in names:
            return list(names).index(wanted)
        listed = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
        raise StreamError(f"{source} has no column {shown(wanted)}; its columns are {listed}.")
    if not -len(names) <= wanted < len(names):
        raise StreamError(f"{source} has no column number {wanted}; it has {len(names)} columns, counted from 0.")
    return wanted % len(names)


def assigned(names: Sequence[str], kinds: Sequence[str], roles: Roles, source: str) -> tuple[Schema, tuple[str, ...]]:
    """The schema of a table, and sentences about what was decided without being asked for.

    ``kinds`` are what the columns look like; those that `Roles.categorical` lists become text.
    """
    if len(set(names)) < len(names):
        repeated = next(name for name, count in Counter(names).items() if count > 1)
        raise StreamError(f"{source} has two columns called {shown(repeated)}.")
    kinds, notes, label = list(kinds), [], None
    for wanted in roles.categorical:
        kinds[_position(wanted, names, source)] = "string"
    weight = None if roles.weight is None else _position(roles.weight, names, source)
    if roles.label is not None:
        label = _position(roles.label, names, source)
    elif roles.has_labels:
        lowered = [name.lower() for name in names]
        named = next((lowered.index(name) for name in LABEL_NAMES if name in lowered), None)
        label = len(names) - 1 if named is None else named
        why = f"the last one, as none is called {', '.join(LABEL_NAMES)}" if named is None else "by its name"
        notes.append(f"labels come from column {shown(names[label])} ({why})")
    if label is not None and label == weight:
        raise StreamError(f"{source}: column {shown(names[label])} cannot be label and weight at once.")
    if weight is not None and kinds[weight] != "number":
        raise StreamError(f"{source}: the weights in column {shown(names[weight])} are not numbers.")
    role_of = {label: "label", weight: "weight"}
    schema = Schema(
        tuple(Column(n, k, role_of.get(i, "feature")) for i, (n, k) in enumerate(zip(names, kinds, strict=True)))
    )
    if not roles.has_labels and roles.label is None:
        # A label column in a table without wanted labels would be learned from: it is the caller's to say.
        notes.append("no labels are read")
    if not schema.numbers and not schema.strings:
        raise StreamError(f"{source} has no column left for features beside {' and '.join(map(shown, names))}.")
    if schema.strings:
        notes.append(f"columns of text: {', '.join(schema.strings)}")
    return schema, tuple(notes)
