"""Why some of our numbers are worse than the printed ones, as ``explanations.toml`` of a paper tells it."""

import tomllib
from functools import cache
from pathlib import Path

from experiments.results import Cell

__all__ = ["explain"]


def explain(cells: dict[tuple[str, str], Cell], path: Path, experiment: str) -> None:
    """Put explanations into those cells that are worse than the printed numbers, and into no others.

    The file has a section for each experiment; its keys are ``"row / column"``, where a star stands for any row or any
    column. The first key that fits is taken.
    """
    for (row, column), cell in cells.items():
        if cell.verdict is not None and cell.verdict.word == "worse" and not cell.note:
            cell.note = _fitting(path, experiment, row, column)


def _fitting(path: Path, experiment: str, row: str, column: str) -> str:
    for key, text in _read(path).get(experiment, {}).items():
        wanted = key.split(" / ", 1)
        if len(wanted) != 2:
            raise ValueError(
                f"{path}: the key {key!r} of [{experiment}] must be 'row / column'; a star stands for any."
            )
        if all(want in ("*", name) for want, name in zip(wanted, (row, column), strict=True)):
            return text
    return ""


@cache
def _read(path: Path) -> dict[str, dict[str, str]]:
    return tomllib.loads(path.read_text()) if path.exists() else {}
