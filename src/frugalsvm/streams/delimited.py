"""CSV and TSV text as a stream of dense rows and columns of text."""

from __future__ import annotations

import csv
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalsvm.streams.bad_lines import BadLines, StreamError, shown
from frugalsvm.streams.batch import Batch
from frugalsvm.streams.checking import without_bad_rows
from frugalsvm.streams.columns import Layout, Roles, assigned
from frugalsvm.streams.examining import number_in, parser_top
from frugalsvm.streams.fields import Plan, Room, is_utf8, planned
from frugalsvm.streams.lines import Block, TextSources
from frugalsvm.streams.number_parsing import AT, LINE, ROW
from frugalsvm.streams.parsing import parse_table, pass_rows
from frugalsvm.streams.text_reader import TextReader

__all__ = ["DelimitedReader"]

# For the kinds of columns: as many lines as have about so many fields, but some at least.
_FIELDS_LOOKED_AT = 10_000
_LEAST_LINES = 20
_COUNTED_LINE = 1 << 16
_LONG_LINE = 1 << 20  # longer ones do not say how many fields the others have, unless all are
_REMEMBERED_STRINGS = 1 << 16


class DelimitedReader(TextReader):
    """Reads lines of fields with one delimiter; quotes as in RFC 4180, but no line ends inside them."""

    def __init__(
        self,
        text: TextSources,
        *,
        roles: Roles,
        header: bool | str,
        delimiter: str | None,
        is_tsv: bool,
        n_features: int | None,
        dtype: Any,
    ) -> None:
        if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n' or not delimiter.isascii()):
            raise ValueError(f"delimiter must be one ASCII character other than a quote, got {delimiter!r}.")
        self.text, self.roles, self.header, self.dtype = text, roles, header, np.dtype(dtype)
        self._delimiter = "\t" if delimiter is None and is_tsv else delimiter
        self._wanted_features = n_features
        self.reopenable, self.name = text.reopenable, text.name
        self._layout: Layout | None = None
        self._has_header = False
        self._plan: Plan
        self._numbers: tuple[str, ...] = ()
        self._strings: dict[bytes, str] = {}

    def prepare(self) -> Layout:
        """Look at the first lines for the delimiter, a header, kinds of columns and the label column, once."""
        if self._layout is not None:
            return self._layout
        block = self.text.first()
        lines = [line for line in block.text.split(b"\n") if line.strip()]
        if not lines:
            raise StreamError(f"{self.name} has no rows.")
        if self._delimiter is None:
            self._delimiter = next((mark for mark in ",\t;|" if mark.encode() in lines[0]), ",")
        first, is_typical = self._typical(lines)
        if isinstance(first, str):
            raise StreamError(f"{block.where(0)}: {first}.")
        self._has_header = bool(self.header)
        if self.header == "auto":
            self._has_header = is_typical and self._looks_like_header(first)
        names = [name.strip() for name in first] if self._has_header else [f"column {i}" for i in range(len(first))]
        if not self._has_header and isinstance(self.roles.label, str):
            raise StreamError(f"{self.name} has no header, so that the label column must be given by number.")
        kinds = self._kinds(lines[1:] if self._has_header else lines, len(names))
        schema, notes = assigned(names, kinds, self.roles, self.name)
        if self._wanted_features is not None and self._wanted_features != len(schema.numbers):
            message = (
                f"has {len(schema.numbers)} columns of numbers beside the label, not n_features={self._wanted_features}"
            )
            raise StreamError(f"{self.name} {message}.")
        self._plan, self._numbers = planned(schema), schema.numbers
        head = ("the first line is a header" if self._has_header else "there is no header",)
        self._layout = Layout(len(schema.numbers), None, schema, head + notes)
        return self._layout

    def _typical(self, lines: list[bytes]) -> tuple[list[str] | str, bool]:
        """Fields of the first line, or of the first that is like most of those after it where it is not; and whether.

        One line that was cut off, or that is junk, must not decide that all others are bad.
        """
        if self.header is True:
            return self._fields(lines[0]), True
        width = self._usual_width(lines[:_LEAST_LINES])
        for number, line in enumerate(lines[:_LEAST_LINES]):
            fields = self._fields(line, width) if width else self._fields(line)
            if not width or (isinstance(fields, list) and len(fields) == width):
                return fields, number == 0
        return self._fields(lines[0]), True

    def _usual_width(self, lines: list[bytes]) -> int:
        """The number of fields that most lines have, but that of the first line unless it is alone; 0 if none is."""
        found = [self._fields(line) if len(line) < _LONG_LINE else "" for line in lines]
        widths = [len(fields) if isinstance(fields, list) else 0 for fields in found]
        usual, count = Counter(width for width in widths if width).most_common(1)[0] if any(widths) else (0, 0)
        alone = widths[0] == 0 or (widths.count(widths[0]) == 1 and count > 1)
        return usual if alone else widths[0]

    def _looks_like_header(self, fields: list[str]) -> bool:
        numbers = any(not isinstance(number_in(field, np.float64), str) for field in fields)
        return not numbers and len({field.strip() for field in fields}) == len(fields)

    def _kinds(self, lines: list[bytes], width: int) -> list[str]:
        """A column is of numbers if at least half of its fields in the first lines are."""
        votes = np.zeros(width, dtype=np.int64)
        for line in lines[: max(_FIELDS_LOOKED_AT // width, _LEAST_LINES)]:
            fields = self._fields(line, width)
            if isinstance(fields, list) and len(fields) == width:
                for column, field in enumerate(fields):
                    value = number_in(field, np.float64)
                    # A missing value says nothing.
                    votes[column] += 0 if not field.strip() else -1 if isinstance(value, str) else 1
        return ["number" if vote >= 0 else "string" for vote in votes]

    def _fields(self, line: bytes, n_expected: int | None = None) -> list[str] | str:
        """The fields of a line, or what is wrong with it."""
        if n_expected is not None and len(line) > _COUNTED_LINE and b'"' not in line:
            # Without quotes, counting is enough: millions of wrong fields would take much memory.
            n_fields = line.count((self._delimiter or ",").encode()) + 1
            if n_fields != n_expected:
                return _wrong_number(n_fields, n_expected)
        try:
            text = line.decode("utf-8").strip("\r\n")
            rows = list(csv.reader([text], delimiter=self._delimiter or ",", skipinitialspace=True, strict=True))
        except UnicodeDecodeError as error:
            return f"byte {error.start + 1} of the line is not UTF-8 text"
        except csv.Error as error:
            if "unexpected end" in str(error):
                return "a quote is not closed on its line"
            if "new-line" in str(error):
                return "there is a carriage return inside the line; lines must end with \\n or \\r\\n"
            return f"the line cannot be cut into fields: {error}"
        return rows[0] if rows else []

    def _begin(self, block: Block, state: NDArray) -> None:
        if block.opening and self._has_header:
            self._pass_header(block, state)

    def _pass_header(self, block: Block, state: NDArray) -> None:
        """Step over the header of a file, which must be that of the first file."""
        pass_rows(np.frombuffer(block.text, dtype=np.uint8), state, 0, 1)
        lines = block.text[: int(state[AT])].strip().split(b"\n")
        names = self._fields(lines[-1])
        if not isinstance(names, list) or tuple(name.strip() for name in names) != self._plan.names:
            raise StreamError(f"{block.where(int(state[LINE]) - 1)}: the header is not that of {self.name}.")

    def _piece(self, block: Block, state: NDArray, bad: BadLines) -> tuple[Batch, StreamError | None]:
        failure = None
        plan, text = self._plan, np.frombuffer(block.text, dtype=np.uint8)
        # A row has a delimiter or line end for each column: many empty lines do not make room for a wide table each.
        most_rows = min(block.text.count(b"\n"), len(block.text) // len(plan.names) + 2)
        room = Room(most_rows, len(block.text), plan, self.dtype)
        fixed = (
            ord(self._delimiter or ","),
            not is_utf8(block.text),
            plan.kinds,
            plan.targets,
            parser_top(self.dtype),
        )
        arrays = (room.numbers, room.extras, room.spans, room.lines, room.hard.text, room.hard.places)
        while not parse_table(text, state, *fixed, *arrays):
            begin = int(state[AT])
            end = block.text.index(b"\n", begin)
            problem = self._examined(block.text[begin:end], int(state[ROW]), room)
            if problem is None:
                room.lines[state[ROW]] = state[LINE]
                state[ROW] += 1
            else:
                try:
                    bad.refuse(block.where(int(state[LINE])), problem)
                except StreamError as error:
                    failure = error
                    break
            state[AT] = end + 1
            state[LINE] += 1
        room.hard.settle(state, room.numbers.reshape(-1), room.extras.reshape(-1))
        batch = self._batch(block, room, int(state[ROW]))
        # The numbers are finite already; weights may still be negative.
        batch = without_bad_rows(batch, self._numbers, lambda row: block.where(int(room.lines[row])), bad)
        return batch, failure

    def _examined(self, line: bytes, row: int, room: Room) -> str | None:
        """Write a line that the parser did not take to a row; or what is wrong with it."""
        plan = self._plan
        fields = self._fields(line, len(plan.names))
        if isinstance(fields, str):
            return fields
        if len(fields) != len(plan.names):
            return _wrong_number(len(fields), len(plan.names))
        for column, field in enumerate(fields):
            kind, target = plan.kinds[column], plan.targets[column]
            if kind == 2:
                room.read[row, target] = field.strip()
                continue
            value = number_in(field, np.float64 if kind else self.dtype)
            if isinstance(value, str):
                return f"column {column + 1} ({shown(plan.names[column])}): {value}"
            (room.extras if kind else room.numbers)[row, target] = value
        return None

    def _batch(self, block: Block, room: Room, n: int) -> Batch:
        plan = self._plan
        texts = {name: self._column(block.text, room, n, place) for place, name in enumerate(plan.strings)}
        y = None
        if plan.label_kind == 1:
            y = room.extras[:n, plan.label].copy()
        elif plan.label_kind == 2:
            y = texts.pop(plan.strings[plan.label])
        weights = room.extras[:n, plan.weight].copy() if plan.weight >= 0 else None
        return Batch(room.numbers[:n], y, weights, 0, texts or None)

    def _column(self, text: bytes, room: Room, n: int, place: int) -> NDArray:
        """One column of text; equal texts are one object, as there are few in a column of categories."""
        known = self._strings
        values = np.empty(n, dtype=object)
        for row, (begin, end) in enumerate(room.spans[:n, place].tolist()):
            if (row, place) in room.read:
                values[row] = room.read[row, place]
                continue
            key = text[begin:end]
            value = known.get(key)
            if value is None:
                if len(known) >= _REMEMBERED_STRINGS:
                    known.clear()
                value = known[key] = key.decode("utf-8")
            values[row] = value
        return values


def _wrong_number(n_fields: int, n_expected: int) -> str:
    return f"{n_fields} fields where {n_expected} are expected"
