"""Fitted models with other kernels than the usual ones predict the same as plain numbers, in ONNX and in C."""

import numpy as np
import pytest
from export_support import CompiledModel, assert_same_scores, exported_onnx
from oracles import kernels as oracle

from frugalsvm import ASSETClassifier
from frugalsvm.export import plain_model


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = 100.0 + rng.normal(size=(300, 4))  # so far away that the model has an origin
    return X, (np.abs(X - 100.0).sum(axis=1) > 3.0).astype(int)


@pytest.mark.parametrize("name", ["laplacian", *oracle.ORDERS, *oracle.OTHERS])
def test_fitted_models(rows, name, tmp_path):
    X, y = rows
    if name in oracle.OTHERS:
        X = np.maximum(X - 100.0, 0.0)  # histograms, some of zeros
    model = ASSETClassifier(n_components=40, kernel=name, random_state=0).fit(X, y)
    scores = model.decision_function(X)
    plain = plain_model(model)
    assert plain.kernel == name
    expected = (
        oracle.value(name, plain.scaled(X), plain.vectors.astype(float), getattr(model, "gamma_", None))
        @ plain.coefficients[0]
    )
    np.testing.assert_allclose(plain.decision_function(X), expected + plain.intercepts, rtol=1e-9, atol=1e-9)
    assert_same_scores(plain.decision_function(X), scores)
    assert_same_scores(CompiledModel(model, tmp_path, dtype="float64").scores(X), scores)
    assert_same_scores(exported_onnx(model, X, "float64")[1], scores)
