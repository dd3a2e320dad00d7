"""``frugalsvm train`` with nothing else: models are compared, and the best is fitted to all rows.

All rows are read into memory. The file that is written holds the pipeline of `AutoSVC` or `AutoSVR`, which every other
command takes as it takes the models of streams.
"""

import time
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import issparse

from frugalsvm.auto import AutoSVC, AutoSVR
from frugalsvm.auto.report import machine_words, score_words, view_words
from frugalsvm.cli.catalogue import AUTO
from frugalsvm.cli.commands.train_stream import train_stream
from frugalsvm.cli.console import tell
from frugalsvm.cli.errors import leaving_as_it_was
from frugalsvm.cli.io.saved_run import save_run
from frugalsvm.cli.options import Request
from frugalsvm.cli.words.outcome import Outcome, tell_examined, tell_rows_left_out, tell_task
from frugalsvm.cli.words.progress import SearchProgress
from frugalsvm.estimators.constraints import parsed_seconds
from frugalsvm.exceptions import ManyClassesWarning
from frugalsvm.pipelines.first_rows import Examined, examine
from frugalsvm.pipelines.label_task import Task, task_of
from frugalsvm.pipelines.prequential import Progress
from frugalsvm.pipelines.reading import open_data, refuse_other_labels
from frugalsvm.selection.search import LOW_RANK
from frugalsvm.streams.batch import joined_rows, read_rows
from frugalsvm.words import counted, percent

_MEMORY_SHARE = 0.15  # of the memory of the machine that rows may take: they are copied, scaled and sampled
_DENSE = 0.25  # share of values that are not zero, from which on rows are not sparse
_LEAST_SECONDS = 1.0


def train_auto(request: Request) -> Outcome:
    """Read all rows, compare models, fit the best to all rows, and write it.

    A source that has too many rows is learned as a stream instead, one batch after the other, if it can be read again.
    """
    started, quiet = time.perf_counter(), request.quiet
    left = parsed_seconds("time_budget", request.flags["time_budget"])
    # Rows are sampled at random: their order does not matter.
    opening = partial(open_data, of_classes=False, kept=True)
    examined = examine(request.data._replace(shuffle="no"), opening, reads_words=True)
    read = read_rows(examined.batches, _MEMORY_SHARE)
    task = task_of(np.concatenate([batch.y for batch in read.batches]), request.flags["task"])
    if not read.is_whole:
        instead = None if request.data.is_read_once else "bsgd" if task.classifies else "bsgd-regressor"
        words = f"{instead} learns it instead, one batch after the other, as a stream (-a {instead})"
        if instead is None:
            words = f"its first {counted(len(task.y), 'row')} are learned, and no others"
        what = f"{examined.name} has more rows than there is memory for"
        tell(f"note: {what} ({read.n_bytes / 2**30:.2f} GiB were read): {words}.")
        if instead is not None:
            return train_stream(request._replace(options=request.options._replace(algorithm=instead)))
    tell_examined(examined, quiet=quiet)
    tell_rows_left_out(examined.opened.stream, quiet=quiet)
    for batch in read.batches if task.classifies else ():
        refuse_other_labels(batch, examined.opened.stream, numbered=True)
    X, _, weights = joined_rows(read.batches, lambda batch: batch.y)
    if (values := np.unique(task.y)).size == 1:
        what = f"{examined.name} has one label only, {values[0].item()!r}"
        raise ValueError(f"{what}: there is nothing to classify. Is --label the right column?")
    tell_task(task, examined.label, AUTO, quiet=quiet)
    if left is not None:
        left = max(left - (time.perf_counter() - started), _LEAST_SECONDS)
    given: dict[str, Any] = {"device": request.flags["device"], "words": examined.words}
    given["kernel"] = request.options.kernel if "kernel" in request.given else None
    given["names"] = None if examined.schema is None else examined.schema.numbers
    with leaving_as_it_was(request.output, " `--time-budget 30s` ends sooner, with the best model by then."):
        model = fit_auto(X, task, weights, request.options.seed, left, quiet=quiet, **given)
    if examined.words:
        learned = [] if model.pipeline_.encoder_ is None else model.pipeline_.encoder_.names_
        examined = examined.without_text([name for name in examined.words if name not in learned])
    return _saved(model, task, examined, request, time.perf_counter() - started)


def fit_auto(
    rows: Any,
    task: Task,
    weights: np.ndarray | None,
    seed: int,
    time_budget: float | None,
    *,
    names: Sequence[str] | None = None,
    words: Sequence[str] = (),
    quiet: bool,
    **settings: Any,
) -> Any:
    """A fitted `AutoSVC` or `AutoSVR`; a bar shows how far it is. Sparse rows with few zeros are made dense."""
    kind = AutoSVC if task.classifies else AutoSVR
    given = {name: value for name, value in settings.items() if value is not None}
    if issparse(rows) and rows.nnz >= _DENSE * rows.shape[0] * rows.shape[1]:
        rows = rows.toarray()
    model = kind(time_budget=time_budget, random_state=seed, **given)
    with SearchProgress(time_budget, quiet=quiet) as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", ManyClassesWarning)  # in the words of Python
        return model.fit(rows, task.y, weights, feature_names=names, words=words, callback=progress)


def _saved(auto: Any, task: Task, examined: Examined, request: Request, seconds: float) -> Outcome:
    model, n_rows = auto.pipeline_, len(task.y)
    for each in (model.estimator, model.estimator_):
        each.set_params(device="cpu", n_jobs=None)  # users of the model need not have the device that it was trained on
    best = auto.best_params_
    chosen = {"algorithm": "auto", "kernel": best["kernel"], "gamma": best["gamma"], "strength": None, "C": best["C"]}
    chosen |= {name: best.get(name) for name in ("rows", "cell_size", "n_trees")}
    chosen |= {"budget": best.get("n_components"), "scale": model.scaler_ is not None}
    chosen |= {"score": auto.best_score_, "labels": model.classes_.tolist() if task.classifies else None}
    sentences = choice_sentences(auto, task.y, classifies=task.classifies)
    tried = tried_rows(auto.report(output_dict=True))
    # No seconds: the same rows make the same file.
    kept = [{key: value for key, value in row.items() if key != "seconds"} for row in tried]
    state = (model, request.output, examined.data, request.options, Progress({"rows": n_rows}), chosen)
    save_run(*state, 1, True, more={"told": sentences, "tried": kept}, for_prediction=True)
    figures = {("accuracy" if task.classifies else "r2"): auto.best_score_, "seconds": seconds, "tried": tried}
    outcome = Outcome(request.output, n_rows, chosen, figures, sentences=tuple(sentences))
    return outcome.having_read(examined.opened.stream)


# --- what was chosen, for people who know no names of parameters ------------------------------------------------------

_KERNELS_SHOWN = 8
_KERNEL_NAMES = {"rbf": "Gaussian (rbf)", "laplacian": "Laplacian", "matern12": "Matern 1/2", "matern32": "Matern 3/2"}


def choice_sentences(model: Any, y: np.ndarray, *, classifies: bool) -> list[str]:
    """What was chosen, how good it is, and what the report says besides."""
    best = model.best_params_
    chosen = (
        f"Chosen: the {_KERNEL_NAMES.get(best['kernel'], best['kernel'])} kernel on {view_words(best['rows'])}, gamma "
        f"{best['gamma']:.3g}, C {best['C']:.3g}; {machine_words(model.model_, len(y))}."
    )
    return [chosen, _quality(model.best_score_, y, classifies), *model.report(output_dict=True)["notes"]]


def _quality(score: float, y: np.ndarray, classifies: bool) -> str:
    """How good predictions are on rows left out, beside always predicting the same."""
    if classifies:
        values, counts = np.unique(y, return_counts=True)
        most = counts.argmax()
        return (
            f"It is right for {percent(score)} of rows left out; always saying {values[most].item()!r} would be right "
            f"for {percent(float(counts[most] / len(y)))}."
        )
    spread = float(np.std(y))
    error = spread * float(np.sqrt(max(1.0 - score, 0.0)))
    return (
        f"On rows left out it is wrong by {error:.4g} (root mean square; R^2 {score:.4f}); always saying the mean "
        f"would be wrong by {spread:.4g}."
    )


def tried_rows(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The kernels that were tried, in one view of rows or another: each where it came farthest, best first.

    Low-rank machines, which are compared with those in cells, are listed apart from them.
    """
    found: dict[tuple[str, str, bool], list[tuple[dict, dict]]] = {}
    for each in reversed(report["rounds"]):
        for row in each["candidates"]:
            found.setdefault((row["kernel"], row["rows"], each["round"] == LOW_RANK), []).append((each, row))
    rows = []
    for (kernel, view, is_low_rank), members in list(found.items())[:_KERNELS_SHOWN]:
        best_round, best = members[0]
        rows.append(
            {
                "round": str(best_round["round"]),
                "kernel": _KERNEL_NAMES.get(kernel, kernel) + (", low rank" if is_low_rank else ""),
                "rows seen as": view_words(view),
                report["score"]: score_words(best["score"], report["score"] == "accuracy"),
                "of rows": f"{best_round['n_rows']:,}",
                "candidates": str(len(members)),
                "seconds": f"{sum(row['seconds'] for _, row in members):.1f}",
            }
        )
    return rows
