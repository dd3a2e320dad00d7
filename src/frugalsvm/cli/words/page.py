"""Pages for people: headings, sentences, and short tables without frames."""

from collections.abc import Iterable
from pathlib import Path

from rich.text import Text

from frugalsvm.cli.console import Printer
from frugalsvm.words import facts_lines, table_lines

__all__ = ["Page", "print_written"]


def print_written(path: Path) -> None:
    """Say that a page was written."""
    Printer().print(f"\nA page is in {path}.")


class Page:
    """A page on standard output."""

    def __init__(self) -> None:
        self._printer, self._is_begun = Printer(), False

    def heading(self, words: str) -> None:
        """A heading, after an empty line unless the page begins with it."""
        if self._is_begun:
            self._printer.print()
        self._is_begun = True
        self._printer.print(Text(words, style="bold"))

    def sentence(self, words: str) -> None:
        self._is_begun = True
        self._printer.print(words)

    def facts(self, facts: Iterable[tuple[str, str]]) -> None:
        """Names and what they are, in two columns."""
        self.lines(facts_lines(facts))

    def table(self, rows: list[dict[str, str]]) -> None:
        """Rows of text under their names."""
        self.lines(table_lines(rows))

    def lines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.sentence(line)
