"""Figure 6: training time against the length of the stream, and how it grows with the budget."""

import numpy as np

from experiments.results import Cell, Experiment, Figure, Table
from experiments.tasks import Task

__all__ = ["FIGURE6", "exponent"]

NOTE = (
    "Seconds of processor time of one process. Exponents are slopes of least-squares lines through the "
    "logarithms: in N over the second half of each curve (in the logarithm), in B at the longest stream that all "
    "budgets have. The paper prints no numbers: it expects N^2 for Pegasos, N for BPegasos, and B for merging, "
    "B^2 for projection."
)


def _plan(profile, choices):
    tasks = []
    for strategy in (None, "merge", "project"):
        for budget in [None] if strategy is None else profile["budgets"]:
            fixed = {"gamma": profile["gamma"], "alpha": profile["alpha"], "budget": budget}
            settings = {
                "data": "checkerboard",
                "rows": profile["rows"],
                "estimator": "BSGDClassifier",
                "fixed": fixed if strategy is None else {**fixed, "maintenance": strategy},
                "checkpoints": profile["checkpoints"],
                "first": 1_000,
                "seconds": profile["seconds"],
            }
            name = "Pegasos" if strategy is None else f"BPegasos+{strategy}"
            names = {"method": name, "data": "checkerboard", "budget": budget}
            seconds = profile["seconds"] * {None: 1.0, "merge": 0.05, "project": 0.5}[strategy]
            tasks.append(Task("experiments.bsgd.work:curve", settings, 0, names, seconds=seconds))
    return tasks


def exponent(sizes, seconds) -> float | None:
    """The slope of the line through the logarithms; None for fewer than two points."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0]) if len(sizes) > 1 else None


def _show(outcome):
    curves = {(t.names["method"], t.names["budget"]): result for t, result in outcome if result}

    def draw(figure):
        axes = figure.subplots()
        for (method, budget), found in curves.items():
            style = {"Pegasos": "k-", "BPegasos+merge": "o-", "BPegasos+project": "s--"}[method]
            axes.plot(
                found["n"], found["seconds"], style, label=method if budget is None else f"{method}, B = {budget}"
            )
        axes.set(xlabel="examples", ylabel="seconds", xscale="log", yscale="log")
        if curves:
            axes.legend(fontsize="small")

    return [Figure("Figure 6: training time", draw, (7.0, 4.5), NOTE), _exponents(curves)]


def _exponents(curves):
    cells, methods = {}, list(dict.fromkeys(method for method, _ in curves))
    for (method, budget), found in curves.items():
        late = np.array(found["n"]) >= np.sqrt(found["n"][0] * found["n"][-1])
        slope = exponent(np.array(found["n"])[late], np.array(found["seconds"])[late])
        column = "in N, no budget" if budget is None else f"in N, B = {budget}"
        cells[method, column] = Cell([slope] if slope is not None else [], counted=False)
    for method in methods:
        of_method = {budget: found for (name, budget), found in curves.items() if name == method and budget}
        if len(of_method) > 1:
            place = min(len(found["n"]) for found in of_method.values()) - 1
            slope = exponent(list(of_method), [found["seconds"][place] for found in of_method.values()])
            cells[method, "in B"] = Cell([slope], counted=False)
    columns = sorted({column for _, column in cells}, key=lambda name: (name == "in B", len(name), name))
    return Table("Exponents of the training time", methods, columns, cells, unit="", note=NOTE)


FIGURE6 = Experiment("bsgd-fig6", "Training time against stream length and budget", _plan, _show)
