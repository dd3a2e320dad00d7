"""What readers of formats share: a layout that is found out once, and rows before a start that are passed over."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from frugalsvm.exceptions import Sentence
from frugalsvm.streams.bad_lines import BadLines, StreamError
from frugalsvm.streams.batch import Batch, dropped, rows_between
from frugalsvm.streams.columns import Layout
from frugalsvm.streams.lines import Block, TextSources
from frugalsvm.streams.parsing import pass_rows

__all__ = ["Reader", "TextReader"]


class Reader:
    """Base of the readers of formats: subclasses define ``_looked_at`` and ``_rows_from``."""

    name: str
    reopenable: bool
    _wanted_features: int | None
    _layout: Layout | None = None

    def prepare(self) -> Layout:
        """What is known before the first row, which is found out once."""
        if self._layout is None:
            self._layout = self._looked_at()
        return self._layout

    def _looked_at(self) -> Layout:
        raise NotImplementedError

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

    def _rows_from(self, row: int, bad: BadLines) -> Iterator[Batch]:
        raise NotImplementedError


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
