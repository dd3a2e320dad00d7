"""Figures 2 and 3: BPegasos+merge with larger budgets, and with more passes."""

import numpy as np

from experiments.bsgd.methods import available, data_of_part, task_of
from experiments.results import Cell, Experiment, Figure, Table

__all__ = ["FIGURE2", "FIGURE3"]

METHOD = "BPegasos+merge"
NOTE2 = (
    "BPegasos with merging, with the parameters chosen for a budget of 500; the dashed line is Pegasos without a "
    "budget, stopped after 60 seconds (Covertype: 300). The paper prints no numbers for this figure: it says that "
    "the accuracy approaches that of Pegasos with larger budgets, and on Covertype needs a much larger one than 500."
)
NOTE3 = (
    "Percentage points that five passes gain over one, with the parameters chosen for one. The paper prints no "
    "numbers: it says that more passes improve the accuracy on most data sets."
)


def _plan2(profile, choices):
    tasks = []
    for data in ("letter", "covtype"):
        if data not in profile:
            continue
        limits = profile[data]
        tasks.append(task_of(choices, "Pegasos", data, None, rows=limits.get("rows")))
        for budget in limits["budgets"]:
            for seed in range(limits.get("repetitions", profile["repetitions"])):
                asked = {"seed": seed, "rows": limits.get("rows"), "parameters_of": profile["parameters_of"]}
                tasks.append(task_of(choices, METHOD, data, budget, **asked))
    return tasks


def _show2(outcome):
    values, unlimited = {}, {}
    for task, result in outcome:
        data, budget = task.names["data"], task.names["budget"]
        if budget is None:
            unlimited[data] = result and result["accuracy"]
        elif result:
            values.setdefault(data, {}).setdefault(budget, []).append(result["accuracy"])

    def draw(figure):
        for axes, data in zip(figure.subplots(1, len(unlimited), squeeze=False)[0], unlimited, strict=True):
            budgets = sorted(values.get(data, {}))
            means = [np.mean(values[data][budget]) for budget in budgets]
            axes.plot(budgets, means, marker="o", label=METHOD)
            if unlimited[data]:
                axes.axhline(unlimited[data], color="black", linestyle="--", label="Pegasos")
            axes.set(title=data, xlabel="budget", ylabel="accuracy in %", xscale="log")
            axes.set_xticks(budgets, [str(budget) for budget in budgets])
            axes.minorticks_off()
            axes.legend()

    return [Figure("Figure 2: accuracy and budget", draw, (9.0, 3.6), NOTE2)]


def _plan3(profile, choices):
    everything = [name for part in "abc" for name in data_of_part(part) if available(METHOD, name)]
    tasks = []
    for data in profile.get("data", everything):
        for passes in profile["passes"]:
            for seed in range(profile["repetitions"]):
                more = {"fixed": {"max_iter": passes}, "names": {"passes": passes}}
                tasks.append(
                    task_of(choices, METHOD, data, profile["budget"], seed=seed, rows=profile.get("rows"), **more)
                )
    return tasks


def _show3(outcome):
    values = {}
    for task, result in outcome:
        of_data = values.setdefault(task.names["data"], {})
        of_data.setdefault(task.names["passes"], []).extend([result["accuracy"]] if result else [])
    measured = {data: found for data, found in values.items() if all(found.values())}
    gains = {data: np.mean(found[max(found)]) - np.mean(found[min(found)]) for data, found in measured.items()}

    def draw(figure):
        axes = figure.subplots()
        axes.bar(list(gains), list(gains.values()))
        axes.axhline(0, color="black", linewidth=0.8)
        axes.set_ylabel("gain in percentage points")
        axes.tick_params(axis="x", rotation=45)

    cells = {(f"passes: {n}", data): Cell(v) for data, found in values.items() for n, v in found.items()}
    rows = list(dict.fromkeys(row for row, _ in cells))
    return [
        Figure("Figure 3: five passes against one", draw, (8.0, 3.6), NOTE3),
        Table("Figure 3 in numbers", rows, list(values), cells),
    ]


FIGURE2 = Experiment("bsgd-fig2", "Accuracy against the budget", _plan2, _show2)
FIGURE3 = Experiment("bsgd-fig3", "Five passes against one", _plan3, _show3)
