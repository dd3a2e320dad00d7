"""scikit-learn's own checks, as cases of a test."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

# Checks with more features than others have and with float32: a learner is compiled once more for each. How rows are
# taken is the same in all estimators of a family; for one of them these checks are in the fast suite.
OTHER_ROWS = ("check_dtype_object", "check_estimators_dtypes", "float32")


def scikit_learn_checks(estimators, expected_failures, slow=lambda estimator: ()):
    """All checks of these estimators, for a test with the arguments ``estimator`` and ``check``.

    Those that are known to fail are slow tests: they prove nothing that holds, and they come with wide and with sparse
    rows, for which each learner is compiled once more.

    Parameters
    ----------
    estimators : list of estimators
    expected_failures : callable
        From an estimator to a dictionary: the name of a check, and why it cannot pass.
    slow : callable
        From an estimator to the names of other checks that are slow tests, or to what these are called with.
    """

    def marked(case):
        estimator, check = getattr(case, "values", case)
        marks = getattr(case, "marks", ())
        is_slow = not {check.func.__name__, *check.keywords.values()}.isdisjoint(
            (*expected_failures(estimator), *slow(estimator))
        )
        return pytest.param(estimator, check, marks=[*marks, pytest.mark.slow] if is_slow else marks)

    mark = parametrize_with_checks(estimators, expected_failed_checks=expected_failures)
    names, cases = mark.args
    return pytest.mark.parametrize(names, [marked(case) for case in cases], **mark.kwargs)
