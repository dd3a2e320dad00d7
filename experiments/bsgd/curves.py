"""Figures 4 and 5: accuracy while a stream goes by."""

import numpy as np

from experiments.bsgd.methods import available, method_of, task_of
from experiments.results import Experiment, Figure

__all__ = ["FIGURE4", "FIGURE5"]

STOPPED = "Curves end where learning was stopped for time."
NOTE4 = (
    f"{STOPPED} The paper prints no numbers. It says: BPegasos+merge rises with the length of the stream on all "
    "three; on Checkerboard it overtakes Pegasos, IDSVM and TVM; on Waveform it rises faster than Pegasos; on "
    "Covertype it stays far below Pegasos."
)
NOTE5 = (
    f"{STOPPED} The paper prints no numbers. It says: removal is the worst on all three, and on Checkerboard it "
    "falls after a first rise; projection and merging rise all the time; merging is better than projection on "
    "Waveform."
)


def _plan(profile, choices):
    tasks = []
    for data in profile["data"]:
        for method in profile["methods"]:
            if not available(method, data):
                continue
            budget = profile["budget"] if method_of(method).get("budgeted") else None
            settings = {"checkpoints": profile["checkpoints"], "seconds": profile["seconds"]}
            work = "experiments.bsgd.work:curve"
            asked = {"rows": profile.get("rows"), "settings": settings, "work": work}
            tasks.append(task_of(choices, method, data, budget, **asked))
    return tasks


def _shown_as(title, note):
    def show(outcome):
        curves, colors = {}, {}
        for task, result in outcome:
            of_data = curves.setdefault(task.names["data"], {})
            colors.setdefault(task.names["method"], f"C{len(colors)}")  # the same in all panels
            if result:
                of_data[task.names["method"], task.names["budget"]] = result

        def draw(figure):
            for axes, data in zip(figure.subplots(1, len(curves), squeeze=False)[0], curves, strict=True):
                for (method, budget), found in curves[data].items():
                    name = method if budget is None else f"{method}, B = {budget}"
                    label = f"{name} ({found['seconds'][-1]:.1f} s)"
                    axes.plot(found["n"], found["accuracy"], color=colors[method], label=label)
                lowest = [np.percentile(found["accuracy"], 10) for found in curves[data].values()]
                axes.set(title=data, xlabel="examples", ylabel="accuracy in %", xscale="log")
                if lowest:
                    axes.set_ylim(bottom=min(lowest) - 3)  # the first examples are far below
                    axes.legend(fontsize="x-small", loc="lower right")

        return [Figure(title, draw, (4.2 * max(len(curves), 1) + 1, 4.0), note)]

    return show


FIGURE4 = Experiment(
    "bsgd-fig4", "Accuracy of several methods along the stream", _plan, _shown_as("Figure 4: accuracy evolution", NOTE4)
)
FIGURE5 = Experiment(
    "bsgd-fig5",
    "Accuracy of three ways to keep the budget along the stream",
    _plan,
    _shown_as("Figure 5: removal, projection and merging", NOTE5),
)
