"""Printed numbers, and how ours stand beside them."""

import csv
from pathlib import Path
from typing import NamedTuple

__all__ = ["Printed", "Verdict", "read_printed", "verdict"]

# Where a paper prints no spread: half a percent, about the median of those that the BSGD paper prints for such data.
USUAL_SPREAD = 0.5


class Printed(NamedTuple):
    """A number of a paper, with its deviation over repetitions where that is printed."""

    mean: float
    spread: float | None = None
    rounding: float = 0.005  # half of the last digit that is printed


class Verdict(NamedTuple):
    word: str  # "better", "within", "worse"
    difference: float  # ours less the paper's


def read_printed(path: Path) -> dict[tuple[str, ...], Printed]:
    """The numbers of a CSV file with columns ``experiment, row, column, mean, spread``.

    Keys are ``(experiment, row, column)``; a column such as ``banana 100`` is data and budget.
    """
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    numbers = {}
    for line in rows:
        key = line["experiment"], line["row"], line["column"]
        if key in numbers:
            raise ValueError(f"{path} has {key} twice.")
        spread = float(line["spread"]) if line["spread"] else None
        numbers[key] = Printed(float(line["mean"]), spread, _half_of_last_digit(line["mean"]))
    return numbers


def _half_of_last_digit(number: str) -> float:
    _, _, decimals = number.partition(".")
    return 0.5 * 10.0 ** -len(decimals)


def verdict(ours: float, printed: Printed, *, lower_is_better: bool = False) -> Verdict:
    """Better than the printed mean, within its spread, or worse."""
    difference = ours - printed.mean
    gain = -difference if lower_is_better else difference
    spread = USUAL_SPREAD if printed.spread is None else printed.spread
    word = "better" if gain >= 0 else "within" if gain >= -spread - printed.rounding else "worse"
    return Verdict(word, difference)
