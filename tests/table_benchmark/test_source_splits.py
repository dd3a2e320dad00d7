"""Rows as their source splits them: the same for all learners, and nothing of the test rows in what is learned."""

import numpy as np
import pytest
from sklearn.utils import Bunch

from benchmarks import source_splits
from benchmarks.source_splits import split_of


@pytest.fixture
def data(monkeypatch):
    """Has any data set be this one."""

    def serve(**arrays):
        monkeypatch.setattr(source_splits, "fetch", lambda name: Bunch(**arrays))

    return serve


def rows(n, n_columns=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, n_columns)).astype(np.float32)


def test_split_of_the_source_is_kept(data):
    X, X_test = rows(40), rows(10, seed=1)
    data(X_train=X, y_train=np.repeat([-1, 1], 20), X_test=X_test, y_test=np.repeat([1, -1], 5))
    split = split_of("letter", 3)
    assert split.is_canonical
    np.testing.assert_array_equal(split.X_test, X_test)
    np.testing.assert_array_equal(split.y_test, np.repeat([1, 0], 5))
    # Training rows are in another order, with their labels.
    assert not np.array_equal(split.X, X)
    order = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in split.X]
    np.testing.assert_array_equal(split.y, np.repeat([0, 1], 20)[order])
    assert sorted(order) == list(range(40))


def test_without_one_there_is_a_split_for_each_seed(data):
    X = rows(100)
    data(X_train=X, y_train=np.tile([1, 2], 50))
    first, again, other = (split_of("phoneme", seed) for seed in (0, 0, 1))
    assert not first.is_canonical
    assert (len(first.y), len(first.y_test)) == (80, 20)
    np.testing.assert_array_equal(first.X_test, again.X_test)
    assert not np.array_equal(first.X_test, other.X_test)
    assert len(np.unique(np.concatenate([first.X, first.X_test]), axis=0)) == 100


def test_one_class_against_the_rest(data):
    y = np.tile([1, 2, 3, 3], 25)
    data(X_train=np.repeat(y[:, None], 2, axis=1).astype(np.float32), y_train=y)
    split = split_of("covtype-1", 0)
    np.testing.assert_array_equal(split.y, split.X[:, 0] == 1)


def test_target_of_regression_is_standardized_by_training_rows(data):
    y = np.linspace(5, 25, 40)
    data(X_train=rows(40), y_train=y, X_test=rows(5), y_test=np.full(5, 15.0 + 2 * y.std()))
    split = split_of("pol", 0)
    assert split.y.mean() == pytest.approx(0)
    assert split.y.std() == pytest.approx(1)
    np.testing.assert_allclose(split.y_test, 2.0)


def test_validation_rows_are_training_rows(data):
    X, X_test = rows(100), rows(30, seed=1)
    data(X_train=X, y_train=np.tile([0, 1], 50), X_test=X_test, y_test=np.tile([0, 1], 15))
    split = split_of("usps", 0, validate=True)
    assert (len(split.y), len(split.y_test)) == (80, 20)
    both = np.concatenate([split.X, split.X_test])
    np.testing.assert_array_equal(both[np.lexsort(both.T)], X[np.lexsort(X.T)])
