"""Conformal estimators in model files: what is loaded goes on bit for bit, and damaged files are refused."""

import joblib
import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from frugalsvm import BSGDClassifier, BSGDOneClassSVM, BSGDRegressor
from frugalsvm.conformal import ConformalClassifier, ConformalDetector, ConformalRegressor
from frugalsvm.datasets import DriftStream
from frugalsvm.persist import ModelFileError, load, save
from frugalsvm.pipelines import StreamPipeline

BOARD = BSGDClassifier(budget=30, gamma=5.0, alpha=1e-4)
MODELS = {
    "sets": (ConformalClassifier(BOARD, window=100), "checkerboard", "predict_set"),
    "by-class": (ConformalClassifier(BOARD, by_class=True, window=100), "checkerboard", "predict_set"),
    "pipeline": (ConformalClassifier(StreamPipeline(BOARD, warmup_rows=50)), "checkerboard", "predict_set"),
    "forgetting": (
        ConformalClassifier(StreamPipeline(BSGDClassifier(budget=30, gamma=5.0, half_life="auto"), warmup_rows=50)),
        "checkerboard",
        "predict_set",
    ),
    "intervals": (ConformalRegressor(BSGDRegressor(budget=30), window=100), "friedman", "predict_interval"),
    "alarms": (ConformalDetector(BSGDOneClassSVM(budget=30, gamma=0.1), 0.05), "checkerboard", "p_values"),
}


@pytest.fixture(params=MODELS)
def case(request, tmp_path):
    model, name, method = MODELS[request.param]
    stream = DriftStream(name, changes=400, random_state=0)
    for X, y in stream.chunks(600, 50):
        model.partial_fit(X, y)
    return model, stream, method, tmp_path / "model.frugal"


def test_a_loaded_model_goes_on_bit_for_bit(case):
    model, stream, method, path = case
    save(model, path)
    again = load(path)
    for X, y in stream.chunks(500, 37):
        np.testing.assert_array_equal(getattr(again, method)(X), getattr(model, method)(X))
        np.testing.assert_array_equal(again.test_then_train(X, y), model.test_then_train(X, y))
    for one, other in zip(again._reservoirs, model._reservoirs, strict=True):
        for left, right in zip(one, other, strict=True):
            np.testing.assert_array_equal(left, right)
    assert again.get_params(deep=False).keys() == model.get_params(deep=False).keys()


def test_a_model_for_prediction_predicts_the_same(case):
    model, stream, method, path = case
    X, _ = stream.take(50)
    save(model, path, for_prediction=True)
    np.testing.assert_array_equal(getattr(load(path), method)(X), getattr(model, method)(X))


def test_a_model_whose_arrays_cannot_be_written_learns_on_copies(tmp_path):
    stream = DriftStream("checkerboard", random_state=0)
    model = ConformalClassifier(BOARD, window=100).partial_fit(*stream.take(100)).partial_fit(*stream.take(100))
    joblib.dump(model, tmp_path / "model.joblib")
    mapped = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    X, y = stream.take(100)
    for each in (model, mapped):
        each.partial_fit(X, y)
    np.testing.assert_array_equal(mapped.predict_set(X), model.predict_set(X))


@pytest.mark.parametrize(
    "damage",
    [
        lambda model: model._reservoirs[0].ranked.__setitem__(0, 1e9),
        lambda model: model._reservoirs.append(model._reservoirs[0]),
        lambda model: model._reservoirs.clear(),
        lambda model: vars(model).pop("_reservoirs"),
        lambda model: vars(model).update(coverage=2.0),
        lambda model: vars(model).update(_labels=np.array([3, 1])),
        lambda model: vars(model).update(_labels=np.array([3, 4])),
        lambda model: vars(model).update(estimator_=BSGDRegressor()),
        lambda model: vars(model).update(estimator_=BSGDClassifier()),
        lambda model: model._reservoirs[0].counts.__setitem__("n_misses", -5),
    ],
)
def test_damaged_files_are_refused(damage, tmp_path):
    stream = DriftStream("checkerboard", random_state=0)
    model = ConformalClassifier(BOARD, window=100).partial_fit(*stream.take(100)).partial_fit(*stream.take(100))
    damage(model)
    save(model, tmp_path / "model.frugal")
    with pytest.raises(ModelFileError):
        load(tmp_path / "model.frugal")


def test_models_that_files_cannot_hold(tmp_path):
    X, y = np.random.default_rng(0).normal(size=(50, 2)), np.arange(50) % 2
    model = ConformalClassifier(GaussianNB()).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ModelFileError, match="GaussianNB"):
        save(model, tmp_path / "model.frugal")
