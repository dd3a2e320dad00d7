"""scikit-learn's own checks, and the tools that people put estimators into."""

import pickle

import numpy as np
import pytest
from scikit_learn_contract import OTHER_ROWS, scikit_learn_checks
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from frugalsvm import BPAClassifier, BSGDClassifier, BudgetedPerceptron
from frugalsvm.datasets import make_checkerboard, make_waveform

ONLINE = "an example of weight 2 is one large step of an online learner, not two steps"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": ONLINE,
    "check_sample_weight_equivalence_on_sparse_data": ONLINE,
}
FORGETS = "the Forgetron removes its oldest support vector, be its weight 1000 and that of the others 0.0001"


def expected_failures(estimator):
    forgets = getattr(estimator, "strategy", None) == "forgetron"
    return {**EXPECTED_FAILURES, "check_class_weight_classifiers": FORGETS} if forgets else EXPECTED_FAILURES


# The last model of a perceptron depends on the last rows, and one check asks for 83 % of three blobs that overlap:
# after 5 passes from seed 0 that is missed by a little (81 %), after 10 it is not (91 %).
ESTIMATORS = [
    BSGDClassifier(budget=30, alpha=1e-3, max_iter=5),
    BudgetedPerceptron("random", budget=30, margin=1, max_iter=10),
    BPAClassifier(budget=30, max_iter=5),
    BSGDClassifier(budget=30, alpha=1e-3, max_iter=5, calibrate="platt"),
]
# The same classes with other compiled parts, which the oracles of tests/budgeted know.
VARIANTS = [
    BSGDClassifier("norma", "project", budget=30, alpha=1e-3, max_iter=5),
    BSGDClassifier("perceptron", "remove", budget=100, radius=10.0, max_iter=5),
    BudgetedPerceptron("projectron++", budget=30, max_iter=10),
    BudgetedPerceptron("forgetron", budget=30, max_iter=5),
]


# Class weights with calibration are tested in test_probabilities.py, and their check learns thousands of models.
SLOW = {ESTIMATORS[0]: (), ESTIMATORS[-1]: (*OTHER_ROWS, "check_class_weight_classifiers")}


@scikit_learn_checks(ESTIMATORS, expected_failures, lambda each: SLOW.get(each, OTHER_ROWS))
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow  # each of them is compiled for eight types of rows and labels
@scikit_learn_checks(VARIANTS, expected_failures)
def test_scikit_learn_checks_of_variants(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def board():
    return make_checkerboard(3000, cells=2, random_state=0)


def test_grid_search_in_a_pipeline(board):
    X, y = board
    pipeline = make_pipeline(StandardScaler(), BSGDClassifier(budget=40, random_state=0))
    grid = {"bsgdclassifier__gamma": [1.0, 4.0], "bsgdclassifier__alpha": [1e-4, 1e-3]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.9
    assert cross_val_score(search.best_estimator_, X, y, cv=3).mean() > 0.9


def test_calibrated(board):
    X, y = board
    model = CalibratedClassifierCV(BSGDClassifier(budget=40, gamma=2.0, random_state=0), cv=3).fit(X, y)
    probabilities = model.predict_proba(X[:100])
    assert probabilities.shape == (100, 2)
    assert np.mean(probabilities[:, 1] > 0.5) == pytest.approx(np.mean(y[:100] > 0), abs=0.1)


def test_clone_and_pickle_continue_the_same_way():
    X, y = make_waveform(900, random_state=1)
    X = X[:, 3::5].copy()
    model = BSGDClassifier(budget=30, random_state=0, average=True)
    assert clone(model).get_params() == model.get_params()
    model.partial_fit(X[:448], y[:448], classes=[0, 1, 2])
    copy = pickle.loads(pickle.dumps(model))
    for m in (model, copy):
        m.partial_fit(X[448:], y[448:])
    np.testing.assert_array_equal(model.dual_coef_, copy.dual_coef_)
    np.testing.assert_array_equal(model.decision_function(X), copy.decision_function(X))
