"""``frugalsvm train --device`` or ``-a local``: all rows at once, by the batch solver of ASSET or in cells.

A stream is learned one example after the other, which is for the CPU. A device needs all rows: they are read into
memory, from a file or a pipe, and there is nothing to save, or to resume from, before the end.
"""

import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from frugalsvm.arrays.namespace import arrays_on
from frugalsvm.cli.catalogue import CATALOGUE, CLASSES, NUMBERS, new_estimator, task_for
from frugalsvm.cli.console import Status, tell
from frugalsvm.cli.data import labels_of, open_data
from frugalsvm.cli.data_report import SHOWN_BAD_LINES, counts_of, tell_end
from frugalsvm.cli.first_rows import Prepared, examine, prepared, tell_task
from frugalsvm.cli.options import DataOptions, TrainOptions
from frugalsvm.cli.outcome import Outcome
from frugalsvm.cli.parameter_search import grid_for, usual_gamma
from frugalsvm.cli.progress import Progress
from frugalsvm.cli.rows_in_memory import joined_rows, read_rows
from frugalsvm.cli.saved_run import save_run
from frugalsvm.pipelines import StreamPipeline

__all__ = ["fit_in_memory", "train_in_memory"]

_PATH = [0.1, 1.0, 10.0, 100.0]  # values of C, if none is given
_FIRST_BATCHES = 2  # from which gamma is chosen
_MEMORY_SHARE = 0.4  # of the memory of the machine that rows may take: they are copied once


def train_in_memory(
    data: DataOptions, options: TrainOptions, output: Path, device: str, C: float | None, *, quiet: bool
) -> Outcome:
    """Read all rows, solve, and write the model, which predicts on any machine."""
    arrays_on(device)  # says what is missing before anything is read
    task = task_for(options.algorithm)
    examined = examine(data, opening=partial(open_data, of_numbers=task == NUMBERS))
    data, opened = examined.data, examined.opened
    examined.tell(quiet=quiet)
    tell_task(examined, options.algorithm, quiet=quiet)
    batches = _read(examined.batches, opened.stream.name)
    progress = Progress(task=task)
    progress.rows = progress.learned = sum(batch.n_rows for batch in batches)
    started = time.perf_counter()
    model, chosen = fit_in_memory(batches, options, device, C, data.imputes, quiet=quiet)
    progress.seconds = time.perf_counter() - started
    save_run(model, output, data, options, progress, chosen, 1, True)
    if not quiet:
        tell(_sentence(progress, model.estimator_, chosen))
    bad_lines = tuple(getattr(opened.stream, "bad_examples", ()))[:SHOWN_BAD_LINES]
    tell_end(data, opened, model, quiet=quiet)
    n_bad, counts = getattr(opened.stream, "n_bad", 0), counts_of(opened.stream)
    return Outcome(output, progress.rows, chosen, progress.figures(), n_bad, bad_lines, counts)


def fit_in_memory(
    batches: list, options: TrainOptions, device: str, C: float | None, impute: str | None, *, quiet: bool
) -> tuple[StreamPipeline, dict[str, Any]]:
    """A model of all rows, with gamma and C chosen unless they are given; the batches are given up on the way."""
    n_rows = sum(batch.n_rows for batch in batches)
    first = prepared(batches[:_FIRST_BATCHES], options.scale, impute)
    if not CATALOGUE[options.algorithm].streams:
        return _fit_cells(batches, first, options, device, impute, quiet=quiet)
    strength: dict[str, Any] = {"C": C or _PATH} if options.strength is None else {"alpha": options.strength}
    gamma = options.gamma
    if gamma is None:
        with Status(f"Choosing gamma on the first {len(first.y):,} rows ...", quiet=quiet):
            gamma = _best_gamma(first, options, device, strength)
    model = StreamPipeline(
        _estimator(options, device, gamma, strength, options.metric),
        scale=first.scale,
        encoder=first.encoder,
        calibrate=options.calibrate,
        impute=impute,
    )
    with Status(f"Learning {n_rows:,} rows on {device} ...", quiet=quiet):
        model.fit(*joined_rows(batches, labels_of))
    chosen = _chosen(model.estimator_, options, gamma, first.scale, device)
    for each in (model.estimator, model.estimator_):
        each.set_params(device="cpu")  # users of the model need not have the device that it was trained on
    return model, chosen


def _fit_cells(batches, first, options, device, impute, *, quiet) -> tuple[StreamPipeline, dict[str, Any]]:
    """A model in cells, which chooses gamma and C itself, and calibrates by leaving rows out."""
    others: dict[str, Any] = {"kernel": options.kernel, "metric": options.metric, "device": device, "n_jobs": -1}
    own = new_estimator(options.algorithm, gamma=options.gamma, strength=options.strength, seed=options.seed, **others)
    if CATALOGUE[options.algorithm].task == CLASSES:
        own.set_params(calibrate="platt" if options.calibrate else None)
    model = StreamPipeline(own, scale=first.scale, encoder=first.encoder, impute=impute)
    n_rows = sum(batch.n_rows for batch in batches)
    with Status(f"Learning {n_rows:,} rows on {device} ...", quiet=quiet):
        model.fit(*joined_rows(batches, labels_of))
    fitted = model.estimator_
    chosen = _chosen(fitted, options._replace(strength=fitted.C_), fitted.gamma_, first.scale, device)
    for each in (model.estimator, fitted):
        each.set_params(device="cpu", n_jobs=None)  # users of the model need not have the device that it was trained on
    return model, chosen


def _read(batches, source: str) -> list:
    """All batches, as far as they fit into memory."""
    read = read_rows(batches, _MEMORY_SHARE)
    if not read.is_whole:
        raise ValueError(
            f"{source} has more rows than memory can hold ({read.n_bytes / 2**30:.1f} GiB so far), and --device needs "
            "all of them: learn them as a stream, without --device, or in Python with "
            "ASSETClassifier(device=...).fit_batches, which reads a file again and again."
        )
    if not read.batches:
        raise ValueError(f"{source} has no rows.")
    return read.batches


def _estimator(options: TrainOptions, device: str, gamma: Any, strength: dict[str, Any], metric: Any):
    from frugalsvm import ASSETClassifier, ASSETRegressor

    budget: dict[str, Any] = {} if options.budget is None else {"n_components": options.budget}
    kind: Any = ASSETRegressor if task_for(options.algorithm) == NUMBERS else ASSETClassifier
    return kind(
        kernel=options.kernel,
        gamma=gamma,
        device=device,
        random_state=options.seed,
        metric=metric,
        **budget,
        **strength,
    )


def _best_gamma(first: Prepared, options: TrainOptions, device: str, strength: dict[str, Any]) -> float:
    """The gamma with which two thirds of the first rows tell the most about the others."""
    usual = usual_gamma(first.X, options.kernel)
    order = np.random.default_rng(options.seed).permutation(len(first.y))
    training, validation = np.split(order, [2 * len(order) // 3])
    if len(np.unique(first.y[training])) < 2 or not len(validation):
        return usual
    metric, scores = None, {}
    if options.metric is not None:  # learned once: the rows that judge have no part in it
        model = _estimator(options, device, "scale", strength, options.metric)
        model.fit(first.X[training], first.y[training])
        metric, usual = model.metric_, model.gamma_ or usual
    for settings in grid_for("asset", usual, strength=1.0):
        model = _estimator(options, device, settings["gamma"], strength, metric)
        model.fit(first.X[training], first.y[training])
        scores[settings["gamma"]] = model.score(first.X[validation], first.y[validation])
    return max(scores, key=scores.__getitem__)


def _chosen(estimator, options, gamma, scale, device) -> dict[str, Any]:
    chosen = {"algorithm": options.algorithm, "kernel": options.kernel, "gamma": gamma}
    chosen |= {"strength": options.strength, "budget": options.budget}
    if options.metric is not None:
        chosen["metric"] = options.metric
    if options.strength is None:
        chosen["C"] = getattr(estimator, "C_", estimator.C)
    path = getattr(estimator, "path_", None)
    if path is not None:
        found = "validation_accuracy" if hasattr(estimator, "classes_") else "validation_r2"
        chosen[found] = float(path["validation_score"].max())
    classes = getattr(estimator, "classes_", None)
    return {**chosen, "scale": scale, "labels": None if classes is None else classes.tolist(), "device": device}


def _sentence(progress: Progress, estimator, chosen: dict[str, Any]) -> str:
    parts = [f"{progress.rows:,} examples in {progress.seconds:.1f} s on {chosen['device']}"]
    if "validation_accuracy" in chosen:
        parts.append(f"accuracy on validation rows {100 * chosen['validation_accuracy']:.2f} %")
    if "validation_r2" in chosen:
        parts.append(f"R^2 on validation rows {chosen['validation_r2']:.4f}")
    if hasattr(estimator, "loo_error_"):
        error = estimator.loo_error_
        shown = f"{100 * error:.2f} % of rows" if hasattr(estimator, "classes_") else f"{error:.4g}"
        return ", ".join([*parts, f"error by leaving each row out {shown}"])
    return ", ".join([*parts, f"objective {estimator.objective_:.4g}"])
