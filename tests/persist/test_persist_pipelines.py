"""Pipelines with a feature map come back from model files bit for bit, and unknown maps are refused by name."""

import json
import zipfile

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.kernel_approximation import (
    AdditiveChi2Sampler,
    Nystroem,
    PolynomialCountSketch,
    RBFSampler,
    SkewedChi2Sampler,
)
from sklearn.preprocessing import PolynomialFeatures
from support import blobs

from frugalsvm import BSGDClassifier, BSGDRegressor
from frugalsvm.persist import ModelFileError, describe, load, register, save
from frugalsvm.persist.registry import HOMES, class_named, restored
from frugalsvm.pipelines import ColumnEncoder, StreamPipeline

MAPS = {
    "RBFSampler": RBFSampler(gamma="scale", n_components=24, random_state=0),
    "Nystroem": Nystroem(gamma=0.3, n_components=24, random_state=np.random.RandomState(3)),
    "PolynomialCountSketch": PolynomialCountSketch(n_components=24, random_state=0),
    "SkewedChi2Sampler": SkewedChi2Sampler(n_components=24, skewedness=9.0, random_state=0),
    "AdditiveChi2Sampler": AdditiveChi2Sampler(sample_steps=3),
    "PolynomialFeatures": PolynomialFeatures(2),
}


def linear():
    return BSGDClassifier(budget=20, alpha=1e-3, kernel="linear", maintenance="remove", random_state=0)


@pytest.fixture(scope="module")
def data():
    X, y = blobs(160, 3, 2, seed=1)
    return np.abs(X), y


def test_every_map_of_the_registry_is_tested():
    assert {name for name, home in HOMES.items() if home.startswith("sklearn.")} == set(MAPS)


@pytest.mark.parametrize("n_first", [50, 120])
@pytest.mark.parametrize("name", MAPS)
def test_maps_go_on_bit_for_bit(name, n_first, tmp_path, data):
    """Also while the first rows wait for the map to be fitted."""
    X, y = data
    model = StreamPipeline(linear(), scale=False, feature_map=clone(MAPS[name]), warmup_rows=100)
    model.partial_fit(X[:n_first], y[:n_first], classes=[0, 1])
    save(model, tmp_path / "model.frugal")
    copy = load(tmp_path / "model.frugal")
    np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))
    for each in (model, copy):
        each.partial_fit(X[n_first:], y[n_first:])
    np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))
    assert type(copy.feature_map_) is type(MAPS[name])
    for number, each in enumerate((model, copy)):
        save(each, tmp_path / f"{number}.frugal")
    assert (tmp_path / "0.frugal").read_bytes() == (tmp_path / "1.frugal").read_bytes()
    assert describe(tmp_path / "0.frugal").parameters["feature_map"]["class"] == name


class Signs(TransformerMixin, BaseEstimator):
    """A map that model files know nothing of."""

    def fit(self, X, y=None):
        self.middle_ = X.mean(axis=0)
        return self

    def transform(self, X):
        return np.where(self.middle_ < X, 1.0, -1.0)


def test_unknown_maps_are_refused_until_they_are_registered(tmp_path, data):
    X, y = data
    model = StreamPipeline(linear(), feature_map=Signs()).fit(X, y)
    with pytest.raises(ModelFileError, match=r"type Signs cannot be saved: it is not registered.*persist\.register"):
        save(model, tmp_path / "model.frugal")
    assert not list(tmp_path.iterdir())
    register(Signs)
    save(model, tmp_path / "model.frugal")
    copy = load(tmp_path / "model.frugal")
    np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))


def test_functions_in_maps_are_refused(tmp_path, data):
    model = StreamPipeline(linear(), feature_map=Nystroem(np.vdot, n_components=5)).fit(*data)
    with pytest.raises(ModelFileError, match="This Nystroem cannot be saved: its kernel is a Python function"):
        save(model, tmp_path / "model.frugal")


def test_another_class_of_the_same_name_is_not_taken_for_a_map(tmp_path, data):
    own = type("RBFSampler", (Signs,), {})
    with pytest.raises(ModelFileError, match="type RBFSampler cannot be saved"):
        save(StreamPipeline(linear(), feature_map=own()).fit(*data), tmp_path / "model.frugal")
    with pytest.raises(ValueError, match=r"'RBFSampler' (belongs to a|is registered for another) class"):
        register(own)


def test_pipelines_from_before_there_were_maps(tmp_path, data):
    """A file without the parameter and the attribute gives a pipeline without a map."""
    X, y = data
    model = StreamPipeline(linear(), warmup_rows=100).partial_fit(X, y)
    save(model, tmp_path / "model.frugal")
    with zipfile.ZipFile(tmp_path / "model.frugal") as archive:
        assert "feature_map" in json.loads(archive.read("model.json"))["model"]["state"]
    state = {key: value for key, value in vars(model).items() if not key.startswith("feature_map")}
    old = restored(class_named("StreamPipeline"), state, True)
    assert old.feature_map is None
    np.testing.assert_array_equal(old.decision_function(X), model.decision_function(X))
    assert old.learn_one_row(X[0], y[0]).partial_fit(X[:10], y[:10]).estimator_.t_ == 171


def test_held_targets_are_those_that_can_be_learned(tmp_path, data):
    X, _ = data
    pipeline, path = StreamPipeline(BSGDRegressor(budget=20, random_state=0)), tmp_path / "model.frugal"
    with pytest.raises(ValueError, match="choose another unit"):
        pipeline.partial_fit(X, X[:, 0] * 1e300)
    pipeline.partial_fit(X, X[:, 0])
    save(pipeline, path)
    assert load(path).n_held_ == len(X)
    pipeline._held = (pipeline._held[0]._replace(y=np.full(len(X), 1e300)),)
    save(pipeline, path)
    with pytest.raises(ModelFileError, match="choose another unit"):
        load(path)


def test_what_learns_in_a_pipeline_is_an_estimator(tmp_path, data):
    X, y = data
    pipeline, path = StreamPipeline(linear(), warmup_rows=500), tmp_path / "model.frugal"
    pipeline.partial_fit(X, y)
    pipeline.estimator = ColumnEncoder()
    save(pipeline, path)
    with pytest.raises(ModelFileError, match="do not fit together"):
        load(path)
