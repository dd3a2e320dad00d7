"""What a training had in the memory of the workers is given back when it ends, not when Python looks for circles.

What a task has freed, the next one uses again.
"""

import gc
import os
import platform
import subprocess
import sys
import time

import numpy as np
import pytest

from frugalsvm.datasets import make_checkerboard

pytest.importorskip("distributed")

import dask.array as da
from distributed import Client, wait

from frugalsvm.dask import (
    DaskASSETClassifier,
    DaskASSETOneClassSVM,
    DaskASSETRegressor,
    DaskBSGDClassifier,
    _freed_memory,
)
from frugalsvm.dask._cluster import Cluster, shared_out

ASSET = {"n_components": 32, "gamma": 8.0, "random_state": 0}


@pytest.fixture
def no_collection():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize(
    "estimator",
    [
        DaskASSETClassifier(**ASSET),
        DaskASSETClassifier(C=[1.0, 10.0], cv=2, **ASSET),
        DaskASSETClassifier(solver="asset", max_iter=2, **ASSET),
        DaskASSETClassifier(calibrate="platt", **ASSET),
        DaskASSETRegressor(**ASSET),
        DaskASSETOneClassSVM(**ASSET),
        DaskBSGDClassifier(budget=20, gamma=8.0, random_state=0),
    ],
    ids=["newton", "path", "epochs", "calibrated", "regressor", "one class", "bsgd"],
)
def test_nothing_is_left_in_the_memory_of_workers(client, no_collection, estimator):
    X, y = (da.from_array(part, chunks=1000) for part in make_checkerboard(3000, random_state=0))
    estimator.set_params(client=client).fit(X, y)
    ends = time.monotonic() + 10
    while client.futures and time.monotonic() < ends:
        time.sleep(0.05)  # futures are released in the background
    assert not client.futures


def _plus_first(rows, large):
    return rows + large[0]


def test_results_are_kept_beside_their_rows():
    """Also where all need a large value that one worker has."""
    with Client(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as two:
        workers = list(two.scheduler_info()["workers"])
        homes = [workers[i % 2] for i in range(6)]
        rows = [two.submit(np.full, 10, i, workers=[home], pure=False) for i, home in enumerate(homes)]
        large = two.submit(np.zeros, 2**22, workers=workers[:1], pure=False)
        wait([*rows, large])
        kept = Cluster(two).kept_beside(_plus_first, [(row,) for row in rows], large)
        wait(kept)
        holders = two.who_has(kept)
        assert [holders[future.key][0] for future in kept] == homes
        assert two.submit(np.max, kept[3]).result() == 3.0


def test_all_workers_get_a_share():
    """Rows that are all on one worker are divided among all, and those that are well divided stay."""
    assert shared_out([["a"], ["b"], ["a"], ["b"]], {"a": 1, "b": 1}) == ["a", "b", "a", "b"]
    assert sorted(shared_out([["a"]] * 8, dict.fromkeys("abcd", 1))) == list("aabbccdd")
    assert sorted(shared_out([["a"]] * 8, {"a": 1, "b": 3})) == list("aabbbbbb")
    assert shared_out([["gone"], [], ["b"]], {"a": 1, "b": 1}) == ["a", "a", "b"]
    assert shared_out([["a"]], {}) == [None]


def faults_of_arrays(threshold):
    """First touches of memory by twenty arrays of a megabyte, one after another, in a process of its own."""
    code = """
import resource, runpy, sys
import numpy as np
keeps = runpy.run_path(sys.argv[1])["keep_freed_memory"]()
np.ones(2**17)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    np.ones(2**17)
print(keeps, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
    environment = {**os.environ, "MALLOC_TRIM_THRESHOLD_": threshold}
    command = [sys.executable, "-c", code, _freed_memory.__file__]  # without Dask, which takes seconds to import
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    keeps, faults = done.stdout.split()
    return keeps == "True", int(faults)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the setting is one of the GNU C library")
def test_workers_use_freed_memory_again_unless_somebody_has_chosen_otherwise():
    keeps, faults = faults_of_arrays("65536")  # Dask's own setting
    assert keeps
    assert faults < 256  # pages of a single array
    keeps, faults = faults_of_arrays("65537")
    assert not keeps
    assert faults > 10 * 256
