"""Printed numbers, and how ours stand beside them."""

import csv
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Printed", "Trials", "Verdict", "read_printed", "verdict"]

# Where a paper prints no spread: half a percent, about the median of those that the BSGD paper prints for such data.
USUAL_SPREAD = 0.5


class Trials(NamedTuple):
    """How the paper came to a number: repetitions, and test rows beside ours."""

    repetitions: int
    theirs: int  # test rows of the paper
    ours: int
    same: bool = True  # the same rows; or, if the paper draws them anew for each repetition, so do we
    redrawn: bool = False  # ours are drawn anew for each repetition, where those of the paper are not


class Printed(NamedTuple):
    """A number of a paper, with its deviation over repetitions where that is printed."""

    mean: float
    spread: float | None = None
    rounding: float = 0.005  # half of the last digit that is printed
    trials: Trials | None = None


class Verdict(NamedTuple):
    word: str  # "better", "within", "worse"
    difference: float  # ours less the paper's


def read_printed(path: Path) -> dict[tuple[str, ...], Printed]:
    """The numbers of a CSV file with columns ``experiment, row, column, mean, spread``.

    Keys are ``(experiment, row, column)``; a column such as ``banana 100`` is data and budget. The section
    ``[printed]`` of the protocol beside the file says how the paper tested.
    """
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    numbers, tests = {}, _tests_of(path.with_name("protocol.toml"))
    for line in rows:
        key = line["experiment"], line["row"], line["column"]
        if key in numbers:
            raise ValueError(f"{path} has {key} twice.")
        spread = float(line["spread"]) if line["spread"] else None
        trials = _tested(tests, *key)
        numbers[key] = Printed(float(line["mean"]), spread, _half_of_last_digit(line["mean"]), trials)
    return numbers


def _tests_of(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text()).get("printed", {}) if path.exists() else {}


def _tested(tests: dict[str, Any], experiment: str, row: str, column: str) -> Trials | None:
    """What the section says of an experiment, or of the data that its row or column names."""
    for name in (experiment, row, column, column.split()[0]):
        if name in tests.get("data", {}):
            return Trials(**{"repetitions": tests["repetitions"], **tests["data"][name]})
    return None


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
