"""scikit-learn's own checks for conformal estimators."""

from scikit_learn_contract import scikit_learn_checks
from sklearn.linear_model import SGDClassifier, SGDOneClassSVM, SGDRegressor

from frugalsvm.conformal import ConformalClassifier, ConformalDetector, ConformalRegressor

WEIGHTS = "which rows are held out depends on how many there are"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
    "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
}
MODELS = [
    ConformalClassifier(SGDClassifier(random_state=0), random_state=0),
    ConformalRegressor(SGDRegressor(random_state=0), random_state=0),
    ConformalDetector(SGDOneClassSVM(random_state=0), alarm_rate=0.1, random_state=0),
]


@scikit_learn_checks(MODELS, lambda estimator: EXPECTED_FAILURES)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
