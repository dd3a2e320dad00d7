"""CSV and TSV text as a stream of dense rows and columns of text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalsvm.exceptions import ParameterError, Sentence
from frugalsvm.streams.bad_lines import BadLines, StreamError, shown
from frugalsvm.streams.batch import Batch, rows_taken
from frugalsvm.streams.columns import Layout, Roles, Schema, assigned
from frugalsvm.streams.dates import DateColumn, days_in
from frugalsvm.streams.dialect import OPEN_QUOTE, declared_delimiter
from frugalsvm.streams.number_notation import HardNumbers, Notation, is_missing, number_in, parser_top
from frugalsvm.streams.number_parsing import AT, LINE, ROW
from frugalsvm.streams.parsing import parse_table
from frugalsvm.streams.reader import Block, TextReader, TextSources
from frugalsvm.streams.row_checks import without_bad_rows
from frugalsvm.streams.sniffer import Sniffed, check_text_columns, fields_of, joined_end, sniff, width_problem

_REMEMBERED_STRINGS = 1 << 16
_MOST_MERGED = 4  # blocks, for rows that go on in the next one
_POINTS_AND_COMMAS = bytes.maketrans(b".,", b",.")
_DECIMALS = (None, ".", ",")
_THOUSANDS = (None, ",", ".", " ", "'", "_")


class Plan(NamedTuple):
    """Where the fields of a line go: kinds 0 (feature), 1 (label or weight), 2 (text), and the column there."""

    names: tuple[str, ...]
    kinds: NDArray
    targets: NDArray
    strings: tuple[str, ...]
    label_kind: int
    label: int
    weight: int


def planned(schema: Schema) -> Plan:
    """Give each column of a schema its index in a row."""
    kinds, targets, counts = [], [], [0, 0, 0]
    strings: list[str] = []
    index_of = {name: index for index, name in enumerate(schema.numbers)}
    dates = dict(schema.dates)
    label_kind = label = weight = -1
    for column in schema.columns:
        is_text = column.kind == "string" or column.name in dates
        kind = 2 if is_text else 0 if column.role == "feature" else 1
        if column.role == "label":
            label_kind, label = kind, counts[kind]
        elif column.role == "weight":
            weight = counts[kind]
        if kind == 2:
            strings.append(column.name)
        kinds.append(kind)
        targets.append(index_of[column.name] if kind == 0 else counts[kind])
        counts[kind] += 1
    names = tuple(column.name for column in schema.columns)
    return Plan(names, np.array(kinds), np.array(targets), tuple(strings), label_kind, label, weight)


class RowBuffers:
    """Arrays for the rows of one block."""

    def __init__(self, n_rows: int, n_bytes: int, plan: Plan, dtype: Any) -> None:
        n_numbers, n_extras, n_strings = (int(np.sum(plan.kinds == kind)) for kind in range(3))
        self.numbers = np.empty((n_rows, n_numbers), dtype=dtype)
        self.extras = np.empty((n_rows, n_extras))
        self.spans = np.empty((n_rows, n_strings, 2), dtype=np.int64)
        self.lines = np.empty(n_rows, dtype=np.int64)
        self.hard = HardNumbers(n_bytes)
        # Text that Python code read, by row and column, where the bytes of the block are not the text.
        self.read: dict[tuple[int, int], str] = {}


def is_utf8(text: bytes) -> bool:
    """Whether all of the text is UTF-8, as ASCII is."""
    if text.isascii():
        return True
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


class DelimitedReader(TextReader):
    """Reads lines of fields with one delimiter; quotes as in RFC 4180."""

    def __init__(
        self,
        text: TextSources,
        *,
        roles: Roles,
        header: bool | str,
        delimiter: str | None,
        decimal: str | None,
        thousands: str | None,
        is_tsv: bool,
        n_features: int | None,
        dtype: Any,
    ) -> None:
        if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n' or not delimiter.isascii()):
            raise ParameterError("delimiter", delimiter, "one ASCII character other than a quote")
        if decimal not in _DECIMALS:
            raise ParameterError("decimal", decimal, "'.' or ','")
        if thousands not in _THOUSANDS or (decimal is not None and decimal == thousands):
            another = "" if decimal is None else f" other than the decimal mark {decimal!r}"
            raise ParameterError("thousands", thousands, f"one of , . ' _ or a blank{another}")
        self.text, self.roles, self.dtype = text, roles, np.dtype(dtype)
        self._options: dict[str, Any] = {
            "header": header,
            "delimiter": delimiter,
            "decimal": decimal,
            "thousands": thousands,
        }
        self._is_tsv, self._wanted_features = is_tsv, n_features
        self.reopenable, self.name = text.reopenable, text.name
        self._sniffed: Sniffed
        self._plan: Plan
        self._ignored: frozenset[str] = frozenset()
        self._numbers: tuple[str, ...] = ()
        self._dates: list[tuple[str, DateColumn]] = []
        self._strings: dict[bytes, str] = {}

    def _looked_at(self) -> Layout:
        """Look at the first lines for the dialect, a header, kinds of columns and the label column."""
        block = self.text.first()
        if self._is_tsv and self._options["delimiter"] is None and b"\t" in block.text:
            self._options["delimiter"] = "\t"
        usual = None if self.roles.like is None else self.roles.like.notation
        sniffed = sniff(block, **self._options, usual=None if usual is None else Notation(*usual))
        if sniffed.header is None and isinstance(self.roles.label, str) and self.roles.like is None:
            raise StreamError(f"{self.name} has no header, so the label column must be given by index.")
        schema, notes = assigned(sniffed.names, sniffed.kinds, self.roles, self.name)
        schema = schema._replace(notation=sniffed.notation)
        check_text_columns(sniffed, schema, self.roles, block)
        self._check_width(len(schema.numbers), "columns of numbers beside the label")
        self._sniffed, self._plan, self._numbers = sniffed, planned(schema), schema.numbers
        self._dates = schema.dates
        self._ignored = frozenset(column.name for column in schema.columns if column.role == "ignored")
        return Layout(len(schema.numbers), None, schema, sniffed.notes + notes)

    @property
    def _notation(self) -> Notation:
        return self._sniffed.notation

    def _blocks(self) -> Iterator[Block]:
        """Blocks that end with a row: where a quote is open at the end of one, the next belongs to it."""
        waiting: list[Block] = []
        for block in self.text:
            if waiting and (block.opening or block.problem):
                yield _merged(waiting)
                waiting = []
            waiting.append(block)
            if sum(each.text.count(b'"') for each in waiting) % 2 == 0 or len(waiting) == _MOST_MERGED:
                yield _merged(waiting)
                waiting = []
        if waiting:
            yield _merged(waiting)

    def _has_a_row_in_each_line(self, block: Block) -> bool:
        return b'"' not in block.text and b"#" not in block.text

    def _begin(self, block: Block, state: NDArray, bad: BadLines) -> None:
        """Step over the line that declares the delimiter, and over the header, which must be that of the first file."""
        if not block.opening:
            return
        begin = declared_delimiter(block.text)[1]
        state[AT], state[LINE] = begin, 1 if begin else 0
        names, text = self._sniffed.header, block.text
        while names is not None and begin < len(text):
            end = text.index(b"\n", begin)
            end = joined_end(text, begin, end) or end
            line = text[begin:end]
            found = fields_of(line, self._sniffed.delimiter)
            is_header = isinstance(found, list) and tuple(name.strip() for name in found) == names
            if not is_header and line.strip() and not line.lstrip().startswith(b"#"):
                where = block.where(int(state[LINE]))
                if isinstance(found, list) and len(found) == len(names):
                    raise StreamError(f"{where}: the header is not that of {self.name}.")
                bad.refuse(where, found if isinstance(found, str) else width_problem(len(found), len(names)))
            state[LINE] += line.count(b"\n") + 1
            begin = end + 1
            state[AT] = begin
            if is_header:
                return

    def _piece(self, block: Block, state: NDArray, bad: BadLines) -> tuple[Batch, StreamError | None]:
        failure = None
        plan, delimiter = self._plan, self._sniffed.delimiter
        text = block.text
        if self._notation.decimal == "," and delimiter not in ".,":
            text = text.translate(_POINTS_AND_COMMAS)  # what the parser takes for a number; points stop it
        parsed = np.frombuffer(text, dtype=np.uint8)
        # A row has a delimiter or line end for each column: many empty lines do not make room for a wide table each.
        most_rows = min(text.count(b"\n"), len(text) // len(plan.names) + 2)
        buffers = RowBuffers(most_rows, len(text), plan, self.dtype)
        fixed = (ord(delimiter), not is_utf8(block.text), plan.kinds, plan.targets, parser_top(self.dtype))
        arrays = (
            buffers.numbers,
            buffers.extras,
            buffers.spans,
            buffers.lines,
            buffers.hard.text,
            buffers.hard.targets,
        )
        while not parse_table(parsed, state, *fixed, *arrays):
            try:
                self._take_line(block, state, buffers, bad)
            except StreamError as error:
                failure = error
                break
        buffers.hard.settle(state, buffers.numbers.reshape(-1), buffers.extras.reshape(-1))
        batch, lines = self._with_dates(self._batch(block, buffers, int(state[ROW])), block, buffers.lines, bad)
        # The numbers are finite or missing; labels may be missing as well, and weights negative.
        return without_bad_rows(batch, self._numbers, lambda row: block.where(int(lines[row])), bad), failure

    def _take_line(self, block: Block, state: NDArray, buffers: RowBuffers, bad: BadLines) -> None:
        """Read the line that the parser stopped at; with those after it, if a field has line ends in quotes."""
        begin, row = int(state[AT]), int(state[ROW])
        end = line_end = block.text.index(b"\n", begin)
        problem = self._examined(block.text[begin:end], row, buffers, bad)
        whole = joined_end(block.text, begin, end) if problem == OPEN_QUOTE else None
        if whole is not None and self._examined(block.text[begin:whole], row, buffers, bad) is None:
            problem, end = None, whole
        if problem is None:
            buffers.lines[row] = state[LINE]
            state[ROW] += 1
        elif not self._is_comment(block.text[begin:line_end]):
            bad.refuse(block.where(int(state[LINE])), problem)
        state[LINE] += block.text.count(b"\n", begin, end + 1)
        state[AT] = end + 1

    def _is_comment(self, line: bytes) -> bool:
        """Whether a line that is no row begins with ``#``, and not as a row could that has one wrong value."""
        if not line.lstrip().startswith(b"#"):
            return False
        fields = fields_of(line, self._sniffed.delimiter, len(self._plan.names))
        return isinstance(fields, str) or len(fields) != len(self._plan.names) or self._plan.kinds[0] != 2

    def _examined(self, line: bytes, row: int, buffers: RowBuffers, bad: BadLines) -> str | None:
        """Write a line that the parser did not take to a row; or what is wrong with it."""
        plan, texts = self._plan, {}
        fields = fields_of(line, self._sniffed.delimiter, len(plan.names))
        if isinstance(fields, str):
            return fields
        if len(fields) != len(plan.names):
            return width_problem(len(fields), len(plan.names))
        for column, field in enumerate(fields):
            kind, target = plan.kinds[column], plan.targets[column]
            if kind == 2:
                texts[row, target] = field.strip()
                continue
            value = number_in(field, np.float64 if kind else self.dtype, self._notation)
            if isinstance(value, str):
                if not (is_missing(field) and self._may_be_missing(kind, target, bad)):
                    name = plan.names[column]
                    words = f"column {column + 1} ({shown(name)}): {value}"
                    as_text = (f"categorical={name}", f"ignore={name}", "on_bad_line")
                    return Sentence(words, remedies=() if kind else ("missing",) if is_missing(field) else as_text)
                value = np.nan
            (buffers.extras if kind else buffers.numbers)[row, target] = value
        buffers.read.update(texts)
        return None

    def _may_be_missing(self, kind: int, target: int, bad: BadLines) -> bool:
        if kind == 0:
            return bad.missing != "fail"
        return self._plan.label_kind == 1 and target == self._plan.label and bad.unlabeled == "skip"

    def _batch(self, block: Block, buffers: RowBuffers, n: int) -> Batch:
        plan = self._plan
        texts = {
            name: self._column(block.text, buffers, n, index)
            for index, name in enumerate(plan.strings)
            if name not in self._ignored
        }
        y = None
        if plan.label_kind == 1:
            y = buffers.extras[:n, plan.label].copy()
        elif plan.label_kind == 2:
            y = texts.pop(plan.strings[plan.label])
        weights = buffers.extras[:n, plan.weight].copy() if plan.weight >= 0 else None
        return Batch(buffers.numbers[:n], y, weights, 0, texts or None)

    def _with_dates(self, batch: Batch, block: Block, lines: NDArray, bad: BadLines) -> tuple[Batch, NDArray]:
        """The batch with what is made of dates behind its numbers, and its lines, without those that have none."""
        if not self._dates:
            return batch, lines
        texts, made, good = dict(batch.columns or {}), [batch.X], np.ones(batch.n_rows, bool)
        for name, date in self._dates:
            column = texts.pop(name)
            days = days_in(column, date.order)[1]  # type: ignore[index]
            for row in np.flatnonzero(np.isnan(days)):
                if good[row] and not is_missing(column[row]):
                    remedies = (f"categorical={name}", f"ignore={name}", "on_bad_line")
                    words = f"column {shown(name)}: {shown(column[row])} is not a date like {date.example}"
                    bad.refuse(block.where(int(lines[row])), Sentence(words, remedies=remedies))
                    good[row] = False
            made.append(date.features(days).astype(self.dtype))
        batch = batch._replace(X=np.column_stack(made), columns=texts or None)
        return (batch, lines) if good.all() else (rows_taken(batch, good), lines[: len(good)][good])

    def _column(self, text: bytes, buffers: RowBuffers, n: int, index: int) -> NDArray:
        """One column of text; equal texts are one object, as there are few in a column of categories."""
        known = self._strings
        values = np.empty(n, dtype=object)
        for row, (begin, end) in enumerate(buffers.spans[:n, index].tolist()):
            if (row, index) in buffers.read:
                values[row] = buffers.read[row, index]
                continue
            key = text[begin:end]
            value = known.get(key)
            if value is None:
                if len(known) >= _REMEMBERED_STRINGS:
                    known.clear()
                value = known[key] = key.decode("utf-8").strip()  # as in lines that the parser does not take
            values[row] = value
        return values


def _merged(blocks: list[Block]) -> Block:
    return blocks[0] if len(blocks) == 1 else blocks[0]._replace(text=b"".join(block.text for block in blocks))
