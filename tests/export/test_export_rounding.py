"""Numbers far from zero: differences to the origin are taken first, and a warning tells where float32 has no digits."""

import warnings

import numpy as np
import pytest
from export_support import CompiledModel, assert_same_scores, exported_onnx, random_model

from frugalsvm import ASSETClassifier, ASSETRegressor, BSGDClassifier, BSGDRegressor
from frugalsvm.export import to_c, to_onnx
from frugalsvm.pipelines import StreamPipeline

ESTIMATOR = BSGDClassifier(budget=50, gamma=50.0, random_state=0)
MODELS = {
    "alone": ESTIMATOR,
    "scaled": StreamPipeline(BSGDClassifier(budget=50, random_state=0)),
    "fourier": ASSETClassifier("fourier", n_components=40, gamma=50.0, structured=False, random_state=0),
    "directed": ASSETClassifier(n_components=40, gamma=50.0, metric="full", random_state=0),
}


def problem(middle):
    X = middle + 0.1 * np.random.default_rng(0).normal(size=(500, 3))
    return X, np.sin(20.0 * (X[:, 0] - middle)) + X[:, 1] > middle


@pytest.mark.parametrize("name", MODELS)
def test_a_warning_tells_which_feature_is_rounded(name, tmp_path):
    pytest.importorskip("onnx")
    X, y = problem(1e4)
    X[:, [0, 2]] -= 1e4
    model = MODELS[name].fit(X, y)
    for export in (lambda dtype: to_c(model, tmp_path, dtype=dtype), lambda dtype: to_onnx(model, dtype=dtype)):
        with pytest.warns(UserWarning, match=r"Feature 1 is rounded to float32 .* dtype='float64'"):
            export("float32")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            export("float64")


@pytest.mark.parametrize("name", MODELS)
def test_ordinary_rows_get_no_warning(name, tmp_path):
    X, y = problem(1.0)
    model = MODELS[name].fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        to_c(model, tmp_path)


def test_scores_are_those_of_the_rounded_rows(tmp_path):
    X, y = problem(1e4)
    model = ESTIMATOR.fit(X, y)
    rounded = X.astype(np.float32)
    expected = model.decision_function(rounded.astype(np.float64))
    with pytest.warns(UserWarning, match="is rounded to float32"):
        assert_same_scores(CompiledModel(model, tmp_path).scores(X), expected)
    with pytest.warns(UserWarning, match="is rounded to float32"):
        assert_same_scores(exported_onnx(model, X, "float32")[1], expected)


REGRESSORS = {
    "budgeted": BSGDRegressor(budget=50, gamma=50.0, random_state=0),
    "landmarks": ASSETRegressor(n_components=40, gamma=50.0, random_state=0),
    "fourier": ASSETRegressor("fourier", n_components=40, gamma=50.0, structured=False, random_state=0),
}


@pytest.mark.parametrize("name", REGRESSORS)
def test_a_warning_tells_of_predictions_that_are_rounded(name, tmp_path):
    """Targets of 1.7e9, as times in seconds have it: float32 counts them in steps of 128."""
    X, y = problem(1.0)
    target = 1.7e9 + 30.0 * y
    model = REGRESSORS[name].fit(X, target)
    expected = model.predict(X)
    with pytest.warns(UserWarning, match=r"Predictions are rounded to float32 .* dtype='float64'"):
        to_c(model, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exact = CompiledModel(model, tmp_path, dtype="float64").scores(X)
        to_c(model.fit(X, target - 1.7e9), tmp_path)
    assert np.ptp(expected) > 10.0
    np.testing.assert_allclose(exact, expected, rtol=0.0, atol=1e-3)  # of 30


def test_large_intercepts_take_no_digits_from_the_terms_of_a_sum(tmp_path):
    n = 400
    model = random_model("rbf", "value", n=n)
    model = model._replace(
        coefficients=np.abs(model.coefficients) / n, intercepts=np.full(len(model.coefficients), 2.0**20)
    )
    X = model.vectors[:50]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = CompiledModel(model, tmp_path).scores(X)
    expected = model.decision_function(X)
    assert np.abs(scores.reshape(expected.shape) - expected).max() <= 0.07  # half of a step of float32 there
