"""Metrics that are learned: noise loses its weight, directions are found, and the held-out loss falls."""

import numpy as np
import pytest

from frugalsvm.core.kernels import RBF
from frugalsvm.metric_learning.descent import FACTORS, MATRIX, Point, descend
from frugalsvm.metric_learning.held_out import Rows, judged

KERNEL = RBF(1.0)
FEW = {"n_steps": 60, "n_fitted": 400, "n_held_out": 200, "n_landmarks": 60}


def rows_of(function, n_features, n=1200, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, n_features))
    return Rows(X, function(X)[:, None], np.ones(n))


def held_out_loss(point, rows):
    batch = FACTORS._replace(**FEW).batch(rows, np.random.default_rng(99))
    return judged(KERNEL, point.A, point.ridge, batch, diagonal=point.A.ndim == 1).loss


@pytest.fixture(scope="module")
def noisy():
    """Two features that matter and six that do not."""
    return rows_of(lambda X: np.sin(2 * X[:, 0]) * X[:, 1], 8)


@pytest.fixture(scope="module")
def learned(noisy):
    start = Point(np.full(8, 0.3), 1e-4)
    return start, descend(KERNEL, noisy, start, FACTORS._replace(**FEW), np.random.default_rng(0))


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
    factors = descend(KERNEL, rows, Point(np.full(4, 0.5), 1e-4), FACTORS._replace(**FEW), np.random.default_rng(0))
    start = Point(np.diag(factors.A), factors.ridge)
    found = descend(KERNEL, rows, start, MATRIX._replace(**FEW, rate=0.03), np.random.default_rng(0))
    unseen = rows_of(lambda X: np.sin(3 * X @ direction), 4, seed=1)
    assert held_out_loss(found, unseen) < 0.5 * held_out_loss(factors, unseen)
    assert abs(np.linalg.svd(found.A)[2][0] @ direction) > 0.95


def test_the_same_seed_gives_the_same_metric(noisy):
    plan = FACTORS._replace(**{**FEW, "n_steps": 6})
    first, second = (
        descend(KERNEL, noisy, Point(np.full(8, 0.3), 1e-4), plan, np.random.default_rng(3)) for _ in range(2)
    )
    np.testing.assert_array_equal(first.A, second.A)


def test_few_rows_are_shared_out(noisy):
    batch = FACTORS.batch(noisy[np.arange(30)], np.random.default_rng(0))
    assert (len(batch.fitted.X), len(batch.held_out.X), batch.n_landmarks) == (20, 10, 20)
