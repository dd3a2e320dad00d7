"""scikit-learn's own checks for budgeted regression, and the tools that people put estimators into."""

import pickle

import numpy as np
import pytest
from scikit_learn_contract import OTHER_ROWS, scikit_learn_checks
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from frugalsvm import BSGDRegressor

ONLINE = "an example of weight 2 is one large step of an online learner, not two steps"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": ONLINE,
    "check_sample_weight_equivalence_on_sparse_data": ONLINE,
}
ESTIMATORS = [BSGDRegressor(budget=30, average="post")]
VARIANTS = [
    BSGDRegressor("pinball", budget=30, max_iter=5),
    BSGDRegressor("huber", "project", budget=30, learner="pegasos", max_iter=5),
]


@scikit_learn_checks(ESTIMATORS, lambda estimator: EXPECTED_FAILURES, lambda estimator: OTHER_ROWS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow  # each of them is compiled for several types of rows
@scikit_learn_checks(VARIANTS, lambda estimator: EXPECTED_FAILURES)
def test_scikit_learn_checks_of_variants(estimator, check):
    check(estimator)


def test_grid_search_in_a_pipeline():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=900)
    pipeline = make_pipeline(StandardScaler(), BSGDRegressor(budget=30, average="post", random_state=0))
    grid = {"bsgdregressor__gamma": [0.01, 0.3], "bsgdregressor__epsilon": [0.05, 0.5]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_params_ == {"bsgdregressor__gamma": 0.3, "bsgdregressor__epsilon": 0.05}
    assert search.best_score_ > 0.95


def test_clone_and_pickle_continue_the_same_way():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 2))
    y = X[:, 0] * X[:, 1]
    model = BSGDRegressor(budget=20, random_state=0)
    assert clone(model).get_params() == model.get_params()
    model.partial_fit(X[:128], y[:128])
    copy = pickle.loads(pickle.dumps(model))
    for each in (model, copy):
        each.partial_fit(X[128:], y[128:])
    np.testing.assert_array_equal(model.predict(X), copy.predict(X))
