"""Dask against one machine: ``python -m benchmarks.many_machines accuracy|speed|faults|memory [NAME ...]``.

``accuracy``: the same rows in 2, 4 and 8 partitions against the ordinary estimator. The result depends on the
partitions and not on the workers, so that one worker stands for all; ``--workers`` has as many worker processes as
there are partitions. One machine is the mean of three seeds; ASSET is also compared on one machine with the same
landmarks, whose luck makes most of the differences.
``speed``: one and two worker processes on data that is in their memory already.
``faults``: a worker process is killed in every round; the model must be the same to the last bit.
``memory``: Parquet files of several times the workers' memory limit.
"""

import argparse
import os
import signal
import sys
import tempfile
import threading
import time
from functools import partial
from pathlib import Path

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait
from rich.console import Console

from benchmarks.asset_data import split_of as asset_split
from benchmarks.cases import Case, scaled, split_of
from benchmarks.printing import table
from frugalsvm import ASSETClassifier, BSGDClassifier
from frugalsvm.dask import DaskASSETClassifier, DaskBSGDClassifier
from frugalsvm.datasets import load, make_checkerboard

PARTITIONS = (2, 4, 8)
SINGLE_SEEDS = (0, 1, 2)

ASSET_CASES = {
    "a9a": {"C": 1000.0, "gamma": 0.001},
    "ijcnn1": {"C": 100.0, "gamma": 1.0},
    "covtype": {"C": 3.0, "gamma": 1.0},
    "mnist": {"C": 10.0, "gamma": 0.02},
}
BSGD_CASES = {
    "a9a": {"gamma": 0.163, "alpha": 1e-4},
    "ijcnn1": {"gamma": 0.182, "alpha": 3.16e-5},
    "covtype": {"gamma": 8.0, "alpha": 1e-5},
    "mnist": {"gamma": 0.02, "alpha": 1e-5},
}
BSGD_SCALING = {"a9a": "range", "ijcnn1": "standard", "mnist": "pixels"}


def rows_of(family, name):
    """Training and test rows of a case."""
    if name == "mnist":
        (X, y), (X_test, y_test) = load(name, "train"), load(name, "test")
        X, X_test = scaled("pixels", X.astype(np.float32), X_test.astype(np.float32))
        return X, y, X_test, y_test
    if family == "asset" or name == "covtype":
        return asset_split(name, 0)
    case = Case(name, name, BSGD_SCALING[name], 500, 0.0, 0.0)
    return tuple(split_of(case))


def families(components=512, budget=500):
    """Pairs of makers, ordinary and on Dask, with their cases."""
    return {
        "asset": (
            partial(ASSETClassifier, n_components=components),
            partial(DaskASSETClassifier, n_components=components),
            ASSET_CASES,
        ),
        "bsgd": (partial(BSGDClassifier, budget=budget), partial(DaskBSGDClassifier, budget=budget), BSGD_CASES),
    }


def divided(X, y, n_partitions):
    """Dask arrays of so many chunks, in random order."""
    order = np.random.default_rng(7).permutation(len(y))
    n_rows = -(-len(y) // n_partitions)
    return da.from_array(X[order], chunks=(n_rows, -1)), da.from_array(y[order], chunks=n_rows)


def cluster_of(n_workers, *, processes=True, **options):
    dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"})  # a killed worker takes its time to come back
    options = {"threads_per_worker": 1, "dashboard_address": ":0", **options}
    return LocalCluster(n_workers=n_workers, processes=processes, **options)


def timed(work):
    began = time.perf_counter()
    result = work()
    return result, time.perf_counter() - began


class WithMap(ASSETClassifier):
    """The ordinary estimator with landmarks that are given: their luck is larger than the other differences."""

    def with_map(self, feature_map):
        self._given = feature_map
        return self

    def _new_map(self, candidates, sparse, *, for_device=False):
        return self._given


def with_same_landmarks(model, cases, X, y):
    """The ordinary estimator, trained on one machine with the landmarks of a model from Dask."""
    ordinary = WithMap(n_components=model.n_components, random_state=0, **cases)
    return ordinary.with_map(model.to_local()._map).fit(X, y)


def accuracy(names, console, *, as_many_workers):
    for family, (ordinary, on_dask, cases) in families().items():
        shown = table(f"{family}: test accuracy in %", "data", "one machine", *(f"{p} partitions" for p in PARTITIONS))
        for name in names or cases:
            X, y, X_test, y_test = rows_of(family, name)
            fitted = [ordinary(random_state=seed, **cases[name]).fit(X, y) for seed in SINGLE_SEEDS]
            single = np.array([100 * model.score(X_test, y_test) for model in fitted])
            cells = []
            for n_partitions in PARTITIONS:
                n_workers = n_partitions if as_many_workers else 1
                with (
                    cluster_of(n_workers, processes=as_many_workers, memory_limit="6GB") as cluster,
                    Client(cluster) as client,
                ):
                    model = on_dask(random_state=0, client=client, **cases[name])
                    _, seconds = timed(partial(model.fit, *divided(X, y, n_partitions)))
                    reached = 100 * model.to_local().score(X_test, y_test)
                told = f"{reached:.2f} ({reached - single.mean():+.2f}; "
                if family == "asset":
                    same = 100 * with_same_landmarks(model, cases[name], X, y).score(X_test, y_test)
                    told += f"same landmarks {reached - same:+.2f}; "
                cells.append(f"{told}{model.n_iter_} rounds, {seconds:.0f} s)")
                console.print(f"{family} {name} {n_partitions}: {cells[-1]}", highlight=False)
            shown.add_row(name, f"{single.mean():.2f} [{single.min():.2f}, {single.max():.2f}]", *cells)
        console.print(shown)


def covtype_asset():
    X, y, *_ = asset_split("covtype", 0)
    return "covtype ASSET s=512", DaskASSETClassifier(n_components=512, C=3.0, gamma=1.0, random_state=0), X, y


def checkerboard_bsgd(n_rows=20_000_000):
    X, y = make_checkerboard(n_rows, random_state=0)
    model = DaskBSGDClassifier(budget=100, gamma=5.0, alpha=1e-6, random_state=0, max_iter=1)
    return f"checkerboard {n_rows / 1e6:g} M BSGD B=100", model, X.astype(np.float32), y


SPEED_CASES = {"asset": covtype_asset, "bsgd": checkerboard_bsgd}


def processor_seconds(client):
    """Those of this process, scheduler and client, and those of all workers."""
    return time.process_time(), sum(client.run(time.process_time).values())


def speed(console, names=()):
    """Training time with data in the workers' memory, one worker against two, after a run that loads machine code.

    On a machine that is busy with other things, processor seconds tell more: if ``c`` are those of the client and ``w``
    those of the workers, two workers are at most ``(c + w) / (c + w / 2)`` times as fast.
    """
    columns = ("1 worker", "2 workers", "times as fast", "processor s: client, workers", "by these")
    shown = table("seconds of fit", "data", *columns)
    for name, make in SPEED_CASES.items():
        if names and name not in names:
            continue
        (title, model, X, y), seconds, spent = make(), [], []
        for n_workers in (1, 2):
            with cluster_of(n_workers, memory_limit="9GB") as cluster, Client(cluster) as client:
                few = divided(X[:20_000], y[:20_000], 2)
                model.set_params(client=client).fit(*few)
                rows = client.persist(list(divided(X, y, 4)))
                wait(rows)
                before = processor_seconds(client)
                seconds.append(timed(partial(model.fit, *rows))[1])
                spent.append(np.subtract(processor_seconds(client), before))
                told = f"{seconds[-1]:.1f} s, processor: client {spent[-1][0]:.1f} s, workers {spent[-1][1]:.1f} s"
                console.print(f"{title}, {n_workers} workers: {told}", highlight=False)
        (c, w), (c2, w2) = spent
        by_these = f"{(c + w) / (c2 + w2 / 2):.2f}"
        ratio = f"{seconds[0] / seconds[1]:.2f}"
        shown.add_row(title, *(f"{s:.1f}" for s in seconds), ratio, f"{c2:.1f}, {w2:.1f}", by_these)
    console.print(shown)


class Killer:
    """Kills a worker process in the middle of every round, once it is back from the round before."""

    def __init__(self, cluster, delay=0.05):
        self._cluster, self._delay = cluster, delay
        self._timer = None
        self._killed = {None}

    def __call__(self, figures):
        if self._timer is not None:
            self._timer.join()
        deadline = time.monotonic() + 60
        victim = list(self._cluster.workers.values())[-1]
        # A worker that is killed while it starts does not come back.
        while time.monotonic() < deadline and (victim.pid in self._killed or len(self._cluster.scheduler.workers) < 2):
            time.sleep(0.05)
        self._timer = threading.Timer(self._delay, self._kill, [victim])
        self._timer.start()

    def _kill(self, victim):
        if victim.pid:
            self._killed.add(victim.pid)
            os.kill(victim.pid, signal.SIGKILL)

    @property
    def n_killed(self):
        return len(self._killed) - 1


def faults(console):
    """Models with and without a worker that is killed in every round."""
    X, y = make_checkerboard(200_000, random_state=0)
    for name, model in (
        ("ASSET", DaskASSETClassifier(n_components=256, C=10.0, gamma=8.0, random_state=0)),
        ("BSGD", DaskBSGDClassifier(budget=100, gamma=8.0, alpha=1e-5, random_state=0, max_iter=5)),
    ):
        scores = []
        for kills in (False, True):
            with cluster_of(2, silence_logs=50) as cluster, Client(cluster) as client:
                killer = Killer(cluster)
                model.set_params(client=client)
                _, seconds = timed(partial(model.fit, *divided(X, y, 4), callback=killer if kills else None))
                scores.append(model.to_local().decision_function(X[:10_000]))
                told = f"{name}: {model.n_iter_} rounds, {killer.n_killed} workers killed, {seconds:.1f} s"
                console.print(told, highlight=False)
        console.print(f"{name}: the same to the last bit: {np.array_equal(*scores)}")


def most_memory(client):
    """The largest resident size that each worker process has had, in MB."""
    import resource

    found = client.run(lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
    return list(found.values())


def memory(console, limit="1GB", times=5.0):
    """Training from Parquet files that are several times as large as the memory limit of a worker."""
    import dask.dataframe as dd
    import pandas as pd

    limit_bytes = dask.utils.parse_bytes(limit)
    n_workers, n_features, rows_per_file = 2, 100, 25_000
    n_files = int(np.ceil(times * limit_bytes / (8 * n_features * rows_per_file)))
    with tempfile.TemporaryDirectory() as folder:
        weights = np.random.default_rng(0).normal(size=n_features)
        for number in range(n_files):
            X = np.random.default_rng([1, number]).normal(size=(rows_per_file, n_features))
            frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(n_features)])
            frame["label"] = (X @ weights + np.abs(X[:, 0]) > 0).astype(int)
            frame.to_parquet(Path(folder) / f"part-{number:04d}.parquet")
        console.print(f"{n_files} files, {8 * n_features * rows_per_file * n_files / 2**30:.1f} GiB of float64 rows")
        with cluster_of(n_workers, memory_limit=limit) as cluster, Client(cluster) as client:
            frame = dd.read_parquet(folder)
            X, y = frame.drop(columns="label"), frame["label"]
            for name, model in (
                ("BSGD", DaskBSGDClassifier(budget=50, max_iter=1, random_state=0, client=client)),
                ("ASSET", DaskASSETClassifier(n_components=64, max_iter=1, random_state=0, client=client)),
            ):
                _, seconds = timed(partial(model.fit, X, y))
                on_disk = client.run(lambda dask_worker: len(getattr(dask_worker.data, "disk", None) or ()))
                accuracy = model.history_[-1]["accuracy"]
                told = f"{name}: {seconds:.0f} s, validation accuracy {accuracy:.4f}, most memory {most_memory(client)}"
                console.print(f"{told}, values on disk {list(on_disk.values())}", highlight=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("accuracy", "speed", "faults", "memory"))
    parser.add_argument("names", nargs="*", help="data, for accuracy; asset or bsgd, for speed")
    parser.add_argument("--workers", action="store_true", help="as many workers as partitions")
    arguments = parser.parse_args()
    console = Console(file=sys.stdout, width=160)
    if arguments.what == "accuracy":
        accuracy(arguments.names, console, as_many_workers=arguments.workers)
    elif arguments.what == "speed":
        speed(console, arguments.names)
    else:
        {"faults": faults, "memory": memory}[arguments.what](console)


if __name__ == "__main__":
    main()
