"""scikit-learn's own checks for the estimators that choose everything themselves."""

import pytest
from scikit_learn_contract import scikit_learn_checks

from frugalsvm import AutoSVC, AutoSVR

WEIGHTS = "two equal examples are not one of weight 2: when one is left out, the other one is not"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
    "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
}
IN_CELLS = {"kernel": "rbf", "metric": None, "random_state": 0}
LOW_RANK = {"kernel": "rbf", "n_components": 32, "random_state": 0}
MODELS = [kind(**settings) for kind in (AutoSVC, AutoSVR) for settings in (IN_CELLS, LOW_RANK)]


@pytest.mark.slow  # each check is a whole search
@scikit_learn_checks(MODELS, lambda estimator: EXPECTED_FAILURES)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
