"""Feature maps as transformers, landmarks of one's own, and kernels that are functions of one's own."""

import pickle

import numpy as np
import pytest
from scikit_learn_contract import scikit_learn_checks
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from support import blobs

from frugalsvm import ASSETClassifier, ASSETRegressor, FourierMap, NystroemMap, save
from frugalsvm.persist import ModelFileError

GAMMA = 0.1


@pytest.fixture(scope="module")
def rows():
    X, y = blobs(300, 4, 2, seed=1)
    return X + 50.0, y  # so far away that kernels of differences need an origin


def kernel(A, B):
    return rbf_kernel(np.asarray(A), np.asarray(B), gamma=GAMMA)


def projected(X, Z, kernel=kernel):
    """Kernel values of rows projected on landmarks."""
    return kernel(X, Z) @ np.linalg.pinv(kernel(Z, Z), rcond=1e-7) @ kernel(Z, X)


class TestNystroemMap:
    @pytest.mark.parametrize("landmarks", ["uniform", "kmeans++", "kmeans"])
    def test_inner_products(self, rows, landmarks):
        X, _ = rows
        made = NystroemMap(40, gamma=GAMMA, landmarks=landmarks, random_state=0).fit(X)
        F = made.transform(X)
        assert F.dtype == np.float32
        assert F.shape == (300, made.n_components_)
        assert made.components_.shape == (40, 4)
        np.testing.assert_allclose(F @ F.T, projected(X, made.components_), atol=1e-3)

    def test_landmarks_of_ones_own(self, rows):
        X, _ = rows
        made = NystroemMap(gamma=GAMMA, landmarks=X[:30]).fit(X)
        np.testing.assert_allclose(made.components_, X[:30], rtol=1e-6)
        F = made.transform(X)
        np.testing.assert_allclose(F @ F.T, projected(X, X[:30]), atol=1e-3)

    def test_a_function_of_ones_own(self, rows):
        X = rows[0] - 50.0
        made = NystroemMap(30, kernel=lambda A, B: (linear_kernel(A, B) + 1.0) ** 2, random_state=0).fit(X)
        F = made.transform(X)
        assert made.n_components_ == 15  # all products of two of four features and a one
        np.testing.assert_allclose(F @ F.T, (linear_kernel(X, X) + 1.0) ** 2, rtol=1e-3, atol=1e-2)

    def test_rank(self, rows):
        made = NystroemMap(40, gamma=GAMMA, rank=7, random_state=0).fit(rows[0])
        assert made.transform(rows[0]).shape == (300, 7)
        assert list(made.get_feature_names_out()) == [f"nystroemmap{k}" for k in range(7)]

    def test_sparse_rows(self, rows):
        X = rows[0] * (np.random.default_rng(0).random((300, 4)) < 0.5) / 50.0
        dense, sparse = (NystroemMap(40, random_state=0).fit(each).transform(each) for each in (X, csr_array(X)))
        np.testing.assert_allclose(sparse @ sparse.T, dense @ dense.T, atol=1e-3)

    def test_threads(self, rows):
        X = np.tile(rows[0], (30, 1))
        one, two = (NystroemMap(40, n_jobs=n_jobs, random_state=0).fit(X).transform(X) for n_jobs in (1, 2))
        np.testing.assert_allclose(two, one, atol=1e-5)


class TestFourierMap:
    @pytest.mark.parametrize("structured", [False, True, "auto"])
    def test_inner_products(self, rows, structured):
        X, _ = rows
        F = FourierMap(4096, gamma=GAMMA, structured=structured, random_state=0).fit_transform(X)
        np.testing.assert_allclose(F @ F.T, kernel(X, X), atol=0.1)

    def test_kernels_without_a_spectrum(self, rows):
        with pytest.raises(ValueError, match=r"feature_map='fourier' works with .* not with 'poly'"):
            FourierMap(kernel="poly").fit(rows[0])


@pytest.mark.parametrize("made", [NystroemMap(20, random_state=0), FourierMap(20, random_state=0)])
def test_pickles(rows, made):
    made.fit(rows[0])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(made)).transform(rows[0]), made.transform(rows[0]))


@pytest.mark.parametrize("made", [NystroemMap(150, random_state=0), FourierMap(150, random_state=0)])
def test_a_row_has_the_same_features_in_every_batch(rows, made):
    X = rows[0]
    together = made.fit(X).transform(X)
    for part in (slice(0, 1), slice(7, 20), slice(30, 213)):
        np.testing.assert_array_equal(made.transform(X[part]), together[part])
    np.testing.assert_array_equal(made.transform(X[::-1]), together[::-1])


@scikit_learn_checks([NystroemMap(20, random_state=0), FourierMap(20, random_state=0)], lambda estimator: {})
def test_scikit_learn_checks(estimator, check):
    check(estimator)


class TestMachines:
    """What goes for the maps goes for the machines on top of them."""

    def test_a_function_like_one_of_ours(self, rows):
        X, y = rows
        names = {"n_components": 40, "random_state": 0}
        own, ours = (ASSETClassifier(kernel=k, gamma=GAMMA, **names).fit(X, y) for k in (kernel, "rbf"))
        assert np.corrcoef(own.decision_function(X), ours.decision_function(X))[0, 1] > 0.999
        expected = kernel(X, own.landmarks_) @ own.dual_coef_[0] + own.intercept_
        np.testing.assert_allclose(own.decision_function(X), expected, atol=1e-4)

    def test_a_stream_with_a_function(self, rows):
        X, y = rows
        own, ours = (ASSETClassifier(n_components=40, kernel=k, gamma=GAMMA, random_state=0) for k in (kernel, "rbf"))
        for start in range(0, 300, 50):
            for each in (own, ours):
                each.partial_fit(X[start : start + 50], y[start : start + 50], classes=[0, 1])
        assert np.corrcoef(own.decision_function(X), ours.decision_function(X))[0, 1] > 0.999

    @pytest.mark.parametrize("metric", [None, np.array([1.0, 2.0, 1.0, 0.5])])
    def test_landmarks_of_ones_own(self, rows, metric):
        X, y = rows
        model = ASSETClassifier(gamma=GAMMA, landmarks=X[:30], metric=metric, random_state=0).fit(X, y)
        np.testing.assert_allclose(model.landmarks_, X[:30], rtol=1e-6)
        batches = ASSETClassifier(gamma=GAMMA, landmarks=X[:30], metric=metric, random_state=0)
        batches.fit_batches([(X[:200], y[:200]), (X[200:], y[200:])])
        np.testing.assert_allclose(batches.decision_function(X), model.decision_function(X), atol=2e-2)

    def test_a_stream_with_landmarks_need_not_wait(self, rows):
        X, y = rows
        model = ASSETClassifier(gamma=GAMMA, landmarks=X[200:], random_state=0).partial_fit(X[:50], y[:50])
        np.testing.assert_allclose(model.landmarks_, X[200:], rtol=1e-6)
        assert model.score(X, y) > 0.6

    def test_regression(self, rows):
        X = rows[0] - 50.0
        model = ASSETRegressor(landmarks=X[:100], C=100.0, random_state=0).fit(X, X[:, 0])
        assert model.score(X, X[:, 0]) > 0.9


OWN = {"kernel": kernel}
REFUSED = {
    "metric": ({**OWN, "metric": "auto"}, "kernel function of your own needs metric=None"),
    "device": ({**OWN, "device": "cuda"}, "kernel function of your own needs device='cpu'"),
    "fourier": ({**OWN, "feature_map": "fourier"}, "spectrum of .* a kernel function .* is not known"),
    "shape": ({"kernel": lambda A, B: np.ones((3, 3))}, r"must return numbers of shape \(20, 20\)"),
    "text": ({"kernel": lambda A, B: np.full((len(A), len(B)), "a")}, "must return numbers"),
    "nan": ({"kernel": lambda A, B: np.full((len(A), len(B)), np.nan)}, "returned NaN"),
    "asymmetric": ({"kernel": lambda A, B: kernel(A, B) * np.arange(len(B))}, "is not symmetric"),
    "columns": ({"landmarks": np.ones((3, 2))}, "landmarks have 2 columns, but X has 4 features"),
    "name": ({"landmarks": "x"}, "landmarks='x' is not one of 'uniform', .* nor an array of rows"),
    "vector": ({"landmarks": [1, 2]}, "nor an array of rows"),
    "no landmarks": ({"landmarks": np.ones((3, 4)), "feature_map": "fourier"}, "Fourier features have no landmarks"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(rows, case):
    parameters, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        ASSETClassifier(**{"n_components": 20, "random_state": 0, **parameters}).fit(*rows)


def test_functions_are_not_for_model_files(rows, tmp_path):
    model = ASSETClassifier(n_components=20, kernel=kernel, random_state=0).fit(*rows)
    with pytest.raises(ModelFileError, match="its kernel is a Python function"):
        save(model, tmp_path / "model.frugal")
