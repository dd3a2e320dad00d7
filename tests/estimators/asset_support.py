"""Noisy waves for ASSETClassifier and ASSETRegressor, and their objective by definition."""

import numpy as np
import pytest
from oracles.asset import loss_value
from sklearn.metrics.pairwise import rbf_kernel

from frugalsvm import ASSETClassifier, ASSETRegressor

GAMMA = 0.5
SETTINGS = {"n_components": 60, "gamma": GAMMA, "random_state": 0}
SOLVERS = ("newton", "asset", "asset*")
each_solver = pytest.mark.parametrize("solver", SOLVERS)
each_map = pytest.mark.parametrize("feature_map", ["nystroem", "fourier"])
each_kind = pytest.mark.parametrize("kind", [ASSETClassifier, ASSETRegressor], ids=["classifier", "regressor"])


def wave(n_rows, seed):
    """Rows and values of a smooth function with a little noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n_rows, 2))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.05 * rng.normal(size=n_rows)


def high_or_low():
    """Not balanced, so that an intercept matters."""
    X, values = wave(1500, 0)
    flipped = np.random.default_rng(1).random(1500) < 0.05
    return X, ((values > 1.0) ^ flipped).astype(int)


def task_of(kind, binary, smooth):
    return binary if kind is ASSETClassifier else smooth


def decisions(model, X):
    return model.decision_function(X) if isinstance(model, ASSETClassifier) else model.predict(X)


def direct_objective(model, X, y, C, weights=None):
    """From what is published, in float64: ``||w||^2`` is that of the kernel expansion."""
    landmarks = model.landmarks_.astype(np.float64)
    K, K_landmarks = rbf_kernel(X, landmarks, gamma=GAMMA), rbf_kernel(landmarks, gamma=GAMMA)
    targets = 2.0 * y - 1 if isinstance(model, ASSETClassifier) else y
    total = 0.0
    for a, b in zip(model.dual_coef_, model.intercept_, strict=True):
        losses = loss_value(model.loss, getattr(model, "epsilon", 0.0), targets, K @ a + b)
        total += a @ K_landmarks @ a / (2 * C * len(X)) + np.average(losses * (1.0 if weights is None else weights))
    return total
