"""How far training has come, or a search: live in a terminal, plain lines elsewhere."""

import sys
import time
from contextlib import contextmanager
from typing import Any

from rich.live import Live
from rich.text import Text

from frugalsvm.auto.report import candidate_words, score_words
from frugalsvm.cli.console import PLAIN_SECONDS, Onlookers, Status, silenced, tell
from frugalsvm.estimators.progress import CERTIFICATES
from frugalsvm.pipelines.prequential import Progress
from frugalsvm.words import counted

_BAR_WIDTH = 30


class ProgressLine:
    """Shows progress on standard error, so that standard output stays for results.

    A terminal that is closed, or a pipe that is not read, ends the show and not the training.
    """

    def __init__(self, progress: Progress, model: Any, n_rows: int | None, n_passes: int = 1, *, quiet: bool = False):
        self._progress, self._model, self._n_rows, self._quiet = progress, model, n_rows, quiet
        self._n_passes, self.pass_number = n_passes, 1
        self._last = ""  # the line that was shown last
        console = Onlookers()
        is_live = not quiet and console.is_terminal and sys.stderr.isatty()
        self._live = Live(console=console, refresh_per_second=8) if is_live else None
        self._shown_at = time.monotonic()

    def __enter__(self) -> "ProgressLine":
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._show()
        if self._live is not None:
            with self._without_onlookers():
                self._live.stop()

    def show(self) -> None:
        """Bring the screen up to date, if it is time."""
        if self._live is not None or time.monotonic() - self._shown_at > PLAIN_SECONDS:
            self._show()
            self._shown_at = time.monotonic()

    def _show(self) -> None:
        if self._quiet:
            return
        line = self.line()
        if self._live is not None:
            with self._without_onlookers():
                self._live.update(Text(line, overflow="fold"))
        elif line != self._last:
            tell(line)
        self._last = line

    @contextmanager
    def _without_onlookers(self):
        """Go on in silence where nothing can be shown any more."""
        try:
            yield
        except OSError:
            self._quiet, self._live = True, None
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
            parts.append(progress.words)
        return ", ".join([*parts, *_model_parts(self._model)])


def _model_parts(model: Any) -> list[str]:
    estimator = getattr(model, "estimator_", getattr(model, "estimator", model))
    if hasattr(estimator, "results_"):  # candidates that learn side by side
        left = [each["accuracy"] for each in estimator.results_ if each["dropped_at"] is None]
        best = [f"accuracy of the best {100 * max(left):.2f} %"] if None not in left else []
        return [f"{len(left)} of {len(estimator.results_)} candidates left", *best]
    parts = []
    if hasattr(estimator, "n_features_in_"):  # it has begun to learn
        vectors = getattr(estimator, "support_vectors_", None)
        if vectors is not None:
            parts.append(f"{len(vectors)} vectors")
        for attribute, name in CERTIFICATES.items():
            value = getattr(estimator, attribute, None)
            if isinstance(value, float):
                parts.append(f"{name} {value:.3g}")
    return parts


class SearchProgress(Status):
    """A bar, how many candidates were tried, and the best so far: a callback of `fit`, shown while that runs."""

    def __init__(self, limit: float | None = None, *, quiet: bool = True):
        super().__init__(self.words, quiet=quiet)
        self._limit, self._start = limit, time.monotonic()
        self._n_tried, self._best = 0, float("-inf")
        self._latest: dict[str, Any] = {}  # candidate
        self._stage, self._stage_start = "", self._start  # what goes on without candidates, and since when

    def __call__(self, event: dict[str, Any]) -> None:
        """Take in what `fit` tells."""
        self._stage, self._stage_start = event.get("stage", ""), time.monotonic()
        if not self._stage:
            self._n_tried, self._best, self._latest = self._n_tried + 1, max(self._best, event["score"]), event

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._start

    def words(self) -> str:
        """What is going on, in a line."""
        spent = f"{self.seconds:.0f} s" + ("" if self._limit is None else f" of {self._limit:.0f} s")
        parts = [f"Comparing models: {counted(self._n_tried, 'candidate')} in {spent}"]
        if self._latest:
            name = self._latest["score_name"]
            parts.append(f"best {name} so far {score_words(self._best, name == 'accuracy')}")
        if self._stage:
            return ", ".join([*parts, f"now {self._stage} ({time.monotonic() - self._stage_start:.0f} s so far)"])
        return ", ".join([*parts, *([f"last: {candidate_words(self._latest)}"] if self._latest else [])])

    def bar(self) -> Any:
        """A bar: of the time that there is, or one that moves where there is no limit."""
        from rich.progress_bar import ProgressBar

        if self._limit is None:
            return ProgressBar(width=_BAR_WIDTH, pulse=True)
        return ProgressBar(total=self._limit, completed=min(self.seconds, self._limit), width=_BAR_WIDTH)

    def _text(self) -> Any:
        from rich.console import Group

        return Group(self.bar(), super()._text())
