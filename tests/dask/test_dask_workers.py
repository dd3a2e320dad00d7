"""Workers of a small cluster make no difference, not even one that is lost while a model is trained."""

import numpy as np
import pytest

distributed = pytest.importorskip("distributed")

import dask.array as da  # noqa: E402

from frugalsvm.compiling.threads import Threads  # noqa: E402
from frugalsvm.dask import DaskASSETClassifier, DaskBSGDClassifier, DaskLocalSVC  # noqa: E402
from frugalsvm.dask._cluster import Cluster  # noqa: E402
from frugalsvm.datasets import make_checkerboard  # noqa: E402

MODELS = [
    (DaskASSETClassifier, {"n_components": 32, "C": 10.0, "gamma": 8.0, "random_state": 0, "max_iter": 3}),
    (DaskBSGDClassifier, {"budget": 30, "gamma": 8.0, "alpha": 1e-4, "random_state": 0, "max_iter": 3}),
    (DaskLocalSVC, {"cell_size": 100, "random_state": 0}),
]


def trained_on(n_workers, make, settings, *, loses=False):
    """Decision values of a model; and how many workers were taken away after its first round."""
    X, y = make_checkerboard(2000, random_state=0)
    lost = []
    cluster = distributed.LocalCluster(
        n_workers=n_workers, threads_per_worker=1, processes=False, dashboard_address=":0", silence_logs=50
    )
    with cluster, distributed.Client(cluster, set_as_default=False) as client:

        def lose_one(figures):
            if loses and not lost:
                lost.append(next(iter(client.scheduler_info()["workers"])))
                client.sync(client.scheduler.retire_workers, workers=lost, close_workers=True, remove=True)

        model = make(client=client, **settings)
        model.fit(da.from_array(X, chunks=(500, -1)), da.from_array(y, chunks=500), callback=lose_one)
        assert len(client.scheduler_info()["workers"]) == n_workers - len(lost)
        return model.to_local().decision_function(X), len(lost)


@pytest.mark.parametrize(("make", "settings"), MODELS, ids=["asset", "bsgd", "cells"])
def test_workers_make_no_difference(make, settings):
    expected, _ = trained_on(1, make, settings)
    values, _ = trained_on(3, make, settings)
    np.testing.assert_array_equal(values, expected)
    values, n_lost = trained_on(3, make, settings, loses=True)
    assert n_lost == 1
    np.testing.assert_array_equal(values, expected)


@pytest.mark.parametrize(
    ("make", "settings"),
    [(DaskASSETClassifier, {"n_components": 300, "gamma": 8.0}), (DaskBSGDClassifier, {"budget": 60, "gamma": 8.0})],
    ids=["asset", "bsgd"],
)
def test_threads_of_the_client_make_no_difference(client, monkeypatch, make, settings):
    X, y = make_checkerboard(20_000, random_state=0)
    found = []
    for count in (1, 3):
        monkeypatch.setattr(Cluster, "free_threads", lambda cluster, count=count: Threads(count))
        model = make(client=client, random_state=0, max_iter=2, **settings)
        model.fit(da.from_array(X, chunks=(10_000, -1)), da.from_array(y, chunks=10_000))
        found.append(model.to_local().decision_function(X))
    np.testing.assert_array_equal(*found)


def test_the_client_leaves_the_cores_of_workers_to_them(client, monkeypatch):
    monkeypatch.setattr("frugalsvm.dask._cluster.thread_count", lambda n_jobs: 5)
    assert Cluster(client).free_threads().count == 3
    monkeypatch.setattr("frugalsvm.dask._cluster.thread_count", lambda n_jobs: 1)
    assert Cluster(client).free_threads().count == 1
