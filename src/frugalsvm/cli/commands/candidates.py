"""Ways to train that `frugalsvm tune` compares: what each makes of some rows, by which flags, and at what cost."""

import math
import time
from itertools import pairwise
from typing import Any

import numpy as np

from frugalsvm.auto.comparison import Candidate, Learned, OutOfTime, Watch, file_bytes
from frugalsvm.cli.catalogue import AUTO, CATALOGUE, new_estimator
from frugalsvm.cli.commands.new_model import chosen_by_itself, classes_for, new_model, with_own_choices
from frugalsvm.cli.commands.train_auto import fit_auto
from frugalsvm.cli.commands.train_in_memory import fit_in_memory
from frugalsvm.cli.options import TrainOptions, scale_flag
from frugalsvm.pipelines.first_rows import Prepared, prepared
from frugalsvm.pipelines.label_task import Task
from frugalsvm.pipelines.reading import BATCH_ROWS
from frugalsvm.stream_search import StreamTuner
from frugalsvm.stream_search.candidates import usual_grid
from frugalsvm.streams.batch import Batch, labels_of, rows_between, rows_of

_CHOOSING_ROWS = 2 * BATCH_ROWS  # those that `train` chooses parameters by
_FIRST_ROWS = 1000  # learned before candidates are judged
_STEEPEST = 2.0  # exponent of rows in the time of training


def auto(seed: int, *, quiet: bool) -> Candidate:
    """What `frugalsvm train` does with nothing else."""

    def learn(rows: Batch, limit: float | None) -> Learned:
        task = Task(True, labels_of(rows), False)
        with Watch() as watch:
            fitted = fit_auto(rows_of(rows), task, rows.weights, seed, limit, quiet=quiet)
        model, growing = fitted.pipeline_, fitted.refit_time_
        fixed = max(watch.seconds - growing, 0.0)
        return Learned(model, {"algorithm": AUTO}, growing, fixed, 1.0, file_bytes(model, for_prediction=True))

    return Candidate(AUTO, "chooses kernel, metric and size by itself", learn, is_fixed=True)


def low_rank(seed: int, impute: str | None, kernel: str = "rbf", budget: int = 500) -> Candidate:
    """ASSET on all rows at once, which chooses the width of its kernel and C by itself."""

    def learn(rows: Batch, limit: float | None) -> Learned:
        options = TrainOptions("asset", budget, kernel, seed=seed)
        with Watch() as watch:
            model, chosen = fit_in_memory([rows], options, "cpu", None, impute, quiet=True)
        flags = flags_of(options, chosen, chosen["scale"]) | {"device": "cpu", "C": chosen["C"]}
        return Learned(model, flags, watch.seconds, 0.0, 1.0, file_bytes(model))

    return Candidate("asset", f"low-rank machine of {budget} landmarks, {kernel}", learn)


def own_choice(options: TrainOptions, impute: str | None) -> Candidate:
    """What `frugalsvm train --algorithm` does by itself: parameters are chosen on the first rows."""

    def learn(rows: Batch, limit: float | None) -> Learned:
        return _learned(rows, options, impute, _deadline(limit))

    return Candidate(options.algorithm, "as `train` chooses by itself", learn)


def tuned(
    options: TrainOptions, impute: str | None, budgets: tuple[int | None, ...], *, words: str = "tuned"
) -> Candidate:
    """Parameters that are best on all rows, of those that learn them side by side."""

    def learn(rows: Batch, limit: float | None) -> Learned:
        deadline = _deadline(limit)
        # Half of the time is for the search, the other half for the last fit.
        found, tried = _searched(rows, options, impute, budgets, _deadline(None if limit is None else limit / 2))
        return _learned(rows, found, impute, deadline)._replace(tried=tried)

    return Candidate(options.algorithm, words, learn)


def _deadline(limit: float | None) -> float:
    return math.inf if limit is None else time.monotonic() + limit


# --- searching and learning ---------------------------------------------------------------------------------


def settings_for(
    first: Prepared, options: TrainOptions, budgets: tuple[int | None, ...]
) -> tuple[list[dict[str, Any]], StreamTuner]:
    """Settings around what an algorithm chooses by itself on the first rows, and a search among them."""
    name, strength = options.algorithm, CATALOGUE[options.algorithm].strength
    own = chosen_by_itself(first, options._replace(budget=budgets[0]), quiet=True)
    metric = own.metric_ if options.metric is not None else None  # the same for all
    grid = usual_grid(getattr(own, "gamma_", None), strength)
    settings = [
        {"kernel": options.kernel, "gamma": each.get("gamma"), "strength": each.get(strength), "budget": budget}
        for budget in (budgets if CATALOGUE[name].budgeted else (None,))
        for each in grid
    ]
    return settings, StreamTuner([new_estimator(name, seed=options.seed, metric=metric, **each) for each in settings])


def _searched(
    rows: Batch, options: TrainOptions, impute: str | None, budgets: tuple[int | None, ...], deadline: float
) -> tuple[TrainOptions, tuple[dict[str, Any], ...]]:
    """Options with the best parameters, and all that were compared; after the deadline no more rows are learned."""
    first = prepared([rows], options.scale, impute)
    settings, tuner = settings_for(first, options, budgets)
    n_rows, classes = len(first.y), np.unique(first.y)
    for start, stop in pairwise([0, *range(min(_FIRST_ROWS, -(-n_rows // 2)), n_rows, BATCH_ROWS), n_rows]):
        tuner.partial_fit(first.X[start:stop], first.y[start:stop], classes=classes)
        if time.monotonic() > deadline:
            break
    tried = tuple(
        {**flags_of(options, each, first.scale), "rows": result["rows"], "accuracy": result["accuracy"]}
        for each, result in zip(settings, tuner.results_, strict=True)
    )
    return options_with(options, settings[tuner.best_index_], first.scale), tried


def options_with(options: TrainOptions, settings: dict[str, Any], scale: bool | str) -> TrainOptions:
    """Options with the settings of a candidate, and the scale of a pipeline."""
    best = {name: settings[name] for name in ("gamma", "strength", "budget")}
    return options._replace(**best, scale=scale_flag(scale))


def _learned(rows: Batch, options: TrainOptions, impute: str | None, deadline: float) -> Learned:
    """A model as `frugalsvm train` makes it."""
    batches = [rows_between(rows, start, start + BATCH_ROWS) for start in range(0, rows.n_rows, BATCH_ROWS)]
    with Watch() as choosing:
        model, chosen = new_model([rows_between(rows, 0, _CHOOSING_ROWS)], options, impute, is_stream=False, quiet=True)
    chosen["labels"] = np.unique(labels_of(rows)).tolist()
    classes, n_learned, halfway = classes_for(model, options, chosen), 0, 0.0
    with Watch() as watch:
        for _ in range(options.passes):
            for batch in batches:
                if time.monotonic() > deadline:
                    raise OutOfTime
                model.partial_fit(rows_of(batch), labels_of(batch), classes=classes, sample_weight=batch.weights)
                n_learned += batch.n_rows
                if n_learned <= options.passes * rows.n_rows / 2:
                    halfway, n_halfway = watch.so_far, n_learned
        model.flush()
    exponent = 1.0
    if halfway > 0.0 and not CATALOGUE[options.algorithm].budgeted:  # it grows while it learns
        ratio = math.log(watch.seconds / halfway) / math.log(options.passes * rows.n_rows / n_halfway)
        exponent = min(max(ratio, 1.0), _STEEPEST)
    flags = flags_of(options, with_own_choices(chosen, model), chosen["scale"])
    return Learned(model, flags, watch.seconds, choosing.seconds, exponent, file_bytes(model, caches=False))


def flags_of(options: TrainOptions, settings: dict[str, Any], scale: bool | str) -> dict[str, Any]:
    """What was chosen, as flags of `frugalsvm train`; ``scale`` is that of the pipeline."""
    algorithm = CATALOGUE[options.algorithm]
    flags: dict[str, Any] = {"algorithm": options.algorithm, "kernel": options.kernel, "metric": options.metric}
    flags["gamma"] = settings["gamma"]
    if algorithm.strength:
        flags[algorithm.strength] = settings["strength"]
    flags["budget"] = settings["budget"] if algorithm.budgeted else None
    flags["passes"] = options.passes if options.passes > 1 else None
    flags["scale"] = scale_flag(scale)
    return {name: value for name, value in flags.items() if value is not None}
