"""Table 3 and Figure 2: Fourier features along a stream of a million deformed digits."""

from typing import Any

from experiments.explanations import explain
from experiments.printed import read_printed
from experiments.protocol import folder_of, protocol_of
from experiments.results import Cell, Figure, Outcome, Table
from experiments.tasks import Task

__all__ = ["plan", "show_figure", "show_table"]

SOLVERS = {"ASSET_on": "asset", "ASSET*_on": "asset*"}
DIMENSIONS = (1024, 2048, 4096, 8192, 16384)
NOTE = (
    "Means over ten points of the last 10,000 steps of one run. The digits are deformed by our generator, not by that "
    "of the paper, and the model is the mean of the second half of all iterates, not of 100. Times are those of this "
    "machine; testing is that of {n_test:,} digits."
)
FIGURE_NOTE = (
    "In the paper ASSET_on converges faster than ASSET*_on and ends at 2.7 % against 3.5 % with d = 16384, after 7.2 "
    "hours; LASVM needed 4.3 days for 0.2 %."
)


def plan(profile: dict[str, Any], choices) -> list[Task]:
    stream = protocol_of("asset")["stream"]
    tasks = []
    for dimension in profile["dimensions"]:
        for name, solver in SOLVERS.items():
            fixed = {
                "feature_map": "fourier",
                "n_components": dimension,
                "solver": solver,
                "alpha": 1 / (stream["C"] * profile["rows"]),
                "gamma": stream["gamma"],
                "fit_intercept": False,
            }
            settings = {key: profile[key] for key in ("rows", "test_rows", "checkpoints")} | {"fixed": fixed}
            names = {"row": str(dimension), "column": name}
            seconds = profile["rows"] * dimension * 1.2e-8
            tasks.append(Task("experiments.asset.work:followed", settings, 0, names, seconds=seconds))
    return tasks


def show_table(outcome: Outcome) -> list[Table]:
    printed = read_printed(folder_of("asset") / "printed.csv")
    results = {(task.names["row"], task.names["column"]): result for task, result in outcome if result is not None}
    rows = [str(dimension) for dimension in DIMENSIONS]
    errors = {
        (row, name): Cell(
            [results[row, name]["last_error"]] if (row, name) in results else [],
            printed["asset-table3", row, f"{name} error"],
            lower_is_better=True,
        )
        for row in rows
        for name in SOLVERS
    }
    explain(errors, folder_of("asset") / "explanations.toml", "asset-table3")
    note = NOTE.format(n_test=max((task.settings["test_rows"] for task, _ in outcome), default=0))
    lengths = {task.settings["rows"] for task, _ in outcome}
    note += "".join(f" The stream has {length:,} examples." for length in sorted(lengths))
    return [
        Table("Test error at the end, by the dimension d", rows, list(SOLVERS), errors, note=note),
        _deviations(results, rows, printed),
        _times(results, rows, printed),
    ]


def _deviations(results, rows, printed) -> Table:
    """How much the error changes between points at the end."""
    cells = {}
    for row in rows:
        for name in SOLVERS:
            number = printed["asset-table3", row, f"{name} error"].spread
            found = [results[row, name]["last_deviation"]] if (row, name) in results else []
            cells[row, name] = Cell(found, type(printed["asset-table3", row, f"{name} error"])(number), "", True, False)
    return Table("Deviation of the test error at the end", rows, list(SOLVERS), cells)


def _times(results, rows, printed) -> Table:
    """Means of both methods, as in the paper."""
    cells = {}
    for row in rows:
        both = [results[row, name] for name in SOLVERS if (row, name) in results]
        train, test = [r["seconds"][-1] for r in both], [r["test_seconds"] for r in both]
        for column, values in (("train", train), ("test", test)):
            number = printed["asset-table3", row, f"{column} seconds"]
            cells[row, column] = Cell(values, number, lower_is_better=True, counted=False)
    return Table("Training and testing time", rows, ["train", "test"], cells, "s", 1)


def show_figure(outcome: Outcome) -> list[Figure]:
    done = [(task, result) for task, result in outcome if result is not None]
    if not done:
        return []
    return [Figure("Test error along the stream", lambda figure: _draw(figure, done), (9.0, 4.0), FIGURE_NOTE)]


def _draw(figure, done) -> None:
    panels = dict(zip(SOLVERS, figure.subplots(1, 2, sharey=True), strict=True))
    for task, result in done:
        label = f"d = {task.names['row']}"
        panels[task.names["column"]].plot(result["seconds"], result["errors"], marker=".", label=label)
    for name, axes in panels.items():
        axes.set(title=name, xlabel="training time, s", xscale="log")
        axes.legend()
    panels["ASSET_on"].set_ylabel("test error, %")
