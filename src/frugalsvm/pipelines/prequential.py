"""Test, then train: a stream is predicted before it is learned, with counts and checkpoints to resume from."""

import math
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalsvm.core.lookahead import BLOCK_ROWS
from frugalsvm.metrics.windows import RecentMean, added
from frugalsvm.streams.batch import Batch, labels_of, rows_between, rows_of
from frugalsvm.words import CLASSES, NOVELTIES, NUMBERS, percent


class Figure(NamedTuple):
    """What a stream tells about a model before it is done: the mean of something that is counted for each row."""

    name: str
    total: str  # the name that the sum of it has in checkpoints
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
        self._sum = counts.get(self._figure.total, 0.0 if task == NUMBERS else 0)  # of what is counted of each row
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
        name, figures = self._figure.name, self.figures()
        words = f"{self._figure.words} so far {self._figure.show(figures[f'{name}_before_learning'])}"
        if figures["recent_rows"] == self.tested:
            return words
        return f"{words} (last {figures['recent_rows']:,}: {self._figure.show(figures[f'recent_{name}'])})"

    def counts(self) -> dict[str, Any]:
        counts = {name: getattr(self, name) for name in ("rows", "total", "seen", "tested")}
        return {**counts, self._figure.total: self._sum, "recent": self._recent.saved()}


class CheckpointSchedule(NamedTuple):
    """How often a checkpoint is written: after a number of examples, or of seconds."""

    rows: int | None = None
    seconds: float | None = None

    def due_row(self, progress: Progress, block: int) -> int:
        """The row at whose end a checkpoint is due by number: the first end of a block there or after it."""
        assert self.rows is not None
        n_lacking = (progress.saved // self.rows + 1) * self.rows - progress.total
        return -(-(progress.rows + max(n_lacking, 1)) // block) * block


def learn_stream(
    model: Any,
    batches: Iterable,
    progress: Progress,
    *,
    classes: Any = None,
    test: bool = True,
    in_turn: bool = False,
    every: CheckpointSchedule = CheckpointSchedule(),  # noqa: B008 - it is immutable
    block: int = BLOCK_ROWS,
    checkpoint: Callable[[], None] | None = None,
    show: Callable[[], None] | None = None,
    learned: Callable[[Any], None] | None = None,
    interruption: Any = None,
) -> None:
    """Learn all batches, each after predicting it; ``learned`` is called with the rows of each part of a batch.

    After a batch at which ``ends_now`` of ``interruption`` (an `Interruption`) is true, nothing more is learned.

    With ``in_turn`` each row is predicted after all rows before it were learned, which takes longer; the first ones are
    learned at once.

    Parts end where a checkpoint is due, at multiples of ``block``, so that the model is the same without checkpoints:
    it does not depend on where batches end if that is at the end of a block of the look-ahead engine.
    """
    saved_at = time.monotonic()
    # Where a pipeline ends its warm-up is no end of a block: every run begins a part with the first one after it.
    first_part = block if in_turn else -(-getattr(model, "n_warmup", 0) // block) * block
    for batch in batches:
        start = time.perf_counter()
        if test and not in_turn:
            _test(model, batch, progress)
        while progress.rows < batch.end:
            end = first_part if progress.rows < first_part else batch.end
            if every.rows is not None and checkpoint is not None:
                end = min(end, every.due_row(progress, block))
            part = rows_between(batch, progress.rows - batch.start, min(end, batch.end) - batch.start)
            if in_turn and progress.rows:
                progress.take(learned_in_turn(model, part), labels_of(part))
            else:
                model.partial_fit(rows_of(part), labels_of(part), classes=classes, sample_weight=part.weights)
            progress.rows = part.end
            progress.total += part.n_rows
            progress.learned += part.n_rows
            if learned is not None:
                learned(part)
            if checkpoint is not None and _is_due(every, progress, block, batch.end, time.monotonic() - saved_at):
                progress.seconds += time.perf_counter() - start
                checkpoint()
                start, saved_at = time.perf_counter(), time.monotonic()
        progress.seconds += time.perf_counter() - start
        if show is not None:
            show()
        if interruption is not None and interruption.ends_now:
            return


def _test(model: Any, batch: Any, progress: Progress) -> None:
    """Predict a batch, unless that was done before the run was interrupted in the middle of it."""
    rows = rows_between(batch, max(progress.seen - batch.start, 0), batch.n_rows)
    if rows.n_rows and progress.rows:
        progress.take(model.predict(rows_of(rows)), labels_of(rows))
    progress.seen = max(progress.seen, batch.end)


def _is_due(every: CheckpointSchedule, progress: Progress, block: int, batch_end: int, seconds: float) -> bool:
    """Whether a checkpoint is due at the end of a part; batches end at blocks, except for the last of a pass."""
    if every.rows is not None:
        at_block = progress.rows % block == 0 or progress.rows == batch_end
        return at_block and progress.total // every.rows > progress.saved // every.rows
    return every.seconds is not None and progress.rows == batch_end and seconds >= every.seconds


def learned_in_turn(model: Any, batch: Batch) -> NDArray:
    """Predictions of rows, each made before its row is learned, by a model that has begun to learn.

    Sparse rows, rows with text and rows with weights have no fast way one by one: they are taken 64 at a time.
    """
    plain = isinstance(batch.X, np.ndarray) and batch.columns is None and batch.weights is None
    return _row_by_row(model, batch) if plain and hasattr(model, "learn_one_row") else _by_blocks(model, batch)


def _row_by_row(model: Any, batch: Batch) -> NDArray:
    predicted = []
    for x, label in zip(batch.X, labels_of(batch), strict=True):
        predicted.append(model.predict_one_row(x))
        model.learn_one_row(x, label)
    return np.array(predicted)


def _by_blocks(model: Any, batch: Batch) -> NDArray:
    predicted = []
    for start in range(0, batch.n_rows, BLOCK_ROWS):
        block = rows_between(batch, start, min(start + BLOCK_ROWS, batch.n_rows))
        predicted.append(model.predict(rows_of(block)))
        model.partial_fit(rows_of(block), labels_of(block), sample_weight=block.weights)
    return np.concatenate(predicted)
