"""The LASVM-NC paper: its printed numbers, its plans, its tables and figures, and one small run of each kind."""

import math

import numpy as np
import pytest
from figure_support import assert_can_be_shown, drawn

from experiments.lasvm import EXPERIMENTS
from experiments.lasvm.data import TITLES, split_of
from experiments.lasvm.tables import METHODS
from experiments.lasvm.work import batch_solver, watched_pass
from experiments.printed import read_printed
from experiments.protocol import PROFILES, folder_of, profile_of
from experiments.watched import WatchedLASVM, checkpoints
from frugalsvm import LASVMClassifier
from frugalsvm.datasets import make_checkerboard

BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}
PRINTED = read_printed(folder_of("lasvm") / "printed.csv")


def planned(name, profile="quick"):
    return BY_NAME[name].plan(profile_of("lasvm", name, profile), None)


def invented(task):
    """A result such as `watched_pass` returns, with numbers that depend on the data set and the method."""
    place = list(METHODS).index(task.names["variant"])
    level = 80.0 + place + task.seed
    points = [{"n": n, "n_support": n // 2, "kernel_values": n * n, "gap": 5.0} for n in (50, 100)]
    scores = {"accuracy": level, "prbep": level, "auc": level / 100, "gmeans": level}
    end = {"n_support": 1000 + place, "kernel_values": 5_000_000 - place, "gap": 5.0, "seconds": 0.2}
    ramp = {"admitted left": 3, "admitted right": 60, "cleaned left": 1, "cleaned right": 50}
    tests = [{"n": n, **scores} for n in (50, 100)]
    return {**scores, **end, "n_members": 1010, "n_admitted": 1100, "ramp": ramp, "curve": points, "tests": tests}


def test_printed_tables_are_complete():
    for what in ("Accuracy", "# SV", "Train time"):
        for method in METHODS.values():
            assert all(("lasvm-table3", f"{what}: {method}", title) in PRINTED for title in TITLES.values())
    for what in ("PRBEP", "AUC", "Gmeans", "# Kernel"):
        for method in set(METHODS.values()) - {"LIBSVM"}:
            assert all(("lasvm-table4", f"{what}: {method}", title) in PRINTED for title in TITLES.values())
    assert len(PRINTED) == 3 * 6 * 6 + 4 * 5 * 6 + 4 + 6 + 6


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (("lasvm-table3", "Accuracy: LASVM-NC", "Adult"), 85.01),
        (("lasvm-table3", "# SV: LASVM-I", "USPS-N"), 937),
        (("lasvm-table3", "Train time: FULL SVM", "Mnist(8)"), 4757.4),
        (("lasvm-table4", "PRBEP: LASVM", "USPS-N"), 95.48),
        (("lasvm-table4", "# Kernel: LASVM-I", "Adult"), 105.9),
        (("lasvm-table1", "LASVM-NC", "cleaned left"), 1916),
    ],
)
def test_printed_numbers(key, value):
    assert PRINTED[key].mean == value


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", BY_NAME)
def test_plans_have_distinct_tasks(name, profile):
    tasks = planned(name, profile)
    assert len({task.key for task in tasks}) == len(tasks) > 0


def test_tables_and_figures_share_their_runs():
    shared = {task.key for task in planned("lasvm-table3", "full")}
    for name in set(BY_NAME) - {"lasvm-fig5"}:
        assert {task.key for task in planned(name, "full")} <= shared, name


@pytest.mark.parametrize("part", [1.0, 0.4, 0.0])
@pytest.mark.parametrize("name", BY_NAME)
def test_everything_can_be_shown_whatever_is_missing(name, part):
    assert_can_be_shown(BY_NAME[name], planned(name), invented, part)


@pytest.mark.parametrize("name", ["lasvm-fig4", "lasvm-fig5", "lasvm-fig6", "lasvm-fig7"])
def test_a_method_looks_the_same_where_another_is_missing(name):
    tasks = planned(name)
    outcome = [
        (task, None if task.names["variant"] == "full" and task.names["data"] == "mnist-8" else invented(task))
        for task in tasks
    ]
    assert any(result is None for _, result in outcome)
    (figure,) = BY_NAME[name].show(outcome)
    looks = {}
    for ax in drawn(figure).axes:
        for line in ax.lines:
            if np.isfinite(line.get_ydata()).any():
                looks.setdefault(line.get_label(), set()).add((line.get_color(), line.get_linestyle()))
    assert len(looks) > 4
    assert all(len(found) == 1 for found in looks.values()), looks


def test_cells_are_better_within_or_worse():
    tasks = planned("lasvm-table3")
    levels = {"full": 90.0, "g": 84.5, "nc": 80.0}
    outcome = []
    for task in tasks:
        level = levels.get(task.names["variant"])
        outcome.append((task, None if level is None else {**invented(task), "accuracy": level}))
    accuracies = BY_NAME["lasvm-table3"].show(outcome)[0]
    words = [accuracies.cells[METHODS[variant], "Adult"].verdict.word for variant in levels]
    assert words == ["better", "within", "worse"]
    missing = accuracies.cells["LIBSVM", "Adult"]
    assert missing.verdict is None
    assert missing.note == "not run yet"
    assert all(cell.counted for cell in accuracies.cells.values())


def test_orderings_are_ratios_of_means():
    outcome = [(task, invented(task)) for task in planned("lasvm-table4")]
    orderings = BY_NAME["lasvm-table4"].show(outcome)[-1]
    assert orderings.cells["Adult", "SVs of NC / G"].mean == pytest.approx(1002 / 1001)
    assert orderings.cells["Adult", "SVs of NC / G"].printed.mean == pytest.approx(4609 / 11266)
    assert "kernel values of I / G on 6 of 6 data sets" in orderings.note


def test_a_pass_that_is_watched_ends_like_one_that_is_not():
    X, y = make_checkerboard(600, random_state=0)
    X = X.astype(np.float32)  # compiled once for all tests of this file
    parameters = {"variant": "g", "C": 10.0, "gamma": 8.0, "random_state": 3}
    plain = LASVMClassifier(**parameters).fit(X, y)
    watched = WatchedLASVM(**parameters).watch(sizes=([64, 320, 600], lambda model: {"size": int(model.n_support_[0])}))
    watched.fit(X, y)
    assert [point["n"] for point in watched.records["sizes"]] == [64, 320, 600]
    assert watched.records["sizes"][-1]["size"] == plain.n_support_[0]
    np.testing.assert_allclose(watched.decision_function(X), plain.decision_function(X), atol=1e-6)


def test_checkpoints():
    assert checkpoints(100, 4) == [25, 50, 75, 100]
    assert checkpoints(1000, 3, first=10) == [10, 100, 1000]


@pytest.mark.usefixtures("real_data")
def test_noise_is_in_the_training_labels_only():
    clean, noisy = split_of("usps-0", 0, test_rows=50), split_of("usps-0-noisy", 0, test_rows=50)
    assert np.mean(clean[1] != noisy[1]) == pytest.approx(0.1, abs=0.02)
    np.testing.assert_array_equal(clean[3], noisy[3])
    with pytest.raises(ValueError, match="no data set 'mist'"):
        split_of("mist", 0)


@pytest.mark.usefixtures("real_data")
def test_small_pass():
    settings = {"data": "banana", "rows": 400, "test_rows": 200, "C": 10.0, "gamma": 1.0, "cache_size": 20}
    result = watched_pass({**settings, "variant": "g", "s": -1.0, "max_idle": 0, "looks": 4, "tests": 2}, 1)
    assert [point["n"] for point in result["curve"]] == [100, 200, 300, 400]
    assert [point["n"] for point in result["tests"]] == [200, 400]
    assert result["tests"][-1]["accuracy"] == result["accuracy"] > 75
    assert result["n_admitted"] == 400
    assert result["n_support"] <= result["n_members"]
    assert result["curve"][-1]["kernel_values"] <= result["kernel_values"]
    assert all(math.isfinite(point["gap"]) and point["gap"] >= 0 for point in result["curve"])


@pytest.mark.usefixtures("real_data")
def test_small_batch_solution():
    settings = {"data": "banana", "rows": 400, "test_rows": 200, "C": 10.0, "gamma": 1.0, "cache_size": 20}
    result = batch_solver(settings, 1)
    assert result["accuracy"] > 80
    assert 0 < result["n_support"] < 400
