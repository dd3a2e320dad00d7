"""Files of machines in cells: the same bits again, small ones for prediction, and no tree that leads out of arrays."""

import io
import json

import numpy as np
import pytest
from mutating import entries_of, refused, with_array, with_document
from sklearn.base import clone
from support import blobs

from frugalsvm import LocalSVC, LocalSVR
from frugalsvm.persist import describe, load, save
from frugalsvm.persist.checkpoint import load_checkpoint, save_checkpoint

SEED = {"gamma": 0.3, "random_state": 0}
MODELS = {
    "classes": LocalSVC(cell_size=20, n_trees=2, **SEED),
    "isotonic": LocalSVC(cell_size=20, calibrate="isotonic", **SEED),
    "one cell": LocalSVC(dtype="float64", kernel="rbf", **SEED),
    "metric": LocalSVC(cell_size=20, metric=np.array([[1.0, 0.0, 2.0]]), **SEED),
    "values": LocalSVR(cell_size=20, n_trees=2, **SEED),
    "bytes": LocalSVC(cell_size=20, budget="2800B", **SEED),
}
X, Y = blobs(150, 3, 3, seed=1)


def fitted(name, rows=X):
    return clone(MODELS[name]).fit(rows, np.column_stack([X[:, 0], X[:, 1]]) if name == "values" else Y)


def answers(model, rows=X):
    if not hasattr(model, "predict_proba"):
        return [model.predict(rows)]
    return [model.decision_function(rows), model.predict_proba(rows), model.predict(rows)]


def assert_same(first, second, rows=X):
    for mine, other in zip(answers(first, rows), answers(second, rows), strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("name", MODELS)
def test_the_same_again(name, tmp_path):
    model, path = fitted(name), tmp_path / "model.frugal"
    save(model, path)
    loaded = load(path)
    assert_same(loaded, model)
    np.testing.assert_array_equal(loaded.loo_scores_, model.loo_scores_)
    assert loaded.loo_error_ == model.loo_error_
    assert describe(path).estimator == type(model).__name__
    save(loaded, tmp_path / "again.frugal")
    assert path.read_bytes() == (tmp_path / "again.frugal").read_bytes()


@pytest.mark.parametrize("name", MODELS)
def test_for_prediction(name, tmp_path):
    model, path = fitted(name), tmp_path / "model.frugal"
    save(model, path)
    whole = path.stat().st_size
    save(model, path, for_prediction=True)
    assert path.stat().st_size < whole
    small = load(path)
    assert_same(small, model)
    assert not hasattr(small, "loo_scores_")
    assert small.loo_error_ == model.loo_error_
    save(small, path)
    assert_same(load(path), model)
    targets = X[:, :2] if name == "values" else Y
    again = small.fit(X, targets)  # from the beginning
    assert_same(again, model)
    save(again, path)
    assert hasattr(load(path), "loo_scores_")


def test_far_rows_and_rows_without_weight(tmp_path):
    rows, path = (X + 1e4).astype(np.float32), tmp_path / "model.frugal"
    model = clone(MODELS["classes"]).fit(rows, Y, np.arange(150) % 4 > 0)
    assert not model.origin_.is_zero
    for for_prediction in (False, True):
        save(model, path, for_prediction=for_prediction)
        assert_same(load(path), model, rows)


def test_another_type_is_for_the_next_fit(tmp_path):
    model, path = fitted("classes"), tmp_path / "model.frugal"
    expected = answers(model)
    model.set_params(dtype="float64", n_trees=1, cell_size=10**9)
    save(model, path)
    for each in (model, load(path)):
        for mine, other in zip(answers(each), expected, strict=True):
            np.testing.assert_array_equal(mine, other)
    assert model.fit(X, Y)._rows.dtype == np.float64
    save(model, path)
    assert load(path).cell_size_ == 10**9


def test_checkpoint(tmp_path):
    model = fitted("values")
    save_checkpoint(model, tmp_path / "model.frugal")
    assert_same(load_checkpoint(tmp_path / "model.frugal").model, model)


@pytest.mark.parametrize("wrong", [np.full(150, 3, np.uint8), np.full(150, -1), np.zeros((150, 3), np.float32)])
def test_labels_that_are_no_classes_are_refused(wrong, tmp_path):
    path = tmp_path / "model.frugal"
    save(fitted("classes"), path)
    content = path.read_bytes()
    path.unlink()
    number = json.loads(entries_of(content)["model.json"])["model"]["state"]["_row_targets"]["array"]
    refused(tmp_path, with_array(content, number, wrong))


@pytest.mark.parametrize(("name", "wrong"), [("classes", 10**30), ("classes", -0.5), ("values", -1.0)])
def test_errors_that_cannot_be_are_refused(name, wrong, tmp_path):
    path = tmp_path / "model.frugal"
    save(fitted(name), path)
    content = path.read_bytes()
    path.unlink()
    refused(tmp_path, with_document(content, lambda document: document["model"]["state"].update(loo_error_=wrong)))


def test_weights_of_rows_may_not_be_missing(tmp_path):
    path = tmp_path / "model.frugal"
    save(fitted("classes"), path)
    content = path.read_bytes()
    path.unlink()
    refused(tmp_path, with_document(content, lambda document: document["model"]["state"].pop("_row_weights")))


# --- trees that are none ------------------------------------------------------------------------------------------


def place_of(content, field):
    """The number of an array of the first tree, or of the machines in its cells."""
    cells = json.loads(entries_of(content)["model.json"])["model"]["state"]["_cells"][0]["fields"]
    return {**cells, **cells["tree"]["fields"]}[field]["array"]


def swapped(values, i, j):
    values.flat[[i, j]] = values.flat[[j, i]]


CHANGES = {
    "a path that goes round": ("children", lambda values: values.__setitem__((1, 0), 0)),
    "a cell with two paths": ("children", lambda values: values.__setitem__((-1, 0), values[-1, 1])),
    "a cell that is not there": ("children", lambda values: values.__setitem__((-1, 0), ~len(values) - 1)),
    "a node that is not there": ("children", lambda values: values.__setitem__((0, 0), len(values))),
    "a row twice": ("members", lambda values: values.__setitem__(0, values[1])),
    "a row that is not there": ("members", lambda values: values.__setitem__(0, 150)),
    "a row before all": ("members", lambda values: values.__setitem__(0, -1)),
    "an empty cell": ("starts", lambda values: values.__setitem__(1, 0)),
    "cells that overlap": ("starts", lambda values: swapped(values, 1, 2)),
    "members beyond the end": ("starts", lambda values: values.__setitem__(-1, 151)),
    "differences that wrap around": ("starts", lambda values: values.__setitem__(slice(1, 3), [2**62, -(2**63)])),
    "a center far away": ("centers", lambda values: values.__setitem__((0, 0), 1e30)),
    "coefficients that overflow": ("coef", lambda values: values.__setitem__((0, 0), 3e38)),
}


@pytest.mark.parametrize("what", CHANGES)
def test_wrong_trees_are_refused(what, tmp_path):
    path = tmp_path / "model.frugal"
    save(fitted("classes"), path)
    content = path.read_bytes()
    field, change = CHANGES[what]
    number = place_of(content, field)
    values = np.load(io.BytesIO(entries_of(content)[f"arrays/{number}.npy"])).copy()
    change(values)
    path.unlink()
    refused(tmp_path, with_array(content, number, values))
