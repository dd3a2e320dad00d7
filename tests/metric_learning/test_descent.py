"""Metrics that are learned: noise loses its weight, directions are found, and the held-out loss falls."""

import numpy as np
import pytest

from frugalsvm.core.kernels import RBF, Laplacian
from frugalsvm.metric_learning import held_out
from frugalsvm.metric_learning.descent import Plan, Point, descend
from frugalsvm.metric_learning.machine import Rows

KERNEL = RBF(1.0)
FACTORS = Plan(rate=0.15, n_steps=60, n_fitted=400, n_held_out=200, n_landmarks=60)
MATRIX = FACTORS._replace(rate=0.03)


def rows_of(function, n_features, n=1200, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, n_features))
    return Rows(X, function(X)[:, None], np.ones(n))


def held_out_loss(point, rows):
    return held_out.held_out_loss(KERNEL, point.A, point.ridge, FACTORS.batch(rows, np.random.default_rng(99)))


@pytest.fixture(scope="module")
def noisy():
    """Two features that matter and six that do not."""
    return rows_of(lambda X: np.sin(2 * X[:, 0]) * X[:, 1], 8)


@pytest.fixture(scope="module")
def learned(noisy):
    start = Point(np.full(8, 0.3), 1e-4)
    return start, descend(KERNEL, noisy, start, FACTORS, np.random.default_rng(0))


def test_noise_loses_its_weight(learned):
    weights = learned[1].A ** 2
    assert weights[:2].sum() > 0.98 * weights.sum()


def test_unseen_rows_are_predicted_better(learned):
    start, found = learned
    unseen = rows_of(lambda X: np.sin(2 * X[:, 0]) * X[:, 1], 8, seed=1)
    assert held_out_loss(found, unseen) < 0.3 * held_out_loss(start, unseen)


def test_a_matrix_finds_a_direction_across_features():
    direction = np.array([1.0, -1.0, 1.0, 0.0]) / np.sqrt(3)
    rows = rows_of(lambda X: np.sin(3 * X @ direction), 4)
    factors = descend(KERNEL, rows, Point(np.full(4, 0.5), 1e-4), FACTORS, np.random.default_rng(0))
    start = Point(np.diag(factors.A), factors.ridge)
    found = descend(KERNEL, rows, start, MATRIX, np.random.default_rng(0))
    unseen = rows_of(lambda X: np.sin(3 * X @ direction), 4, seed=1)
    assert held_out_loss(found, unseen) < 0.5 * held_out_loss(factors, unseen)
    assert abs(np.linalg.svd(found.A)[2][0] @ direction) > 0.95


def test_factors_of_an_l1_kernel(noisy):
    start = Point(np.full(8, 0.3), 1e-4)
    found = descend(Laplacian(1.0), noisy, start, FACTORS, np.random.default_rng(0))
    assert found.A[:2].sum() > 0.9 * found.A.sum()


def test_the_same_seed_gives_the_same_metric(noisy):
    plan = FACTORS._replace(n_steps=6)
    first, second = (
        descend(KERNEL, noisy, Point(np.full(8, 0.3), 1e-4), plan, np.random.default_rng(3)) for _ in range(2)
    )
    np.testing.assert_array_equal(first.A, second.A)


def test_few_rows_are_shared_out(noisy):
    batch = FACTORS.batch(noisy[np.arange(30)], np.random.default_rng(0))
    assert (len(batch.rows.X), batch.n_fitted, batch.n_landmarks) == (30, 20, 20)
