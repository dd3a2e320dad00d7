"""BPAClassifier: what users pass in and what they get out."""

import pickle

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.utils import compute_sample_weight
from support import assert_same_estimator, blobs

from frugalsvm import BPAClassifier
from frugalsvm.budgeted.strategies import VARIANTS


def new_model(variant="nn", budget=10, **kwargs):
    """A small model that takes rows in order, so that results can be compared."""
    return BPAClassifier(variant, budget, **{"gamma": 0.3, "shuffle": False, **kwargs})


@pytest.fixture(scope="module")
def binary():
    return blobs(200, 3, 2, seed=0)


@pytest.fixture(scope="module")
def four():
    return blobs(200, 3, 4, seed=0)


@pytest.mark.parametrize("variant", VARIANTS)
class TestEveryVariant:
    def test_two_classes(self, binary, variant):
        X, y = binary
        model = new_model(variant).fit(X, np.where(y == 1, "yes", "no"))
        values = model.decision_function(X)
        assert values.shape == (200,)
        assert model.classes_.tolist() == ["no", "yes"]
        np.testing.assert_array_equal(model.predict(X), np.where(values >= 0, "yes", "no"))
        assert (model.support_vectors_.shape, model.dual_coef_.shape) == ((10, 3), (1, 10))
        assert (model.t_, model.n_iter_, model.n_features_in_) == (200, 1, 3)
        assert (model.budget_, model.gamma_) == (10, 0.3)
        assert model.intercept_.tolist() == [0.0]
        assert 50 < model.n_updates_ <= 200
        assert model.n_maintenance_ == model.n_updates_ - 10
        assert model.n_kernel_evals_ > 10 * 100

    def test_one_against_the_rest(self, four, variant):
        """Every machine is the binary model of its class."""
        X, y = four
        names = np.array(list("dbca"))
        model = new_model(variant).fit(X, names[y])
        parts = [new_model(variant).fit(X, names[y] == name) for name in "abcd"]
        values = model.decision_function(X)
        expected = np.stack([part.decision_function(X) for part in parts], axis=1)
        np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(model.predict(X), np.array(list("abcd"))[values.argmax(axis=1)])
        np.testing.assert_array_equal(model.support_vectors_, np.concatenate([part.support_vectors_ for part in parts]))
        assert (model.support_vectors_.shape, model.dual_coef_.shape) == ((40, 3), (4, 40))
        assert model.intercept_.tolist() == [0.0] * 4
        assert model.t_ == 200
        for name in ("n_updates_", "n_maintenance_", "n_kernel_evals_", "model_bytes_"):
            assert getattr(model, name) == sum(getattr(part, name) for part in parts)

    def test_decision_function_is_the_published_expansion(self, binary, four, variant):
        for X, y in (binary, four):
            model = new_model(variant).fit(X, y)
            expected = rbf_kernel(X, model.support_vectors_, gamma=model.gamma_) @ model.dual_coef_.T
            actual = model.decision_function(X).reshape(expected.shape)
            np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-9)

    def test_last_example_has_its_margin(self, binary, variant):
        """With a large C, what was learned last has a margin of 1, whatever was removed for it."""
        X, y = binary
        for n in range(100, 120):
            model = new_model(variant, C=1e6).fit(X[:n], y[:n])
            assert (2 * y[n - 1] - 1) * model.decision_function(X[n - 1 : n])[0] >= 1.0 - 1e-6

    def test_it_learns(self, variant):
        centres = np.array([[0.0, 0.0, 3.0], [3.0, 0.0, 0.0], [0.0, 3.0, 0.0]])
        y = np.arange(300) % 3
        X = centres[y] + 0.5 * np.random.default_rng(0).normal(size=(300, 3))
        assert new_model(variant, 20).fit(X, y).score(X, y) > 0.95

    def test_pickled_models_continue_the_same_way(self, binary, variant):
        X, y = binary
        model = new_model(variant).partial_fit(X[:123], y[:123])
        copy = pickle.loads(pickle.dumps(model))
        for each in (model, copy):
            each.partial_fit(X[123:], y[123:])
        assert_same_estimator(model, copy)
        np.testing.assert_array_equal(model.decision_function(X), copy.decision_function(X))

    def test_warm_start_goes_on(self, binary, variant):
        X, y = binary
        model = new_model(variant, warm_start=True).fit(X[:120], y[:120]).fit(X[120:], y[120:])
        assert_same_estimator(model, new_model(variant).partial_fit(X[:120], y[:120]).partial_fit(X[120:], y[120:]))
        assert model.t_ == 200

    def test_weight_0_is_as_if_it_were_not_there(self, four, variant):
        X, y = four
        keep = np.random.default_rng(0).random(200) < 0.6
        expected = new_model(variant).fit(X[keep], y[keep])
        assert_same_estimator(new_model(variant).fit(X, y, sample_weight=keep.astype(float)), expected)
        assert expected.t_ == keep.sum()


def test_no_budget():
    """The parent algorithm, passive-aggressive learning, by definition."""
    X, y = blobs(500, 3, 2, seed=0)
    gram, coef = rbf_kernel(X, gamma=0.3), np.zeros(500)
    for i, sign in enumerate(2 * y - 1):
        coef[i] = sign * np.clip(1.0 - sign * (gram[i] @ coef), 0.0, 0.5)  # K(x, x) = 1
    model = new_model(budget=None, C=0.5).fit(X, y)
    assert np.count_nonzero(coef) > 256  # more than there was room for in the beginning
    np.testing.assert_array_equal(model.support_vectors_, X[coef != 0])
    np.testing.assert_allclose(model.dual_coef_[0], coef[coef != 0], rtol=1e-9, atol=1e-12)
    assert (model.budget_, model.n_maintenance_) == (None, 0)


def test_polynomial_kernel(binary):
    X, y = binary
    model = new_model(kernel="poly", gamma=0.1, degree=2, coef0=0.5).fit(X, y)
    expected = polynomial_kernel(X, model.support_vectors_, degree=2, gamma=0.1, coef0=0.5) @ model.dual_coef_[0]
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-8, atol=1e-8)


def test_batches_and_passes(binary):
    X, y = binary
    once = new_model().fit(X, y)
    assert_same_estimator(new_model().partial_fit(X, y), once)
    assert_same_estimator(new_model().fit(X[:50], y[:50]).fit(X, y), once)
    twice = new_model(max_iter=2).fit(X, y)
    assert_same_estimator(new_model().partial_fit(X, y).partial_fit(X, y), twice)
    assert (twice.n_iter_, twice.t_) == (2, 400)


def test_only_the_order_is_random(binary):
    X, y = binary
    assert_same_estimator(*(new_model(random_state=seed).fit(X, y) for seed in (1, 2)))
    first, again, other = (new_model(shuffle=True, random_state=seed).fit(X, y) for seed in (1, 1, 2))
    assert_same_estimator(first, again)
    assert not np.array_equal(first.support_vectors_, other.support_vectors_)


def test_weights_are_factors_of_the_largest_step(binary):
    X, y = binary
    smaller = new_model("simple", C=0.1).fit(X, y)
    assert np.abs(smaller.dual_coef_).max() < np.abs(new_model("simple", C=1.0).fit(X, y).dual_coef_).max()
    weighted = new_model("simple", C=1.0).fit(X, y, sample_weight=np.full(200, 0.1))
    np.testing.assert_allclose(weighted.dual_coef_, smaller.dual_coef_, rtol=1e-9)
    expected = new_model().fit(X, y, sample_weight=np.where(y == 1, 3.0, 0.5))
    for model in (
        new_model(class_weight={0: 0.5, 1: 3.0}).fit(X, y),
        new_model(C=0.5, class_weight={1: 6.0}).fit(X, y),
    ):
        np.testing.assert_allclose(model.dual_coef_, expected.dual_coef_, rtol=1e-9)
    balanced = new_model(class_weight="balanced").fit(X, y)
    assert_same_estimator(balanced, new_model().fit(X, y, compute_sample_weight("balanced", y)))


@pytest.mark.parametrize(("n_classes", "dtype"), [(2, np.float64), (4, np.float64), (4, np.float32)])
def test_budget_in_bytes(n_classes, dtype):
    """With several classes, each has a part of the bytes."""
    X, y = blobs(900, 3, n_classes, seed=0, dtype=dtype)
    model = new_model(budget="4KB").fit(X, y)
    n_machines = 1 if n_classes == 2 else n_classes
    per_vector = np.dtype(dtype).itemsize * 5  # 3 features, a norm, a coefficient
    assert model.budget_ == 4096 // (n_machines * per_vector)
    assert len(model.support_vectors_) == n_machines * model.budget_
    assert model.model_bytes_ == len(model.support_vectors_) * per_vector
    assert 4096 - n_machines * per_vector < model.model_bytes_ <= 4096


def test_float32_stays(four):
    X, y = four
    model = new_model().fit(X.astype(np.float32), y)
    assert model.support_vectors_.dtype == np.float32
    assert (model.dual_coef_.dtype, model.decision_function(X).dtype) == (np.float64, np.float64)
    assert model.partial_fit(X, y).support_vectors_.dtype == np.float32


def test_sparse_rows(four):
    X, y = four
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    dense, sparse = new_model().fit(X, y), new_model().fit(scipy.sparse.csr_matrix(X), y)
    np.testing.assert_array_equal(sparse.support_vectors_, dense.support_vectors_)
    values = sparse.decision_function(scipy.sparse.coo_array(X))
    np.testing.assert_allclose(values, dense.decision_function(X), rtol=1e-9, atol=1e-11)


def test_classes_that_come_later(four):
    X, y = four
    model = new_model().partial_fit(X[y < 2], y[y < 2], classes=[3, 1, 0, 2])
    assert model.classes_.tolist() == [0, 1, 2, 3]
    assert model.partial_fit(X, y).decision_function(X).shape == (200, 4)


def test_clones_have_the_parameters_and_nothing_else(binary):
    model = new_model("projecting", C=0.3, class_weight={0: 2.0}).fit(*binary)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert (copy.variant, copy.budget, copy.C) == ("projecting", 10, 0.3)
    assert not hasattr(copy, "classes_")
    assert_same_estimator(copy.fit(*binary), model)


def test_not_fitted():
    for name in ("support_vectors_", "dual_coef_", "t_", "n_updates_", "gamma_", "model_bytes_"):
        with pytest.raises(NotFittedError):
            getattr(new_model(), name)
    with pytest.raises(NotFittedError):
        new_model().predict(np.zeros((1, 3)))
