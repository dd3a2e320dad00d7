"""A loss of somebody's own: one class with its bodies, and one line in the registry."""

from typing import NamedTuple

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from frugalsvm import ASSETRegressor
from frugalsvm.lowrank.losses import LOSSES
from frugalsvm.lowrank.losses.base import squares_by_weight
from frugalsvm.lowrank.losses.compiled import loss_of, slope_and_curvature, slope_of


class SquaredError(NamedTuple):
    """``(t - f)^2``"""

    is_smooth, for_classes, radius_share, degree = True, False, 0.5, 2

    def values(self, xp, targets, scores):
        return xp.square(targets - scores)

    def derivatives(self, xp, smoothing, targets, scores):
        return 2 * (scores - targets), 2 * xp.ones_like(scores)

    def smoothing_excess(self, xp, targets, scores, smoothing):
        return xp.zeros_like(scores)

    def feasible(self, xp, targets, duals, weights):
        return duals

    def conjugates(self, xp, targets, duals, weights):
        return targets * duals - squares_by_weight(xp, duals, weights)


@slope_and_curvature.implement(SquaredError)
def _derivatives(loss, smoothing, target, score):
    return np.float32(2.0) * (score - target), np.float32(2.0)


@loss_of.implement(SquaredError)
def _loss(loss, target, score):
    return (score - target) * (score - target)


@slope_of.implement(SquaredError)
def _slope(loss, target, score):
    return 2.0 * (score - target)


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    monkeypatch.setitem(LOSSES, "squared_error", SquaredError)


@pytest.mark.parametrize("device", ["cpu", "torch"])
def test_it_is_kernel_ridge_regression(device):
    if device == "torch":
        pytest.importorskip("torch")
        pytest.importorskip("array_api_compat")
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(300, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=300)
    settings = {"loss": "squared_error", "C": 5.0, "gamma": 0.5, "fit_intercept": False, "n_components": 300}
    model = ASSETRegressor(tol=1e-6, device=device, random_state=0, **settings).fit(X, y)
    assert 0 <= model.suboptimality_bound_ <= 1e-3 * model.objective_
    exact = KernelRidge(alpha=1 / (2 * 5.0), kernel="rbf", gamma=0.5).fit(X, y)
    np.testing.assert_allclose(model.predict(X), exact.predict(X), atol=0.02)


@pytest.mark.parametrize("solver", ["newton", "asset", "asset*"])
def test_it_is_a_squared_loss_without_a_tube(solver):
    """By all solvers, and in streams."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(1000, 2))
    y = np.sin(2 * X[:, 0])
    own, known = (
        ASSETRegressor(loss=loss, epsilon=0.0, solver=solver, C=10.0, gamma=0.5, n_components=50, random_state=0)
        for loss in ("squared_error", "squared_epsilon_insensitive")
    )
    for model in (own, known):
        model.fit(X[:800], y[:800]).partial_fit(X[800:], y[800:])
    np.testing.assert_allclose(own.predict(X), known.predict(X), atol=1e-4)
