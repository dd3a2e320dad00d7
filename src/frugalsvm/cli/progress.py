"""How far training has come, and the line that shows it: live in a terminal, plain elsewhere."""

import math
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from rich.live import Live
from rich.text import Text

from frugalsvm.cli.catalogue import CLASSES, NOVELTIES, NUMBERS
from frugalsvm.cli.console import PLAIN_SECONDS, Onlookers, silenced
from frugalsvm.estimators.progress import CERTIFICATES
from frugalsvm.metrics.windows import RecentMean, added
from frugalsvm.words import percent

__all__ = ["FIGURES", "Figure", "Progress", "ProgressLine"]


class Figure(NamedTuple):
    """What a stream tells about a model before it is done: the mean of something that is counted for each row."""

    name: str
    count: str  # the name that the sum of it has in checkpoints
    words: str
    counted: Callable[[np.ndarray, np.ndarray], np.ndarray]  # from predictions and labels
    of_mean: Callable[[float], float] = float
    show: Callable[[float], str] = percent


FIGURES = {
    CLASSES: Figure("accuracy", "right", "accuracy", lambda predicted, labels: predicted == labels),
    NOVELTIES: Figure("alarms", "alarms", "alarms", lambda predicted, labels: predicted == -1),
    NUMBERS: Figure(
        "rmse",
        "squares",
        "error (RMSE)",
        lambda predicted, labels: np.square(predicted - labels),
        math.sqrt,
        "{:.4g}".format,
    ),
}


class Progress:
    """What has been learned so far, of a task of the catalogue; counts survive in checkpoints."""

    def __init__(self, counts: dict[str, Any] | None = None, task: str = CLASSES):
        counts = counts or {}
        self._figure = FIGURES[task]
        self.rows: int = counts.get("rows", 0)  # examples read, in this pass
        self.total: int = counts.get("total", self.rows)  # examples learned, in all passes
        self.seen: int = counts.get("seen", self.rows)  # rows of the first pass that were predicted, if they could be
        self.tested: int = counts.get("tested", 0)  # predicted before they were learned
        self._sum = counts.get(self._figure.count, 0.0 if task == NUMBERS else 0)  # of what is counted of each row
        self._recent = RecentMean(counts.get("recent", ()))  # of the same
        self.quantiles: dict[str, Any] = {}  # of a finished run: which shares of rows are below them
        self.saved: int = self.total  # examples in the last checkpoint
        self.seconds: float = 0.0  # of learning, since this process began
        self.learned: int = 0  # examples, since this process began

    @property
    def speed(self) -> float:
        """Examples per second."""
        return self.learned / self.seconds if self.seconds else float("nan")

    def take(self, predicted: np.ndarray, labels: np.ndarray) -> None:
        """Take in what was predicted of rows before they are learned; several quantiles are no errors to add up."""
        if predicted.ndim > 1:
            return
        self.tested += len(predicted)
        counted = self._figure.counted(predicted, labels)
        self._sum = type(self._sum)(added(self._sum, counted))
        self._recent.add(counted)

    def figures(self) -> dict[str, Any]:
        """What a stream tells about the model before it is done: since the beginning, and of the last rows."""
        name, of_mean = self._figure.name, self._figure.of_mean
        value = of_mean(self._sum / self.tested) if self.tested else None
        figures: dict[str, Any] = {f"{name}_before_learning": value, **self.quantiles}
        if self._recent.n_rows:
            figures |= {f"recent_{name}": of_mean(self._recent.mean), "recent_rows": self._recent.n_rows}
        return figures

    @property
    def words(self) -> str:
        """The same for people, once rows were predicted."""
        name, told = self._figure.name, self.figures()
        words = f"{self._figure.words} so far {self._figure.show(told[f'{name}_before_learning'])}"
        if told["recent_rows"] == self.tested:
            return words
        return f"{words} (last {told['recent_rows']:,}: {self._figure.show(told[f'recent_{name}'])})"

    def counts(self) -> dict[str, Any]:
        counts = {name: getattr(self, name) for name in ("rows", "total", "seen", "tested")}
        return {**counts, self._figure.count: self._sum, "recent": self._recent.saved()}


class ProgressLine:
    """Shows progress on standard error, so that standard output stays for results.

    A terminal that is closed, or a pipe that nobody reads, ends the show and not the training.
    """

    def __init__(self, progress: Progress, model: Any, n_rows: int | None, n_passes: int = 1, *, quiet: bool = False):
        self._progress, self._model, self._n_rows, self._quiet = progress, model, n_rows, quiet
        self._n_passes, self.pass_number = n_passes, 1
        self._last = ""  # the line that was shown last
        self._console = Onlookers()
        is_live = not quiet and self._console.is_terminal and sys.stderr.isatty()
        self._live = Live(console=self._console, refresh_per_second=8) if is_live else None
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
        with self._without_onlookers():
            if self._live is not None:
                self._live.update(Text(line, overflow="fold"))
            elif line != self._last:
                self._console.print(line)
        self._last = line

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
