"""TVMClassifier: what it promises, the forms in which examples come, and refusals."""

import pickle

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from support import assert_same_estimator, blobs

from frugalsvm import TVMClassifier
from frugalsvm.datasets import make_checkerboard, make_waveform

SETTINGS = {"gamma": 0.5, "random_state": 0}


@pytest.fixture(scope="module")
def binary():
    return blobs(400, 3, 2, seed=0)


@pytest.fixture(scope="module")
def board():
    return make_checkerboard(6_000, noise=0.15, random_state=0)


@pytest.fixture(scope="module")
def waves():
    return make_waveform(3_000, random_state=0)


@pytest.fixture(scope="module")
def of_the_board(board):
    return TVMClassifier(60, gamma=1.35, random_state=0).fit(*board)


class TestPromises:
    def test_learns_a_noisy_board(self, of_the_board):
        X, y = make_checkerboard(2_000, random_state=1)
        assert of_the_board.score(X, y) > 0.85

    def test_optimal_on_its_twins(self, of_the_board):
        assert of_the_board.kkt_violation_ < 1e-8
        assert of_the_board.drift_ < 1e-8

    def test_budget_and_weights(self, of_the_board):
        assert of_the_board.twin_vectors_.shape == (60, 2)
        weights = of_the_board.twin_weights_
        assert weights.shape == (60, 2)
        assert (weights >= 0).all()
        assert of_the_board.C_[0] * weights.sum() == pytest.approx(100.0 * 60)

    def test_every_example_is_accounted_for(self, of_the_board):
        model = of_the_board
        n_met = model.n_passed_ + model.n_removed_ + model.n_merged_ + model.n_ignored_
        assert n_met + 60 == model.t_ == 6_000
        assert model.n_updates_ == 60 + model.n_removed_ + model.n_merged_

    def test_attributes_give_the_decision_values(self, of_the_board, board):
        X = board[0][:50]
        distances = ((X[:, None] - of_the_board.support_vectors_[None]) ** 2).sum(axis=2)
        values = np.exp(-1.35 * distances) @ of_the_board.dual_coef_[0] + of_the_board.intercept_[0]
        np.testing.assert_allclose(of_the_board.decision_function(X), values, atol=1e-9 * 100)


class TestInput:
    def test_batches_are_a_stream(self, binary):
        X, y = binary
        whole = TVMClassifier(20, shuffle=False, **SETTINGS).fit(X, y)
        parts = TVMClassifier(20, shuffle=False, **SETTINGS)
        for start in range(0, 400, 64):
            parts.partial_fit(X[start : start + 64], y[start : start + 64], classes=[0, 1])
        np.testing.assert_allclose(parts.decision_function(X), whole.decision_function(X), atol=1e-8)

    def test_sparse_rows(self, binary):
        X, y = binary
        dense, sparse = (TVMClassifier(20, **SETTINGS).fit(rows, y) for rows in (X, scipy.sparse.csr_array(X)))
        np.testing.assert_allclose(sparse.decision_function(X), dense.decision_function(X), atol=1e-6)

    def test_float32_is_learned_in_float64(self, binary):
        X, y = binary
        model = TVMClassifier(20, **SETTINGS).fit(X.astype(np.float32), y)
        assert model.support_vectors_.dtype == np.float64
        assert model.kkt_violation_ < 1e-8

    def test_weights(self, binary):
        X, y = binary
        without = np.arange(400) % 3 != 0
        some = TVMClassifier(20, shuffle=False, **SETTINGS).fit(X, y, sample_weight=without.astype(float))
        few = TVMClassifier(20, shuffle=False, **SETTINGS).fit(X[without], y[without])
        np.testing.assert_allclose(some.twin_vectors_, few.twin_vectors_)
        heavy = TVMClassifier(20, class_weight={0: 1.0, 1: 5.0}, **SETTINGS).fit(X, y)
        assert (heavy.predict(X) == 1).mean() > (few.predict(X) == 1).mean()

    def test_a_pickle_goes_on(self, binary):
        X, y = binary
        model = TVMClassifier(20, **SETTINGS).fit(X[:200], y[:200])
        copy = pickle.loads(pickle.dumps(model))
        assert len(pickle.dumps(model)) < 200_000
        for each in (model, copy):
            each.partial_fit(X[200:], y[200:])
        np.testing.assert_allclose(copy.decision_function(X), model.decision_function(X), atol=1e-9)

    def test_seeds(self, binary):
        model = TVMClassifier(20, **SETTINGS)
        assert_same_estimator(model.fit(*binary), clone(model).fit(*binary))

    @pytest.mark.slow  # a kernel more is machine code for everything anew
    @pytest.mark.parametrize("kernel", ["linear", "poly"])
    def test_kernels(self, waves, kernel):
        X, y = waves
        model = TVMClassifier(40, kernel=kernel, degree=2, gamma=1 / 21, random_state=0).fit(X[:2000], y[:2000] > 0)
        assert model.score(X[2000:], y[2000:] > 0) > 0.8
        assert model.kkt_violation_ < 1e-6


def test_several_classes_have_twins_of_their_own(waves):
    X, y = waves
    model = TVMClassifier(40, gamma=1 / 21, random_state=0).fit(X[:2000], y[:2000])
    assert [each.shape for each in model.twin_vectors_] == [(40, 21)] * 3
    assert model.dual_coef_.shape == (3, 120)
    assert model.decision_function(X).shape == (3000, 3)
    assert model.score(X[2000:], y[2000:]) > 0.75
    assert model.kkt_violation_ < 1e-8
