"""What the first lines of a delimited text tell: its dialect, its columns, and which of them are no features."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from frugalsvm.exceptions import Sentence
from frugalsvm.streams.bad_lines import StreamError, shown
from frugalsvm.streams.columns import Roles, Schema, unnamed
from frugalsvm.streams.dates import date_column, days_in
from frugalsvm.streams.dialect import (
    are_written,
    cut_into_fields,
    declared_delimiter,
    guessed_delimiter,
    guessed_notation,
    looks_like_header,
    looks_numeric,
)
from frugalsvm.streams.number_notation import PLAIN, Notation, is_missing, number_in
from frugalsvm.streams.reader import Block

# For the kinds of columns: as many lines as have about this many fields, but some at least.
_FIELDS_LOOKED_AT = 10_000
_LEAST_LINES = 20
_COUNTED_LINE = 1 << 16
_LONG_LINE = 1 << 20  # longer ones do not say how many fields the others have, unless all are
_MOST_JOINED = 1000  # lines of one row, whose fields have line ends
_LEAST_VALUES = 50  # of a column, before it is said to have too many different ones, or too many that are not numbers
_MOST_ERRORS = 0.1  # share of fields that are not numbers in a column of numbers


class Sniffed(NamedTuple):
    """How to read a text: names and kinds of its columns ("ignored" ones are no data), and the sample they are from."""

    delimiter: str
    notation: Notation
    header: tuple[str, ...] | None  # as it is in the file
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    notes: tuple[str, ...]
    sample: tuple[tuple[int, list[str]], ...]  # lines of the block, and their fields


def joined_end(text: bytes, begin: int, end: int) -> int | None:
    """Where a row ends whose line from ``begin`` to ``end`` has an open quote; None if it is not closed near by."""
    is_open = text.count(b'"', begin, end) % 2 == 1
    for _ in range(_MOST_JOINED):
        if not is_open:
            return end
        begin, end = end + 1, text.find(b"\n", end + 1)
        if end < 0:
            return None
        is_open ^= text.count(b'"', begin, end) % 2 == 1
    return None


def width_problem(n_fields: int, n_expected: int) -> str:
    """What is wrong with a line of another width."""
    return f"{n_fields} fields where {n_expected} are expected"


def fields_of(line: bytes, delimiter: str, n_expected: int | None = None) -> list[str] | str:
    """The fields of a line, or what is wrong with it."""
    if n_expected is not None and len(line) > _COUNTED_LINE and b'"' not in line:
        # Without quotes, counting is enough: millions of wrong fields would take much memory.
        n_fields = line.count(delimiter.encode()) + 1
        if n_fields != n_expected:
            return width_problem(n_fields, n_expected)
    try:
        return cut_into_fields(line.decode("utf-8"), delimiter)
    except UnicodeDecodeError as error:
        return f"byte {error.start + 1} of the line is not UTF-8 text: save the file as UTF-8"


def _rows(text: bytes, begin: int) -> Iterator[tuple[int, bytes]]:
    """Numbers and bytes of the lines that are not blank; lines within quotes belong together."""
    number = text.count(b"\n", 0, begin)
    while begin < len(text):
        end = text.find(b"\n", begin)
        end = len(text) if end < 0 else end
        joined = joined_end(text, begin, end)
        end = end if joined is None else joined
        line = text[begin:end]
        if line.strip():
            yield number, line
        number += line.count(b"\n") + 1
        begin = end + 1


def sniff(
    block: Block,
    *,
    header: bool | str,
    delimiter: str | None,
    decimal: str | None,
    thousands: str | None,
    usual: Notation | None = None,
) -> Sniffed:
    """Look at the first block of a text; numbers that can be in the ``usual`` notation are."""
    declared, begin = declared_delimiter(block.text)
    lines = list(_rows(block.text, begin))
    if not lines:
        raise StreamError(f"{block.name} has no rows.")
    delimiter = delimiter or declared
    if delimiter is None:
        delimiter = guessed_delimiter([line for _, line in lines if not line.startswith(b"#")])
    lines = _without_comments(lines, delimiter)
    first = fields_of(lines[0][1], delimiter)
    width = _usual_width(lines[:_LEAST_LINES], delimiter) or (len(first) if isinstance(first, list) else 0)
    if header is True and isinstance(first, list) and len(first) != width - 1:
        width = len(first)
    sample = _sample(lines, delimiter, width)
    if not sample or (header is True and isinstance(first, str)):
        raise StreamError(f"{block.where(lines[0][0])}: {first if isinstance(first, str) else 'it is no row'}.")
    head = lines[0][0]
    if header == "auto" and (isinstance(first, str) or len(first) not in (width, width - 1)):
        head, first = sample[0]  # lines before the header are bad ones
    rows = [fields for number, fields in sample if number > head]
    notation = _notation(rows or [sample[0][1]], delimiter, decimal, thousands, usual)
    names = _header(first, rows, width, header, notation) if isinstance(first, list) else None
    if names is None:
        rows = [fields for _, fields in sample]
    notes = ["there is no header" if names is None else "the first line is a header", *_notation_notes(notation)]
    columns = [unnamed(index) for index in range(width)] if names is None else names
    if len(columns) < width:
        columns = [*columns, ""] if _is_empty(rows, width - 1) else ["", *columns]
    kinds = [_kind_of_text([row[k] for row in rows]) if kind == "string" else kind
             for k, kind in enumerate(_kinds(rows, width, notation))]  # fmt: skip
    notes += _leave_out(columns, kinds, rows, has_header=names is not None)
    unique = _unique(columns)
    notes += [f"a second column {shown(old)} is called {shown(new)}" for old, new in unique if old and old != new]
    raw = None if names is None else tuple(names)
    made = tuple(new for _, new in unique)
    sample = [row for row in sample if names is None or row[0] > head]
    return Sniffed(delimiter, notation, raw, made, tuple(kinds), tuple(notes), tuple(sample))


def _without_comments(lines: list[tuple[int, bytes]], delimiter: str) -> list[tuple[int, bytes]]:
    """The lines without those that begin with ``#``, unless they are like the others."""
    marked = {number for number, line in lines if line.lstrip().startswith(b"#")}
    others = [line for line in lines if line[0] not in marked]
    if not marked or not others:
        return lines
    width = _usual_width(others[:_LEAST_LINES], delimiter)
    kept = []
    for number, line in lines:
        if number in marked:
            fields = fields_of(line, delimiter, width)
            if not isinstance(fields, list) or len(fields) != width:
                continue
        kept.append((number, line))
    return kept


def _usual_width(lines: list[tuple[int, bytes]], delimiter: str) -> int:
    """The number of fields that most lines have, but that of the first line unless it is alone; 0 if none is.

    One line that was cut off, or that is junk, must not decide that all others are bad.
    """
    found = [fields_of(line, delimiter) if len(line) < _LONG_LINE else "" for _, line in lines]
    widths = [len(fields) if isinstance(fields, list) else 0 for fields in found]
    usual, count = Counter(width for width in widths if width).most_common(1)[0] if any(widths) else (0, 0)
    alone = widths[0] == 0 or (widths.count(widths[0]) == 1 and count > 1)
    return usual if alone else widths[0]


def _sample(lines: list[tuple[int, bytes]], delimiter: str, width: int) -> list[tuple[int, list[str]]]:
    found = []
    for number, line in lines[: max(_FIELDS_LOOKED_AT // max(width, 1), _LEAST_LINES) + 1]:
        fields = fields_of(line, delimiter, width)
        if isinstance(fields, list) and len(fields) == width:
            found.append((number, fields))
    return found


def _notation(
    rows: Sequence[list[str]], delimiter: str, decimal: str | None, thousands: str | None, usual: Notation | None
) -> Notation:
    """How numbers are written: as the caller says, as usual if that can be, or as they look."""
    if decimal is not None and thousands is not None:
        return Notation(decimal, thousands)
    fields = [field for fields in rows for field in fields]
    if usual is not None and decimal is None and thousands is None and are_written(fields, usual):
        return usual
    guess = guessed_notation(fields, delimiter)
    mark = guess.decimal if decimal is None else decimal
    if thousands is not None:
        return Notation("," if decimal is None and thousands == "." else mark if mark != thousands else ".", thousands)
    return Notation(mark, None if guess.thousands == mark else guess.thousands)


def _notation_notes(notation: Notation) -> list[str]:
    notes = []
    if notation.decimal != PLAIN.decimal:
        notes.append(f"numbers have {shown(notation.decimal)} before their decimals")
    if notation.thousands is not None:
        notes.append(f"numbers have {shown(notation.thousands)} between thousands")
    return notes


def _header(
    first: list[str], rows: Sequence[list[str]], width: int, header: bool | str, notation: Notation
) -> list[str] | None:
    """The names in the first line; None if it is a row.

    It may have a name less than rows have fields: rows end with a delimiter then, or begin with names of their own.
    """
    names = [field.strip() for field in first]
    if header is False:
        return None
    if header is True or (len(names) == width and looks_like_header(first, rows, notation)):
        return names
    is_shorter = len(names) == width - 1 and len(set(names)) == len(names) and len(rows) > 1
    if is_shorter and all(isinstance(number_in(name, np.float64, notation), str) for name in names):
        return names if _is_empty(rows, width - 1) or _are_row_names([row[0] for row in rows], in_order=True) else None
    return None


def _is_empty(rows: Sequence[list[str]], index: int) -> bool:
    return bool(rows) and all(not fields[index].strip() for fields in rows)


def _are_row_names(values: Sequence[str], *, in_order: bool) -> bool:
    """Whether values number rows (one after the other, or in any order), or tell all of many rows apart."""
    texts = [value.strip() for value in values]
    if len(set(texts)) < len(texts) or len(texts) < 2 or not all(texts):
        return False
    if all(text.isascii() and text.isdigit() for text in texts):
        numbers = [int(text) for text in texts]
        return not in_order or all(after - before == 1 for before, after in zip(numbers, numbers[1:], strict=False))
    return len(texts) >= _LEAST_LINES


def _kinds(rows: Sequence[list[str]], width: int, notation: Notation) -> list[str]:
    """A column is of numbers if nearly all of its fields in the first lines are; missing ones say nothing.

    A few others are typing errors, which are reported when they are read; many are codes, some of which have letters.
    Where there are few lines to judge by, half of them decide.
    """
    n_numbers, n_others = np.zeros((2, width), dtype=np.int64)
    for fields in rows:
        for column, field in enumerate(fields):
            if not is_missing(field):
                (n_numbers if _is_number(field, notation) else n_others)[column] += 1
    n_values = n_numbers + n_others
    n_allowed = np.where(n_values < _LEAST_VALUES, n_values / 2, _MOST_ERRORS * n_values)
    return ["number" if few else "string" for few in n_others <= n_allowed]


def _kind_of_text(fields: list[str]) -> str:
    """Dates, if nearly all fields are, as with numbers."""
    errors = _MOST_ERRORS if len(fields) >= _LEAST_VALUES else 0.0
    found = days_in(fields, most_errors=errors) if len(set(fields)) > 1 else None
    return "string" if found is None else date_column(found[1], found[0]).kind


def _is_number(field: str, notation: Notation) -> bool:
    return not isinstance(number_in(field, np.float64, notation), str)


def _leave_out(names: list[str], kinds: list[str], rows: Sequence[list[str]], *, has_header: bool) -> list[str]:
    """Mark columns that are no data: empty ones at the end or without a name, and numbers of rows; and say so."""
    notes = []
    for index, name in enumerate(names):
        nameless = has_header and (not name or name.startswith("Unnamed:"))
        is_last = not has_header and index == len(names) - 1 and index > 0
        if (nameless or is_last) and _is_empty(rows, index):
            kinds[index] = "ignored"
            notes.append(f"column {index + 1} is empty and is left out")
        elif index == 0 and nameless and _are_row_names([fields[0] for fields in rows], in_order=False):
            kinds[index] = "ignored"
            notes.append("the first column has no name and numbers the rows: it is left out")
    return notes


def _unique(names: Sequence[str]) -> list[tuple[str, str]]:
    """Names as they are, and made different from each other."""
    made: list[tuple[str, str]] = []
    taken = set(names)
    seen: set[str] = set()
    for index, name in enumerate(names):
        new, number = name or unnamed(index), 1
        while new in seen or (new != name and new in taken):
            new, number = f"{name or unnamed(index)}.{number}", number + 1
        seen.add(new)
        made.append((name, new))
    return made


def check_text_columns(sniffed: Sniffed, schema: Schema, roles: Roles, block: Block) -> None:
    """Refuse numbers that are taken for text, and a label whose name is not unique."""
    if not isinstance(roles.label, int) and (sniffed.header or ()).count(schema.label or "") > 1:
        what = f"two columns are called {shown(schema.label or '')}; give the label by index"
        raise StreamError(f"{block.where(0)}: {what}.")
    if roles.like is not None:  # a model has learned them as text
        return
    wanted = {sniffed.names[index] if isinstance(index, int) else index for index in roles.categorical}
    texts = set(schema.strings) - wanted
    for index, name in enumerate(sniffed.names):
        if name not in texts:
            continue
        values = [(number, fields[index]) for number, fields in sniffed.sample if not is_missing(fields[index])]
        numeric = [pair for pair in values if looks_numeric(pair[1])]
        odd = [pair for pair in numeric if not _is_number(pair[1], sniffed.notation)]
        many = len({value for _, value in values}) > max(len(values) / 2, _LEAST_VALUES / 2)
        # Codes look like numbers now and then, and those that do can be read.
        are_numbers = len(odd) > len(values) / 2 or len(numeric) > (1 - _MOST_ERRORS) * len(values)
        if len(values) >= _LEAST_VALUES and many and odd and are_numbers:
            number, value = odd[0]
            where = f"{block.where(number)}: column {index + 1} ({shown(name)})"
            raise StreamError(
                Sentence(
                    f"{where}: {shown(value)} looks like a number but is written in another way",
                    "; {decimal} and {thousands} say how, {categorical} makes text of it, and {ignore} leaves it out.",
                )
            )
