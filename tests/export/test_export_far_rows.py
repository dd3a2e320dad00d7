"""Far from all support vectors, exported models have the classes of Python: see docs/kernels.rst."""

import numpy as np
import pytest
from export_support import KERNELS, CompiledModel, exported_onnx, random_model
from support import blobs

from frugalsvm import ASSETClassifier, BSGDClassifier, IncrementalSVC
from frugalsvm.export import plain_model

RADII = (1, 5, 10, 15, 20, 40, 100, 1000)
DECAYING = [kernel for kernel in (*KERNELS, "chi2") if kernel in ("rbf", "laplacian", "chi2") or "matern" in kernel]
ESTIMATORS = [
    BSGDClassifier(budget=50, gamma=0.5, random_state=0),
    IncrementalSVC(gamma=0.5),
    ASSETClassifier(n_components=40, gamma=0.5, metric=None, random_state=0),
]


def problem(n_classes):
    X, labels = blobs(400, 4, n_classes, seed=0)
    return (X - X.mean(axis=0)) / X.std(axis=0), np.array(["one", "two", "three"])[labels]


def directions(n=500):
    rows = np.random.default_rng(1).normal(size=(n, 4))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
def test_classes_at_every_distance(estimator, dtype, n_classes, tmp_path):
    X, y = problem(n_classes)
    model = estimator.fit(X.astype(dtype), y)
    plain = plain_model(model)
    rows = np.concatenate([radius * directions(60) for radius in RADII]).astype(np.float32)
    expected = model.predict(rows.astype(dtype))
    np.testing.assert_array_equal(plain.predict(rows), expected)
    for exported in ("float32", "float64"):
        compiled = CompiledModel(model, tmp_path, name=f"m_{exported}", dtype=exported)
        np.testing.assert_array_equal(compiled.predictions(rows), expected)
        np.testing.assert_array_equal(exported_onnx(model, rows, exported)[0], expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scores_far_away_are_the_intercepts(dtype):
    X, y = problem(3)
    model = IncrementalSVC(gamma=0.5).fit(X.astype(dtype), y)
    far = (1000.0 * directions(20)).astype(dtype)
    scores = model.decision_function(far)
    assert (scores == scores[0]).all()
    np.testing.assert_array_equal(plain_model(model).values(far), np.tile(model.intercept_, (20, 1)))
    trained = BSGDClassifier(budget=50, gamma=0.5, random_state=0).fit(X.astype(dtype), y)
    np.testing.assert_array_equal(trained.decision_function(far), np.zeros((20, 3)))
    assert (trained.predict(far) == trained.classes_[0]).all()  # the first of several, where all are equal


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("kernel", DECAYING)
def test_the_largest_numbers_are_far_away(kernel, directed, tmp_path):
    """Squares overflow in float32, and their differences are NaN."""
    model = random_model("rbf", "argmax")._replace(kernel=kernel, gamma=0.2)
    model = model._replace(directions=np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0] * 4)
    if not directed:
        model = model._replace(directions=None, vectors=np.abs(model.vectors)).with_scaling(None, np.full(5, 0.25))
    if kernel == "chi2" and directed:
        pytest.skip("directions make negative numbers, which chi2 does not take")
    signs = np.random.default_rng(2).choice([1.0] if kernel == "chi2" else [-1.0, 1.0], size=(20, 5))
    rows = (signs * np.where(np.arange(20) % 2, 3e38, 1e30)[:, None]).astype(np.float32)
    for dtype in ("float32", "float64"):
        compiled = CompiledModel(model, tmp_path, name=f"m_{dtype}", dtype=dtype)
        expected = np.tile(model.intercepts.astype(dtype), (20, 1))
        np.testing.assert_array_equal(compiled.scores(rows), expected)
        np.testing.assert_array_equal(exported_onnx(model, rows, dtype)[1], expected)
