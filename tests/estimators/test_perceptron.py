"""BudgetedPerceptron: what users pass in, what they get out, and what happens when they pass nonsense."""

import pickle

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import compute_sample_weight
from support import assert_same_estimator, blobs

from frugalsvm import BudgetedPerceptron
from frugalsvm.budgeted.strategies import MULTI_CLASS, STRATEGIES

ONE_VS_REST = tuple(name for name in STRATEGIES if name not in MULTI_CLASS)
PROJECTRONS = ("projectron", "projectron++")


def new_model(strategy="random", budget=10, **kwargs):
    """A small model that takes rows in order, so that results can be compared."""
    return BudgetedPerceptron(strategy, budget, **{"gamma": 0.3, "shuffle": False, "random_state": 0, **kwargs})


@pytest.fixture(scope="module")
def binary():
    return blobs(200, 3, 2, seed=0)


@pytest.fixture(scope="module")
def four():
    return blobs(200, 3, 4, seed=0)


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
class TestEveryStrategy:
    def test_two_classes(self, binary, strategy):
        X, y = binary
        model = new_model(strategy).fit(X, np.where(y == 1, "yes", "no"))
        values = model.decision_function(X)
        assert values.shape == (200,)
        assert model.classes_.tolist() == ["no", "yes"]
        np.testing.assert_array_equal(model.predict(X), np.where(values >= 0, "yes", "no"))
        assert (model.support_vectors_.shape, model.dual_coef_.shape) == ((10, 3), (1, 10))
        assert (model.t_, model.n_iter_, model.n_features_in_) == (200, 1, 3)
        assert (model.budget_, model.gamma_) == (10, 0.3)
        assert model.intercept_.tolist() == [0.0]
        full = 10 if strategy == "stop" else 40
        assert full <= model.n_updates_ <= 200
        assert model.n_maintenance_ == (0 if strategy == "stop" else model.n_updates_ - 10)
        assert model.n_kernel_evals_ > 10 * 100

    def test_several_classes(self, four, strategy):
        X, y = four
        names = np.array(list("dbca"))
        model = new_model(strategy, margin=1).fit(X, names[y])
        values = model.decision_function(X)
        assert values.shape == (200, 4)
        np.testing.assert_array_equal(model.predict(X), np.array(list("abcd"))[values.argmax(axis=1)])
        n_vectors = 10 if strategy in MULTI_CLASS else 40
        assert (model.support_vectors_.shape, model.dual_coef_.shape) == ((n_vectors, 3), (4, n_vectors))
        assert model.intercept_.tolist() == [0.0] * 4
        assert model.t_ == 200

    def test_decision_function_is_the_published_expansion(self, binary, four, strategy):
        for X, y in (binary, four):
            model = new_model(strategy).fit(X, y)
            expected = rbf_kernel(X, model.support_vectors_, gamma=model.gamma_) @ model.dual_coef_.T
            actual = model.decision_function(X).reshape(expected.shape)
            np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-9)

    def test_it_learns(self, strategy):
        """Far blobs, no noise: every strategy keeps what tells them apart."""
        centres = np.array([[0.0, 0.0, 3.0], [3.0, 0.0, 0.0], [0.0, 3.0, 0.0]])
        y = np.arange(300) % 3
        X = centres[y] + 0.5 * np.random.default_rng(0).normal(size=(300, 3))
        assert new_model(strategy, 20, margin=1).fit(X, y).score(X, y) > 0.95

    def test_pickled_models_continue_the_same_way(self, binary, four, strategy):
        for X, y in (binary, four):
            model = new_model(strategy).partial_fit(X[:123], y[:123])
            copy = pickle.loads(pickle.dumps(model))
            for each in (model, copy):
                each.partial_fit(X[123:], y[123:])
            assert_same_estimator(model, copy)
            np.testing.assert_array_equal(model.decision_function(X), copy.decision_function(X))


@pytest.mark.parametrize("strategy", ONE_VS_REST)
def test_one_against_the_rest(four, strategy):
    """Every machine is the binary model of its class."""
    X, y = four
    model = new_model(strategy, margin=1).fit(X, y)
    parts = [new_model(strategy, margin=1).fit(X, y == c) for c in range(4)]
    expected = np.stack([part.decision_function(X) for part in parts], axis=1)
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(model.support_vectors_, np.concatenate([part.support_vectors_ for part in parts]))
    for name in ("n_updates_", "n_maintenance_", "n_kernel_evals_", "model_bytes_"):
        assert getattr(model, name) == sum(getattr(part, name) for part in parts)


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
    def test_batches_and_passes(self, binary):
        X, y = binary
        once = new_model().fit(X, y)
        assert_same_estimator(new_model().partial_fit(X, y), once)
        assert_same_estimator(new_model().fit(X[:50], y[:50]).fit(X, y), once)
        twice = new_model(max_iter=2).fit(X, y)
        assert_same_estimator(new_model().partial_fit(X, y).partial_fit(X, y), twice)
        assert (twice.n_iter_, twice.t_) == (2, 400)

    @pytest.mark.parametrize("strategy", ["random", "forgetron", "tightest", "projectron++"])
    def test_warm_start_goes_on(self, binary, strategy):
        X, y = binary
        model = new_model(strategy, warm_start=True).fit(X[:120], y[:120]).fit(X[120:], y[120:])
        reference = new_model(strategy).partial_fit(X[:120], y[:120]).partial_fit(X[120:], y[120:])
        assert_same_estimator(model, reference)
        assert model.t_ == 200

    def test_classes_that_come_later(self, four):
        X, y = four
        for strategy in ("random", "forgetron"):
            model = new_model(strategy).partial_fit(X[y < 2], y[y < 2], classes=[3, 1, 0, 2])
            assert model.classes_.tolist() == [0, 1, 2, 3]
            assert model.partial_fit(X, y).decision_function(X).shape == (200, 4)

    def test_random_state(self, binary):
        X, y = binary
        first, again, other = (new_model(random_state=seed).fit(X, y) for seed in (1, 1, 2))
        assert_same_estimator(first, again)
        assert not np.array_equal(first.support_vectors_, other.support_vectors_)  # other vectors
        assert_same_estimator(*(new_model("budget", random_state=seed).fit(X, y) for seed in (1, 2)))
        first, again, other = (new_model("budget", shuffle=True, random_state=seed).fit(X, y) for seed in (1, 1, 2))
        assert_same_estimator(first, again)
        assert not np.array_equal(first.support_vectors_, other.support_vectors_)  # other orders

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


class TestBudgetInBytes:
    @pytest.mark.parametrize("strategy", ["random", "forgetron"])
    def test_model_fits(self, strategy):
        X, y = blobs(600, 3, 4, seed=0)
        model = new_model(strategy, "4KB", margin=1).fit(X, y)
        if strategy == "random":  # 3 features, a norm, 4 coefficients
            assert model.budget_ == len(model.support_vectors_) == 4096 // (8 * 8)
        else:  # a quarter for each machine, with 1 coefficient to a vector
            assert model.budget_ == 4096 // 4 // (8 * 5)
            assert len(model.support_vectors_) == 4 * model.budget_
        assert 0.9 * 4096 < model.model_bytes_ <= 4096


class TestInput:
    def test_float32_stays(self, four):
        X, y = four
        model = new_model().fit(X.astype(np.float32), y)
        assert model.support_vectors_.dtype == np.float32
        assert (model.dual_coef_.dtype, model.decision_function(X).dtype) == (np.float64, np.float64)
        assert model.partial_fit(X, y).support_vectors_.dtype == np.float32

    def test_sparse_rows(self, four):
        X, y = four
        X = np.where(np.abs(X) < 0.5, 0.0, X)
        dense, sparse = new_model().fit(X, y), new_model().fit(scipy.sparse.csr_matrix(X), y)
        np.testing.assert_array_equal(sparse.support_vectors_, dense.support_vectors_)
        values = sparse.decision_function(scipy.sparse.coo_array(X))
        np.testing.assert_allclose(values, dense.decision_function(X), rtol=1e-9, atol=1e-12)

    @pytest.mark.parametrize("strategy", ["random", "forgetron", "tightest"])
    def test_weight_0_is_as_if_it_were_not_there(self, four, strategy):
        X, y = four
        keep = np.random.default_rng(0).random(200) < 0.6
        expected = new_model(strategy).fit(X[keep], y[keep])
        assert_same_estimator(new_model(strategy).fit(X, y, sample_weight=keep.astype(float)), expected)
        assert expected.t_ == keep.sum()

    @pytest.mark.parametrize("strategy", ["random", "tightest", "silk"])
    def test_class_weights_are_example_weights(self, binary, strategy):
        X, y = binary
        expected = new_model(strategy).fit(X, y, sample_weight=np.where(y == 1, 3.0, 0.5))
        weighted = new_model(strategy, class_weight={0: 0.5, 1: 3.0})
        assert_same_estimator(clone(weighted).fit(X, y), expected)
        assert_same_estimator(clone(weighted).partial_fit(X, y), expected)
        balanced = new_model(strategy, class_weight="balanced").fit(X, y)
        assert_same_estimator(balanced, new_model(strategy).fit(X, y, compute_sample_weight("balanced", y)))
        assert not np.array_equal(expected.dual_coef_, new_model(strategy).fit(X, y).dual_coef_)

    def test_not_fitted(self):
        for name in ("support_vectors_", "dual_coef_", "t_", "n_updates_", "gamma_", "model_bytes_"):
            with pytest.raises(NotFittedError):
                getattr(new_model(), name)
        with pytest.raises(NotFittedError):
            new_model().predict(np.zeros((1, 3)))

    def test_clones_have_the_parameters_and_nothing_else(self, binary):
        model = new_model("projectron++", threshold=0.5, class_weight={0: 2.0}).fit(*binary)
        copy = clone(model)
        assert copy.get_params() == model.get_params()
        assert copy.get_params()["threshold"] == 0.5
        assert not hasattr(copy, "classes_")
        assert_same_estimator(copy.fit(*binary), model)
