"""Rows with NaN or infinity have no scores and no class, whatever the kernel."""

import ctypes

import numpy as np
import pytest
from export_support import KERNELS, CompiledModel, exported_onnx, random_model, rows_for

ODD = (np.nan, np.inf, -np.inf)
PLACES = range(0, 9, 3)  # of the rows that have one of these


def broken(X):
    X = np.abs(X[:9])
    for row, value in zip(PLACES, ODD, strict=True):
        X[row, row % X.shape[1]] = value
    return X


def indices(compiled, X):
    return np.array(compiled._called("predict", ctypes.c_int, X, None))


@pytest.mark.parametrize("decision", ["sign", "argmax", "votes"])
@pytest.mark.parametrize("kernel", [*KERNELS, "chi2"])
def test_classifiers(kernel, decision, tmp_path):
    model = random_model("rbf" if kernel == "chi2" else kernel, decision)
    model = model._replace(kernel=kernel, vectors=np.abs(model.vectors))
    X = broken(rows_for(model))
    is_odd = ~np.isfinite(X).all(axis=1)
    with pytest.raises(ValueError, match="X contains NaN or infinity"):
        model.predict(X)
    for dtype in ("float32", "float64"):
        compiled = CompiledModel(model, tmp_path, name=f"m_{dtype}", dtype=dtype)
        scores = compiled.scores(X)
        np.testing.assert_array_equal(compiled.codes, is_odd.astype(int))
        np.testing.assert_array_equal(np.isnan(scores.reshape(9, -1)).all(axis=1), is_odd)
        np.testing.assert_array_equal(indices(compiled, X) == -1, is_odd)
        np.testing.assert_array_equal(compiled.predictions(X)[~is_odd], model.predict(X[~is_odd]))
        labels, scores = exported_onnx(model, X, dtype)
        np.testing.assert_array_equal(np.isnan(scores.reshape(9, -1)).all(axis=1), is_odd)
        np.testing.assert_array_equal(labels[~is_odd], model.predict(X[~is_odd]))
        assert not np.isin(labels[is_odd], model.classes).any()
    assert "#define M_FLOAT64_NO_CLASS (-1)" in compiled.header.read_text()


@pytest.mark.parametrize("decision", ["value", "inlier"])
def test_models_without_classes(decision, tmp_path):
    model = random_model("rbf", "value")._replace(decision=decision)
    X = broken(rows_for(model))
    is_odd = ~np.isfinite(X).all(axis=1)
    compiled = CompiledModel(model, tmp_path)
    np.testing.assert_array_equal(np.isnan(compiled.scores(X)), is_odd)
    predicted = compiled.predictions(X)
    labels, scores = exported_onnx(model, X, "float32")
    np.testing.assert_array_equal(np.isnan(scores), is_odd)
    if decision == "value":
        np.testing.assert_array_equal(np.isnan(predicted), is_odd)
    else:
        for found in (predicted, labels):
            np.testing.assert_array_equal(found == 0, is_odd)
            np.testing.assert_array_equal(found[~is_odd], model.predict(X[~is_odd]))


def test_what_is_filled_may_be_nan_but_not_infinite(tmp_path):
    model = random_model("rbf", "argmax")._replace(filling=np.arange(5.0) / 8)
    X = broken(rows_for(model))
    compiled = CompiledModel(model, tmp_path)
    compiled.scores(X)
    np.testing.assert_array_equal(compiled.codes, np.isinf(X).any(axis=1).astype(int))
    np.testing.assert_array_equal(np.isnan(exported_onnx(model, X, "float32")[1][:, 0]), np.isinf(X).any(axis=1))


def test_scores_that_overflow_have_no_class(tmp_path):
    """Products of the largest numbers are infinite, and their differences NaN."""
    model = random_model("linear", "sign")._replace(vectors=np.array([[4.0] * 5, [-4.0] * 5]))
    model = model._replace(coefficients=np.array([[2.0, 2.0]]))
    compiled = CompiledModel(model, tmp_path)
    X = np.full((1, 5), 3e38)
    assert np.isnan(compiled.scores(X)[0])
    assert compiled.codes == [1]
    assert indices(compiled, X)[0] == -1
