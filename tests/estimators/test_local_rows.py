"""Rows that `LocalSVC` keeps: its own, unless it may have those of the user."""

import numpy as np
import pytest

from frugalsvm import LocalSVC


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)).astype(np.float32)
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def as_frame(X):
    return pytest.importorskip("pandas").DataFrame(X, columns=["a", "b", "c"])


def as_tensor(X):
    return pytest.importorskip("torch").from_numpy(X)


def model(**others):
    return LocalSVC(C=1.0, gamma=0.5, cell_size=100, random_state=0, **others)


@pytest.mark.parametrize("wrapped", [np.asarray, as_frame, as_tensor])
def test_changing_the_rows_afterwards_changes_nothing(table, wrapped):
    X, y = table
    new, passed = X[:50].copy(), X.copy()
    fitted = model().fit(wrapped(passed), y)
    before = fitted.decision_function(wrapped(new))
    passed[:] = 0.0
    np.testing.assert_array_equal(fitted.decision_function(wrapped(new)), before)


def test_without_copies_the_model_has_the_rows_of_the_user(table):
    X, y = table
    fitted = model(copy_X=False).fit(X, y)
    assert np.shares_memory(fitted._rows, X)
    np.testing.assert_array_equal(fitted.decision_function(X), model().fit(X, y).decision_function(X))


@pytest.mark.parametrize("metric", [[3.0, 0.5, 1.0], [[1.0, 2.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.5, 1.0]]])
def test_without_copies_rows_in_a_metric_are_written_where_they_were(table, metric):
    X, y = table
    usual, passed = model(metric=metric).fit(X, y), X.copy()
    fitted = model(metric=metric, copy_X=False).fit(passed, y)
    assert np.shares_memory(fitted._rows, passed)
    np.testing.assert_array_equal(fitted.decision_function(X), usual.decision_function(X))


def test_without_copies_rows_of_another_type_or_width_stay_as_they_are(table):
    X, y = table
    for passed, metric in ((X.astype(np.float64), [3.0, 0.5, 1.0]), (X.copy(), [[1.0, 2.0, 0.0]])):
        before = passed.copy()
        model(metric=metric, copy_X=False).fit(passed, y)
        np.testing.assert_array_equal(passed, before)
