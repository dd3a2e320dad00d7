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
from frugalsvm.cli.auto_words import chosen_words, notes_of, quality_words, tried_rows
from frugalsvm.cli.catalogue import AUTO
from frugalsvm.cli.console import tell
from frugalsvm.cli.data import open_data
from frugalsvm.cli.data_report import SHOWN_BAD_LINES, counts_of
from frugalsvm.cli.first_rows import Examined, examine
from frugalsvm.cli.interruption import leaving_as_it_was
from frugalsvm.cli.options import DataOptions, TrainOptions
from frugalsvm.cli.outcome import Outcome
from frugalsvm.cli.page import counted
from frugalsvm.cli.progress import Progress
from frugalsvm.cli.rows_in_memory import joined_rows, read_rows
from frugalsvm.cli.saved_run import save_run
from frugalsvm.cli.search_progress import SearchProgress
from frugalsvm.cli.task import Task, many_classes, task_of, task_words
from frugalsvm.exceptions import ManyClassesWarning

__all__ = ["AutoFlags", "as_table", "fit_auto", "train_auto"]

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
    # Rows are sampled at random: their order is no matter.
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
    with leaving_as_it_was(output, " `--time-budget 30s` ends sooner, with the best model by then."):
        model = fit_auto(
            X, task, weights, options.seed, left, flags.device, flags.kernel, names=_names(examined), quiet=quiet
        )
    return _saved(model, task, examined, options, output, time.perf_counter() - started, quiet=quiet)


def fit_auto(
    X: Any,
    task: Task,
    weights: np.ndarray | None,
    seed: int,
    time_budget: float | None,
    device: str | None = None,
    kernel: str | None = None,
    *,
    names: Sequence[str] = (),
    quiet: bool,
) -> Any:
    """A fitted `AutoSVC` or `AutoSVR`; a bar shows how far it is."""
    kind = AutoSVC if task.classifies else AutoSVR
    given = {name: value for name, value in (("device", device), ("kernel", kernel)) if value is not None}
    model = kind(time_budget=time_budget, verbose=1, random_state=seed, **given)
    with SearchProgress(time_budget).shown(quiet=quiet), warnings.catch_warnings():
        warnings.simplefilter("ignore", ManyClassesWarning)  # in the words of Python
        return model.fit(as_table(X, names), task.y, weights)


# --- rows ---------------------------------------------------------------------------------------------------


class _Column:
    """A column as data frames have them."""

    def __init__(self, values: np.ndarray):
        self._values, self.dtype = values, values.dtype

    def to_numpy(self) -> np.ndarray:
        return self._values


class _Table:
    """Numbers and columns of text as one data frame: its first columns are the numbers."""

    def __init__(self, X: np.ndarray, text: dict[str, np.ndarray], names: Sequence[str]):
        if len(names) != X.shape[1] or set(names) & set(text):
            names = [f"number {k + 1}" for k in range(X.shape[1])]
        numbers = {name: X[:, k] for k, name in enumerate(names)}
        self._columns, self._n_rows = {**numbers, **text}, X.shape[0]
        self.columns = list(self._columns)

    def __len__(self) -> int:
        return self._n_rows

    def __getitem__(self, name: str) -> _Column:
        return _Column(self._columns[name])

    def to_numpy(self) -> np.ndarray:
        return np.column_stack(list(self._columns.values()))


def as_table(rows: Any, names: Sequence[str] = ()) -> Any:
    """Rows of streams as `AutoSVC` takes them; sparse ones with few zeros are dense."""
    X, text = rows if isinstance(rows, tuple) else (rows, None)
    if issparse(X) and X.nnz >= _DENSE * X.shape[0] * X.shape[1]:
        X = X.toarray()
    return X if text is None else _Table(X, text, names)


def _names(examined: Examined) -> Sequence[str]:
    """Names of the numbers, for notes about them."""
    schema = getattr(examined.opened.stream, "schema", None)
    return () if schema is None else schema.numbers


# --- words --------------------------------------------------------------------------------------------------


def _too_large(examined: Examined, n_bytes: int, instead: str) -> str:
    name = examined.opened.stream.name
    return f"note: {name} has more rows than there is memory for ({n_bytes / 2**30:.2f} GiB were read): {instead}."


def _check_labels(examined: Examined, task: Task) -> None:
    values = np.unique(task.y)
    if len(values) == 1:
        what = f"{examined.opened.stream.name} has one label only, {values[0].item()!r}"
        raise ValueError(f"{what}: there is nothing to classify. Is --label the right column?")


# --- the end ------------------------------------------------------------------------------------------------


def _saved(
    auto: Any, task: Task, examined: Examined, options: TrainOptions, output: Path, seconds: float, *, quiet: bool
) -> Outcome:
    model, n_rows, stream = auto.pipeline_, len(task.y), examined.opened.stream
    for each in (model.estimator, model.estimator_):
        each.set_params(device="cpu", n_jobs=None)  # users of the model need not have the device that it was trained on
    best = auto.best_params_
    chosen = {"algorithm": "auto", "kernel": best["kernel"], "gamma": best["gamma"], "strength": None, "C": best["C"]}
    chosen |= {name: best.get(name) for name in ("rows", "cell_size", "n_trees")}
    chosen |= {"budget": best.get("n_components"), "scale": model.scaler_ is not None}
    chosen |= {"score": auto.best_score_, "labels": model.classes_.tolist() if task.classifies else None}
    sentences = [
        chosen_words(auto, n_rows),
        quality_words(auto, task.y, classifies=task.classifies),
        *notes_of(auto),
    ]
    tried = tried_rows(auto, classifies=task.classifies)
    progress = Progress({"rows": n_rows})
    # No seconds: the same rows make the same file.
    kept = [{key: value for key, value in row.items() if key != "seconds"} for row in tried]
    data = _without_unused(examined.data, model)
    told = {"told": sentences, "tried": kept}
    save_run(model, output, data, options, progress, chosen, 1, True, told=told, for_prediction=True)
    figures = {("accuracy" if task.classifies else "r2"): auto.best_score_, "seconds": seconds, "tried": tried}
    bad_lines = tuple(getattr(stream, "bad_examples", ()))[:SHOWN_BAD_LINES]
    return Outcome(
        output,
        n_rows,
        chosen,
        figures,
        getattr(stream, "n_bad", 0),
        bad_lines,
        counts_of(stream),
        sentences=tuple(sentences),
    )


def _without_unused(data: DataOptions, model: Any) -> DataOptions:
    """The description of the columns, without those that the model has left out."""
    if data.columns is None:
        return data
    known = set(getattr(model.encoder_, "names_", ()))
    columns = [
        [name, kind, "ignored" if role == "feature" and kind == "string" and name not in known else role]
        for name, kind, role in data.columns
    ]
    return data._replace(columns=columns)
