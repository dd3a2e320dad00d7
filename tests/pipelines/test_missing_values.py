"""Missing numbers in a pipeline: filled with what the first rows have, in training and in prediction, and in files."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.impute import SimpleImputer

from frugalsvm import BSGDClassifier, load, save
from frugalsvm.export import plain_model
from frugalsvm.pipelines import MissingValueFiller, StreamPipeline


def problem(n_rows=1500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4)) * [1.0, 10.0, 0.1, 1.0] + [0.0, 50.0, 0.0, 0.0]
    y = np.where(X[:, 0] + X[:, 2] * 10 > 0, "up", "down")
    holes = X.copy()
    holes[rng.random(X.shape) < 0.05] = np.nan
    return X, holes, y


def pipeline(**options):
    estimator = BSGDClassifier(budget=30, gamma=0.1, alpha=1e-3, random_state=0)
    return StreamPipeline(estimator, warmup_rows=400, **options)


@pytest.mark.parametrize("strategy", ["mean", "median"])
def test_as_if_filled_before(strategy):
    _, X, y = problem()
    filled = SimpleImputer(strategy=strategy).fit(X[:400]).transform(X)
    model, other = pipeline(impute=strategy), pipeline()
    for start in range(0, 1200, 100):
        part = slice(start, start + 100)
        model.partial_fit(X[part], y[part])
        other.partial_fit(filled[part], y[part])
    np.testing.assert_allclose(model.decision_function(X[1200:]), other.decision_function(filled[1200:]), rtol=1e-6)
    assert model.score(X[1200:], y[1200:]) > 0.85
    for row, label in zip(X[1200:1210], y[1200:1210], strict=True):
        assert model.predict_one_row(row) == model.predict(row[None])[0]
        model.learn_one_row(row, label)


def test_files_fill_the_same(tmp_path):
    _, X, y = problem()
    model = pipeline(impute="median").fit(X, y)
    save(model, tmp_path / "m.frugal")
    again = load(tmp_path / "m.frugal")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.filler_.statistics_, model.filler_.statistics_)


def test_without_it_missing_values_are_refused():
    X, holes, y = problem(600)
    model = pipeline().fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        model.predict(holes)
    with pytest.raises(ValueError, match="NaN"):
        pipeline().fit(holes, y)
    with pytest.raises(ValueError, match="impute='most'"):
        pipeline(impute="most").fit(X, y)
    with pytest.raises(ValueError, match="infinity"):
        pipeline(impute="mean").fit(np.where(np.isnan(holes), np.inf, holes), y)


def test_filler_alone():
    filler = MissingValueFiller("mean").fit([[np.nan, 1.0], [np.nan, 3.0]])
    assert filler.statistics_.tolist() == [0.0, 2.0]  # a feature without values is 0
    rows = np.array([[np.nan, np.nan]], dtype=np.float32)
    assert filler.transform(rows).dtype == np.float32
    full = np.ones((2, 2))
    assert filler.transform(full) is full
    X = csr_matrix(np.eye(2))
    assert filler.transform(X).toarray().tolist() == np.eye(2).tolist()


def test_indicators_tell_which_values_were_missing():
    X = np.array([[1.0, np.nan, 3.0], [2.0, 5.0, 3.0], [np.nan, 7.0, 3.0]])
    filler = MissingValueFiller(indicator=True).fit(X)
    assert filler.indicated_.tolist() == [0, 1]
    expected = [[1.0, 6.0, 3.0, 0.0, 1.0], [2.0, 5.0, 3.0, 0.0, 0.0], [1.5, 7.0, 3.0, 1.0, 0.0]]
    assert filler.transform(X).tolist() == expected
    # A feature that has all its values in `fit` is filled later, and has no indicator.
    assert filler.transform([[1.0, 5.0, np.nan]]).tolist() == [[1.0, 5.0, 3.0, 0.0, 0.0]]


def test_a_pipeline_learns_that_values_are_missing(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.random(1200) < 0.5
    X = rng.normal(size=(1200, 2))
    X[rng.random(1200) < np.where(y, 0.9, 0.1), 1] = np.nan
    model = pipeline(impute=MissingValueFiller(indicator=True), calibrate=True)
    for start in range(0, 1000, 100):
        model.partial_fit(X[start : start + 100], y[start : start + 100])
    assert model.score(X[1000:], y[1000:]) > 0.85
    assert model.predict_one_row(X[0]) == model.predict(X[:1])[0]
    save(model, tmp_path / "m.frugal")
    np.testing.assert_array_equal(load(tmp_path / "m.frugal").predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(plain_model(model).predict(X), model.predict(X))


def test_the_estimator_may_be_chosen_between_preparing_and_adopting():
    _, X, y = problem()
    whole, parts = pipeline(impute="mean").fit(X, y), pipeline(impute="mean")
    rows = parts.prepare(X, y)
    parts.adopt(BSGDClassifier(budget=30, gamma=0.1, alpha=1e-3, random_state=0).fit(rows.X, rows.y))
    np.testing.assert_array_equal(whole.decision_function(X), parts.decision_function(X))
