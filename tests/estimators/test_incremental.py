"""IncrementalSVC: the SVM of SVC, the numbers that it publishes, and its memory."""

import pickle

import numpy as np
import pytest
from incremental_support import EQUAL, GAMMA, all_about, assert_all_equal, assert_same_values, new_model, noisy_xor
from scipy.sparse import csr_array
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import scale
from sklearn.svm import SVC
from support import blobs

from frugalsvm import IncrementalSVC
from frugalsvm.exact import one_vs_one


@pytest.fixture(scope="module")
def binary():
    return blobs(80, 3, 2, seed=0)


@pytest.fixture(scope="module")
def four():
    return blobs(100, 3, 4, seed=0)


@pytest.fixture(params=["binary", "four"])
def data(request):
    return request.getfixturevalue(request.param)


def real_data(name):
    X, y = {"iris": load_iris, "wine": load_wine, "digits": load_digits}[name](return_X_y=True)
    return (X[:400], y[:400]) if name == "digits" else (scale(X), y)


class TestAgainstSVC:
    @pytest.mark.parametrize("name", ["iris", "wine", "digits"])
    @pytest.mark.parametrize("C", [0.5, 20.0])
    def test_several_classes(self, name, C):
        X, y = real_data(name)
        model = IncrementalSVC(C).fit(X, y)
        svc = SVC(C=C, gamma=model.gamma_, tol=1e-10, break_ties=True).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X), svc.decision_function(X), atol=1e-5)
        np.testing.assert_array_equal(model.predict(X), svc.predict(X))
        np.testing.assert_array_equal(model.n_support_, svc.n_support_)
        np.testing.assert_array_equal(model.support_, np.sort(svc.support_))
        assert model.kkt_violation_ < 1e-8

    @pytest.mark.parametrize(
        "kernel",
        [
            {},
            # Compiled for this test alone: the solver knows kernels by their values only.
            pytest.param({"kernel": "linear"}, marks=pytest.mark.slow),
            {"kernel": "poly", "degree": 2, "coef0": 1.0},
        ],
        ids=["rbf", "linear", "poly"],
    )
    @pytest.mark.parametrize("C", [0.1, 10.0])
    def test_two_classes(self, binary, kernel, C):
        X, y = binary
        weights = np.random.default_rng(0).uniform(0.2, 2.0, len(y))
        model = new_model(C, **kernel).fit(X, y, weights)
        svc = SVC(C=C, gamma=GAMMA, tol=1e-10, **kernel).fit(X, y, weights)
        # LIBSVM has kernel values in single precision.
        np.testing.assert_allclose(model.decision_function(X), svc.decision_function(X), atol=1e-4)
        np.testing.assert_allclose(model.dual_coef_.sum(), 0.0, atol=1e-9)
        assert model.kkt_violation_ < 1e-8

    def test_class_weight(self, four):
        X, y = four
        for class_weight in ("balanced", {0: 0.1, 2: 5.0}):
            model = new_model(class_weight=class_weight).fit(X, y)
            svc = SVC(gamma=GAMMA, tol=1e-10, class_weight=class_weight).fit(X, y)
            np.testing.assert_allclose(model.decision_function(X), svc.decision_function(X), atol=1e-5)

    def test_grid_search(self, binary):
        search = GridSearchCV(new_model(), {"C": [0.1, 1.0, 10.0]}, cv=3).fit(*binary)
        expected = GridSearchCV(SVC(gamma=GAMMA, tol=1e-8), {"C": [0.1, 1.0, 10.0]}, cv=3).fit(*binary)
        np.testing.assert_array_equal(search.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"])


class TestLearning:
    def test_batches(self, data):
        X, y = data
        whole = new_model(5.0).fit(X, y)
        single, batches = new_model(5.0), new_model(5.0)
        for i in range(len(y)):
            single.partial_fit(X[[i]], y[[i]], classes=np.unique(y))
        for part in np.array_split(np.arange(len(y)), 4):
            batches.partial_fit(X[part], y[part])
        for model in (single, batches):
            assert_same_values(model, whole, X)
            assert model.example_ids_.tolist() == list(range(len(y)))

    def test_order(self, data):
        X, y = data
        rows = np.argsort(y, kind="stable")
        assert_same_values(new_model(5.0).fit(X[rows], y[rows]), new_model(5.0).fit(X, y), X)

    def test_sparse_and_single_precision(self, data):
        X, y = data
        X = np.where(np.abs(X) < 1, 0, X).astype(np.float32)
        dense, sparse, single = (new_model().fit(rows, y) for rows in (X.astype(float), csr_array(X), X))
        assert_same_values(dense, sparse, X)
        assert_same_values(dense, sparse, csr_array(X))
        assert_same_values(dense, single, X)
        assert single.support_vectors_.dtype == np.float64

    def test_weights(self, data):
        X, y = data
        weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
        model = new_model().fit(X, y, weights)
        again = np.repeat(np.arange(len(y)), weights.astype(int))
        assert_same_values(model, new_model().fit(X[again], y[again]), X)
        assert model.n_examples_ == len(y)
        gone = np.flatnonzero(weights == 0)
        assert not np.isin(gone, model.support_).any()
        assert_same_values(model.unlearn(gone), new_model().fit(X[again], y[again]), X)

    def test_a_class_that_has_not_come(self, four):
        X, y = four
        there = np.isin(y, [1, 3])
        model = new_model().partial_fit(X[there], y[there], classes=[0, 1, 2, 3])
        pair = new_model().fit(X[there], y[there])
        np.testing.assert_array_equal(model.predict(X), pair.predict(X))
        model.partial_fit(X[~there], y[~there])
        assert_same_values(model, new_model().fit(X, y), X)

    def test_one_class(self, binary):
        X, y = binary
        for label in (0, 1):
            model = new_model().partial_fit(X[y == label], y[y == label], classes=[0, 1])
            assert model.predict(X).tolist() == [label] * len(X)
            assert (model.dual_coef_.shape, model.support_vectors_.shape) == ((1, 0), (0, 3))
            assert model.loo_error_ == 0.0

    def test_tiny_cache(self, four):
        X, y = four
        assert_same_values(new_model(10.0, cache_size=1e-6).fit(X, y), new_model(10.0).fit(X, y), X)

    def test_fit_forgets(self, data):
        X, y = data
        model = new_model(2.0).fit(X[:50], y[:50]).fit(X[50:], y[50:])
        assert_all_equal(all_about(model, X), all_about(new_model(2.0).fit(X[50:], y[50:]), X))

    def test_query_and_teach(self, four):
        X, y = four
        model = new_model().teach(X[:20], y[:20], classes=[0, 1, 2, 3])
        rows = 20 + model.query(X[20:], n=5)
        assert_same_values(
            model.teach(X[rows], y[rows]), new_model().fit(X[[*range(20), *rows]], y[[*range(20), *rows]]), X
        )


class TestAttributes:
    def test_decision_function_is_the_published_expansion(self, binary):
        X, y = binary
        model = new_model(4.0).fit(X, np.where(y == 1, "yes", "no"))
        values = rbf_kernel(X, model.support_vectors_, gamma=GAMMA) @ model.dual_coef_[0] + model.intercept_[0]
        np.testing.assert_allclose(model.decision_function(X), values, atol=1e-9)
        np.testing.assert_array_equal(model.predict(X), np.where(values >= 0, "yes", "no"))
        np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
        assert model.n_support_.tolist() == [np.sum(y[model.support_] == c) for c in (0, 1)]
        beta = model.dual_coef_[0]
        gram = rbf_kernel(model.support_vectors_, gamma=GAMMA)
        assert model.dual_objective_ == pytest.approx(np.abs(beta).sum() - 0.5 * beta @ gram @ beta)
        assert np.abs(beta).max() <= 4.0

    def test_pairs_of_classes(self, four):
        X, y = four
        model = new_model(4.0).fit(X, y)
        pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
        assert model.dual_coef_.shape == (6, len(model.support_))
        for coefficients, bias, pair in zip(model.dual_coef_, model.intercept_, pairs, strict=True):
            there = np.isin(y, pair)
            alone = new_model(4.0).fit(X[there], y[there])
            values = rbf_kernel(X, model.support_vectors_, gamma=GAMMA) @ coefficients + bias
            np.testing.assert_allclose(values, alone.decision_function(X), atol=EQUAL)
        assert model.decision_function(X).shape == (100, 4)

    def test_pickles_leave_out_the_cache_and_continue(self, data):
        X, y = data
        model = new_model(4.0).fit(X[:60], y[:60]).unlearn([3, 50])
        text = pickle.dumps(model)
        copy = pickle.loads(text)
        assert len(text) < 10**6
        assert_all_equal(all_about(copy, X), all_about(model, X))
        for each in (model, copy):
            each.partial_fit(X[60:], y[60:]).unlearn([7, 62]).set_C(2.0)
        assert_same_values(model, copy, X)


class TestMemory:
    def test_estimate(self, data):
        model = new_model(cache_size=0.1).fit(*data)
        arrays = [
            array for m in model._solvers for part in (m.state[1:], m.state.points, m.cache[1:]) for array in part
        ]
        assert sum(array.nbytes for array in arrays) <= model.training_bytes_ <= 2 * sum(a.nbytes for a in arrays)

    def test_too_many_examples(self, data):
        X, y = data
        model = new_model(max_memory=0.5, cache_size=0.01).fit(X, y)
        before = all_about(model, X)
        many = np.random.default_rng(0).normal(size=(5000, 3))
        for call in (model.partial_fit, model.fit):
            with pytest.raises(MemoryError, match=r"5000 examples.*max_memory is 0.5 MB.*cache_size"):
                call(many, np.resize(y, 5000))
            assert_all_equal(all_about(model, X), before)
        model.set_params(max_memory=None).partial_fit(many[:50], y[:50])
        assert model.n_examples_ == len(y) + 50

    def test_grows_by_less_where_twice_is_too_much(self):
        X, y = blobs(3000, 3, 2, seed=0)
        limit = 1.5 * new_model(0.001, cache_size=0.01).fit(X[:1500], y[:1500]).training_bytes_ / 2**20
        model = new_model(0.001, cache_size=0.01, max_memory=limit).fit(X[:1500], y[:1500])
        for start in (1500, 1550):
            model.partial_fit(X[start : start + 50], y[start : start + 50])
        assert model.training_bytes_ < limit * 2**20
        with pytest.raises(MemoryError, match="Learning 1400 examples on top of 1600"):
            model.partial_fit(X[1600:], y[1600:])
        assert model.n_examples_ == 1600

    @pytest.mark.parametrize("verb", ["learn", "set_C"])
    def test_too_many_margin_vectors(self, verb):
        """That comes out in the middle of the work."""
        X, y = noisy_xor(400, seed=0)
        model = new_model(1000.0, gamma=50.0, cache_size=0.001, max_memory=1.0)
        if verb == "learn":
            model.fit(X[:100], y[:100])
        else:
            model.set_params(C=0.001).fit(X, y)
        before, objective = all_about(model, X), model.dual_objective_

        def change():
            return model.partial_fit(X[100:], y[100:]) if verb == "learn" else model.set_C(1000.0)

        with pytest.raises(MemoryError, match=r"more than \d+ margin vectors needs about .* max_memory is 1.0 MB"):
            change()
        for old, new in zip(before, all_about(model, X), strict=True):
            np.testing.assert_allclose(old, new, atol=1e-9)
        assert model.dual_objective_ == pytest.approx(objective)
        assert model.kkt_violation_ < 1e-8
        assert model.training_bytes_ < 2**20
        model.set_params(max_memory=10.0)
        assert_same_values(change(), new_model(1000.0, gamma=50.0).fit(X, y), X)


class TestInterrupted:
    def test_learning(self, four, monkeypatch):
        """In the middle of the pairs, some of which have learned already."""
        X, y = four
        model = new_model(3.0).fit(X[:60], y[:60]).unlearn([5, 8])
        before = all_about(model, X)
        learn, calls = one_vs_one.learn, []

        def interrupted(*args):
            calls.append(args)
            if len(calls) == 4:
                raise KeyboardInterrupt
            return learn(*args)

        monkeypatch.setattr(one_vs_one, "learn", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X[60:], y[60:])
        monkeypatch.setattr(one_vs_one, "learn", learn)
        for old, new in zip(before, all_about(model, X), strict=True):
            np.testing.assert_allclose(old, new, atol=1e-8)
        assert_same_values(
            model.partial_fit(X[[5, 8, *range(60, 100)]], y[[5, 8, *range(60, 100)]]), new_model(3.0).fit(X, y), X
        )
