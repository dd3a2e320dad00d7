"""Metrics in model files: old files have none, and arrays of another width or beyond all bounds are refused."""

import json

import numpy as np
import pytest
from mutating import entries_of, refused, with_array, with_document
from support import blobs

from frugalsvm import ASSETClassifier, BSGDClassifier
from frugalsvm.persist import load, save

METRICS = {"factors": np.array([1.0, 0.0, 2.0]), "directions": np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 1.0]])}
ESTIMATORS = {
    "bsgd": BSGDClassifier(budget=10, gamma=0.3, random_state=0),
    "asset": ASSETClassifier(n_components=16, gamma=0.3, random_state=0),
}
CASES = [(kind, name) for kind in METRICS for name in ESTIMATORS]


def saved(kind, name, path, **options):
    X, y = blobs(60, 3, 2, seed=1)
    save(ESTIMATORS[name].set_params(metric=METRICS[kind]).fit(X, y), path, **options)
    return path.read_bytes()


def metric_array(content, field):
    """Number, in the file, of an array of the metric."""
    document = json.loads(entries_of(content)["model.json"])
    return document["model"]["state"]["_metric"]["fields"][field]["array"]


@pytest.mark.parametrize("for_prediction", [False, True])
@pytest.mark.parametrize(("kind", "name"), CASES)
def test_the_width_of_every_array_is_checked(kind, name, for_prediction, tmp_path):
    content = saved(kind, name, tmp_path / "good.frugal", for_prediction=for_prediction)
    for field in ("center", "scales"):
        refused(tmp_path, with_array(content, metric_array(content, field), np.ones(4)), "do not fit|should be")
    wide = np.ones((2, 4)) if kind == "directions" else np.ones(4)
    refused(tmp_path, with_array(content, metric_array(content, kind), wide), "do not fit|should be")
    if kind == "directions":  # support vectors, or landmarks, have two features
        refused(tmp_path, with_array(content, metric_array(content, kind), np.ones((3, 3))), "do not fit|should be")


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_a_metric_for_rows_of_another_width(kind, name, tmp_path):
    content = saved(kind, name, tmp_path / "good.frugal")
    for field in ("center", "scales"):
        content = with_array(content, metric_array(content, field), np.ones(4))
    wide = np.ones((2, 4)) if kind == "directions" else np.ones(4)
    refused(tmp_path, with_array(content, metric_array(content, kind), wide), "do not fit")


@pytest.mark.parametrize("for_prediction", [False, True])
@pytest.mark.parametrize(("kind", "name"), CASES)
def test_values_that_would_overflow(kind, name, for_prediction, tmp_path):
    content = saved(kind, name, tmp_path / "good.frugal", for_prediction=for_prediction)
    huge = np.full(METRICS[kind].shape, 1e200)
    refused(tmp_path, with_array(content, metric_array(content, kind), huge), "do not fit")
    refused(tmp_path, with_array(content, metric_array(content, "center"), np.full(3, 1e200)), "do not fit")
    refused(tmp_path, with_array(content, metric_array(content, "scales"), np.full(3, -1.0)))  # 0 is for constants


def test_a_file_without_the_parameter_has_no_metric(tmp_path):
    X, y = blobs(60, 3, 2, seed=1)
    model = BSGDClassifier(budget=10, gamma=0.3, random_state=0).fit(X, y)
    save(model, tmp_path / "new.frugal")

    def before(document):
        del document["model"]["state"]["metric"]

    path = tmp_path / "old.frugal"
    path.write_bytes(with_document((tmp_path / "new.frugal").read_bytes(), before))
    loaded = load(path)
    assert loaded.metric is None
    assert loaded.metric_ is None
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    loaded.partial_fit(X, y)
