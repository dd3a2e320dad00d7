"""Intervals: as many with the true number as promised, in every window, and never infinite for long."""

import numpy as np
import pytest
from conformal_support import number_is_in, shares_in_windows
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, SGDRegressor

from frugalsvm import BSGDRegressor
from frugalsvm.conformal import ConformalRegressor
from frugalsvm.datasets import DriftStream


def intervals_of(model, stream, n_rows, batch):
    """Whether each number was in its interval, and all intervals."""
    hits, found = [], []
    for X, y in stream.chunks(n_rows, batch):
        found.append(model.test_then_train(X, y))
        hits.append(number_is_in(found[-1], y))
    return np.concatenate(hits), np.concatenate(found)


def line(n_rows, seed=0, noise=lambda x: 1.0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, size=(n_rows, 1))
    return X, 3.0 * X[:, 0] + noise(X[:, 0]) * rng.normal(size=n_rows)


def test_rows_of_weight_0_calibrate_nothing():
    X, y = line(300)
    counts = np.arange(300) % 3 > 0
    wild = np.where(counts, y, 1e6)
    found = ConformalRegressor(LinearRegression(), random_state=0).fit(X, wild, sample_weight=counts.astype(float))
    assert found.thresholds_[0] < 4.0


class TestCoverage:
    @pytest.mark.parametrize("drift", ["abrupt", "gradual"])
    def test_through_drift(self, drift):
        stream = DriftStream("friedman", drift, changes=8_000, random_state=0)
        hits, intervals = intervals_of(ConformalRegressor(BSGDRegressor(budget=50)), stream, 24_000, 40)
        shares = shares_in_windows(hits)
        assert shares.min() > 0.88
        assert shares.max() < 0.92
        assert np.isfinite(intervals[1_000:]).all()

    @pytest.mark.parametrize("coverage", [0.5, 0.95])
    def test_of_other_models_and_promises(self, coverage):
        stream = DriftStream("friedman", "incremental", changes=5_000, random_state=1)
        model = ConformalRegressor(SGDRegressor(learning_rate="constant", random_state=0), coverage)
        shares = shares_in_windows(intervals_of(model, stream, 15_000, 50)[0])
        assert abs(shares - coverage).max() < 0.02

    def test_of_noise_that_grows_a_thousandfold_at_once(self):
        X, y = line(12_000, noise=lambda x: np.where(np.arange(12_000) < 6_000, 0.1, 100.0))
        model = ConformalRegressor(FrozenEstimator(LinearRegression().fit(X[:100], y[:100])))
        intervals = model.test_then_train(X, y)  # of a model that does not learn: the same as row by row
        assert np.isfinite(intervals[20:]).all()
        shares = shares_in_windows(number_is_in(intervals, y))
        assert 0.88 < shares.min() < shares.max() < 0.92


class TestQuantiles:
    def test_intervals_are_wide_where_the_noise_is(self):
        model = BSGDRegressor(loss="pinball", quantile=[0.05, 0.95], non_crossing=True, budget=50)
        noise = lambda x: np.where(x > 0, 3.0, 0.3)  # noqa: E731
        model = ConformalRegressor(model)
        for k in range(100):
            model.partial_fit(*line(100, seed=k, noise=noise))
        X, y = line(10_000, seed=1_000, noise=noise)
        intervals = model.predict_interval(X)
        width = intervals[:, 1] - intervals[:, 0]
        assert width[X[:, 0] > 0.5].mean() > 3.0 * width[X[:, 0] < -0.5].mean()
        assert abs(number_is_in(intervals, y).mean() - 0.9) < 0.03
        assert 0.89 < model.coverage_ < 0.91
        assert model.predict(X).shape == (10_000,)

    def test_quantiles_that_are_too_far_apart_are_moved_together(self):
        class TooWide(LinearRegression):
            def predict(self, X):
                middle = super().predict(X)
                return np.stack([middle - 50.0, middle + 50.0], axis=1)

        X, y = line(4_000)
        model = ConformalRegressor(FrozenEstimator(TooWide().fit(X, y))).partial_fit(X, y)
        width = np.diff(model.predict_interval(X), axis=1)
        np.testing.assert_allclose(width, 2 * 1.645, atol=0.4)
        assert model.thresholds_[0] < 0

    def test_quantiles_in_any_order(self):
        class Upside(LinearRegression):
            def predict(self, X):
                middle = super().predict(X)
                return np.stack([middle + 1.0, middle - 1.0], axis=1)

        X, y = line(1_000)
        model = ConformalRegressor(FrozenEstimator(Upside().fit(X, y))).partial_fit(X, y)
        low, high = model.predict_interval(X).T
        assert (low < high).all()

    def test_bounds_that_would_cross_meet_in_the_middle(self):
        from frugalsvm.conformal.regressor import _widened

        np.testing.assert_array_equal(_widened(np.array([[1.0, 3.0]]), np.array([-5.0])), [[2.0, 2.0]])
        np.testing.assert_array_equal(_widened(np.array([[1.0, 3.0]]), np.array([-np.inf])), [[2.0, 2.0]])
        np.testing.assert_array_equal(_widened(np.array([[1.0, 3.0]]), np.array([np.inf])), [[-np.inf, np.inf]])

    def test_more_than_two_are_refused(self):
        X, y = line(100)
        model = BSGDRegressor(loss="pinball", quantile=[0.1, 0.5, 0.9], budget=10)
        model = ConformalRegressor(model).partial_fit(X, y)
        with pytest.raises(ValueError, match="predicts 3 numbers"):
            model.partial_fit(X, y)


class TestIntervals:
    def test_fit_calibrates_with_rows_that_were_not_learned(self):
        X, y = line(4_000)
        model = ConformalRegressor(GradientBoostingRegressor(random_state=0), random_state=0).fit(X, y)
        rows, numbers = line(10_000, seed=1)
        assert abs(number_is_in(model.predict_interval(rows), numbers).mean() - 0.9) < 0.03
        assert model.score(rows, numbers) > 0.8

    def test_those_of_single_rows_are_those_that_are_counted(self):
        X, y = line(250)
        one, other = (ConformalRegressor(SGDRegressor(random_state=0)).partial_fit(X[:5], y[:5]) for _ in range(2))
        for k in range(5, 250):
            expected = one.predict_interval(X[k : k + 1])
            one.partial_fit(X[k : k + 1], y[k : k + 1])
            np.testing.assert_array_equal(other.test_then_train(X[k : k + 1], y[k : k + 1]), expected)

    def test_nothing_is_known_before_the_first_rows(self):
        X, y = line(50)
        model = ConformalRegressor(SGDRegressor(random_state=0))
        assert np.isinf(model.test_then_train(X, y)).all()
        assert np.isnan(model.coverage_)
        assert np.isinf(model.predict_interval(X)).all()

    def test_predictions_that_are_no_numbers_do_not_stay(self):
        X, y = line(2_000)
        model = ConformalRegressor(FrozenEstimator(LinearRegression().fit(X, y))).partial_fit(X, y)
        before = model.thresholds_
        model.partial_fit(X[:3], y[:3], outputs=np.full((3, 2), np.nan))
        np.testing.assert_array_equal(model.thresholds_, before)
        with pytest.raises(ValueError, match="outputs has the shape"):
            model.partial_fit(X[:3], y[:3], outputs=np.zeros((2, 2)))


def test_models_of_river():
    linear_model = pytest.importorskip("river.linear_model")
    model = ConformalRegressor(linear_model.LinearRegression())
    assert model.predict_interval_one({0: 1.0}) == (-np.inf, np.inf)
    X, y = line(3_000)
    hits = []
    for row, number in zip(X, y.tolist(), strict=True):
        x = dict(enumerate(row.tolist()))
        low, high = model.predict_interval_one(x)
        hits.append(low <= number <= high)
        model.learn_one(x, number)
    assert np.mean(hits) == pytest.approx(model.coverage_, abs=2e-3)
    assert 0.89 < np.mean(hits) < 0.91
    with pytest.raises(ValueError, match="partial_fit"):
        model.fit(X, y)


def test_single_rows_of_river_are_the_same_as_batches():
    linear_model = pytest.importorskip("river.linear_model")
    one, other = (ConformalRegressor(linear_model.LinearRegression(), window=50) for _ in range(2))
    X, y = line(300)
    rows = [dict(enumerate(row.tolist())) for row in X]
    one.partial_fit(rows, y)
    for x, number in zip(rows, y.tolist(), strict=True):
        other.learn_one(x, number)
    for left, right in zip(one._reservoirs[0], other._reservoirs[0], strict=True):
        np.testing.assert_array_equal(left, right)
    np.testing.assert_array_equal(one.predict_interval(rows[:1])[0], other.predict_interval_one(rows[0]))
    other.learn_one({0: float("nan")}, 0.0)  # no number to predict: a miss, and nothing else
    np.testing.assert_array_equal(one._reservoirs[0].ranked, other._reservoirs[0].ranked)
