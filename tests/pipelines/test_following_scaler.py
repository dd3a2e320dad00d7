"""A scaler whose statistics follow the stream."""

import numpy as np
import pytest

from frugalsvm import BSGDClassifier
from frugalsvm.persist import load, save
from frugalsvm.pipelines import StreamingScaler, StreamPipeline

BLOCK = 200  # as many as the warm-up has rows


def pipeline(scale, **params):
    estimator = BSGDClassifier(budget=40, gamma=0.5, half_life="auto", **params)
    return StreamPipeline(estimator, scale=scale, warmup_rows=BLOCK)


def stream(n_rows=2000, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n_rows, 3))
    return Z, (Z[:, 0] * Z[:, 1] + Z[:, 2] > 0).astype(int)


@pytest.mark.parametrize("method", ["standard", "robust"])
def test_statistics_are_those_of_all_blocks(method):
    X, y = stream()
    scale = StreamingScaler(method, half_life=1e9)
    model = pipeline(scale).partial_fit(X, y)
    if method == "standard":
        np.testing.assert_allclose(model.scaler_.mean_, X.mean(axis=0), atol=1e-12)
        np.testing.assert_allclose(model.scaler_.scale_, X.std(axis=0), rtol=1e-12)
    else:
        np.testing.assert_allclose(model.scaler_.scale_, X.std(axis=0), rtol=0.1)


def test_old_rows_are_forgotten():
    X, y = stream(6000)
    X[3000:] = 10.0 + 3.0 * X[3000:]
    model = pipeline(StreamingScaler("standard", half_life=BLOCK)).partial_fit(X, y)
    np.testing.assert_allclose(model.scaler_.mean_, 10.0, atol=0.7)
    np.testing.assert_allclose(model.scaler_.scale_, 3.0, rtol=0.15)


@pytest.mark.parametrize("size", [1, 70, 2000])
def test_batches_do_not_matter(size):
    X, y = stream()
    X[:, 1] += np.linspace(0, 5, len(X))
    whole, parts = pipeline("following").partial_fit(X, y), pipeline("following")
    parts.partial_fit(X[:300], y[:300])
    for start in range(300, len(y), size):
        if size == 1:
            parts.learn_one_row(X[start], y[start])
        else:
            parts.partial_fit(X[start : start + size], y[start : start + size])
    for name in ("mean_", "scale_", "limit_"):
        np.testing.assert_array_equal(getattr(parts.scaler_, name), getattr(whole.scaler_, name))
    expected = whole.decision_function(X)
    np.testing.assert_allclose(parts.decision_function(X), expected, atol=1e-5 * np.abs(expected).max())


def test_a_pipeline_from_a_file_goes_on(tmp_path):
    X, y = stream()
    whole, half = pipeline("following").partial_fit(X, y), pipeline("following").partial_fit(X[:1024], y[:1024])
    save(half, tmp_path / "model")
    resumed = load(tmp_path / "model").partial_fit(X[1024:], y[1024:])
    np.testing.assert_array_equal(resumed.scaler_.scale_, whole.scaler_.scale_)
    expected = whole.decision_function(X)
    np.testing.assert_allclose(resumed.decision_function(X), expected, atol=1e-6 * np.abs(expected).max())


def test_a_feature_that_begins_to_vary_takes_the_statistics_of_its_block():
    X, y = stream(1000)
    X[:600, 1] = 7.0
    X[600:, 1] = 100.0 + X[600:, 1]
    model = pipeline(StreamingScaler("standard", half_life=1e9)).partial_fit(X, y)
    np.testing.assert_allclose(model.scaler_.mean_[1], X[600:, 1].mean())
    np.testing.assert_allclose(model.scaler_.scale_[1], X[600:, 1].std())
    assert not model.scaler_.constant_.any()


def test_a_feature_that_is_constant_for_a_while_keeps_its_statistics():
    X, y = stream(1000)
    X[400:, 1] = 0.3
    model = pipeline(StreamingScaler("standard", half_life=300)).partial_fit(X, y)
    np.testing.assert_allclose(model.scaler_.scale_[1], X[:400, 1].std())
    assert np.isfinite(model.decision_function(X)).all()


def test_missing_values_for_a_while():
    X, y = stream(1200)
    X[400:800, 1] = np.nan
    model = StreamPipeline(
        BSGDClassifier(budget=40, gamma=0.5, half_life="auto"), scale="following", warmup_rows=BLOCK, impute="mean"
    ).partial_fit(X, y)
    assert np.isfinite(model.scaler_.scale_).all()
    assert model.score(X[800:], y[800:]) > 0.8


def test_it_needs_a_limit():
    X, y = stream(300)
    with pytest.raises(ValueError, match="half_life needs a limit"):
        pipeline(StreamingScaler(clip=None, half_life=100)).partial_fit(X, y)
    with pytest.raises(ValueError, match="half_life"):
        pipeline(StreamingScaler(half_life=0)).partial_fit(X, y)
