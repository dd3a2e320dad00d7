"""BudgetedPerceptron: what its strategies and parameters do."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from support import assert_same_estimator, blobs

from frugalsvm import BudgetedPerceptron
from frugalsvm.budgeted.strategies import STRATEGIES

PROJECTRONS = ("projectron", "projectron++")


def new_model(strategy="random", budget=10, **kwargs):
    """A small model that takes rows in order, so that results can be compared."""
    return BudgetedPerceptron(strategy, budget, **{"gamma": 0.3, "shuffle": False, "random_state": 0, **kwargs})


@pytest.fixture(scope="module")
def binary():
    return blobs(200, 3, 2, seed=0)


def kernel_perceptron(X, signs, gamma, margin):
    """The parent algorithm, by definition: rows and coefficients of its support vectors."""
    gram = rbf_kernel(X, gamma=gamma)
    coef = np.zeros(len(X))
    for i, sign in enumerate(signs):
        value = sign * (gram[i] @ coef)
        if value <= 0 or value < margin:
            coef[i] = sign
    return X[coef != 0], coef[coef != 0]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_counts(binary, strategy):
    model = new_model(strategy).fit(*binary)
    full = 10 if strategy == "stop" else 40
    assert full <= model.n_updates_ <= 200
    assert model.n_maintenance_ == (0 if strategy == "stop" else model.n_updates_ - 10)


@pytest.mark.parametrize("strategy", ["stop", "random", "forgetron", "budget", "tighter", "tightest"])
def test_no_budget(strategy):
    """All of them are the same kernel perceptron then."""
    X, y = blobs(700, 3, 2, seed=0)
    model = new_model(strategy, None, margin=1).fit(X, y)
    rows, coef = kernel_perceptron(X, 2 * y - 1, 0.3, 1.0)
    assert len(rows) > 256  # more than there was room for in the beginning
    np.testing.assert_array_equal(model.support_vectors_, rows)
    np.testing.assert_array_equal(model.dual_coef_[0], coef)
    assert (model.budget_, model.n_maintenance_) == (None, 0)


class TestLearning:
    def test_margin(self, binary):
        X, y = binary
        assert new_model(margin=1).fit(X, y).n_updates_ > 1.2 * new_model().fit(X, y).n_updates_

    @pytest.mark.parametrize("strategy", ["stop", "random", "budget", "tighter", "tightest", "projectron"])
    def test_eta0_is_a_scale_when_mistakes_are_learned(self, binary, strategy):
        X, y = binary
        one, quarter = (new_model(strategy, eta0=eta0).fit(X, y) for eta0 in (1.0, 0.25))
        np.testing.assert_array_equal(quarter.support_vectors_, one.support_vectors_)
        np.testing.assert_allclose(quarter.dual_coef_, 0.25 * one.dual_coef_, rtol=1e-12)

    @pytest.mark.parametrize("strategy", ["forgetron", "projectron++"])
    def test_whole_steps(self, binary, strategy):
        assert_same_estimator(new_model(strategy, eta0=0.25).fit(*binary), new_model(strategy).fit(*binary))

    def test_parameters_of_silk(self, binary):
        X, y = binary
        model = new_model("silk", eta0=0.1, alpha=0.0).fit(X, y)
        assert np.abs(model.dual_coef_).max() == pytest.approx(0.1)  # the largest step
        assert np.abs(new_model("silk", eta0=0.1, alpha=1.0).fit(X, y).dual_coef_).sum() < 1.0


class TestThreshold:
    @pytest.mark.parametrize("strategy", PROJECTRONS)
    def test_limits_the_size(self, strategy):
        """A bounded region has room for finitely many vectors that are farther apart than the threshold."""
        X = np.random.default_rng(0).uniform(-1, 1, (3000, 3))
        y = (X[:, 0] * X[:, 1] > 0).astype(int)
        model = new_model(strategy, None, threshold=0.3, gamma=1.0).partial_fit(X[:2000], y[:2000])
        vectors = model.support_vectors_
        assert 10 < len(vectors) < 100
        model.partial_fit(X[2000:], y[2000:])
        np.testing.assert_array_equal(model.support_vectors_, vectors)
        assert model.n_updates_ > 2 * len(vectors)
        assert model.score(X, y) > 0.85

    def test_smaller_models_for_larger_thresholds(self, binary):
        sizes = [len(new_model("projectron", None, threshold=t).fit(*binary).support_vectors_) for t in (0.2, 0.5, 0.8)]
        assert sizes[0] > sizes[1] > sizes[2] > 1

    def test_growing_is_as_if_there_had_been_room(self):
        X, y = blobs(900, 3, 2, seed=0)
        grown, roomy = (new_model("projectron", n, threshold=0.5, margin=1, gamma=2.0).fit(X, y) for n in (None, 900))
        assert len(grown.support_vectors_) > 256  # more than there was room for in the beginning
        assert grown.n_maintenance_ > 100
        np.testing.assert_array_equal(grown.support_vectors_, roomy.support_vectors_)
        np.testing.assert_allclose(grown.dual_coef_, roomy.dual_coef_, rtol=1e-9, atol=1e-9)
