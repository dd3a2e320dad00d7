"""Equal effort of tuning, and the methods that are tuned."""

import json

import numpy as np
import pytest
from sklearn.base import is_regressor

from benchmarks.tables_data import Split
from benchmarks.tables_methods import METHODS, Method, Task, missing_package
from benchmarks.tables_tuning import Effort, error_of, tuned

CLASSES = Task(is_regression=False, n_columns=2, device="cpu")
NUMBERS = CLASSES._replace(is_regression=True)


def two_classes(n=400, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 2)).astype(np.float32)
    return X, (X[:, 0] > 0).astype(int)


def split_without_test_rows(n=400):
    return Split(*two_classes(n), None, None, True, False)


class Threshold:
    """Says 1 above a threshold in the first column."""

    n_fits = 0

    def __init__(self, threshold):
        self.threshold = threshold

    def fit(self, X, y):
        Threshold.n_fits += 1
        self.n_rows = len(y)
        return self

    def predict(self, X):
        return (X[:, 0] > self.threshold).astype(int)


class Thresholds(Method):
    label = "threshold"

    def candidates(self, task, n, rng):
        return [{"threshold": value} for value in (2.0, 1.0, 0.0, -1.0)][:n]

    def new(self, task, settings, seed):
        return Threshold(**settings)


class SideBySide(Thresholds):
    is_single_threaded = True


@pytest.mark.parametrize("method", [Thresholds(), SideBySide()])
def test_the_candidate_that_errs_least_is_chosen(method):
    choice = tuned(method, CLASSES, split_without_test_rows(), Effort(4, 200, 60.0), seed=0)
    assert choice.settings == {"threshold": 0.0}
    assert choice.n_tried == 4
    assert choice.seconds > 0
    assert tuned(method, CLASSES, split_without_test_rows(), Effort(2, 200, 60.0), 0).settings == {"threshold": 1.0}


class Failing(Thresholds):
    """The matrix of some settings is singular."""

    def candidates(self, task, n, rng):
        return [{"threshold": None}, {"threshold": 1.0}]

    def new(self, task, settings, seed):
        if settings.get("threshold") is None:
            raise np.linalg.LinAlgError("singular")
        return Threshold(**settings)


def test_settings_that_fail_are_not_chosen():
    choice = tuned(Failing(), CLASSES, split_without_test_rows(), Effort(2, 200, 60.0), seed=0)
    assert choice.settings == {"threshold": 1.0}
    assert (choice.n_tried, choice.n_failed) == (2, 1)


def test_no_candidate_begins_after_the_time():
    Threshold.n_fits = 0
    choice = tuned(Thresholds(), CLASSES, split_without_test_rows(), Effort(4, 200, -1.0), seed=0)
    assert (choice.n_tried, Threshold.n_fits) == (1, 1)
    assert choice.settings == {"threshold": 2.0}


def test_a_single_candidate_needs_no_fit():
    Threshold.n_fits = 0
    assert tuned(Thresholds(), CLASSES, split_without_test_rows(), Effort(1, 200, 60.0), seed=0).seconds == 0
    assert Threshold.n_fits == 0


def test_errors():
    X, y = two_classes()
    assert error_of(Threshold(0.0), X, y, is_regression=False) == 0
    assert error_of(Threshold(0.0), X, 1 - y, is_regression=False) == 100
    assert error_of(Threshold(0.0), X, y + 2.0, is_regression=True) == 2.0


TUNED = ("hgb", "lightgbm", "xrfm", "svm")


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("task", [CLASSES, NUMBERS])
def test_tuned_methods_have_as_many_candidates(name, task):
    method = METHODS[name]
    candidates, again = (method.candidates(task, 24, np.random.default_rng(0)) for _ in "ab")
    assert candidates == again
    assert len({json.dumps(settings) for settings in candidates}) == len(candidates) == (24 if name in TUNED else 1)
    assert candidates[0] == {}  # the default
    assert len(method.candidates(task, 1, np.random.default_rng(0))) == 1


@pytest.mark.parametrize("name", ["hgb", "hgb-plain", "svm"])
@pytest.mark.parametrize("task", [CLASSES, NUMBERS])
def test_settings_are_those_of_the_estimators(name, task):
    for settings in METHODS[name].candidates(task, 6, np.random.default_rng(1)):
        model = METHODS[name].new(task, settings, seed=0)
        assert is_regressor(model) == task.is_regression
        X, y = two_classes(100)
        assert model.fit(X, y).predict(X).shape == (100,)


@pytest.mark.parametrize("name", ["lightgbm", "lightgbm-plain", "xrfm", "xrfm-plain", "liquidsvm"])
@pytest.mark.parametrize("task", [CLASSES, NUMBERS])
def test_peers_where_they_are_installed(name, task):
    if package := missing_package(METHODS[name]):
        pytest.skip(f"{package} is not installed")
    X, y = two_classes(300)
    for settings in METHODS[name].candidates(task, 3, np.random.default_rng(1)):
        model = METHODS[name].new(task, settings, seed=0).fit(X, y * 1.0 if task.is_regression else y)
        assert model.predict(X).shape == (300,)
        if hasattr(model, "predict_proba"):
            assert model.predict_proba(X).shape == (300, 2)


def test_a_package_that_is_not_installed():
    class Absent(Method):
        package = "no_such_package_of_boosted_trees"

    assert missing_package(Absent()) == "no_such_package_of_boosted_trees"
    assert missing_package(METHODS["hgb"]) is None
