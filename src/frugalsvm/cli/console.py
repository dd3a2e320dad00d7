"""What is printed: results to standard output, and what people should know to standard error."""

import errno
import json
import math
import os
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from frugalsvm.compiling.notice import QUIET, show_compiling
from frugalsvm.words import facts_lines, short, table_lines

PLAIN_SECONDS = 5.0  # between plain lines
_SOON_SECONDS = 0.5  # what takes less needs no words


class Exit(IntEnum):
    """Exit codes; 1 is a defect, and 2 a wrong flag, as everywhere."""

    DATA = 3
    MODEL = 4
    SYSTEM = 5
    INTERRUPTED = 130
    CLOSED = 141  # what shells tell of programs whose output is not read any more


def silenced(stream: Any) -> None:
    """Send what is still to be written nowhere, so that the interpreter ends without a complaint."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def nobody_reads() -> SystemExit:
    """The quiet end of a program whose output is closed; raise what this returns."""
    silenced(sys.stdout)
    return SystemExit(int(Exit.CLOSED))


# --- results ------------------------------------------------------------------------------------------------


class Printer(Console):
    """A console for results: when the reader has had enough, as ``head`` has, the program ends quietly.

    Names of files and classes are printed as they are, whatever brackets and colons they have.
    """

    def __init__(self, *, soft_wrap: bool = True):
        super().__init__(soft_wrap=soft_wrap, highlight=False, markup=False, emoji=False)

    def on_broken_pipe(self) -> None:
        """End."""
        raise nobody_reads()


def print_json(values: Any) -> None:
    """One line of JSON on standard output; it has no word for NaN, which is null, and for infinity, which is "inf"."""
    try:
        print(json.dumps(_in_json(values), allow_nan=False), flush=True)
    except BrokenPipeError as error:
        raise nobody_reads() from error


def _in_json(value: Any) -> Any:
    """A value as JSON can hold it."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {key: _in_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_in_json(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value if value is None or isinstance(value, str | int | float) else str(value)


def table_of(title: str, rows: list[dict[str, Any]]) -> Any:
    """A table with a column for each key."""
    from rich.table import Table

    made = Table(title=title, title_justify="left")
    for key in rows[0] if rows else ():
        made.add_column(key, justify="left" if isinstance(rows[0][key], str) else "right")
    for row in rows:
        made.add_row(*map(short, row.values()))
    return made


class Page:
    """A page on standard output."""

    def __init__(self, heading: str = "") -> None:
        self._printer, self._is_begun = Printer(), False
        if heading:
            self.heading(heading)

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

    def written(self, path: Path | None) -> None:
        """Where the same is in HTML, if it is."""
        if path is not None:
            self.sentence(f"\nA page is in {path}.")

    def sections(self, sections: Iterable[tuple[str, list[str]]]) -> None:
        """Headings, where they are not empty, and the lines below them."""
        for heading, lines in sections:
            if heading:
                self.heading(heading)
            self.lines(lines)


# --- what people should know --------------------------------------------------------------------------------


class Onlookers(Console):
    """Standard error, which people may leave: whoever prints to it gets an error, and does not end."""

    def __init__(self) -> None:
        super().__init__(stderr=True, soft_wrap=True, highlight=False, markup=False, emoji=False)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError(errno.EPIPE, "Nobody reads this any more")


def tell(text: str) -> None:
    """A line on standard error, if anybody reads it."""
    try:
        Onlookers().print(text)
    except OSError:
        silenced(sys.stderr)


def tell_wrong(kind: str, style: str, text: str) -> None:
    """A line about something wrong, whose first word stands out."""
    Console(stderr=True, soft_wrap=True).print(Text.assemble((f"{kind}:", style), f" {text}"))


@contextmanager
def compiling_shown(*, quiet: bool = False):
    """Show, once, that machine code is compiled, if that takes a while; or nothing at all."""
    shown: list[str] = []
    quiet = quiet or bool(os.environ.get(QUIET))

    def show(name: str, seconds: float | None) -> None:
        if not quiet and not shown:
            shown.append(name)
            tell(
                "Compiling machine code for this model and type of data; later runs find it on disk "
                "(`frugalsvm warm-up` makes it ahead) ..."
            )

    before = show_compiling(show)
    try:
        yield
    finally:
        show_compiling(before)


class Status:
    """One line on standard error about something that takes a while; in a terminal it goes when that is done.

    Parameters
    ----------
    words : str or callable
        What is going on; what a callable returns may change meanwhile.
    quiet : bool, default=False
    """

    def __init__(self, words: str | Callable[[], str], *, quiet: bool = False):
        self._words = words if callable(words) else lambda: words
        self._quiet, self._last = quiet, ""
        self._live = None
        console = Onlookers()
        if not quiet and console.is_terminal:
            from rich.live import Live

            self._live = Live(console=console, get_renderable=self._text, refresh_per_second=4, transient=True)
        self._done = threading.Event()

    def _text(self) -> Any:
        return Text(self._words(), overflow="fold")

    def __enter__(self) -> "Status":
        if self._live is not None:
            self._live.start()
        elif not self._quiet:
            threading.Thread(target=self._tell, daemon=True).start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._done.set()
        if self._live is not None:
            try:
                self._live.stop()
            except OSError:
                silenced(sys.stderr)

    def _tell(self) -> None:
        """Plain lines, whenever there is something new to say; nothing about what is done at once."""
        seconds = _SOON_SECONDS
        while not self._done.wait(seconds):
            line, seconds = self._words(), PLAIN_SECONDS
            if line != self._last:
                tell(line)
            self._last = line
