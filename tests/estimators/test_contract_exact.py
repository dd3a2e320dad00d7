"""scikit-learn's own checks for the exact classifiers."""

from scikit_learn_contract import scikit_learn_checks

from frugalsvm import IncrementalSVC

SCALE = "gamma='scale' is the variance of all rows, also of those with weight 0, and of repeated ones"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": SCALE,
    "check_sample_weight_equivalence_on_sparse_data": SCALE,
}


@scikit_learn_checks(
    [IncrementalSVC(), IncrementalSVC(C=10.0, gamma=0.3)],
    lambda model: EXPECTED_FAILURES if model.gamma == "scale" else {},
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
