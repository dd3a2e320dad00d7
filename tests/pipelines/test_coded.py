"""Columns by their distinct values."""

from decimal import Decimal

import numpy as np
import pytest

from frugalsvm.pipelines.coded import coded, coded_text
from frugalsvm.pipelines.frames import as_numbers, dates_in


@pytest.mark.parametrize("values", [["b", "a", None, "b"], ["b", "a", np.nan, "b"]])
def test_text(values):
    found = coded_text(values)
    assert found.text[found.codes].tolist() == ["b", "a", "", "b"]
    assert found.present[found.codes].tolist() == [True, True, False, True]


def test_what_is_equal_has_different_texts():
    found = coded([1, 1.0, True, "1", 1])
    assert len(found.values) == 4
    assert [str(value) for value in found.values[found.codes]] == ["1", "1.0", "True", "1", "1"]
    assert coded(found) is found


def test_with_pandas_and_without(monkeypatch):
    pandas = pytest.importorskip("pandas")
    values = np.array(["x", None, "y", "x", np.nan], object)
    fast = coded_text(values)
    monkeypatch.delitem(__import__("sys").modules, "pandas")
    slow = coded_text(values)
    for found in (fast, slow):
        assert found.text[found.codes].tolist() == ["x", "", "y", "x", ""]
        assert found.present[found.codes].tolist() == [True, False, True, True, False]
    assert pandas.NA is not None


def test_numbers_and_dates_of_distinct_values():
    np.testing.assert_array_equal(as_numbers(["1.5", 2, None, "n/a", True]), [1.5, 2, np.nan, np.nan, 1])
    decimals = [Decimal("1.50"), Decimal("NaN"), None, Decimal("2")]
    np.testing.assert_array_equal(as_numbers(decimals), [1.5, np.nan, np.nan, 2])
    assert as_numbers(["1.5", "much"]) is None
    assert as_numbers(np.array(["2021-01-01"], "datetime64[D]")) is None
    order, days = dates_in(["2021-03-04", None, "2021-03-04", "1970-01-02"])
    assert order == "ymd"
    np.testing.assert_array_equal(days, [18690, np.nan, 18690, 1])


def test_one_dimension():
    with pytest.raises(ValueError, match="one dimension"):
        coded(np.zeros((2, 2)))
