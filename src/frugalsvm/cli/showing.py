"""What people see while a model learns: one live line in a terminal, plain lines elsewhere, or JSON."""

import errno
import json
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from itertools import islice
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from frugalsvm.cli.errors import in_flags, nobody_reads, silenced
from frugalsvm.cli.running import Progress

__all__ = [
    "SHOWN_BAD_LINES",
    "Screen",
    "Status",
    "as_json",
    "skipped_words",
    "table_of",
    "tell",
    "tell_notes",
    "tell_skipped",
]

SHOWN_BAD_LINES = 3
_PLAIN_SECONDS = 5.0  # between plain lines
_SOON_SECONDS = 0.5  # what takes less needs no words
_CERTIFICATES = {"gradient_error_": "gradient error", "member_gap_": "gap", "kkt_violation_": "KKT"}


def as_json(values: Any) -> None:
    """One line of JSON on standard output."""
    try:
        print(json.dumps(values, default=_plain), flush=True)
    except BrokenPipeError as error:
        raise nobody_reads() from error


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


def table_of(title: str, rows: list[dict[str, Any]]) -> Table:
    """A table with a column for each key."""
    made = Table(title=title, title_justify="left")
    for key in rows[0] if rows else ():
        made.add_column(key, justify="left" if isinstance(rows[0][key], str) else "right")
    for row in rows:
        made.add_row(*(f"{value:.4g}" if isinstance(value, float) else str(value) for value in row.values()))
    return made


def tell(text: str) -> None:
    """A line on standard error, if anybody reads it."""
    try:
        _Onlookers(stderr=True, soft_wrap=True).print(text, highlight=False, markup=False)
    except OSError:
        silenced(sys.stderr)


def tell_notes(stream: Any) -> None:
    """What reading has decided by itself, such as which column has the labels."""
    for note in getattr(stream, "notes", ()):
        tell(f"note: {note}")


def skipped_words(n_bad: int, examples: Iterable[str]) -> str:
    """How many lines were left out, with the first of them."""
    shown = list(islice(examples, SHOWN_BAD_LINES))
    what = "1 bad line was" if n_bad == 1 else f"{n_bad:,} bad lines were"
    more = "" if n_bad <= len(shown) else ", the first ones"
    return "\n  ".join([f"{what} skipped{more}:", *map(in_flags, shown)])


def tell_skipped(stream: Any) -> None:
    """On standard error, what reading has left out, if anything."""
    if n_bad := getattr(stream, "n_bad", 0):
        tell(skipped_words(n_bad, getattr(stream, "bad_examples", ())))


class _Onlookers(Console):
    """A console that people may leave: whoever prints to it is told, and does not end."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError(errno.EPIPE, "Nobody reads this any more")


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
        self._console = _Onlookers(stderr=True, soft_wrap=True)
        self._live = None
        if not quiet and self._console.is_terminal:
            self._live = Live(console=self._console, get_renderable=self._text, refresh_per_second=4, transient=True)
        self._done = threading.Event()

    def _text(self) -> Text:
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
            line, seconds = self._words(), _PLAIN_SECONDS
            if line != self._last:
                tell(line)
            self._last = line


class Screen:
    """Shows progress on standard error, so that standard output stays for results.

    A terminal that is closed, or a pipe that nobody reads, ends the show and not the training.
    """

    def __init__(self, progress: Progress, model: Any, n_rows: int | None, n_passes: int = 1, *, quiet: bool = False):
        self._progress, self._model, self._n_rows, self._quiet = progress, model, n_rows, quiet
        self._n_passes, self.pass_number = n_passes, 1
        self._last = ""  # the line that was shown last
        self._console = _Onlookers(stderr=True, soft_wrap=True)
        self._live = Live(console=self._console, refresh_per_second=8) if self._is_live() else None
        self._shown_at = time.monotonic()

    def _is_live(self) -> bool:
        return not self._quiet and self._console.is_terminal and sys.stderr.isatty()

    def __enter__(self) -> "Screen":
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: Any) -> None:
        if self._live is not None:
            with self._without_onlookers():
                self._live.update(Text(self.line(), overflow="fold"))
                self._live.stop()
        elif not self._quiet:
            self._print()

    def show(self) -> None:
        """Bring the screen up to date, if it is time."""
        if self._live is not None:
            with self._without_onlookers():
                self._live.update(Text(self.line(), overflow="fold"))
        elif not self._quiet and time.monotonic() - self._shown_at > _PLAIN_SECONDS:
            self._print()
            self._shown_at = time.monotonic()

    def _print(self) -> None:
        line = self.line()
        if line == self._last:
            return
        self._last = line
        with self._without_onlookers():
            self._console.print(line, highlight=False)

    @contextmanager
    def _without_onlookers(self):
        """Go on in silence where nothing can be shown any more."""
        try:
            yield
        except OSError:
            self._quiet, self._live = True, None
            self._console.quiet = True
            silenced(sys.stderr)

    def line(self) -> str:
        """Everything worth knowing, in one line."""
        progress = self._progress
        parts = [f"{progress.rows:,} examples"]
        if self._n_passes > 1:
            parts[0] = f"pass {self.pass_number} of {self._n_passes}: {parts[0]}"
        if self._n_rows:
            parts[0] += f" of {self._n_rows:,} ({100 * progress.rows / self._n_rows:.0f} %)"
        if progress.seconds:
            parts.append(f"{progress.speed:,.0f}/s")
            if self._n_rows and progress.rows < self._n_rows:
                parts.append(f"{(self._n_rows - progress.rows) / progress.speed:.0f} s left")
        if progress.tested:
            parts.append(f"accuracy so far {100 * progress.accuracy:.2f} %")
        return ", ".join([*parts, *_model_parts(self._model)])


def _model_parts(model: Any) -> list[str]:
    estimator = getattr(model, "estimator_", getattr(model, "estimator", model))
    parts = []
    if hasattr(estimator, "classes_") or hasattr(estimator, "_weights"):
        vectors = getattr(estimator, "support_vectors_", None)
        if vectors is not None:
            parts.append(f"{len(vectors)} vectors")
        for attribute, name in _CERTIFICATES.items():
            value = getattr(estimator, attribute, None)
            if isinstance(value, float):
                parts.append(f"{name} {value:.3g}")
    return parts
