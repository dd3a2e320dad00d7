"""What the readers of lines share: blocks of text become pieces of rows, and rows before a start are passed over."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from frugalsvm.streams.bad_lines import BadLines, StreamError
from frugalsvm.streams.batch import Batch, dropped, rows_between
from frugalsvm.streams.columns import Layout
from frugalsvm.streams.lines import Block, TextSources
from frugalsvm.streams.parsing import pass_rows

__all__ = ["TextReader"]


class TextReader:
    """Base of readers that parse blocks of lines: subclasses define ``prepare`` and ``_piece``."""

    text: TextSources
    _comment = -1  # the byte that makes a line no row, or one that no byte is

    def prepare(self) -> Layout:
        raise NotImplementedError

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

    def pieces(self, skip: int, bad: BadLines) -> Iterator[Batch]:
        """Rows from number ``skip`` on, in pieces of any size."""
        self.prepare()
        to_pass = 0 if bad.leaves_out else skip
        yield from dropped(self._parsed(to_pass, bad), skip - to_pass)

    def _parsed(self, to_pass: int, bad: BadLines) -> Iterator[Batch]:
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
