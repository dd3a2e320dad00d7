"""Streams, prequential: each row is predicted, and then learned, in the given order and in one pass.

Learners of river are those that people take for streams that change. Ours are a pipeline row by row, and the same with
a block of rows predicted at a time, as a service would: there, too, no row is learned before it is predicted.
"""

import pickle
import time
from typing import NamedTuple

import numpy as np
from rich.console import Console

from benchmarks.comparison.results import Results, machine_here, today, written
from frugalsvm.datasets import DriftStream, fetch

__all__ = ["LEARNERS", "STREAMS", "measured", "run"]

N_ROWS = 40_000
BLOCK = 100


def _drifting(name, drift):
    return lambda seed: DriftStream(name, drift, changes=10_000, random_state=seed).take(N_ROWS)


def _elec2(seed):
    data = fetch("elec2")
    return np.asarray(data.X_train, np.float32), data.y_train


# Fixed before any was measured. Each has a function from a seed to rows and labels.
STREAMS = {
    "elec2": _elec2,
    "SEA, abrupt": _drifting("sea", "abrupt"),
    "SEA, gradual": _drifting("sea", "gradual"),
    "hyperplane, incremental": _drifting("hyperplane", "incremental"),
    "moving clouds, incremental": _drifting("moving_rbf", "incremental"),
    "rotating checkerboard, incremental": _drifting("rotating_checkerboard", "incremental"),
    "checkerboard, recurring": _drifting("checkerboard", "recurring"),
}


class Learner(NamedTuple):
    label: str
    new: object  # a function of a seed
    way: object  # how it sees a stream: a function of a model, rows and labels to the share that was predicted


def _ours(seed):
    from frugalsvm import BSGDClassifier
    from frugalsvm.pipelines import StreamPipeline

    return StreamPipeline(BSGDClassifier(random_state=seed))


def _river(module, name, **options):
    def new(seed):
        from importlib import import_module

        return getattr(import_module(f"river.{module}"), name)(seed=seed, **options)

    return new


def _logistic(seed):
    from river import linear_model, preprocessing

    return preprocessing.StandardScaler() | linear_model.LogisticRegression()


def by_rows(model, X, y):
    model.partial_fit(X[:1], y[:1], classes=np.unique(y))
    right = 0
    for row, label in zip(X[1:], y[1:], strict=True):
        right += model.predict_one_row(row) == label
        model.learn_one_row(row, label)
    return right / (len(y) - 1)


def by_blocks(model, X, y):
    model.partial_fit(X[:1], y[:1], classes=np.unique(y))
    right = 0
    for start in range(1, len(y), BLOCK):
        rows, labels = X[start : start + BLOCK], y[start : start + BLOCK]
        right += (model.predict(rows) == labels).sum()
        model.partial_fit(rows, labels)
    return right / (len(y) - 1)


def of_river(model, X, y):
    names, right = [f"x{place}" for place in range(X.shape[1])], 0
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        row = dict(zip(names, row, strict=True))
        right += model.predict_one(row) == label
        model.learn_one(row, label)
    return right / len(y)


LEARNERS = {
    "pipeline": Learner("StreamPipeline(BSGDClassifier())", _ours, by_rows),
    "pipeline-blocks": Learner(f"the pipeline, {BLOCK} rows at a time", _ours, by_blocks),
    "logistic": Learner("river: logistic regression", _logistic, of_river),
    "hatc": Learner("river: Hoeffding adaptive tree", _river("tree", "HoeffdingAdaptiveTreeClassifier"), of_river),
    "arf": Learner("river: adaptive random forest", _river("forest", "ARFClassifier"), of_river),
    "srp": Learner("river: streaming random patches", _river("ensemble", "SRPClassifier"), of_river),
}


def measured(stream, name, seed=0):
    """Accuracy in percent, CPU microseconds of a row, and bytes of the pickled model."""
    X, y = STREAMS[stream](seed)
    y = np.unique(y, return_inverse=True)[1]
    learner = LEARNERS[name]
    learner.way(learner.new(seed), X[:500], y[:500])  # machine code and libraries are there
    model = learner.new(seed)
    start = time.process_time()
    right = learner.way(model, X, y)
    seconds = time.process_time() - start
    return {
        "stream": stream, "peer": name, "label": learner.label, "seed": seed, "rows": len(y),
        "accuracy": 100 * float(right), "row_us": 1e6 * seconds / len(y), "bytes": len(pickle.dumps(model)),
    }  # fmt: skip


def run(options, end):
    """All that have no result yet, those that take less time first."""
    console = Console(width=140)
    known = Results(options.to) if options.again else Results.kept()
    known.read(options.to)
    machine = machine_here(1, 1, options.note)
    if machine["machine"] not in Results(options.to).machines:
        written(options.to, machine)
    for name in options.learners or LEARNERS:
        for stream in STREAMS:
            if (stream, name, 0) in known.streams:
                continue
            if time.monotonic() > end:
                console.print("The time is over: the same command continues.")
                return
            try:
                row = measured(stream, name)
            except ImportError as error:
                console.print(f"{LEARNERS[name].label}: not measured, because {error}: pip install river")
                break
            written(options.to, {**row, "machine": machine["machine"], "date": today()})
            console.print(
                f"{stream}, {row['label']}: {row['accuracy']:.2f} %, {row['row_us']:.1f} us, {row['bytes']:,} B"
            )
