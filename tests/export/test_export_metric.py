"""Models with a metric predict the same as plain numbers, in ONNX, in C, and in LIBSVM text where that has a place."""

import numpy as np
import pytest
from export_support import CompiledModel, LibsvmReader, assert_same_scores, exported_onnx
from test_export_libsvm import svm_scaled

from frugalsvm import ASSETClassifier, ASSETRegressor, BSGDClassifier
from frugalsvm.export import plain_model, to_arrays, to_libsvm
from frugalsvm.pipelines import StreamingScaler, StreamPipeline

METRICS = {
    "factors": np.array([1.5, 0.4, -0.7, 0.05]),
    "zeros": np.array([1.5, 0.0, -0.7, 0.0]),
    "directions": np.random.default_rng(5).normal(size=(3, 4)),
    "too many": np.random.default_rng(6).normal(size=(5, 4)),  # an origin is no row in this metric
}
TOLERANCE = 1e-6  # of the sum of the absolute terms that a score is made of: estimators compute in float32


def new_rows(n=300, shift=0.0):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    return X + shift, (X[:, 0] * X[:, 2] > 0).astype(int) + (X[:, 1] > 1)


def assert_all_forms_say(model, X, expected, folder, dtypes=("float32", "float64")):
    plain = plain_model(model)
    terms = np.abs(plain.kernel_values(plain.scaled(X))) @ np.abs(plain.coefficients).T
    tolerance = TOLERANCE * terms.max() / np.abs(expected).max()
    assert_same_scores(plain.decision_function(X), expected, tolerance)
    for dtype in dtypes:
        assert_same_scores(exported_onnx(model, X, dtype)[1], expected, tolerance)
        (folder / dtype).mkdir()
        assert_same_scores(CompiledModel(model, folder / dtype, dtype=dtype).scores(X), expected, tolerance)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "matern32", "poly"])
@pytest.mark.parametrize("name", METRICS)
def test_kernels(name, kernel, tmp_path):
    X, y = new_rows(shift=0.0 if kernel == "poly" else 50.0)
    model = ASSETClassifier(n_components=30, kernel=kernel, metric=METRICS[name], random_state=0).fit(X, y)
    X = np.float32(X).astype(float)
    assert_all_forms_say(model, X, model.decision_function(X), tmp_path)


@pytest.mark.parametrize("name", METRICS)
def test_fourier_features(name, tmp_path):
    X, y = new_rows()
    model = ASSETClassifier("fourier", n_components=30, metric=METRICS[name], random_state=0).fit(X, y)
    X = np.float32(X).astype(float)
    assert_all_forms_say(model, X, model.decision_function(X), tmp_path)


def test_one_feature_and_a_regression(tmp_path):
    X, _ = new_rows()
    model = ASSETRegressor(n_components=30, metric=[[2.0]], random_state=0).fit(X[:, :1], np.sin(X[:, 0]))
    X = np.float32(X[:, :1]).astype(float)
    assert_all_forms_say(model, X, model.predict(X), tmp_path)


@pytest.mark.parametrize("name", METRICS)
def test_rows_that_have_moved_away_from_the_center(name, tmp_path):
    X, y = new_rows(600)
    model = BSGDClassifier(budget=300, alpha=1e-3, metric=METRICS[name], random_state=0)
    model.partial_fit(X[:40].astype(np.float32), y[:40])
    X = X.astype(np.float32) + np.float32(30_000)
    model.partial_fit(X, y)
    assert not model.origin_.is_zero
    # How far rows are where no direction looks is not known to the model: that takes digits of float32.
    dtypes = ("float64",) if name == "directions" else ("float32", "float64")
    assert_all_forms_say(model, X.astype(float), model.decision_function(X), tmp_path, dtypes)


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("name", METRICS)
def test_behind_a_scaler_that_clips_and_fills(name, soft, tmp_path):
    X, y = new_rows(shift=20.0)
    X = X * np.array([1.0, 10.0, 0.1, 3.0])
    estimator = ASSETClassifier(n_components=30, metric=METRICS[name], gamma="scale", C=1.0, random_state=0)
    scaler = StreamingScaler(clip=2.0, soft_clip=soft)
    model = StreamPipeline(estimator, scale=scaler, warmup_rows=100, impute="mean").fit(X, y)
    X = np.float32(X).astype(float)
    X[::7, 1], X[1::7, 2], X[2::7, 0] = np.nan, 1e4, -1e4
    assert_all_forms_say(model, X, model.decision_function(X), tmp_path)


@pytest.mark.parametrize("name", ["factors", "zeros"])
def test_libsvm_has_a_place_for_factors(name, tmp_path):
    X, y = new_rows(shift=3.0)
    model = BSGDClassifier(budget=30, alpha=1e-3, metric=METRICS[name], random_state=0).fit(X, y > 0)
    to_libsvm(model, tmp_path / "model.txt")
    scaled = svm_scaled(tmp_path / "model.txt.range", X)
    values = LibsvmReader(tmp_path / "model.txt").decision_values(scaled)[:, 0]
    assert_same_scores(-values, model.decision_function(X), 1e-4)  # svm-scale writes six digits


def test_libsvm_takes_any_metric_of_a_kernel_of_products(tmp_path):
    X, y = new_rows()
    metric = METRICS["directions"]
    model = ASSETClassifier(n_components=30, kernel="poly", metric=metric, random_state=0).fit(X, y > 0)
    to_libsvm(model, tmp_path / "model.txt")
    values = LibsvmReader(tmp_path / "model.txt").decision_values(X)[:, 0]
    assert_same_scores(-values, model.decision_function(X), 1e-4)  # large terms that cancel


def test_directions_that_other_formats_have_no_place_for_are_refused(tmp_path):
    X, y = new_rows()
    metric = METRICS["directions"]
    model = ASSETClassifier(n_components=30, metric=metric, random_state=0).fit(X, y > 0)
    with pytest.raises(ValueError, match="directions across features: export it to ONNX or C"):
        to_libsvm(model, tmp_path / "model.txt")
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="cannot hold a scaler or a metric"):
        to_arrays(model)
