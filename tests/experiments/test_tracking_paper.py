"""The tracking paper: its plans, its figures, and one small run of each kind."""

import pytest
from figure_support import assert_can_be_shown, drawn

from experiments.printed import read_printed
from experiments.protocol import PROFILES, folder_of, profile_of
from experiments.tracking import EXPERIMENTS
from experiments.tracking.figures import first_at
from experiments.tracking.work import error_curve, gap_trace

BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}


def planned(name, profile="quick"):
    return BY_NAME[name].plan(profile_of("tracking", name, profile), None)


def invented(task):
    steps = task.names["steps"]
    trace = [{"n": n, "gap": 1 / steps + n / 1e6} for n in (100, 200)]
    points = ((100, 3.0), (400, 1.1))
    curve = [
        {"n": n, "error": error, "kernel_values": n * 1e6, "pool_values": 0, "n_support": 9} for n, error in points
    ]
    return {"trace": trace, "mean_gap": 1 / steps, "curve": curve}


def test_the_paper_prints_no_table_of_results():
    assert read_printed(folder_of("tracking") / "printed.csv") == {}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", BY_NAME)
def test_plans_have_distinct_tasks(name, profile):
    tasks = planned(name, profile)
    assert len({task.key for task in tasks}) == len(tasks) > 0


@pytest.mark.parametrize("profile", PROFILES)
def test_figures_share_their_runs(profile):
    curves = {task.key for task in planned("tracking-fig6", profile)}
    assert {task.key for task in planned("tracking-fig5", profile)} < curves
    first = {task.key for task in planned("tracking-fig2", profile) if task.names["algorithm"] == 1}
    assert first <= {task.key for task in planned("tracking-fig4", profile)}


@pytest.mark.parametrize("part", [1.0, 0.4, 0.0])
@pytest.mark.parametrize("name", BY_NAME)
def test_everything_can_be_shown_whatever_is_missing(name, part):
    assert_can_be_shown(BY_NAME[name], planned(name), invented, part)


def test_slope_of_steps_over_the_gap():
    outcome = [(task, invented(task)) for task in planned("tracking-fig4")]
    canvas = drawn(BY_NAME["tracking-fig4"].show(outcome)[0])
    labels = [text.get_text() for text in canvas.axes[0].get_legend().get_texts()]
    assert "slope -1.00" in labels


def test_cost_at_an_error_is_between_two_tests():
    assert first_at([4.0, 2.0, 1.0], [10.0, 100.0, 1000.0], 3.0) == pytest.approx(10**1.5)
    assert first_at([4.0, 2.0], [10.0, 100.0], 5.0) == 10.0
    assert first_at([4.0, 2.0], [10.0, 100.0], 1.0) is None


def test_table_says_where_an_error_is_not_reached():
    table = BY_NAME["tracking-fig5"].show([(task, invented(task)) for task in planned("tracking-fig5")])[1]
    assert table.cells["random, K = 10", "2 %"].mean == pytest.approx(100 * 4 ** (1 / 1.9))
    assert table.cells["random, K = 10", "0.9 %"].note.startswith("not reached")


PARAMETERS = {"C": 1.0, "gamma": 0.005, "cache_size": 20, "n_steps": 5, "process": False}


@pytest.mark.usefixtures("real_data")
@pytest.mark.parametrize("selection", ["random", "margin"])
def test_small_trace(selection):
    settings = {
        "data": "usps-0",
        "rows": 200,
        "looks": 4,
        "parameters": {**PARAMETERS, "gamma": 2.0, "selection": selection},
    }
    result = gap_trace(settings, 0)
    assert [point["n"] for point in result["trace"]] == [50, 100, 150, 200]
    assert 0 < result["mean_gap"] < 1
    assert all(0 <= point["gap"] < 1 for point in result["trace"])


@pytest.mark.usefixtures("real_data")
@pytest.mark.parametrize(("learner", "last"), [("tracking", 160), ("batch", 40)])
def test_small_curve(learner, last):
    settings = {"data": "usps-0", "learner": learner, "rows": 300, "test_rows": 200, "tests": 3, "first": 10}
    parameters = {**PARAMETERS, "C": 10.0, "gamma": 2.0, "selection": "random"}
    curve = error_curve({**settings, "last": last, "parameters": parameters}, 0)["curve"]
    assert [point["n"] for point in curve] == [10, round((10 * last) ** 0.5), last]
    values = [point["kernel_values"] for point in curve]
    assert 0 < values[0] < values[1] < values[2]
    assert curve[-1]["error"] < 20
    if learner == "batch":  # rows of all 300 examples, one for each coefficient that moved
        assert values[0] <= 10 * 5 * 300


@pytest.mark.usefixtures("real_data")
def test_pools_are_counted_apart():
    settings = {
        "data": "usps-0",
        "learner": "tracking",
        "rows": 300,
        "test_rows": 100,
        "tests": 2,
        "first": 20,
        "last": 60,
    }
    parameters = {**PARAMETERS, "C": 10.0, "gamma": 2.0, "selection": "margin", "pool_size": 10}
    curve = error_curve({**settings, "parameters": parameters}, 0)["curve"]
    assert all(0 < point["pool_values"] < point["kernel_values"] for point in curve)
