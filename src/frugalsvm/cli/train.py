"""``frugalsvm train``: from rows to a model file that can go on learning."""

from collections.abc import Collection, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from frugalsvm.cli.beginning import begin, check_classes, check_size, counts_of, tell_begun, tell_end
from frugalsvm.cli.catalogue import CATALOGUE, new_estimator
from frugalsvm.cli.choosing import can_choose, choose, grid_for, usual_gamma, usual_of
from frugalsvm.cli.data import BATCH_ROWS, DataOptions, Opened, open_data, prepared
from frugalsvm.cli.fingerprint import ChangedDataError, Fingerprint, rows_after, rows_that_are
from frugalsvm.cli.options import Outcome, TrainOptions
from frugalsvm.cli.pipes import grouped, pipe_for
from frugalsvm.cli.resuming import Run, check_same_flags, resumed, save_training
from frugalsvm.cli.running import BLOCK_ROWS, Every, Interruption, Progress, learn_stream
from frugalsvm.cli.showing import SHOWN_BAD_LINES, Screen, Status
from frugalsvm.pipelines import StreamPipeline
from frugalsvm.streams import StreamError

__all__ = ["train"]


def train(
    data: DataOptions,
    options: TrainOptions,
    output: Path,
    every: Every,
    *,
    resume: bool,
    quiet: bool,
    given: Collection[str] = (),
    changed_data: bool = False,
) -> Outcome:
    """Learn a stream and write the model; between batches nothing that was learned can be lost.

    ``given`` are the flags that somebody gave: a run that is resumed must not have been begun with others. With
    ``changed_data`` it goes on although its rows are not those that were learned.
    """
    run = resumed(output) if resume else None
    if run is not None:
        check_same_flags(run, given, data, options)
        # As the run was begun; a file may have moved.
        data, options = run.data._replace(source=data.source), run.options
        if run.is_finished:
            return Outcome(run.model, Progress(run.counts), 0, None, run.chosen, was_finished=True)
    training = _Training(data, options, output, run, quiet=quiet)
    with ExitStack() as stack:
        if training.pipe is not None:  # what it has brought when it is asked to end cannot be read again
            stack.enter_context(training.interruption.watched())
        return training.run(every, stack, checks=not changed_data)


class _Training:
    """A run in progress."""

    def __init__(self, data: DataOptions, options: TrainOptions, output: Path, run: Run | None, *, quiet: bool):
        self.data, self.options, self.output, self.quiet = data, options, output, quiet
        self.begun = run
        self.progress = Progress(run.counts if run else None)
        self.first_pass = run.passes_done if run else 0
        self.model: Any = run.model if run else None
        self.chosen: dict[str, Any] = run.chosen if run else {}
        self.pipe = pipe_for(data.source)
        self.interruption = Interruption(self.pipe)
        self._read: Fingerprint | None = Fingerprint()  # of the first pass; None if it is not known
        self._has_saved = run is not None

    def run(self, every: Every, stack: ExitStack, *, checks: bool) -> Outcome:
        """Learn all passes, or what is left of them, and save."""
        try:
            opened, batches = self._begin(checks)
        except (ChangedDataError, StreamError):
            if self.interruption.signal_number is None:
                raise
            return self._outcome(self.interruption.signal_number)  # the pipe was told to end before it came so far
        if self.pipe is None:
            stack.enter_context(self.interruption.watched())
        screen = Screen(
            self.progress, self.model, getattr(opened.stream, "n_rows", None), self.options.passes, quiet=self.quiet
        )
        n_bad, bad_lines = 0, ()
        with screen:
            for number in range(self.first_pass, self.options.passes):
                if number > self.first_pass:
                    self.progress.rows = 0
                    opened = self._open()
                    batches = self.interruption.each(opened.batches)
                screen.pass_number = number + 1
                self._learn(batches, number, every, screen)
                n_bad += getattr(opened.stream, "n_bad", 0)
                bad_lines = (*bad_lines, *getattr(opened.stream, "bad_examples", ()))[:SHOWN_BAD_LINES]
                if self.interruption.signal_number is not None:
                    self._save(number, False)
                    return self._outcome(self.interruption.signal_number, n_bad, bad_lines)
            self.model.flush()
            self._save(self.options.passes, True)
        tell_end(self.data, opened, self.model, quiet=self.quiet)
        return self._outcome(None, n_bad, bad_lines)._replace(counts=counts_of(opened.stream))

    def _learn(self, batches: Iterator, number: int, every: Every, screen: Screen) -> None:
        learn_stream(
            self.model,
            batches,
            self.progress,
            classes=_classes(self.model, self.options, self.chosen),
            test=number == 0,
            every=every,
            # Probabilities are calibrated on whole batches: parts of them would make others.
            block=BATCH_ROWS if self.options.calibrate else BLOCK_ROWS,
            checkpoint=partial(self._save, number, False),
            show=screen.show,
            learned=self._read.add if number == 0 and self._read is not None else None,
            interruption=self.interruption,
        )

    # --- the first batches ---------------------------------------------------------------------------------

    def _open(self, start: int = 0) -> Opened:
        """A stream in batches of the usual sizes; a slow pipe gives smaller ones, once parameters are chosen."""
        opened = open_data(self.data, start=start, pipe=self.pipe)
        if self.pipe is None or self.data.shuffle_buffer or self.data.shuffle == "yes":
            return opened
        patient = self.options.calibrate  # see `_learn`
        return opened._replace(batches=grouped(opened.batches, BATCH_ROWS, hasty_after=None if patient else 2))

    def _begin(self, checks: bool) -> tuple[Opened, Iterator]:
        """The batches that are to be learned; for a new run, its model as well."""
        if self.begun is not None:
            return self._begin_again(self.begun, checks)
        with Status(self._waiting, quiet=self.quiet or self.pipe is None):
            begun = begin(self.data, opening=self._open_interruptibly)
        self.data = begun.data
        tell_begun(begun, quiet=self.quiet)
        check_size(begun, self.options.algorithm, self.options.budget)
        check_classes(begun, self.options.algorithm, self.options.classes)
        self.model, self.chosen = _new_model(begun.head, self.options, self.data.imputes, quiet=self.quiet)
        return begun.opened, begun.batches

    def _open_interruptibly(self, data: DataOptions) -> Opened:
        self.data = data
        opened = self._open()
        return opened._replace(batches=self.interruption.each(opened.batches))

    def _waiting(self) -> str:
        n_lines = 0 if self.pipe is None else self.pipe.n_lines
        return f"Waiting for the first rows of {self.data.name}: {n_lines:,} lines so far ..."

    def _begin_again(self, run: Run, checks: bool) -> tuple[Opened, Iterator]:
        """Go on where a run was, with the rows that it would have had."""
        rows, known = self.progress.rows, run.fingerprint
        if known is None or not checks:
            self._read = None
            opened = self._open(rows)
            return opened, self.interruption.each(rows_after(opened.batches, rows))
        said = f"Checking that the {known['rows']:,} rows that were learned are the same ..."
        with Status(said, quiet=self.quiet):
            assert self._read is not None
            opened = self._open()
            batches = rows_that_are(iter(opened.batches), known, self._read, self.data.name)
            if run.passes_done:  # then the whole source was learned
                if next(batches, None) is not None:
                    raise ChangedDataError(self.data.name, f"has become longer than its {known['rows']:,} rows")
                opened = self._open(rows)
                batches = rows_after(opened.batches, rows)
            first = next(batches, None)
        return opened, self.interruption.each(chain([] if first is None else [first], batches))

    # --- the end -------------------------------------------------------------------------------------------

    def _save(self, passes_done: int, finished: bool) -> None:
        fingerprint = None if self._read is None else self._read.saved()
        state = (self.model, self.output, self.data, self.options, self.progress, self.chosen)
        try:
            save_training(*state, passes_done, finished, fingerprint)
        except OSError as error:
            advice = " Repair that, and `--resume` goes on from there." if self._has_saved else ""
            raise OSError(error.errno, f"{error.strerror}{advice}") from error
        self._has_saved = True

    def _outcome(self, signal: int | None, n_bad: int = 0, bad_lines: tuple[str, ...] = ()) -> Outcome:
        return Outcome(self.model, self.progress, n_bad, signal, self.chosen, bad_lines=bad_lines)


def _new_model(
    head: list, options: TrainOptions, impute: str | None, *, quiet: bool
) -> tuple[StreamPipeline, dict[str, Any]]:
    """An empty model with parameters chosen on the first rows, unless they were given."""
    first = prepared(head, options.scale, impute)
    grid = grid_for(
        options.algorithm,
        usual_gamma(first.X),
        gamma=options.gamma,
        strength=options.strength,
        budgets=(options.budget,),
    )
    best = usual_of(grid)
    if len(grid) > 1 and can_choose(first.y):
        with Status(_choosing_words(options, len(grid), len(first.y)), quiet=quiet):
            best = choose(options.algorithm, first.X, first.y, grid, options.seed)[0].settings
    scale, labels = first.is_scaled, np.unique(first.y).tolist()
    chosen = {"algorithm": options.algorithm, **best, "scale": scale, "labels": labels}
    estimator = new_estimator(options.algorithm, seed=options.seed, **best)
    model = StreamPipeline(estimator, scale=scale, encoder=first.encoder, calibrate=options.calibrate, impute=impute)
    return model, chosen


def _choosing_words(options: TrainOptions, n_candidates: int, n_rows: int) -> str:
    strength = CATALOGUE[options.algorithm].strength
    names = ["gamma"] if options.gamma is None else []
    names += [strength] if strength and options.strength is None else []
    return f"Choosing {' and '.join(names)}: {n_candidates} candidates on the first {n_rows:,} rows ..."


def _classes(model: StreamPipeline, options: TrainOptions, chosen: dict[str, Any]) -> Any:
    """Classes that the estimator is told of; one that meets new ones by itself is told nothing."""
    if options.classes is not None:
        return np.array(options.classes)
    return None if getattr(model.estimator, "new_classes", None) == "grow" else np.array(chosen["labels"])
