"""Figure 7: the ten support vectors of models of USPS digits, by projection and by merging."""

import numpy as np

from experiments.bsgd.methods import task_of
from experiments.results import Experiment, Figure

__all__ = ["FIGURE7"]

METHODS = ("BPegasos+project", "BPegasos+merge")


def _plan(profile, choices):
    return [
        task_of(
            choices,
            method,
            profile["data"],
            profile["budget"],
            work="experiments.bsgd.work:support_vectors",
            seed=seed,
            rows=profile.get("rows"),
        )
        for method in METHODS
        for seed in range(profile["runs"])
    ]


def _show(outcome):
    runs = {}
    for task, result in outcome:
        if result:
            runs.setdefault(task.names["method"], []).append(result)
    n_runs = max(map(len, runs.values()), default=0)

    def draw(figure):
        for part, (method, found) in zip(np.ravel(figure.subfigures(len(runs), 1)), runs.items(), strict=True):
            part.suptitle(method, fontsize="medium")
            for row, run in zip(part.subplots(n_runs, 10, squeeze=False), found, strict=False):
                _draw_run(row, run)

    return [Figure("Figure 7: support vectors of USPS digits, ten a run", draw, (8.0, 1.1 * n_runs * 2), _note(runs))]


def _draw_run(row, run):
    for axes in row:
        axes.axis("off")
    for axes, vector, digit in zip(row, run["vectors"], run["classes"], strict=False):
        side = int(np.sqrt(len(vector)))
        axes.imshow(np.reshape(vector, (side, side)), cmap="gray_r")
        axes.set_title(digit, fontsize="x-small", pad=1)


def _note(runs):
    parts = ["A row is a run; the number above a vector is the class with its largest coefficient."]
    for method, found in runs.items():
        digits = ", ".join(str(len(set(run["classes"]))) for run in found)
        examples = ", ".join(str(sum(run["are_examples"])) for run in found)
        accuracy = ", ".join(f"{run['accuracy']:.1f}" for run in found)
        parts.append(
            f"{method}: {digits} different digits, {examples} vectors are training examples; accuracy {accuracy} %."
        )
    parts.append(
        "The paper: projection keeps training examples and does not have all digits; merging has all ten in all runs."
    )
    return " ".join(parts)


FIGURE7 = Experiment("bsgd-fig7", "Support vectors of USPS digits with a budget of ten", _plan, _show)
