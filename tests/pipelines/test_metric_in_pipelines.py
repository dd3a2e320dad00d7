"""Metrics behind pipelines: single rows are mapped as batches are, and enough rows are held back to learn one."""

import warnings

import numpy as np
import pytest

from frugalsvm import BSGDClassifier
from frugalsvm.pipelines import StreamPipeline, learning
from frugalsvm.pipelines.one_row import RowPath

RNG = np.random.default_rng(0)
FACTORS = np.array([1.0, 0.5, 2.0, 0.0])
DIRECTIONS = RNG.normal(size=(3, 4))
METRIC_ROWS = 500


def new_rows(n=300, shift=3.0, dtype=np.float64):
    rng = np.random.default_rng(1)
    X = rng.normal(shift, 2.0, (n, 4)).astype(dtype)
    return X, ((X[:, 0] - shift) * (X[:, 2] - shift) > 0).astype(int)


def bsgd(metric):
    return BSGDClassifier(budget=20, alpha=1e-3, random_state=0, metric=metric)


@pytest.mark.parametrize("metric", [FACTORS, DIRECTIONS], ids=["factors", "directions"])
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_single_rows_are_learned_as_batches_of_one(metric, scale, dtype):
    X, y = new_rows(200, dtype=dtype)
    fast, slow = (StreamPipeline(bsgd(metric), scale=scale, warmup_rows=50) for _ in range(2))
    for x, label in zip(X, y, strict=True):
        fast.learn_one_row(x, label)
    for i in range(len(y)):
        slow.partial_fit(X[i : i + 1], y[i : i + 1])
    assert isinstance(fast._row_path(), RowPath)
    np.testing.assert_array_equal(fast.estimator_.dual_coef_, slow.estimator_.dual_coef_)
    np.testing.assert_array_equal(fast.estimator_.support_rows(), slow.estimator_.support_rows())
    by_row = [fast._row_scores(x)[0] for x in X[:20]]
    np.testing.assert_allclose(by_row, slow.decision_function(X[:20]), rtol=1e-5, atol=1e-6)


def test_single_rows_far_from_zero_are_relative_to_the_origin():
    X, y = new_rows()
    # The center of a metric is that of the first rows. Later ones that are far from it make an origin of their own.
    fast, slow = (StreamPipeline(bsgd(DIRECTIONS), scale=False, warmup_rows=50) for _ in range(2))
    for model in (fast, slow):
        model.partial_fit(X, y)
        model.partial_fit(X + 1e8, y)
    assert not fast.estimator_.origin_.is_zero
    for x, label in zip(X[:50], y[:50], strict=True):
        fast.learn_one_row(x + 1e8, label)
        slow.partial_fit([x + 1e8], [label])
    assert isinstance(fast._row_path(), RowPath)
    np.testing.assert_array_equal(fast.estimator_.dual_coef_, slow.estimator_.dual_coef_)


def test_digits_survive_far_from_the_center():
    X, y = new_rows(400)
    X = np.round(X)
    model = bsgd(DIRECTIONS).partial_fit(X.astype(np.float32), y)
    model.partial_fit((X + 1e5).astype(np.float32), y)
    assert not model.origin_.is_zero
    expected = (X + 1e5 - model.metric_part_.center) @ DIRECTIONS.T - model.origin_.point
    np.testing.assert_allclose(
        model._known_rows((X + 1e5).astype(np.float32), np.float32), expected, rtol=1e-5, atol=1e-5
    )


def test_a_model_that_was_fitted_anew_has_another_metric():
    X, y = new_rows()
    model = StreamPipeline(bsgd(FACTORS), scale=False, warmup_rows=50).fit(X, y)
    before = model._row_path()
    assert model._row_path() is before
    model.estimator_.set_params(metric=DIRECTIONS).fit(X, y)
    assert model._row_path() is not before
    np.testing.assert_allclose(model._row_scores(X[0]), model.decision_function(X[:1]), rtol=1e-6)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_bad_values_of_features_that_do_not_count_are_refused(bad):
    X, y = new_rows()
    model = StreamPipeline(bsgd(FACTORS), scale=False, warmup_rows=50).fit(X, y)
    row = X[0].copy()
    row[3] = bad
    with pytest.raises(ValueError, match=r"NaN|inf"):
        model.learn_one_row(row, 1)
    assert model.estimator_.t_ == len(y)


@pytest.mark.parametrize("warmup_rows", [0, 50])
def test_rows_are_held_back_to_learn_a_metric_from(monkeypatch, warmup_rows):
    monkeypatch.setattr(learning, "METRIC_ROWS", METRIC_ROWS)
    X, y = new_rows(METRIC_ROWS + 30)
    model = StreamPipeline(bsgd("diag"), scale=bool(warmup_rows), warmup_rows=warmup_rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for start in range(0, METRIC_ROWS - 10, 49):
            model.partial_fit(X[start : start + 49], y[start : start + 49])
            model.predict(X[:5])  # by a copy, which is too young for a metric
        assert model.n_held_ == 490
        model.partial_fit(X[490:], y[490:])
    assert model.n_held_ == 0
    assert model.estimator_.t_ == len(y)
    assert model.estimator_.metric_.shape == (4,)
    assert model.estimator_.feature_importances_[3] < 0.1


def test_a_given_metric_needs_no_more_rows():
    X, y = new_rows(60)
    model = StreamPipeline(bsgd(FACTORS), warmup_rows=50).partial_fit(X, y)
    assert model.n_held_ == 0
    assert model.n_warmup == 50
