"""BSGDClassifier: what users pass in, and what they get out."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC
from support import Setting, assert_same_estimator, blobs

from frugalsvm import BSGDClassifier
from frugalsvm.estimators.constraints import slots_for_budget


def new_model(*args, **kwargs):
    """A small model that takes rows in order, so that results can be compared."""
    return BSGDClassifier(*args, **{"budget": 10, "alpha": 0.01, "gamma": 0.3, "shuffle": False, **kwargs})


@pytest.fixture(scope="module")
def binary():
    return blobs(200, 3, 2, seed=0)


@pytest.fixture(scope="module")
def four():
    return blobs(200, 3, 4, seed=0)


def oracle_after(setting, X, labels, n_passes=1):
    oracle = setting.oracle()
    for _ in range(n_passes):
        for x, label in zip(X, labels, strict=True):
            oracle.learn_one(x, setting.oracle_label(label))
    return oracle


class TestLearning:
    def test_counters_and_attributes(self, four):
        X, y = four
        model = new_model().fit(X, y)
        oracle = Setting("pegasos", "merge", 4).oracle()
        steps = [oracle.learn_one(x, label) for x, label in zip(X, y, strict=True)]
        assert model.t_ == 200
        assert model.n_iter_ == 1
        assert model.n_updates_ == sum(step.violated for step in steps)
        assert model.n_maintenance_ == sum(step.dropped is not None for step in steps)
        assert model.gradient_error_ == pytest.approx(oracle.gradient_error)
        assert 10 * (200 - 10) < model.n_kernel_evals_ < 2 * 11 * 200
        assert (model.budget_, model.gamma_, model.n_features_in_) == (10, 0.3, 3)
        assert model.support_vectors_.shape == (10, 3)
        assert model.dual_coef_.shape == (4, 10)
        np.testing.assert_array_equal(model.intercept_, np.zeros(4))

    def test_prediction_leaves_the_counters_alone(self, binary):
        X, y = binary
        model = new_model().fit(X, y)
        before = model.n_kernel_evals_
        model.predict(X)
        assert model.n_kernel_evals_ == before

    def test_every_pass_has_its_own_order(self, binary):
        """Steps are so short that every row becomes a support vector in every pass, in the order of learning."""
        X, y = binary
        model = new_model(budget=None, alpha=100.0, shuffle=True, random_state=0, max_iter=3).fit(X, y)
        orders = np.split(model.support_vectors_, 3)
        rows = sorted(map(tuple, X))
        assert [sorted(map(tuple, order)) == rows for order in orders] == [True] * 3
        assert len({order.tobytes() for order in orders}) == 3

    def test_without_a_budget_it_is_the_parent_algorithm(self):
        X, y = blobs(450, 3, 2, seed=0)
        model = new_model(budget=None, alpha=0.3).fit(X, y)
        oracle = oracle_after(Setting("pegasos", "remove", 1, budget=None, alpha=0.3), X, y)
        assert model.budget_ is None
        assert len(oracle.rows) > 300  # more than there was room for in the beginning
        assert (model.n_maintenance_, model.gradient_error_) == (0, 0.0)
        np.testing.assert_array_equal(model.support_vectors_, oracle.rows)
        np.testing.assert_allclose(model.dual_coef_[0], oracle.coef[:, 0], rtol=1e-9)
        np.testing.assert_allclose(model.decision_function(X), oracle.decision(X), rtol=1e-8, atol=1e-10)


class TestAverage:
    SETTING = Setting("pegasos", "merge", 4, alpha=0.01)

    def model(self, **kwargs):
        return new_model(**kwargs)

    def check(self, model, oracle, X):
        np.testing.assert_allclose(model.decision_function(X), oracle.average_decision(X), rtol=1e-7, atol=1e-9)

    @pytest.mark.parametrize(("average", "average_from"), [(True, 0), (120, 120), (1, 1)])
    def test_since_some_example(self, four, average, average_from):
        oracle = oracle_after(replace(self.SETTING, average_from=average_from), *four)
        self.check(self.model(average=average).fit(*four), oracle, four[0])

    def test_last_model_before_averaging_begins(self, four):
        plain, averaged = self.model().fit(*four), self.model(average=1000).fit(*four)
        np.testing.assert_array_equal(averaged.decision_function(four[0]), plain.decision_function(four[0]))

    def test_post_learns_coefficients_in_one_more_pass(self, four):
        """Newcomers are projected on the support vectors, which stay as two passes have left them."""
        X, y = four
        model = self.model(average="post", max_iter=2).fit(X, y)
        oracle = oracle_after(self.SETTING, X, y, n_passes=2)
        np.testing.assert_allclose(model.support_vectors_, oracle.rows, rtol=1e-8)
        gram = rbf_kernel(oracle.rows, gamma=0.3)
        columns = rbf_kernel(oracle.rows, X, gamma=0.3)
        solutions = np.linalg.solve(gram + 1e-6 * np.eye(10), columns)
        total, n_projections = np.zeros_like(oracle.coef), 0
        for i in range(200):
            margin, rival = oracle._margin(X[i], y[i])
            eta = oracle.learning_rate(401 + i)
            oracle.coef *= 1.0 - eta * 0.01
            if margin < 1.0:
                oracle.coef += np.outer(solutions[:, i], oracle._beta(y[i], rival, eta))
                n_projections += 1
            total += oracle.coef
        np.testing.assert_allclose(model.dual_coef_.T, total / 200, rtol=1e-6, atol=1e-9)
        assert (model.n_iter_, model.t_) == (3, 600)
        plain = self.model(max_iter=2).fit(X, y)
        assert model.n_maintenance_ == plain.n_maintenance_ + n_projections
        assert model.n_updates_ == plain.n_updates_ + n_projections

    def test_does_not_change_what_is_learned(self, four):
        plain, averaged = self.model().fit(*four), self.model(average=True).fit(*four)
        assert plain.n_updates_ == averaged.n_updates_
        np.testing.assert_array_equal(plain.support_vectors_, averaged.support_vectors_)
        assert not np.allclose(plain.dual_coef_, averaged.dual_coef_)


class TestBudgetInBytes:
    @pytest.mark.parametrize(
        ("text", "n_bytes"),
        [
            ("64KB", 65536),
            ("1.5 MB", 1572864),
            ("800B", 800),
            ("2GB", 2**31),
            ("  3 kb ", 3072),
            ("1KiB", 1024),
            ("0.5kB", 512),
        ],
    )
    def test_sizes(self, text, n_bytes):
        assert slots_for_budget(text, 100) == n_bytes // 100

    @pytest.mark.parametrize("text", ["64", "KB", "64 XB", "-1KB", "1e3B", "64K", "1,5MB", "", "500 KB ok"])
    def test_what_is_no_size(self, binary, text):
        with pytest.raises(ValueError, match="not a size such as '64KB'"):
            new_model(budget=text).fit(*binary)

    def test_fewest_bytes(self, binary):
        assert new_model(budget="80B").fit(*binary).budget_ == 2

    @pytest.mark.parametrize(("n_classes", "dtype"), [(2, np.float32), (2, np.float64), (4, np.float64)])
    def test_model_fits(self, n_classes, dtype):
        X, y = blobs(200, 3, n_classes, seed=0, dtype=dtype)
        model = new_model(budget="0.6KB").fit(X, y)
        assert model.support_vectors_.shape[0] == model.budget_
        per_vector = np.dtype(dtype).itemsize * (3 + 1 + (1 if n_classes == 2 else 4))
        assert model.model_bytes_ == model.budget_ * per_vector
        assert model.model_bytes_ <= 614 < model.model_bytes_ + per_vector


class TestWeights:
    def test_both_multiply(self, binary):
        X, y = binary
        weights = np.random.default_rng(0).uniform(0.5, 2.0, 200)
        expected = new_model().fit(X, y, sample_weight=weights * np.where(y == 1, 2.0, 1.0))
        assert_same_estimator(new_model(class_weight={1: 2.0}).fit(X, y, sample_weight=weights), expected)


def announce(model, label):
    """Let the model meet a class without learning anything: in a row of weight 0."""
    model.set_params(class_weight={label: 0.0}).partial_fit(np.zeros((1, 3)), [label]).set_params(class_weight=None)


class TestNewClasses:
    def grown(self, average=False, **kwargs):
        X, y = blobs(200, 3, 2, seed=0)
        model = new_model(new_classes="grow", average=average, **kwargs)
        model.partial_fit(X, np.array([5, 7])[y])
        before = model.decision_function(X)
        announce(model, 6)
        return X, model, before

    @pytest.mark.parametrize("average", [False, True])
    def test_decisions_between_the_old_classes_stay(self, average):
        X, model, before = self.grown(average)
        assert model.classes_.tolist() == [5, 6, 7]
        after = model.decision_function(X)
        assert after.shape == (200, 3)
        np.testing.assert_allclose(after[:, 2] - after[:, 0], before, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(after[:, 1], 0.0)

    def test_from_three_to_four(self):
        X, model, _ = self.grown()
        model.partial_fit(X[:50], np.array([5, 6, 7])[np.arange(50) % 3])
        before = model.decision_function(X)
        announce(model, 1)
        assert model.classes_.tolist() == [1, 5, 6, 7]
        np.testing.assert_allclose(model.decision_function(X)[:, 1:], before, rtol=1e-12, atol=1e-12)

    def test_new_class_is_learned(self):
        X, y = blobs(600, 3, 3, seed=4)
        model = new_model(new_classes="grow", budget=40)
        two = y < 2
        model.partial_fit(X[two], y[two]).partial_fit(X, y)
        assert model.score(X[y == 2], y[y == 2]) > 0.3
        assert (model.support_vectors_.shape, model.dual_coef_.shape) == ((40, 3), (3, 40))

    def test_warm_start_grows_too(self):
        X, y = blobs(300, 3, 3, seed=4)
        model = new_model(new_classes="grow", warm_start=True)
        model.fit(X[y < 2], y[y < 2]).fit(X, y)
        assert model.classes_.tolist() == [0, 1, 2]

    def test_announced_classes_are_added(self, binary):
        X, y = binary
        model = new_model(new_classes="grow").partial_fit(X, y, classes=[0, 1])
        model.partial_fit(X, y, classes=[1, 3])
        assert model.classes_.tolist() == [0, 1, 3]

    def test_one_class_first(self, binary):
        X, y = binary
        model = new_model(new_classes="grow").partial_fit(X[:20], np.full(20, "b"))
        assert model.predict(X).tolist() == ["b"] * 200
        assert (model.t_, model.support_vectors_.shape) == (0, (0, 3))
        model.partial_fit(X, np.where(y == 1, "b", "a"))
        assert_same_estimator(model, new_model().fit(X, y))
        assert model.classes_.tolist() == ["a", "b"]

    def test_one_class_first_and_two_more_next(self, four):
        X, y = four
        model = new_model(new_classes="grow").partial_fit(X[:20], np.zeros(20, int))
        model.partial_fit(X, y)
        assert_same_estimator(model, new_model().fit(X, y))

    def test_strings(self, four):
        X, y = four
        names = np.array(["ash", "beech", "cherry tree", "oak"])
        model = new_model(new_classes="grow").partial_fit(X[y < 2], names[y[y < 2]])
        model.partial_fit(X, names[y])
        assert model.classes_.tolist() == names.tolist()  # and none is cut to the length of the first ones
        assert set(model.predict(X)) <= set(names)

    def test_budget_in_bytes_is_that_of_the_first_classes(self):
        """The number of support vectors is fixed when the model is made."""
        _, model, _ = self.grown(budget="0.5KB")
        assert model.budget_ == 12
        assert model.support_vectors_.shape[0] == 12

    def test_empty_slots_stay_silent(self):
        _, model, _ = self.grown()
        assert not model._expansion.weights[:, model._expansion.counts[0]["n_slots"] :].any()

    @pytest.mark.slow
    def test_norm_in_a_ball_is_still_right(self):
        _, model, _ = self.grown(learner="perceptron", maintenance="remove", radius=1.0)
        scalars, coef = model._expansion.scalars, model.dual_coef_
        gram = rbf_kernel(model.support_vectors_, gamma=0.3)
        assert scalars[0]["scale"] ** 2 * scalars[0]["raw_norm"] == pytest.approx(np.sum(coef @ gram * coef))


class TestInput:
    @pytest.mark.parametrize(
        ("dtype", "stored"),
        [
            (np.float32, np.float32),
            (np.float64, np.float64),
            (np.float16, np.float32),
            (np.int8, np.float32),
            (np.uint16, np.float32),
            (bool, np.float32),
            (np.int64, np.float64),
        ],
    )
    def test_stored_type(self, binary, dtype, stored):
        """Small integers fit into float32 exactly; large ones do not."""
        X, y = binary
        model = new_model().fit(np.abs(3 * X).astype(dtype), y)
        assert model.support_vectors_.dtype == stored
        assert model.dual_coef_.dtype == np.float64
        assert model.decision_function(X).dtype == np.float64
        model.partial_fit(X, y)  # float64 rows are converted to what is stored
        assert model.support_vectors_.dtype == stored

    def test_lists_and_any_memory_order(self, binary):
        X, y = binary
        expected = new_model().fit(X, y)
        assert_same_estimator(new_model().fit(X.tolist(), y.tolist()), expected)
        assert_same_estimator(new_model().fit(np.asfortranarray(X), y), expected)
        assert_same_estimator(new_model().fit(np.repeat(X, 2, axis=0)[::2], y), expected)

    @pytest.mark.parametrize("container", [scipy.sparse.csr_matrix, scipy.sparse.csr_array, scipy.sparse.coo_matrix])
    def test_sparse_rows(self, binary, container):
        X, y = binary
        X = np.where(np.abs(X) < 0.5, 0.0, X)
        dense, sparse = new_model().fit(X, y), new_model().fit(container(X), y)
        np.testing.assert_allclose(sparse.support_vectors_, dense.support_vectors_, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(sparse.decision_function(container(X)), dense.decision_function(X), rtol=1e-8)
        np.testing.assert_array_equal(sparse.predict(X), dense.predict(container(X)))
        assert_same_estimator(new_model().partial_fit(container(X), y), sparse)

    def test_sparse_rows_with_entries_twice_and_out_of_order(self, binary):
        X, y = binary
        n = len(y)
        # x0 in two halves, x2 before x1
        data = np.stack([0.5 * X[:, 0], X[:, 2], X[:, 1], 0.5 * X[:, 0]], axis=1).ravel()
        untidy = scipy.sparse.csr_matrix((data, np.tile([0, 2, 1, 0], n), np.arange(0, 4 * n + 1, 4)), shape=(n, 3))
        tidy = scipy.sparse.csr_matrix(X)
        assert_same_estimator(new_model().fit(untidy, y), new_model().fit(tidy, y))
        assert untidy.nnz == 4 * n  # what was passed is left as it was

    def test_data_frames(self, binary):
        X, y = binary
        frame = pd.DataFrame(X, columns=["length", "width", "height"])
        model = new_model().fit(frame, pd.Series(np.where(y == 1, "large", "small")))
        assert model.feature_names_in_.tolist() == ["length", "width", "height"]
        assert set(model.predict(frame)) == {"large", "small"}
        with pytest.raises(ValueError, match="feature names"):
            model.predict(frame[["width", "length", "height"]])
        with pytest.raises(ValueError, match="feature names"):
            model.partial_fit(frame.rename(columns={"width": "depth"}), np.where(y == 1, "large", "small"))

    @pytest.mark.parametrize("container", [np.asarray, scipy.sparse.csr_matrix])
    def test_gamma_is_that_of_svc_for_centered_features(self, binary, container):
        X, y = binary
        X = np.where(np.abs(X) < 0.5, 0.0, X)
        expected = SVC(gamma="scale").fit(X - X.mean(axis=0), y)._gamma
        assert new_model(gamma="scale").fit(container(X), y).gamma_ == pytest.approx(expected)

    def test_constant_features(self):
        model = new_model(gamma="scale").fit(np.ones((10, 3)), np.arange(10) % 2)
        assert model.gamma_ == 1.0


class TestPrediction:
    def test_zero_is_the_second_class(self, binary):
        X, y = binary
        model = new_model(maintenance="remove", kernel="linear").fit(X, np.where(y == 1, "yes", "no"))
        zero = np.zeros((1, 3))
        assert model.decision_function(zero).tolist() == [0.0]
        assert model.predict(zero).tolist() == ["yes"]

    def test_first_of_equal_outputs(self, four):
        """Known classes without any example."""
        X, _ = four
        model = new_model(class_weight={9: 0.0}).partial_fit(X[:1], [9], classes=[7, 9, 8])
        assert model.decision_function(X).tolist() == [[0.0, 0.0, 0.0]] * 200
        assert set(model.predict(X)) == {7}


@pytest.mark.parametrize(
    ("learner", "maintenance", "kernel"), [("norma", "project", "poly"), ("pegasos", "remove", "linear")]
)
def test_other_kernels(binary, learner, maintenance, kernel):
    """What the refusal of merging names."""
    assert new_model(learner, maintenance, kernel=kernel, eta0=0.01).fit(*binary).score(*binary) > 0.5
