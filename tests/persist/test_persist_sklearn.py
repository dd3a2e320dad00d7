"""Pipelines of scikit-learn in model files: known steps come back, others are refused by their names."""

import json

import numpy as np
import pytest
from mutating import entries_of, sealed
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    RobustScaler,
    StandardScaler,
)
from support import blobs

from frugalsvm import ASSETRegressor, BSGDClassifier
from frugalsvm.persist import ModelFileError, describe, load, save
from frugalsvm.persist.sklearn_steps import PIPELINE, SKLEARN_CLASSES

BSGD = BSGDClassifier(budget=10, gamma=0.3, random_state=0)
STEPS = [StandardScaler(), MinMaxScaler(), RobustScaler(), MaxAbsScaler(), Normalizer(), SimpleImputer()]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.frugal"


@pytest.fixture(scope="module")
def data():
    return blobs(120, 3, 2, seed=1)


def test_every_known_class_is_tested():
    names = {f"sklearn.preprocessing.{type(step).__name__}" for step in STEPS[:-1]} | {"sklearn.impute.SimpleImputer"}
    assert names | {PIPELINE} == set(SKLEARN_CLASSES)


@pytest.mark.parametrize("for_prediction", [False, True])
@pytest.mark.parametrize("step", STEPS, ids=lambda step: type(step).__name__)
def test_pipelines_come_back(step, for_prediction, path, data):
    X, y = data
    model = Pipeline([("first", step), ("skipped", "passthrough"), ("svm", clone(BSGD))]).fit(X, y)
    save(model, path, for_prediction=for_prediction)
    copy = load(path)
    assert type(copy) is Pipeline
    np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    about = describe(path)
    assert about.estimator == PIPELINE
    assert "scikit-learn" in about.versions
    assert copy.fit(X, y).score(X, y) > 0.5


def test_missing_values_and_regressors(path, data):
    X = data[0].copy()
    X[3, 1] = np.nan
    model = make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), ASSETRegressor(n_components=8))
    save(model.fit(X, data[0][:, 0]), path)
    np.testing.assert_array_equal(load(path).predict(X), model.predict(X))


def test_unfitted(path, data):
    for svm in (BSGD, clone(BSGD).fit(*data)):
        save(make_pipeline(StandardScaler(with_mean=False), svm), path)
        assert load(path).get_params()["standardscaler__with_mean"] is False


def test_unknown_steps_are_refused_by_name(path, data, tmp_path):
    X, y = data
    for model, why in [
        (
            make_pipeline(StandardScaler(), PCA(2), clone(BSGD)).fit(X, y),
            r"step 'pca' of the pipeline, a PCA, cannot be saved",
        ),
        (make_pipeline(make_pipeline(PCA()), BSGD), r"step 'pca' of the pipeline"),
        (make_pipeline(StandardScaler(), BSGD, memory=str(tmp_path)), "memory=None"),
    ]:
        with pytest.raises(ModelFileError, match=why) as caught:
            save(model, path)
        assert "\n" not in str(caught.value)
    assert not path.exists()


def changed(path, change):
    entries = entries_of(path.read_bytes())
    document = json.loads(entries["model.json"])
    change(document)
    path.write_bytes(sealed(entries | {"model.json": json.dumps(document).encode()}))


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state.update(memory="elsewhere"),
        lambda state: state.update(steps=[]),
        lambda state: state["steps"].pop(),
        lambda state: state["steps"][0]["tuple"][1]["state"].update(n_features_in_=4),
        lambda state: state["steps"][0]["tuple"][1]["state"].pop("mean_"),
        lambda state: state["steps"][0]["tuple"][1]["state"].update(transform=1),
        lambda state: state["steps"][0]["tuple"][1].update(object="sklearn.decomposition.PCA"),
    ],
)
def test_pipelines_that_do_not_fit_are_refused(change, path):
    X, y = blobs(120, 3, 2, seed=1)
    save(make_pipeline(StandardScaler(), BSGDClassifier(budget=10, gamma=0.3)).fit(X[:, :3], y), path)
    changed(path, lambda document: change(document["model"]["state"]))
    with pytest.raises(ModelFileError):
        load(path)


def test_another_version_of_scikit_learn_is_told(path, data):
    save(make_pipeline(StandardScaler(), clone(BSGD)).fit(*data), path)
    changed(path, lambda document: document["libraries"].update({"scikit-learn": "0.99.1"}))
    with pytest.warns(UserWarning, match=r"saved with scikit-learn 0\.99\.1 and is loaded with"):
        load(path)
