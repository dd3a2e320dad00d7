"""scikit-learn's own checks, as cases of a test."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks


def scikit_learn_checks(estimators, expected_failures):
    """All checks of these estimators, for a test with the arguments ``estimator`` and ``check``.

    Those that are known to fail are slow tests: they prove nothing that holds, and they come with wide and with sparse
    rows, for which each learner is compiled once more.

    Parameters
    ----------
    estimators : list of estimators
    expected_failures : callable
        From an estimator to a dictionary: the name of a check, and why it cannot pass.
    """
    mark = parametrize_with_checks(estimators, expected_failed_checks=expected_failures)
    names, cases = mark.args
    return pytest.mark.parametrize(names, [_slow_if_it_fails(case) for case in cases], **mark.kwargs)


def _slow_if_it_fails(case):
    marks = getattr(case, "marks", ())
    if not any(mark.name == "xfail" for mark in marks):
        return case
    return pytest.param(*case.values, marks=[*marks, pytest.mark.slow], id=case.id)
