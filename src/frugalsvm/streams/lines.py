"""Text in blocks of whole lines, with line numbers, in bounded memory."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import NamedTuple

from frugalsvm.streams.bad_lines import StreamError
from frugalsvm.streams.opening import Opened, Source

__all__ = ["BLOCK_BYTES", "Block", "TextSources"]

BLOCK_BYTES = 1 << 18
# Long lines can be right (a million features); without a limit, a file without line ends would be read into memory.
MAX_LINE_BYTES = 1 << 24


class Block(NamedTuple):
    """Whole lines of one file, each with its line end; or the place of one line that is too long to read."""

    name: str
    first_line: int
    text: bytes
    problem: str | None = None
    # Whether this is the first block of its file, where a header may be.
    opening: bool = False

    def where(self, line: int) -> str:
        """File and number of a line, for a message; lines of a block count from 0."""
        return f"{self.name}, line {self.first_line + line}"


def _blocks(opened: Opened, fill_first: bool) -> Iterator[Block]:
    """Blocks of one opened source; the first is filled up, so that what is decided from it is always the same."""
    line, kept, n_kept, too_long, is_first = 1, [], 0, False, True  # type: ignore[var-annotated]
    while chunk := opened.read(BLOCK_BYTES):
        end = chunk.rfind(b"\n") + 1
        if end == 0 or (is_first and fill_first and n_kept + len(chunk) < BLOCK_BYTES):
            if not too_long:
                kept.append(chunk)
                n_kept += len(chunk)
            if n_kept > MAX_LINE_BYTES:
                kept, n_kept, too_long = [], 0, True
            continue
        begin = 0
        if too_long:
            yield Block(opened.name, line, b"", f"the line is longer than {MAX_LINE_BYTES >> 20} MB", is_first)
            begin, line, too_long, is_first = chunk.index(b"\n") + 1, line + 1, False, False
        text = b"".join([*kept, chunk[begin:end]])
        kept, n_kept = ([chunk[end:]], len(chunk) - end) if end < len(chunk) else ([], 0)
        if text:
            yield Block(opened.name, line, text, None, is_first)
            line += text.count(b"\n")
            is_first = False
    if too_long:
        yield Block(opened.name, line, b"", f"the line is longer than {MAX_LINE_BYTES >> 20} MB", is_first)
    elif rest := b"".join(kept):
        yield Block(opened.name, line, rest if rest.endswith(b"\n") else rest + b"\n", None, is_first)


class TextSources:
    """Blocks of several sources, one after the other, with a first look that does not use anything up."""

    def __init__(self, sources: list[Source]) -> None:
        self.sources = sources
        self.reopenable = all(source.reopenable for source in sources)
        self.name = sources[0].name if len(sources) == 1 else f"{sources[0].name} and {len(sources) - 1} more"
        self.fill_first = True
        self._begun: tuple[Block, Iterator[Block]] | None = None

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
                    yield block
            finally:
                opened.close()

    def first(self) -> Block:
        """The first block with text, which the next pass gives again; an error if there is none."""
        blocks = self._all()
        for block in blocks:
            if block.text:
                if self.reopenable:
                    blocks.close()
                else:
                    self._begun = (block, blocks)
                return block
            raise StreamError(f"{block.where(0)}: {block.problem}.")
        raise StreamError(f"{self.name} is empty.")

    def __iter__(self) -> Iterator[Block]:
        if self._begun is None:
            yield from self._all()
            return
        (block, blocks), self._begun = self._begun, None
        yield block
        yield from blocks
