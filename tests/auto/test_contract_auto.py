"""scikit-learn's own checks for the estimators that choose everything themselves."""

import pytest
from scikit_learn_contract import scikit_learn_checks

from frugalsvm import AutoSVC, AutoSVR

# As for the estimator within: an example of weight 2 is one row that landmarks are drawn from, and one row of a fold.
WEIGHTS = "a fold has an example of weight 2 once, and two examples may be in two folds"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
    "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
}
SETTINGS = {"kernel": "rbf", "n_components": 32, "random_state": 0}


@pytest.mark.slow  # each check is a whole search
@scikit_learn_checks([AutoSVC(**SETTINGS), AutoSVR(**SETTINGS)], lambda estimator: EXPECTED_FAILURES)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
