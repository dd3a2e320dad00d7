"""Table 3: accuracy of all methods with budgets of 100 and 500 vectors, in three parts as in the paper."""

from experiments.bsgd.cells import finished, numbers_of
from experiments.bsgd.methods import available, data_of_part, method_of, methods, task_of
from experiments.data import UNAVAILABLE
from experiments.results import Cell, Experiment, Table

__all__ = ["TABLE3"]

NAME = "bsgd-table3"
PARTS = {"a": "two classes", "b": "several classes", "c": "several classes, longer"}
BUDGETS = (100, 500)
NOTE = (
    "One pass. Columns are data and budget; those without a number hold methods without a budget. Pegasos, Norma, MP "
    "and IDSVM are stopped after 60 seconds, 300 on Covertype (the paper: 10,000 seconds)."
)


def _plan(profile, choices):
    tasks = []
    for data in profile.get("data") or [name for part in PARTS for name in data_of_part(part)]:
        for method in profile.get("methods", {}).get(data) or methods():
            if not available(method, data):
                continue
            about = method_of(method)
            limits = [limited.get("most", {}).get(data, 1 << 30) for limited in (profile, about)]
            repetitions = min(profile["repetitions"], *limits)
            for budget in profile["budgets"] if about.get("budgeted") else [None]:
                for seed in range(repetitions):
                    tasks.append(task_of(choices, method, data, budget, seed=seed, rows=profile.get("rows")))
    return tasks


def column_of(data: str, budget: int | None) -> str:
    return data if budget is None else f"{data} {budget}"


def _show(outcome):
    values = {}
    for task, result in outcome:
        key = task.names["method"], column_of(task.names["data"], task.names["budget"])
        values.setdefault(key, []).extend([result["accuracy"]] if result else [])
    return [_part(part, values) for part in PARTS]


def _part(part, values):
    cells, printed = {}, numbers_of(NAME)
    for method in methods():
        for data in data_of_part(part):
            for budget in BUDGETS if method_of(method).get("budgeted") else (None,):
                key = method, column_of(data, budget)
                if available(method, data) or data in UNAVAILABLE:
                    cells[key] = Cell(values.get(key, []), printed.get(key), UNAVAILABLE.get(data, ""))
    rows = [method for method in methods() if any(row == method for row, _ in cells)]
    columns = [column_of(data, budget) for data in data_of_part(part) for budget in (None, *BUDGETS)]
    return finished(Table(f"Table 3 ({part}): {PARTS[part]}", rows, columns, cells, note=NOTE), NAME)


TABLE3 = Experiment(NAME, "Accuracy of budgeted and other methods", _plan, _show)
