"""Reports say what became of columns, and which are without effect."""

import datetime

import numpy as np
import pytest

from frugalsvm import AutoSVC, LocalSVC, load, save
from frugalsvm.auto.report import left_out, notes_on
from frugalsvm.auto.tables import as_input, encoder_for, layout_of
from frugalsvm.pipelines import MissingValueFiller, StreamPipeline

N = 400


def prepared(X, y):
    """The layout of a table, and a pipeline that was prepared for it."""
    layout, words = layout_of(X)
    rows = as_input(X, layout)
    pipeline = StreamPipeline(LocalSVC(), encoder=encoder_for(rows, words), impute=MissingValueFiller(indicator=True))
    pipeline.prepare(rows, y)
    return layout, pipeline


@pytest.fixture
def table():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    town = rng.integers(150, size=N)
    y = (town % 2 == 0) ^ (rng.random(N) < 0.1)
    columns = {
        "a": rng.normal(size=N),
        "town": [f"t{k}" for k in town],
        "noise": [f"n{k}" for k in rng.integers(150, size=N)],
        "name": [f"name {k}" for k in range(N)],
        "day": pandas.date_range("2021-01-01", periods=N),
        "at": [datetime.time(k % 24) for k in range(N)],
        "night": [datetime.timedelta(hours=k % 24) for k in range(N)],
        "took": [datetime.timedelta(hours=k % 48) for k in range(N)],
        "one": np.full(N, 7.0),
        "once": np.where(np.arange(N) % 5, 7.0, np.nan),
        "word": ["same"] * N,
        "nothing": [None] * N,
        "size": [("large" if k % 50 == 0 else str(k % 20)) for k in range(N)],
        "id": np.arange(N) + 1_000_000,
    }
    return pandas.DataFrame(columns), y


def test_what_columns_are(table):
    layout, _ = prepared(*table)
    assert layout.numbers == ("a", "one", "once", "id", "took")  # numbers that look like ids stay
    assert [name for name, _ in layout.dates] == ["day", "at", "night"]
    assert layout.shown_as() == {"day": "day", "at": "clock", "night": "clock"}
    assert layout.text == ("town", "noise", "word", "nothing", "size", "name")
    assert layout_of(table[0])[1] == ("name",)
    left = layout.without(["name"])
    assert left.text == ("town", "noise", "word", "nothing", "size")
    assert left.ignored == ("name",)


def test_nothing_is_dropped_in_silence(table):
    layout, pipeline = prepared(*table)
    words = "Left out, with another text in almost every row, and words that tell nothing: name."
    assert left_out(table[0], pipeline.encoder_.silent_, ["name"]) == words
    assert notes_on(table[0], layout, pipeline) == [
        "Dates in day became days, months, weekdays, cycles of year and week.",
        "Clock times in at became parts of a day, cycles of day.",
        "Clock times in night became parts of a day, cycles of day.",
        "Text of many values became means of the target, for each row those of other rows: town.",
        "Without effect, as means of the target by their many values tell nothing about it: noise.",
        "Taken as text, with numbers among other values: size. To learn numbers, leave the other values empty.",
        "Without effect, with the same value in all rows: one, nothing, word.",
        "Only whether a value is missing counts, as all others are the same: once.",
    ]


def test_periods_are_dates(table):
    X = table[0][["day", "a"]]
    periods = X.assign(day=X["day"].dt.to_period("D"))
    layout, _ = layout_of(periods)
    assert layout == layout_of(X)[0]
    np.testing.assert_array_equal(as_input(periods, layout), as_input(X, layout))


def test_arrays_have_features_without_names():
    X = np.random.default_rng(0).normal(size=(50, 3))
    X[:, 1] = 2.0
    layout, pipeline = prepared(X, X[:, 0] > 0)
    assert left_out(X, (), ()) is None
    assert notes_on(X, layout, pipeline) == ["Without effect, with the same value in all rows: feature 1."]


def test_new_rows_may_have_other_types(table):
    X, _ = table
    layout, _ = layout_of(X)
    first, _ = as_input(X, layout)
    clocks = X.assign(at=X["at"].astype(str), night=[str(datetime.time(k % 24)) for k in range(N)])
    np.testing.assert_allclose(as_input(clocks, layout)[0], first)
    with pytest.raises(ValueError, match="'at' has 400 values that are not clock times, such as 'noon'"):
        as_input(X.assign(at="noon"), layout)
    gaps = as_input(X.assign(at="n/a"), layout)[0]
    assert np.isnan(gaps[:, layout.number_names.index("at")]).all()


def test_rows_of_numbers_and_text_without_a_frame(tmp_path):
    X, color = np.ones((40, 2)), np.array(["red", "blue"] * 20, object)
    X[:, 0], y = np.arange(40), color == "red"
    for names, told in ((("a", "b"), "b"), (None, "feature 1")):
        model = AutoSVC(kernel="rbf", metric=None, random_state=0).fit((X, {"color": color}), y, feature_names=names)
        notes = model.report(output_dict=True)["notes"]
        assert f"Without effect, with the same value in all rows: {told}." in notes
        assert "\n".join(notes) in model.report()
        assert (model.predict((X, {"color": color})) == y).all()
    save(model, tmp_path / "model.frugal")
    assert (load(tmp_path / "model.frugal").predict((X, {"color": color})) == y).all()
    with pytest.raises(ValueError, match="feature_names"):
        model.fit((X, {"color": color}), y, feature_names=["a"])


def test_numbers_written_in_another_way_are_named():
    pandas = pytest.importorskip("pandas")
    texts = [f"${k:,}.50" for k in range(1000, 1000 + N)]
    X = pandas.DataFrame({"a": np.arange(N), "price": texts, "name": [f"name {k}" for k in range(N)]})
    words = left_out(X, ["name"], layout_of(X)[1])
    assert words.startswith("Left out, with another text in almost every row, and words that tell nothing: name. ")
    assert "Some look like numbers that are written in another way: price ('$1,000.50')." in words
    X["price"] = [f"A/5 {k}" if k % 4 == 0 else str(k) for k in range(N)]  # tickets, of which most are numbers
    assert "look like numbers" not in left_out(X, ["name"], layout_of(X)[1])


def test_values_that_are_several_are_refused():
    pandas = pytest.importorskip("pandas")
    for value in ([1, 2], {"a": 1}, np.ones(3)):
        X = pandas.DataFrame({"a": np.arange(40.0), "b": [value, "x"] * 20})
        with pytest.raises(ValueError, match="Column 'b' has several values in one place, such as"):
            AutoSVC().fit(X, np.arange(40) % 2)


def test_tables_without_any_value_are_refused():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="All values of all columns are missing"):
        AutoSVC().fit(pandas.DataFrame({"a": [None] * 40}), np.arange(40) % 2)


def test_infinity_is_refused_by_the_name_of_its_column():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"a": np.arange(60.0), "b": np.arange(60.0), "word": ["x", "y"] * 30})
    X.loc[[7, 9], "b"] = np.inf, -np.inf
    X["c"] = X["a"] > 30  # with booleans, matrices of pandas have objects
    for columns in (["a", "b"], ["a", "b", "word"], ["a", "b", "c"], ["a", "b", "c", "word"]):
        with pytest.raises(ValueError, match=r"contains infinity, in column 'b' \(first in row 7\)"):
            AutoSVC().fit(X[columns], np.arange(60) % 2)
