"""Numbers far from zero: differences to the origin are taken first, and a warning tells where float32 has no digits."""

import warnings

import numpy as np
import pytest
from export_support import CompiledModel, assert_same_scores, exported_onnx

from frugalsvm import ASSETClassifier, BSGDClassifier
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
