"""Equal effort of tuning, and the methods that are tuned."""

import json
import sys

import numpy as np
import pytest
from sklearn.base import is_regressor
from sklearn.utils import Bunch

from benchmarks import tables, tables_data
from benchmarks.tables_data import Split
from benchmarks.tables_methods import METHODS, PATH, Method, Task, missing_package
from benchmarks.tables_summary import summary
from benchmarks.tables_tuning import Effort, error_of, tuned

CLASSES = Task(is_regression=False, n_columns=2, n_components=16, device="cpu")
NUMBERS = CLASSES._replace(is_regression=True)


def two_classes(n=400, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 2)).astype(np.float32)
    return X, (X[:, 0] > 0).astype(int)


def split_without_test_rows(n=400):
    return Split(*two_classes(n), None, None, True, 2, False)


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


def test_a_method_that_fails_does_not_end_the_measurement(monkeypatch, tmp_path, capsys):
    X, y = two_classes(300)
    monkeypatch.setattr(tables_data, "fetch", lambda name: Bunch(X_train=X, y_train=y))
    monkeypatch.setitem(METHODS, "xrfm", Failing())
    path = tmp_path / "tables.json"
    options = f"tables --only phoneme --methods xrfm svm --seeds 1 --candidates 1 --json {path}"
    monkeypatch.setattr(sys, "argv", options.split())
    tables.main()
    assert "phoneme, threshold: failed, LinAlgError: singular" in capsys.readouterr().out
    assert [row["method"] for row in json.loads(path.read_text())["rows"]] == ["SVC, SVR"]


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


@pytest.mark.parametrize("name", [name for name in METHODS if name != "auto"])  # which chooses by itself
@pytest.mark.parametrize("task", [CLASSES, NUMBERS])
def test_every_method_has_as_many_candidates(name, task):
    method = METHODS[name]
    candidates, again = (method.candidates(task, 24, np.random.default_rng(0)) for _ in "ab")
    assert len(candidates) * method.counts_for == 24
    assert candidates == again
    assert len({json.dumps(settings) for settings in candidates}) == len(candidates)
    assert candidates[0] == method.kinds[0]  # the default
    assert len(method.candidates(task, 1, np.random.default_rng(0))) == 1


@pytest.mark.parametrize("name", ["hgb", "svm"])
@pytest.mark.parametrize("task", [CLASSES, NUMBERS])
def test_settings_are_those_of_the_estimators(name, task):
    for settings in METHODS[name].candidates(task, 6, np.random.default_rng(1)):
        model = METHODS[name].new(task, settings, seed=0)
        assert is_regressor(model) == task.is_regression
        X, y = two_classes(100)
        assert model.fit(X, y).predict(X).shape == (100,)


@pytest.mark.parametrize("task", [CLASSES, NUMBERS])
@pytest.mark.parametrize(("name", "metric"), [("asset", "auto"), ("plain", None)])
def test_low_rank_machines_have_a_path_of_C(name, metric, task):
    model = METHODS[name].new(task, {"kernel": "laplacian"}, seed=3)
    assert (model.C, model.kernel, model.random_state) == (list(PATH), "laplacian", 3)
    assert (model.n_components, model.metric) == (16, metric)


@pytest.mark.parametrize("name", ["lightgbm", "xrfm"])
@pytest.mark.parametrize("task", [CLASSES, NUMBERS])
def test_peers_where_they_are_installed(name, task):
    pytest.importorskip(name)
    X, y = two_classes(300)
    for settings in METHODS[name].candidates(task, 3, np.random.default_rng(1)):
        model = METHODS[name].new(task, settings, seed=0).fit(X, y * 1.0 if task.is_regression else y)
        assert model.predict(X).shape == (300,)
        importances = model.feature_importances_
        assert importances is None or importances.shape == (2,)


def test_a_package_that_is_not_installed():
    class Absent(Method):
        package = "no_such_package_of_boosted_trees"

    assert missing_package(Absent()) == "no_such_package_of_boosted_trees"
    assert missing_package(METHODS["hgb"]) is None


def result(problem="a", method="m", seed=0, error=1.0, share=None, **others):
    row = {"problem": problem, "method": method, "device": "cpu", "seed": seed, "error": error, "rows": 10}
    row |= {"seconds": 1.0, "tuning_seconds": 2.0, "candidates": 12, "is_regression": False, "on_true_columns": share}
    return row | others


def test_pieces_of_a_measurement_are_one_file(tmp_path):
    path = tmp_path / "output" / "tables.json"
    for row in (result(), result(seed=1, error=3.0), result("b"), result(seed=0, error=2.0)):
        tables.save(path, row)
    results = json.loads(path.read_text())
    assert [(row["problem"], row["seed"], row["error"]) for row in results["rows"]] == [
        ("a", 0, 2.0),
        ("a", 1, 3.0),
        ("b", 0, 1.0),
    ]
    assert results["machine"]["cores"] >= 1


def test_means_over_seeds():
    rows = [result(error=1.0, share=90.0), result(seed=1, error=3.0, share=100.0), result(method="n", error=5.0)]
    first, second = summary(rows)
    assert (first["error"], first["seeds"], first["on_true_columns"]) == (2.0, 2, 95.0)
    assert first["spread"] == pytest.approx(2**0.5)
    assert (second["method"], second["spread"], second["on_true_columns"]) == ("n", None, None)


def test_from_the_command_line(monkeypatch, tmp_path, capsys):
    X, y = two_classes(300)
    monkeypatch.setattr(tables_data, "fetch", lambda name: Bunch(X_train=X, y_train=y))
    path = tmp_path / "tables.json"
    options = f"tables --only phoneme --methods hgb svm --seeds 2 --first-seed 1 --candidates 2 --noise 3 --json {path}"
    monkeypatch.setattr(sys, "argv", options.split())
    tables.main()
    rows = json.loads(path.read_text())["rows"]
    assert [(row["method"], row["seed"]) for row in rows] == [
        ("HistGradientBoosting", 1),
        ("HistGradientBoosting", 2),
        ("SVC, SVR", 1),
        ("SVC, SVR", 2),
    ]
    assert {row["problem"] for row in rows} == {"phoneme + 3 noise columns"}
    assert all(row["error"] < 20 and row["rows"] == 240 and row["candidates"] == 2 for row in rows)
    assert "phoneme + 3 noise columns" in capsys.readouterr().out
