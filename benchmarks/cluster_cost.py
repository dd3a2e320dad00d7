"""What training on many machines costs: ``python -m benchmarks.cluster_cost measure|tables``.

``measure`` takes the constants on this machine, and ``tables`` works out times from them, for the page
``docs/howto/dask_cost.rst``. Work is measured in processor seconds, so that a busy machine does not change it; what a
round costs beside work is measured on two worker processes and is the least of several times.

The model: n rows of d features on W workers of one core each, in partitions of a million rows (but one for each worker
at least). A round is the work on the rows of a worker, the scheduler's time for all tasks one after the other, and a
tree of joins whose every level moves what eight partitions tell and puts it together. Start and end are work of the
client alone.
"""

import argparse
import csv
import json
import math
import sys
import time
from pathlib import Path

import numpy as np
from distributed import Client, wait

from benchmarks.asset_data import split_of
from benchmarks.many_machines import cluster_of
from frugalsvm import BSGDClassifier
from frugalsvm.budgeted.model_averaging import combined
from frugalsvm.core.kernels import RBF
from frugalsvm.dask._cluster import Cluster
from frugalsvm.dask._preparing import Rows
from frugalsvm.dask._refit import Refit, rows_for
from frugalsvm.lowrank.backends.compiled import StoredRows
from frugalsvm.lowrank.backends.partition_sums import Iterate, moments_of, summed
from frugalsvm.lowrank.backends.partitions import PartitionedProblem, options_for
from frugalsvm.lowrank.losses import Hinge
from frugalsvm.lowrank.maps import raw_rows
from frugalsvm.lowrank.nystroem import new_nystroem
from frugalsvm.lowrank.options import Options
from frugalsvm.lowrank.problem import Problem
from frugalsvm.lowrank.whitening import MatrixWhitening

FOLDER = Path(__file__).parent.parent / "docs" / "measured"
CONSTANTS = FOLDER / "cluster_constants.json"
FAN_IN = 8
S, B = 512, 500
ROWS_PER_PARTITION = 10**6
ASSET_ROUNDS, CERTIFYING = 6, 1  # assumed: Newton steps (Covertype took 6), and a pass for the bound
BSGD_ROUNDS = 1  # max_iter=1: all rows once
HOPS, HOPS_OF_LEVEL = 6, 4  # messages that wait for each other: of a round, and of each level of its tree
NETWORK_LATENCY = 2e-4  # seconds of a message between machines
WORKER_MEMORY, KEPT_SHARE = 16e9, 0.3
NETWORK = 1.25e9  # bytes a second: 10 Gbit Ethernet, as far as the worker processes are not slower
ROWS, WORKERS = (10**6, 10**7, 10**8, 10**9, 10**10), (1, 2, 8, 32, 128, 512, 1000)


def seconds_of(work, times=3):
    """Least processor seconds of several times; the first, which may compile, does not count."""
    work()
    spent = []
    for _ in range(times):
        began = time.process_time()
        work()
        spent.append(time.process_time() - began)
    return min(spent)


def measure():
    X, y, *_ = split_of("covtype", 0)
    X, y = np.ascontiguousarray(X[:100_000], np.float32), y[:100_000]
    constants = asset_constants(X, y) | bsgd_constants(X, y) | cluster_constants()
    CONSTANTS.write_text(json.dumps(constants, indent=1) + "\n")
    print(json.dumps(constants, indent=1))


def asset_constants(X, y):
    n, rng = len(y), np.random.default_rng(0)
    landmarks = X[rng.choice(n, S, replace=False)]
    feature_map = new_nystroem(RBF(1.0), landmarks)
    features = np.empty((n, S), np.float32)
    begun = seconds_of(lambda: new_nystroem(RBF(1.0), landmarks), 1)
    each = {"asset_features": seconds_of(lambda: raw_rows(feature_map, X, features)) / n}
    targets = np.where(y == y.max(), 1, -1).astype(np.float32)[None]
    whitening, penalty = MatrixWhitening(feature_map.whitening), 1.0 / (3.0 * n)
    task = Problem(StoredRows(features), targets, np.ones(n, np.float32), Hinge(), penalty, whitening, True)
    blocks = [
        task._replace(
            rows=StoredRows(features[i : i + 8192]),
            targets=targets[:, i : i + 8192],
            weights=task.weights[i : i + 8192],
        )
        for i in range(0, n, 8192)
    ]
    parameters = np.zeros((1, whitening.n_features + 1))

    def moments(n_sampled):
        iterate = Iterate(0, parameters, 0.1, Options(), n_sampled / n, True)
        return moments_of(blocks, iterate, np.random.default_rng(0))

    def direction():
        whole = PartitionedProblem(task, None, n, penalty)
        hessian = whole.hessian(told, Options(), None)
        return hessian.directions(hessian, whole.gradient(parameters, told), 0.1, 1)

    n_sampled = options_for(S).sample * (S + 1)
    told = moments(n_sampled)
    each["asset_gradient"] = seconds_of(lambda: moments(0)) / n
    curvature = seconds_of(lambda: moments(n_sampled)) - n * each["asset_gradient"]
    return each | {
        "asset_curvature_row": max(curvature, 0.0) / n_sampled,
        "asset_join": seconds_of(lambda: summed([told] * FAN_IN)),
        "asset_bytes": int(told.curvatures.nbytes + told.slopes.nbytes + 100),
        "asset_client": seconds_of(direction),
        "asset_start": begun + 0.1,  # the map, and the first steps on a sample (measured on Covertype)
    }


def bsgd_constants(X, y):
    models = [
        BSGDClassifier(budget=B, gamma=8.0, alpha=1e-5, random_state=k).fit(X[k::FAN_IN], y[k::FAN_IN])
        for k in range(FAN_IN)
    ]
    parts = models[0]._parts()
    expansions = [model._expansion for model in models]

    def learn():
        BSGDClassifier(budget=B, gamma=8.0, alpha=1e-5, random_state=0).fit(X, y)

    def join():
        combined(parts.kernel, parts.loss, parts.schedule, expansions, B)

    return {
        "bsgd_learn": seconds_of(learn, 2) / len(y),
        "bsgd_join": seconds_of(join, 2),
        "bsgd_bytes": int(sum(array.nbytes for array in expansions[0])),
        "bsgd_client": bsgd_client(models[0], X, y),
    }


def bsgd_client(model, X, y):
    """Which of two models is better, new coefficients on a sample, and the accuracy on 10,000 rows."""
    labels = np.searchsorted(model.classes_, y).astype(np.int64)
    n_rows = rows_for(B, len(y), X.itemsize * X.shape[1])
    refit = Refit(Rows(0, X[:n_rows], labels[:n_rows], None, 0), len(model.classes_), 1e-5)
    learner = model.learners[0]

    def work():
        refit(refit.better(learner, learner))
        model.score(X[:10_000], y[:10_000])

    return seconds_of(work, 2)


def nothing(part, shared):
    return 0


def one_of(parts):
    return parts[0]


def empty_rounds(client):
    """Seconds of a round of tasks that do nothing: of any, and of each task more."""
    cluster, spent = Cluster(client), {}
    for n_partitions in (2, 256):
        sources, times = [(i,) for i in range(n_partitions)], []
        for _ in range(8):
            began = time.perf_counter()
            cluster.reduced(nothing, one_of, sources, cluster.broadcast(0))
            times.append(time.perf_counter() - began)
        spent[n_partitions] = min(times)
    per_task = (spent[256] - spent[2]) / (254 * (1 + 1 / FAN_IN))
    return {"round_latency": spent[2], "per_task": per_task}


def cluster_constants():
    """What empty rounds take, and bytes a second between two workers."""
    with cluster_of(2) as processes, Client(processes) as client:
        spent = empty_rounds(client)
        first, second = client.scheduler_info()["workers"]
        rates = []
        for number in range(4):
            sent = client.submit(np.full, 2**23, float(number), workers=[first], pure=False)
            wait(sent)
            began = time.perf_counter()
            wait(client.submit(np.size, sent, workers=[second], pure=False))
            rates.append(8 * 2**23 / (time.perf_counter() - began))
    return spent | {"bytes_per_second": max(rates)}


# --- the model ------------------------------------------------------------------------------------------------


def overhead(c, n_partitions, join, told, latency=NETWORK_LATENCY):
    """Seconds of a round beside the work on rows."""
    levels = max(math.ceil(math.log(n_partitions, FAN_IN) - 1e-9), 1)
    moved = (FAN_IN - 1) * told / min(c["bytes_per_second"], NETWORK)
    tasks = n_partitions * (1 + 1 / FAN_IN)
    waiting = (HOPS + levels * HOPS_OF_LEVEL) * latency
    return c["round_latency"] + tasks * c["per_task"] + levels * (moved + join) + waiting


def asset_seconds(c, n_rows, n_workers):
    n_partitions = max(n_workers, math.ceil(n_rows / ROWS_PER_PARTITION))
    own = n_rows / n_workers
    kept = 4 * S * own <= KEPT_SHARE * WORKER_MEMORY
    again = 0.0 if kept else own * c["asset_features"]  # features of a pass that were not kept
    n_passes = ASSET_ROUNDS + CERTIFYING
    passes = n_passes * c["asset_gradient"]
    options = options_for(S)
    per_feature = options.sample * (ASSET_ROUNDS - 1 + options.careful_sample)  # the last step is a careful one
    curvature = per_feature * (S + 1) * c["asset_curvature_row"] / n_workers
    work = own * (passes + c["asset_features"]) + n_passes * again + curvature
    beside = ASSET_ROUNDS * overhead(c, n_partitions, c["asset_join"], c["asset_bytes"])
    beside += CERTIFYING * overhead(c, n_partitions, 1e-4, 8 * (S + 1))
    return work + beside + ASSET_ROUNDS * c["asset_client"] + c["asset_start"]


def bsgd_seconds(c, n_rows, n_workers):
    # Fewer and larger partitions are better for BSGD: as many as there are workers.
    work = BSGD_ROUNDS * n_rows / n_workers * c["bsgd_learn"]
    return work + BSGD_ROUNDS * (overhead(c, n_workers, c["bsgd_join"], c["bsgd_bytes"]) + c["bsgd_client"])


def shown(seconds):
    for limit, unit, size in ((120, "s", 1), (7200, "min", 60), (2 * 86400, "h", 3600)):
        if seconds < limit:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 86400:.3g} d"


def pays_until(seconds, c, n_rows):
    """The largest number of workers whose speed-up is at least half of it."""
    alone, most = seconds(c, n_rows, 1), 1
    for n_workers in sorted({round(1.05**k) for k in range(1, 250)}):
        if alone / seconds(c, n_rows, n_workers) >= 0.5 * n_workers:
            most = n_workers
    return most


def tables():
    c = json.loads(CONSTANTS.read_text())
    for name, seconds in (("asset", asset_seconds), ("bsgd", bsgd_seconds)):
        lines = [["rows", *(f"{w:,} workers" if w > 1 else "1 worker" for w in WORKERS), "half of the speed-up at"]]
        for n_rows in ROWS:
            alone = seconds(c, n_rows, 1)
            times = [seconds(c, n_rows, w) for w in WORKERS]
            cells = [f"{shown(t)} ({alone / t:.3g}x)" for t in times]
            lines.append([f"10^{round(math.log10(n_rows))}", *cells, f"{pays_until(seconds, c, n_rows):,} workers"])
        with (FOLDER / f"cluster_{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows(lines)
        csv.writer(sys.stdout).writerows(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("measure", "tables"))
    {"measure": measure, "tables": tables}[parser.parse_args().what]()


if __name__ == "__main__":
    main()
