"""Metrics that are learned: noise loses its weight, directions are found, and losses fall."""

import numpy as np
import pytest

from frugalsvm.core.kernels import RBF, Laplacian
from frugalsvm.metric_learning.candidates import Plan, Point, descend
from frugalsvm.metric_learning.machine import Rows, mean_losses

KERNEL, RNG = RBF(1.0), np.random.default_rng(5)
FACTORS = Plan(rate=0.15, n_steps=60, n_rows=150, n_batches=2)
MATRIX = FACTORS._replace(rate=0.03)


def rows_of(function, n_features, n=1200, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, n_features))
    return Rows(X, function(X)[:, None], np.ones(n))


def loss_of(point, rows):
    return mean_losses(KERNEL, point.A, [point.ridge], rows, np.arange(len(rows.X)).reshape(4, -1))[0]


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
    assert loss_of(found, unseen) < 0.3 * loss_of(start, unseen)


def test_a_matrix_finds_a_direction_across_features():
    direction = np.array([1.0, -1.0, 1.0, 0.0]) / np.sqrt(3)
    rows = rows_of(lambda X: np.sin(3 * X @ direction), 4)
    factors = descend(KERNEL, rows, Point(np.full(4, 0.5), 1e-4), FACTORS, np.random.default_rng(0))
    start = Point(np.diag(factors.A), factors.ridge)
    found = descend(KERNEL, rows, start, MATRIX, np.random.default_rng(0))
    unseen = rows_of(lambda X: np.sin(3 * X @ direction), 4, seed=1)
    assert loss_of(found, unseen) < 0.5 * loss_of(factors, unseen)
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


def test_what_is_fine_is_seen():
    """Random rows would be too far apart to see waves that are short."""
    rows = rows_of(lambda X: np.sin(40 * X[:, 0]), 2, n=6000)
    found = descend(KERNEL, rows, Point(np.full(2, 5.0), 1e-3), FACTORS, np.random.default_rng(0))
    assert found.A[0] > 5 * found.A[1]


def test_few_rows_are_one_batch(noisy):
    found = descend(KERNEL, noisy[:40], Point(np.full(8, 0.3), 1e-4), FACTORS._replace(n_steps=3), RNG)
    assert np.isfinite(found.A).all()
