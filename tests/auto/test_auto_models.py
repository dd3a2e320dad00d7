"""`AutoSVC` and `AutoSVR`: good models, probabilities that agree with predictions, and a report of what was tried."""

import pickle
import re

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.metrics import log_loss

from frugalsvm import ASSETClassifier, AutoSVC, AutoSVR, LocalSVC, load, save
from frugalsvm.datasets import make_checkerboard
from frugalsvm.export import plain_model
from frugalsvm.pipelines import StreamPipeline

QUICK = {"kernel": "rbf", "metric": None, "random_state": 0}


def three_classes(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 2)).astype(np.float32)
    return X, np.array(["far", "left", "right"])[np.where(np.abs(X).sum(axis=1) > 2, 0, 1 + (X[:, 0] > 0))]


@pytest.fixture(scope="module")
def board():
    X, y = make_checkerboard(900, noise=0.1, random_state=0)
    return AutoSVC(**QUICK).fit(X[:600], y[:600]), X, y


def test_a_checkerboard(board):
    model, X, y = board
    assert model.score(X[600:], y[600:]) > 0.75
    assert isinstance(model.model_, LocalSVC)
    assert set(model.best_params_) == {"kernel", "gamma", "C", "cell_size", "n_trees", "rows"}
    assert model.model_.n_cells_ == 1
    assert 0.75 < model.best_score_ < 0.9


def test_probabilities_agree_with_predictions_and_decision_values(board):
    model, X, y = board
    shares, values = model.predict_proba(X), model.decision_function(X)
    assert (model.classes_[shares.argmax(axis=1)] == model.predict(X)).all()
    assert (np.diff(shares[np.argsort(values), 1]) >= 0).all()
    assert log_loss(y[600:], shares[600:]) < 0.55


def test_several_classes():
    X, y = three_classes(700)
    model = AutoSVC(**QUICK).fit(X[:500], y[:500])
    assert model.score(X[500:], y[500:]) > 0.9
    shares = model.predict_proba(X)
    assert (model.classes_[shares.argmax(axis=1)] == model.predict(X)).all()
    assert shares.sum(axis=1) == pytest.approx(np.ones(700))


def test_results_have_the_form_of_scikit_learn(board):
    results = board[0].cv_results_
    n = len(results["params"])
    assert all(len(values) == n for values in results.values())
    assert sorted(results["rank_test_score"]) == list(range(1, n + 1))
    best = board[0].best_params_
    own = [k for k, each in enumerate(results["params"]) if all(each[name] == best[name] for name in ("gamma", "C"))]
    # One of them is of all rows in one cell, as the model is.
    assert results["mean_test_score"][own] == pytest.approx(board[0].best_score_, abs=0.02)
    assert board[0].best_score_ in results["mean_test_score"][own]
    splits = [results[f"split{k}_test_score"][own] for k in range(5)]
    np.testing.assert_allclose(np.mean(splits, axis=0), results["mean_test_score"][own], atol=0.01)


def test_the_report_says_what_was_tried(board):
    text, html = board[0].report(), board[0].report(html=True)
    assert "rbf kernel" in text
    assert "all 600 rows in one cell" in text
    assert "Round 2, the best of these, in cells: 600 rows" in text
    assert "heat" not in text
    assert "<table>" in html
    assert text._repr_html_() == html
    assert "rbf" in html


def test_the_report_says_how_sure_it_is():
    X, y = three_classes(300)
    model = AutoSVC(kernel=["rbf", "matern32"], metric=None, random_state=0).fit(X, y)
    assert "(standard error)" in model.report()


def test_the_same_seed_gives_the_same_model():
    X, y = three_classes(300)
    first, second = (AutoSVC(**QUICK).fit(X, y) for _ in range(2))
    assert np.array_equal(first.decision_function(X), second.decision_function(X))
    assert np.array_equal(first.predict_proba(X), second.predict_proba(X))


@pytest.mark.parametrize("time_budget", [None, 1000.0])
def test_threads_choose_what_one_thread_does(time_budget):
    X, y = make_checkerboard(400, random_state=1)
    one, many = (AutoSVC(metric=None, random_state=0, n_jobs=n, time_budget=time_budget).fit(X, y) for n in (1, 4))
    assert many.cv_results_["params"] == one.cv_results_["params"]
    np.testing.assert_allclose(many.cv_results_["mean_test_score"], one.cv_results_["mean_test_score"], atol=0.02)
    np.testing.assert_allclose(many.decision_function(X), one.decision_function(X), atol=0.05)


def test_models_can_be_saved_pickled_and_cloned(board, tmp_path):
    model, X, _ = board
    save(model, tmp_path / "model.frugal")
    for again in (load(tmp_path / "model.frugal"), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
        assert again.report() == model.report()
    assert not hasattr(clone(model), "pipeline_")


def test_the_pipeline_inside_stands_on_its_own(board, tmp_path):
    model, X, _ = board
    assert isinstance(model.pipeline_, StreamPipeline)
    save(model.pipeline_, tmp_path / "pipeline.frugal")
    assert np.array_equal(load(tmp_path / "pipeline.frugal").predict_proba(X), model.predict_proba(X))
    assert len(plain_model(model.pipeline_).vectors) == 600


def test_regression():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(500, 2))
    y = 1000.0 + 5.0 * np.sin(X[:, 0]) * X[:, 1]
    model = AutoSVR(**QUICK).fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > 0.98
    assert model.best_score_ == pytest.approx(model.score(X[400:], y[400:]), abs=0.03)
    assert "R^2" in model.report()


def test_columns_of_noise_lose_their_weight():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 12))
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2
    model = AutoSVR(kernel="rbf", random_state=0).fit(X[:600], y[:600])
    plain = AutoSVR(**QUICK).fit(X[:600], y[:600])
    assert model.best_params_["rows"].startswith("learned metric")
    assert model.score(X[600:], y[600:]) > max(0.9, plain.score(X[600:], y[600:]))


def test_a_limit_of_time_leaves_candidates_out():
    X, y = three_classes(400)
    model = AutoSVC(time_budget=1e-6, random_state=0).fit(X, y)
    whole = AutoSVC(metric=None, random_state=0).fit(X, y)
    assert "There was no time for the kernel 'laplacian'." in model.report()
    assert len(model.cv_results_["params"]) < len(whole.cv_results_["params"])
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("unit", [1.0, 1e4])
def test_intervals_hold_for_new_rows_and_in_files(unit, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(3000, 2))
    y = unit * (np.sin(X[:, 0]) * X[:, 1] + 0.3 * rng.normal(size=len(X)))
    model = AutoSVR(kernel="rbf", metric=None, n_components=64, random_state=0).fit(X[:1000], y[:1000])
    for coverage in (0.5, 0.9):
        low, high = model.predict_interval(X[1000:], coverage).T
        assert abs(np.mean((low <= y[1000:]) & (y[1000:] <= high)) - coverage) < 0.04
    save(model, tmp_path / "m.frugal")
    loaded = load(tmp_path / "m.frugal")
    np.testing.assert_array_equal(loaded.predict_interval(X[:5]), model.predict_interval(X[:5]))
    with pytest.raises(ValueError, match="coverage must be a number between 0 and 1"):
        model.predict_interval(X[:5], 1.0)


def test_the_report_compares_in_the_unit_of_scores():
    """R^2, whatever the unit of the target, and by as much as the scores of the same round differ."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(200, 2))
    y = 1e4 * (np.sin(X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=200))
    model = AutoSVR(kernel=["rbf", "laplacian"], metric=None, random_state=0).fit(X, y)
    told = re.search(r"Next best: (\w+) on .* In round (\d), the R\^2 of the winner is larger by (\S+)", model.report())
    results, best = model.cv_results_, model.best_params_["kernel"]
    scores = {best: [], told[1]: []}
    for k in np.flatnonzero(results["iter"] == int(told[2])):
        scores[results["params"][k]["kernel"]].append(results["mean_test_score"][k])
    assert float(told[3]) == pytest.approx(max(scores[best]) - max(scores[told[1]]), abs=1e-4)


def test_intervals_are_as_narrow_as_the_errors_of_the_last_fit():
    """With hardly any noise, a machine of half of the rows would have much larger errors."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(4000, 2))
    y = np.sin(3 * X[:, 0]) * np.cos(3 * X[:, 1]) + 0.01 * rng.normal(size=4000)
    model = AutoSVR(**QUICK).fit(X[:1200], y[:1200])
    low, high = model.predict_interval(X[1200:], 0.8).T
    assert abs(np.mean((low <= y[1200:]) & (y[1200:] <= high)) - 0.8) < 0.05


def test_intervals_without_time_are_those_of_the_machines_that_were_compared():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=300)
    low, high = AutoSVR(time_budget=1e-6, random_state=0).fit(X[:200], y[:200]).predict_interval(X[200:]).T
    assert np.mean((low <= y[200:]) & (y[200:] <= high)) > 0.85


def test_verbose_tells_each_candidate(capsys):
    X, y = three_classes(200)
    events = []
    model = AutoSVC(verbose=1, **QUICK).fit(X, y, callback=events.append)
    lines = capsys.readouterr().out.splitlines()
    announced = [line for line in lines if line.endswith(" ...")]
    assert len(lines) - len(announced) == len(model.cv_results_["params"])
    assert announced[-1] == "[AutoSVC] fitting the best to all 200 rows ..."
    assert lines[-1] == announced[-1]
    assert [event["stage"] for event in events if "stage" in event] == [line[10:-4] for line in announced]
    scores = [event["score"] for event in events if "stage" not in event]
    assert scores == model.cv_results_["mean_test_score"].tolist()


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("time_budget", "soon"),
        ("time_budget", 0),
        ("memory", "much"),
        ("kernel", "linear"),
        ("kernel", []),
        ("metric", "full"),
        ("n_components", 0),
        ("missing", "ignore"),
    ],
)
def test_wrong_parameters_are_named(parameter, value):
    X, y = three_classes(50)
    with pytest.raises(ValueError, match=parameter):
        AutoSVC(**{parameter: value}).fit(X, y)


def test_a_failed_fit_leaves_the_model_as_it_was(board):
    model, X, _ = board
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="one class"):
        model.fit(X, np.zeros(len(X)))
    assert np.array_equal(model.predict_proba(X), before)


def test_sparse_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 6)) * (rng.random((500, 6)) < 0.5)
    y = X[:, 0] * X[:, 1] + X[:, 2] > 0
    model = AutoSVC(**QUICK).fit(csr_matrix(X[:400]), y[:400])
    assert model.score(csr_matrix(X[400:]), y[400:]) > 0.85
    assert isinstance(model.model_, ASSETClassifier)
    assert "since rows are sparse: a low-rank machine" in model.report()


def test_a_number_of_components_asks_for_a_low_rank_machine(tmp_path):
    X, y = three_classes(600)
    model = AutoSVC(n_components=50, **QUICK).fit(X[:400], y[:400])
    assert isinstance(model.model_, ASSETClassifier)
    assert model.best_params_["n_components"] == len(plain_model(model.pipeline_).vectors) == 50
    assert model.score(X[400:], y[400:]) > 0.85
    assert "a low-rank machine with 50 of 400 rows as landmarks" in model.report()
    assert "since n_components is a number: a low-rank machine" in model.report()
    save(model, tmp_path / "model.frugal")
    assert np.array_equal(load(tmp_path / "model.frugal").predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_a_metric_is_for_the_rows_that_it_was_learned_from(scale):
    """Whether those are scaled, or as they are: what was found on rows left out holds for new rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 6)) * np.array([scale, scale, 1.0, 1.0, 1.0, 1.0])
    y = np.sin(2 * X[:, 0] / scale) + X[:, 1] / scale > 0
    model = AutoSVC(kernel="rbf", random_state=0).fit(X[:500], y[:500])
    assert model.best_params_["rows"].startswith("learned metric")
    assert model.score(X[500:], y[500:]) > model.best_score_ - 0.05


def test_a_metric_that_cannot_be_learned_is_no_error(monkeypatch):
    def fails(*arguments, **options):
        raise np.linalg.LinAlgError

    monkeypatch.setattr("frugalsvm.selection.search.learned_view", fails)
    X, y = three_classes(600)
    model = AutoSVC(kernel="rbf", random_state=0).fit(X, y)
    assert "A metric could not be learned" in model.report()


def test_sums_over_features_have_metrics_of_factors():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 10))
    y = np.abs(X[:, 0]) + np.abs(X[:, 1]) > 1.5
    model = AutoSVC(kernel="laplacian", random_state=0).fit(X, y)
    assert model.best_params_["rows"] == "learned metric (laplacian)"
    assert model.model_.metric_.shape == (10,)


def test_ctrl_c_leaves_the_estimator_as_it_was(monkeypatch):
    X, y = make_checkerboard(60, random_state=0)
    model = AutoSVC(kernel="rbf", metric=None, random_state=0)

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("frugalsvm.auto._machine.search", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    assert vars(model) == vars(clone(model))  # nothing was fitted
    before = model.fit(X, y).predict(X)
    # In the last fit, when the search is over
    monkeypatch.setattr("frugalsvm.estimators.local_svc.LocalSVC.fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :1], y)
    assert model.n_features_in_ == 2
    np.testing.assert_array_equal(model.predict(X), before)


def test_reports_of_files_before_cells_name_no_rounds_of_today(board, tmp_path):
    model = pickle.loads(pickle.dumps(board[0]))
    del model._summary["rounds"]
    save(model, tmp_path / "old.frugal")
    report = load(tmp_path / "old.frugal").report()
    assert "Round 2: 600 rows" in report
    assert "in cells:" not in report
