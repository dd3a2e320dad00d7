"""Models that are saved for prediction: the size of their support vectors, the same scores, and no learning on."""

import copy

import numpy as np
import pytest
from sklearn.base import clone
from support import blobs
from test_persist_roundtrip import MODELS, RARE

from frugalsvm import ASSETRegressor, BSGDClassifier, IncrementalSVC, LASVMClassifier
from frugalsvm.persist import ModelFileError, load, save
from frugalsvm.pipelines import StreamPipeline

ALL = {**MODELS, **RARE}
USUAL = ("bsgd", "perceptron", "bpa", "asset", "fourier", "lasvm", "tracking", "incremental", "tvm", "bsgd-averaged")
USUAL += ("factors", "directions")
REFUSAL = r"was saved with for_prediction=True and cannot learn more rows: save it without, or call fit"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.frugal"


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in USUAL else pytest.mark.slow) for n in ALL])
def test_predicts_the_same_and_does_not_learn_on(name, n_classes, path):
    X, y = blobs(120, 3, n_classes, seed=1)
    model = clone(ALL[name]).partial_fit(X, y, classes=np.arange(n_classes))
    save(model, path)
    whole = path.stat().st_size
    save(model, path, for_prediction=True)
    assert path.stat().st_size <= whole
    small = load(path)
    np.testing.assert_array_equal(small.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(small.predict(X), model.predict(X))
    for name in ("intercept_", "support_vectors_", "dual_coef_"):
        if getattr(model, name, None) is not None:
            np.testing.assert_array_equal(getattr(small, name), getattr(model, name))
    with pytest.raises(ValueError, match=REFUSAL):
        small.partial_fit(X, y)
    np.testing.assert_array_equal(small.decision_function(X), model.decision_function(X))
    assert small.fit(X, y).partial_fit(X, y).score(X, y) > 0.4  # from the beginning
    save(small, path)
    np.testing.assert_array_equal(load(path).decision_function(X), small.decision_function(X))


@pytest.mark.parametrize("name", ["bsgd", "perceptron", "asset", "lasvm", "incremental", "tvm"])
def test_keeps_the_origin(name, path):
    X, y = blobs(120, 3, 2, seed=1)
    X = X + 1e5
    model = clone(ALL[name]).fit(X, y)
    assert not model.origin_.is_zero
    save(model, path, for_prediction=True)
    np.testing.assert_array_equal(load(path).decision_function(X), model.decision_function(X))


def test_can_be_saved_and_copied_again(path):
    X, y = blobs(60, 3, 2, seed=1)
    model = LASVMClassifier(gamma=0.3, random_state=0).fit(X, y)
    save(model, path, for_prediction=True)
    small = load(path)
    for each in (small, copy.deepcopy(small)):
        for options in ({}, {"for_prediction": True}):
            save(each, path, **options)
            again = load(path)
            np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
            with pytest.raises(ValueError, match=REFUSAL):
                again.partial_fit(X, y)


def test_regressors(path):
    X, _ = blobs(100, 3, 2, seed=2)
    model = ASSETRegressor(n_components=16, gamma=0.3, random_state=0).fit(X, X[:, 0])
    save(model, path, for_prediction=True)
    small = load(path)
    np.testing.assert_array_equal(small.predict(X), model.predict(X))
    with pytest.raises(ValueError, match=REFUSAL):
        small.partial_fit(X, X[:, 0])
    np.testing.assert_array_equal(small.fit(X, X[:, 0]).predict(X), model.predict(X))


def test_exact_machines_do_not_unlearn(path):
    X, y = blobs(40, 3, 2, seed=1)
    save(IncrementalSVC(gamma=0.3).fit(X, y), path, for_prediction=True)
    small = load(path)
    for change in (lambda: small.unlearn([0]), lambda: small.set_C(2.0), small.loo_predict):
        with pytest.raises(ValueError, match=REFUSAL):
            change()


def test_pipelines(path):
    X, y = blobs(120, 3, 2, seed=1)
    model = StreamPipeline(BSGDClassifier(budget=10, gamma=0.3, random_state=0), warmup_rows=100, calibrate=True)
    model.partial_fit(X[:50], y[:50])
    with pytest.raises(ModelFileError, match=r"holds 50 rows back .* call flush\(\) first"):
        save(model, path, for_prediction=True)
    model.partial_fit(X[50:], y[50:])
    save(model, path, for_prediction=True)
    small = load(path)
    np.testing.assert_array_equal(small.predict_proba(X), model.predict_proba(X))
    assert small.predict_one_row(X[0]) == model.predict_one_row(X[0])
    for learn in (lambda: small.partial_fit(X, y), lambda: small.learn_one_row(X[0], y[0])):
        with pytest.raises(ValueError, match=REFUSAL):
            learn()


def test_unfitted_models_stay_what_they_are(path):
    save(LASVMClassifier(C=3.0), path, for_prediction=True)
    X, y = blobs(60, 3, 2, seed=1)
    assert load(path).partial_fit(X, y).C == 3.0


def test_caches_are_for_learning(path):
    with pytest.raises(ModelFileError, match="caches=True is for further training"):
        save(LASVMClassifier(), path, caches=True, for_prediction=True)


@pytest.mark.parametrize("model", [LASVMClassifier(), IncrementalSVC()], ids=lambda model: type(model).__name__)
def test_files_have_the_size_of_what_is_in_them(model, path):
    """400 rows of 4 features made a file of 8.6 MB: the cache, and room for members that never came."""
    X, y = blobs(400, 4, 2, seed=1)
    model = clone(model).fit(X, y)
    save(model, path)
    assert path.stat().st_size < 200_000
    save(model, path, for_prediction=True)
    bytes_of_vectors = 8 * model.support_vectors_.size
    assert path.stat().st_size < 2 * bytes_of_vectors + 8_000
