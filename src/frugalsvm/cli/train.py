"""``frugalsvm train``: from rows to a model file that can go on learning."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.cli.catalogue import new_estimator
from frugalsvm.cli.choosing import choose, grid_for, usual_gamma
from frugalsvm.cli.data import DataOptions, open_data, peeked, prepared
from frugalsvm.cli.running import Every, Interruption, Progress, learn_stream
from frugalsvm.cli.showing import SHOWN_BAD_LINES, Screen, tell_notes
from frugalsvm.persist.atomic import check_writable
from frugalsvm.pipelines import StreamPipeline

__all__ = ["Outcome", "TrainOptions", "save_training", "train"]


class TrainOptions(NamedTuple):
    """What to train; part of the model file."""

    algorithm: str = "bsgd"
    budget: int | None = 500
    gamma: float | None = None
    strength: float | None = None
    scale: str = "auto"
    passes: int = 1
    classes: tuple | None = None
    calibrate: bool = False
    seed: int = 0


class Outcome(NamedTuple):
    model: Any
    progress: Progress
    n_bad: int
    interrupted_by: int | None
    chosen: dict[str, Any]
    was_finished: bool = False  # there was nothing to resume
    bad_lines: tuple[str, ...] = ()  # the first ones


def train(
    data: DataOptions, options: TrainOptions, output: Path, every: Every, *, resume: bool, quiet: bool
) -> Outcome:
    """Learn a stream and write the model; between batches nothing that was learned can be lost."""
    check_writable(output)
    run = _resumed(output) if resume and (output.exists() or Path(f"{output}.previous").exists()) else None
    progress = Progress(run.counts if run else None)
    if run is not None:
        # As the run was begun, whatever the flags are now; a file may have moved.
        data, options = run.data._replace(source=data.source), run.options
        if run.is_finished:
            return Outcome(run.model, progress, 0, None, run.chosen, was_finished=True)
    first_pass = run.passes_done if run else 0
    model, chosen = (run.model, run.chosen) if run else (None, {})
    opened = open_data(data, start=progress.rows)
    batches: Iterator = iter(opened.batches)
    if model is None:
        head, batches = peeked(opened.batches)
        if not head:
            raise ValueError(f"{data.source} has no rows.")
        model, chosen = _new_model(head, options)
        if not quiet:
            tell_notes(opened.stream)

    has_saved = run is not None

    def save(passes_done, finished):
        nonlocal has_saved
        try:
            save_training(model, output, data, options, progress, chosen, passes_done, finished)
        except OSError as error:
            advice = " Repair that, and `--resume` goes on from there." if has_saved else ""
            raise OSError(error.errno, f"{error.strerror}{advice}") from error
        has_saved = True

    interruption, n_bad, bad_lines = Interruption(), 0, ()
    n_rows = getattr(opened.stream, "n_rows", None)
    with interruption.watched(), Screen(progress, model, n_rows, quiet=quiet) as screen:
        for number in range(first_pass, options.passes):
            if number > first_pass:
                progress.rows = 0
                opened = open_data(data)
                batches = iter(opened.batches)
            learn_stream(
                model,
                batches,
                progress,
                classes=_classes(model, options, chosen),
                test=number == 0,
                every=every,
                checkpoint=partial(save, number, False),
                show=screen.show,
                interruption=interruption,
            )
            n_bad += getattr(opened.stream, "n_bad", 0)
            bad_lines = (*bad_lines, *getattr(opened.stream, "bad_examples", ()))[:SHOWN_BAD_LINES]
            if interruption.signal_number is not None:
                save(number, False)
                return Outcome(model, progress, n_bad, interruption.signal_number, chosen, bad_lines=bad_lines)
        model.flush()
        save(options.passes, True)
    return Outcome(model, progress, n_bad, None, chosen, bad_lines=bad_lines)


def _new_model(head: list, options: TrainOptions) -> tuple[StreamPipeline, dict[str, Any]]:
    """An empty model with parameters chosen on the first rows, unless they were given."""
    first = prepared(head, options.scale)
    grid = grid_for(
        options.algorithm,
        usual_gamma(first.X),
        gamma=options.gamma,
        strength=options.strength,
        budgets=(options.budget,),
    )
    best = grid[0]
    if len(grid) > 1:
        best = choose(options.algorithm, first.X, first.y, grid, options.seed)[0].settings
    scale, labels = first.is_scaled, np.unique(first.y).tolist()
    chosen = {"algorithm": options.algorithm, **best, "scale": scale, "labels": labels}
    estimator = new_estimator(options.algorithm, seed=options.seed, **best)
    return StreamPipeline(estimator, scale=scale, encoder=first.encoder, calibrate=options.calibrate), chosen


def _classes(model: StreamPipeline, options: TrainOptions, chosen: dict[str, Any]) -> Any:
    """Classes that the estimator is told of; one that meets new ones by itself is told nothing."""
    if options.classes is not None:
        return np.array(options.classes)
    return None if getattr(model.estimator, "new_classes", None) == "grow" else np.array(chosen["labels"])


class _Run(NamedTuple):
    model: Any
    counts: dict[str, Any]
    passes_done: int
    chosen: dict[str, Any]
    data: DataOptions
    options: TrainOptions
    is_finished: bool


def _resumed(output: Path) -> _Run:
    from frugalsvm.persist import load_checkpoint

    model, metadata, _ = load_checkpoint(output)
    training = metadata.get("training")
    if training is None:
        raise ValueError(f"{output} was not written by `frugalsvm train`: it cannot be resumed.")
    classes = training["options"]["classes"]
    options = TrainOptions(**{**training["options"], "classes": None if classes is None else tuple(classes)})
    data = DataOptions(**training["data"])
    counts, passes_done, chosen = (training[name] for name in ("counts", "passes_done", "chosen"))
    return _Run(model, counts, passes_done, chosen, data, options, training["finished"])


def save_training(model, output, data, options, progress, chosen, passes_done, finished):
    from frugalsvm.persist import save

    # No times, no dates: a run that was interrupted ends with the same file, byte for byte.
    training = {
        "counts": progress.counts(),
        "passes_done": passes_done,
        "finished": finished,
        "chosen": chosen,
        "data": data._asdict(),
        "options": {**options._asdict(), "classes": None if options.classes is None else list(options.classes)},
        "accuracy_before_learning": progress.accuracy if progress.tested else None,
    }
    # Kernel rows that are kept go on bit for bit; a finished model does without them.
    save(model, output, metadata={"training": training}, caches=not finished, keep_previous=not finished)
