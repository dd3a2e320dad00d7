"""Clock times, and where in the year, the week and the day a moment is."""

import datetime
import io

import numpy as np
import pytest

from frugalsvm.streams import open_stream
from frugalsvm.streams.dates import DateColumn, date_column, days_in, part_text


@pytest.mark.parametrize(
    ("texts", "hours"),
    [
        (["13:45", "1:05"], [13.75, 13 / 12]),
        (["1:45 PM", "12:30 am", "12:30PM"], [13.75, 0.5, 12.5]),
        (["13:45:36", "00:00:00.5"], [13.76, 0.5 / 3600]),
        ([str(datetime.time(13, 45)), "n/a"], [13.75, np.nan]),
    ],
)
def test_clock_times_are_parts_of_a_day(texts, hours):
    order, days = days_in(texts)
    assert order == "clock"
    np.testing.assert_allclose(24 * days, hours)


@pytest.mark.parametrize("texts", [["25:00"], ["13:61"], ["13:45", "noon"], ["1345"], ["13:45+01:00"], ["1:2:3:4"]])
def test_what_is_none(texts):
    assert days_in(texts) is None


def test_cycles_are_told_where_they_are_gone_through():
    years = np.arange(18628.0, 18628 + 800)
    assert date_column(years).parts[-4:] == ("sin of year", "cos of year", "sin of week", "cos of week")
    assert date_column(years[:90]).parts == ("month", "weekday", "sin of week", "cos of week")
    assert date_column(np.array([0.3, 0.7]), "clock").parts == ()
    assert date_column(np.array([0.1, 0.9]), "clock").parts == ("sin of day", "cos of day")


def test_a_cycle_closes():
    date = DateColumn("ymd", ("sin of year", "cos of year", "sin of day", "cos of day"))
    days = np.array([0.0, 365.2425, 365.2425 / 2, np.nan])
    made = date.features(days)[:, 1:3]
    np.testing.assert_allclose(made[:3], [[0, 1], [0, 1], [0, -1]], atol=1e-9)
    assert np.isnan(made[3]).all()
    np.testing.assert_allclose(date.features(np.array([100.25]))[0, 3:], [1, 0], atol=1e-9)


def test_kinds_are_read_back():
    for date in (date_column(np.array([0.1, 0.9]), "clock"), date_column(np.arange(0, 800, 0.3))):
        assert DateColumn.of_kind(date.kind) == date
    with pytest.raises(ValueError, match="not a kind of dates"):
        DateColumn.of_kind("date clock/sin of moon")


def test_in_files_and_words():
    rows = "".join(f"{i % 24}:30,{i % 7},{i % 2}\n" for i in range(100))
    stream = open_stream(io.BytesIO(b"at,a,y\n" + rows.encode()), format="csv")
    X = np.concatenate([batch.X for batch in stream])
    assert stream.schema.numbers == ("a", "at", "at (sin of day)", "at (cos of day)")
    assert "column 'at' has clock times: parts of a day, cycles of day are learned" in stream.notes
    assert X[13, 1] == pytest.approx(13.5 / 24)
    assert part_text("clock", X[13, 1]) == "13:30"


def test_times_of_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    times = pa.array([datetime.time(6), datetime.time(18), None])
    parquet.write_table(pa.table({"at": times, "y": [0, 1, 0]}), tmp_path / "t.parquet")
    X = np.concatenate([batch.X for batch in open_stream(tmp_path / "t.parquet", missing="nan")])
    np.testing.assert_allclose(X, [[0.25, 1, 0], [0.75, -1, 0], [np.nan] * 3], atol=1e-6)
