"""The kept inverse against numpy's, through random growing and shrinking."""

import numpy as np
import pytest

from frugalsvm.compiling.functions import entry
from frugalsvm.core.inverse import grow_inverse, inverse_times, shrink_inverse


@entry
def grow(inverse, n, column, solved, self_value):
    """Add a point with this column and self-value to the first n; returns its pivot."""
    inverse_times(inverse, n, column, solved)
    pivot = self_value
    for j in range(n):
        pivot -= column[j] * solved[j]
    grow_inverse(inverse, n, solved, pivot)
    return pivot


@entry
def shrink(inverse, n, p):
    shrink_inverse(inverse, n, p)


class Kept:
    """Points of a Gaussian kernel with the inverse of their kernel matrix, kept by the compiled functions."""

    def __init__(self, capacity=20):
        self.points = np.zeros((0, 3))
        self.storage = np.full((capacity, capacity), np.nan)  # what lies outside must not be read
        self.column, self.solved = np.zeros(capacity), np.zeros(capacity)

    @property
    def gram(self):
        return np.exp(-np.square(self.points[:, None] - self.points[None]).sum(axis=2))

    @property
    def inverse(self):
        n = len(self.points)
        return self.storage[:n, :n]

    def add(self, point):
        n = len(self.points)
        self.points = np.vstack([self.points, point])
        self.column[:n] = self.gram[n, :n]
        return grow(self.storage, n, self.column, self.solved, 1.0)

    def remove(self, p):
        shrink(self.storage, len(self.points), p)
        self.points[p] = self.points[-1]
        self.points = self.points[:-1]

    def check(self):
        np.testing.assert_allclose(self.inverse, np.linalg.inv(self.gram), rtol=1e-8, atol=1e-8)


@pytest.fixture
def kept():
    kept = Kept()
    for point in np.random.default_rng(0).normal(size=(8, 3)):
        kept.add(point)
    return kept


def test_grows_from_nothing(kept):
    kept.check()


@pytest.mark.parametrize("p", [0, 3, 6, 7])
def test_shrinks_anywhere(kept, p):
    kept.remove(p)
    kept.check()


def test_pivot_is_the_squared_distance_to_the_span(kept):
    point = np.array([0.3, -0.2, 0.1])
    distance = np.exp(-np.square(kept.points - point).sum(axis=1))
    gram = kept.gram
    pivot = kept.add(point)
    assert pivot == pytest.approx(1.0 - distance @ np.linalg.solve(gram, distance))


def test_column_of_the_inverse_gives_the_projection(kept):
    """What maintenance relies on: -P_p / P_pp are the coefficients, and 1 / P_pp the squared distance."""
    p, others = 2, [0, 1, 3, 4, 5, 6, 7]
    gram = kept.gram
    combination = np.linalg.solve(gram[np.ix_(others, others)], gram[others, p])
    column = kept.inverse[:, p]
    np.testing.assert_allclose(-column[others] / column[p], combination, rtol=1e-9)
    assert 1.0 / column[p] == pytest.approx(1.0 - combination @ gram[others, p])


@pytest.mark.parametrize("seed", range(3))
def test_random_sequences(seed):
    rng = np.random.default_rng(seed)
    kept = Kept()
    for _ in range(150):
        n = len(kept.points)
        if n == 20 or (n > 1 and rng.random() < 0.45):
            kept.remove(rng.integers(n))
        else:
            kept.add(rng.normal(scale=2.0, size=3))
        kept.check()
