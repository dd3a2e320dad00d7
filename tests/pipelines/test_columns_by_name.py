"""Columns of data frames are found by their names, whatever order and types they come in."""

import numpy as np
import pytest

from frugalsvm import BSGDClassifier, load, save
from frugalsvm.pipelines import ColumnEncoder, StreamPipeline
from frugalsvm.pipelines.rows import split_input

pandas = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    n = 400
    frame = pandas.DataFrame(
        {"a": rng.normal(size=n), "b": 100 * rng.normal(size=n), "c": rng.choice(["red", "green"], n)}
    )
    return frame, (frame["a"] > 0).to_numpy()


def new_pipeline():
    return StreamPipeline(BSGDClassifier(budget=50, random_state=0), encoder=ColumnEncoder(), warmup_rows=100)


@pytest.fixture(scope="module")
def model(table):
    return new_pipeline().fit(*table)


def test_columns_in_another_order(table, model, tmp_path):
    X, y = table
    expected = model.decision_function(X)
    turned = X[["c", "b", "a"]]
    assert model.score(X, y) > 0.9
    assert model.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(model.decision_function(turned), expected)
    save(model, tmp_path / "model.frugal")
    np.testing.assert_array_equal(load(tmp_path / "model.frugal").decision_function(turned), expected)


def test_batches_with_columns_in_another_order(table):
    X, y = table
    straight, turned = new_pipeline(), new_pipeline()
    for start in range(0, 400, 50):  # the first two are held back
        part = slice(start, start + 50)
        straight.partial_fit(X[part], y[part])
        turned.partial_fit(X[part] if start == 0 else X[part][["b", "c", "a"]], y[part])
        np.testing.assert_array_equal(turned.decision_function(X), straight.decision_function(X))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X.rename(columns={"b": "bb"}), "lacks the column 'b'"),
        (lambda X: X.drop(columns="c"), "lacks the column 'c'"),
        (lambda X: X.assign(extra=1.0, more="x"), "has the columns 'extra', 'more'"),
        (lambda X: X.assign(b="many"), "'b' has 400 values that are not numbers, such as 'many'"),
        (lambda X: pandas.concat([X, X[["a"]]], axis=1), "two columns called 'a'"),
    ],
)
def test_other_columns_are_named(table, model, change, message):
    X, y = table
    for use in (model.predict, lambda X: model.partial_fit(X, y)):
        with pytest.raises(ValueError, match=message):
            use(change(X))


def test_numbers_of_another_type(table, model):
    X, _ = table
    expected = model.decision_function(X)
    for kind in (object, "string", "Float64"):
        changed = X.assign(a=X["a"].astype(kind))
        np.testing.assert_allclose(model.decision_function(changed), expected, rtol=1e-6)


def test_pairs_without_names_are_taken_as_they_are(table, model, recwarn):
    X, _ = table
    rows = X[["a", "b"]].to_numpy(), {"c": X["c"].to_numpy()}
    np.testing.assert_array_equal(model.decision_function(rows), model.decision_function(X))
    assert not recwarn.list


def dated(n=400, zone=None):
    """A class for each half of the time, with days that come once each."""
    days = pandas.Series(pandas.date_range("2020-01-01", periods=n, freq="D", tz=zone)).sample(frac=1, random_state=0)
    X = pandas.DataFrame({"c": ["red", "green"] * (n // 2), "when": days.to_numpy() if zone is None else days.array})
    return X, (X["when"] > X["when"].sort_values().iloc[n // 2]).to_numpy()


@pytest.mark.parametrize("zone", [None, "Europe/Rome"])
def test_dates_are_numbers_not_categories(zone, tmp_path):
    X, y = dated(zone=zone)
    model = new_pipeline()
    for start in range(0, 300, 50):
        model.partial_fit(X[start : start + 50], y[start : start + 50])
    assert (model.feature_names_in_.tolist(), model.date_names_.tolist()) == (["when"], ["when"])
    assert model.encoder_.names_ == ["c"]
    assert model.score(X[300:], y[300:]) > 0.9  # whose days the model has not seen
    save(model, tmp_path / "model.frugal")
    expected, again = model.decision_function(X), load(tmp_path / "model.frugal")
    np.testing.assert_array_equal(again.decision_function(X), expected)
    text = X.assign(when=X["when"].astype(str))
    np.testing.assert_array_equal(again.decision_function(text), expected)
    if zone is None:
        periods = X.assign(when=X["when"].dt.to_period("D"))
        np.testing.assert_array_equal(again.decision_function(periods), expected)
        assert split_input(periods, encodes=True)[1].keys() == {"c"}
    for odd in (X.assign(when=3.5), X.assign(when="soon")):
        with pytest.raises(ValueError, match="'when' has 400 values that are not dates"):
            again.predict(odd)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_series_is_a_row_by_its_names(table):
    frame, y = table[0][["a", "b"]], table[1]
    pipeline, other = (StreamPipeline(BSGDClassifier(budget=50, random_state=0), warmup_rows=100) for _ in range(2))
    for k in range(300):
        pipeline.learn_one_row(frame.to_numpy()[k], y[k]) if k else pipeline.partial_fit(frame[:1], y[:1])
        other.learn_one_row(frame.iloc[k][["b", "a"]], y[k]) if k else other.partial_fit(frame[:1], y[:1])
    expected, row = pipeline.decision_function(frame[300:301]), frame.iloc[300]
    for each in (row, row[["b", "a"]]):
        assert other.decision_function_one_row(each) == pytest.approx(expected)
        assert other.predict_one_row(each) == pipeline.predict(frame[300:301])[0]
    with pytest.raises(ValueError, match="X lacks the column 'a', from which the model has learned"):
        other.predict_one_row(row.rename({"a": "other"}))


def test_dates_where_numbers_were_learned_are_refused(table, model):
    with pytest.raises(ValueError, match="'b' has 400 values that are not numbers"):
        model.predict(table[0].assign(b=pandas.Timestamp("2020-01-01")))


def test_categories_stay_categories(table):
    X, y = table
    kinds = X.assign(
        c=X["a"].round().astype("category"), d=pandas.Categorical(pandas.to_datetime(["2020-01-01"] * 400))
    )
    model = new_pipeline().fit(kinds, y)
    assert (model.feature_names_in_.tolist(), model.encoder_.names_) == (["a", "b"], ["c", "d"])


def test_durations_are_numbers(table):
    X, y = table
    model = new_pipeline().fit(X.assign(b=pandas.to_timedelta(X["b"], unit="h")), y)
    assert model.feature_names_in_.tolist() == ["a", "b"]
