"""Single rows past validation: the same scores and thresholds as batches, bit for bit."""

import pickle

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import SGDRegressor
from sklearn.naive_bayes import GaussianNB

from frugalsvm import BSGDClassifier, BSGDOneClassSVM, BSGDRegressor
from frugalsvm.conformal import ConformalClassifier, ConformalDetector, ConformalRegressor
from frugalsvm.conformal._one_score import OneScore, bounded
from frugalsvm.core.score_reservoir import HUGE, Promise, new_reservoir, observe, threshold_of
from frugalsvm.pipelines import StreamPipeline

WARM_UP = 60


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(3.0, 2.0, (240, 4))
    return X, (X[:, 0] * X[:, 1] > X[:, 2] * 3).astype(int) + (X[:, 3] > 4)


def pipeline(estimator):
    return StreamPipeline(estimator, warmup_rows=WARM_UP)


def assert_same_promise(fast, slow):
    np.testing.assert_array_equal(fast.thresholds_, slow.thresholds_)
    for one, other in zip(fast._reservoirs, slow._reservoirs, strict=True):
        for own, expected in zip(one, other, strict=True):
            np.testing.assert_array_equal(own, expected)


class TestScores:
    @pytest.mark.parametrize("extrapolates", [False, True])
    def test_one_by_one_leave_what_a_batch_leaves(self, extrapolates):
        rng = np.random.default_rng(0)
        scores = rng.standard_cauchy(700)
        scores[[30, 50, 400, 401, 500, 501]] = [np.nan, np.inf, -np.inf, np.nan, 2 * HUGE, -HUGE]
        promise = Promise(0.1, 2.0, extrapolates)
        at_once, single = new_reservoir(100), new_reservoir(100)
        thresholds = np.empty(len(scores))
        observe(at_once, promise, bounded(scores), thresholds)
        one = OneScore(single, promise)
        found = []
        for score in scores.tolist():
            found.append(one.threshold)
            one.take(score)
        np.testing.assert_array_equal(np.clip(found, -HUGE, HUGE), thresholds)
        assert one.threshold == threshold_of(at_once)
        for own, expected in zip(single, at_once, strict=True):
            np.testing.assert_array_equal(own, expected)

    def test_batches_of_one_leave_what_a_batch_leaves(self, rows):
        X, y = rows
        frozen = FrozenEstimator(GaussianNB().fit(X[:50], y[:50]))
        at_once, single = (ConformalClassifier(frozen).partial_fit(X[:20], y[:20]) for _ in range(2))
        sets = at_once.test_then_train(X, y)
        np.testing.assert_array_equal(
            np.concatenate([single.test_then_train(X[i : i + 1], y[i : i + 1]) for i in range(len(y))]), sets
        )
        assert_same_promise(single, at_once)


class TestClassifier:
    @pytest.mark.parametrize(("n_classes", "by_class"), [(2, False), (3, False), (3, True)])
    def test_rows_are_batches_of_one(self, rows, n_classes, by_class):
        X, y = rows
        y = np.minimum(y, n_classes - 1)
        estimator = pipeline(BSGDClassifier(budget=20, alpha=1e-3, random_state=0))
        fast, slow = (ConformalClassifier(estimator, by_class=by_class, window=50) for _ in range(2))
        for i in range(len(y)):
            if i:
                np.testing.assert_array_equal(fast.predict_set_one_row(X[i]), slow.predict_set(X[i : i + 1])[0])
            assert fast.learn_one_row(X[i], y[i]) is fast
            slow.partial_fit(X[i : i + 1], y[i : i + 1])
        assert fast._fast_model() is not None  # or the test would compare the same with itself
        assert_same_promise(fast, slow)
        assert fast.coverage_ == slow.coverage_

    def test_a_label_that_is_new(self, rows):
        X, y = rows
        estimator = pipeline(BSGDClassifier(budget=20, alpha=1e-3, new_classes="grow"))
        fast, slow = (ConformalClassifier(estimator).partial_fit(X[:100], y[:100] % 2) for _ in range(2))
        fast.learn_one_row(X[100], 7)
        slow.partial_fit(X[100:101], [7])
        for i in range(101, 200):
            fast.learn_one_row(X[i], y[i] % 2)
            slow.partial_fit(X[i : i + 1], y[i : i + 1] % 2)
        assert fast.classes_.tolist() == [0, 1, 7]
        np.testing.assert_array_equal(fast.predict_set_one_row(X[0]), slow.predict_set(X[:1])[0])
        assert_same_promise(fast, slow)

    def test_a_bad_row_changes_nothing(self, rows):
        X, y = rows
        model = ConformalClassifier(pipeline(BSGDClassifier(budget=20, alpha=1e-3))).partial_fit(X, y)
        before = pickle.dumps(model._reservoirs)
        for bad in (np.full(4, np.nan), np.zeros(3)):
            with pytest.raises(ValueError, match=r"NaN|features"):
                model.learn_one_row(bad, y[0])
        assert pickle.dumps(model._reservoirs) == before

    def test_parameters_that_are_set_hold_from_the_next_row_on(self, rows):
        X, y = rows
        model = ConformalClassifier(pipeline(BSGDClassifier(budget=20, alpha=1e-3))).partial_fit(X, y)
        model.learn_one_row(X[0], y[0])
        model.set_params(coverage=0.5).learn_one_row(X[0], y[0])
        assert model._fast_model().takers[0]._promise.rate == 0.5
        with pytest.raises(ValueError, match="coverage"):
            model.set_params(coverage=2.0).learn_one_row(X[0], y[0])

    def test_a_frozen_pipeline_does_not_learn(self, rows):
        X, y = rows
        inner = pipeline(BSGDClassifier(budget=20, alpha=1e-3)).partial_fit(X, y)
        model = ConformalClassifier(FrozenEstimator(inner))
        for i in range(20):
            model.learn_one_row(X[i], y[i])
        assert inner.estimator_.t_ == len(y)
        assert model._reservoirs[0].counts[0]["n_rows"] == 20

    def test_what_is_prepared_is_in_no_copy(self, rows):
        X, y = rows
        model = ConformalClassifier(pipeline(BSGDClassifier(budget=20, alpha=1e-3))).partial_fit(X, y)
        model.learn_one_row(X[0], y[0])
        twin = pickle.loads(pickle.dumps(model))
        for i in range(20):
            twin.learn_one_row(X[i], y[i])
            model.learn_one_row(X[i], y[i])
        assert_same_promise(twin, model)
        assert twin._reservoirs[0].ring is not model._reservoirs[0].ring


class TestRegressor:
    @pytest.mark.parametrize("more", [{}, {"loss": "pinball", "quantile": [0.1, 0.9]}], ids=["number", "quantiles"])
    def test_rows_are_batches_of_one(self, rows, more):
        X = rows[0]
        y = X[:, 0] * X[:, 1]
        fast, slow = (ConformalRegressor(pipeline(BSGDRegressor(budget=20, **more)), window=50) for _ in range(2))
        for i in range(len(y)):
            if i:
                assert fast.predict_interval_one_row(X[i]) == tuple(slow.predict_interval(X[i : i + 1])[0])
            fast.learn_one_row(X[i], y[i])
            slow.partial_fit(X[i : i + 1], y[i : i + 1])
        assert fast._fast_model() is not None
        assert_same_promise(fast, slow)

    def test_of_other_libraries_learn_a_batch_of_one(self, rows):
        X = rows[0] / 10
        fast, slow = (ConformalRegressor(SGDRegressor(random_state=0)) for _ in range(2))
        for i in range(100):
            fast.learn_one_row(X[i], X[i, 0])
            slow.partial_fit(X[i : i + 1], X[i : i + 1, 0])
        assert fast.predict_interval_one_row(X[0]) == tuple(slow.predict_interval(X[:1])[0])
        assert_same_promise(fast, slow)


class TestDetector:
    def test_rows_are_batches_of_one(self, rows):
        X = rows[0]
        model = BSGDOneClassSVM(gamma=0.1, budget=20)
        fast, slow = (ConformalDetector(pipeline(model), alarm_rate=0.1, window=50) for _ in range(2))
        alarms = 0
        for i in range(len(X)):
            if i:
                assert fast.predict_one_row(X[i]) == slow.predict(X[i : i + 1])[0]
                alarms += fast.predict_one_row(X[i]) == -1
            fast.learn_one_row(X[i])
            slow.partial_fit(X[i : i + 1])
        assert fast._fast_model() is not None
        assert alarms > 0
        assert_same_promise(fast, slow)
