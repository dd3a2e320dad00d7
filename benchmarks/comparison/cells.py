"""One cell: a peer on a split of a table, measured in the process that calls `measured`."""

import gc
import logging
import os
import pickle
import sys
import time
import warnings
from typing import NamedTuple

import numpy as np

from benchmarks.comparison.columns import Columns
from benchmarks.comparison.peers import PEERS, Task
from benchmarks.comparison.plan import DEFAULT, EFFORTS
from benchmarks.comparison.scores import judged
from benchmarks.comparison.splits import split_of
from benchmarks.comparison.tuning import chosen
from benchmarks.peak_memory import PeakMemory

__all__ = ["Place", "fitted", "measured", "warm_up"]

WARM_ROWS = 400
SMALL = 0.02  # of a fit: compiling that took less is not worth another one


class Place(NamedTuple):
    """Where a cell is measured."""

    n_threads: int
    device: str = "cpu"


def warm_up(peer, place):
    """Have machine code made and libraries started, by fits of few rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(WARM_ROWS, 4)).astype(np.float32)
    columns = Columns(PEERS[peer].columns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for is_regression in (False, True):
            y = X[:, 0] + X[:, 1] ** 2 if is_regression else (X[:, 0] > 0).astype(int)
            rows = columns.fit_transform(X, y)
            PEERS[peer].new(Task(is_regression, 4, *_of(place)), {}).fit(rows, y).predict(columns.transform(X))


def _of(place, seed=0):
    return place.n_threads, seed, place.device


def measured(cell, place):
    """Scores, seconds and bytes."""
    peer, split = PEERS[cell.peer], split_of(cell.table, cell.split, validate=cell.rows == "validation")
    task = Task(split.is_regression, split.X.shape[1], *_of(place, cell.split))
    load, memory, watch = os.getloadavg()[0] if hasattr(os, "getloadavg") else None, PeakMemory(), Watch()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        choice = chosen(peer, task, split, EFFORTS[cell.effort])
        tuning = watch.lap("tune")
        model, columns, fitting = _warm_fit(peer, task, split, choice.settings)
        peak, watch = memory.bytes(), Watch()
        X_test = columns.transform(split.X_test)
        predicted = np.asarray(model.predict(X_test))
        predicting = watch.lap("predict")
        scores = judged(model, X_test, split.y_test, predicted, split.is_regression)
    if not np.isfinite(scores["error"]):
        raise ValueError("predictions are not finite")
    tried = {**tuning, "tried": choice.n_tried, "settings": _plain(choice.settings)} if cell.effort != DEFAULT else {}
    best = _plain(getattr(model, "best_params_", {}))
    result = {**scores, **fitting, **predicting, **tried, "bytes": _pickled_bytes(model), "peak": peak, "load": load}
    del model
    _release_memory()
    return result | ({"chosen": best} if best else {})


class Watch:
    """Seconds since it was made or last asked, by the clock and of all cores."""

    def __init__(self):
        self.start = time.perf_counter(), time.process_time()

    def lap(self, name):
        now = time.perf_counter(), time.process_time()
        clock, cpu = (last - first for first, last in zip(self.start, now, strict=True))
        self.start = now
        return {f"{name}_s": clock, f"{name}_cpu": cpu}


def _warm_fit(peer, task, split, settings):
    """A fitted model; where much had to be compiled, that of a second fit, which finds the machine code."""
    compiled = _CompileSeconds()
    logger = logging.getLogger("frugalsvm")
    logger.addHandler(compiled)
    logger.setLevel(logging.INFO)
    try:
        found = fitted(peer, task, split, settings)
    finally:
        logger.removeHandler(compiled)
    if compiled.total > SMALL * found[-1]["fit_s"]:
        return fitted(peer, task, split, settings)
    return found


class _CompileSeconds(logging.Handler):
    """Adds up what the library says of compiling."""

    total = 0.0

    def emit(self, record):
        if record.msg.startswith("Compiled"):
            self.total += record.args[-1]


def fitted(peer, task, split, settings):
    """A model of the training rows of a split, what prepares columns for it, and seconds."""
    watch = Watch()
    columns = Columns(peer.columns, has_one_unit=split.has_one_unit, is_regression=split.is_regression)
    X = columns.fit_transform(split.X, split.y)
    model = peer.new(task, settings)
    model.fit(X, split.y)
    return model, columns, watch.lap("fit")


class _Counter:
    """A file that keeps nothing but its length."""

    length = 0

    def write(self, data):
        self.length += len(memoryview(data).cast("B"))


def _pickled_bytes(model):
    counter = _Counter()
    try:
        pickle.Pickler(counter, protocol=5).dump(model)
    except (AttributeError, TypeError, ValueError, pickle.PicklingError):  # models in C++ that cannot be copied
        return None
    return counter.length


def _plain(settings):
    """Settings as JSON has them."""
    values = {name: value.item() if isinstance(value, np.generic) else value for name, value in settings.items()}
    return {
        name: value if isinstance(value, int | float | str | bool | None) else str(value)
        for name, value in values.items()
    }


def _release_memory():
    """What one peer leaves on a GPU is not there for the next."""
    gc.collect()
    if "torch" in sys.modules and sys.modules["torch"].cuda.is_available():
        sys.modules["torch"].cuda.empty_cache()
