"""The held-out loss and its gradient against plain numpy and differences of it."""

import numpy as np
import pytest

from frugalsvm.core.kernels import KERNELS
from frugalsvm.metric_learning.held_out import Batch, held_out_loss, judged
from frugalsvm.metric_learning.machine import Rows
from tests.oracles import metric as oracle

EUCLIDEAN = ("rbf", "matern32", "matern52")
GAMMA, RIDGE, STEP = 0.7, 1e-3, 1e-5
N_FITTED = 60


def batch_of(n_outputs, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(90, 4))
    targets = np.sin(X @ rng.normal(size=(4, n_outputs))) + X[:, :1]
    return Batch(Rows(X, targets, rng.uniform(0.5, 2.0, 90)), N_FITTED, 12)


def kernel_named(name):
    return KERNELS[name](GAMMA)


def loss_at(name, A, ridge, batch):
    A = np.diag(A) if A.ndim == 1 else A
    return oracle.held_out_loss(name, GAMMA, A, ridge, batch.rows[:N_FITTED], batch.rows[N_FITTED:], batch.n_landmarks)


@pytest.mark.parametrize("n_outputs", [1, 3])
class TestGradient:
    @pytest.mark.parametrize("name", EUCLIDEAN)
    def test_matrix(self, name, n_outputs):
        batch, A = batch_of(n_outputs), np.random.default_rng(1).normal(size=(4, 4)) / 3
        found = judged(kernel_named(name), A, RIDGE, batch)
        assert found.loss == pytest.approx(loss_at(name, A, RIDGE, batch), rel=1e-9)
        for i, j in ((0, 0), (1, 2), (3, 1)):
            E = np.zeros((4, 4))
            E[i, j] = STEP
            slope = (loss_at(name, A + E, RIDGE, batch) - loss_at(name, A - E, RIDGE, batch)) / (2 * STEP)
            assert found.gradient[i, j] == pytest.approx(slope, abs=1e-3 * np.abs(found.gradient).max())

    @pytest.mark.parametrize("name", [*EUCLIDEAN, "laplacian"])
    def test_factors(self, name, n_outputs):
        batch, factors = batch_of(n_outputs), np.array([0.5, 0.4, 0.3, 0.2])
        found = judged(kernel_named(name), factors, RIDGE, batch)
        assert found.loss == pytest.approx(loss_at(name, factors, RIDGE, batch), rel=1e-9)
        for i in range(4):
            E = STEP * np.eye(4)[i]
            up, down = (loss_at(name, factors + move, RIDGE, batch) for move in (E, -E))
            slope = (up - down) / (2 * STEP)
            assert found.gradient[i] == pytest.approx(slope, abs=1e-3 * np.abs(found.gradient).max())

    @pytest.mark.parametrize("name", [*EUCLIDEAN, "laplacian"])
    def test_ridge(self, name, n_outputs):
        batch, A = batch_of(n_outputs), np.full(4, 1 / 3)
        found = judged(kernel_named(name), A, RIDGE, batch)
        up, down = (loss_at(name, A, RIDGE * np.exp(step), batch) for step in (STEP, -STEP))
        assert found.ridge_slope == pytest.approx((up - down) / (2 * STEP), rel=1e-3, abs=1e-9)

    @pytest.mark.parametrize("name", ["rbf", "laplacian"])
    def test_loss_alone(self, name, n_outputs):
        batch, A = batch_of(n_outputs), np.full(4, 1 / 3)
        found = held_out_loss(kernel_named(name), A, RIDGE, batch)
        assert found == pytest.approx(loss_at(name, A, RIDGE, batch), rel=1e-9)


def test_fewer_directions_than_features():
    batch, A = batch_of(1), np.random.default_rng(1).normal(size=(2, 4)) / 3
    found = judged(kernel_named("rbf"), A, RIDGE, batch)
    E = np.zeros((2, 4))
    E[1, 2] = STEP
    slope = (loss_at("rbf", A + E, RIDGE, batch) - loss_at("rbf", A - E, RIDGE, batch)) / (2 * STEP)
    assert found.gradient.shape == (2, 4)
    assert found.gradient[1, 2] == pytest.approx(slope, abs=1e-3 * np.abs(found.gradient).max())


def test_rows_without_weight_change_nothing():
    batch = batch_of(1)
    weights = np.where((np.arange(90) >= 40) & (np.arange(90) < N_FITTED), 0.0, batch.rows.weights)
    rows = batch.rows._replace(weights=weights)
    found, expected = (
        judged(kernel_named("rbf"), np.eye(4) / 3, RIDGE, each)
        for each in (batch._replace(rows=rows), Batch(rows[weights > 0.0], 40, 12))
    )
    assert found.loss == pytest.approx(expected.loss)
    np.testing.assert_allclose(found.gradient, expected.gradient, rtol=1e-9)
