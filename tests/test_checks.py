"""The public checks: all estimators pass them, and each check finds what it looks for."""

import numpy as np
import pytest

from frugalsvm import (
    ASSETClassifier,
    ASSETOneClassSVM,
    ASSETRegressor,
    BPAClassifier,
    BSGDClassifier,
    BSGDOneClassSVM,
    BSGDRegressor,
    BudgetedPerceptron,
    IncrementalSVC,
    LASVMClassifier,
    LocalSVC,
    LocalSVR,
    TrackingSVC,
    TVMClassifier,
    checks,
)
from frugalsvm.checks import check_name, checks_of
from frugalsvm.pipelines import StreamPipeline

SEED = {"gamma": 0.5, "random_state": 0}
ESTIMATORS = [
    BSGDClassifier(budget=10, **SEED),
    BudgetedPerceptron("random", 10, **SEED),
    BPAClassifier("nn", budget=10, **SEED),
    LASVMClassifier("g", cache_size=1, **SEED),
    TrackingSVC(cache_size=1, **SEED),
    IncrementalSVC(gamma=0.5, cache_size=1),
    TVMClassifier(10, **SEED),
    ASSETClassifier(n_components=16, **SEED),
    ASSETRegressor(n_components=16, **SEED),
    ASSETOneClassSVM(n_components=16, **SEED),
    LocalSVC(cell_size=50, n_trees=2, **SEED),
    LocalSVR(cell_size=50, n_trees=2, **SEED),
    BSGDOneClassSVM(budget=10, **SEED),
    BSGDRegressor(budget=10, standardize=False, epsilon=0.1, eta0=3.0, **SEED),
    # Scaling centers dense rows and not sparse ones, so that they are learned otherwise.
    StreamPipeline(BSGDClassifier(budget=10, **SEED), scale=False, warmup_rows=64),
]
VARIANTS = [
    BSGDClassifier("norma", "project", budget=10, **SEED),
    BSGDClassifier("perceptron", "remove", budget=10, kernel="poly", degree=2, **SEED),
    *(BudgetedPerceptron(strategy, 10, **SEED) for strategy in ("forgetron", "tightest", "projectron++")),
    *(LASVMClassifier(variant, cache_size=1, **SEED) for variant in ("nc", "lasvm")),
]


def cases(estimators):
    return [(estimator, check) for estimator in estimators for check in checks_of(estimator)]


def name_of(case):
    estimator, check = case
    kind = next(
        (str(getattr(estimator, key)) for key in ("strategy", "variant", "learner") if hasattr(estimator, key)), ""
    )
    return "-".join(filter(None, (type(estimator).__name__, kind, check_name(check))))


def fast_in_part(case):
    """Sparse rows are compiled for themselves, and each estimator has tests of its own of them."""
    marks = [pytest.mark.slow] if case[1] is checks.check_dense_equals_sparse else []
    return pytest.param(case, marks=marks, id=name_of(case))


@pytest.mark.parametrize("case", [fast_in_part(case) for case in cases(ESTIMATORS)])
def test_our_estimators(case):
    estimator, check = case
    check(estimator)


@pytest.mark.slow  # each of them is compiled for several types of rows
@pytest.mark.parametrize("case", cases(VARIANTS), ids=name_of)
def test_variants(case):
    estimator, check = case
    check(estimator)


# --- estimators that break their promise ----------------------------------------------------------------------------


class Drawn(BSGDClassifier):
    """Learns with another seed each time."""

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        self._noise = np.random.default_rng().normal()
        return super().partial_fit(X, y, classes, sample_weight)

    def decision_function(self, X):
        return super().decision_function(X) + self._noise


class Generous(BSGDClassifier):
    """Says that its budget is smaller than it is."""

    @property
    def support_vectors_(self):
        return np.vstack([super().support_vectors_] * 2)


class Counting(BSGDClassifier):
    """Its scores depend on the number of batches."""

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        self._n_batches = getattr(self, "_n_batches", 0) + 1
        return super().partial_fit(X, y, classes, sample_weight)

    def decision_function(self, X):
        return super().decision_function(X) * (1 + 1e-3 * self._n_batches)


class DenseOnly(BSGDClassifier):
    """Scores sparse rows otherwise."""

    def decision_function(self, X):
        return super().decision_function(X) * (1.0 if isinstance(X, np.ndarray) else 0.5)


class Hasty(BSGDClassifier):
    """Learns before it looks."""

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        if hasattr(self, "classes_") and np.shape(X)[1] == self.n_features_in_:
            super().partial_fit(np.nan_to_num(X[:8]), np.where(y[:8] > 2, 0, y[:8]))
        return super().partial_fit(X, y, classes, sample_weight)


class Tolerant(BSGDClassifier):
    """Takes NaN for zero."""

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        return super().partial_fit(np.nan_to_num(X), y, classes, sample_weight)


class Remembering(IncrementalSVC):
    """Forgets half of the examples."""

    def unlearn(self, X, y=None):
        return super().unlearn(X[::2], y)


@pytest.mark.parametrize(
    ("cls", "check", "told"),
    [
        (Drawn, checks.check_same_seed_same_model, "random_state"),
        (Generous, checks.check_budget, "where the budget is 20"),
        (Counting, checks.check_batches_equal_one_by_one, "Batches of"),
        (DenseOnly, checks.check_dense_equals_sparse, "sparse rows"),
        (Hasty, checks.check_bad_input_changes_nothing, "changed by rows with NaN"),
        (Tolerant, checks.check_bad_input_changes_nothing, "NaN were not refused"),
    ],
)
def test_broken_promises_are_found(cls, check, told):
    with pytest.raises(AssertionError, match=told):
        check(cls(budget=20, gamma=0.5, random_state=0))


def test_remembering_is_found():
    with pytest.raises(AssertionError, match="After unlearning"):
        checks.check_unlearn(Remembering(gamma=0.5, cache_size=1))


def test_checks_that_do_not_apply_are_left_out():
    names = {check_name(check) for check in checks_of(ASSETRegressor())}
    assert "budget" not in names
    assert "unlearn" not in names
