"""Streams that change: half-lives of the regressor and of the one-class machine, and windows of the exact SVM."""

import numpy as np
import pytest
from sklearn.svm import SVC

from frugalsvm import BSGDOneClassSVM, BSGDRegressor, IncrementalSVC
from frugalsvm.core.schedules import clock_of
from frugalsvm.datasets import DriftStream, make_checkerboard
from frugalsvm.exceptions import ParameterError
from frugalsvm.persist import load, save
from frugalsvm.pipelines import StreamPipeline


class TestRegressor:
    def test_what_was_learned_is_halved_in_a_half_life(self):
        X, y = np.zeros((1, 10), np.float32), np.ones(1)  # as the streams below have
        model = BSGDRegressor(half_life=50, gamma=1.0, standardize=False, epsilon=0.0, budget=10)
        for _ in range(200):
            model.partial_fit(X, y)
        before = model.predict(X)[0]
        far = np.full((50, 10), 1e3, np.float32)
        model.partial_fit(far, np.zeros(50))
        assert before > 0.9
        np.testing.assert_allclose(model.predict(X)[0], before / 2, rtol=1e-6)

    def test_it_is_soon_as_good_as_before_the_change(self):
        errors = {}
        for half_life in (None, 1000):
            stream = DriftStream("friedman", changes=[6_000], random_state=0)
            model = BSGDRegressor(budget=100, half_life=half_life)
            for X, y in stream.chunks(7_500, 100):
                model.partial_fit(X, y)
            X, y = stream.take(1_000)
            errors[half_life] = np.mean((model.predict(X) - y) ** 2)
        assert errors[1000] < 0.7 * errors[None]

    def test_single_rows_are_batches_of_one(self):
        X, y = DriftStream("friedman", random_state=0).take(300)
        fast, slow = (StreamPipeline(BSGDRegressor(half_life=100, budget=20), warmup_rows=50) for _ in range(2))
        for i in range(300):
            fast.learn_one_row(X[i], y[i])
            slow.partial_fit(X[i : i + 1], y[i : i + 1])
        np.testing.assert_array_equal(fast.estimator_.dual_coef_, slow.estimator_.dual_coef_)

    def test_resumed_bit_for_bit(self, tmp_path):
        X, y = DriftStream("friedman", random_state=0).take(600)
        model = BSGDRegressor(half_life=100, budget=20).partial_fit(X[:300], y[:300])
        save(model, tmp_path / "model.frugal")
        twin = load(tmp_path / "model.frugal").partial_fit(X[300:], y[300:])
        np.testing.assert_array_equal(twin.dual_coef_, model.partial_fit(X[300:], y[300:]).dual_coef_)

    @pytest.mark.parametrize("half_life", ["auto", 0.5, -3, "long"])
    def test_refusals(self, half_life):
        with pytest.raises(ParameterError, match="half_life"):
            BSGDRegressor(half_life=half_life).partial_fit(np.eye(3), np.arange(3.0))

    def test_no_average(self):
        with pytest.raises(ValueError, match="average is for streams that stay"):
            BSGDRegressor(half_life=100, average=True).partial_fit(np.eye(3), np.arange(3.0))


class TestOneClass:
    def test_scores_are_those_of_the_rows_of_late(self):
        rng = np.random.default_rng(0)
        model = BSGDOneClassSVM(nu=1.0, half_life=200, gamma=1.0, budget=1000)  # merging would lose a little
        model.partial_fit(rng.normal(size=(600, 2)))
        before = model.score_samples([[0.0, 0.0]])[0]
        model.partial_fit(50.0 + rng.normal(size=(200, 2)))
        np.testing.assert_allclose(model.score_samples([[0.0, 0.0]])[0], before / 2, rtol=1e-6)

    def test_all_rows_count_alike_at_first(self):
        X = np.random.default_rng(0).normal(size=(300, 2))
        models = [BSGDOneClassSVM(half_life=each, gamma=1.0, budget=400) for each in (None, 1e6)]
        scores = [model.partial_fit(X).score_samples(X) for model in models]
        np.testing.assert_allclose(scores[0], scores[1], rtol=1e-6)

    def test_refusals(self):
        with pytest.raises(ParameterError, match="half_life"):
            BSGDOneClassSVM(half_life="auto").partial_fit(np.eye(3))


@pytest.fixture(scope="module")
def board():
    X, y = make_checkerboard(400, random_state=0)
    return np.asarray(X, np.float64), np.asarray(y)


class TestWindow:
    @pytest.mark.parametrize("size", [1, 30, 150])
    def test_it_is_the_model_of_the_last_examples(self, board, size):
        X, y = board
        model = IncrementalSVC(C=10.0, gamma=8.0, window=100)
        for start in range(0, 400, size):
            model.partial_fit(X[start : start + size], y[start : start + size], classes=[-1, 1] if start == 0 else None)
        assert model.n_examples_ == 100
        np.testing.assert_array_equal(model.example_ids_, np.arange(300, 400))
        expected = SVC(C=10.0, gamma=8.0, tol=1e-10).fit(X[300:], y[300:])
        np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), atol=1e-6)
        assert model.kkt_violation_ < 1e-8

    def test_fit_holds_the_last_rows(self, board):
        X, y = board
        model = IncrementalSVC(C=10.0, gamma=8.0, window=120).fit(X, y)
        np.testing.assert_array_equal(model.example_ids_, np.arange(280, 400))
        assert model.kkt_violation_ < 1e-8

    def test_three_classes_of_which_one_vanishes(self, board):
        X, y = board
        y = np.where(X[:, 0] > 0.5, 2, y)
        y[200:] = np.where(y[200:] == 2, 1, y[200:])
        model = IncrementalSVC(C=10.0, gamma=8.0, window=80)
        for start in range(0, 400, 40):
            model.partial_fit(X[start : start + 40], y[start : start + 40], classes=[-1, 1, 2] if start == 0 else None)
        kept = IncrementalSVC(C=10.0, gamma=8.0)
        kept.partial_fit(X[320:], y[320:], classes=[-1, 1, 2])
        assert model.n_support_[2] == 0
        np.testing.assert_allclose(model.decision_function(X), kept.decision_function(X), atol=1e-6)

    def test_a_batch_that_fails_changes_nothing(self, board):
        X, y = board
        model = IncrementalSVC(C=10.0, gamma=8.0, window=50).fit(X[:50], y[:50])
        with pytest.raises(ValueError, match="NaN"):
            model.partial_fit(np.full((5, 2), np.nan), y[:5])
        np.testing.assert_array_equal(model.example_ids_, np.arange(50))

    def test_resumed_bit_for_bit(self, board, tmp_path):
        X, y = board
        model = IncrementalSVC(C=10.0, gamma=8.0, window=50).fit(X[:90], y[:90])
        save(model, tmp_path / "model.frugal")
        twin = load(tmp_path / "model.frugal").partial_fit(X[90:130], y[90:130])
        model.partial_fit(X[90:130], y[90:130])
        np.testing.assert_array_equal(twin.dual_coef_, model.dual_coef_)

    def test_refusals(self, board):
        with pytest.raises(ParameterError, match="window"):
            IncrementalSVC(window=1).fit(*board)


def test_the_clock_halves():
    assert (1 - 1 / clock_of(50.0)) ** 50 == pytest.approx(0.5)
