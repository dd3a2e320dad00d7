"""ASSETClassifier and ASSETRegressor: what they promise, the forms in which examples come, streams and batches."""

import pickle

import numpy as np
import pytest
from oracles.asset import loss_value
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC, SVR
from support import blobs

from frugalsvm import ASSETClassifier, ASSETRegressor
from frugalsvm.datasets import load, make_waveform
from frugalsvm.estimators import low_rank_machine
from frugalsvm.lowrank.backends.compiled import ComputedRows
from frugalsvm.lowrank.training import new_training, validation_scores

GAMMA = 0.5
SETTINGS = {"n_components": 60, "gamma": GAMMA, "random_state": 0}
SOLVERS = ("newton", "asset", "asset*")
each_solver = pytest.mark.parametrize("solver", SOLVERS)
each_map = pytest.mark.parametrize("feature_map", ["nystroem", "fourier"])
each_kind = pytest.mark.parametrize("kind", [ASSETClassifier, ASSETRegressor], ids=["classifier", "regressor"])


def wave(n_rows, seed):
    """Rows and values of a smooth function with a little noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n_rows, 2))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.05 * rng.normal(size=n_rows)


@pytest.fixture(scope="module")
def binary():
    """Not balanced, so that an intercept matters."""
    X, values = wave(1500, 0)
    flipped = np.random.default_rng(1).random(1500) < 0.05
    return X, ((values > 1.0) ^ flipped).astype(int)


@pytest.fixture(scope="module")
def smooth():
    return wave(1500, 2)


def task_of(kind, binary, smooth):
    return binary if kind is ASSETClassifier else smooth


def decisions(model, X):
    return model.decision_function(X) if isinstance(model, ASSETClassifier) else model.predict(X)


def direct_objective(model, X, y, C, weights=None):
    """From what is published, in float64: ``||w||^2`` is that of the kernel expansion."""
    landmarks = model.landmarks_.astype(np.float64)
    K, K_landmarks = rbf_kernel(X, landmarks, gamma=GAMMA), rbf_kernel(landmarks, gamma=GAMMA)
    targets = 2.0 * y - 1 if isinstance(model, ASSETClassifier) else y
    total = 0.0
    for a, b in zip(model.dual_coef_, model.intercept_, strict=True):
        losses = loss_value(model.loss, getattr(model, "epsilon", 0.0), targets, K @ a + b)
        total += a @ K_landmarks @ a / (2 * C * len(X)) + np.average(losses * (1.0 if weights is None else weights))
    return total


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


@pytest.fixture
def trainings(monkeypatch):
    """The trainings that models make."""
    made = []

    def spy(*arguments, **keywords):
        made.append(new_training(*arguments, **keywords))
        return made[-1]

    monkeypatch.setattr(low_rank_machine, "new_training", spy)
    return made


class TestSelection:
    @each_kind
    def test_path(self, binary, smooth, kind):
        X, y = task_of(kind, binary, smooth)
        values = [100.0, 0.01, 1.0]
        model = kind(C=values, **SETTINGS).fit(X[:1000], y[:1000])
        np.testing.assert_array_equal(model.path_["C"], sorted(values))
        assert model.path_["C"][model.path_["validation_score"].argmax()] == model.C_
        for name in ("objective", "suboptimality_bound"):
            assert model.path_[name].shape == (3,)
            assert np.isfinite(model.path_[name]).all()
        assert (model.path_["suboptimality_bound"] >= 0).all()
        assert (np.diff(model.path_["objective"]) < 0).all()
        assert model.C_ > 0.01
        # learned again from all rows
        assert model.objective_ == pytest.approx(
            direct_objective(model, X[:1000], y[:1000], model.C_), rel=1e-3, abs=2e-6
        )
        alone = kind(C=model.C_, **SETTINGS).fit(X[:1000], y[:1000])
        assert alone.objective_ == pytest.approx(model.objective_, rel=0.01)
        assert model.score(X[1000:], y[1000:]) > 0.85

    def test_path_of_several_classes_beyond_memory(self, trainings):
        X, y = blobs(1500, 3, 3, seed=3)
        model = ASSETClassifier(C=[0.01, 1.0, 10.0], memory="64KB", n_components=60, gamma=0.2, random_state=0)
        assert model.fit(X, y).score(X, y) > 0.65
        assert isinstance(trainings[0].problem.rows, ComputedRows)
        assert model.path_["C"][model.path_["validation_score"].argmax()] == model.C_

    def test_a_path_of_one(self, binary):
        assert ASSETClassifier(C=np.array([3.0]), **SETTINGS).fit(*binary).C_ == 3.0

    @each_solver
    @each_kind
    @pytest.mark.parametrize("memory", ["4GB", "64KB"])
    def test_early_stopping(self, binary, smooth, kind, solver, memory, trainings):
        X, y = task_of(kind, binary, smooth)
        model = kind(
            solver=solver, C=100, early_stopping=True, n_iter_no_change=2, max_iter=100, memory=memory, **SETTINGS
        )
        model.fit(X, y)
        (training,) = trainings
        weights = model._in_units_of_solver(model._weights)
        found = model.quality(*validation_scores(training, weights))
        assert model.best_validation_score_ == pytest.approx(found, rel=1e-6)
        if solver != "asset*":  # whose first steps are as long as the penalty is small
            assert model.best_validation_score_ > 0.8
        # ASSET* takes ever smaller steps, which may gain a little for ever
        assert model.n_iter_ < 100 or solver == "asset*"

    def test_early_stopping_tells_the_objective_of_the_best(self, binary, trainings):
        for solver in SOLVERS:
            model = ASSETClassifier(solver=solver, C=100, early_stopping=True, n_iter_no_change=1, **SETTINGS)
            model.fit(*binary)
            problem = trainings[-1].problem
            problem = problem._replace(penalty=1 / (100 * problem.n_rows))
            objectives = problem.objectives(problem.point_at(model._weights))
            assert model.objective_ == pytest.approx(objectives[0], rel=1e-4)

    def test_a_fit_forgets_the_results_of_another(self, binary):
        model = ASSETClassifier(C=[1.0, 2.0], **SETTINGS).fit(*binary)
        assert hasattr(model, "path_")
        model.set_params(C=1.0, early_stopping=True).fit(*binary)
        assert not hasattr(model, "path_")
        assert not hasattr(model, "C_")
        model.set_params(early_stopping=False).fit(*binary)
        assert not hasattr(model, "best_validation_score_")


class TestStream:
    @each_map
    @each_kind
    @pytest.mark.parametrize("solver", ["asset", "asset*"])
    def test_any_batches(self, binary, smooth, kind, feature_map, solver):
        """With a Fourier map, the length of steps is estimated from the first batch, which is therefore the same."""
        X, y = task_of(kind, binary, smooth)
        X, y = X[:500], y[:500]
        first = 100 if feature_map == "fourier" else 1
        classes = {"classes": [0, 1]} if kind is ASSETClassifier else {}
        models = []
        for size in (1, 7, 64, 500):
            model = kind(feature_map, solver=solver, **SETTINGS)
            cuts = [0, first, *range(first + size, 500, size), 500]
            for start, end in zip(cuts, cuts[1:], strict=False):
                if start == 0:
                    model.partial_fit(X[:end], y[:end], **classes)
                else:
                    model.partial_fit(X[start:end], y[start:end])
            models.append(model)
        scale = np.abs(decisions(models[0], X)).max()
        for model in models[1:]:
            assert model.t_ == models[0].t_ == 500
            np.testing.assert_allclose(decisions(model, X), decisions(models[0], X), atol=1e-3 * scale)

    @each_map
    def test_learns_classes(self, binary, feature_map):
        X, y = binary
        model = ASSETClassifier(feature_map, **SETTINGS)
        for _ in range(5):
            for start in range(0, 1000, 50):
                model.partial_fit(X[start : start + 50], y[start : start + 50], classes=[0, 1])
        assert model.t_ == 5000
        assert model.score(X[1000:], y[1000:]) > 0.85

    @each_map
    def test_learns_values(self, smooth, feature_map):
        X, y = smooth
        model = ASSETRegressor(feature_map, **SETTINGS)
        for _ in range(10):
            for start in range(0, 1000, 50):
                model.partial_fit(X[start : start + 50], y[start : start + 50])
        assert model.score(X[1000:], y[1000:]) > 0.8

    @each_kind
    def test_landmarks_are_the_first_examples(self, binary, smooth, kind):
        X, y = task_of(kind, binary, smooth)
        model = kind(**SETTINGS)
        for n in range(1, 71):
            if kind is ASSETClassifier:
                model.partial_fit(X[n - 1 : n], y[n - 1 : n], classes=[0, 1])
            else:
                model.partial_fit(X[n - 1 : n], y[n - 1 : n])
            n_landmarks = 60 if n >= 60 else 2 ** int(np.log2(n))
            np.testing.assert_array_equal(model.landmarks_, X[:n_landmarks].astype(np.float32))
            assert model.t_ == n
            assert np.isfinite(decisions(model, X[:5])).all()

    def test_weight_zero_is_no_example(self, binary):
        X, y = binary
        kept = np.arange(500) % 3 != 0
        some, few = (ASSETClassifier(**SETTINGS) for _ in range(2))
        some.partial_fit(X[:500], y[:500], sample_weight=kept.astype(float))
        few.partial_fit(X[:500][kept], y[:500][kept])
        np.testing.assert_array_equal(some.coef_, few.coef_)

    @each_map
    @each_kind
    def test_a_pickle_goes_on(self, binary, smooth, kind, feature_map):
        X, y = task_of(kind, binary, smooth)
        for n_before in (30, 200):  # before there are all landmarks, and after
            model = kind(feature_map, **SETTINGS).partial_fit(X[:n_before], y[:n_before])
            copy = pickle.loads(pickle.dumps(model))
            for each in (model, copy):
                each.partial_fit(X[n_before:400], y[n_before:400])
            np.testing.assert_array_equal(copy.coef_, model.coef_)
            np.testing.assert_array_equal(copy.intercept_, model.intercept_)
            np.testing.assert_array_equal(decisions(copy, X), decisions(model, X))

    @each_solver
    @each_kind
    def test_goes_on_after_fit(self, binary, smooth, kind, solver):
        X, y = task_of(kind, binary, smooth)
        model = kind(solver=solver, **SETTINGS).fit(X[:1000], y[:1000])
        before = model.coef_
        copy = pickle.loads(pickle.dumps(model))
        for each in (model, copy):
            each.partial_fit(X[1000:1250], y[1000:1250]).partial_fit(X[1250:], y[1250:])
        assert model.t_ == 1500
        assert not np.array_equal(model.coef_, before)
        np.testing.assert_array_equal(copy.coef_, model.coef_)
        assert model.score(X, y) > 0.8

    def test_one_example_after_fit_changes_little(self, smooth):
        X, y = smooth
        model = ASSETRegressor(C=10, **SETTINGS).fit(X, y)
        assert model.partial_fit(X[:1], [0.1001]).score(X, y) > 0.5

    def test_fit_begins_anew(self, binary):
        X, y = binary
        fresh = ASSETClassifier(**SETTINGS).fit(X, y)
        used = ASSETClassifier(**SETTINGS).partial_fit(X[:300], 1 - y[:300]).fit(X, y)
        np.testing.assert_array_equal(used.coef_, fresh.coef_)
        used.partial_fit(X[:10], y[:10]).fit(X, y)
        np.testing.assert_array_equal(used.coef_, fresh.coef_)
        assert used.t_ == len(X)

    @pytest.mark.parametrize("average", ["suffix", 100, False])
    def test_averages(self, binary, average):
        X, y = binary
        model = ASSETClassifier(solver="asset", average=average, **SETTINGS)
        assert model.fit(X, y).score(X, y) > 0.85
        model.partial_fit(X, y)
        assert model.score(X, y) > 0.75

    def test_query_and_teach(self, binary):
        X, y = binary
        model = ASSETClassifier(C=10, **SETTINGS).fit(X[:500], y[:500])
        found = model.query(X[500:], 20)
        assert np.abs(model.decision_function(X[500:][found])).max() < 0.2
        assert model.teach(X[500:][found], y[500:][found]).t_ == 520


def in_batches(X, y, n_batches, weights=None):
    parts = [X, y] if weights is None else [X, y, weights]
    return list(zip(*(np.array_split(part, n_batches) for part in parts), strict=True))


class TestBatches:
    @each_solver
    @each_map
    @each_kind
    def test_fit_batches_is_fit(self, binary, smooth, kind, feature_map, solver, trainings):
        X, y = task_of(kind, binary, smooth)
        model = kind(feature_map, solver=solver, C=10, memory="64KB", structured=False, **SETTINGS)
        by_batches = clone(model).fit_batches(in_batches(X, y, 7))
        assert isinstance(trainings[0].problem.rows, ComputedRows)
        whole = clone(model).fit(X, y)
        assert by_batches.n_features_in_ == 2
        assert by_batches.t_ == 1500
        assert by_batches.n_iter_ >= 1
        tolerance = {"newton": 0.1, "asset": 0.5, "asset*": 1.0}[solver]
        # landmarks and frequencies are not the same; few frequencies are good or bad by chance
        if feature_map == "nystroem":
            assert by_batches.objective_ == pytest.approx(whole.objective_, rel=tolerance)
        assert by_batches.score(X, y) > whole.score(X, y) - 0.05

    def test_objective(self, binary):
        X, y = binary
        weights = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
        model = ASSETClassifier(C=5, memory="64KB", **SETTINGS).fit_batches(in_batches(X, y, 4, weights))
        assert model.objective_ == pytest.approx(direct_objective(model, X, y, 5, weights), rel=1e-3)
        assert 0 <= model.suboptimality_bound_ < 0.02 * model.objective_

    def test_gamma_is_that_of_all_rows(self, binary):
        X, y = binary
        model = ASSETClassifier(n_components=20, gamma="scale").fit_batches(in_batches(X, y, 4))
        assert model.gamma_ == pytest.approx(1 / X.var(axis=0).sum())

    def test_sources(self, binary):
        X, y = binary
        batches = in_batches(X, y, 3)

        def generator():
            yield from batches

        found = [
            ASSETClassifier(**SETTINGS).fit_batches(source).coef_
            for source in (
                batches,
                tuple(batches),
                generator,
                [(csr_array(X), y) for X, y in batches],
                [(X.tolist(), y.tolist()) for X, y in batches],
                [(X, y, np.ones(len(y))) for X, y in batches],
            )
        ]
        for each in found[1:]:
            np.testing.assert_allclose(each, found[0], rtol=0.05, atol=0.05)

    def test_several_classes_and_class_weight(self):
        X, y = blobs(1500, 3, 3, seed=3)
        names = np.array(["ash", "beech", "cedar"])[y]
        model = ASSETClassifier(class_weight="balanced", n_components=60, gamma=0.2, random_state=0)
        assert model.fit_batches(in_batches(X, names, 4)).score(X, names) > 0.65
        assert list(model.classes_) == ["ash", "beech", "cedar"]

    @each_kind
    def test_goes_on(self, binary, smooth, kind):
        X, y = task_of(kind, binary, smooth)
        model = kind(**SETTINGS).fit_batches(in_batches(X[:1000], y[:1000], 3))
        assert model.partial_fit(X[1000:], y[1000:]).t_ == 1500

    @pytest.mark.parametrize("memory", ["1MB", "20KB", "1KB"])
    @each_kind
    def test_memory(self, binary, smooth, kind, memory, trainings):
        X, y = task_of(kind, binary, smooth)
        model = kind(C=5, memory=memory, **SETTINGS).fit(X, y)
        needed = 4 * 1500 * 60
        assert isinstance(trainings[0].problem.rows, ComputedRows) == (memory != "1MB")
        assert needed < 2**20
        sample = trainings[0].sample
        assert memory == "1MB" or 4 * sample.rows.block.size <= {"20KB": 20, "1KB": 1}[memory] * 2**10 / 4
        rich = kind(C=5, **SETTINGS).fit(X, y)
        np.testing.assert_array_equal(rich.landmarks_, model.landmarks_)
        assert model.objective_ == pytest.approx(rich.objective_, rel=0.01)
