"""Which machine is taken, and that it does not depend on threads, units or copies of rows."""

import numpy as np
import pytest

from frugalsvm import ASSETClassifier, AutoSVC, AutoSVR, LocalSVC
from frugalsvm.compiling.threads import thread_count
from frugalsvm.datasets import make_checkerboard
from frugalsvm.export import plain_model
from frugalsvm.selection.low_rank import Start

QUICK = {"kernel": "rbf", "metric": None, "random_state": 0}


def small_cells(monkeypatch, n_landmarks):
    """Some hundred rows are in cells, and compared with a low-rank machine of so many landmarks."""
    for name, value in (("_ONE_CELL", 100), ("_SMALL", 40), ("CELL", 60), ("_LARGE", 80), ("_USUAL_SIZE", 60)):
        monkeypatch.setattr(f"frugalsvm.selection.search.{name}", value)
    monkeypatch.setattr("frugalsvm.selection.search._PAYS", 1.0)
    start = "frugalsvm.selection.search.global_start"
    monkeypatch.setattr(start, lambda best, order: Start(best.candidate, best.C, n_landmarks))
    monkeypatch.setattr("frugalsvm.selection.search.affordable_landmarks", lambda *_: n_landmarks)


def test_a_low_rank_machine_that_has_fewer_errors_is_taken(monkeypatch):
    small_cells(monkeypatch, 300)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 10))  # cells of 60 rows are wide in ten dimensions
    y = X[:, 0] + X[:, 1] > 0
    model = AutoSVC(**QUICK).fit(X[:600], y[:600])
    assert isinstance(model.model_, ASSETClassifier)
    assert model.best_params_["n_components"] == 300
    assert "Taken: a low-rank machine with 300 landmarks, rather than machines in cells of 60 rows." in model.report()
    assert model.score(X[600:], y[600:]) == pytest.approx(model.best_score_, abs=0.06)


@pytest.fixture
def board(monkeypatch):
    """A model in cells, which had fewer errors than a low-rank machine with four landmarks."""
    small_cells(monkeypatch, 4)
    X, y = make_checkerboard(900, random_state=0)
    return AutoSVC(**QUICK).fit(X[:600], y[:600]), X, y


def test_cells_that_have_fewer_errors_are_taken(board):
    model, X, y = board
    assert isinstance(model.model_, LocalSVC)
    assert model.model_.n_cells_ > 3
    assert model.best_params_["cell_size"] == 60
    assert "Taken: machines in cells of 60 rows, rather than a low-rank machine with 4 landmarks." in model.report()
    assert model.score(X[600:], y[600:]) == pytest.approx(model.best_score_, abs=0.06)


def test_pipelines_of_cells_are_exported(board):
    model, X, _ = board
    plain = plain_model(model.pipeline_)
    np.testing.assert_allclose(plain.decision_function(X[:50]), model.decision_function(X[:50]), atol=1e-3)


def test_probabilities_are_calibrated_by_rows_that_the_metric_has_not_seen(monkeypatch):
    seen, plain = [], AutoSVC._calibration

    def noted(self, task, last):
        seen.append(last.rows)
        return plain(self, task, last)

    monkeypatch.setattr(AutoSVC, "_calibration", noted)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 8))
    y = np.sin(2 * X[:, 0]) + X[:, 1] > 0
    model = AutoSVC(kernel="rbf", random_state=0).fit(X[:600], y[:600])
    assert model.best_params_["rows"].startswith("learned metric")
    assert 0 < len(seen[0]) < 400
    shares = model.predict_proba(X[600:])[:, 1]
    assert abs(shares.mean() - y[600:].mean()) < 0.1


# --- threads and memory ---------------------------------------------------------------------------------------------


def test_all_cores_unless_told_otherwise(monkeypatch):
    X, y = make_checkerboard(100, random_state=0)
    counts, plain = [], AutoSVC._machinery

    def noted(self):
        counts.append(plain(self).threads.count)
        return plain(self)

    monkeypatch.setattr(AutoSVC, "_machinery", noted)
    for n_jobs in (None, 1):
        AutoSVC(n_jobs=n_jobs, **QUICK).fit(X, y)
    assert counts == [thread_count(-1), 1]


def test_threads_make_the_same_model(monkeypatch):
    small_cells(monkeypatch, 4)
    X, y = make_checkerboard(600, random_state=0)
    one, two = (AutoSVC(n_jobs=n_jobs, **QUICK).fit(X, y) for n_jobs in (1, 2))
    assert one.best_params_ == two.best_params_
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_a_small_memory_makes_small_cells(monkeypatch):
    monkeypatch.setattr("frugalsvm.selection.search.global_start", lambda best, order: None)
    X, y = make_checkerboard(700, random_state=0)
    model = AutoSVC(memory="2MB", **QUICK).fit(X, y)
    assert model.model_.n_cells_ > 1
    assert AutoSVC(memory="auto", **QUICK).fit(X, y).model_.n_cells_ == 1
    assert model.score(X, y) > 0.9


def test_a_second_for_twenty_thousand_rows():
    """Small cells, few candidates, and a sound model."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 4))
    y = X[:, 0] * X[:, 1] > 0
    model = AutoSVC(time_budget=1.0, random_state=0).fit(X, y)
    assert "There was no time" in model.report()
    assert model.score(X[:2000], y[:2000]) > 0.9
    assert 0.85 < model.best_score_ < 1.0


# --- odd tables -----------------------------------------------------------------------------------------------------


def test_all_rows_alike():
    X = np.zeros((200, 3))
    model = AutoSVR(**QUICK).fit(X, np.arange(200.0))
    assert model.predict(X[:1]) == pytest.approx(99.5, abs=1.0)


def test_all_rows_twice():
    """A copy of a row that is left out is not: scores are too good, but predictions are sound."""
    X, y = make_checkerboard(500, random_state=0)
    model = AutoSVC(**QUICK).fit(np.repeat(X[:300], 2, axis=0), np.repeat(y[:300], 2))
    assert model.score(X[300:], y[300:]) > 0.85


def test_two_rows_of_a_class():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    labels = np.where(X[:, 0] > 0, "a", "b").astype(object)
    labels[:2] = "c"
    model = AutoSVC(**QUICK).fit(X, labels.astype(str))
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert np.isfinite(model.predict_proba(X)).all()


def test_one_column():
    X = np.random.default_rng(0).uniform(-3, 3, size=(700, 1))
    model = AutoSVR(kernel="rbf", random_state=0).fit(X[:500], np.sin(2 * X[:500, 0]))
    assert model.score(X[500:], np.sin(2 * X[500:, 0])) > 0.99


def test_many_more_columns_than_rows():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2 == 0
    X = rng.normal(size=(60, 2000)) + 0.5 * y[:, None]
    model = AutoSVC(kernel="rbf", random_state=0).fit(X[:40], y[:40])
    assert model.score(X[40:], y[40:]) > 0.9


@pytest.mark.parametrize("unit", [1e-30, 1e30])
def test_units_of_columns_make_no_difference(unit):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.sin(X[:, 0]) + X[:, 1]
    usual, other = (AutoSVR(**QUICK).fit(rows, y) for rows in (X, X * unit))
    np.testing.assert_allclose(other.predict(X * unit), usual.predict(X), atol=0.02)


def test_other_values_of_a_column_that_was_constant_make_no_difference():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(300, 2)), np.full(300, 7.0)])
    model = AutoSVR(**QUICK).fit(X, np.sin(X[:, 0]) + X[:, 1])
    other = np.column_stack([X[:, :2], 1e6 * rng.normal(size=300)])
    np.testing.assert_allclose(model.predict(other), model.predict(X), atol=1e-5)
    np.testing.assert_allclose(plain_model(model.pipeline_).predict(other), model.predict(X), atol=1e-2)


def test_rows_of_weight_zero_make_no_difference():
    X, y = make_checkerboard(400, random_state=0)
    weights = (np.arange(400) < 300).astype(float)
    wrong = np.where(weights > 0, y, -y)
    model = AutoSVC(**QUICK).fit(X, wrong, weights)
    assert model.score(X[300:], y[300:]) > 0.85
    assert model.best_score_ > 0.85


def test_intervals_count_errors_by_weight():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    is_noisy = X[:, 1] < 0
    y = X[:, 0] + np.where(is_noisy, 2.0, 0.1) * rng.normal(size=300)
    low, high = AutoSVR(**QUICK).fit(X, y, np.where(is_noisy, 1e-3, 1.0)).predict_interval(X, 0.9).T
    assert 0.85 < np.mean((low <= y) & (y <= high), where=~is_noisy) < 0.97


def test_intervals_of_a_learned_metric_cover():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1800, 8))
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=1800)
    model = AutoSVR(kernel="rbf", random_state=0).fit(X[:500], y[:500])
    assert model.best_params_["rows"].startswith("learned metric")
    low, high = model.predict_interval(X[500:], 0.8).T
    assert abs(np.mean((low <= y[500:]) & (y[500:] <= high)) - 0.8) < 0.08
