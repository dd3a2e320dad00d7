"""Ways to train that `frugalsvm tune` compares: what each makes of some rows, by which flags, and at what cost."""

import math
import os
import tempfile
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.cli.catalogue import AUTO, CATALOGUE
from frugalsvm.cli.data import BATCH_ROWS, labels_of, rows_of
from frugalsvm.cli.first_rows import prepared
from frugalsvm.cli.new_model import classes_for, new_model
from frugalsvm.cli.options import TrainOptions, scale_flag
from frugalsvm.cli.parameter_search import (
    Trial,
    choose,
    first_metric,
    halved,
    suggested_gamma,
    usual_gamma,
    wide_grid_for,
)
from frugalsvm.cli.task import Task
from frugalsvm.cli.train_auto import fit_auto
from frugalsvm.cli.train_in_memory import fit_in_memory
from frugalsvm.compiling.notice import show_compiling
from frugalsvm.persist import save
from frugalsvm.streams.batch import Batch, rows_between

__all__ = ["Contestant", "Learned", "OutOfTime", "auto", "low_rank", "own_choice", "tuned"]

_CHOOSING_ROWS = 2 * BATCH_ROWS  # those that `train` chooses parameters by
_PASSES = 5  # that are tried beside one
_SEVERAL_PASSES = ("bsgd",)  # that learn from more than one
_LOW_RANK_KERNELS = ("rbf", "laplacian")
_STEEPEST = 2.0  # exponent of rows in the time of training


class OutOfTime(Exception):
    """A contestant has not learned its rows within its limit."""


class Learned(NamedTuple):
    """What a contestant has made of some rows."""

    model: Any
    flags: dict[str, Any]  # that make the same model with `frugalsvm train`
    seconds: float  # of training by these flags: the part that grows with the number of rows
    fixed_seconds: float  # and the part that does not
    exponent: float  # of the number of rows in the time
    n_bytes: int  # of the model file
    trials: tuple[Trial, ...] = ()

    def seconds_for(self, n_rows: int, n_learned: int) -> float:
        """Seconds that training on another number of rows would take."""
        return self.fixed_seconds + self.seconds * (n_rows / n_learned) ** self.exponent


class Contestant(NamedTuple):
    name: str  # of the algorithm
    words: str  # what sets it apart, for people
    learn: Callable[[Batch, float | None], Learned]  # from rows, within some seconds; raises OutOfTime


def auto(seed: int, *, quiet: bool) -> Contestant:
    """What `frugalsvm train` does with nothing else."""

    def learn(rows: Batch, limit: float | None) -> Learned:
        y = labels_of(rows)
        with _Watch() as watch:
            fitted = fit_auto(rows_of(rows), Task(True, y, False), rows.weights, seed, limit, quiet=quiet)
        model, growing = fitted.pipeline_, fitted.refit_time_
        fixed = max(watch.seconds - growing, 0.0)
        return Learned(model, {"algorithm": AUTO}, growing, fixed, 1.0, _file_bytes(model, for_prediction=True))

    return Contestant(AUTO, "chooses kernel, metric and size by itself", learn)


def low_rank(
    seed: int, impute: str | None, budget: int = 500, kernels: tuple[str, ...] = _LOW_RANK_KERNELS
) -> Contestant:
    """ASSET on all rows at once, with a kernel and a width chosen on validation rows."""

    def learn(rows: Batch, limit: float | None) -> Learned:
        trials: list[Trial] = []
        deadline = _deadline(limit)
        for kernel in kernels:
            if trials and time.monotonic() > deadline:  # the best so far, as the other searches do
                break
            options = TrainOptions("asset", budget, kernel, seed=seed)
            _, chosen = fit_in_memory([rows_between(rows, 0, _CHOOSING_ROWS)], options, "cpu", None, impute, quiet=True)
            trials.append(Trial(chosen, chosen["validation_accuracy"], min(rows.n_rows, _CHOOSING_ROWS)))
        best = max(trials, key=lambda trial: trial.accuracy).settings
        options = TrainOptions("asset", budget, best["kernel"], best["gamma"], seed=seed)
        with _Watch() as watch:
            model, chosen = fit_in_memory([rows], options, "cpu", best["C"], impute, quiet=True)
        flags = {"algorithm": "asset", "device": "cpu", "kernel": best["kernel"], "gamma": best["gamma"]}
        flags |= {"C": chosen["C"], "budget": budget, "scale": scale_flag(chosen["scale"])}
        return Learned(model, flags, watch.seconds, 0.0, 1.0, _file_bytes(model), tuple(trials))

    return Contestant("asset", f"low-rank machine of {budget} landmarks", learn)


def own_choice(options: TrainOptions, impute: str | None) -> Contestant:
    """What `frugalsvm train --algorithm` does by itself: parameters are chosen on the first rows."""

    def learn(rows: Batch, limit: float | None) -> Learned:
        return _learned(rows, options, impute, _deadline(limit))

    return Contestant(options.algorithm, "as `train` chooses by itself", learn)


def tuned(
    options: TrainOptions, impute: str | None, budgets: tuple[int | None, ...], *, words: str = "tuned"
) -> Contestant:
    """Parameters by successive halving among more candidates, on all rows."""

    def learn(rows: Batch, limit: float | None) -> Learned:
        deadline = _deadline(limit)
        # Half of the time is for the search, the other half for the last fit.
        found, trials = _searched(rows, options, impute, budgets, _deadline(None if limit is None else limit / 2))
        return _learned(rows, found, impute, deadline)._replace(trials=trials)

    return Contestant(options.algorithm, words, learn)


def _deadline(limit: float | None) -> float:
    return math.inf if limit is None else time.monotonic() + limit


# --- searching and learning ---------------------------------------------------------------------------------


def _searched(
    rows: Batch, options: TrainOptions, impute: str | None, budgets: tuple[int | None, ...], deadline: float
) -> tuple[TrainOptions, tuple[Trial, ...]]:
    """Options with the best parameters, and all trials on the way to them."""
    name, seed = options.algorithm, options.seed
    first = prepared([rows], options.scale, impute)
    base = suggested = usual_gamma(first.X, options.kernel)
    metric: Any = None
    if options.metric is not None:
        found = first_metric(name, options.kernel, options.metric, first.X, first.y, seed)
        metric, base, suggested = found.metric, found.gamma or base, found.gamma or base
    else:
        suggested = suggested_gamma(name, first.X, first.y, kernel=options.kernel, seed=seed)
    grid = wide_grid_for(name, base, suggested, kernel=options.kernel, budgets=budgets)
    rounds = halved(name, first.X, first.y, grid, seed, metric, deadline=deadline)
    best = rounds[-1][0]
    if name in _SEVERAL_PASSES:
        several = [{**best.settings, "passes": _PASSES}]
        rounds.append(choose(name, first.X, first.y, several, seed, metric, deadline))
        best = max(best, rounds[-1][0], key=lambda trial: trial.accuracy)
    settings = best.settings
    options = options._replace(
        gamma=settings["gamma"],
        strength=settings["strength"],
        budget=settings["budget"],
        passes=settings.get("passes", 1),
        scale=scale_flag(first.scale),
    )
    return options, tuple(trial for trials in rounds for trial in trials)


def _learned(rows: Batch, options: TrainOptions, impute: str | None, deadline: float) -> Learned:
    """A model as `frugalsvm train` makes it."""
    batches = [rows_between(rows, start, start + BATCH_ROWS) for start in range(0, rows.n_rows, BATCH_ROWS)]
    with _Watch() as choosing:
        model, chosen = new_model([rows_between(rows, 0, _CHOOSING_ROWS)], options, impute, is_stream=False, quiet=True)
    chosen["labels"] = np.unique(labels_of(rows)).tolist()
    classes, n_learned, halfway = classes_for(model, options, chosen), 0, 0.0
    with _Watch() as watch:
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
    flags = _flags(options, chosen)
    return Learned(model, flags, watch.seconds, choosing.seconds, exponent, _file_bytes(model, caches=False))


def _flags(options: TrainOptions, chosen: dict[str, Any]) -> dict[str, Any]:
    """What was chosen, as flags of `frugalsvm train`."""
    algorithm = CATALOGUE[options.algorithm]
    flags: dict[str, Any] = {"algorithm": options.algorithm, "kernel": options.kernel}
    if options.metric is not None:
        flags["metric"] = options.metric
    flags["gamma"] = chosen["gamma"]
    if algorithm.strength:
        flags[algorithm.strength] = chosen["strength"]
    if algorithm.budgeted:
        flags["budget"] = chosen["budget"]
    if options.passes > 1:
        flags["passes"] = options.passes
    flags["scale"] = scale_flag(chosen["scale"])
    return flags


# --- what it costs ------------------------------------------------------------------------------------------


class _Watch:
    """Seconds within a context, without those in which machine code was compiled."""

    def __init__(self) -> None:
        self.seconds = self._began = self._compiling = 0.0

    @property
    def so_far(self) -> float:
        """Seconds until now."""
        return max(time.perf_counter() - self._began - self._compiling, 0.0)

    def __enter__(self) -> "_Watch":
        self._before = show_compiling(self._note)
        self._began = time.perf_counter()
        return self

    def _note(self, name: str, seconds: float | None) -> None:
        self._compiling += seconds or 0.0
        self._before(name, seconds)

    def __exit__(self, *_: Any) -> None:
        self.seconds = self.so_far
        show_compiling(self._before)


def _file_bytes(model: Any, **how: Any) -> int:
    """Size of the file that a model is saved to."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.frugal")
        save(model, path, **how)
        return os.path.getsize(path)
