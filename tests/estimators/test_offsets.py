"""An offset of the features changes no kernel of differences, so that it must not change a model."""

import warnings
from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from frugalsvm import (
    ASSETClassifier,
    ASSETRegressor,
    BPAClassifier,
    BSGDClassifier,
    BudgetedPerceptron,
    IncrementalSVC,
    LASVMClassifier,
    TrackingSVC,
    TVMClassifier,
    load,
    save,
)
from frugalsvm.export import plain_model
from frugalsvm.pipelines import StreamPipeline

ESTIMATORS = {
    "bsgd": BSGDClassifier(random_state=0),
    "bsgd-project": BSGDClassifier(maintenance="project", budget=50, random_state=0),
    "perceptron": BudgetedPerceptron(random_state=0),
    "bpa": BPAClassifier(random_state=0),
    "lasvm": LASVMClassifier(random_state=0),
    "tracking": TrackingSVC(random_state=0),
    "incremental": IncrementalSVC(),
    "tvm": TVMClassifier(budget=50, random_state=0),
    "asset": ASSETClassifier(n_components=100, random_state=0),
    "asset-steps": ASSETClassifier(n_components=100, solver="asset", max_iter=3, random_state=0),
}
FAR = [(1e6, np.float64), (1e3, np.float32)]  # standard deviations


@pytest.fixture(scope="module")
def problem():
    X, y = make_classification(2400, 8, n_informative=5, flip_y=0.1, random_state=0)
    return X, y


def moved(X, n_deviations, dtype):
    """Rows with other offsets for the features, up and down."""
    signs = np.where(np.arange(X.shape[1]) % 3 == 0, -1, 1)
    return (X + n_deviations * X.std(axis=0) * signs).astype(dtype)


# Learners see neither offsets nor scales: single precision with these is machine code for these tests alone.
SINGLE_PRECISION = dict.fromkeys(("bsgd-project", "perceptron", "tracking"), pytest.mark.slow)
CASES = [
    pytest.param(*far, name, marks=SINGLE_PRECISION.get(name, ()) if far == FAR[1] else ())
    for far in FAR
    for name in ESTIMATORS
]


@pytest.mark.parametrize(("n_deviations", "dtype", "name"), CASES)
def test_fit_and_partial_fit(problem, name, n_deviations, dtype):
    X, y = problem
    accuracies, gammas = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rows in (X.astype(dtype), moved(X, n_deviations, dtype)):
            fitted = clone(ESTIMATORS[name]).fit(rows[:800], y[:800])
            streamed = clone(ESTIMATORS[name])
            for start in range(0, 800, 100):
                streamed.partial_fit(rows[start : start + 100], y[start : start + 100], classes=[0, 1])
            accuracies.append([model.score(rows[800:], y[800:]) for model in (fitted, streamed)])
            gammas.append(fitted.gamma_)
    np.testing.assert_allclose(accuracies[1], accuracies[0], atol=0.004)
    assert gammas[1] == pytest.approx(gammas[0], rel=1e-4)


@pytest.mark.parametrize("structured", [True, False])
@pytest.mark.parametrize(("n_deviations", "dtype"), FAR)
def test_fourier_features(problem, structured, n_deviations, dtype):
    """They are another draw of the map then, so that accuracies differ by chance: more components, less chance."""
    X, y = problem
    model = ASSETClassifier("fourier", 1000, structured=structured, random_state=0)
    near, far = (
        clone(model).fit(rows[:800], y[:800]).score(rows[800:], y[800:])
        for rows in (X.astype(dtype), moved(X, n_deviations, dtype))
    )
    assert far == pytest.approx(near, abs=0.01)


@pytest.mark.parametrize(("n_deviations", "dtype"), FAR)
def test_regressor_and_batches(problem, n_deviations, dtype):
    X, _ = problem
    target = np.sin(X[:, 0]) + X[:, 1]
    model = ASSETRegressor(n_components=100, random_state=0)
    scores = []
    for rows in (X.astype(dtype), moved(X, n_deviations, dtype)):
        batches = [(rows[start : start + 200], target[start : start + 200]) for start in range(0, 800, 200)]
        for fitted in (clone(model).fit(rows[:800], target[:800]), clone(model).fit_batches(batches)):
            scores.append(fitted.score(rows[800:], target[800:]))
    np.testing.assert_allclose(scores[2:], scores[:2], atol=0.002)


def test_as_good_as_svc_on_the_case_that_was_found():
    X, y = make_classification(3000, 8, n_informative=5, flip_y=0.1, random_state=0)
    X = X + 1000
    model = ASSETClassifier(random_state=0).fit(X[:2000], y[:2000])
    assert model.score(X[2000:], y[2000:]) > SVC().fit(X[:2000], y[:2000]).score(X[2000:], y[2000:]) - 0.01
    values = rbf_kernel(X, model.landmarks_, gamma=model.gamma_) @ model.dual_coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), values[:, 0], atol=1e-3)


@pytest.mark.parametrize("name", ["bsgd", "lasvm", "incremental", "tvm"])
def test_published_vectors_are_rows_as_users_know_them(problem, name):
    X, y = problem
    rows = moved(X, 1e6, np.float64)
    model = clone(ESTIMATORS[name]).fit(rows[:300], y[:300])
    centre = np.median(rows, axis=0)
    values = rbf_kernel(rows - centre, model.support_vectors_ - centre, gamma=model.gamma_) @ model.dual_coef_.T
    np.testing.assert_allclose(model.decision_function(rows), (values + model.intercept_)[:, 0], atol=1e-4)
    if name == "tvm":
        assert np.abs(model.twin_vectors_ - centre).max() < np.abs(rows - centre).max() * 1.01


class TestStreamsThatMove:
    # One of each two that share their code gets single rows, the other batches; the others way round are slow tests.
    @pytest.mark.parametrize(
        ("name", "size"),
        [
            *product(["bsgd", "lasvm", "asset"], [1]),
            *product(["perceptron", "tracking", "fourier"], [50]),
            *(pytest.param(*each, marks=pytest.mark.slow) for each in product(["bsgd", "lasvm", "asset"], [50])),
            *(
                pytest.param(*each, marks=pytest.mark.slow)
                for each in product(["perceptron", "tracking", "fourier"], [1])
            ),
        ],
    )
    def test_model_follows(self, problem, name, size):
        """The stream jumps from zero to a place where float32 alone is lost: the model is as good as in float64."""
        X, y = problem
        # Landmarks are the first rows and stay: there, the stream begins far away.
        start, stop = (0, 150) if name in ("asset", "fourier") else (200, 700)
        far = X.copy()
        far[start:] += 1e4
        model = ASSETClassifier("fourier", 300, random_state=0) if name == "fourier" else clone(ESTIMATORS[name])
        model.set_params(gamma=0.05)
        scores = []
        for rows in (far.astype(np.float64), far.astype(np.float32)):
            model = clone(model)
            for first in range(0, stop, size):
                model.partial_fit(rows[first : first + size], y[first : first + size], classes=[0, 1])
            assert model._origin.is_zero == (rows.dtype == np.float64 and name not in ("asset", "fourier"))
            scores.append(model.score(rows[1000:], y[1000:]))
        near = clone(model)
        for first in range(start, stop, size):
            near.partial_fit(X[first : first + size], y[first : first + size], classes=[0, 1])
        assert scores[1] > scores[0] - 0.03
        assert scores[1] > near.score(X[1000:], y[1000:]) - 0.1

    def test_the_fast_way_for_single_rows_is_the_same(self, problem):
        X, y = problem
        rows = X.astype(np.float32)
        rows[200:] += np.float32(1e4)
        fast, slow = (StreamPipeline(BSGDClassifier(gamma=0.05), scale=False, warmup_rows=50) for _ in range(2))
        for row, label in zip(rows[:400], y[:400], strict=True):
            fast.learn_one_row(row, label)
            slow.partial_fit(row[None], [label])
        assert not fast.estimator_._origin.is_zero
        assert np.array_equal(fast.decision_function(rows), slow.decision_function(rows))
        one_by_one = [fast.predict_one_row(row) for row in rows[300:400]]
        assert np.array_equal(one_by_one, slow.predict(rows[300:400]))

    def test_a_failure_leaves_the_model_as_it_was(self, problem, monkeypatch):
        X, y = problem
        model = BSGDClassifier(gamma=0.05).partial_fit(X[:100].astype(np.float32), y[:100])
        before = model.decision_function(X)
        monkeypatch.setattr(BSGDClassifier, "_learn", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            model.partial_fit(X[100:200] + 1e4, y[100:200])
        assert np.array_equal(model.decision_function(X), before)

    def test_exact_learners_say_that_they_stay(self, problem):
        X, y = problem
        model = IncrementalSVC(gamma=0.05).partial_fit(X[:100], y[:100])
        with pytest.warns(UserWarning, match="call fit again"):
            model.partial_fit(X[100:200] + 1e9, y[100:200])


class TestEdges:
    def test_saved_models(self, problem, tmp_path):
        X, y = problem
        rows = moved(X, 1e3, np.float32)
        for name in ("bsgd", "lasvm", "asset"):
            model = clone(ESTIMATORS[name]).fit(rows[:300], y[:300])
            save(model, tmp_path / "model.frugal")
            again = load(tmp_path / "model.frugal")
            assert np.array_equal(again.decision_function(rows), model.decision_function(rows))

    @pytest.mark.parametrize("name", ["bsgd", "incremental", "asset"])
    def test_exports(self, problem, name):
        X, y = problem
        rows = moved(X, 1e6, np.float64)
        model = clone(ESTIMATORS[name]).fit(rows[:300], y[:300])
        np.testing.assert_allclose(plain_model(model).values(rows)[:, 0], model.decision_function(rows), atol=1e-3)

    def test_unlearning_finds_rows(self, problem):
        X, y = problem
        rows = moved(X, 1e6, np.float64)
        model = IncrementalSVC().fit(rows[:100], y[:100])
        assert model.unlearn(rows[10:20], y[10:20]).n_examples_ == 90

    def test_sparse_rows(self, problem):
        X, y = problem
        rows = moved(X, 1e3, np.float32)
        dense = BSGDClassifier(random_state=0).fit(rows[:300], y[:300])
        np.testing.assert_array_equal(dense.decision_function(csr_matrix(rows)), dense.decision_function(rows))
        with pytest.warns(UserWarning, match="X is sparse, but its features are far from zero"):
            BSGDClassifier(random_state=0).fit(csr_matrix(rows)[:300], y[:300])

    def test_rows_that_float32_cannot_carry(self, problem):
        X, y = problem
        for model in (BSGDClassifier(), LASVMClassifier(), ASSETClassifier(n_components=20)):
            with pytest.warns(UserWarning, match="rounded to float32"):
                model.fit((X[:300] + 1e6).astype(np.float32), y[:300])

    @pytest.mark.parametrize(
        ("factor", "dtype", "name"),
        [
            *(pytest.param(1e30, np.float32, name, marks=SINGLE_PRECISION.get(name, ())) for name in ESTIMATORS),
            *((1e200, np.float64, name) for name in ESTIMATORS),
        ],
    )
    def test_rows_whose_squares_overflow(self, problem, name, factor, dtype):
        X, y = problem
        huge = (X[:50].astype(np.float64) * factor).astype(dtype)
        if name in ("incremental", "tvm") and dtype == np.float32:
            clone(ESTIMATORS[name]).fit(huge, y[:50])  # in float64 there is room
            return
        with pytest.raises(ValueError, match=r"X has values as large as .*: scale the features"):
            clone(ESTIMATORS[name]).fit(huge, y[:50])
        model = clone(ESTIMATORS[name]).fit(X[:50].astype(dtype), y[:50])
        with pytest.raises(ValueError, match="X has values as large as"):
            model.predict(huge)

    def test_rows_whose_kernel_values_overflow(self, problem):
        X, y = problem
        X, y = X[:50].astype(np.float32), y[:50]
        model = BSGDClassifier(budget=20, kernel="poly", degree=9, gamma=1.0, maintenance="remove", random_state=0)
        for rows in (X * np.float32(1e5), csr_matrix(X.astype(np.float64) * 1e50)):
            with pytest.raises(ValueError, match=r"values of the polynomial kernel as large as .*: scale the features"):
                clone(model).fit(rows, y)
        scores = model.fit(X, y).decision_function(X)
        with pytest.raises(ValueError, match="too large for float32"):
            model.partial_fit(X * np.float32(1e5), y)
        np.testing.assert_array_equal(model.decision_function(X), scores)

    def test_rows_too_small_for_gamma(self, problem):
        X, y = problem
        with pytest.raises(ValueError, match="features are that small"):
            BSGDClassifier().fit((X[:50] * 1e-30).astype(np.float32), y[:50])
