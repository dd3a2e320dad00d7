"""Data frames as numbers, for methods of the benchmark of tables that know nothing else."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.tables_data import prepared
from benchmarks.tables_frames import numbers_of

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


def test_for_trees(frame):
    X, y = frame
    unknown = X[:3].assign(color="black", name="nobody")
    numbers, others = numbers_of(X, y, unknown, with_categories=True)
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


def test_for_kernel_machines(frame):
    X, y = frame
    numbers, others = numbers_of(X, y, X[:5], with_categories=False)
    assert numbers.shape == (N_ROWS, 9)
    assert np.isfinite(numbers.astype(float)).all()
    np.testing.assert_array_equal(numbers[:5, :3], others[:, :3])  # a column for each color


def test_each_method_has_what_it_wants(frame):
    X, y = frame
    assert prepared("as they are", False, X, y, X[:5])[0] is X
    assert "color" in prepared("numbers", False, X, y, X[:5])[0]
    rows, others = prepared("scaled", False, X, y, X[:5])
    assert rows.shape == (N_ROWS, 9)
    assert others.shape == (5, 9)
