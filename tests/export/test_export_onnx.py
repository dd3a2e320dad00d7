"""ONNX models are valid, and onnxruntime predicts what Python predicts."""

import sys

import numpy as np
import pytest
from export_support import KERNELS, LABELS, assert_same_scores, exported_onnx, random_model, rows_for
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support import blobs

from frugalsvm import ASSETClassifier, BSGDClassifier
from frugalsvm.export import to_onnx

TOLERANCES = {"float32": 1e-5, "float64": 1e-12}


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("decision", LABELS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_onnxruntime_predicts_the_same(kernel, decision, dtype):
    model = random_model(kernel, decision)
    X = rows_for(model)
    labels, scores = exported_onnx(model, X, dtype)
    assert scores.dtype == dtype
    assert_same_scores(scores, model.decision_function(X), TOLERANCES[dtype])
    if decision == "value":
        assert labels is None
    else:
        np.testing.assert_array_equal(labels, model.predict(X))


@pytest.mark.parametrize(
    "classes", [[False, True], [0.5, 1.5], ["naïve", ""], np.array(["x", "y"], object), [2**40, -(2**40)]]
)
def test_labels_are_those_of_training(classes):
    model = random_model("rbf", "sign", classes=classes)
    X = rows_for(model)
    labels, _ = exported_onnx(model, X, "float32")
    assert labels.tolist() == model.predict(X).tolist()
    assert {type(label) for label in labels.tolist()} == {type(label) for label in model.predict(X).tolist()}


@pytest.mark.parametrize("n_rows", [0, 1, 7])
def test_any_number_of_rows(n_rows):
    model = random_model("rbf", "argmax")
    labels, scores = exported_onnx(model, rows_for(model, n_rows), "float32")
    assert labels.shape == (n_rows,)
    assert scores.shape == (n_rows, 3)


def test_far_from_the_origin_float32_keeps_its_digits():
    """Squared norms are a million here, and distances about ten: their difference would have no digits left."""
    model = random_model("rbf", "sign")
    vectors = np.float32(1000.0 + model.vectors).astype(float)
    X = np.float32(1000.0 + rows_for(model)).astype(float)
    model = model._replace(vectors=vectors)
    _, scores = exported_onnx(model, X, "float32")
    assert_same_scores(scores, model.decision_function(X), 2e-5)


@pytest.mark.parametrize("n_features", [1, 4])
@pytest.mark.parametrize("kernel", KERNELS)
def test_scaled_inputs(kernel, n_features):
    """With one feature a scale is a scalar, which onnxruntime would merge with the product, in float32."""
    model = random_model(kernel, "sign", n_features=n_features)
    model = model.with_scaling(np.full(n_features, 3.3), np.full(n_features, 0.7))
    X = 3.3 + 0.7 * rows_for(model)
    _, scores = exported_onnx(model, X, "float64")
    assert_same_scores(scores, model.decision_function(X), 1e-12)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("n_features", [1, 4])
@pytest.mark.parametrize(
    ("kernel", "soft"), [*((kernel, False) for kernel in KERNELS), ("rbf", True), ("linear", True)]
)
def test_clipped_inputs(kernel, n_features, dtype, soft):
    model = random_model(kernel, "sign", n_features=n_features)
    mean, scale, limit = (np.full(n_features, value) for value in (3.25, 0.5, 0.75))
    model = model.with_scaling(mean, scale, limit, soft_clip=soft)
    X = 3.25 + rows_for(model)
    X[::10] *= 1e6
    assert (np.abs(X - 3.25) > 0.75).any()
    _, scores = exported_onnx(model, X, dtype)
    assert_same_scores(scores, model.decision_function(X), TOLERANCES[dtype])


@pytest.mark.parametrize("dtype", TOLERANCES)
def test_missing_inputs_are_filled(dtype):
    model = random_model("rbf", "sign", n_features=4)
    model = model.with_scaling(np.full(4, 3.25), np.full(4, 0.5))._replace(filling=np.arange(4.0))
    X = 3.25 + rows_for(model)
    X[::3, 1] = np.nan
    _, scores = exported_onnx(model, X, dtype)
    assert_same_scores(scores, model.decision_function(X), TOLERANCES[dtype])


def test_a_scaled_pipeline_in_float32():
    X, y = blobs(400, 6, 2, seed=0)
    X = np.float32(100.0 + X * np.arange(1, 7))
    pipeline = make_pipeline(StandardScaler(), BSGDClassifier(budget=20, random_state=0)).fit(X.astype(float), y)
    labels, scores = exported_onnx(pipeline, X, "float32")
    assert_same_scores(scores, pipeline.decision_function(X.astype(float)), 1e-4)  # 100 costs float32 two digits
    _, scores = exported_onnx(pipeline, X, "float64")
    assert_same_scores(scores, pipeline.decision_function(X.astype(float)), 1e-11)
    np.testing.assert_array_equal(labels, pipeline.predict(X.astype(float)))


def test_a_fitted_estimator_goes_to_a_file(tmp_path):
    onnx = pytest.importorskip("onnx")
    X, y = blobs(300, 6, 3, seed=0)
    estimator = ASSETClassifier(n_components=40, random_state=0).fit(X, y)
    proto = to_onnx(estimator, tmp_path / "model.onnx")
    loaded = onnx.load(tmp_path / "model.onnx")
    assert loaded == proto
    assert [output.name for output in loaded.graph.output] == ["label", "scores"]
    assert {node.op_type for node in loaded.graph.node} == {
        *("ReduceSumSquare", "ReduceSum", "MatMul", "Add", "Sub", "Mul", "Neg", "Exp", "Less", "IsNaN", "Where"),
        *("ArgMax", "Gather"),
    }


def test_numbers_beyond_float32_are_refused():
    pytest.importorskip("onnx")
    model = random_model("linear", "sign")
    model = model._replace(coefficients=model.coefficients * 1e60)
    with pytest.raises(ValueError, match="numbers that float32 cannot hold"):
        to_onnx(model)
    to_onnx(model, dtype="float64")


def test_an_unknown_type_is_refused():
    pytest.importorskip("onnx")
    with pytest.raises(ValueError, match="dtype='float16' is not one of"):
        to_onnx(random_model("linear", "sign"), dtype="float16")


def test_a_path_that_cannot_be_written(tmp_path):
    pytest.importorskip("onnx")
    with pytest.raises(OSError, match="The model could not be saved"):
        to_onnx(random_model("linear", "sign"), tmp_path / "nowhere" / "model.onnx")


def test_without_onnx_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'frugalsvm\[onnx\]'"):
        to_onnx(random_model("linear", "sign"))
