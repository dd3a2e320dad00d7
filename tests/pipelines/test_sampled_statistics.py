"""Statistics of very many rows come from a sample of them, where that tells enough."""

import numpy as np
import pytest

from frugalsvm.pipelines import MissingValueFiller, StreamingScaler, statistics
from frugalsvm.pipelines.statistics import sample_of

USUAL, RARE, CONSTANT, MISSING = range(4)


def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 4)).astype(np.float32)
    X[:, RARE] = rng.random(20_000) < 1e-3
    X[:, CONSTANT] = 5.0
    X[20:, MISSING] = np.nan
    return X


@pytest.fixture
def small_sample(monkeypatch):
    monkeypatch.setattr(statistics, "SAMPLE_VALUES", 1)
    monkeypatch.setattr(statistics, "SAMPLE_ROWS", 4000)


@pytest.mark.usefixtures("small_sample")
def test_a_sample_tells_center_and_scale_of_usual_features():
    X = rows()[:, :3]
    scaler = StreamingScaler().fit(X)
    assert scaler.n_seen_ == 20_000
    assert 0 < abs(scaler.center_[USUAL] - np.median(X[:, USUAL])) < 0.1
    assert scaler.scale_[USUAL] == pytest.approx(1.0, abs=0.05)
    assert sample_of(X).shape == (4000, 3)


@pytest.mark.usefixtures("small_sample")
def test_all_rows_tell_of_rare_values(monkeypatch):
    X = rows()[:, :3]
    found = StreamingScaler().fit(X)
    monkeypatch.setattr(statistics, "SAMPLE_ROWS", len(X))
    whole = StreamingScaler().fit(X)
    for feature in (RARE, CONSTANT):
        assert found.scale_[feature] == whole.scale_[feature]
        assert found.constant_[feature] == whole.constant_[feature] == (feature == CONSTANT)


@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize("strategy", ["mean", "median"])
def test_missing_values_are_found_in_all_rows(strategy):
    X = rows()
    X[0, USUAL] = np.nan
    filler = MissingValueFiller(strategy, indicator=True).fit(X)
    assert filler.indicated_.tolist() == [USUAL, MISSING]
    statistic = np.mean if strategy == "mean" else np.median
    assert filler.statistics_[MISSING] == statistic(X[:20, MISSING].astype(np.float64))
    assert abs(filler.statistics_[USUAL]) < 0.1
