"""ASSETClassifier and ASSETRegressor: what they promise, weights, and the forms in which examples come."""

import numpy as np
import pytest
from asset_support import (
    GAMMA,
    SETTINGS,
    SOLVERS,
    decisions,
    direct_objective,
    each_kind,
    each_map,
    each_solver,
    high_or_low,
    task_of,
    wave,
)
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC, SVR
from support import blobs

from frugalsvm import ASSETClassifier, ASSETRegressor
from frugalsvm.datasets import load, make_waveform


@pytest.fixture(scope="module")
def binary():
    return high_or_low()


@pytest.fixture(scope="module")
def smooth():
    return wave(1500, 2)


class TestPromises:
    @each_solver
    @each_map
    @pytest.mark.parametrize("fit_intercept", [True, False])
    def test_learns_classes(self, binary, solver, feature_map, fit_intercept):
        X, y = binary
        model = ASSETClassifier(feature_map, C=10, solver=solver, fit_intercept=fit_intercept, **SETTINGS)
        # one label in twenty is wrong
        assert model.fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) > 0.87
        assert (model.intercept_[0] != 0) == fit_intercept
        assert model.n_iter_ >= 1
        assert model.t_ == 1000

    @each_solver
    @each_map
    @pytest.mark.parametrize("fit_intercept", [True, False])
    def test_learns_values(self, smooth, solver, feature_map, fit_intercept):
        X, y = smooth
        model = ASSETRegressor(feature_map, C=10, solver=solver, fit_intercept=fit_intercept, **SETTINGS)
        assert model.fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) > (0.95 if solver == "newton" else 0.85)
        assert (model.intercept_[0] != 0) == fit_intercept

    @pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
    def test_regression_is_that_of_svr(self, smooth, loss):
        X, y = smooth
        model = ASSETRegressor(C=10, loss=loss, **SETTINGS).fit(X, y)
        exact = SVR(C=10, gamma=GAMMA).fit(X, y)
        assert model.score(X, y) > 0.95
        assert np.abs(model.predict(X) - exact.predict(X)).mean() < 0.03
        np.testing.assert_allclose(model.predict(X), exact.predict(X), atol=0.4)  # at a corner

    @each_kind
    @pytest.mark.parametrize("squared", [False, True], ids=["plain", "squared"])
    def test_objective_and_bound(self, binary, smooth, kind, squared):
        X, y = task_of(kind, binary, smooth)
        loss = ("squared_" if squared else "") + ("hinge" if kind is ASSETClassifier else "epsilon_insensitive")
        model = kind(C=5, loss=loss, **SETTINGS).fit(X, y)
        assert model.objective_ == pytest.approx(direct_objective(model, X, y, 5), rel=1e-3, abs=2e-6)
        assert 0 <= model.suboptimality_bound_ < 0.02 * model.objective_
        for solver in SOLVERS[1:]:
            worse = kind(C=5, loss=loss, solver=solver, **SETTINGS).fit(X, y)
            assert worse.objective_ == pytest.approx(direct_objective(worse, X, y, 5), rel=1e-3, abs=2e-6)
            # the landmarks are the same, so the optimum is the same, or a little above with a penalised intercept
            assert worse.objective_ >= model.objective_ - model.suboptimality_bound_
            assert worse.objective_ - worse.suboptimality_bound_ <= model.objective_ * (1 + 1e-5)

    @each_kind
    def test_published_attributes_give_the_decisions(self, binary, smooth, kind):
        X, y = task_of(kind, binary, smooth)
        model = kind(C=5, **SETTINGS).fit(X, y)
        assert model.landmarks_.shape == (60, 2)
        assert model.dual_coef_.shape == (1, 60)
        assert model.coef_.shape == (1, model.rank_)
        assert model.gamma_ == GAMMA
        values = rbf_kernel(X, model.landmarks_, gamma=GAMMA) @ model.dual_coef_[0] + model.intercept_[0]
        np.testing.assert_allclose(decisions(model, X), values, atol=1e-3 * np.abs(model.dual_coef_).max())
        # landmarks and their norms, coefficients, intercept
        assert model.model_bytes_ == 4 * (60 * 2 + 60 + 60 + 1)
        rows = {tuple(row) for row in X.astype(np.float32)}
        assert all(tuple(row) in rows for row in model.landmarks_)

    def test_published_attributes_of_fourier_features(self, binary):
        model = ASSETClassifier("fourier", structured=False, **SETTINGS).fit(*binary)
        assert model.landmarks_ is None
        assert model.dual_coef_ is None
        assert model.rank_ == 60
        assert model.model_bytes_ == 4 * (2 * 60 + 60 + 60 + 1)

    def test_rank_and_threshold(self, binary):
        ranks = [
            ASSETClassifier(**SETTINGS, **more).fit(*binary).rank_
            for more in ({"rank": 7}, {"eigenvalue_threshold": 1e-2}, {})
        ]
        assert ranks[0] == 7 < ranks[1] < ranks[2] <= 60

    @pytest.mark.parametrize("landmarks", ["kmeans++", "kmeans"])
    def test_landmarks(self, binary, landmarks):
        X, y = binary
        model = ASSETClassifier(landmarks=landmarks, C=10, **SETTINGS).fit(X, y)
        uniform = ASSETClassifier(C=10, **SETTINGS).fit(X, y)

        def error(model):
            return np.square(X[:, None] - model.landmarks_[None]).sum(axis=2).min(axis=1).mean()

        assert error(model) < error(uniform)
        assert model.score(X, y) > 0.9

    @pytest.mark.parametrize("structured", [True, False])
    def test_structured(self, binary, structured):
        X, y = binary
        model = ASSETClassifier("fourier", structured=structured, C=10, **SETTINGS).fit(X, y)
        assert model.score(X, y) > 0.87

    @pytest.mark.parametrize("kernel", ["linear", "poly"])
    def test_kernels(self, kernel):
        X, y = make_waveform(2000, random_state=0)
        model = ASSETClassifier(kernel=kernel, degree=2, n_components=60, random_state=0).fit(X[:1500], y[:1500] > 0)
        exact = SVC(kernel=kernel, degree=2, coef0=1.0).fit(X[:1500], y[:1500] > 0)
        assert model.score(X[1500:], y[1500:] > 0) > exact.score(X[1500:], y[1500:] > 0) - 0.02

    def test_more_landmarks_than_rows_is_svc(self, binary):
        X, y = binary[0][:150], binary[1][:150]
        model = ASSETClassifier(n_components=500, eigenvalue_threshold=1e-7, gamma=GAMMA, tol=1e-4).fit(X, y)
        exact = SVC(gamma=GAMMA).fit(X, y)
        assert len(model.landmarks_) == 150
        np.testing.assert_allclose(model.decision_function(X), exact.decision_function(X), atol=0.1)

    def test_alpha_takes_the_place_of_C(self, binary):
        X, y = binary
        by_C = ASSETClassifier(C=4.0, **SETTINGS).fit(X, y)
        by_alpha = ASSETClassifier(C=123.0, alpha=1 / (4.0 * len(X)), **SETTINGS).fit(X, y)
        np.testing.assert_allclose(by_alpha.coef_, by_C.coef_, rtol=1e-6)

    @each_solver
    @each_kind
    def test_seeds(self, binary, smooth, kind, solver):
        X, y = task_of(kind, binary, smooth)
        model = kind(solver=solver, **SETTINGS).fit(X, y)
        again = clone(model).fit(X, y)
        np.testing.assert_array_equal(again.dual_coef_, model.dual_coef_)
        np.testing.assert_array_equal(again.landmarks_, model.landmarks_)
        other = clone(model).set_params(random_state=1).fit(X, y)
        assert not np.array_equal(other.landmarks_, model.landmarks_)

    def test_real_data(self, shared_data):
        X, y = load("ijcnn1", "train", data_home=shared_data, download=False)
        X_test, y_test = load("ijcnn1", "test", data_home=shared_data, download=False)
        X, y, X_test, y_test = X[:4000], y[:4000], X_test[:10_000], y_test[:10_000]
        model = ASSETClassifier(n_components=400, C=10, gamma=2.0, random_state=0).fit(X, y)
        exact = SVC(C=10, gamma=2.0).fit(X, y)
        assert model.score(X_test, y_test) > exact.score(X_test, y_test) - 0.005


class TestWeights:
    @each_kind
    def test_weight_zero_is_no_example(self, binary, smooth, kind):
        X, y = task_of(kind, binary, smooth)
        kept = np.arange(len(X)) % 3 != 0
        some = kind(C=5, **SETTINGS).fit(X, y, sample_weight=kept.astype(float))
        few = kind(C=5, **SETTINGS).fit(X[kept], y[kept])
        np.testing.assert_array_equal(some.landmarks_, few.landmarks_)
        # losses of regression are smoothed in units of the spread of all targets
        tolerance = 0.0 if kind is ASSETClassifier else 0.01
        np.testing.assert_allclose(some.coef_, few.coef_, rtol=tolerance, atol=tolerance)

    def test_an_outlier_of_weight_zero_is_no_example(self, smooth):
        X, y = smooth
        spoiled, weights = y.copy(), np.ones(len(y))
        spoiled[0], weights[0] = 1e9, 0.0
        assert ASSETRegressor(C=10, **SETTINGS).fit(X, spoiled, sample_weight=weights).score(X, y) > 0.95

    def test_an_outlier_does_little(self, smooth):
        X, y = smooth
        spoiled = y.copy()
        spoiled[0] = 1e9
        assert ASSETRegressor(C=10, **SETTINGS).fit(X, spoiled).score(X, y) > 0.95

    @each_kind
    def test_weights_are_repetitions(self, binary, smooth, kind):
        X, y = task_of(kind, binary, smooth)
        weights = np.random.default_rng(0).integers(1, 4, len(X))
        weighted = kind(C=5, n_components=400, gamma=GAMMA, random_state=0).fit(X, y, sample_weight=weights)
        repeated = clone(weighted).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
        # the same sum, divided by the number of rows or of their repetitions
        assert weighted.objective_ * len(X) == pytest.approx(repeated.objective_ * weights.sum(), rel=0.01)
        assert np.abs(decisions(weighted, X) - decisions(repeated, X)).mean() < 0.05
        assert weighted.objective_ == pytest.approx(direct_objective(weighted, X, y, 5, weights), rel=1e-3)

    @each_solver
    def test_class_weight(self, binary, solver):
        X, y = binary
        plain, heavy = (
            ASSETClassifier(solver=solver, C=0.1, class_weight=weight, **SETTINGS).fit(X, y)
            for weight in (None, {0: 1.0, 1: 20.0})
        )
        assert (heavy.predict(X) == 1).mean() > (plain.predict(X) == 1).mean() + 0.05

    def test_class_weight_is_sample_weight(self, binary):
        X, y = binary
        by_class = ASSETClassifier(class_weight={0: 2.0, 1: 3.0}, **SETTINGS).fit(X, y)
        by_row = ASSETClassifier(**SETTINGS).fit(X, y, sample_weight=np.where(y == 1, 3.0, 2.0))
        np.testing.assert_array_equal(by_class.coef_, by_row.coef_)
        balanced = ASSETClassifier(class_weight="balanced", **SETTINGS).fit(X, y)
        counts = np.bincount(y)
        by_row = ASSETClassifier(**SETTINGS).fit(X, y, sample_weight=(len(y) / 2 / counts)[y])
        np.testing.assert_allclose(balanced.coef_, by_row.coef_)


class TestInput:
    @each_solver
    @each_map
    @each_kind
    def test_sparse_rows(self, binary, smooth, kind, feature_map, solver):
        X, y = task_of(kind, binary, smooth)
        X = np.where(np.abs(X) < 0.5, 0.0, X)
        model = kind(feature_map, solver=solver, structured=False, **SETTINGS)
        dense, sparse = (clone(model).fit(rows, y) for rows in (X, csr_array(X)))
        scale = np.abs(decisions(dense, X)).max()
        np.testing.assert_allclose(decisions(dense, csr_array(X)), decisions(dense, X), atol=1e-3 * scale)
        np.testing.assert_allclose(decisions(sparse, X), decisions(dense, X), atol=0.02 * scale)

    def test_types_of_numbers(self, binary):
        X, y = binary
        X = np.clip(40 * X + 100, 0, 255).astype(np.uint8)
        settings = {"n_components": 60, "gamma": 1 / 3200, "random_state": 0}
        models = [ASSETClassifier(**settings).fit(X.astype(kind), y) for kind in (np.uint8, np.float32, np.float64)]
        for model in models[1:]:
            np.testing.assert_allclose(model.decision_function(X), models[0].decision_function(X), atol=1e-4)
        for kind in (np.uint8, np.float64, np.int64):
            np.testing.assert_array_equal(models[0].predict(X.astype(kind)), models[0].predict(X))

    def test_scale_is_that_of_svc_for_centered_features(self, binary):
        X, y = binary
        X = X - X.mean(axis=0)
        assert ASSETClassifier(n_components=20, gamma="scale").fit(X, y).gamma_ == pytest.approx(
            1 / (2 * X.var()), rel=1e-5
        )
        shifted = X + np.array([5, -5], X.dtype)
        assert ASSETClassifier(n_components=20, gamma="scale").fit(shifted, y).gamma_ == pytest.approx(
            1 / (2 * X.var()), rel=1e-5
        )
        assert ASSETClassifier(n_components=20, gamma="auto").fit(X[:150], y[:150]).gamma_ == pytest.approx(
            1 / X[:150].var(axis=0).sum()
        )

    @each_solver
    def test_several_classes(self, solver):
        X, y = blobs(1500, 3, 3, seed=3)
        names = np.array(["ash", "beech", "cedar"])[y]
        model = ASSETClassifier(solver=solver, n_components=60, gamma=0.2, random_state=0).fit(X[:1000], names[:1000])
        assert model.decision_function(X).shape == (1500, 3)
        assert model.coef_.shape == (3, model.rank_)
        assert model.dual_coef_.shape == (3, 60)
        assert model.score(X[1000:], names[1000:]) > 0.6  # a fifth of the labels are noise
        binary = ASSETClassifier(solver=solver, n_components=60, gamma=0.2, random_state=0)
        apart = OneVsRestClassifier(binary).fit(X[:1000], names[:1000])
        assert (apart.predict(X) == model.predict(X)).mean() > 0.9

    def test_labels_may_be_words(self, binary):
        X, y = binary
        words = ASSETClassifier(**SETTINGS).fit(X, np.array(["no", "yes"])[y])
        numbers = ASSETClassifier(**SETTINGS).fit(X, y)
        np.testing.assert_array_equal(words.classes_, ["no", "yes"])
        np.testing.assert_array_equal(words.predict(X) == "yes", numbers.predict(X) == 1)

    @pytest.mark.parametrize("offset", [0.0, 100.0])
    @pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
    def test_values_far_from_zero(self, smooth, loss, offset):
        X, y = smooth
        assert ASSETRegressor(loss=loss, C=10, **SETTINGS).fit(X, y + offset).score(X, y + offset) > 0.95
