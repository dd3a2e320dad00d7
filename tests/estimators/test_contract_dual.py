"""scikit-learn's own checks for the classifiers that learn in the dual."""

import pytest
from scikit_learn_contract import OTHER_ROWS, scikit_learn_checks

from frugalsvm import LASVMClassifier, TrackingSVC

# They agree at the optimum (test_lasvm_input.py), but the checks ask for seven digits after one pass or five.
ONLINE = "an example of weight 2 is one step in a larger box, not two steps, and one example more makes another order"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": ONLINE,
    "check_sample_weight_equivalence_on_sparse_data": ONLINE,
}


def expected_failures(estimator):
    return EXPECTED_FAILURES


@scikit_learn_checks(
    [LASVMClassifier("g", max_iter=5), TrackingSVC()],
    expected_failures,
    lambda each: OTHER_ROWS if type(each) is TrackingSVC else (),
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow  # the same classes with other parameters; the oracles of tests/dual know what they learn
@scikit_learn_checks(
    [
        *(LASVMClassifier(variant) for variant in ("nc", "i", "full", "lasvm")),
        LASVMClassifier("lasvm", step_type="single"),
        TrackingSVC(3, average=False, cached=True),
    ],
    expected_failures,
)
def test_scikit_learn_checks_of_variants(estimator, check):
    check(estimator)
