"""The low-rank one-class SVM: the objective of the exact one, its bound, scores, and what is refused."""

import numpy as np
import pytest
from scikit_learn_contract import scikit_learn_checks
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import OneClassSVM

from frugalsvm import ASSETOneClassSVM
from frugalsvm.export import plain_model
from frugalsvm.persist import load, save

GAMMA = 0.2
SMALL = {"n_components": 64, "gamma": GAMMA, "random_state": 0}


OTHER_ROWS = "other rows make other landmarks, and the solver stops near the optimum; test_weights_are_repetitions"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": OTHER_ROWS,
    "check_sample_weight_equivalence_on_sparse_data": OTHER_ROWS,
}


@scikit_learn_checks([ASSETOneClassSVM(n_components=50)], lambda estimator: EXPECTED_FAILURES)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(1000, 3))


def objective(X, vectors, coefficients, offset, nu, weights=None):
    """That of Schoelkopf et al. (2001) in plain numpy, with the exact kernel."""
    K, among = rbf_kernel(X, vectors, gamma=GAMMA), rbf_kernel(vectors, gamma=GAMMA)
    below = np.average(np.maximum(0.0, offset - K @ coefficients), weights=weights)
    return 0.5 * coefficients @ among @ coefficients - offset + below / nu


def objective_of(model, X, weights=None):
    landmarks = np.asarray(model.landmarks_, np.float64)
    return objective(X, landmarks, model.dual_coef_[0], model.offset_, model.nu, weights)


def exact_objective(X, nu):
    exact, scale = OneClassSVM(nu=nu, gamma=GAMMA, tol=1e-6).fit(X), nu * len(X)
    return objective(X, exact.support_vectors_, exact.dual_coef_[0] / scale, exact.offset_[0] / scale, nu)


@pytest.mark.parametrize("nu", [0.9, 0.5, 0.1, 0.02])
def test_the_objective_is_nearly_the_exact_one(X, nu):
    model = ASSETOneClassSVM(nu, n_components=256, gamma=GAMMA, random_state=0).fit(X)
    assert objective_of(model, X) == pytest.approx(exact_objective(X, nu), rel=0.02)
    assert model.objective_ == pytest.approx(objective_of(model, X), rel=1e-3)


def test_landmarks_at_the_border_count_where_nu_is_small(X):
    spread, border = (
        ASSETOneClassSVM(0.02, landmarks=landmarks, **SMALL).fit(X) for landmarks in ("kmeans++", "border")
    )
    best = exact_objective(X, 0.02)
    assert objective_of(border, X) - best < 0.2 * (objective_of(spread, X) - best)
    assert len(border.landmarks_) == 64
    low = np.sort(border.score_samples(X))[: len(X) // 10].max()
    assert np.mean(border.score_samples(border.landmarks_) <= low) > 0.4
    assert border.n_iter_ > spread.n_iter_


def test_the_bound_is_one(X):
    """With a landmark for each row, nothing is lost but rounding."""
    model = ASSETOneClassSVM(0.3, n_components=len(X), gamma=GAMMA, random_state=0).fit(X)
    assert 0 <= model.suboptimality_bound_ < 0.02 * abs(model.objective_)
    assert model.objective_ - model.suboptimality_bound_ <= exact_objective(X, 0.3) + 1e-5


def test_scores_are_those_of_the_exact_one(X):
    exact = OneClassSVM(nu=0.3, gamma=GAMMA, tol=1e-6).fit(X)
    model = ASSETOneClassSVM(0.3, n_components=256, gamma=GAMMA, random_state=0).fit(X)
    np.testing.assert_allclose(model.score_samples(X) * 0.3 * len(X), exact.score_samples(X), rtol=0.02)
    np.testing.assert_allclose(model.decision_function(X), model.score_samples(X) - model.offset_, atol=1e-12)
    assert np.mean(model.predict(X) == exact.predict(X)) > 0.99
    assert np.mean(model.predict(X) < 0) == pytest.approx(0.3, abs=0.02)


def test_weights_are_repetitions(X):
    weights = np.random.default_rng(1).integers(0, 3, len(X))
    weighted = ASSETOneClassSVM(0.3, **SMALL).fit(X, sample_weight=weights)
    repeated = np.repeat(X, weights, axis=0)
    assert weighted.objective_ == pytest.approx(objective_of(weighted, X, weights), rel=1e-3)
    assert weighted.objective_ == pytest.approx(objective_of(weighted, repeated), rel=1e-3)
    assert np.mean(weighted.predict(repeated) < 0) == pytest.approx(0.3, abs=0.03)


@pytest.mark.parametrize("feature_map", ["nystroem", "fourier"])
def test_sparse_rows_and_both_maps(X, feature_map):
    dense = ASSETOneClassSVM(0.2, feature_map=feature_map, **SMALL).fit(X)
    sparse = ASSETOneClassSVM(0.2, feature_map=feature_map, **SMALL).fit(csr_array(X))
    np.testing.assert_allclose(sparse.decision_function(csr_array(X)), dense.decision_function(X), atol=1e-3)
    assert (dense.predict(np.full((1, 3), 8.0)) == -1).all()


def test_files_and_exports(X, tmp_path):
    model = ASSETOneClassSVM(0.2, **SMALL).fit(X)
    for for_prediction in (False, True):
        save(model, tmp_path / "model.frugal", for_prediction=for_prediction)
        found = load(tmp_path / "model.frugal").decision_function(X)
        np.testing.assert_allclose(found, model.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(plain_model(model).decision_function(X), model.decision_function(X), atol=1e-5)


def test_what_it_has_not():
    assert not hasattr(ASSETOneClassSVM(), "fit_batches")
    assert not hasattr(ASSETOneClassSVM(), "partial_fit")


def test_landmarks_of_your_own():
    X = np.random.default_rng(0).normal(size=(300, 2))
    model = ASSETOneClassSVM(0.1, landmarks=X[:20], random_state=0).fit(X)
    np.testing.assert_allclose(model.landmarks_, X[:20], atol=1e-6)
    assert np.mean(model.predict(X) < 0) == pytest.approx(0.1, abs=0.02)
