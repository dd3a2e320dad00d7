"""How far training has come, and the line that shows it: live in a terminal, plain elsewhere."""

import math
import sys
import time
from contextlib import contextmanager
from typing import Any

import numpy as np
from rich.live import Live
from rich.text import Text

from frugalsvm.cli.catalogue import CLASSES, NOVELTIES, NUMBERS
from frugalsvm.cli.console import PLAIN_SECONDS, Onlookers, silenced
from frugalsvm.cli.recent import RecentMean, added
from frugalsvm.estimators._progress import CERTIFICATES

__all__ = ["Progress", "ProgressLine"]


class Progress:
    """What has been learned so far, of a task of the catalogue; counts survive in checkpoints."""

    def __init__(self, counts: dict[str, Any] | None = None, task: str = CLASSES):
        counts = counts or {}
        self._task = task
        self.rows: int = counts.get("rows", 0)  # examples read, in this pass
        self.total: int = counts.get("total", self.rows)  # examples learned, in all passes
        self.seen: int = counts.get("seen", self.rows)  # rows of the first pass that were predicted, if they could be
        self.tested: int = counts.get("tested", 0)  # predicted before they were learned
        self.right: int = counts.get("right", 0)
        self.alarms: int = counts.get("alarms", 0)  # rows that were unusual before they were learned
        self.squares: float = counts.get("squares", 0.0)  # of errors of predicted numbers
        self._recent = RecentMean(counts.get("recent", ()))  # of what is counted of each row
        self.quantiles: dict[str, Any] = {}  # of a finished run: which shares of rows are below them
        self.saved: int = self.total  # examples in the last checkpoint
        self.seconds: float = 0.0  # of learning, since this process began
        self.learned: int = 0  # examples, since this process began

    @property
    def accuracy(self) -> float:
        """Share of examples that were predicted right before they were learned."""
        return self.right / self.tested if self.tested else float("nan")

    @property
    def speed(self) -> float:
        """Examples per second."""
        return self.learned / self.seconds if self.seconds else float("nan")

    def take(self, predicted: np.ndarray, labels: np.ndarray) -> None:
        """Take in what was predicted of rows before they are learned; several quantiles are no errors to add up."""
        if predicted.ndim > 1:
            return
        self.tested += len(predicted)
        if self._task == NUMBERS:
            counted = np.square(predicted - labels)
            self.squares = added(self.squares, counted)
        elif self._task == NOVELTIES:
            counted = predicted == -1
            self.alarms += int(np.count_nonzero(counted))
        else:
            counted = predicted == labels
            self.right += int(np.count_nonzero(counted))
        self._recent.add(counted)

    @property
    def _figure(self) -> tuple[str, float]:
        """What a stream tells about the model before it is done, and its name."""
        if self._task == NUMBERS:
            return "rmse", math.sqrt(self.squares / self.tested) if self.tested else math.nan
        if self._task == NOVELTIES:
            return "alarms", self.alarms / self.tested if self.tested else math.nan
        return "accuracy", self.accuracy

    @property
    def _recent_figure(self) -> float:
        """The same of the last rows."""
        return math.sqrt(self._recent.mean) if self._task == NUMBERS else self._recent.mean

    def figures(self) -> dict[str, Any]:
        """What a stream tells about the model before it is done: since the beginning, and of the last rows."""
        name, value = self._figure
        figures: dict[str, Any] = {f"{name}_before_learning": value if self.tested else None, **self.quantiles}
        if self._recent.n_rows:
            figures |= {f"recent_{name}": self._recent_figure, "recent_rows": self._recent.n_rows}
        return figures

    @property
    def words(self) -> str:
        """The same for people."""
        name, value = self._figure
        show = "{:.4g}".format if name == "rmse" else lambda share: f"{100 * share:.2f} %"
        words = f"{'error (RMSE)' if name == 'rmse' else name} so far {show(value)}"
        n_rows = self._recent.n_rows
        return f"{words} (last {n_rows:,}: {show(self._recent_figure)})" if 0 < n_rows < self.tested else words

    def counts(self) -> dict[str, Any]:
        own = {NUMBERS: "squares", NOVELTIES: "alarms"}.get(self._task, "right")
        counts = {name: getattr(self, name) for name in ("rows", "total", "seen", "tested", own)}
        return {**counts, "recent": self._recent.saved()}


class ProgressLine:
    """Shows progress on standard error, so that standard output stays for results.

    A terminal that is closed, or a pipe that nobody reads, ends the show and not the training.
    """

    def __init__(self, progress: Progress, model: Any, n_rows: int | None, n_passes: int = 1, *, quiet: bool = False):
        self._progress, self._model, self._n_rows, self._quiet = progress, model, n_rows, quiet
        self._n_passes, self.pass_number = n_passes, 1
        self._last = ""  # the line that was shown last
        self._console = Onlookers()
        self._live = Live(console=self._console, refresh_per_second=8) if self._is_live() else None
        self._shown_at = time.monotonic()

    def _is_live(self) -> bool:
        return not self._quiet and self._console.is_terminal and sys.stderr.isatty()

    def __enter__(self) -> "ProgressLine":
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
        elif not self._quiet and time.monotonic() - self._shown_at > PLAIN_SECONDS:
            self._print()
            self._shown_at = time.monotonic()

    def _print(self) -> None:
        line = self.line()
        if line == self._last:
            return
        self._last = line
        with self._without_onlookers():
            self._console.print(line)

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
