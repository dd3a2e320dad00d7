"""Batches: leaves of balanced trees."""

import numpy as np
import pytest

from frugalsvm.metric_learning.machine import leaves, some_leaves


@pytest.mark.parametrize(("n", "size", "n_leaves"), [(1000, 125, 8), (1003, 130, 8), (90, 100, 1), (300, 250, 2)])
def test_leaves_have_all_rows_but_a_few(n, size, n_leaves):
    U = np.random.default_rng(0).normal(size=(n, 3))
    found = leaves(U, size, np.random.default_rng(1))
    assert found.shape == (n_leaves, n // n_leaves)
    assert sorted(found.ravel()) == list(range(n_leaves * (n // n_leaves)))


def test_leaves_have_neighbors():
    U = np.random.default_rng(0).uniform(size=(4096, 2))
    spreads = U[leaves(U, 64, np.random.default_rng(1))].std(axis=1)
    assert spreads.mean() < 0.25 * U.std()


def test_rows_that_are_all_the_same_are_divided_evenly():
    assert leaves(np.ones((512, 3)), 64, np.random.default_rng(0)).shape == (8, 64)


def test_some_leaves_are_of_random_rows():
    X, rng = np.random.default_rng(0).normal(size=(300, 3)), np.random.default_rng(1)
    first, second = (some_leaves(X, np.ones(3), 40, 3, rng) for _ in range(2))
    assert first.shape == (3, 37)
    assert len(np.unique(first)) == 3 * 37
    assert set(first.ravel()) != set(second.ravel())
