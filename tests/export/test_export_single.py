"""Exports in float32: scores within 1e-5 of the sum of the absolute terms that they are made of."""

import numpy as np
import pytest
from export_support import KERNELS, CompiledModel, exported_onnx, random_model

from frugalsvm.export import PlainModel

TOLERANCE = 1e-5


def sums_of_terms(model, X):
    """What a score is made of, without signs: |intercept| and all |coefficient * kernel value|."""
    terms = np.abs(model.kernel_values(model.scaled(X))) @ np.abs(model.coefficients).T
    return (terms + np.abs(model.intercepts))[:, 0]


def cancelling(kernel, *, offset):
    """A scaled model far from the origin whose large coefficients cancel, as those of LASVM with a large C do."""
    rng = np.random.default_rng(0)
    plain = random_model(kernel, "sign", n=200, n_features=6)
    coefficients = np.where(np.arange(200) % 2, -1000.0, 1000.0)[None] + plain.coefficients
    mean, scale = offset * rng.normal(size=6), np.exp(rng.normal(size=6))
    return plain._replace(coefficients=coefficients).with_scaling(mean, scale)


def rows_near(model):
    """Rows that float32 holds exactly."""
    rng = np.random.default_rng(1)
    X = model.mean + model.scale * rng.normal(size=(300, model.n_features))
    return X.astype(np.float32).astype(np.float64)


@pytest.mark.parametrize("offset", [0.0, 1.0, 1000.0])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("form", ["c", "onnx"])
def test_scores(form, kernel, offset, tmp_path):
    model = cancelling(kernel, offset=offset)
    X = rows_near(model)
    if form == "c":
        scores = CompiledModel(model, tmp_path).scores(X)
    else:
        scores = exported_onnx(model, X, "float32")[1]
    errors = np.abs(scores - model.decision_function(X)) / sums_of_terms(model, X)
    assert errors.max() < TOLERANCE


def test_the_sum_is_what_it_says():
    model = PlainModel("linear", np.eye(2), np.array([[2.0, -3.0]]), np.array([-1.0]), "sign", np.array([0, 1]))
    np.testing.assert_allclose(sums_of_terms(model, np.array([[1.0, -2.0]])), [2 + 6 + 1])
