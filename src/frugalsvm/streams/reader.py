"""What readers of formats share: text in blocks of whole lines, in bounded memory; and rows.

The layout of a source is found out once, and rows before a start are passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalsvm.exceptions import Sentence
from frugalsvm.streams.bad_lines import BadLines, StreamError
from frugalsvm.streams.batch import Batch, dropped, rows_between
from frugalsvm.streams.columns import Layout
from frugalsvm.streams.parsing import pass_rows
from frugalsvm.streams.source import Opened, Source

BLOCK_BYTES = 1 << 18
_UTF16 = (b"\xff\xfe", b"\xfe\xff")  # marks of byte order
# Long lines can be right (a million features); without a limit, a file without line ends would be read into memory.
MAX_LINE_BYTES = 1 << 24


class Block(NamedTuple):
    """Whole lines of one file, each with its line end; or the place of one line that is too long to read."""

    name: str
    first_line: int
    text: bytes
    problem: str | None = None
    # Whether this is the first block of its file that has text, where a header may be.
    opening: bool = False

    def where(self, line: int) -> str:
        """File and number of a line, for a message; lines of a block count from 0."""
        return f"{self.name}, line {self.first_line + line}"


class _Pending:
    """Bytes of one source on their way into blocks: whole lines, and the beginning of one that is not whole yet."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._line = 1
        self._is_first = True
        self._whole: list[bytes] = []
        self._begun: list[bytes] = []
        self.n_bytes = self._n_begun = 0
        self.is_too_long = False

    def add(self, chunk: bytes, end: int) -> None:
        """Take bytes whose last line end is before ``end``."""
        if end:
            self._whole += [*self._begun, chunk[:end]]
            self._begun, self._n_begun = [], 0
        if end < len(chunk) and not self.is_too_long:
            self._begun.append(chunk[end:])
            self._n_begun += len(chunk) - end
        self.n_bytes += len(chunk)
        if self._n_begun > MAX_LINE_BYTES:
            self._begun, self._n_begun, self.is_too_long = [], 0, True

    def lines(self) -> Iterator[Block]:
        """A block of the whole lines, if there are any."""
        text, self._whole, self.n_bytes = b"".join(self._whole), [], self._n_begun
        if text:
            yield Block(self._name, self._line, text, None, self._is_first)
            self._line += text.count(b"\n")
            self._is_first = False

    def too_long(self) -> Iterator[Block]:
        """The whole lines, and the place of the line after them, whose bytes were thrown away."""
        yield from self.lines()
        yield Block(self._name, self._line, b"", f"the line is longer than {MAX_LINE_BYTES >> 20} MB")
        self._line += 1
        self.is_too_long = False

    def rest(self) -> Iterator[Block]:
        """What is left at the end, where a line may lack its end."""
        if self.is_too_long:
            yield from self.too_long()
        elif self._begun:
            self.add(b"\n", 1)
        yield from self.lines()


def _blocks(opened: Opened, fill_first: bool) -> Iterator[Block]:
    """Blocks of one opened source; the first is filled up, so that what is decided from it is always the same."""
    pending, is_filling = _Pending(opened.name), fill_first
    while chunk := opened.read(BLOCK_BYTES):
        end = chunk.rfind(b"\n") + 1
        if end and pending.is_too_long:
            yield from pending.too_long()
            begin = chunk.index(b"\n") + 1
            chunk, end = chunk[begin:], end - begin
        pending.add(chunk, end)
        if end and not (is_filling and pending.n_bytes < BLOCK_BYTES):
            yield from pending.lines()
            is_filling = False
    yield from pending.rest()


class TextSources:
    """Blocks of several sources, one after the other, with a first look that does not use anything up."""

    def __init__(self, sources: list[Source]) -> None:
        self.sources = sources
        self.reopenable = all(source.reopenable for source in sources)
        self.name = sources[0].name if len(sources) == 1 else f"{sources[0].name} and {len(sources) - 1} more"
        self.fill_first = True
        self._begun: tuple[list[Block], Iterator[Block]] | None = None

    @property
    def size(self) -> int | None:
        """Bytes on disk of all sources, or None where that is not known."""
        sizes = [source.size for source in self.sources]
        return None if None in sizes else sum(sizes)  # type: ignore[arg-type]

    def _all(self) -> Generator[Block, None, None]:
        for source in self.sources:
            opened = source.open()
            try:
                for block in _blocks(opened, self.fill_first):
                    if block.opening and block.text.startswith(b"\xef\xbb\xbf"):
                        block = block._replace(text=block.text[3:])
                    elif block.opening and block.text.startswith(_UTF16):
                        what = "is UTF-16 text or no text at all, and only UTF-8 is read: save it as UTF-8"
                        raise StreamError(f"{source.name} {what}.")
                    yield block
            finally:
                opened.close()

    def first(self) -> Block:
        """The first block with text, which the next pass gives again; an error if there is none."""
        blocks, seen = self._all(), []
        for block in blocks:
            seen.append(block)
            if not block.text:
                continue
            if self.reopenable:
                blocks.close()
            else:
                self._begun = (seen, blocks)
            return block
        raise StreamError(f"{seen[0].where(0)}: {seen[0].problem}." if seen else f"{self.name} is empty.")

    def __iter__(self) -> Iterator[Block]:
        if self._begun is None:
            yield from self._all()
            return
        (seen, blocks), self._begun = self._begun, None
        yield from seen
        yield from blocks


# --- readers ---------------------------------------------------------------------------------------------------------


class Reader:
    """Base of the readers of formats: subclasses define ``_looked_at`` and ``_rows_from``."""

    name: str
    reopenable: bool
    _wanted_features: int | None
    _layout: Layout | None = None
    _looked_at: Callable[[], Layout]
    _rows_from: Callable[[int, BadLines], Iterator[Batch]]

    def prepare(self) -> Layout:
        """What is known before the first row, which is found out once."""
        if self._layout is None:
            self._layout = self._looked_at()
        return self._layout

    def _check_width(self, width: int, what: str, name: str | None = None) -> None:
        """Refuse features that are more or fewer than those that are wanted."""
        if self._wanted_features not in (None, width):
            words = f"{name or self.name} has {width} {what}"
            raise StreamError(Sentence(words, ", not {n_features}.", n_features=self._wanted_features))

    def pieces(self, skip: int, bad: BadLines) -> Iterator[Batch]:
        """Rows from number ``skip`` on, in pieces of any size."""
        self.prepare()
        to_pass = 0 if bad.leaves_out else skip
        yield from dropped(self._rows_from(to_pass, bad), skip - to_pass)


class TextReader(Reader):
    """Base of readers that parse blocks of lines: subclasses define ``_looked_at`` and ``_piece``."""

    text: TextSources
    _comment = -1  # the byte that makes a line no row, or one that no byte is

    def _piece(self, block: Block, state: NDArray, bad: BadLines) -> tuple[Batch, StreamError | None]:
        """The rows of a block from where ``state`` is, up to the first line that ends the stream."""
        raise NotImplementedError

    def _blocks(self) -> Iterator[Block]:
        return iter(self.text)

    def _has_a_row_in_each_line(self, block: Block) -> bool:
        """Whether rows can be counted without reading them."""
        return True

    def _begin(self, block: Block, state: NDArray, bad: BadLines) -> None:
        """Step over what comes before the rows of a block."""

    def _rows_from(self, row: int, bad: BadLines) -> Iterator[Batch]:
        to_pass = row
        for block in self._blocks():
            if block.problem:
                bad.refuse(block.where(0), block.problem)
                continue
            state = np.zeros(5, dtype=np.int64)
            self._begin(block, state, bad)
            if to_pass and self._has_a_row_in_each_line(block):
                to_pass -= pass_rows(np.frombuffer(block.text, dtype=np.uint8), state, self._comment, to_pass)
            piece, failure = self._piece(block, state, bad)
            if to_pass:
                passed = min(to_pass, piece.n_rows)
                piece, to_pass = rows_between(piece, passed, piece.n_rows), to_pass - passed
            # Rows before a bad line come first, so that the error is where the line is.
            yield piece
            if failure is not None:
                raise failure
