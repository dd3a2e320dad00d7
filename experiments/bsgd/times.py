"""Figure 6: training time against the length of the stream, and how it grows with the budget."""

import numpy as np

from experiments.results import Cell, Experiment, Figure, Table
from experiments.tasks import Task

__all__ = ["FIGURE6", "exponent", "seconds_per_example"]

STREAM = "checkerboard"
NOTE = (
    "Seconds of processor time of one process. Exponents are slopes of least-squares lines through the "
    "logarithms: in N over the second half of each curve (in the logarithm), in B over the time that an example takes "
    "once the budget is full. Those in B are measured on Waveform, since a plane has no room for so many vectors that "
    "are independent. The paper prints no numbers: it expects N^2 for Pegasos, N for BPegasos, and B for merging, "
    "B^2 for projection."
)


def _plan(profile, choices):
    shared = {key: profile[key] for key in ("gamma", "alpha", "rows", "checkpoints", "seconds")}
    tasks = [_task(STREAM, None, None, {**shared, "first": 1_000})]
    for strategy in ("merge", "project"):
        for budget in profile["budgets"]:
            tasks.append(_task(STREAM, strategy, budget, {**shared, "first": 1_000}))
    growth = profile["growth"]
    for strategy in ("merge", "project"):
        tasks += [_task(growth["data"], strategy, budget, growth) for budget in growth[strategy]]
    return tasks


def _task(data, strategy, budget, asked):
    fixed = {"gamma": asked["gamma"], "alpha": asked["alpha"], "budget": budget}
    settings = {
        "data": data,
        "rows": asked["rows"],
        "estimator": "BSGDClassifier",
        "fixed": fixed if strategy is None else {**fixed, "maintenance": strategy},
        "checkpoints": asked["checkpoints"],
        "first": asked["first"],
        "seconds": asked["seconds"],
    }
    method = "Pegasos" if strategy is None else f"BPegasos+{strategy}"
    names = {"method": method, "data": data, "budget": budget}
    seconds = asked["seconds"] * {None: 1.0, "merge": 0.05, "project": 0.5}[strategy]
    return Task("experiments.bsgd.work:curve", settings, 0, names, seconds=seconds)


def exponent(sizes, seconds) -> float | None:
    """The slope of the line through the logarithms; None for fewer than two points."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0]) if len(sizes) > 1 else None


def seconds_per_example(found, budget: int) -> float | None:
    """Between the first and the last look at a full model; None if there are not two."""
    full = np.flatnonzero(np.array(found["n_support"]) >= budget)
    if len(full) < 2:
        return None
    first, last = full[0], full[-1]
    return (found["seconds"][last] - found["seconds"][first]) / (found["n"][last] - found["n"][first])


def _show(outcome):
    along_n, along_b = {}, {}
    for task, result in outcome:
        if result:
            curves = along_n if task.names["data"] == STREAM else along_b
            curves[task.names["method"], task.names["budget"]] = result

    def draw(figure):
        axes = figure.subplots()
        for (method, budget), found in along_n.items():
            style = {"Pegasos": "k-", "BPegasos+merge": "o-", "BPegasos+project": "s--"}[method]
            axes.plot(
                found["n"], found["seconds"], style, label=method if budget is None else f"{method}, B = {budget}"
            )
        axes.set(xlabel="examples", ylabel="seconds", xscale="log", yscale="log")
        if along_n:
            axes.legend(fontsize="small")

    return [Figure("Figure 6: training time", draw, (7.0, 4.5), NOTE), _exponents(along_n, along_b)]


def _exponents(along_n, along_b):
    cells, methods = {}, list(dict.fromkeys(method for method, _ in (*along_n, *along_b)))
    for (method, budget), found in along_n.items():
        late = np.array(found["n"]) >= np.sqrt(found["n"][0] * found["n"][-1])
        slope = exponent(np.array(found["n"])[late], np.array(found["seconds"])[late])
        column = "in N, no budget" if budget is None else f"in N, B = {budget}"
        cells[method, column] = Cell([slope] if slope is not None else [], counted=False)
    for method in methods:
        times = {b: seconds_per_example(found, b) for (name, b), found in along_b.items() if name == method}
        known = {budget: seconds for budget, seconds in times.items() if seconds is not None}
        slope = exponent(list(known), list(known.values()))
        if slope is not None:
            column = f"in B, {min(known)} to {max(known)}"
            cells[method, column] = Cell([slope], counted=False)
    columns = sorted({column for _, column in cells}, key=lambda name: (name[:4] == "in B", len(name), name))
    return Table("Exponents of the training time", methods, columns, cells, unit="", note=NOTE)


FIGURE6 = Experiment("bsgd-fig6", "Training time against stream length and budget", _plan, _show)
