"""``frugalsvm train`` with nothing else: models are compared, and the best is fitted to all rows.

All rows are read into memory. The file that is written holds the pipeline of `AutoSVC` or `AutoSVR`, which every other
command takes as it takes the models of streams.
"""

import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from frugalsvm.auto import AutoSVC, AutoSVR
from frugalsvm.cli.catalogue import AUTO
from frugalsvm.cli.console import tell
from frugalsvm.cli.data import open_data
from frugalsvm.cli.io.first_rows import Examined, examine
from frugalsvm.cli.io.interruption import leaving_as_it_was
from frugalsvm.cli.io.saved_run import save_run
from frugalsvm.cli.options import DataOptions, TrainOptions
from frugalsvm.cli.words.auto_words import SearchProgress, sentences_of, tried_rows
from frugalsvm.cli.words.outcome import Outcome
from frugalsvm.cli.words.task import Task, many_classes, task_of, task_words
from frugalsvm.exceptions import ManyClassesWarning
from frugalsvm.pipelines.prequential import Progress
from frugalsvm.streams.in_memory import joined_rows, read_rows
from frugalsvm.words import counted

__all__ = ["AutoFlags", "fit_auto", "train_auto"]

_MEMORY_SHARE = 0.15  # of the memory of the machine that rows may take: they are copied, scaled and sampled
_DENSE = 0.25  # share of values that are not zero, from which on rows are not sparse
_LEAST_SECONDS = 1.0


class AutoFlags(NamedTuple):
    """What may be said about a comparison of models."""

    time_budget: float | None = None
    task: str = "auto"
    device: str | None = None
    kernel: str | None = None  # None: the usual ones are compared


def train_auto(
    data: DataOptions,
    options: TrainOptions,
    output: Path,
    flags: AutoFlags,
    as_stream: Callable[[str], Outcome] | None,
    *,
    quiet: bool,
) -> Outcome:
    """Read all rows, compare models, fit the best to all rows, and write it.

    ``as_stream`` learns the same source one batch after the other, by an algorithm of this name, which is done if it
    has too many rows; None if it can be read only once.
    """
    started = time.perf_counter()
    # Rows are sampled at random: their order does not matter.
    examined = examine(data._replace(shuffle="no"), opening=partial(open_data, of_classes=False))
    read = read_rows(examined.batches, _MEMORY_SHARE)
    task = task_of(np.concatenate([batch.y for batch in read.batches]), flags.task)
    if not read.is_whole and as_stream is not None:
        instead = "bsgd" if task.classifies else "bsgd-regressor"
        words = f"{instead} learns it instead, one batch after the other, as a stream (-a {instead})"
        tell(_too_large(examined, read.n_bytes, words))
        return as_stream(instead)
    examined.tell(quiet=quiet)
    X, _, weights = joined_rows(read.batches, lambda batch: batch.y)
    if not read.is_whole:
        kept = f"its first {counted(len(task.y), 'row')} are learned, and no others"
        tell(_too_large(examined, read.n_bytes, kept))
    _check_labels(examined, task)
    if not quiet:
        tell(f"note: {task_words(task, examined.label)}")
    if task.classifies and (doubt := many_classes(task.y, examined.label, AUTO)):
        tell(f"warning: {doubt}")
    left = flags.time_budget
    if left is not None:
        left = max(left - (time.perf_counter() - started), _LEAST_SECONDS)
    names, given = None if examined.schema is None else examined.schema.numbers, (flags.device, flags.kernel)
    with leaving_as_it_was(output, " `--time-budget 30s` ends sooner, with the best model by then."):
        model = fit_auto(X, task, weights, options.seed, left, *given, names=names, quiet=quiet)
    return _saved(model, task, examined, options, output, time.perf_counter() - started)


def fit_auto(
    rows: Any,
    task: Task,
    weights: np.ndarray | None,
    seed: int,
    time_budget: float | None,
    device: str | None = None,
    kernel: str | None = None,
    *,
    names: Sequence[str] | None = None,
    quiet: bool,
) -> Any:
    """A fitted `AutoSVC` or `AutoSVR`; a bar shows how far it is. Sparse rows with few zeros are made dense."""
    kind = AutoSVC if task.classifies else AutoSVR
    given = {name: value for name, value in (("device", device), ("kernel", kernel)) if value is not None}
    if issparse(rows) and rows.nnz >= _DENSE * rows.shape[0] * rows.shape[1]:
        rows = rows.toarray()
    model = kind(time_budget=time_budget, random_state=seed, **given)
    with SearchProgress(time_budget, quiet=quiet) as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", ManyClassesWarning)  # in the words of Python
        return model.fit(rows, task.y, weights, feature_names=names, callback=progress)


def _too_large(examined: Examined, n_bytes: int, instead: str) -> str:
    name = examined.opened.stream.name
    return f"note: {name} has more rows than there is memory for ({n_bytes / 2**30:.2f} GiB were read): {instead}."


def _check_labels(examined: Examined, task: Task) -> None:
    values = np.unique(task.y)
    if len(values) == 1:
        what = f"{examined.opened.stream.name} has one label only, {values[0].item()!r}"
        raise ValueError(f"{what}: there is nothing to classify. Is --label the right column?")


def _saved(auto: Any, task: Task, examined: Examined, options: TrainOptions, output: Path, seconds: float) -> Outcome:
    model, n_rows = auto.pipeline_, len(task.y)
    for each in (model.estimator, model.estimator_):
        each.set_params(device="cpu", n_jobs=None)  # users of the model need not have the device that it was trained on
    best = auto.best_params_
    chosen = {"algorithm": "auto", "kernel": best["kernel"], "gamma": best["gamma"], "strength": None, "C": best["C"]}
    chosen |= {name: best.get(name) for name in ("rows", "cell_size", "n_trees")}
    chosen |= {"budget": best.get("n_components"), "scale": model.scaler_ is not None}
    chosen |= {"score": auto.best_score_, "labels": model.classes_.tolist() if task.classifies else None}
    sentences = sentences_of(auto, task.y, classifies=task.classifies)
    tried = tried_rows(auto.report(output_dict=True))
    # No seconds: the same rows make the same file.
    kept = [{key: value for key, value in row.items() if key != "seconds"} for row in tried]
    told = {"told": sentences, "tried": kept}
    progress = Progress({"rows": n_rows})
    save_run(model, output, examined.data, options, progress, chosen, 1, True, told=told, for_prediction=True)
    figures = {("accuracy" if task.classifies else "r2"): auto.best_score_, "seconds": seconds, "tried": tried}
    outcome = Outcome(output, n_rows, chosen, figures, sentences=tuple(sentences))
    return outcome.having_read(examined.opened.stream)
