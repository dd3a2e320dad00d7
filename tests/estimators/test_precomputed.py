"""``kernel="precomputed"``: the same models as with the rows themselves."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC
from support import blobs

from frugalsvm import IncrementalSVC, LASVMClassifier, TrackingSVC, save
from frugalsvm.persist import ModelFileError

GAMMA = 0.3
MODELS = {
    "lasvm": LASVMClassifier("lasvm", max_iter=5, tol=1e-4, random_state=0),
    "nc": LASVMClassifier("nc", random_state=0),
    "tracking": TrackingSVC(random_state=0),
    "incremental": IncrementalSVC(),
}
each_model = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in ("nc", "tracking") else []) for name in MODELS]
)


@pytest.fixture(scope="module", params=[2, 3])
def rows(request):
    X, y = blobs(150, 3, request.param, seed=1)
    return X, y, rbf_kernel(X, X, gamma=GAMMA)


def clone_of(name, **parameters):
    model = MODELS[name]
    return type(model)(**{**model.get_params(), **parameters})


@each_model
def test_like_the_rows_themselves(rows, name, tmp_path):
    X, y, K = rows
    plain = clone_of(name, gamma=GAMMA).fit(X[:100], y[:100])
    given = clone_of(name, kernel="precomputed").fit(K[:100, :100], y[:100])
    expected = plain.decision_function(X)
    np.testing.assert_allclose(given.decision_function(K[:, :100]), expected, atol=1e-3 * np.abs(expected).max())
    np.testing.assert_allclose(given.decision_function(csr_array(K[:, :100])), given.decision_function(K[:, :100]))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(given)).predict(K[:, :100]), given.predict(K[:, :100]))
    with pytest.raises(ModelFileError, match=r"Precomputed of .* cannot be saved"):
        save(given, tmp_path / "model.frugal")


@pytest.mark.parametrize("name", ["lasvm", "incremental"])
def test_like_svc(rows, name):
    _, y, K = rows
    is_second = (y == 1).astype(int)
    exact = SVC(kernel="precomputed", C=1.0).fit(K, is_second)
    model = clone_of(name, kernel="precomputed", C=1.0).fit(K, is_second)
    np.testing.assert_allclose(model.decision_function(K), exact.decision_function(K), atol=1e-2)


def test_cross_validation_cuts_rows_and_columns(rows):
    X, y, K = rows
    given = cross_val_score(clone_of("incremental", kernel="precomputed"), K, y, cv=3)
    np.testing.assert_allclose(given, cross_val_score(clone_of("incremental", gamma=GAMMA), X, y, cv=3), atol=1e-9)


def test_examples_are_unlearned_by_their_ids(rows):
    _, y, K = rows
    model = clone_of("incremental", kernel="precomputed").fit(K, y).unlearn([3, 7])
    kept = np.setdiff1d(np.arange(150), [3, 7])
    other = clone_of("incremental", kernel="precomputed").fit(K[np.ix_(kept, kept)], y[kept])
    np.testing.assert_allclose(model.decision_function(K), other.decision_function(K[:, kept]), atol=1e-6)


def test_refusals(rows):
    X, y, K = rows
    model = clone_of("lasvm", kernel="precomputed")
    with pytest.raises(ValueError, match="X has 150 rows and 3 columns"):
        model.fit(X, y)
    with pytest.raises(ValueError, match="X is not symmetric"):
        model.fit(np.triu(K), y)
    with pytest.raises(ValueError, match="call fit with those of all rows"):
        model.partial_fit(K, y)
    with pytest.raises(ValueError, match="metric needs the rows themselves"):
        clone_of("lasvm", kernel="precomputed", metric="auto").fit(K, y)
    with pytest.raises(ValueError, match="calibrate needs the rows themselves"):
        clone_of("incremental", kernel="precomputed", calibrate="platt").fit(K, y)
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 150"):
        clone_of("incremental", kernel="precomputed").fit(K, y).predict(X)
