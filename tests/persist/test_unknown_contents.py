"""What a reader of model files does not know, it refuses: a scaler under another name would be lost without a word."""

import warnings

import numpy as np
import pytest
from mutating import with_document
from support import blobs

from frugalsvm import BSGDClassifier
from frugalsvm.persist import ModelFileError, load, save
from frugalsvm.pipelines import StreamPipeline

X, Y = blobs(80, 3, 2, seed=1)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    model = StreamPipeline(BSGDClassifier(budget=10, gamma=0.3, random_state=0), warmup_rows=50, impute="mean")
    path = tmp_path_factory.mktemp("unknown") / "model.frugal"
    save(model.partial_fit(100 * X, Y), path)
    return path.read_bytes()


def with_scaler_elsewhere(document):
    """As a version would write it in which the scaler has another name, and another switch."""
    state = document["model"]["state"]
    state["_preprocessor"], state["scaler_"], state["scale"] = state["scaler_"], None, False


def without_filler(document):
    document["model"]["state"]["filler_"] = None


def with_step_beside(document):
    document["model"]["scaler"] = document["model"]["state"]["scaler_"]


def with_entry(document):
    document["preprocessing"] = {"scale": [1.0, 2.0, 3.0]}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (with_scaler_elsewhere, "'_preprocessor' of StreamPipeline, which this frugalsvm"),
        (without_filler, "do not fit together"),
        (with_step_beside, "'scaler', which is not known"),
        (with_entry, "'preprocessing'"),
    ],
)
def test_what_is_not_known_is_refused(tmp_path, saved, change, told):
    path = tmp_path / "changed.frugal"
    path.write_bytes(with_document(saved, change))
    with pytest.raises(ModelFileError, match=told):
        load(path)


def test_attributes_of_users_are_not_saved_and_that_is_said(tmp_path):
    model = BSGDClassifier(budget=10, gamma=0.3, random_state=0).partial_fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save(model, tmp_path / "plain.frugal")
    model.note_ = "of mine"
    with pytest.warns(UserWarning, match=r"not saved: note_\. Pass them as metadata"):
        save(model, tmp_path / "noted.frugal")
    loaded = load(tmp_path / "noted.frugal")
    assert not hasattr(loaded, "note_")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
