"""Columns as peers of the comparison want them."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.comparison.columns import CLIP, WAYS, Columns

N_ROWS = 2000


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    names = rng.integers(400, size=N_ROWS)
    made = pd.DataFrame(
        {
            "date": pd.Timestamp("2024-02-28") + pd.to_timedelta(np.arange(N_ROWS) % 3, "D"),
            "time": [f"{minute // 60:02d}:{minute % 60:02d}" for minute in range(0, 1440, 90)] * (N_ROWS // 16),
            "height": np.where(np.arange(N_ROWS) % 10 == 0, np.nan, rng.normal(size=N_ROWS)),
            "color": rng.choice(["red", "green", "blue"], N_ROWS),
            "name": [f"n{each}" for each in names],
        }
    )
    return made, (names % 2).astype(int)


def transformed(way, X, y, other, **options):
    columns = Columns(way, **options)
    return columns.fit_transform(X, y), columns.transform(other)


def test_for_trees(frame):
    X, y = frame
    unknown = X[:3].assign(color="black", name="unknown")
    numbers, others = transformed("numbers", X, y, unknown)
    assert list(numbers) == ["date_year", "date_day", "date_weekday", "time", "height", "color", "name"]
    assert numbers["date_day"][:3].tolist() == [59, 60, 61]
    assert numbers["date_weekday"][:3].tolist() == [2, 3, 4]
    assert numbers["time"][:3].tolist() == [0, 90, 180]
    assert numbers["height"].isna().sum() == N_ROWS / 10
    assert numbers["color"].dtype == others["color"].dtype == "category"
    assert others["color"].isna().all()
    # Means of the target tell the classes apart, and those of unknown names are the overall mean.
    assert np.corrcoef(numbers["name"], y)[0, 1] > 0.8
    np.testing.assert_allclose(others["name"], y.mean())


def test_all_text_as_categories(frame):
    X, y = frame
    categories, others = transformed("categories", X, y, X[:5])
    assert categories["name"].dtype == others["name"].dtype == "category"
    assert others["name"].astype(str).tolist() == X["name"][:5].tolist()


def test_text_that_is_nearly_a_name_is_not_a_category(frame):
    X, y = frame
    few = X[:150].reset_index(drop=True)  # more than a hundred names: below the most, but with about a row each
    assert few["name"].nunique() < 255
    numbers, _ = transformed("numbers", few, y[:150], few[:5])
    assert numbers["name"].dtype == np.float64
    assert numbers["color"].dtype == "category"


def test_for_kernel_machines(frame):
    X, y = frame
    numbers, others = transformed("filled", X, y, X[:5])
    assert numbers.shape == (N_ROWS, 9)
    assert np.isfinite(numbers.astype(float)).all()
    np.testing.assert_array_equal(numbers[:5, :3], others[:, :3])  # a column for each color
    rows, some = transformed("scaled", X, y, X[:5])
    assert (rows.shape, some.shape) == ((N_ROWS, 9), (5, 9))
    # A mean of the target is out of fold for the rows that were learned, so that column differs.
    np.testing.assert_allclose(rows[:5, :-1], some[:, :-1], rtol=1e-6)


@pytest.mark.parametrize(("kind", "y"), [("numbers", np.linspace(0, 1, N_ROWS)), ("classes", np.arange(N_ROWS) % 3)])
def test_many_values_for_all_tasks(frame, kind, y):
    X, _ = frame
    numbers, _ = transformed("filled", X, y, X[:5], is_regression=kind == "numbers")
    assert numbers.shape[1] == (9 if kind == "numbers" else 11)  # a mean for each of three classes


def test_arrays_are_left_alone_unless_they_are_scaled():
    X = np.random.default_rng(0).normal(size=(500, 3)) * [1, 100, 1e-3] + [0, 50, 0]
    wild = np.array([[0, 1e9, 0]])
    for way in WAYS[:-1]:
        assert transformed(way, X, None, wild)[1] is wild
    narrow, far = transformed("scaled", X, None, wild)
    assert np.allclose(np.median(narrow, axis=0), 0, atol=1e-6)
    assert (np.abs(narrow.std(axis=0) - 1) < 0.2).all()
    assert far[0, 1] == pytest.approx(CLIP)
    pixels, brighter = transformed(
        "scaled", np.array([[0.0, 255], [51, 0]]), None, np.array([[510.0, 0]]), has_one_unit=True
    )
    np.testing.assert_allclose(pixels, [[0, 1], [0.2, 0]])
    np.testing.assert_allclose(brighter, [[2, 0]])
