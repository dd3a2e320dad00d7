"""Methods and data of the paper as the protocol has them, and tasks made of the two."""

from functools import cache
from typing import Any

from experiments.data import UNAVAILABLE
from experiments.protocol import protocol_of
from experiments.tasks import Task
from experiments.tuning import Choices

__all__ = ["available", "data_of", "data_of_part", "method_of", "methods", "task_of"]

NO_BUDGET = "none"  # TOML has no null
ROWS_PER_SECOND = 100_000  # about, with a budget of 500; orders the tasks, no more
LIBSVM_PAIRS_PER_SECOND = 5e6


@cache
def _protocol() -> dict[str, Any]:
    return protocol_of("bsgd")


def method_of(name: str) -> dict[str, Any]:
    return _protocol()["methods"][name]


def methods() -> list[str]:
    """All methods in the order of the paper's tables."""
    return list(_protocol()["methods"])


def data_of(name: str) -> dict[str, Any]:
    return _protocol()["data"][name]


def data_of_part(part: str) -> list[str]:
    """Data sets of Table 3 (a), (b) or (c)."""
    return [name for name, data in _protocol()["data"].items() if data["part"] == part]


def available(method: str, data: str) -> bool:
    """Whether the paper has the pair and we have the data."""
    only_two = method_of(method).get("two_classes", False)
    return data not in UNAVAILABLE and not (only_two and data_of(data)["part"] != "a")


def task_of(
    choices: Choices,
    method: str,
    data: str,
    budget: int | None,
    *,
    work: str = "experiments.work:accuracy",
    seed: int = 0,
    rows: int | None = None,
    parameters_of: int | None = None,
    fixed: dict[str, Any] | None = None,
    settings: dict[str, Any] | None = None,
    names: dict[str, Any] | None = None,
) -> Task:
    """A method on data with a budget, with parameters that were chosen for it or will be.

    ``rows`` is a limit beside that of the method; ``parameters_of`` the budget whose parameters are taken, if another;
    ``fixed`` more parameters of the estimator, ``settings`` more of the work and ``names`` more names of the task.
    """
    about = method_of(method)
    n_rows = min(data_of(data)["rows"], _most_rows(method, data, budget), rows or 1 << 62)
    asked = {
        "data": data,
        "rows": n_rows if data_of(data).get("generated") or n_rows < data_of(data)["rows"] else None,
        "estimator": about["estimator"],
        "fixed": {**_fixed(method, budget), **(fixed or {})},
    }
    if "seconds" in about:
        asked["seconds"] = data_of(data).get("seconds", about["seconds"])
    task = Task(
        work,
        {**asked, **(settings or {})},
        seed,
        {"method": method, "data": data, "budget": budget, **(names or {})},
        seconds=_estimate(method, n_rows, budget),
    )
    tuned_for = budget if parameters_of is None else parameters_of
    tuned = about.get("parameters_of", method)
    return choices.task(task, _choice_name(tuned, data, tuned_for), _choosing(tuned, data, tuned_for))


def _is_slow(method, budget) -> bool:
    """Whether a method has become slow with a budget of this size, as all are without one."""
    return budget is None or budget >= method_of(method).get("slow", 1 << 62)


def _most_rows(method, data, budget) -> int:
    """How many rows the protocol lets a method learn: all, unless it is slow."""
    limits = method_of(method).get("rows", {}) if _is_slow(method, budget) else {}
    return limits.get(data, 1 << 62)


def _choice_name(method, data, budget) -> str:
    return f"{method} {data}" if budget is None else f"{method} {data} {budget}"


def _fixed(method, budget) -> dict[str, Any]:
    fixed = dict(method_of(method).get("fixed", {}))
    if fixed.get("budget") == NO_BUDGET:
        fixed["budget"] = None
    return fixed if budget is None else {**fixed, "budget": budget}


def _choosing(method, data, budget) -> Task:
    """The task that chooses scaling, kernel width and the parameter that rules the size of the model."""
    about = method_of(method)
    is_slow = _is_slow(method, budget)
    heeded = ("gammas", "rounds", "last") if is_slow else ("gammas", "rounds", "last", "tuning_rows")
    of_data = {key: value for key, value in data_of(data).items() if key in heeded}
    tuning = {**_protocol()["tuning"], **about.get("tuning", {}), **of_data}
    grid = {"gamma": tuning["gammas"], **about["grid"]}
    if grid.get("eta0") == "norma":
        grid["eta0"] = [1.0, _norma_step(data_of(data)["rows"])]
    n_rows = min(tuning.get("tuning_rows", tuning["rows"]), data_of(data)["rows"])
    settings = {
        "data": data,
        "rows": n_rows,
        "scalings": [None] if data_of(data).get("generated") else data_of(data)["scalings"],
        "estimator": about["estimator"],
        "fixed": _fixed(method, budget),
        "grid": grid,
        "rounds": tuning["rounds"],
    }
    if "last" in tuning:
        settings["last"] = {**tuning["last"], **about.get("last", {})}
        if is_slow:
            settings["last"]["rows"] = min(settings["last"]["rows"], tuning["slow_rows"])
    names = {"what": "choose", "method": method, "data": data, "budget": budget}
    return Task("experiments.tuning:choose", settings, 0, names, seconds=100 * _estimate(method, n_rows, budget))


def _norma_step(n_rows: int) -> float:
    """The second of the two step sizes that the paper tries for Norma."""
    return float(f"{0.5 * (2 + 0.5 * n_rows**0.5) ** 0.5:.3g}")


def _estimate(method, n_rows, budget) -> float:
    if method == "LIBSVM":
        return n_rows**2 / LIBSVM_PAIRS_PER_SECOND
    slow = 20 if method in ("IDSVM", "TVM") or method.endswith(("project", "++")) else 1
    return slow * n_rows / ROWS_PER_SECOND * (1 if budget is None else budget / 500)
