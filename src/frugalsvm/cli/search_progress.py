"""How far a comparison of models has come: a bar, how many were tried, and the best so far."""

import io
import re
import time
from contextlib import contextmanager, redirect_stdout
from typing import Any

from frugalsvm.cli.console import Status
from frugalsvm.cli.page import counted

__all__ = ["SearchProgress"]

_SCORE = re.compile(r"(?P<name>accuracy|R\^2) (?P<value>-?\d+\.\d+)")
_BAR_WIDTH = 30


class SearchProgress(io.TextIOBase):
    """Follows the lines that `AutoSVC` and `AutoSVR` print with ``verbose=1``, one for each candidate."""

    def __init__(self, limit: float | None = None):
        self._limit, self._start = limit, time.monotonic()
        self._n_tried, self._best, self._name, self._now = 0, float("-inf"), "", ""
        self._stage, self._stage_start = "", self._start  # what goes on without candidates, and since when

    def write(self, text: str) -> int:
        """Take a line in."""
        for line in text.splitlines():
            if not line.strip():
                continue
            if line.endswith(" ..."):
                self._stage, self._stage_start = line.partition("] ")[2].removesuffix(" ..."), time.monotonic()
                continue
            self._stage = ""
            self._n_tried += 1
            self._now = line.partition("] ")[2].partition(":")[0] or line
            match = _SCORE.search(line)
            if match is not None:
                self._name, self._best = match["name"], max(self._best, float(match["value"]))
        return len(text)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._start

    def words(self) -> str:
        """What is going on, in a line."""
        spent = f"{self.seconds:.0f} s" + ("" if self._limit is None else f" of {self._limit:.0f} s")
        parts = [f"Comparing models: {counted(self._n_tried, 'candidate')} in {spent}"]
        if self._name:
            best = f"{100 * self._best:.2f} %" if self._name == "accuracy" else f"{self._best:.4f}"
            parts.append(f"best {self._name} so far {best}")
        if self._stage:
            return ", ".join([*parts, f"now {self._stage} ({time.monotonic() - self._stage_start:.0f} s so far)"])
        return ", ".join([*parts, *([f"last: {self._now}"] if self._now else [])])

    def bar(self) -> Any:
        """A bar: of the time that there is, or one that moves where there is no limit."""
        from rich.progress_bar import ProgressBar

        if self._limit is None:
            return ProgressBar(width=_BAR_WIDTH, pulse=True)
        return ProgressBar(total=self._limit, completed=min(self.seconds, self._limit), width=_BAR_WIDTH)

    @contextmanager
    def shown(self, *, quiet: bool):
        """Show it while an estimator prints its candidates."""
        with _BarAndWords(self, quiet=quiet), redirect_stdout(self):
            yield


class _BarAndWords(Status):
    def __init__(self, progress: SearchProgress, *, quiet: bool):
        super().__init__(progress.words, quiet=quiet)
        self._progress = progress

    def _text(self) -> Any:
        from rich.console import Group

        return Group(self._progress.bar(), super()._text())
