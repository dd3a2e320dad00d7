"""Rows of the benchmark of tables: the same for all methods, and nothing of the test rows in what is learned."""

import numpy as np
import pytest
from sklearn.utils import Bunch

from benchmarks import tables_data
from benchmarks.large_rows import BOUNDARIES
from benchmarks.tables_data import HARD_ERROR, balanced_sample, hard_rows, parts_of, prepared, scaled, split_of


@pytest.fixture
def data(monkeypatch):
    """Has any data set be this one."""

    def serve(**arrays):
        monkeypatch.setattr(tables_data, "fetch", lambda name: Bunch(**arrays))

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


def test_made_rows_are_others_for_testing_and_for_each_seed():
    first, again, other = (split_of("hard-1M", seed, rows=400) for seed in (0, 0, 1))
    assert (first.X.shape, first.X_test.shape, first.X.dtype) == ((400, 20), (100, 20), np.float32)
    np.testing.assert_array_equal(first.X, again.X)
    assert len(np.unique(np.concatenate([first.X, first.X_test, other.X, other.X_test]), axis=0)) == 1000


def test_mixed_rows_are_a_data_frame():
    split = split_of("flights-300k", 0, rows=400, validate=True)
    assert (len(split.X), len(split.X_test)) == (320, 80)
    assert not set(split.X.index) & set(split.X_test.index)


def test_nothing_errs_less_on_hard_rows_than_the_share_of_wrong_labels():
    X, y = hard_rows(50_000, 3)
    is_wrong = y != (BOUNDARIES["waves"](X))
    assert 100 * is_wrong.mean() == pytest.approx(HARD_ERROR, abs=0.5)


def test_samples_keep_rare_classes():
    y = np.repeat([0, 1, 2], [900, 96, 4])
    sample = balanced_sample(y, 100, False, np.random.default_rng(0))
    assert len(np.unique(sample)) == len(sample)
    assert 100 <= len(sample) <= 120
    counts = np.bincount(y[sample])
    assert counts[0] > 70
    assert counts[1] >= 10
    assert counts[2] == 4
    assert sorted(balanced_sample(y, 2000, False, np.random.default_rng(0))) == list(range(1000))
    assert len(balanced_sample(y.astype(float), 100, True, np.random.default_rng(0))) == 100


def test_parts_have_all_classes_even_if_one_is_alone():
    train, held = parts_of(np.repeat([0, 1], [80, 20]), 0.1, False, 0)
    assert (len(train), len(held)) == (90, 10)
    assert np.bincount(np.repeat([0, 1], [80, 20])[held]).tolist() == [8, 2]
    assert len(parts_of(np.repeat([0, 1], [80, 1]), 0.1, False, 0)[0]) == 72


def test_columns_are_scaled_by_the_first_rows_alone():
    X, wild = rows(500) * [1, 100, 1e-3] + [0, 50, 0], np.array([[0, 1e9, 0]])
    assert prepared("numbers", False, X, None, wild)[1] is wild
    narrow, far = prepared("scaled", False, X, None, wild)
    assert np.allclose(np.median(narrow, axis=0), 0, atol=1e-6)
    assert (np.abs(narrow.std(axis=0) - 1) < 0.2).all()
    assert far[0, 1] == pytest.approx(tables_data.CLIP)
    np.testing.assert_array_equal(scaled(False, X)[0], narrow)
    pixels, brighter = scaled(True, np.array([[0.0, 255], [51, 0]]), np.array([[510.0, 0]]))
    np.testing.assert_allclose(pixels, [[0, 1], [0.2, 0]])
    np.testing.assert_allclose(brighter, [[2, 0]])
