"""scikit-learn's own checks for the exact classifiers."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from frugalsvm import IncrementalSVC

SCALE = "gamma='scale' is the variance of all rows, also of those with weight 0, and of repeated ones"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": SCALE,
    "check_sample_weight_equivalence_on_sparse_data": SCALE,
}


@parametrize_with_checks(
    [IncrementalSVC(), IncrementalSVC(C=10.0, gamma=0.3)],
    expected_failed_checks=lambda model: EXPECTED_FAILURES if model.gamma == "scale" else {},
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
