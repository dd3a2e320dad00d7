"""Rows on their way to an estimator: block by block, on threads, some of them or all."""

import numpy as np
import pytest

from frugalsvm import LocalSVC
from frugalsvm.compiling.threads import Threads
from frugalsvm.pipelines import ColumnEncoder, MissingValueFiller, StreamingScaler, StreamPipeline
from frugalsvm.pipelines import imputer as numbers_of
from frugalsvm.pipelines.imputer import missing_counts, prepared_numbers


def table(dtype, *, missing=True):
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((500, 4)) * [1.0, 10.0, 0.1, 1.0] + [0.0, 5.0, 0.0, 0.0]).astype(dtype)
    if missing:
        X[::7, 1] = np.nan
        X[::50, 3] = np.nan
    return X, (X[:, 0] > 0.2).astype(np.int64), rng.random(500)


def new_pipeline(**options):
    parts = {"scale": StreamingScaler(clip=6.0), "impute": MissingValueFiller(indicator=True)}
    return StreamPipeline(**{"estimator": LocalSVC(n_jobs=2), **parts, **options})


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(numbers_of, "_BLOCK_VALUES", 52)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_are_prepared_as_all_rows_are(small_blocks, dtype):
    X, _, _ = table(dtype)
    filler = MissingValueFiller(indicator=True).fit(X)
    filled = np.where(np.isnan(X), np.nanmedian(X.astype(np.float64), axis=0).astype(dtype), X)
    scaler = StreamingScaler(clip=6.0).fit(filled)
    expected = np.hstack([scaler.transform(filled), np.isnan(X[:, [1, 3]])])
    for threads in (Threads(1), Threads(3)):
        np.testing.assert_array_equal(prepared_numbers(X, filler, scaler, threads=threads), expected)
    np.testing.assert_array_equal(prepared_numbers(X, filler, None)[:, :4], filled)
    assert prepared_numbers(X, filler, scaler).dtype == dtype


def test_scaled_rows_are_rounded_once_and_others_keep_their_type():
    X, _, _ = table(np.float64, missing=False)
    scaler = StreamingScaler().fit(X)
    narrow = prepared_numbers(X, None, scaler, np.float32)
    np.testing.assert_array_equal(narrow, scaler.transform(X).astype(np.float32))
    assert prepared_numbers(X, MissingValueFiller().fit(X), None, np.float32) is X


@pytest.mark.parametrize("value", [np.nan, np.inf, 3e38])
def test_missing_values_are_counted_among_infinite_and_huge_ones(small_blocks, value):
    X = np.ones((100, 3), np.float32)
    X[40:60, 0], X[41:61, 1], X[70, 2] = value, -value, np.nan
    np.testing.assert_array_equal(missing_counts(X), np.isnan(X).sum(axis=0))


def test_some_rows_are_prepared_as_all_are(small_blocks):
    X, y, weights = table(np.float64)
    whole = new_pipeline().prepare(X, y, weights)
    pipeline = new_pipeline()
    rows = pipeline.survey(X, y, weights)
    assert rows.X is X
    index = np.array([3, 400, 7, 0])
    some = pipeline.prepared_rows(rows, index, dtype=np.float32)
    np.testing.assert_array_equal(some.X, whole.X[index].astype(np.float32))
    np.testing.assert_array_equal(some.y, y[index])
    np.testing.assert_array_equal(some.weights, weights[index])
    for found, expected in zip(pipeline.prepared_rows(rows), whole, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_some_rows_with_text_are_prepared_as_all_are():
    X, y, _ = table(np.float32)
    text = {"color": np.array(["red", "green", "blue"], object)[np.arange(len(y)) % 3]}
    pipeline = new_pipeline(encoder=ColumnEncoder())
    rows = pipeline.survey((X, text), y)
    whole = pipeline.prepared_rows(rows).X
    np.testing.assert_array_equal(pipeline.prepared_rows(rows, slice(100, 120)).X, whole[100:120])
    np.testing.assert_array_equal(whole[:, -3:].sum(axis=0), [166, 167, 167])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_to_predict_are_written_in_the_type_of_the_estimator(small_blocks, monkeypatch, dtype):
    X, y, _ = table(np.float64)
    fitted = new_pipeline(estimator=LocalSVC(random_state=0, dtype=np.dtype(dtype).name, n_jobs=2)).fit(X, y)
    expected, passed = fitted.estimator_.decision_function(fitted.estimator_rows(X)), []
    monkeypatch.setattr(fitted.estimator_, "decision_function", lambda rows: passed.append(rows.dtype) or expected)
    np.testing.assert_array_equal(fitted.decision_function(X), expected)
    assert passed == [dtype]
    monkeypatch.undo()
    np.testing.assert_array_equal(fitted.decision_function(X), expected)


def test_without_a_scaler_numbers_stay_as_they_are():
    X, y, _ = table(np.float64)
    pipeline = new_pipeline()
    rows = pipeline.survey(X, y)
    other = pipeline.unscaled()
    found, expected = other.prepared_rows(rows), new_pipeline(scale=False).prepare(X, y)
    np.testing.assert_array_equal(found.X, expected.X)
    assert pipeline.scaler_ is not None
    fitted = other.adopt(LocalSVC(random_state=0).fit(found.X, y))
    same = new_pipeline(scale=False, estimator=LocalSVC(random_state=0)).fit(X, y)
    np.testing.assert_array_equal(fitted.predict(X), same.predict(X))


@pytest.mark.parametrize("missing", [True, False])
def test_columns_that_lie_together_are_not_moved(small_blocks, missing):
    X, y, _ = table(np.float64, missing=missing)
    columns, pipeline = np.asfortranarray(X), new_pipeline()
    rows = pipeline.survey(columns, y)
    assert rows.X is columns
    expected = new_pipeline().prepare(X, y)
    for found in (pipeline.prepared_rows(rows), new_pipeline().prepare(pytest.importorskip("pandas").DataFrame(X), y)):
        assert found.X.flags.c_contiguous
        np.testing.assert_array_equal(found.X, expected.X)
