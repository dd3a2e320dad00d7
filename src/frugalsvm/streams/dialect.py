"""How a delimited text is written, from its first lines: delimiter, decimal mark, header."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from frugalsvm.streams.number_notation import Notation, is_missing, number_in

OPEN_QUOTE = "a quote is not closed on its line"
_DELIMITERS = ",\t;| "
_LOOKED_AT = 50  # lines
_LONG_LINE = 1 << 16  # longer ones tell nothing about delimiters that others do not
_LIKE_A_NUMBER = re.compile(r"[+-]?\d[\d.,' \xa0\u202f]*([eE][+-]?\d+)?", re.ASCII)
_NUMERIC = re.compile(r"[^\w\s]?\s?[+-]?\d[\d.,' \xa0\u202f]*\s?[^\w\s]?", re.ASCII)
_DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([T ].*)?", re.ASCII)
_TIME_AND_MORE = re.compile(r"\d{1,2}:\d{2}(:\d{2})?[^ ,\t;|]*[,\t;|].*", re.ASCII)
_SEP = re.compile(rb'"?sep=(.)"?\r?\n', re.IGNORECASE)


def declared_delimiter(text: bytes) -> tuple[str | None, int]:
    """The delimiter in a first line ``sep=;``, as spreadsheets write it, and the length of that line."""
    match = _SEP.match(text)
    return (match[1].decode("latin-1"), match.end()) if match else (None, 0)


def cut_into_fields(text: str, delimiter: str) -> list[str] | str:
    """The fields of a line, or what is wrong with it."""
    # Blanks at the end would be fields of their own where a blank is the delimiter.
    text = text.strip("\r\n") if delimiter != " " else text.strip()
    try:
        rows = list(csv.reader([text], delimiter=delimiter, skipinitialspace=True, strict=True))
    except csv.Error as error:
        if "unexpected end" in str(error):
            return OPEN_QUOTE
        if "new-line" in str(error):
            return "there is a carriage return inside the line; lines must end with \\n or \\r\\n"
        return f"the line cannot be cut into fields: {error}"
    return rows[0] if rows else []


def guessed_delimiter(lines: Sequence[bytes]) -> str:
    """The mark that cuts most lines into as many fields, of which the most are numbers."""
    texts = [line.decode("utf-8", "replace") for line in lines[:_LOOKED_AT] if len(line) < _LONG_LINE]
    best, best_score = None, (0.0, 0.0, 0.0)
    for mark in _DELIMITERS:
        found = [fields for fields in (cut_into_fields(text, mark) for text in texts) if isinstance(fields, list)]
        width, count = Counter(map(len, found)).most_common(1)[0] if found else (0, 0)
        if width < 2 or count < 0.5 * len(texts) or (mark == " " and _cuts_dates(found)):
            continue
        cells = [field.strip() for fields in found if len(fields) == width for field in fields]
        numbers = sum(bool(_LIKE_A_NUMBER.fullmatch(cell)) or is_missing(cell) for cell in cells)
        whole = sum(not any(other in cell for other in "\t;|" if other != mark) for cell in cells)
        # A few lines of another width do not matter, and neither do a few numbers.
        score = (round(4 * count / len(texts)), round(20 * numbers / len(cells)), round(4 * whole / len(cells)))
        if score > best_score:
            best, best_score = mark, score
    first = lines[0][:_LONG_LINE] if lines else b""
    return best or next((mark for mark in ",\t;|" if mark.encode() in first), ",")


def _cuts_dates(rows: Sequence[Sequence[str]]) -> bool:
    """Whether blanks are between dates and their times, in most rows: another mark comes after the time."""
    return sum(any(map(_TIME_AND_MORE.fullmatch, row[1:])) for row in rows) > 0.5 * len(rows)


def guessed_notation(cells: Sequence[str], delimiter: str) -> Notation:
    """How most numbers among some fields are written.

    ``1,234`` could be either: beside a comma as the delimiter it is a thousand, and otherwise a decimal number, unless
    other fields tell.
    """
    points = commas = unclear = 0  # decimal points, decimal commas, commas with three digits after them
    groups: Counter[tuple[str, str]] = (
        Counter()
    )  # marks between groups of digits, with the decimal mark that goes along
    for cell in (cell.strip() for cell in cells):
        if len(cell) > 40 or not _LIKE_A_NUMBER.fullmatch(cell) or _DATE.fullmatch(cell):
            continue
        digits = re.sub(r"[eE].*", "", cell).lstrip("+-").replace("\xa0", " ").replace("\u202f", " ")
        grouped = re.fullmatch(r"\d{1,3}([.,' ])\d{3}(\1\d{3})*(([.,])\d*)?", digits)
        is_sure = grouped is not None and (
            grouped[2] or (grouped[4] and grouped[4] != grouped[1]) or grouped[1] in "' "
        )
        if grouped is not None and is_sure and grouped[4] != grouped[1]:
            groups[grouped[1], grouped[4] or ""] += 1
            points += grouped[4] == "."
            commas += grouped[4] == ","
        elif re.fullmatch(r"\d*\.\d*", digits):
            points += 1
        elif re.fullmatch(r"\d*,\d*", digits):
            is_thousand = re.fullmatch(r"[1-9]\d{0,2},\d{3}", digits) is not None
            unclear += is_thousand
            commas += not is_thousand
    decimal = "," if commas > points or (not points and unclear and delimiter != ",") else "."
    usable = Counter({mark: n for (mark, other), n in groups.items() if mark != decimal and other in ("", decimal)})
    if decimal == "." and unclear:
        usable[","] += unclear
    return Notation(decimal, max(usable, key=usable.__getitem__) if usable else None)


def are_written(cells: Sequence[str], notation: Notation) -> bool:
    """Whether all numbers among some fields can be written so."""
    numbers = [cell.strip() for cell in cells if _LIKE_A_NUMBER.fullmatch(cell.strip()) and not is_date(cell)]
    return not any(isinstance(number_in(number, np.float64, notation), str) for number in numbers)


def is_date(field: str) -> bool:
    """Whether a field is a date written with digits."""
    return _DATE.fullmatch(field.strip()) is not None


def looks_numeric(field: str) -> bool:
    """Whether a field is made of digits, with marks between or around them, and is no date."""
    return _NUMERIC.fullmatch(field.strip()) is not None and not is_date(field)


def looks_like_header(first: Sequence[str], rows: Sequence[Sequence[str]], notation: Notation) -> bool:
    """Whether the first line has names: no numbers, or numbers that count columns, and not what rows have."""
    names = [field.strip() for field in first]
    if len(set(names)) < len(names) and not _only_names_differ(names, rows, notation):
        return False
    numbers = [name for name in names if not isinstance(number_in(name, np.float64, notation), str)]
    if not numbers:
        # Where each field comes again in its column, the line is a row of text like the others.
        columns = [{row[index].strip() for row in rows} for index in range(len(names))]
        return not all(name in column for name, column in zip(names, columns, strict=True))
    return _counts_columns(names, numbers, rows)


def _only_names_differ(names: Sequence[str], rows: Sequence[Sequence[str]], notation: Notation) -> bool:
    """Whether names that occur twice stand above numbers all the same."""
    if any(not isinstance(number_in(name, np.float64, notation), str) for name in names):
        return False
    above = [
        index
        for index in range(len(names))
        if rows and all(not isinstance(number_in(row[index], np.float64, notation), str) for row in rows)
    ]
    return any(names[index] and not is_missing(names[index]) for index in above)


def _counts_columns(names: Sequence[str], numbers: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether the numbers in a line are 0, 1, 2, ..., as pandas names columns, or years, and no row is like it."""
    if not all(number.isascii() and number.isdigit() for number in numbers):
        return False
    values = [int(number) for number in numbers]
    if values != list(range(values[0], values[0] + len(values))):
        return False
    others = [index for index, name in enumerate(names) if name not in numbers]
    if others and len(values) > 1 and (len(values) > 2 or len(rows) > 4):
        # The name of the label must not be a label.
        return not any(row[index].strip() == names[index] for row in rows for index in others)
    return not others and values[0] == 0 and len(values) > 3
