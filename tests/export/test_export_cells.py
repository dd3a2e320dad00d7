"""Machines in cells as plain numbers and as C: what Python predicts; other formats say what to use instead."""

import numpy as np
import pytest
from export_support import CompiledModel, assert_same_scores, exported_onnx, python_scores
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from frugalsvm import LocalSVC, LocalSVR
from frugalsvm.export import c99, plain_model, to_arrays, to_c, to_libsvm, to_onnx
from frugalsvm.pipelines import StreamPipeline

SEED = {"C": 10.0, "gamma": 0.2, "random_state": 0}
X, Y = make_classification(400, 4, n_informative=4, n_redundant=0, n_classes=3, n_clusters_per_class=1, random_state=0)
X = X.astype(np.float32).astype(float)
MODELS = {
    "two classes": LocalSVC(cell_size=60, **SEED),
    "three classes": LocalSVC(cell_size=60, n_trees=3, **SEED),
    "rbf": LocalSVC(cell_size=60, kernel="rbf", dtype="float64", n_trees=2, **SEED),
    "linear": LocalSVC(cell_size=60, kernel="linear", dtype="float64", **SEED),
    "factors": LocalSVC(cell_size=60, metric=np.array([1.0, -0.5, 2.0, 1.0]), **SEED),
    "few factors": LocalSVC(cell_size=60, metric=np.array([1.0, 0.0, 2.0, 0.0]), **SEED),
    "directions": LocalSVC(cell_size=60, metric=np.array([[1.0, 0.0, 2.0, 0.0], [0.0, 1.0, 0.5, 1.0]]), **SEED),
    "linear in directions": LocalSVC(cell_size=60, kernel="linear", dtype="float64", metric=np.ones((1, 4)), **SEED),
    "values": LocalSVR(cell_size=60, n_trees=2, **SEED),
    "far": LocalSVC(cell_size=60, **SEED),
    "scaled": make_pipeline(StandardScaler(), LocalSVC(cell_size=60, **SEED)),
    "pipeline": StreamPipeline(LocalSVR(cell_size=60, **SEED)),
    "equal rows": LocalSVC(cell_size=60, **SEED),
    "one cell": LocalSVC(n_trees=2, **SEED),
    "bytes": LocalSVC(cell_size=60, n_trees=2, budget="5KB", **SEED),
    "one cell in bytes": LocalSVC(budget="2KB", **SEED),
}


def fitted(name):
    rows, y = X, Y == 1 if name == "two classes" else Y
    if name in ("values", "pipeline"):
        y = 100 + 10 * np.sin(X[:, 0]) + X[:, 1]
    if name == "far":
        rows = X + 4096
    if name == "equal rows":
        rows = X.copy()
        rows[:150] = X[0]
    return clone(MODELS[name]).fit(rows, y), rows


@pytest.mark.parametrize("name", MODELS)
def test_plain_numbers_and_c_predict_what_python_does(name, tmp_path):
    model, rows = fitted(name)
    rng = np.random.default_rng(1)
    others = rows.mean(axis=0) + 3 * (rows[:100] - rows.mean(axis=0)) + rng.normal(size=(100, 4))
    probe = np.concatenate([rows[:200], others]).astype(np.float32).astype(float)
    expected = python_scores(model, probe)
    plain = plain_model(model)
    # Python computes small distances, and sums of large coefficients, in float32.
    tolerance = 1e-3 if name in ("far", "linear in directions", "bytes", "one cell in bytes") else 1e-4
    assert_same_scores(plain.decision_function(probe), expected, tolerance)
    for dtype in ("float32", "float64"):
        compiled = CompiledModel(model, tmp_path, name=f"m_{dtype}", dtype=dtype)
        assert_same_scores(compiled.scores(probe), expected, tolerance)
        if plain.classes is not None:
            np.testing.assert_array_equal(plain.predict(probe), model.predict(probe))
            np.testing.assert_array_equal(compiled.predictions(probe), model.predict(probe))


def test_rows_that_are_not_finite_and_rows_far_away(tmp_path):
    model, _ = fitted("three classes")
    compiled = CompiledModel(model, tmp_path)
    probe = np.array([[np.nan, 0, 0, 0], [0, np.inf, 0, 0], [1e6, -1e6, 0, 1e6]])
    found = compiled.scores(probe)
    assert np.isnan(found[:2]).all()
    assert compiled.codes == [1, 1, 0]
    assert_same_scores(found[2:], model.decision_function(probe[2:]))


def test_a_model_of_one_cell_is_an_ordinary_one():
    model, _ = fitted("one cell")
    plain = plain_model(model)
    assert plain.cells is None
    rbf = clone(model).set_params(kernel="rbf").fit(X, Y)
    label, scores = exported_onnx(rbf, X[:50], "float32")
    np.testing.assert_array_equal(label, rbf.predict(X[:50]))
    assert_same_scores(scores, rbf.decision_function(X[:50]), 1e-3)


def test_formats_without_trees_are_refused(tmp_path):
    model, _ = fitted("rbf")
    with pytest.raises(ValueError, match=r"ONNX is not for machines in cells .*: use to_c, or frugalsvm\.save"):
        to_onnx(model)
    with pytest.raises(ValueError, match="LIBSVM's text is not for machines in cells"):
        to_libsvm(model, tmp_path / "model.txt")
    with pytest.raises(ValueError, match="SVC is not for machines in cells"):
        to_arrays(model)
    with pytest.raises(ValueError, match="explain=True is not for machines in cells"):
        to_c(model, tmp_path, explain=True)
    assert not list(tmp_path.iterdir())


def test_a_model_that_is_too_large_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(c99, "_LARGEST", 2**12)
    with pytest.raises(ValueError, match=r"400 vectors of 4 features: tables of 0 MB, and C is for up to 0 MB"):
        to_c(fitted("two classes")[0], tmp_path)
