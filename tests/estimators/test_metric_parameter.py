"""``metric=``: given, or learned from the first rows; the same machine for rows that were mapped."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone

from frugalsvm import ASSETClassifier, ASSETRegressor, BSGDClassifier, LASVMClassifier
from frugalsvm.exceptions import ParameterError
from frugalsvm.persist import load, save

CLASSIFIERS = {
    "asset": ASSETClassifier(n_components=64, C=10.0, random_state=0),
    "fourier": ASSETClassifier("fourier", 128, C=10.0, random_state=0),
    "bsgd": BSGDClassifier(budget=50, alpha=1e-4, random_state=0),
    "lasvm": LASVMClassifier(C=10.0, random_state=0),
}
FACTORS = np.array([2.0, 1.0, 0.1, 0.0])
MATRIX = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, -1.0, 2.0, 0.0]])


def wave(n_rows, *, n_noise=2, seed=0):
    """Two features that matter, and noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 2 + n_noise)) + np.arange(2 + n_noise)
    return X, (np.sin(3.0 * X[:, 0]) + 0.3 * (X[:, 1] - 1.0) > 0).astype(int)


@pytest.fixture(params=CLASSIFIERS)
def classifier(request):
    return clone(CLASSIFIERS[request.param])


class TestGiven:
    @pytest.mark.parametrize("A", [FACTORS, MATRIX], ids=["factors", "matrix"])
    @pytest.mark.parametrize("learn", ["fit", "partial_fit"])
    def test_is_the_machine_of_mapped_rows(self, classifier, A, learn):
        X, y = wave(400)
        centered = X - np.median(X, axis=0)
        mapped = centered * A if A.ndim == 1 else centered @ A.T
        model = getattr(clone(classifier).set_params(metric=A, gamma=0.5), learn)(X, y)
        other = getattr(clone(classifier).set_params(gamma=0.5), learn)(mapped, y)
        # Sums in another order, in float32
        assert np.corrcoef(model.decision_function(X), other.decision_function(mapped))[0, 1] > 0.9999
        np.testing.assert_array_equal(model.metric_, A)

    def test_gamma_is_that_of_mapped_rows(self):
        X, y = wave(300)
        model = BSGDClassifier(gamma="scale", metric=FACTORS).fit(X, y)
        assert model.gamma_ == pytest.approx(1.0 / np.var(X * FACTORS, axis=0).sum(), rel=1e-4)

    @pytest.mark.parametrize("A", [FACTORS[:3], MATRIX[:, :3]], ids=["factors", "matrix"])
    def test_wrong_width_is_refused(self, A):
        X, y = wave(100)
        with pytest.raises(ValueError, match="metric has 3 columns, but X has 4 features"):
            ASSETClassifier(metric=A).fit(X, y)

    def test_support_vectors_are_rows_that_score_the_same(self):
        X, y = wave(200)
        model = LASVMClassifier(metric=MATRIX, gamma=0.5, random_state=0).fit(X, y)
        vectors = model.support_vectors_
        assert vectors.shape[1] == 4
        distances = np.square((X[:, None] - vectors) @ MATRIX.T).sum(axis=2)
        scores = np.exp(-0.5 * distances) @ model.dual_coef_[0] + model.intercept_
        np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-6)


class TestLearned:
    @pytest.mark.parametrize(
        "metric", ["diag", *(pytest.param(each, marks=pytest.mark.slow) for each in ("full", "auto"))]
    )
    def test_features_that_do_not_matter_do_not_count(self, metric):
        (X, y), (X_test, y_test) = wave(800, n_noise=8), wave(1000, n_noise=8, seed=1)
        plain = ASSETClassifier(n_components=64, C=10.0, random_state=0).fit(X, y).score(X_test, y_test)
        model = ASSETClassifier(n_components=64, C=10.0, metric=metric, random_state=0).fit(X, y)
        assert model.score(X_test, y_test) > plain + 0.05
        assert model.feature_importances_.sum() == pytest.approx(1.0)
        assert model.feature_importances_[:2].sum() > 0.95

    def test_sizes_of_columns_do_not_matter(self):
        X, y = wave(500, n_noise=4)
        sizes = np.array([1000.0, 0.01, 1.0, 100.0, 0.001, 1.0])
        model, same = (
            ASSETClassifier(n_components=128, metric="diag", random_state=0).fit(each, y) for each in (X * sizes, X)
        )
        np.testing.assert_allclose(model.feature_importances_, same.feature_importances_, atol=0.02)
        assert model.feature_importances_[:2].sum() > 0.95
        assert model.score(X * sizes, y) == pytest.approx(same.score(X, y), abs=0.02)

    def test_plain_metric_stays_where_nothing_is_to_be_gained(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(400, 3))
        y = np.linalg.norm(X, axis=1) > 1.5
        model = ASSETClassifier(n_components=64, C=10.0, metric="auto", random_state=0).fit(X, y)
        np.testing.assert_allclose(model.feature_importances_, 1.0 / 3.0, atol=0.05)

    def test_rows_are_as_far_apart_as_before(self):
        X, y = wave(200)
        model = ASSETClassifier(n_components=32, metric="diag", random_state=0).fit(X, y)
        ratio = np.var(X * model.metric_, axis=0).sum() / np.var(X, axis=0).sum()
        assert ratio == pytest.approx(1.0, abs=0.05)
        assert clone(model).set_params(gamma=0.25).fit(X, y).gamma_ == 0.25  # a number means what it always means

    def test_more_landmarks_take_a_narrower_kernel(self):
        X, y = wave(260)
        few, many = (ASSETClassifier(n_components=n, metric="diag", random_state=0).fit(X, y).gamma_ for n in (64, 256))
        assert many == pytest.approx(2.0 * few)

    def test_regression(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(400, 8))
        y = 1000.0 + 50.0 * np.sin(2.0 * X[:, 0])
        model = ASSETRegressor(n_components=64, C=100.0, metric="diag", random_state=0).fit(X, y)
        assert model.feature_importances_[0] > 0.9
        assert model.score(X, y) > 0.95

    def test_several_classes(self):
        X, y = wave(500, n_noise=6)
        y = y + 2 * (X[:, 1] > 1.0)
        model = ASSETClassifier(n_components=64, C=10.0, metric="diag", random_state=0).fit(X, y)
        assert model.feature_importances_[:2].sum() > 0.9

    def test_rows_without_weight_do_not_count(self):
        X, y = wave(150)
        twice, weights = np.vstack([X, X + 5.0]), np.repeat([1.0, 0.0], len(X))
        model = ASSETClassifier(n_components=32, metric="diag", random_state=0)
        expected = clone(model).fit(X, y, np.ones(len(X))).metric_
        found = model.fit(twice, np.concatenate([y, 1 - y]), weights).metric_
        np.testing.assert_allclose(found, expected)

    def test_sparse_rows_take_factors(self):
        X, y = wave(300)
        X[np.abs(X) < 0.5] = 0.0
        model = ASSETClassifier(n_components=64, C=10.0, metric="auto", random_state=0).fit(csr_matrix(X), y)
        assert model.metric_.shape == (4,)
        np.testing.assert_allclose(model.decision_function(csr_matrix(X)), model.decision_function(X), atol=1e-3)
        with pytest.raises(ValueError, match="metric='full' would make sparse rows dense"):
            model.set_params(metric="full").fit(csr_matrix(X), y)

    def test_stays_what_it_is_after_the_first_batch(self, classifier):
        X, y = wave(400)
        model = classifier.set_params(metric="diag").partial_fit(X[:250], y[:250])
        before = model.metric_
        model.partial_fit(X[250:], y[250:])
        np.testing.assert_array_equal(model.metric_, before)
        model.set_params(metric=None).fit(X, y)
        assert model.metric_ is None
        with pytest.raises(AttributeError, match="no metric that tells features apart"):
            _ = model.feature_importances_

    def test_batches_give_a_metric_like_all_rows(self):
        X, y = wave(700, n_noise=6)
        model = ASSETClassifier(n_components=64, C=10.0, metric="diag", random_state=0)
        model.fit_batches([(X[:300], y[:300]), (X[300:], y[300:])])
        assert model.feature_importances_[:2].sum() > 0.9
        assert model.score(X, y) > 0.85

    def test_same_seed_same_metric(self):
        X, y = wave(150)
        models = [ASSETClassifier(n_components=16, metric="auto", random_state=3).fit(X, y) for _ in range(2)]
        np.testing.assert_array_equal(models[0].metric_, models[1].metric_)

    @pytest.mark.parametrize("for_prediction", [False, True])
    def test_is_in_model_files(self, classifier, for_prediction, tmp_path):
        X, y = wave(300)
        model = classifier.set_params(metric=MATRIX).fit(X, y)
        save(model, tmp_path / "model", for_prediction=for_prediction)
        again = load(tmp_path / "model")
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
        np.testing.assert_array_equal(again.metric_, MATRIX)
        np.testing.assert_array_equal(again.feature_importances_, model.feature_importances_)


class TestFewRows:
    def test_auto_is_plain(self):
        X, y = wave(60)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = ASSETClassifier(n_components=16, metric="auto", random_state=0).fit(X, y)
        assert np.ptp(model.metric_) < 1e-12

    def test_auto_warns_of_a_small_first_batch(self):
        X, y = wave(60)
        with pytest.warns(UserWarning, match="which has 60 rows only"):
            BSGDClassifier(metric="auto", random_state=0).partial_fit(X, y)

    @pytest.mark.parametrize("metric", ["diag", "full"])
    def test_others_are_refused(self, metric):
        X, y = wave(60)
        with pytest.raises(ValueError, match="60 are too few: pass at least 100"):
            BSGDClassifier(metric=metric).fit(X, y)


@pytest.mark.parametrize("metric", ["diagonal", np.zeros((2, 2, 2)), [], {"a": 1}, [np.nan, 1.0]])
def test_what_is_no_metric_is_refused(metric):
    X, y = wave(50)
    with pytest.raises(ParameterError, match="metric"):
        ASSETClassifier(metric=metric).fit(X, y)


@pytest.mark.parametrize(("metric", "kernel"), [("full", "laplacian"), ("auto", "poly"), ("diag", "linear")])
def test_kernels_that_do_not_go_with_it_are_refused(metric, kernel):
    X, y = wave(200)
    with pytest.raises(ValueError, match="works with"):
        ASSETClassifier(metric=metric, kernel=kernel).fit(X, y)


def test_laplacian_learns_factors():
    X, y = wave(500, n_noise=6)
    model = ASSETClassifier(n_components=64, C=10.0, metric="auto", kernel="laplacian", random_state=0).fit(X, y)
    assert model.metric_.shape == (8,)
    assert model.feature_importances_[:2].sum() > 0.8
