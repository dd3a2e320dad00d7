"""``frugalsvm train`` as it is most often: rows are learned as they come, with checkpoints to resume from."""

from collections.abc import Collection, Iterator
from contextlib import ExitStack, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from frugalsvm.cli.catalogue import CLASSES, FOR_NUMBERS, NUMBERS, task_for
from frugalsvm.cli.commands.new_model import classes_for, new_model, with_own_choices
from frugalsvm.cli.console import Status, tell
from frugalsvm.cli.data import BATCH_ROWS, Opened, name_features, of_classes_only, open_data, reading_for
from frugalsvm.cli.io.first_rows import (
    Examined,
    check_classes,
    check_numbers,
    check_size,
    examine,
    tell_labels,
    tell_task,
    with_label_column,
)
from frugalsvm.cli.io.interruption import Interruption
from frugalsvm.cli.io.quantiles import held_quantiles, sampler_for
from frugalsvm.cli.io.saved_run import SavedRun, check_same_flags, load_run, save_run
from frugalsvm.cli.options import DataOptions, TrainOptions
from frugalsvm.cli.words.data_report import SHOWN_BAD_LINES, counts_of, tell_end
from frugalsvm.cli.words.outcome import Outcome
from frugalsvm.cli.words.progress import ProgressLine
from frugalsvm.cli.words.task import task_of
from frugalsvm.core.lookahead import BLOCK_ROWS
from frugalsvm.durations import parsed_seconds
from frugalsvm.pipelines.prequential import CheckpointSchedule, Progress, learn_stream
from frugalsvm.pipelines.surprises import Surprises
from frugalsvm.streams import StreamError
from frugalsvm.streams.batch import rows_after
from frugalsvm.streams.fingerprint import ChangedDataError, Fingerprint, rows_that_are
from frugalsvm.streams.pipes import grouped, pipe_for

__all__ = ["checkpoint_schedule", "train_stream"]

_IF_CHANGED = (
    "restore it, begin again without --resume, or say --changed-data to continue from the same row with the rows as "
    "they are now"
)


def checkpoint_schedule(text: str | None) -> CheckpointSchedule:
    """How often checkpoints are written, from ``100000`` (examples), ``30s`` or ``5m``."""
    found = CheckpointSchedule()
    if text is None:
        return found
    with suppress(ValueError, OverflowError):
        is_time = text[-1:].isalpha()
        number = parsed_seconds("", text) if is_time else int(float(text))
        found = CheckpointSchedule(seconds=number) if is_time else CheckpointSchedule(rows=int(number or 0))
    if not (found.rows or 0) > 0 and not (found.seconds or 0) > 0:  # neither is a number above 0
        expected = "give a number of examples, such as 100000, or a time: 30s, 5m, 2h"
        raise ValueError(f"--checkpoint-every {text}: {expected}.")
    return found


def train_stream(
    data: DataOptions,
    options: TrainOptions,
    output: Path,
    every: CheckpointSchedule,
    *,
    resume: bool,
    quiet: bool,
    given: Collection[str] = (),
    changed_data: bool = False,
    decides: bool = False,
) -> Outcome:
    """Learn a stream and write the model; between batches nothing that was learned can be lost.

    ``given`` are the flags that somebody gave: a run that is resumed must not have been begun with others. With
    ``changed_data`` it goes on although its rows are not those that were learned. With ``decides``, nobody has said
    what is to be learned: the first labels decide between the algorithm, for classes, and its twin for numbers.
    """
    run = load_run(output) if resume else None
    if run is not None:
        check_same_flags(run, given, data, options)
        # As the run was begun; a file may have moved.
        data, options = run.data._replace(source=data.source), run.options
        if run.is_finished:
            progress = Progress(run.counts, task_for(options.algorithm))
            return Outcome(output, progress.rows, run.chosen, progress.figures(), was_finished=True)
    running = _Run(data, options, output, run, decides=decides, quiet=quiet)
    with ExitStack() as stack:
        if running.pipe is not None:  # what it has brought when it is asked to end cannot be read again
            stack.enter_context(running.interruption.watched())
        return running.learn(every, stack, checks=not changed_data)


class _Run:
    """A run in progress; ``saved`` is what it resumes."""

    def __init__(
        self,
        data: DataOptions,
        options: TrainOptions,
        output: Path,
        saved: SavedRun | None,
        *,
        decides: bool = False,
        quiet: bool,
    ):
        self.data, self.options, self.output, self.quiet = data, options, output, quiet
        self.saved = saved
        self.task = None if decides and saved is None else task_for(options.algorithm)
        self.progress = Progress(saved.counts if saved else None, self.task or CLASSES)
        self.first_pass = saved.passes_done if saved else 0
        self.model: Any = saved.model if saved else None
        self.chosen: dict[str, Any] = saved.chosen if saved else {}
        self.pipe = pipe_for(data.source)
        self.interruption = Interruption(self.pipe)
        self._sampler = sampler_for(options)
        # Of the first pass; None if it is not known
        self._read: Fingerprint | None = Fingerprint(None if self._sampler is None else self._sampler.add)
        self._has_saved = saved is not None
        self._surprises = Surprises()  # categories that came too late to be learned

    def learn(self, every: CheckpointSchedule, stack: ExitStack, *, checks: bool) -> Outcome:
        """Learn all passes, or what is left of them, and save."""
        try:
            opened, batches = self._begin(checks)
        except (ChangedDataError, StreamError) as error:
            if self.interruption.signal_number is not None:
                return self._outcome(self.interruption.signal_number)  # the pipe was told to end before it came so far
            if isinstance(error, StreamError):
                raise
            raise ValueError(f"{error}, and --resume continues where it stopped: {_IF_CHANGED}.") from error
        if self.pipe is None:
            stack.enter_context(self.interruption.watched())
        name_features(self.model, opened.stream)
        n_rows = getattr(opened.stream, "n_rows", None)
        line = ProgressLine(self.progress, self.model, n_rows, self.options.passes, quiet=self.quiet)
        n_bad, bad_lines = 0, ()
        with line:
            for number in range(self.first_pass, self.options.passes):
                if number > self.first_pass:
                    self.progress.rows = 0
                    opened = self._open()
                    batches = self.interruption.each(opened.batches)
                line.pass_number = number + 1
                self._learn_pass(batches, number, every, line)
                n_bad += getattr(opened.stream, "n_bad", 0)
                bad_lines = (*bad_lines, *getattr(opened.stream, "bad_examples", ()))[:SHOWN_BAD_LINES]
                if self.interruption.signal_number is not None:
                    self._save(number, False)
                    return self._outcome(self.interruption.signal_number, n_bad, bad_lines)
            self.model.flush()
            if self._sampler is not None and self._sampler.n_rows:
                self.progress.quantiles = held_quantiles(self.model, self._sampler)
            self._save(self.options.passes, True)
        tell_end(self.data, opened, self.model, quiet=self.quiet)
        for sentence in self._surprises.sentences("the first rows, from which categories are taken"):
            tell(f"warning: {sentence}: it counts as none of the known ones")
        return self._outcome(None, n_bad, bad_lines)._replace(counts=counts_of(opened.stream))

    def _learn_pass(self, batches: Iterator, number: int, every: CheckpointSchedule, line: ProgressLine) -> None:
        in_turn = self.options.prequential and number == 0
        if number == 0:
            batches = self._noted(batches)
        learn_stream(
            self.model,
            batches,
            self.progress,
            classes=classes_for(self.model, self.options, self.chosen),
            test=number == 0,
            in_turn=in_turn,
            every=every,
            # Probabilities are calibrated on whole batches: parts of them would make others.
            block=BATCH_ROWS if self.options.calibrate and not in_turn else BLOCK_ROWS,
            checkpoint=partial(self._save, number, False),
            show=line.show,
            learned=self._read.add if number == 0 and self._read is not None else None,
            interruption=self.interruption,
        )

    def _noted(self, batches: Iterator) -> Iterator:
        """The batches, with a count of the categories that the encoder of the model does not know."""
        for batch in batches:
            encoder, found = getattr(self.model, "encoder_", None), Surprises()
            if encoder is not None:
                found.n_rows = batch.n_rows
                encoder.note_surprises(batch.columns, found)
                found.missing.clear()
                self._surprises.add(found)
            yield batch

    # --- the first batches ---------------------------------------------------------------------------------

    def _open(self, start: int = 0) -> Opened:
        """A stream in batches of the usual sizes; a slow pipe gives smaller ones, once parameters are chosen."""
        opened = open_data(self.data, start=start, pipe=self.pipe, **reading_for(self.task, self.data))
        if self.pipe is None or self.data.is_shuffled:
            return opened
        patient = self.options.calibrate  # see `_learn_pass`
        return opened._replace(batches=grouped(opened.batches, BATCH_ROWS, hasty_after=None if patient else 2))

    def _begin(self, checks: bool) -> tuple[Opened, Iterator]:
        """The batches that are to be learned; for a new run, its model as well."""
        if self.saved is not None:
            return self._resume(self.saved, checks)
        with Status(self._waiting, quiet=self.quiet or self.pipe is None):
            examined = examine(self.data, opening=self._open_interruptibly)
        self.data = examined.data
        examined.tell(quiet=self.quiet)
        is_guess = self.task is None
        batches = self._decided(examined) if is_guess else examined.batches
        check_size(examined, self.options.algorithm, self.options.budget)
        if self.task == CLASSES:
            check_classes(examined, self.options.algorithm, self.options.classes)
        elif self.task == NUMBERS:
            check_numbers(examined)
        if self.task in (CLASSES, NUMBERS):
            tell_task(examined, self.options.algorithm, is_guess=is_guess, quiet=self.quiet)
        else:
            tell_labels(examined)
            self.data = with_label_column(self.data)
        self.model, self.chosen = new_model(
            examined.first, self.options, self.data.imputes, is_stream=self._is_stream(examined), quiet=self.quiet
        )
        return examined.opened, batches

    def _is_stream(self, examined: Examined) -> bool:
        """Whether rows come once, in an order that may tell something: from a pipe, or to be predicted in turn."""
        once = self.options.prequential or not examined.opened.stream.reopenable
        return once and not self.data.is_shuffled and self.options.passes == 1

    def _decided(self, examined: Examined) -> Iterator:
        """Decide by the first labels what is learned; returns the batches, in which it must stay so."""
        opened = examined.opened
        self.task = CLASSES if task_of(examined.labels).classifies else NUMBERS
        opened.order.settle(of_numbers=self.task == NUMBERS)
        if self.task == CLASSES:
            return of_classes_only(examined.batches, opened.stream, numbered=not self.data.is_shuffled)
        self.options = self.options._replace(algorithm=FOR_NUMBERS[self.options.algorithm])
        self.progress = Progress(None, NUMBERS)
        return examined.batches

    def _open_interruptibly(self, data: DataOptions) -> Opened:
        self.data = data
        opened = self._open()
        return opened._replace(batches=self.interruption.each(opened.batches))

    def _waiting(self) -> str:
        n_lines = 0 if self.pipe is None else self.pipe.n_lines
        return f"Waiting for the first rows of {self.data.name}: {n_lines:,} lines so far ..."

    def _resume(self, saved: SavedRun, checks: bool) -> tuple[Opened, Iterator]:
        """Continue where a run was, with the rows that it would have had."""
        rows, known = self.progress.rows, saved.fingerprint
        if known is None or not checks:
            self._read = None
            opened = self._open(rows)
            return opened, self.interruption.each(rows_after(opened.batches, rows))
        said = f"Checking that the {known['rows']:,} rows that were learned are the same ..."
        with Status(said, quiet=self.quiet):
            assert self._read is not None
            opened = self._open()
            batches = rows_that_are(iter(opened.batches), known, self._read, self.data.name)
            if saved.passes_done:  # then the whole source was learned
                if next(batches, None) is not None:
                    raise ChangedDataError(self.data.name, f"has become longer than its {known['rows']:,} rows")
                opened = self._open(rows)
                batches = rows_after(opened.batches, rows)
            first = next(batches, None)
        return opened, self.interruption.each(chain([] if first is None else [first], batches))

    # --- the end -------------------------------------------------------------------------------------------

    def _save(self, passes_done: int, finished: bool) -> None:
        fingerprint = None if self._read is None else self._read.saved()
        self.chosen = with_own_choices(self.chosen, self.model)
        state = (self.model, self.output, self.data, self.options, self.progress, self.chosen)
        try:
            save_run(*state, passes_done, finished, fingerprint)
        except OSError as error:
            advice = " Repair that, and `--resume` continues from there." if self._has_saved else ""
            raise OSError(error.errno, f"{error.strerror}{advice}") from error
        self._has_saved = True

    def _outcome(self, signal: int | None, n_bad: int = 0, bad_lines: tuple[str, ...] = ()) -> Outcome:
        return Outcome(
            self.output,
            self.progress.rows,
            self.chosen,
            self.progress.figures(),
            n_bad,
            bad_lines,
            interrupted_by=signal,
            was_saved=self.model is not None,
        )
