"""What a training had in the memory of the workers is given back when it ends, not when Python looks for circles."""

import gc
import time

import pytest

from frugalsvm.datasets import make_checkerboard

pytest.importorskip("distributed")

import dask.array as da

from frugalsvm.dask import DaskASSETClassifier, DaskASSETOneClassSVM, DaskASSETRegressor, DaskBSGDClassifier

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
