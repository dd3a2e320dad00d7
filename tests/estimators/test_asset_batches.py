"""ASSETClassifier and ASSETRegressor: paths of C, early stopping, streams and batches."""

import pickle

import numpy as np
import pytest
from asset_support import (
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
from support import blobs

from frugalsvm import ASSETClassifier, ASSETRegressor
from frugalsvm.estimators import low_rank_machine
from frugalsvm.lowrank.backends.compiled import ComputedRows
from frugalsvm.lowrank.training import new_training, validation_scores


@pytest.fixture(scope="module")
def binary():
    return high_or_low()


@pytest.fixture(scope="module")
def smooth():
    return wave(1500, 2)


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

    @each_kind
    def test_rows_of_weight_zero_in_batches_are_none(self, binary, smooth, kind):
        X, y = task_of(kind, binary, smooth)
        X, y, counts = X[:600], y[:600], np.arange(600) % 5 > 0
        counts[:200] = False
        far = np.where(counts[:, None], X, 1000.0)
        parts = [slice(start, start + 200) for start in (0, 200, 400)]
        model = kind(n_components=20, gamma="scale", C=1.0, random_state=0)
        found = clone(model).fit_batches([(far[part], y[part], counts[part].astype(float)) for part in parts])
        expected = clone(model).fit_batches([(X[part][counts[part]], y[part][counts[part]]) for part in parts[1:]])
        np.testing.assert_allclose(decisions(found, X), decisions(expected, X), atol=1e-5)
        with pytest.raises(ValueError, match="All weights are zero"):
            clone(model).fit_batches([(X, y, np.zeros(600))])

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
