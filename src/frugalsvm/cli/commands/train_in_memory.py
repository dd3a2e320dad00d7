"""``frugalsvm train --device`` or ``-a local``: all rows at once, by the batch solver of ASSET or in cells.

A stream is learned one example after the other, which is for the CPU. A device needs all rows: they are read into
memory, from a file or a pipe, and there is nothing to save, or to resume from, before the end.
"""

import time
from functools import partial
from typing import Any

from frugalsvm.arrays.namespace import arrays_on
from frugalsvm.cli.catalogue import CATALOGUE, CLASSES, NUMBERS, new_estimator, task_for
from frugalsvm.cli.console import Status, tell
from frugalsvm.cli.errors import leaving_as_it_was
from frugalsvm.cli.io.saved_run import save_run
from frugalsvm.cli.options import Request, TrainOptions
from frugalsvm.cli.words.outcome import Outcome, tell_end, tell_examined, tell_first_labels
from frugalsvm.pipelines import StreamPipeline
from frugalsvm.pipelines.first_rows import examine, prepared
from frugalsvm.pipelines.prequential import Progress
from frugalsvm.pipelines.reading import open_data
from frugalsvm.streams.batch import joined_rows, labels_of, read_rows

_PATH = [0.1, 1.0, 10.0, 100.0]  # values of C, if none is given: validation rows of all rows tell the best
_FIRST_BATCHES = 2  # that tell whether to scale
_MEMORY_SHARE = 0.4  # of the memory of the machine that rows may take: they are copied once


def train_in_memory(request: Request) -> Outcome:
    """Read all rows, solve, and write the model, which predicts on any machine."""
    device, options, quiet = request.flags["device"] or "cpu", request.options, request.quiet
    task = task_for(options.algorithm)
    with leaving_as_it_was(request.output):
        arrays_on(device)  # says what is missing before anything is read
        # The ids by which `forget` takes rows out of a model in cells are their places in the file.
        wanted = request.data if CATALOGUE[options.algorithm].streams else request.data._replace(shuffle="no")
        examined = examine(wanted, opening=partial(open_data, of_numbers=task == NUMBERS))
        examined.opened.order.is_reported = True  # all rows are learned at once, in any order
        data, stream = examined.data, examined.opened.stream
        tell_examined(examined, quiet=quiet)
        tell_first_labels(examined, options.algorithm, quiet=quiet)
        batches = _read(examined.batches, examined.name)
        progress = Progress(task=task)
        progress.rows = progress.learned = sum(batch.n_rows for batch in batches)
        started = time.perf_counter()
        model, chosen = fit_in_memory(batches, options, device, request.flags["c"], data.imputes, quiet=quiet)
        progress.seconds = time.perf_counter() - started
        left_out = stream.n_bad + stream.n_unlabeled + stream.n_incomplete
        save_run(model, request.output, data, options, progress, chosen, 1, True, more={"left_out": left_out})
    if not quiet:
        tell(_sentence(progress, model.estimator_, chosen))
    tell_end(data, examined.opened, model, quiet=quiet)
    return Outcome(request.output, progress.rows, chosen, progress.figures()).having_read(stream)


def fit_in_memory(
    batches: list, options: TrainOptions, device: str, C: float | None, impute: str | None, *, quiet: bool
) -> tuple[StreamPipeline, dict[str, Any]]:
    """A model of all rows, which chooses itself what was not given; the batches are given up on the way."""
    n_rows = sum(batch.n_rows for batch in batches)
    first = prepared(batches[:_FIRST_BATCHES], options.scale, impute)
    in_cells = not CATALOGUE[options.algorithm].streams
    model = StreamPipeline(
        _estimator(options, device, C),
        scale=first.scale,
        encoder=first.encoder,
        calibrate=options.calibrate and not in_cells,
        impute=impute,
    )
    with Status(f"Learning {n_rows:,} rows on {device} ...", quiet=quiet):
        model.fit(*joined_rows(batches, labels_of))
    fitted: Any = model.estimator_
    chosen = _chosen(fitted, options._replace(strength=fitted.C_) if in_cells else options, first.scale, device)
    for each in (model.estimator, fitted):  # users of the model need not have the device that it was trained on
        each.set_params(device="cpu", **({"n_jobs": None} if in_cells else {}))
    return model, chosen


def _estimator(options: TrainOptions, device: str, C: float | None) -> Any:
    """An estimator that chooses gamma and C itself; without cells, C from a list."""
    algorithm = CATALOGUE[options.algorithm]
    settings: dict[str, Any] = {"kernel": options.kernel, "metric": options.metric, "device": device}
    settings |= {"budget": options.budget, "strength": options.strength, "seed": options.seed}
    settings["gamma"] = "auto" if options.gamma is None else options.gamma
    if not algorithm.streams:
        settings["n_jobs"] = -1
    elif options.strength is None:
        settings["C"] = _PATH if C is None else C
    estimator = new_estimator(options.algorithm, **settings)
    if not algorithm.streams and algorithm.task == CLASSES:  # by leaving rows out
        estimator.set_params(calibrate="platt" if options.calibrate else None)
    return estimator


def _read(batches, source: str) -> list:
    """All batches, as far as they fit into memory."""
    read = read_rows(batches, _MEMORY_SHARE)
    if not read.is_whole:
        raise ValueError(
            f"{source} has more rows than memory can hold ({read.n_bytes / 2**30:.1f} GiB so far), and --device needs "
            "all of them: learn them as a stream, without --device, or in Python with "
            "ASSETClassifier(device=...).fit_batches, which reads a file again and again."
        )
    return read.batches


def _chosen(estimator, options, scale, device) -> dict[str, Any]:
    chosen = {"algorithm": options.algorithm, "kernel": options.kernel, "gamma": estimator.gamma_}
    chosen |= {"strength": options.strength, "budget": options.budget}
    chosen |= {} if options.metric is None else {"metric": options.metric}
    if options.strength is None:
        chosen["C"] = getattr(estimator, "C_", estimator.C)
    classes, path = getattr(estimator, "classes_", None), getattr(estimator, "path_", None)
    if path is not None:
        found = "validation_r2" if classes is None else "validation_accuracy"
        chosen[found] = float(path["validation_score"].max())
    return {**chosen, "scale": scale, "labels": None if classes is None else classes.tolist(), "device": device}


def _sentence(progress: Progress, estimator, chosen: dict[str, Any]) -> str:
    parts = [f"{progress.rows:,} examples in {progress.seconds:.1f} s on {chosen['device']}"]
    if "validation_accuracy" in chosen:
        parts.append(f"accuracy on validation rows {100 * chosen['validation_accuracy']:.2f} %")
    if "validation_r2" in chosen:
        parts.append(f"R^2 on validation rows {chosen['validation_r2']:.4f}")
    error = getattr(estimator, "loo_error_", None)
    if error is None:
        return ", ".join([*parts, f"objective {estimator.objective_:.4g}"])
    shown = f"{100 * error:.2f} % of rows" if hasattr(estimator, "classes_") else f"{error:.4g}"
    return ", ".join([*parts, f"error by leaving each row out {shown}"])
