"""Explanations show dates as dates and gaps as missing; exports tell which numbers stand for dates."""

import numpy as np
import pytest
from typer.testing import CliRunner

from frugalsvm import AutoSVR
from frugalsvm.cli.app import app
from frugalsvm.explain import Explanation, shapley_values


def test_in_words_and_as_numbers():
    days = {"day": "day", "day (weekday)": "weekday", "day (month)": "month"}
    data = [[18690.25, 3.0, 3.0, None], [np.nan, np.nan, np.nan, "red"]]
    found = Explanation(np.ones((2, 4)), 0.0, data, [*days, "color"], dates=days)
    assert found.labels(0) == [
        "day = 2021-03-04 06:00",
        "day (weekday) = Thursday",
        "day (month) = 3",
        "color = missing",
    ]
    assert found.labels(1) == ["day = missing", "day (weekday) = missing", "day (month) = missing", "color = red"]
    assert found[1:].of_output().labels(0) == found.labels(1)
    assert found.data[0, 0] == 18690.25  # as it is, for plots
    assert "Mean absolute shares of 1 row\n" in found[0].importances_text()


def test_of_a_data_frame():
    pd = pytest.importorskip("pandas")
    days = pd.date_range("2021-01-01", periods=120)
    table = pd.DataFrame({"day": days, "a": np.arange(120) % 7.0})
    model = AutoSVR(kernel="rbf", metric=None, random_state=0).fit(table, np.arange(120.0))
    assert shapley_values(model, table[:1]).labels(0)[0] == "day = 2021-01-01"


def test_on_the_command_line(tmp_path):
    rows = [f"2021-01-{1 + i % 28:02d},{i % 5},{i % 28}.5" for i in range(120)]
    (tmp_path / "rows.csv").write_text("\n".join(["day,a,y", *rows]))
    model = str(tmp_path / "m.frugal")
    train = ["train", str(tmp_path / "rows.csv"), "--label", "y", "-a", "bsgd-regressor", "-o", model, "--quiet"]
    assert CliRunner().invoke(app, train).exit_code == 0
    told = CliRunner().invoke(app, ["explain", model, str(tmp_path / "rows.csv"), "--rows", "1"]).stdout
    assert "day = 2021-01-01 " in told
    assert "day (weekday) = Friday " in told
    told = CliRunner().invoke(app, ["export", model, "--to", "c", "-o", str(tmp_path / "c")]).stderr
    assert "in this order: a, day, day (weekday)" in told
    assert "dates ('day') are days since 1970-01-01, with parts of a day; Monday is weekday 0" in told
