"""scikit-learn's own checks for the Twin Vector Machine."""

from scikit_learn_contract import scikit_learn_checks

from frugalsvm import TVMClassifier

ONLINE = "an example of weight 2 is one twin of weight 2, but two of weight 1 take two places of the budget"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": ONLINE,
    "check_sample_weight_equivalence_on_sparse_data": ONLINE,
}


@scikit_learn_checks([TVMClassifier(budget=40, max_iter=3)], lambda _: EXPECTED_FAILURES)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
