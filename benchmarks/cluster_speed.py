"""One local thread against workers of a Dask cluster: ``python -m benchmarks.cluster_speed [--workers 1 2 4 8] ...``.

Rows are made or read inside the workers, and stay in their memory; the same rows are learned without Dask, by one
thread. Covertype comes from `frugalsvm.datasets`; ``--data forest`` makes rows of the same shape. A fit on few rows
comes first, so that machine code is loaded. Times are the least of some repetitions, from rows in memory to
a model, and the accuracy on test rows stands beside each. All numbers of workers get the same partitions, and so the
same model. ASSET and BSGD without Dask, and tasks of workers, take one thread each; the client takes the cores that no
worker has, unless ``OMP_NUM_THREADS`` is 1.

The COST of a distributed system is the number of workers that it takes to beat one thread (McSherry, Isard and Murray,
"Scalability! But at what COST?", HotOS 2015).

``--bars`` measures what a cluster must reach, each case with the number of workers that its bar is for: some two
minutes on 16 cores. ``--data forest --bars`` does without Covertype.
"""

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from dask import delayed
from distributed import Client, wait

from benchmarks.asset_data import CASES, kept_split_of
from benchmarks.many_machines import cluster_of
from frugalsvm import ASSETClassifier, BSGDClassifier, LocalSVC
from frugalsvm.dask import DaskASSETClassifier, DaskBSGDClassifier, DaskLocalSVC
from frugalsvm.datasets import make_checkerboard

N_TEST, N_WARM, TEST_SEED = 200_000, 20_000, 10**6
BUMPS, NOISE = 20, 0.1


def checkerboard(seed, n_rows):
    X, y = make_checkerboard(n_rows, random_state=seed)
    return X.astype(np.float32), y


def forest_like(seed, n_rows):
    """Rows with the shape of Covertype: ten numbers, and one of 4 and one of 40 categories as 0 and 1."""
    centers = np.random.default_rng(0)
    bumps, signs = centers.uniform(size=(BUMPS, 3)), centers.choice([-1.0, 1.0], size=BUMPS)
    tilt = centers.normal(size=44) * 0.3
    rng = np.random.default_rng([1, seed])
    X = np.zeros((n_rows, 54), np.float32)
    X[:, :10] = rng.uniform(size=(n_rows, 10))
    X[np.arange(n_rows), 10 + rng.integers(4, size=n_rows)] = 1.0
    X[np.arange(n_rows), 14 + rng.integers(40, size=n_rows)] = 1.0
    told = X[:, :3]  # the other numbers matter little
    squares = np.square(told).sum(axis=1)[:, None] + np.square(bumps).sum(axis=1) - 2.0 * told @ bumps.T
    values = np.exp(-8.0 * squares) @ (signs - signs.mean()) + 0.2 * X[:, 10:] @ tilt
    y = (values > 0) ^ (rng.uniform(size=n_rows) < NOISE)
    return X, y.astype(np.int64)


def covertype(seed, n_rows):
    """The rows of one partition, or the first test rows."""
    X, y, X_test, y_test = kept_split_of("covtype", 0)
    if seed == TEST_SEED:
        return X_test[:n_rows], y_test[:n_rows]
    part = slice(seed * n_rows, (seed + 1) * n_rows)
    return X[part].copy(), y[part].copy()


class Case(NamedTuple):
    title: str
    rows: Callable
    n_rows: int
    alone: Any
    on_dask: Any
    partitions: int | None = None  # None: what was asked for
    workers: tuple[int, ...] | None = None
    bar: float = 0.0  # times one thread, at least


LEARNERS = ["bsgd", "asset", "cells"]
ROWS_OF = {"covtype": covertype, "forest": forest_like}


def cases(arguments):
    bsgd = {"budget": 100, "gamma": 5.0, "alpha": 1e-6, "random_state": 0, "max_iter": 1}
    if arguments.bars:
        yield from bar_cases(arguments)
        return
    if "bsgd" in arguments.learners:
        title = f"BSGD, checkerboard {arguments.rows:,} rows, B=100"
        yield Case(title, checkerboard, arguments.rows, BSGDClassifier(**bsgd), DaskBSGDClassifier(**bsgd))
    if "asset" in arguments.learners:
        yield from asset_cases(arguments)
    if "cells" in arguments.learners:
        yield from cell_cases(arguments)


def asset_cases(arguments):
    for size in arguments.sizes:
        asset = {"n_components": size, "C": 3.0, "gamma": 1.0, "random_state": 0}
        title = f"ASSET, {arguments.data}, {arguments.asset_rows:,} rows, s={size}"
        local, on_dask = ASSETClassifier(**asset), DaskASSETClassifier(**asset)
        yield Case(title, ROWS_OF[arguments.data], arguments.asset_rows, local, on_dask)


def bar_cases(arguments):
    """What must be reached; the first with as many rounds as there are by default."""
    bsgd = {"budget": 100, "gamma": 5.0, "alpha": 1e-6, "random_state": 0}
    for n_rows, n_workers, bar, more in ((arguments.rows // 2, 2, 1.0, {}), (arguments.rows, 8, 5.0, {"max_iter": 1})):
        title = f"BSGD, checkerboard {n_rows:,} rows, B=100"
        local, on_dask = BSGDClassifier(**bsgd), DaskBSGDClassifier(**bsgd, **more)
        yield Case(title, checkerboard, n_rows, local, on_dask, max(4, n_workers), (n_workers,), bar)
    for case, bar in zip(asset_cases(arguments), (5.0, 4.0), strict=False):
        yield case._replace(partitions=8, workers=(8,), bar=bar)


def cell_cases(arguments):
    """Cells with gamma and C that are given, and with those that are chosen."""
    for title, others in (("", {"C": 100.0, "gamma": 30.0}), (", chosen gamma and C", {})):
        settings = {"cell_size": arguments.cell_size, "calibrate": None, "random_state": 0, **others}
        title = f"cells of {arguments.cell_size:,}, {arguments.data}, {arguments.asset_rows:,} rows{title}"
        local, on_dask = LocalSVC(**settings), DaskLocalSVC(**settings)
        yield Case(title, ROWS_OF[arguments.data], arguments.asset_rows, local, on_dask)


def timed(fit, repeats):
    """Seconds by the clock, each time."""
    spent = []
    for _ in range(repeats):
        began = time.perf_counter()
        fit()
        spent.append(time.perf_counter() - began)
    return spent


def first(pair):
    return pair[0]


def second(pair):
    return pair[1]


def partitions(client, rows, n_rows, n_partitions):
    """Futures of rows and of labels, made by the workers."""
    pairs = [delayed(rows)(seed, n_rows // n_partitions) for seed in range(n_partitions)]
    X, y = (client.persist([delayed(part)(pair) for pair in pairs]) for part in (first, second))
    wait([X, y])
    return X, y


def alone(case, arguments, test):
    n_partitions = case.partitions or arguments.partitions
    parts = [case.rows(seed, case.n_rows // n_partitions) for seed in range(n_partitions)]
    X, y = (np.concatenate(each) for each in zip(*parts, strict=True))
    del parts
    case.alone.fit(X[:N_WARM], y[:N_WARM])
    spent = timed(lambda: case.alone.fit(X, y), arguments.repeats)
    return {"seconds": min(spent), "all": spent, "accuracy": 100 * case.alone.score(*test)}


def on_workers(case, n_workers, arguments, test):
    model = case.on_dask
    with cluster_of(n_workers, memory_limit=arguments.memory) as cluster, Client(cluster) as client:
        model.set_params(client=client)
        model.fit(*partitions(client, case.rows, N_WARM, max(n_workers, 2)))
        X, y = partitions(client, case.rows, case.n_rows, case.partitions or arguments.partitions)
        before = sum(client.run(time.process_time).values()), time.process_time()
        spent = timed(lambda: model.fit(X, y), arguments.repeats)
        after = sum(client.run(time.process_time).values()), time.process_time()
        workers, own = (float(b - a) / arguments.repeats for a, b in zip(before, after, strict=True))
    found = {"seconds": min(spent), "all": spent, "accuracy": 100 * model.to_local().score(*test)}
    return found | {"rounds": model.n_iter_, "processor_workers": workers, "processor_client": own}


def show(title, name, found, local, bar=0.0):
    ratio = f", {local['seconds'] / found['seconds']:.2f} times one thread" if found is not local else ""
    ratio += f" (bar {bar:g})" if bar else ""
    rounds = f", {found['rounds']} rounds" if "rounds" in found else ""
    told = f"{title}: {name}: {found['seconds']:.2f} s, {found['accuracy']:.2f} %{rounds}{ratio}"
    print(told, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bars", action="store_true", help="only the cases that have a bar, with its workers")
    parser.add_argument("--learners", nargs="+", choices=LEARNERS, default=LEARNERS)
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2, 4, 8])
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--rows", type=int, default=20_000_000, help="of the checkerboard, for BSGD")
    parser.add_argument("--data", choices=sorted(ROWS_OF), default="covtype", help="for ASSET and cells")
    parser.add_argument("--asset-rows", type=int, default=CASES["covtype"].n_train // 8 * 8)
    parser.add_argument("--sizes", nargs="+", type=int, default=[512, 2048], help="numbers of landmarks of ASSET")
    parser.add_argument("--cell-size", type=int, default=2048)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--memory", default="14GB", help="limit of a worker")
    parser.add_argument("--output", type=Path, default=None, help="a JSON file; it grows after every case")
    arguments = parser.parse_args()
    results = {"machine": platform.machine(), "cores": os.cpu_count(), "cases": {}}
    for case in cases(arguments):
        test = case.rows(TEST_SEED, N_TEST)
        found = results["cases"][case.title] = {"local": alone(case, arguments, test)}
        show(case.title, "one thread", found["local"], found["local"])
        for n_workers in case.workers or arguments.workers:
            found[str(n_workers)] = on_workers(case, n_workers, arguments, test)
            show(case.title, f"{n_workers} workers", found[str(n_workers)], found["local"], case.bar)
            if arguments.output is not None:
                arguments.output.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
