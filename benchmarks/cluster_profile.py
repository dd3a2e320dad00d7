"""Where the time of a training on Dask goes: ``python -m benchmarks.cluster_profile bsgd|asset [--workers N] ...``.

Every task of a fit is wrapped and tells the processor seconds of its thread; the rest of what worker processes take is
messages, graphs and copies, and what this process takes is the client and the scheduler. The same rows are learned
without Dask first, on one thread. Processor seconds do not change when the machine is busy with other things.
"""

import argparse
import json
import sys
import time
from collections import defaultdict
from importlib import import_module

import numpy as np
from distributed import Client, wait

from benchmarks.asset_data import split_of
from benchmarks.many_machines import cluster_of, divided
from frugalsvm import ASSETClassifier, BSGDClassifier
from frugalsvm.dask import DaskASSETClassifier, DaskBSGDClassifier
from frugalsvm.dask._cluster import Cluster
from frugalsvm.datasets import make_checkerboard

SPENT = defaultdict(lambda: [0, 0.0])  # by the name of a task, in a worker: how often, and seconds


class Timed:
    """A function that adds the processor seconds of its thread to what was spent."""

    def __init__(self, function):
        self._function = function
        self.__name__ = function.__name__

    def __call__(self, *arguments):
        began = time.thread_time()
        try:
            return self._function(*arguments)
        finally:
            asked = getattr(arguments[-1], "__name__", "")  # of partitions, by a function
            spent = SPENT[f"{self.__name__} {asked}".replace("_", " ").strip()]
            spent[0] += 1
            spent[1] += time.thread_time() - began


def wrap_tasks():
    """From now on, all functions that rounds are made of are timed."""
    lazy, tree = Cluster.lazy, Cluster._tree
    Cluster.lazy = lambda self, function, sources, *shared: lazy(self, Timed(function), sources, *shared)
    Cluster._tree = lambda self, nodes, join: tree(self, nodes, Timed(join))


def taken():
    """What was spent here since the last time, and the processor seconds of this process."""
    found = {name: tuple(spent) for name, spent in SPENT.items()}
    SPENT.clear()
    return found, time.process_time()


def case_of(arguments):
    """An ordinary estimator, the same on Dask, rows to learn and rows to test."""
    if arguments.learner == "bsgd":
        rows = make_checkerboard(arguments.rows, random_state=0) + make_checkerboard(200_000, random_state=99)
        X, y, X_test, y_test = (part.astype(np.float32) if part.ndim == 2 else part for part in rows)
        settings = {"budget": arguments.size or 100, "gamma": 5.0, "alpha": 1e-6, "random_state": 0}
        extra = json.loads(arguments.settings)
        return BSGDClassifier(**settings), DaskBSGDClassifier(**settings, **extra), X, y, X_test, y_test
    X, y, X_test, y_test = split_of("covtype", 0)
    settings = {"n_components": arguments.size or 512, "C": 3.0, "gamma": 1.0, "random_state": 0}
    extra = json.loads(arguments.settings)
    return ASSETClassifier(**settings), DaskASSETClassifier(**settings, **extra), X, y, X_test, y_test


def alone(model, X, y):
    model.fit(X[:20_000], y[:20_000])
    began = time.process_time()
    model.fit(X, y)
    return time.process_time() - began


def on_dask(model, X, y, n_workers, n_partitions):
    """Seconds of workers by task, of workers in all, of this process, and by the clock."""
    with cluster_of(n_workers, memory_limit="9GB") as cluster, Client(cluster) as client:
        model.set_params(client=client).fit(*divided(X[:20_000], y[:20_000], 2))
        rows = client.persist(list(divided(X, y, n_partitions)))
        wait(rows)
        before = client.run(taken)
        own, clock = time.process_time(), time.perf_counter()
        model.fit(*rows)
        clock, own = time.perf_counter() - clock, time.process_time() - own
        after = client.run(taken)
    tasks = defaultdict(lambda: [0, 0.0])
    for found, _ in after.values():
        for name, (n, seconds) in found.items():
            tasks[name][0] += n
            tasks[name][1] += seconds
    return tasks, sum(after[w][1] - before[w][1] for w in after), own, clock


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("learner", choices=("bsgd", "asset"))
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--rows", type=int, default=4_000_000, help="of the checkerboard, for bsgd")
    parser.add_argument("--size", type=int, default=None, help="budget or number of landmarks")
    parser.add_argument("--settings", default="{}", help="more parameters of the estimator on Dask, as JSON")
    arguments = parser.parse_args()
    wrap_tasks()
    ordinary, model, X, y, X_test, y_test = case_of(arguments)
    seconds = alone(ordinary, X, y)
    print(f"without Dask: {seconds:.2f} s, accuracy {100 * ordinary.score(X_test, y_test):.2f} %", flush=True)
    tasks, workers, own, clock = on_dask(model, X, y, arguments.workers, arguments.partitions)
    accuracy = 100 * model.to_local().score(X_test, y_test)
    print(f"{arguments.workers} workers: {clock:.2f} s by the clock, {model.n_iter_} rounds, accuracy {accuracy:.2f} %")
    for name, (n, spent) in sorted(tasks.items(), key=lambda item: -item[1][1]):
        print(f"  {name:24s} {n:4d} tasks {spent:8.3f} s")
    print(f"  {'workers beside tasks':24s}            {workers - sum(spent for _, spent in tasks.values()):8.3f} s")
    print(f"  {'client and scheduler':24s}            {own:8.3f} s")


if __name__ == "__main__":
    # Workers find what was spent in the module of this name, not in that of a script.
    sys.exit(import_module("benchmarks.cluster_profile").main())
