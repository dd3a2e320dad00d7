"""Projection with many vectors in few dimensions, whose kernel matrix is close to singular."""

import numpy as np
import pytest

from frugalsvm import BSGDClassifier
from frugalsvm.datasets import make_checkerboard


@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.float64, marks=pytest.mark.slow)])
def test_large_budget_in_the_plane(dtype):
    X, y = make_checkerboard(12_000, random_state=0, dtype=dtype)
    model = BSGDClassifier(maintenance="project", budget=500, gamma=8.0, alpha=1e-4, shuffle=False)
    model.fit(X[:10_000], y[:10_000])
    assert model.score(X[10_000:], y[10_000:]) > 0.9
    # The largest step is 1 / alpha, long forgotten: what is left of it is below a hundredth.
    assert np.abs(model.dual_coef_).max() < 1e4
