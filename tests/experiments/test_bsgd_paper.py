"""The BSGD paper's tables and figures: printed numbers, plans, what is shown, and the work behind the figures."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure as Canvas

from experiments.bsgd import EXPERIMENTS
from experiments.bsgd.cells import numbers_of
from experiments.bsgd.methods import available, data_of_part, method_of, methods
from experiments.bsgd.times import exponent, seconds_per_example
from experiments.bsgd.work import curve, support_vectors
from experiments.data import UNAVAILABLE
from experiments.printed import Printed
from experiments.protocol import choices_of, profile_of
from experiments.results import Figure, Table

BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}
CHECKERBOARD = {"data": "checkerboard", "estimator": "BSGDClassifier"}


def plan_of(name, profile):
    return BY_NAME[name].plan(profile_of("bsgd", name, profile), choices_of("bsgd"))


def shown(name, outcome):
    """Tables by title, after all figures were drawn."""
    parts = BY_NAME[name].show(outcome)
    for part in parts:
        if isinstance(part, Figure):
            part.draw(Canvas(part.size))
    return {part.title: part for part in parts if isinstance(part, Table)}


# --- printed numbers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", "abc")
def test_every_cell_of_table_3_is_printed(part):
    printed = numbers_of("bsgd-table3")
    for method in methods():
        for data in data_of_part(part):
            if method_of(method).get("two_classes") and part != "a":
                continue
            for budget in (" 100", " 500") if method_of(method).get("budgeted") else ("",):
                assert (method, f"{data}{budget}") in printed


def test_table_3_has_no_other_cells():
    assert len(numbers_of("bsgd-table3")) == (5 + 20) * 5 + (4 + 16) * 5 + (4 + 16) * 4


@pytest.mark.parametrize(
    ("method", "column", "number"),
    [
        ("LIBSVM", "banana", Printed(90.70, 0.06)),
        ("TVM", "checkerboard 500", Printed(99.94, 0.03)),
        ("Projectron++", "letter 100", Printed(47.23, 0.99)),
        ("BPegasos+remove", "pendigits 500", Printed(97.6, 0.21)),
        ("BPegasos+merge", "a9a 500", Printed(83.93, 0.41)),
        ("BPegasos+merge", "phoneme-48 100", Printed(46.49, 0.78)),
        ("BMP+merge", "waveform 500", Printed(86.03, 0.17)),
    ],
)
def test_numbers_of_table_3(method, column, number):
    assert numbers_of("bsgd-table3")[method, column][:3] == number[:3]


def test_numbers_of_table_4():
    printed = numbers_of("bsgd-table4")
    assert len(printed) == 12
    assert printed["BPegasos+remove", "accuracy 100"][:2] == (79.19, 3.05)
    assert printed["BPegasos+merge", "gradient error 500"][:3] == (0.002, 0.001, 0.0005)


def test_table_4_uses_the_kernel_width_of_the_paper():
    sigma = 0.0625
    assert profile_of("bsgd", "bsgd-table4", "full")["gamma"] == 1 / (2 * sigma)


# --- plans ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["quick", "full"])
@pytest.mark.parametrize("name", BY_NAME)
def test_plan(name, profile):
    tasks = plan_of(name, profile)
    assert tasks
    assert not {task.names["data"] for task in tasks} & set(UNAVAILABLE)


@pytest.mark.parametrize("name", BY_NAME)
def test_quick_chooses_nothing(name):
    assert [task.names for task in plan_of(name, "quick") if task.needs is not None] == []


def test_full_table_3_has_every_pair_often_enough():
    tasks = plan_of("bsgd-table3", "full")
    seeds = {}
    for task in tasks:
        key = task.names["method"], task.names["data"], task.names["budget"]
        seeds.setdefault(key, set()).add(task.seed)
    expected = {
        (method, data, budget)
        for method in methods()
        for part in "abc"
        for data in data_of_part(part)
        if available(method, data)
        for budget in ((100, 500) if method_of(method).get("budgeted") else (None,))
    }
    assert set(seeds) == expected
    # Five repetitions as in the paper but for the longest runs, and where the result is always the same.
    long = ("checkerboard", "covtype", "waveform")
    for (method, data, _), found in seeds.items():
        if method not in ("LIBSVM", "IDSVM"):
            assert len(found) == 5 or (data in long and len(found) >= 2)


def test_the_second_step_size_of_norma():
    [tuned] = {
        tuple(task.needs.settings["grid"]["eta0"])
        for task in BY_NAME["bsgd-table3"].plan(
            {**profile_of("bsgd", "bsgd-table3", "full"), "data": ["letter"]}, _NothingChosen()
        )
        if task.names["method"] == "Norma"
    }
    assert tuned == (1.0, pytest.approx(0.5 * np.sqrt(2 + 0.5 * np.sqrt(16_000)), rel=0.01))


def _NothingChosen():
    from experiments.tuning import Choices

    return Choices(Path("there is no such file"))


# --- what is shown --------------------------------------------------------------------------------------------------


def test_table_3_beside_the_paper():
    accuracies = {"BPegasos+merge": 99.0, "BPegasos+remove": 10.0, "BMP+merge": 89.3}
    outcome = []
    for task in plan_of("bsgd-table3", "full"):
        if task.names["data"] == "banana" and task.names["budget"] == 100:
            accuracy = accuracies.get(task.names["method"])
            outcome.append((task, None if accuracy is None else {"accuracy": accuracy}))
    tables = shown("bsgd-table3", outcome)
    assert len(tables) == 3
    cells = tables["Table 3 (a): two classes"].cells
    assert cells["BPegasos+merge", "banana 100"].verdict.word == "better"
    assert len(cells["BPegasos+merge", "banana 100"].values) == 5
    assert cells["BMP+merge", "banana 100"].verdict.word == "within"
    assert cells["BPegasos+remove", "banana 100"].verdict.word == "worse"
    assert cells["TVM", "banana 100"].verdict is None
    unavailable = tables["Table 3 (c): several classes, longer"].cells["Pegasos", "phoneme-48"]
    assert unavailable.mean is None
    assert unavailable.printed == Printed(79.62, 0.16)
    assert "not public" in unavailable.note


def test_tvm_has_no_row_where_the_paper_has_none():
    tables = shown("bsgd-table3", [])
    assert "TVM" in tables["Table 3 (a): two classes"].rows
    assert "TVM" not in tables["Table 3 (b): several classes"].rows


def test_table_4_shows_errors_of_two_columns():
    tasks = [task for task in plan_of("bsgd-table4", "quick") if task.names["budget"] == 100]
    outcome = [(task, {"accuracy": [50.0, 80.0], "gradient_error": 1.0}) for task in tasks[:1]] + [(tasks[-1], None)]
    [table] = shown("bsgd-table4", outcome).values()
    assert table.cells["BPegasos+remove", "accuracy 100"].mean == 80
    assert table.cells["BPegasos+remove", "gradient error 100"].mean == pytest.approx(np.sqrt(2))
    assert not table.cells["BPegasos+remove", "gradient error 100"].counted
    assert table.cells["BPegasos+merge", "accuracy 100"].mean is None


def test_figures_with_and_without_results():
    invented = {"n": [100, 1000, 10000], "accuracy": [60.0, 70.0, 80.0], "seconds": [0.1, 1.0, 10.0]}
    invented["n_support"] = [50, 100, 100]
    for name in ("bsgd-fig4", "bsgd-fig5", "bsgd-fig6"):
        tasks = plan_of(name, "full")
        shown(name, [(task, invented if i % 2 else None) for i, task in enumerate(tasks)])
        shown(name, [(task, None) for task in tasks])
    for name in ("bsgd-fig2", "bsgd-fig3"):
        tasks = plan_of(name, "full")
        shown(name, [(task, {"accuracy": 80.0} if i % 2 else None) for i, task in enumerate(tasks)])
        shown(name, [(task, None) for task in tasks])


def test_figure_3_gives_numbers_for_each_number_of_passes():
    tasks = plan_of("bsgd-fig3", "quick")
    outcome = [(task, {"accuracy": 80.0 + task.names["passes"]}) for task in tasks]
    [table] = shown("bsgd-fig3", outcome).values()
    assert table.cells["passes: 5", "banana"].mean - table.cells["passes: 1", "banana"].mean == pytest.approx(4)


def test_exponents_of_figure_6():
    outcome = []
    for task in plan_of("bsgd-fig6", "full"):
        n = np.array([1e3, 1e4, 1e5])
        budget = task.names["budget"]
        power = {"Pegasos": 0, "BPegasos+merge": 1, "BPegasos+project": 2}[task.names["method"]]
        seconds = 1e-9 * (n**2 if budget is None else n * budget**power)
        full = [budget] * 3 if budget else n.tolist()
        outcome.append((task, {"n": n.tolist(), "seconds": seconds.tolist(), "n_support": full}))
    [table] = shown("bsgd-fig6", outcome).values()
    assert table.cells["Pegasos", "in N, no budget"].mean == pytest.approx(2)
    assert table.cells["BPegasos+merge", "in N, B = 100"].mean == pytest.approx(1)
    assert table.cells["BPegasos+merge", "in B, 400 to 3200"].mean == pytest.approx(1)
    assert table.cells["BPegasos+project", "in B, 200 to 1600"].mean == pytest.approx(2)


def test_time_of_an_example_is_that_of_a_full_model():
    found = {"n": [100, 200, 300, 400], "seconds": [50.0, 60.0, 61.0, 62.0], "n_support": [20, 30, 30, 30]}
    assert seconds_per_example(found, 30) == pytest.approx(0.01)
    assert seconds_per_example(found, 31) is None


def test_exponent_needs_two_points():
    assert exponent([1], [1.0]) is None


def test_figure_7_says_how_many_digits_there_are():
    run = {"vectors": np.zeros((10, 256)).tolist(), "classes": [0] * 5 + [1] * 5, "accuracy": 70.0}
    outcome = [(task, {**run, "are_examples": [True] * 10}) for task in plan_of("bsgd-fig7", "quick")]
    [figure] = BY_NAME["bsgd-fig7"].show(outcome)
    figure.draw(Canvas(figure.size))
    assert "2, 2, 2 different digits, 10, 10, 10 vectors are training examples" in figure.note


# --- work -----------------------------------------------------------------------------------------------------------


def test_curve_looks_at_every_checkpoint():
    fixed = {"budget": 20, "gamma": 8.0, "alpha": 1e-3}
    found = curve({**CHECKERBOARD, "rows": 3_000, "fixed": fixed, "checkpoints": 4}, seed=0)
    assert found["n"] == [100, 311, 965, 3000]
    assert found["n_support"] == [20, 20, 20, 20]
    assert found["accuracy"][-1] > 60
    assert 0 < found["gradient_error"] < 1
    assert np.all(np.diff(found["seconds"]) >= 0)


def test_curve_stops_for_time():
    settings = {**CHECKERBOARD, "rows": 3_000, "fixed": {"budget": 20}, "checkpoints": 4, "seconds": 0.0}
    assert curve(settings, seed=0)["n"] == [100]


def test_one_checkpoint_is_the_end():
    settings = {**CHECKERBOARD, "rows": 3_000, "fixed": {"budget": 20}, "checkpoints": 1}
    assert curve(settings, seed=0)["n"] == [3_000]


@pytest.mark.parametrize(("maintenance", "examples"), [("remove", True), ("merge", False)])
def test_support_vectors(maintenance, examples):
    fixed = {"budget": 4, "gamma": 0.1, "alpha": 1e-3, "maintenance": maintenance}
    settings = {"data": "waveform", "rows": 1_000, "estimator": "BSGDClassifier", "fixed": fixed}
    found = support_vectors(settings, seed=0)
    assert np.shape(found["vectors"]) == (4, 21)
    assert found["classes"] == sorted(found["classes"])
    assert all(found["are_examples"]) == examples
