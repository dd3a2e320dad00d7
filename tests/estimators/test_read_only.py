"""Models whose arrays cannot be written, or are mapped from a file, predict, and learn on as any other."""

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from support import blobs

import frugalsvm
from frugalsvm import (
    ASSETClassifier,
    ASSETRegressor,
    BPAClassifier,
    BSGDClassifier,
    BSGDOneClassSVM,
    BSGDRegressor,
    BudgetedPerceptron,
    IncrementalSVC,
    LASVMClassifier,
    LocalSVC,
    LocalSVR,
    StreamTuner,
    TrackingSVC,
    TVMClassifier,
)
from frugalsvm.pipelines import StreamPipeline

SEED = {"gamma": 0.3, "random_state": 0}
MODELS = [
    BSGDClassifier(budget=10, **SEED),
    BudgetedPerceptron("random", 10, **SEED),
    BPAClassifier(budget=10, **SEED),
    LASVMClassifier(**SEED),
    TrackingSVC(**SEED),
    IncrementalSVC(gamma=0.3),
    TVMClassifier(10, **SEED),
    LocalSVC(cell_size=15, n_trees=2, **SEED),
    LocalSVR(cell_size=15, **SEED),
    ASSETClassifier(n_components=16, **SEED),
    ASSETRegressor(n_components=16, **SEED),
    BSGDRegressor(budget=10, **SEED),
    BSGDOneClassSVM(budget=10, **SEED),
    StreamTuner(BSGDClassifier(budget=10, **SEED), {"alpha": [1e-4, 1e-2]}, random_state=0),
]


@pytest.fixture(scope="module")
def data():
    return blobs(120, 3, 2, seed=1)


def mapped(model, folder):
    joblib.dump(model, folder / "model.joblib")
    return joblib.load(folder / "model.joblib", mmap_mode="r")


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_learns_on_like_a_model_in_memory(model, data, tmp_path):
    X, y = data
    model = clone(model).partial_fit(X[:80], y[:80])
    copy = mapped(model, tmp_path)
    np.testing.assert_allclose(copy.predict(X), model.predict(X))
    for each in (model, copy):
        each.partial_fit(X[80:], y[80:])
    # Up to rounding: caches of kernel values are not pickled.
    np.testing.assert_allclose(copy.predict(X), model.predict(X), rtol=1e-6)
    if hasattr(model, "decision_function"):
        np.testing.assert_allclose(copy.decision_function(X), model.decision_function(X), atol=1e-9)


def test_every_estimator_is_tested():
    names = {name for name in frugalsvm.__all__ if hasattr(getattr(frugalsvm, name), "partial_fit")}
    assert {type(model).__name__ for model in MODELS} == names


def test_a_fit_that_goes_on(data, tmp_path):
    X, y = data
    copy = mapped(BSGDClassifier(budget=10, warm_start=True, **SEED).fit(X[:80], y[:80]), tmp_path)
    assert copy.fit(X, y).t_ == 200


def test_exact_machines_unlearn_and_leave_out(data, tmp_path):
    X, y = data
    model = IncrementalSVC(gamma=0.3).fit(X[:40], y[:40])
    assert mapped(model, tmp_path).loo_error_ == model.loo_error_
    copy = mapped(model, tmp_path)
    np.testing.assert_array_equal(copy.unlearn([3]).dual_coef_, model.unlearn([3]).dual_coef_)
    np.testing.assert_array_equal(mapped(model, tmp_path).set_C(2.0).dual_coef_, model.set_C(2.0).dual_coef_)


def test_single_rows(data, tmp_path):
    X, y = data
    model = StreamPipeline(BSGDClassifier(budget=10, **SEED), warmup_rows=50).partial_fit(X[:80], y[:80])
    copy = mapped(model, tmp_path)
    for each in (model, copy):
        each.learn_one_row(X[80], y[80])
    np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))


def test_the_file_stays_as_it_is(data, tmp_path):
    X, y = data
    copy = mapped(BSGDClassifier(budget=10, **SEED).fit(X[:80], y[:80]), tmp_path)
    before = (tmp_path / "model.joblib").read_bytes()
    copy.partial_fit(X[80:], y[80:])
    assert (tmp_path / "model.joblib").read_bytes() == before
