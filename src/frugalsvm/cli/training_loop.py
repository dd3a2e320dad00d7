"""The training loop: test, then learn, batch after batch; and when checkpoints are due."""

import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from frugalsvm.cli.data import labels_of, rows_of
from frugalsvm.cli.in_turn import learned_in_turn
from frugalsvm.cli.interruption import Interruption
from frugalsvm.cli.progress import Progress
from frugalsvm.core.lookahead import BLOCK_ROWS
from frugalsvm.durations import parsed_seconds
from frugalsvm.streams.batch import rows_between

__all__ = ["CheckpointSchedule", "learn_stream"]


class CheckpointSchedule(NamedTuple):
    """How often a checkpoint is written: after a number of examples, or of seconds."""

    rows: int | None = None
    seconds: float | None = None

    @classmethod
    def parsed(cls, text: str | None) -> "CheckpointSchedule":
        """From ``100000`` (examples), ``30s`` or ``5m``."""
        if text is None:
            return cls()
        try:
            is_time = text[-1:].isalpha()
            found = cls(seconds=parsed_seconds("", text)) if is_time else cls(rows=int(float(text)))
        except (ValueError, OverflowError):
            found = cls()
        if not (found.rows or 0) > 0 and not (found.seconds or 0) > 0:  # neither is a number above 0
            raise ValueError(
                f"--checkpoint-every {text}: give a number of examples, such as 100000, or a time: 30s, 5m, 2h."
            )
        return found

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
    interruption: Interruption | None = None,
) -> None:
    """Learn all batches, each after predicting it; ``learned`` is called with the rows of each part of a batch.

    With ``in_turn`` each row is predicted after all rows before it were learned, which takes longer; the first ones are
    learned at once.

    Parts end where a checkpoint is due, at multiples of ``block``, so that the model is the same without checkpoints:
    it does not depend on where batches end if that is at the end of a block of the look-ahead engine.
    """
    saved_at = time.monotonic()
    first_part = block if in_turn else _after_warm_up(model, block)
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


def _after_warm_up(model: Any, block: int) -> int:
    """The first row that every run begins a part with: where a pipeline ends its warm-up is no end of a block."""
    return -(-getattr(model, "n_warmup", 0) // block) * block


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
