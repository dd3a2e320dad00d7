"""Alarms: as many as promised, and p-values that are uniform."""

import numpy as np
import pytest
from conformal_support import shares_in_windows
from sklearn.ensemble import IsolationForest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import SGDOneClassSVM

from frugalsvm import BSGDOneClassSVM
from frugalsvm.conformal import ConformalDetector


def batches(n_rows, batch, drift):
    """Rows whose mean jumps or moves by several standard deviations."""
    rng = np.random.default_rng(0)
    for start in range(0, n_rows, batch):
        row = np.arange(start, start + batch)
        center = {"none": 0.0 * row, "abrupt": 4.0 * (row // 7_000 % 2), "gradual": row / 4_000}[drift]
        yield center[:, None] + rng.normal(size=(batch, 3))


@pytest.mark.parametrize("drift", ["none", "abrupt", "gradual"])
def test_alarms_in_every_window(drift):
    model = ConformalDetector(BSGDOneClassSVM(budget=50, gamma=0.1), alarm_rate=0.01)
    alarms = [model.test_then_train(X) == -1 for X in batches(22_000, 50, drift)]
    shares = shares_in_windows(np.concatenate(alarms))
    assert shares.min() > 0.007
    assert shares.max() < 0.014
    assert model.alarm_rate_ == pytest.approx(np.concatenate(alarms)[50:].mean(), abs=1e-4)


def test_p_values_are_uniform():
    rng = np.random.default_rng(0)
    forest = IsolationForest(n_estimators=20, random_state=0).fit(rng.normal(size=(500, 3)))
    model = ConformalDetector(FrozenEstimator(forest), window=2_000)
    model.partial_fit(rng.normal(size=(5_000, 3)))
    p = model.p_values(rng.normal(size=(20_000, 3)))
    for level in (0.02, 0.2, 0.5, 0.8):
        assert abs((p <= level).mean() - level) < 0.03


def test_p_values_are_those_of_the_detector_with_p_values_of_its_own():
    """One concept: the rank of a score among the latest ones."""
    rng = np.random.default_rng(0)
    own = BSGDOneClassSVM(budget=20, gamma=0.1, window=500).partial_fit(rng.normal(size=(256, 2)))
    wrapped = ConformalDetector(FrozenEstimator(own), window=500)
    wrapped.partial_fit(rng.normal(size=(900, 2)))
    window = own._window._replace(scores=own.score_samples(rng.normal(size=(500, 2))), counts=own._window.counts.copy())
    wrapped._reservoirs[0].ranked[:] = np.sort(-window.scores)
    wrapped._reservoirs[0].ring[:] = -window.scores
    window.counts[0]["n_scores"] = 500
    own._window = window
    rows = rng.normal(size=(50, 2))
    np.testing.assert_array_equal(wrapped.p_values(rows), own.p_values(rows))


def test_strange_rows_are_alarms():
    model = ConformalDetector(SGDOneClassSVM(nu=0.1, random_state=0), alarm_rate=0.05)
    rng = np.random.default_rng(0)
    for _ in range(50):
        model.partial_fit(3.0 + rng.normal(size=(100, 2)))
    rows = np.array([[3.0, 3.0], [-9.0, -9.0]])
    assert model.predict(rows).tolist() == [1, -1]
    assert np.sign(model.decision_function(rows)).tolist() == [1, -1]
    assert model.p_values(rows)[1] < 0.001
    np.testing.assert_array_equal(model.score_samples(rows), -model.outputs(rows))


def test_fit_calibrates_with_rows_that_were_not_learned():
    rng = np.random.default_rng(0)
    model = ConformalDetector(IsolationForest(n_estimators=50, random_state=0), 0.05, random_state=0).fit(
        rng.normal(size=(4_000, 2))
    )
    assert abs((model.predict(rng.normal(size=(10_000, 2))) == -1).mean() - 0.05) < 0.02
    assert np.isnan(model.alarm_rate_)


def test_models_of_river():
    anomaly = pytest.importorskip("river.anomaly")
    model = ConformalDetector(anomaly.HalfSpaceTrees(n_trees=5, height=4, window_size=50, seed=0), alarm_rate=0.1)
    assert model.score_one({"a": 0.5}) == 0.0
    rng = np.random.default_rng(0)
    for value in rng.random(2_000):
        model.learn_one({"a": float(value)})
    assert 0.09 < model.alarm_rate_ < 0.11
    assert 0.0 <= model.score_one({"a": 0.5}) < 1.0
