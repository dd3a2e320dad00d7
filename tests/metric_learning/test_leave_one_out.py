"""Leave-one-out losses and their gradients against plain numpy, which leaves out one row after the other."""

import numpy as np
import pytest

from frugalsvm.core.kernels import KERNELS
from frugalsvm.metric_learning.machine import Rows, judged, mean_losses
from tests.oracles import metric as oracle

EUCLIDEAN = ("rbf", "matern12", "matern32", "matern52")
GAMMA, RIDGE, STEP, N_ROWS = 0.7, 1e-3, 1e-5, 25
ALL = np.arange(N_ROWS)[None]


def rows_of(n_outputs, n=N_ROWS, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    targets = np.sin(X @ rng.normal(size=(4, n_outputs))) + X[:, :1]
    return Rows(X, targets, rng.uniform(0.5, 2.0, n))


def kernel_named(name):
    return KERNELS[name](GAMMA)


def loss_at(name, A, ridge, rows):
    return oracle.leave_one_out_loss(name, GAMMA, np.diag(A) if A.ndim == 1 else A, ridge, rows)


def slope_along(name, A, E, rows):
    return (loss_at(name, A + E, RIDGE, rows) - loss_at(name, A - E, RIDGE, rows)) / (2 * STEP)


@pytest.mark.parametrize("n_outputs", [1, 3])
class TestGradient:
    @pytest.mark.parametrize("name", EUCLIDEAN)
    @pytest.mark.parametrize("n_directions", [2, 4])
    def test_matrix(self, name, n_outputs, n_directions):
        rows, A = rows_of(n_outputs), np.random.default_rng(1).normal(size=(n_directions, 4)) / 3
        found = judged(kernel_named(name), A, RIDGE, rows, ALL)
        assert found.loss == pytest.approx(loss_at(name, A, RIDGE, rows), rel=1e-9)
        for i, j in ((0, 0), (1, 2)):
            E = np.zeros_like(A)
            E[i, j] = STEP
            assert found.gradient[i, j] == pytest.approx(slope_along(name, A, E, rows), rel=1e-4, abs=1e-6)

    @pytest.mark.parametrize("name", [*EUCLIDEAN, "laplacian"])
    def test_factors(self, name, n_outputs):
        rows, factors = rows_of(n_outputs), np.array([0.5, 0.4, 0.3, 0.2])
        found = judged(kernel_named(name), factors, RIDGE, rows, ALL)
        assert found.loss == pytest.approx(loss_at(name, factors, RIDGE, rows), rel=1e-9)
        for i, E in enumerate(STEP * np.eye(4)):
            assert found.gradient[i] == pytest.approx(slope_along(name, factors, E, rows), rel=1e-4, abs=1e-6)

    @pytest.mark.parametrize("name", ["rbf", "laplacian"])
    def test_ridge(self, name, n_outputs):
        rows, A = rows_of(n_outputs), np.full(4, 1 / 3)
        found = judged(kernel_named(name), A, RIDGE, rows, ALL)
        up, down = (loss_at(name, A, RIDGE * np.exp(step), rows) for step in (STEP, -STEP))
        assert found.ridge_slope == pytest.approx((up - down) / (2 * STEP), rel=1e-4)

    @pytest.mark.parametrize("name", ["rbf", "laplacian"])
    def test_losses_alone(self, name, n_outputs):
        rows, A, ridges = rows_of(n_outputs), np.full(4, 1 / 3), (RIDGE, 10 * RIDGE)
        found = mean_losses(kernel_named(name), A, ridges, rows, ALL)
        assert found == pytest.approx([loss_at(name, A, ridge, rows) for ridge in ridges], rel=1e-9)


def test_batches_are_averaged():
    rows, A = rows_of(1, 2 * N_ROWS), np.full(4, 1 / 3)
    halves = np.arange(2 * N_ROWS).reshape(2, -1)
    found, first, second = (
        judged(kernel_named("rbf"), A, RIDGE, rows, each) for each in (halves, halves[:1], halves[1:])
    )
    for mean, one, other in zip(found, first, second, strict=True):
        np.testing.assert_allclose(mean, (one + other) / 2)


def test_rows_without_weight_change_hardly_anything():
    rows = rows_of(1)
    weights = np.where(np.arange(N_ROWS) < 5, 0.0, rows.weights)
    found, expected = (
        judged(kernel_named("rbf"), np.full(4, 1 / 3), RIDGE, rows._replace(weights=weights), index[None])
        for index in (np.arange(N_ROWS), np.arange(5, N_ROWS))
    )
    assert found.loss == pytest.approx(expected.loss, rel=1e-3)
    np.testing.assert_allclose(found.gradient, expected.gradient, rtol=1e-2, atol=1e-4)
