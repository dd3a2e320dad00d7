"""Pages for people: headings, sentences, and short tables without frames."""

from collections.abc import Iterable
from pathlib import Path

from rich.text import Text

from frugalsvm.cli.console import Printer

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
        facts = list(facts)
        width = max((len(name) for name, _ in facts), default=0)
        for name, value in facts:
            self.sentence(f"  {name:<{width}}  {value}")

    def table(self, rows: list[dict[str, str]]) -> None:
        """Rows of text under their names; columns whose first value is a number are aligned to the right."""
        names = list(rows[0])
        widths = {name: max(len(name), *(len(row[name]) for row in rows)) for name in names}
        right = {name for name in names if rows[0][name][:1].isdigit() or rows[0][name] == "-"}
        for row in ({name: name for name in names}, *rows):
            cells = [row[n].rjust(widths[n]) if n in right else row[n].ljust(widths[n]) for n in names]
            self.sentence(("  " + "  ".join(cells)).rstrip())
