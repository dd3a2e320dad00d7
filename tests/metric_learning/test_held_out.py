"""The held-out loss and its gradient against plain numpy and differences of it."""

import numpy as np
import pytest

from frugalsvm.core.kernels import KERNELS
from frugalsvm.metric_learning.held_out import Batch, Rows, judged
from tests.oracles.metric import held_out_loss

KINDS = ("rbf", "matern32", "matern52")
GAMMA, RIDGE, STEP = 0.7, 1e-3, 1e-5


def batch_of(n_outputs, seed=0):
    rng = np.random.default_rng(seed)

    def rows(n):
        X = rng.normal(size=(n, 4))
        targets = np.sin(X @ rng.normal(size=(4, n_outputs))) + X[:, :1]
        return Rows(X, targets, rng.uniform(0.5, 2.0, n))

    return Batch(rows(60), rows(30), 12)


def kernel_named(name):
    return KERNELS[name](GAMMA)


def loss_at(name, A, ridge, batch):
    return held_out_loss(name, GAMMA, A, ridge, batch.fitted, batch.held_out, batch.n_landmarks)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("n_outputs", [1, 3])
class TestGradient:
    def test_matrix(self, name, n_outputs):
        batch, A = batch_of(n_outputs), np.random.default_rng(1).normal(size=(4, 4)) / 3
        found = judged(kernel_named(name), A, RIDGE, batch, diagonal=False)
        assert found.loss == pytest.approx(loss_at(name, A, RIDGE, batch), rel=1e-9)
        gradient = A @ found.scatter
        for i, j in ((0, 0), (1, 2), (3, 1)):
            E = np.zeros((4, 4))
            E[i, j] = STEP
            slope = (loss_at(name, A + E, RIDGE, batch) - loss_at(name, A - E, RIDGE, batch)) / (2 * STEP)
            assert gradient[i, j] == pytest.approx(slope, abs=1e-3 * np.abs(gradient).max())

    def test_factors(self, name, n_outputs):
        batch, factors = batch_of(n_outputs), np.array([0.5, 0.4, 0.3, 0.2])
        found = judged(kernel_named(name), factors, RIDGE, batch, diagonal=True)
        whole = judged(kernel_named(name), np.diag(factors), RIDGE, batch, diagonal=False)
        assert found.loss == pytest.approx(whole.loss, rel=1e-12)
        np.testing.assert_allclose(found.scatter, np.diag(whole.scatter), rtol=1e-9)

    def test_ridge(self, name, n_outputs):
        batch, A = batch_of(n_outputs), np.eye(4) / 3
        found = judged(kernel_named(name), A, RIDGE, batch, diagonal=False)
        up, down = (loss_at(name, A, RIDGE * np.exp(step), batch) for step in (STEP, -STEP))
        assert found.ridge_slope == pytest.approx((up - down) / (2 * STEP), rel=1e-3, abs=1e-9)


def test_rows_without_weight_change_nothing():
    batch = batch_of(1)
    fitted = batch.fitted._replace(weights=np.where(np.arange(60) < 40, batch.fitted.weights, 0.0))
    fewer = batch._replace(fitted=fitted[np.arange(40)])
    found, expected = (
        judged(kernel_named("rbf"), np.eye(4) / 3, RIDGE, each, diagonal=False)
        for each in (batch._replace(fitted=fitted), fewer)
    )
    assert found.loss == pytest.approx(expected.loss)
    np.testing.assert_allclose(found.scatter, expected.scatter, rtol=1e-9)
