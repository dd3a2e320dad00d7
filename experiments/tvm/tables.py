"""Tables 2 to 5: accuracies, times and numbers of vectors."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from experiments.explanations import explain
from experiments.printed import read_printed
from experiments.protocol import folder_of
from experiments.results import Cell, Outcome, Table
from experiments.tasks import Task
from experiments.tvm.learners import AVERAGED, VARIANTS, task_for
from experiments.tvm.problems import limits, problems
from experiments.tvm.work import AVERAGED_MODELS

__all__ = [
    "plan_table2",
    "plan_table3",
    "plan_table4",
    "plan_table5",
    "show_table2",
    "show_table3",
    "show_table4",
    "show_table5",
]

BUDGETS = (20, 50, 100, 200, 500)
TABLE3 = ("Forgetron 100", AVERAGED, "Random 100", "LIBSVM", "IDSVM", *(f"TVM {budget}" for budget in BUDGETS))
TABLE4 = ("Forgetron 100", AVERAGED, "Random 100", "IDSVM", "TVM 100")
TABLE5 = ("Random 100", "IDSVM", "TVM 100", *VARIANTS)
TIMED = ("TVM 100", "LIBSVM", "IDSVM")
AVERAGE = "Average"
OF_AVERAGED = (
    f"{AVERAGED} is not in the paper, and not counted: the mean of {AVERAGED_MODELS} models of one run, from the "
    "second half of the stream. It has the support vectors of all of them, so it is no model within the budget."
)


# --- what is run ------------------------------------------------------------------------------------------


def _plan(columns: Iterable[tuple[str, str]], profile: dict[str, Any], choices) -> list[Task]:
    """Tasks of pairs of a kernel and a learner."""
    tasks = []
    for name, problem in problems().items():
        if name not in profile.get("problems", problems()):
            continue
        for kernel, learner in columns:
            if learner == AVERAGED and profile["profile"] == "confirm":
                continue  # no printed number: nothing to confirm
            for seed in range(profile["repetitions"].get(learner.split()[0], profile["repetitions"]["others"])):
                limited = {**profile, "examples": limits(profile["profile"], name, kernel)}
                names = {"row": name, "column": learner, "kernel": kernel, "seed": seed}
                tasks.append(task_for(learner, problem, seed, limited, choices, kernel=kernel, names=names))
    return tasks


def plan_table2(profile, choices):
    return _plan([("rbf", learner) for learner in TIMED], profile, choices)


def plan_table3(profile, choices):
    return _plan([("rbf", learner) for learner in profile.get("learners", TABLE3)], profile, choices)


def plan_table4(profile, choices):
    learners = profile.get("learners", TABLE4)
    return _plan([(kernel, learner) for kernel in ("poly", "linear") for learner in learners], profile, choices)


def plan_table5(profile, choices):
    return _plan([("rbf", learner) for learner in profile.get("learners", TABLE5)], profile, choices)


# --- what is shown ----------------------------------------------------------------------------------------


def _values(outcome: Outcome, part: str) -> dict[tuple[str, str, str], list[float]]:
    """Numbers of the results by problem, kernel and learner."""
    values: dict[tuple[str, str, str], list[float]] = {}
    for task, result in outcome:
        if result is not None:
            key = task.names["row"], task.names["kernel"], task.names["column"]
            values.setdefault(key, []).append(result[part])
    return values


def _accuracies(experiment: str, columns: dict[str, tuple[str, str]], outcome: Outcome, title: str, again=()) -> Table:
    """A table of accuracies with their averages; columns that are ``again`` here were counted in another table."""
    printed = read_printed(folder_of("tvm") / "printed.csv")
    values, cells, shown = _values(outcome, "accuracy"), {}, [*problems(), AVERAGE]
    for column, (kernel, learner) in columns.items():
        numbers = {row: None if learner == AVERAGED else printed[experiment, row, column] for row in shown}
        counted = column not in again and learner != AVERAGED
        for row in problems():
            cells[row, column] = Cell(values.get((row, kernel, learner), []), numbers[row], counted=counted)
        means = [cell.mean for row in problems() if (cell := cells[row, column]).mean is not None]
        whole = [float(np.mean(means))] if len(means) == len(problems()) else []
        cells[AVERAGE, column] = Cell(whole, numbers[AVERAGE], counted=False)
    explain(cells, folder_of("tvm") / "explanations.toml", experiment)
    extra = OF_AVERAGED if AVERAGED in {learner for _, learner in columns.values()} else ""
    return Table(title, shown, list(columns), cells, note=f"{extra} {_stopped(outcome)}".strip())


def _stopped(outcome: Outcome) -> str:
    """How many examples the unbudgeted learners have learned where that is not all of them."""
    counts: dict[str, dict[str, int]] = {}
    for task, result in outcome:
        learner = task.names["column"]
        if result is not None and learner in ("LIBSVM", "IDSVM") and result["n_learned"] < result["n_rows"]:
            kernel = {"rbf": "", "poly": "polynomial ", "linear": "linear "}[task.names["kernel"]]
            counts.setdefault(kernel + learner, {})[task.names["row"]] = result["n_learned"]
    lines = [
        f"{learner} learned {', '.join(f'{count:,} examples of {row}' for row, count in rows.items())}."
        for learner, rows in counts.items()
    ]
    return " ".join(lines)


def _show_rbf(experiment: str, learners, title: str, again=()) -> Callable[[Outcome], list]:
    columns = {learner: ("rbf", learner) for learner in learners}
    return lambda outcome: [_accuracies(experiment, columns, outcome, title, again)]


show_table3 = _show_rbf("tvm-table3", TABLE3, "Accuracy with the RBF kernel")
show_table5 = _show_rbf("tvm-table5", TABLE5, "Accuracy of variants of the TVM with a budget of 100", TABLE5[:3])


def show_table4(outcome: Outcome) -> list[Table]:
    columns = {f"{kernel} {learner}": (kernel, learner) for kernel in ("poly", "linear") for learner in TABLE4}
    return [_accuracies("tvm-table4", columns, outcome, "Accuracy with polynomial and linear kernels")]


def show_table2(outcome: Outcome) -> list[Table]:
    make = partial(_costs, outcome)
    return [
        make("seconds", "seconds", "Training time", "s", 1),
        make("n_support", "vectors", "Support or twin vectors", "", 0),
    ]


def _costs(outcome: Outcome, part: str, word: str, title: str, unit: str, digits: int) -> Table:
    """A table of costs: no accuracies, so nothing of it is counted."""
    printed = read_printed(folder_of("tvm") / "printed.csv")
    values = _values(outcome, part)
    cells = {}
    for row in problems():
        for learner in TIMED:
            number = printed.get(("tvm-table2", row, f"{learner.split()[0]} {word}"))
            note = "" if number is not None else "stopped after 3,000 s in the paper"
            found = values.get((row, "rbf", learner), [])
            cells[row, learner] = Cell(found, number, note, lower_is_better=True, counted=False)
    note = (
        f"One core of this machine, without compilation; the paper used MATLAB for TVM and IDSVM. {_stopped(outcome)}"
    )
    return Table(title, list(problems()), list(TIMED), cells, unit, digits, note)
