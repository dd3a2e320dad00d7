"""A run over rows as they come: how they are opened, looked at, waited for, and learned until somebody ends it."""

from typing import Any

from frugalsvm.cli.catalogue import CLASSES
from frugalsvm.cli.console import Status
from frugalsvm.cli.options import TrainOptions
from frugalsvm.cli.words.outcome import tell_examined
from frugalsvm.cli.words.progress import ProgressLine
from frugalsvm.pipelines.first_rows import Examined, examine
from frugalsvm.pipelines.interruption import Interruption
from frugalsvm.pipelines.prequential import Progress
from frugalsvm.pipelines.reading import BATCH_ROWS, DataOptions, Opened, name_features, open_data, reading_for
from frugalsvm.streams.pipes import grouped, pipe_for


class StreamRun:
    """What training and tuning on a stream have in common; ``task`` is None where the labels are to decide it."""

    def __init__(self, data: DataOptions, options: TrainOptions, task: str | None = CLASSES, *, quiet: bool):
        self.data, self.options, self.task, self.quiet = data, options, task, quiet
        self.pipe = pipe_for(data.source)
        self.interruption = Interruption(self.pipe)
        self.progress = Progress(None, task or CLASSES)
        self.model: Any = None

    def open(self, start: int = 0) -> Opened:
        """A stream in batches of the usual sizes; a slow pipe gives smaller ones, once parameters are chosen."""
        opened = open_data(self.data, start=start, pipe=self.pipe, **reading_for(self.task, self.data))
        if self.pipe is None or self.data.is_shuffled:
            return opened
        patient = self.options.calibrate  # probabilities are calibrated on whole batches
        return opened._replace(batches=grouped(opened.batches, BATCH_ROWS, hasty_after=None if patient else 2))

    def examined(self) -> Examined:
        """The stream with its first rows looked at; says what was decided by them."""

        def opening(data: DataOptions) -> Opened:
            self.data = data
            opened = self.open()
            return opened._replace(batches=self.interruption.each(opened.batches))

        with Status(self._waiting, quiet=self.quiet or self.pipe is None):
            examined = examine(self.data, opening=opening)
        self.data = examined.data
        tell_examined(examined, quiet=self.quiet)
        return examined

    def _waiting(self) -> str:
        n_lines = 0 if self.pipe is None else self.pipe.n_lines
        return f"Waiting for the first rows of {self.data.name}: {n_lines:,} lines so far ..."

    def progress_line(self, stream: Any, n_passes: int = 1) -> ProgressLine:
        """The line about a model that begins to learn a stream."""
        name_features(self.model, stream)
        return ProgressLine(self.progress, self.model, stream.n_rows, n_passes, quiet=self.quiet)
