"""Novelty detection on streams: scores, alarm rates, p-values, and what is refused."""

import numpy as np
import pytest
from scikit_learn_contract import OTHER_ROWS, scikit_learn_checks
from scipy.sparse import csr_matrix
from sklearn.metrics import roc_auc_score
from sklearn.svm import OneClassSVM

from frugalsvm import BSGDOneClassSVM
from frugalsvm.export import plain_model
from frugalsvm.persist import load, save

N_FEATURES = 3


ONLINE = "an example of weight 2 is one large step of an online learner, not two steps"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": ONLINE,
    "check_sample_weight_equivalence_on_sparse_data": ONLINE,
}


@scikit_learn_checks([BSGDOneClassSVM(budget=30)], lambda estimator: EXPECTED_FAILURES, lambda estimator: OTHER_ROWS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def normal_rows(n_rows, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, N_FEATURES))


def with_anomalies(n_rows, share=0.02, seed=0):
    """Rows, and whether each is an anomaly: far out, all around."""
    rng = np.random.default_rng(seed)
    X, is_odd = rng.normal(size=(n_rows, N_FEATURES)), rng.random(n_rows) < share
    X[is_odd] *= 5.0 / np.linalg.norm(X[is_odd], axis=1, keepdims=True)
    return X, is_odd


def test_anomalies_in_the_stream_score_lowest():
    X, is_odd = with_anomalies(6000)
    model = BSGDOneClassSVM(gamma=0.3)
    scores = []
    for start in range(0, len(X), 100):
        batch = X[start : start + 100]
        scores.append(model.score_samples(batch) if start else np.zeros(100))
        model.partial_fit(batch)
    assert roc_auc_score(~is_odd[500:], np.concatenate(scores)[500:]) > 0.98


def test_it_agrees_with_the_batch_machine():
    """Scores of one pass on a budget are nearly in the order of those of LIBSVM's optimum."""
    X, _ = with_anomalies(4000)
    exact = OneClassSVM(nu=0.3, gamma=0.3).fit(X)
    model = BSGDOneClassSVM(0.3, budget=200, gamma=0.3, random_state=0, max_iter=3).fit(X)
    assert np.corrcoef(exact.score_samples(X), model.score_samples(X))[0, 1] > 0.97
    assert np.mean(exact.predict(X) == model.predict(X)) > 0.93


@pytest.mark.parametrize("nu", [0.05, 0.5])
def test_as_many_training_rows_are_outliers_as_nu_says(nu):
    X = normal_rows(2000)
    model = BSGDOneClassSVM(nu, gamma=0.3, random_state=0).fit(X)
    assert np.mean(model.predict(X) == -1) == pytest.approx(nu, abs=0.002)
    np.testing.assert_array_equal(model.predict(X) == -1, model.decision_function(X) < 0)
    np.testing.assert_allclose(model.decision_function(X), model.score_samples(X) - model.offset_)


class TestAlarmRate:
    def test_it_is_kept_in_every_window_of_a_stationary_stream(self):
        X = normal_rows(60_000)
        model = BSGDOneClassSVM(alarm_rate=0.01, gamma=0.3, budget=50).partial_fit(X[:2000])
        n_alarms = []
        for start in range(2000, len(X), 500):
            batch = X[start : start + 500]
            n_alarms.append(np.sum(model.predict(batch) == -1))
            model.partial_fit(batch)
        in_windows = np.convolve(n_alarms, np.ones(20), "valid")  # of 10 000 rows
        assert in_windows.min() >= 80
        assert in_windows.max() <= 120

    def test_it_recovers_after_a_shift(self):
        X = normal_rows(40_000)
        X[20_000:] += 1.0
        model, n_alarms = BSGDOneClassSVM(alarm_rate=0.02, gamma=0.3, budget=50).partial_fit(X[:2000]), []
        for start in range(2000, len(X), 500):
            n_alarms.append(np.sum(model.predict(X[start : start + 500]) == -1))
            model.partial_fit(X[start : start + 500])
        assert max(n_alarms[36:38]) > 30  # ten are usual
        assert np.mean(n_alarms[-20:]) == pytest.approx(10, abs=4)


def test_p_values_are_uniform_on_normal_rows():
    model = BSGDOneClassSVM(gamma=0.3, window=4000).partial_fit(normal_rows(20_000))
    found = model.p_values(normal_rows(5000, seed=1))
    for share in (0.02, 0.1, 0.5, 0.9):
        assert np.mean(found <= share) == pytest.approx(share, abs=0.05)
    assert model.p_values(np.full((1, N_FEATURES), 9.0))[0] == pytest.approx(1 / 4001)


def test_rows_far_from_zero_and_sparse_rows():
    X = normal_rows(1000)
    model = BSGDOneClassSVM(gamma=0.3).partial_fit(X)
    far = BSGDOneClassSVM(gamma=0.3).partial_fit(X + 1e6)
    np.testing.assert_allclose(far.score_samples(X + 1e6), model.score_samples(X), atol=1e-6)
    sparse = BSGDOneClassSVM(gamma=0.3).partial_fit(csr_matrix(X))
    np.testing.assert_allclose(sparse.score_samples(csr_matrix(X)), model.score_samples(X), atol=1e-8)


def test_a_saved_model_resumes_where_it_was(tmp_path):
    X = normal_rows(1000)
    model = BSGDOneClassSVM(gamma=0.3, alarm_rate=0.05).partial_fit(X[:600])
    save(model, tmp_path / "model.frugal")
    copy = load(tmp_path / "model.frugal")
    for each in (model, copy):
        each.partial_fit(X[600:])
    np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(copy.p_values(X), model.p_values(X))
    save(model, tmp_path / "small.frugal", for_prediction=True)
    small = load(tmp_path / "small.frugal")
    np.testing.assert_allclose(small.decision_function(X), model.decision_function(X), atol=1e-12)
    with pytest.raises(ValueError, match="cannot learn more rows"):
        small.partial_fit(X)


def test_exports_have_decision_values():
    X = normal_rows(500)
    model = BSGDOneClassSVM(gamma=0.3).fit(X)
    np.testing.assert_allclose(plain_model(model).decision_function(X), model.decision_function(X), atol=1e-6)
    np.testing.assert_array_equal(plain_model(model).predict(X), model.predict(X))


def test_errors_leave_the_model_as_it_was():
    X = normal_rows(600)
    model = BSGDOneClassSVM(gamma=0.3).partial_fit(X)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full((300, N_FEATURES), np.nan))
    with pytest.raises(ValueError, match="at least one non-zero"):
        model.partial_fit(X, sample_weight=np.zeros(600))
    np.testing.assert_array_equal(model.decision_function(X), before)
