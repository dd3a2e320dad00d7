"""Numbers that are large and differ little: where float32 blurs them."""

import numpy as np

from frugalsvm.pipelines.digits import blurred

RNG = np.random.default_rng(0)
SECONDS = RNG.integers(0, 600, 1000)


def columns(*each, dtype=np.float64):
    return np.column_stack(each).astype(dtype)


def test_columns_that_lose_digits():
    X = columns(1.7e9 + SECONDS, SECONDS, 1e4 + RNG.normal(size=1000), 1e7 + SECONDS, 8e6 + SECONDS / 8)
    assert blurred(X).tolist() == [0, 4]  # whole numbers of seven digits are exact, however little they differ
    X[::3, 0] = np.nan
    assert blurred(X).tolist() == [0, 4]


def test_constants_do_not():
    X = columns(np.full(1000, 0.1), np.full(1000, 20231101.0), np.full(1000, np.nan))
    assert blurred(X).size == 0
    assert blurred(X.astype(np.float32)).size == 0
    assert blurred(X.astype(np.float32), maybe=True).tolist() == [0, 1]  # but what they were before is not known


def test_outliers_do_not_hide_them():
    seconds = np.where(RNG.random(1000) < 0.02, 0, 1.7e9 + SECONDS)
    assert blurred(columns(seconds)).tolist() == [0]


def test_rows_that_are_blurred_already():
    X = columns(1.7e9 + SECONDS, SECONDS, dtype=np.float32)
    assert blurred(X).tolist() == [0]
    assert blurred(np.zeros((3, 0), np.float32)).size == 0
