"""Clusters of processes: workers make no difference, not even those that are killed; a lost scheduler is told."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

distributed = pytest.importorskip("distributed")

import dask  # noqa: E402
import dask.array as da  # noqa: E402

from frugalsvm.dask import (  # noqa: E402
    DaskASSETClassifier,
    DaskASSETOneClassSVM,
    DaskBSGDClassifier,
    DaskLocalSVC,
    SchedulerLostError,
)
from frugalsvm.datasets import make_checkerboard  # noqa: E402

pytestmark = pytest.mark.slow

ASSET = {"n_components": 64, "C": 10.0, "gamma": 8.0, "random_state": 0}
BSGD = {"budget": 60, "gamma": 8.0, "alpha": 1e-4, "random_state": 0, "max_iter": 3}


def divided(X, y, n_rows=10_000):
    return da.from_array(X, chunks=(n_rows, -1)), da.from_array(y, chunks=n_rows)


def processes(n_workers):
    return distributed.LocalCluster(
        n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
    )


def trained_on(n_workers, make, settings, X, y, callback_for=lambda cluster: None):
    """Decision values of a model that was trained on a cluster of its own."""
    with processes(n_workers) as cluster, distributed.Client(cluster) as client:
        model = make(client=client, **settings)
        model.fit(*divided(X, y), callback=callback_for(cluster))
        return model.to_local().decision_function(X[:5000])


PATH = {**ASSET, "C": [1.0, 10.0], "cv": 2, "calibrate": "platt"}
CELLS = {"cell_size": 500, "random_state": 0}
NOVELTIES = {"nu": 0.1, "n_components": 64, "gamma": 8.0, "random_state": 0}


@pytest.mark.parametrize(
    ("make", "settings"),
    [
        (DaskASSETClassifier, ASSET),
        (DaskBSGDClassifier, BSGD),
        (DaskASSETClassifier, PATH),
        (DaskASSETOneClassSVM, NOVELTIES),
        (DaskLocalSVC, CELLS),
    ],
)
def test_the_workers_make_no_difference(make, settings):
    X, y = make_checkerboard(40_000, random_state=0)
    np.testing.assert_array_equal(*(trained_on(n, make, settings, X, y) for n in (1, 2)))


class Killer:
    """Kills a worker a moment after the end of each round, in the middle of the next; waits until it is back."""

    def __init__(self, cluster, delay=0.1):
        self._cluster, self._delay = cluster, delay
        self.killed, self._timer = [], None

    def __call__(self, figures):
        if self._timer is not None:
            self._timer.join()
        nanny = list(self._cluster.workers.values())[-1]
        # A worker that is killed while it starts does not come back.
        while nanny.pid is None or nanny.pid in self.killed or len(self._cluster.scheduler.workers) < 2:
            time.sleep(0.05)
        self._timer = threading.Timer(self._delay, self._kill, [nanny.pid])
        self._timer.start()

    def _kill(self, pid):
        os.kill(pid, signal.SIGKILL)
        self.killed.append(pid)


@pytest.mark.parametrize(
    ("make", "settings"),
    [
        (DaskASSETClassifier, {**ASSET, "max_iter": 4}),
        (DaskBSGDClassifier, BSGD),
        (DaskASSETClassifier, PATH),
        (DaskLocalSVC, CELLS),
    ],
)
def test_a_worker_killed_in_every_round_makes_no_difference(make, settings):
    X, y = make_checkerboard(40_000, random_state=0)
    killers = []

    def killer_for(cluster):
        killers.append(Killer(cluster))
        return killers[-1]

    expected = trained_on(2, make, settings, X, y)
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"}):  # or Dask gives up slow starters
        values = trained_on(2, make, settings, X, y, killer_for)
    assert len(killers[0].killed) >= 2
    np.testing.assert_array_equal(values, expected)


def test_a_lost_scheduler_is_told_and_the_last_model_is_there(tmp_path):
    pytest.importorskip("distributed.cli.dask_scheduler")
    X, y = make_checkerboard(40_000, random_state=0)
    file = str(tmp_path / "scheduler.json")
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
    scheduler = subprocess.Popen([*command, "--scheduler-file", file], stderr=subprocess.DEVNULL)
    command = [sys.executable, "-m", "distributed.cli.dask_worker", "--no-nanny", "--nthreads", "1"]
    worker = subprocess.Popen([*command, "--scheduler-file", file], stderr=subprocess.DEVNULL)
    try:
        with distributed.Client(scheduler_file=file, timeout=60) as client:

            def kill(figures):
                if figures["round"] == 2:
                    scheduler.kill()
                    scheduler.wait()

            model = DaskBSGDClassifier(client=client, **BSGD)
            with pytest.raises(SchedulerLostError, match="does not answer any more") as caught:
                model.fit(*divided(X, y), callback=kill)
            assert caught.value.model is model.last_model_
            assert len(model.history_) == 2
            assert caught.value.model.score(X, y) > 0.8
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()
