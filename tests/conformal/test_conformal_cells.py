"""Conformal estimators around machines in cells, and around models that cannot learn a stream."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.svm import SVC, SVR

from frugalsvm import LocalSVC, LocalSVR
from frugalsvm.conformal import ConformalClassifier, ConformalRegressor

QUICK = {"kernel": "rbf", "cell_size": 128, "random_state": 0}
N = 800


def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * N, 3))
    labels = (X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=len(X)) > 0).astype(int) + (X[:, 2] > 1)
    return X, X[:, 0] + 0.3 * rng.normal(size=len(X)), labels


@pytest.mark.parametrize("is_frozen", [False, True])
def test_intervals_are_covered(is_frozen):
    X, y, _ = rows()
    if is_frozen:
        model = ConformalRegressor(FrozenEstimator(LocalSVR(**QUICK).fit(X[:N], y[:N])))
    else:
        model = ConformalRegressor(LocalSVR(**QUICK), random_state=0).fit(X[:N], y[:N])
    low, high = model.test_then_train(X[N:], y[N:]).T
    assert abs(np.mean((low <= y[N:]) & (y[N:] <= high)) - 0.9) < 0.04


@pytest.mark.parametrize("is_frozen", [False, True])
def test_sets_are_covered(is_frozen):
    X, _, y = rows()
    if is_frozen:
        model = ConformalClassifier(FrozenEstimator(LocalSVC(**QUICK).fit(X[:N], y[:N])))
    else:
        model = ConformalClassifier(LocalSVC(**QUICK), random_state=0).fit(X[:N], y[:N])
    sets = model.test_then_train(X[N:], y[N:])
    assert abs(sets[np.arange(N), y[N:]].mean() - 0.9) < 0.04


@pytest.mark.parametrize("model", [ConformalRegressor(SVR()), ConformalClassifier(SVC())], ids=["numbers", "classes"])
def test_a_stream_needs_a_model_that_learns_or_has_learned(model):
    X, _, y = rows()
    with pytest.raises(ValueError, match="has no partial_fit, and has learned nothing: call fit first"):
        model.partial_fit(X[:50], y[:50])
    assert not hasattr(model, "estimator_")
