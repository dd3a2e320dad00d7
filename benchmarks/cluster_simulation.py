"""The model of cost against many workers with real messages: ``python -m benchmarks.cluster_simulation``.

Workers speak TCP with a real scheduler, and every message waits before it is sent, as if there were a network. The
rounds are those of `frugalsvm.dask`: tasks, trees and values of their true sizes; only the work on rows is replaced by
sleeping for as long as it would take. So a few cores can stand for 64 machines.

Workers are threads of one process, unless ``--processes`` is given. What threads cannot do is to run 64 workers at a
time: all share one Python interpreter, and the price of a task, which is measured beforehand in the same way, is higher
than that of workers in processes of their own. Those need some more cores, and 0.2 GB of memory each.
"""

import argparse
import asyncio
import json
import statistics
import sys
import time
from contextlib import contextmanager

import numpy as np
from distributed import Client
from distributed.comm.tcp import TCP

from benchmarks.cluster_cost import ASSET_ROUNDS, CONSTANTS, empty_rounds, overhead
from benchmarks.many_machines import cluster_of
from frugalsvm.dask._cluster import Cluster

LATENCIES = (0.0, 0.002)  # seconds of a message: none but that of this machine, and a slow network
WORK = 0.25  # seconds of a worker in a round


_SENT = TCP.write


def set_latency(seconds):
    """Messages of this process wait before they are sent."""

    async def late(comm, *arguments, **more):
        await asyncio.sleep(seconds)
        return await _SENT(comm, *arguments, **more)

    TCP.write = late if seconds else _SENT


@contextmanager
def network(latency, client):
    """Messages of all processes wait."""
    client.run(set_latency, latency)
    set_latency(latency)
    try:
        yield
    finally:
        set_latency(0.0)
        client.run(set_latency, 0.0)


class Working:
    """Tells so many bytes after so many seconds."""

    __name__ = "working"

    def __init__(self, seconds, n_bytes):
        self._seconds, self._n_bytes = seconds, n_bytes

    def __call__(self, part, shared):
        time.sleep(self._seconds)
        return np.zeros(self._n_bytes, np.uint8)


class Joining:
    """One of several, after so many seconds."""

    __name__ = "joining"

    def __init__(self, seconds):
        self._seconds = seconds

    def __call__(self, parts):
        time.sleep(self._seconds)
        return parts[0]


def simulated(client, n_workers, rounds, join, told):
    """Seconds of a round, the median of some."""
    cluster, sources, spent = Cluster(client), [(i,) for i in range(n_workers)], []
    for _ in range(rounds + 1):
        began = time.perf_counter()
        cluster.reduced(Working(WORK, told), Joining(join), sources, cluster.broadcast(0))
        spent.append(time.perf_counter() - began)
    return statistics.median(spent[1:])  # connections are opened in the first


def cases(c):
    return {"ASSET, s=512": (c["asset_join"], c["asset_bytes"]), "BSGD, B=500": (c["bsgd_join"], c["bsgd_bytes"])}


def compare(n_workers, latency, processes):
    """A line for each learner: what a round takes in the simulation, and what the model says."""
    c = json.loads(CONSTANTS.read_text())
    with (
        cluster_of(n_workers, processes=processes, protocol="tcp://", memory_limit=0) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(n_workers)
        c |= empty_rounds(client)
        with network(latency, client):
            for name, (join, told) in cases(c).items():
                took = simulated(client, n_workers, ASSET_ROUNDS, join, told)
                said = WORK + overhead(c, n_workers, join, told, latency)
                print(
                    f"{name}, {n_workers} workers, {1e3 * latency:g} ms a message: {took:.3f} s a round, "
                    f"the model says {said:.3f} ({100 * (said / took - 1):+.0f} %)",
                    flush=True,
                )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", nargs="+", type=int, default=[4, 16, 64])
    parser.add_argument("--processes", action="store_true", help="workers are processes, not threads")
    arguments = parser.parse_args()
    for n_workers in arguments.workers:
        for latency in LATENCIES:
            compare(n_workers, latency, arguments.processes)


if __name__ == "__main__":
    sys.exit(main())
