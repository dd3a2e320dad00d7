"""Figure 3: accuracy of the TVM with three budgets, and of IDSVM, along the streams of twelve problems."""

from typing import Any

import numpy as np

from experiments.results import Figure, Outcome
from experiments.tasks import Task
from experiments.tvm.learners import task_for
from experiments.tvm.problems import limits, problems

__all__ = ["plan", "show"]

NOTE = (
    "The first point of each TVM curve is an SVM on as many random examples as its budget. In the paper every "
    "curve rises with the number of examples, for every budget and every problem."
)
_COLOURS = {"TVM 20": "C2", "TVM 100": "C0", "TVM 500": "C1", "IDSVM": "0.3"}


def plan(profile: dict[str, Any], choices) -> list[Task]:
    tasks = []
    for name, problem in problems().items():
        if name not in profile.get("problems", problems()):
            continue
        limited = {**profile, "examples": limits(profile["profile"], name, "rbf")}
        for learner in profile["learners"]:
            first = int(learner.split()[1]) if learner.startswith("TVM") else profile["checkpoints"][0]
            points = [first, *(point for point in profile["checkpoints"] if point > first)]
            for seed in range(profile["repetitions"]):
                names = {"row": name, "learner": learner, "seed": seed}
                work = "experiments.tvm.work:curve"
                more = {"work": work, "names": names, "checkpoints": points}
                tasks.append(task_for(learner, problem, seed, limited, choices, **more))
    return tasks


def show(outcome: Outcome) -> list[Figure]:
    curves: dict[str, dict[str, list]] = {}
    for task, result in outcome:
        if result is not None:
            of_row = curves.setdefault(task.names["row"], {})
            of_row.setdefault(task.names["learner"], []).append((result["examples"], result["accuracies"]))
    if not curves:
        return []
    n_rows = (len(curves) + 2) // 3
    title = "Accuracy against the number of examples"
    return [Figure(title, lambda figure: _draw(figure, curves, n_rows), (9.5, 2.6 * n_rows + 0.4), NOTE)]


def _draw(figure, curves, n_rows) -> None:
    handles: dict[str, Any] = {}
    for place, (row, learners) in enumerate(curves.items(), start=1):
        axes = figure.add_subplot(n_rows, 3, place, title=row, xscale="log")
        for learner, found in learners.items():
            examples, accuracies = found[0][0], np.mean([values for _, values in found], axis=0)
            (handles[learner],) = axes.plot(examples, accuracies, color=_COLOURS.get(learner), marker=".")
        axes.tick_params(labelsize=8)
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=len(handles))
    figure.supylabel("accuracy, %", fontsize=10)
