"""scikit-learn's own checks for machines in cells, and the tools that people put estimators into."""

import pickle

import numpy as np
import pytest
from scikit_learn_contract import scikit_learn_checks
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from frugalsvm import LocalSVC, LocalSVR
from frugalsvm.datasets import make_checkerboard

# The machine is the same (below, where nothing is chosen), but what is chosen by leaving rows out is not.
TWINS = {
    "check_sample_weight_equivalence_on_dense_data": "a row that is left out has a twin there if its weight is two rows"
}
GIVEN = {"kernel": "rbf", "C": 1.0, "gamma": 0.5, "dtype": "float64"}
SMALL = {"kernel": "rbf", "cell_size": 15, "n_trees": 2}


def expected_failures(estimator):
    return TWINS if estimator.C == "auto" or estimator.cell_size != "auto" else {}


# One cell and the kernel as by default, some cells in tables as small as those of the checks, and nothing chosen
@scikit_learn_checks(
    [
        LocalSVC(),
        LocalSVR(),
        LocalSVC(**SMALL),
        LocalSVR(**SMALL),
        LocalSVC(calibrate=None, **GIVEN),
        LocalSVR(**GIVEN),
    ],
    expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def board():
    return make_checkerboard(600, cells=2, random_state=0)


@pytest.mark.parametrize("kind", [LocalSVC, LocalSVR])
def test_clone_and_pickle(board, kind):
    X, y = board
    model = kind(cell_size=100, n_trees=2, random_state=0)
    assert clone(model).get_params() == model.get_params()
    model.fit(X[:400], y[:400])
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    np.testing.assert_array_equal(copy.loo_scores_, model.loo_scores_)
    again = clone(model)
    assert not hasattr(again, "n_features_in_")
    np.testing.assert_array_equal(again.fit(X[:400], y[:400]).predict(X), model.predict(X))


@pytest.mark.parametrize("kind", [LocalSVC, LocalSVR])
def test_grid_search_in_a_pipeline(board, kind):
    X, y = board
    pipeline = make_pipeline(StandardScaler(), kind(gamma=2.0, random_state=0))
    name = kind.__name__.lower()
    search = GridSearchCV(pipeline, {f"{name}__C": [1.0, 10.0], f"{name}__cell_size": [100, 500]}, cv=3).fit(X, y)
    assert search.best_score_ > (0.9 if kind is LocalSVC else 0.7)
