"""How many threads ``n_jobs`` stands for, also where tasks run side by side already: `frugalsvm.compiling.threads`."""

import multiprocessing
import os
import sys
import threading
import time

import joblib
import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GridSearchCV

from frugalsvm.compiling import threads
from frugalsvm.compiling.threads import Threads, all_cores_unless, thread_count


@pytest.fixture(autouse=True)
def no_share(monkeypatch):
    """The machine of the tests may have a setting of its own."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


@pytest.fixture
def eight_cores(monkeypatch):
    monkeypatch.setattr(threads, "_usable_cores", lambda limit: 8)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)


def threads_of_all():
    """How many threads take part when all cores are asked for."""

    def work(_):
        time.sleep(0.01)  # nobody takes all
        return threading.get_ident()

    return len(set(Threads(thread_count(-1)).run(work, range(32))))


@pytest.mark.usefixtures("eight_cores")
def test_counting():
    assert [thread_count(n) for n in (None, 1, 3, np.int64(4), -1, -2, -8, -9)] == [1, 1, 3, 4, 8, 7, 1, 1]


@pytest.mark.usefixtures("eight_cores")
def test_all_cores_unless_a_number_is_given():
    assert [thread_count(all_cores_unless(n)) for n in (None, 1, 3, -2)] == [8, 1, 3, 7]
    with joblib.parallel_config(backend="threading"):
        tasks = (joblib.delayed(thread_count)(all_cores_unless(None)) for _ in range(2))
        assert joblib.Parallel(n_jobs=2)(tasks) == [1, 1]


@pytest.mark.usefixtures("eight_cores")
@pytest.mark.parametrize(
    ("value", "expected"), [("2", 2), ("3,1", 3), ("16", 8), ("0", 8), ("", 8), ("many", 8), (" 4 ", 4)]
)
def test_the_share_of_openmp(monkeypatch, value, expected):
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert thread_count(-1) == expected
    assert thread_count(5) == 5  # who names a number gets it


@pytest.mark.usefixtures("eight_cores")
@pytest.mark.parametrize(("at_first", "expected"), [("", 8), ("2", 2)])
def test_what_dask_sets_for_its_workers_is_not_for_this_process(monkeypatch, at_first, expected):
    monkeypatch.setattr(threads, "_SHARE_AT_FIRST", at_first)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")  # as a LocalCluster does
    monkeypatch.setitem(sys.modules, "distributed", sys)
    assert thread_count(-1) == expected


@pytest.mark.usefixtures("eight_cores")
def test_affinity(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 3}, raising=False)
    assert thread_count(-1) == 2


def test_limits_of_joblib(monkeypatch):
    assert thread_count(-1) == joblib.cpu_count()  # which knows the limits of containers
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    assert thread_count(-1) == 1


@pytest.mark.usefixtures("eight_cores")
def test_threads_of_joblib_have_a_core_each():
    with joblib.parallel_config(backend="threading"):
        assert joblib.Parallel(n_jobs=2)(joblib.delayed(thread_count)(n) for n in (-1, -1, 3)) == [1, 1, 3]
        assert joblib.Parallel(n_jobs=1)([joblib.delayed(thread_count)(-1)]) == [8]
    assert thread_count(-1) == 8


@pytest.mark.usefixtures("eight_cores")
def test_other_threads_have_all_cores():
    found = []
    thread = threading.Thread(target=lambda: found.append(thread_count(-1)))
    thread.start()
    thread.join()
    assert found == [8]


def test_processes_of_a_pool_have_a_core_each():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(thread_count, (-1,)) == 1


def test_a_search_in_processes_does_not_take_more_threads_than_there_are_cores():
    n_jobs = min(2, joblib.cpu_count())
    search = GridSearchCV(
        DummyClassifier(), {"strategy": ["prior", "uniform"]}, scoring=lambda *_: threads_of_all(), cv=2, n_jobs=n_jobs
    )
    search.fit(np.zeros((8, 1)), [0, 1] * 4)
    assert (search.cv_results_["mean_test_score"] == joblib.cpu_count() // n_jobs).all()


@pytest.mark.usefixtures("eight_cores")
def test_tasks_of_dask_have_a_core_each():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert client.submit(thread_count, -1).result(timeout=60) == 1
    assert thread_count(-1) == 8
