"""The ASSET paper: printed numbers, plans, tables from invented results, and one small run of each kind of work."""

import numpy as np
import pytest

from experiments.asset import EXPERIMENTS, batch, online
from experiments.asset.data import Case, cases, digit_groups, split_of
from experiments.asset.work import choose_map, fitted, followed
from experiments.data import UNAVAILABLE
from experiments.printed import read_printed
from experiments.protocol import PROFILES, folder_of, profile_of
from experiments.tuning import Choices

BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}


@pytest.fixture
def printed():
    return read_printed(folder_of("asset") / "printed.csv")


@pytest.fixture
def data(shared_data, monkeypatch):
    monkeypatch.setenv("FRUGALSVM_DATA", str(shared_data))


def plan_of(name, profile, tmp_path):
    return BY_NAME[name].plan(profile_of("asset", name, profile), Choices(tmp_path / "chosen.json"))


# --- printed numbers --------------------------------------------------------------------------------------


def test_table2_is_complete(printed):
    for row in cases():
        for part in ("error", "seconds"):
            for s in (512, 1024):
                for method in ("ASSET", "ASSET*", "CPSP", "CPNY"):
                    assert ("asset-table2", row, f"s={s} {method} {part}") in printed
            for method in ("LASVM", "SVM-Light"):
                assert ("asset-table2", row, f"{method} {part}") in printed


def test_table3_is_complete(printed):
    for dimension in online.DIMENSIONS:
        for name in online.SOLVERS:
            assert printed["asset-table3", str(dimension), f"{name} error"].spread is not None
        for part in ("train", "test"):
            assert printed["asset-table3", str(dimension), f"{part} seconds"].mean > 0


def test_some_printed_numbers(printed):
    assert printed["asset-table2", "MNIST", "s=1024 ASSET error"][:2] == (2.66, 0.03)
    assert printed["asset-table2", "IJCNN", "s=1024 ASSET* error"][:2] == (0.79, 0.01)
    assert printed["asset-table2", "COVTYPE", "SVM-Light seconds"].mean == 52.7 * 3600
    assert printed["asset-table3", "8192", "ASSET*_on error"][:3] == (4.3, 1.06, 0.05)


# --- plans ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", BY_NAME)
def test_plan_is_made_without_running(name, profile, tmp_path):
    tasks = plan_of(name, profile, tmp_path)
    assert tasks
    assert not any(cases()[task.settings["case"]].data in UNAVAILABLE for task in tasks if "case" in task.settings)
    assert BY_NAME[name].show([(task, None) for task in tasks]) is not None


def test_figure2_needs_no_runs_of_its_own(tmp_path):
    for profile in PROFILES:
        keys = [{task.key for task in plan_of(name, profile, tmp_path)} for name in ("asset-table3", "asset-fig2")]
        assert keys[0] == keys[1]


# --- tables and figures from invented results -------------------------------------------------------------


def test_table2_from_invented_results(tmp_path, printed):
    outcome = []
    for task in plan_of("asset-table2", "quick", tmp_path):
        row, column = task.names["row"], task.names["column"]
        paper = printed.get(("asset-table2", row, f"{column} error"))
        off = {"ADULT": -0.5, "IJCNN": 0.02}.get(row, 5.0)
        outcome.append((task, {"error": (paper.mean if paper else 10.0) + off, "seconds": 1.0}))
    errors, seconds = batch.show(outcome)
    words = [errors.cells[row, "s=512 ASSET"].verdict.word for row in ("ADULT", "IJCNN", "COVTYPE")]
    assert words == ["better", "within", "worse"]
    assert errors.cells["MNIST", "s=512 ASSET"].verdict is None
    assert errors.cells["CCAT", "s=512 ASSET"].note == UNAVAILABLE["ccat"]
    assert errors.cells["ADULT", "s=512 newton"].printed is None
    assert "not among ours" in errors.cells["ADULT", "s=512 CPSP"].note
    assert not errors.cells["ADULT", "s=512 CPSP"].counted
    assert not any(cell.counted for cell in seconds.cells.values())


def test_table3_from_invented_results(tmp_path):
    result = {"last_error": 11.9, "last_deviation": 0.1, "seconds": [1.0, 2.0], "test_seconds": 0.5}
    tasks = plan_of("asset-table3", "quick", tmp_path)
    errors, deviations, times = online.show_table([(task, result) for task in tasks])
    assert errors.cells["1024", "ASSET_on"].verdict.word == "within"
    assert errors.cells["2048", "ASSET_on"].mean is None
    assert deviations.cells["1024", "ASSET*_on"].printed.mean == 0.57
    assert times.cells["1024", "train"].values == [2.0, 2.0]
    assert "12,000 examples" in errors.note


@pytest.mark.parametrize("name", ["asset-fig1", "asset-fig2"])
def test_figures_are_drawn(name, tmp_path):
    canvas_type = pytest.importorskip("matplotlib.figure").Figure
    result = {"error": 12.0, "errors": [20.0, 10.0], "seconds": [0.1, 1.0]}
    (figure,) = BY_NAME[name].show([(task, result) for task in plan_of(name, "quick", tmp_path)])
    canvas = canvas_type(figsize=figure.size, layout="constrained")
    figure.draw(canvas)
    assert len(canvas.axes) == 2


# --- data and small real runs -----------------------------------------------------------------------------


def test_split_has_the_sizes_of_the_paper_and_other_rows_for_each_seed(data):
    case = cases()["ADULT"]
    X, y, _, y_test = split_of(case, 0)
    assert (len(y), len(y_test)) == (32_561, 8141)
    assert set(y) == {-1, 1}
    X_other = split_of(case, 1, rows=100)[0]
    assert X_other.shape == (100, 123)
    assert (X_other != X[:100]).any()


def test_digit_groups():
    assert digit_groups(np.arange(10)).tolist() == [-1] * 5 + [1] * 5


def test_fit_of_a_peer(data):
    settings = {"case": "IJCNN", "rows": 300, "estimator": "SVC", "fixed": {"C": 100.0, "gamma": 1.0}}
    result = fitted(settings, seed=0)
    assert 0 < result["error"] < 20
    assert result["n_learned"] == 300


def test_choice_of_the_map_prefers_a_sensible_width(data):
    settings = {
        "case": "IJCNN",
        "rows": 3000,
        "fixed": {"n_components": 64, "C": 100.0, "fit_intercept": False},
        "grid": {"landmarks": ["uniform"], "gamma": [1e-6, 1.0]},
    }
    assert choose_map(settings, seed=0)["chosen"] == {"tuned": {"landmarks": "uniform", "gamma": 1.0}}


def test_following_a_stream(data, shared_data):
    if not (shared_data / "mnist.npz").exists():
        pytest.skip("mnist is not in the folder of data sets")
    fixed = {"feature_map": "fourier", "n_components": 64, "solver": "asset", "alpha": 1e-4, "gamma": 0.01}
    result = followed({"rows": 600, "test_rows": 200, "checkpoints": [100, 300, 10_000], "fixed": fixed}, seed=0)
    assert result["examples"] == [100, 300, 600]
    assert result["last_error"] == result["errors"][-1] < 50
    assert result["seconds"] == sorted(result["seconds"])


def test_cases_are_those_of_table_1():
    assert list(cases()) == ["ADULT", "MNIST", "CCAT", "IJCNN", "COVTYPE"]
    assert cases()["COVTYPE"] == Case("covtype", 464_809, 58_101, 3.0, 1.0)
