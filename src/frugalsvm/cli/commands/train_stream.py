"""``frugalsvm train`` as it is most often: rows are learned as they come, with checkpoints to resume from."""

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from functools import partial
from itertools import chain
from typing import Any

from frugalsvm.cli.catalogue import CLASSES, FOR_NUMBERS, NUMBERS, task_for
from frugalsvm.cli.commands.new_model import classes_for, new_model, with_own_choices
from frugalsvm.cli.console import Status, tell
from frugalsvm.cli.io.checks import check_classes, check_numbers, check_size
from frugalsvm.cli.io.saved_run import SavedRun, check_same_flags, load_run, save_run
from frugalsvm.cli.io.stream_run import StreamRun
from frugalsvm.cli.options import Request
from frugalsvm.cli.words.outcome import SHOWN_BAD_LINES, Outcome, counts_of, tell_end, tell_first_labels, tell_labels
from frugalsvm.core.lookahead import BLOCK_ROWS
from frugalsvm.estimators.constraints import parsed_seconds
from frugalsvm.pipelines.first_rows import Examined, with_label_column
from frugalsvm.pipelines.label_task import task_of
from frugalsvm.pipelines.prequential import CheckpointSchedule, Progress, learn_stream
from frugalsvm.pipelines.quantiles import QUANTILE_ROWS, held_quantiles
from frugalsvm.pipelines.reading import BATCH_ROWS, Opened, of_classes_only
from frugalsvm.pipelines.surprises import Surprises
from frugalsvm.streams import StreamError
from frugalsvm.streams.batch import RowSampler, rows_after
from frugalsvm.streams.fingerprint import ChangedDataError, Fingerprint, rows_that_are

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


def train_stream(request: Request) -> Outcome:
    """Learn a stream and write the model; between batches nothing that was learned can be lost."""
    data, options = request.data, request.options
    if options.forgets and data.shuffle == "auto":
        data = data._replace(shuffle="no")  # the order of rows is what a model that forgets learns from
    every = checkpoint_schedule(request.flags["checkpoint_every"])
    run = load_run(request.output) if request.flags["resume"] else None
    if run is None and request.flags["resume"]:
        what = "training begins at the first example, with the flags that are given now"
        tell(f"note: there is no {request.output} to resume: {what}")
    if run is not None:
        check_same_flags(run, request.given, data, options)
        # As the run was begun; a file may have moved.
        data, options = run.data._replace(source=data.source), run.options
        if run.is_finished:
            progress = Progress(run.counts, task_for(options.algorithm))
            return Outcome(request.output, progress.rows, run.chosen, progress.figures(), was_finished=True)
    running = _Run(request._replace(data=data, options=options), run, every)
    with ExitStack() as stack:
        if running.pipe is not None:  # what it has brought when it is asked to end cannot be read again
            stack.enter_context(running.interruption.watched())
        return running.learn(stack)


class _Run(StreamRun):
    """A run in progress; ``saved`` is what it resumes."""

    def __init__(self, request: Request, saved: SavedRun | None, every: CheckpointSchedule):
        options = request.options
        task = None if request.decides and saved is None else task_for(options.algorithm)
        super().__init__(request.data, options, task, quiet=request.quiet)
        self.output, self.every, self.saved = request.output, every, saved
        self.chosen: dict[str, Any] = {}
        if saved is not None:
            self.progress, self.model, self.chosen = Progress(saved.counts, task or CLASSES), saved.model, saved.chosen
        self._checks = not request.flags["changed_data"]
        learns_quantiles = options.quantile is not None or options.loss == "pinball"
        self._sampler = RowSampler(QUANTILE_ROWS, options.seed) if learns_quantiles else None
        # Of the first pass; None if it is not known
        self._read: Fingerprint | None = Fingerprint(None if self._sampler is None else self._sampler.add)
        self._has_saved = saved is not None
        self._surprises = Surprises()  # categories that came too late to be learned

    def learn(self, stack: ExitStack) -> Outcome:
        """Learn all passes, or what is left of them, and save."""
        try:
            opened, batches = self._new() if self.saved is None else self._resumed(self.saved)
        except (ChangedDataError, StreamError) as error:
            if self.interruption.signal_number is not None:
                return self._outcome()  # the pipe was asked to end before it came so far
            if isinstance(error, StreamError):
                raise
            raise ValueError(f"{error}, and --resume continues where it stopped: {_IF_CHANGED}.") from error
        if self.pipe is None:
            stack.enter_context(self.interruption.watched())
        n_bad, bad_lines = 0, ()
        first_pass = 0 if self.saved is None else self.saved.passes_done
        with self.progress_line(opened.stream, self.options.passes) as line:
            for number in range(first_pass, self.options.passes):
                if number > first_pass:
                    self.progress.rows = 0
                    opened = self.open()
                    batches = self.interruption.each(opened.batches)
                line.pass_number = number + 1
                self._learn_pass(batches, number, line.show)
                n_bad += opened.stream.n_bad
                bad_lines = (*bad_lines, *opened.stream.bad_examples)[:SHOWN_BAD_LINES]
                if self.interruption.signal_number is not None:
                    self._save(number, False)
                    return self._outcome(n_bad, bad_lines)
            self.model.flush()
            if self._sampler is not None and self._sampler.n_rows:
                self.progress.quantiles = held_quantiles(self.model, self._sampler.sample().rows)
            self._save(self.options.passes, True)
        tell_end(self.data, opened, self.model, quiet=self.quiet)
        for sentence in self._surprises.sentences("the first rows, from which categories are taken"):
            tell(f"warning: {sentence}: it counts as none of the known ones")
        return self._outcome(n_bad, bad_lines)._replace(counts=counts_of(opened.stream), interrupted_by=None)

    def _learn_pass(self, batches: Iterator, number: int, show: Any) -> None:
        is_first = number == 0
        in_turn = self.options.prequential and is_first
        learn_stream(
            self.model,
            self._noted(batches) if is_first else batches,
            self.progress,
            classes=classes_for(self.model, self.options, self.chosen),
            test=is_first,
            in_turn=in_turn,
            every=self.every,
            # Probabilities are calibrated on whole batches: parts of them would make others.
            block=BATCH_ROWS if self.options.calibrate and not in_turn else BLOCK_ROWS,
            checkpoint=partial(self._save, number, False),
            show=show,
            learned=self._read.add if is_first and self._read is not None else None,
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

    def _new(self) -> tuple[Opened, Iterator]:
        """The batches that are to be learned, and a new model for them."""
        examined, is_guess = self.examined(), self.task is None
        batches = self._decided(examined) if is_guess else examined.batches
        algorithm, data, stream = self.options.algorithm, self.data, examined.opened.stream
        check_size(examined, algorithm, self.options.budget)
        if self.task == CLASSES:
            check_classes(examined, algorithm, self.options.classes)
        elif self.task == NUMBERS:
            check_numbers(examined)
        if self.task in (CLASSES, NUMBERS):
            tell_first_labels(examined, algorithm, is_guess=is_guess, quiet=self.quiet)
        else:
            tell_labels(examined)
            self.data = with_label_column(data)
        # Rows that come once, in an order that may tell something: from a pipe, or to be predicted in turn
        is_once = self.options.prequential or not stream.reopenable
        is_stream = is_once and not data.is_shuffled and self.options.passes == 1
        self.model, self.chosen = new_model(
            examined.first, self.options, data.imputes, is_stream=is_stream, quiet=self.quiet
        )
        return examined.opened, batches

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

    def _resumed(self, saved: SavedRun) -> tuple[Opened, Iterator]:
        """Continue where a run was, with the rows that it would have had."""
        rows, known = self.progress.rows, saved.fingerprint
        if known is None or not self._checks:
            self._read = None
            opened = self.open(rows)
            return opened, self.interruption.each(rows_after(opened.batches, rows))
        said = f"Checking that the {known['rows']:,} rows that were learned are the same ..."
        with Status(said, quiet=self.quiet):
            assert self._read is not None
            opened = self.open()
            batches = rows_that_are(iter(opened.batches), known, self._read, self.data.name)
            if saved.passes_done:  # then the whole source was learned
                if next(batches, None) is not None:
                    raise ChangedDataError(self.data.name, f"has become longer than its {known['rows']:,} rows")
                opened = self.open(rows)
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

    def _outcome(self, n_bad: int = 0, bad_lines: tuple[str, ...] = ()) -> Outcome:
        return Outcome(
            self.output,
            self.progress.rows,
            self.chosen,
            self.progress.figures(),
            n_bad,
            bad_lines,
            interrupted_by=self.interruption.signal_number,
            was_saved=self.model is not None,
        )
