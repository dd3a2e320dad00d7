"""Errors and seconds that `AutoSVC` and `AutoSVR` should not exceed, and how near they are."""

import statistics
from typing import NamedTuple

from benchmarks.printing import table
from benchmarks.tables_data import HARD_ERROR

__all__ = ["goals_table"]


class Goal(NamedTuple):
    error: float
    seconds: float | None = None


_HARD = HARD_ERROR + 1.0
GOALS = {
    "elec2": Goal(5.4), "letter": Goal(2.0), "satimage": Goal(7.5), "phoneme": Goal(9.3), "usps": Goal(4.5),
    "a9a": Goal(14.9), "mnist": Goal(1.6), "pendigits": Goal(1.6), "covtype-1": Goal(1.9), "protein": Goal(0.485),
    "kin40k": Goal(0.045), "pol": Goal(0.068), "elevators": Goal(0.345),
    "hard-100k": Goal(_HARD), "hard-1M": Goal(_HARD),
}  # fmt: skip
GOALS_OF_CORES = {**GOALS, "covtype": Goal(3.6, 20), "hard-10M": Goal(_HARD, 180)}
GOALS_OF_A_GPU = {**GOALS, "covtype": Goal(3.3, 6), "hard-10M": Goal(_HARD, 60)}
HEADINGS = ("data", "goal", "error", "reached", "AUC", "seconds", "CPU s", "predict s", "memory / rows")


def goals_table(rows):
    """A line for each row, and the medians."""
    shown = table("Goals; errors in percent, of regression RMSE of the standardized target", *HEADINGS)
    for row in rows:
        shown.add_row(*_cells(row))
    known = [row for row in rows if row["error"] is not None]
    if known:
        shown.add_row("median", "", "", "", "", *(_median(known, name) for name in ("seconds", "cpu_seconds")), "", "")
    return shown


def _cells(row):
    goal = _goal_of(row)
    words = "" if goal is None else f"{goal.error:g}" + (f" in {goal.seconds} s" if goal.seconds else "")
    if row["error"] is None:
        return row["problem"], words, row["missing"], *[""] * 6
    digits = 4 if row["is_regression"] else 2
    judged = (f"{row['error']:.{digits}f}", _reached(goal, row, digits), f"{row['auc']:.4f}" if row["auc"] else "")
    seconds = (f"{row[name]:.2f}" for name in ("seconds", "cpu_seconds", "predict_seconds"))
    memory = f"{row['peak_bytes'] / row['row_bytes']:.2f}" if row["peak_bytes"] else ""
    return row["problem"], words, *judged, *seconds, memory


def _goal_of(row):
    """Goals are for test rows, after all training rows were learned."""
    goals = GOALS_OF_CORES if row["device"] == "cpu" else GOALS_OF_A_GPU
    return goals.get(row["problem"]) if row["judged_on"] == "test" else None


def _reached(goal, row, digits):
    if goal is None:
        return ""
    is_in_time = goal.seconds is None or row["seconds"] <= goal.seconds
    return "yes" if round(row["error"], digits) <= goal.error and is_in_time else "no"


def _median(rows, name):
    return f"{statistics.median(row[name] for row in rows):.2f}"
