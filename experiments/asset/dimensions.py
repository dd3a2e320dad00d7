"""Figure 1: the test error against the dimension of the approximation."""

from typing import Any

from experiments.asset.batch import fit_task
from experiments.asset.data import cases
from experiments.data import UNAVAILABLE
from experiments.printed import read_printed
from experiments.protocol import folder_of
from experiments.results import Figure, Outcome
from experiments.tasks import Task

__all__ = ["plan", "show"]

NOTE = (
    "The paper let its solvers run for 1000 epochs, to near the optimum; our Newton method reaches it. Dotted: "
    "SVM-Light, as printed in Table 2. In the paper, too, Fourier features (ASSET_on) need more dimensions than "
    "landmarks, and ADULT needs few of either. " + UNAVAILABLE["ccat"] + "."
)
_STYLES = {"ASSET": {"color": "C0", "marker": "o"}, "ASSET_on": {"color": "C1", "marker": "s"}}


def plan(profile: dict[str, Any], choices) -> list[Task]:
    tasks = []
    for name, case in cases().items():
        if case.data in UNAVAILABLE or name not in profile.get("cases", cases()):
            continue
        for dimension in profile["dimensions"]:
            for method in profile["methods"]:
                names = {"row": name, "method": method, "dimension": dimension}
                fixed = {"solver": "newton", "fit_intercept": False}
                tasks.append(fit_task(name, method, dimension, 0, profile["rows"], fixed, names, choices))
    return tasks


def show(outcome: Outcome) -> list[Figure]:
    curves: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for task, result in outcome:
        if result is not None:
            of_row = curves.setdefault(task.names["row"], {})
            of_row.setdefault(task.names["method"], []).append((task.names["dimension"], result["error"]))
    if not curves:
        return []
    title = "Test error against the dimension of the approximation"
    return [Figure(title, lambda figure: _draw(figure, curves), (9.0, 3.2 * ((len(curves) + 1) // 2)), NOTE)]


def _draw(figure, curves) -> None:
    printed = read_printed(folder_of("asset") / "printed.csv")
    n_rows = (len(curves) + 1) // 2
    for place, (name, methods) in enumerate(curves.items(), start=1):
        axes = figure.add_subplot(n_rows, 2, place, title=name)
        for method, points in methods.items():
            axes.plot(*zip(*sorted(points), strict=True), label=method, **_STYLES[method])
        axes.axhline(
            printed["asset-table2", name, "SVM-Light error"].mean, color="0.4", linestyle=":", label="SVM-Light"
        )
        axes.set_xscale("log", base=2)
        axes.set(xlabel="dimension s", ylabel="test error, %")
        axes.legend()
