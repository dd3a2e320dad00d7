"""scikit-learn's own checks for searches on streams."""

from scikit_learn_contract import scikit_learn_checks

from frugalsvm import BSGDClassifier, StreamTuner

WEIGHTS = "a stream has an example of weight 2 once, and two examples one after the other"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
    "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
}
TUNER = StreamTuner(BSGDClassifier(budget=50, alpha=1e-2), {"gamma": [0.5, 0.05]}, random_state=0)


@scikit_learn_checks([TUNER], lambda estimator: EXPECTED_FAILURES)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
