"""Table 2: ASSET and its peers on five data sets, with approximations of two dimensions."""

from typing import Any

from experiments.asset.data import Case, cases
from experiments.data import UNAVAILABLE
from experiments.explanations import explain
from experiments.printed import read_printed
from experiments.protocol import folder_of, protocol_of
from experiments.results import Cell, Outcome, Table
from experiments.tasks import Task

__all__ = ["fit_task", "plan", "show"]

# How our classifier is each of the paper's; "newton" is our own solver of the same problem.
METHODS: dict[str, dict[str, Any]] = {
    "ASSET": {"feature_map": "nystroem", "solver": "asset"},
    "ASSET*": {"feature_map": "nystroem", "solver": "asset*"},
    "newton": {"feature_map": "nystroem", "solver": "newton"},
    "ASSET_on": {"feature_map": "fourier", "solver": "asset"},
    "ASSET*_on": {"feature_map": "fourier", "solver": "asset*"},
}
EXACT = {"LASVM": "LASVMClassifier", "SVM-Light": "SVC"}
NOT_OURS = ("CPSP", "CPNY")
# For all rows of Covertype, on one x86-64 core: 20,000 take 4.3 and 37 s, and twice the rows four times as long.
HOURS = {"LASVM": "40 minutes", "SVM-Light": "8 hours"}
DIMENSIONS = (512, 1024)
NOTE = (
    "Subgradient steps average the second half of all iterates and take a fixed number of epochs; the paper's averaged "
    "100 and stopped at the error that CPNY has on the test rows. Landmarks and gamma were chosen on training rows. "
    "SVC stands for SVM-Light. ASSET_on learns Fourier features in as many epochs as ASSET."
)


def plan(profile: dict[str, Any], choices) -> list[Task]:
    tasks = []
    for name, case in cases().items():
        if case.data in UNAVAILABLE or name not in profile.get("cases", cases()):
            continue
        for seed in range(profile["repetitions"]):
            for dimension in profile["dimensions"]:
                for method in profile["methods"]:
                    fixed = {"fit_intercept": False}
                    if method != "newton":
                        fixed["max_iter"] = profile["epochs"][name]
                    names = {"row": name, "column": f"s={dimension} {method}", "seed": seed}
                    rows = profile.get("rows")
                    tasks.append(fit_task(name, method, dimension, seed, rows, fixed, names, choices))
    return tasks + [
        _exact_task(name, learner, rows) for name, rows in profile["exact_cases"].items() for learner in EXACT
    ]


def fit_task(name, method, dimension, seed, rows, fixed, names, choices) -> Task:
    """One fit; that of Nystroem features with the landmarks and the gamma that were chosen for the data."""
    case = cases()[name]
    parameters = {**METHODS[method], "n_components": dimension, "C": case.C, "gamma": case.gamma, **fixed}
    settings = {"case": name, "rows": rows, "estimator": "ASSETClassifier", "fixed": parameters}
    seconds = (rows or case.n_train) * dimension * 1e-6 * (0.1 if method == "newton" else 1.0)
    task = Task("experiments.asset.work:fitted", settings, seed, names, seconds=seconds)
    if METHODS[method]["feature_map"] == "fourier":
        return task
    return choices.task(task, f"map {name}", _choosing(name, case))


def _choosing(name: str, case: Case) -> Task:
    tuning = protocol_of("asset")["asset-table2"]["tuning"]
    settings = {
        "case": name,
        "rows": tuning["rows"],
        "fixed": {"n_components": 512, "C": case.C, "fit_intercept": False},
        "grid": {
            "landmarks": tuning["landmarks"],
            "gamma": [float(f"{factor * case.gamma:.3g}") for factor in tuning["gamma_factors"]],
        },
    }
    return Task("experiments.asset.work:choose_map", settings, 0, {"what": f"map {name}"}, seconds=20.0)


def _exact_task(name: str, learner: str, rows: int) -> Task:
    case = cases()[name]
    fixed: dict[str, Any] = {"C": case.C, "gamma": case.gamma, "cache_size": 1_000}
    if learner == "LASVM":
        fixed["variant"] = "lasvm"
    settings = {"case": name, "rows": rows, "estimator": EXACT[learner], "fixed": fixed}
    names = {"row": name, "column": learner, "seed": 0}
    return Task("experiments.asset.work:fitted", settings, 0, names, seconds=rows**2 * 1e-7)


# --- what is shown ----------------------------------------------------------------------------------------


def show(outcome: Outcome) -> list[Table]:
    return [
        _table(outcome, "error", "Test error", "%", 2, NOTE),
        _table(outcome, "seconds", "Training time", "s", 1, "One core of this machine, without compilation."),
    ]


def _columns() -> list[str]:
    of_dimension = [f"s={dimension} {method}" for dimension in DIMENSIONS for method in (*METHODS, *NOT_OURS)]
    return [*of_dimension, *EXACT]


def _table(outcome: Outcome, part: str, title: str, unit: str, digits: int, note: str) -> Table:
    printed = read_printed(folder_of("asset") / "printed.csv")
    values: dict[tuple[str, str], list[float]] = {}
    for task, result in outcome:
        if result is not None:
            values.setdefault((task.names["row"], task.names["column"]), []).append(result[part])
    cells = {}
    for row, case in cases().items():
        for column in _columns():
            number = printed.get(("asset-table2", row, f"{column} {part}"))
            cells[row, column] = Cell(
                values.get((row, column), []),
                number,
                _absence(case, column, (row, column) in values),
                lower_is_better=True,
                counted=part == "error" and column.split()[-1] not in NOT_OURS,
            )
    if part == "error":
        explain(cells, folder_of("asset") / "explanations.toml", "asset-table2")
    return Table(title, list(cases()), _columns(), cells, unit, digits, note)


def _absence(case: Case, column: str, found: bool) -> str:
    """Why there is nothing of ours."""
    if found:
        return ""
    if case.data in UNAVAILABLE:
        return UNAVAILABLE[case.data]
    if column.split()[-1] in NOT_OURS:
        return "a learner of SVM-Perf, which is not among ours"
    if column in EXACT and case.data == "covtype":
        return f"took a day or two in the paper, and would take about {HOURS[column]} here"
    return ""
