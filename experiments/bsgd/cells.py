"""What the paper prints, and why ours is worse where it is."""

from functools import cache

from experiments.explanations import explain
from experiments.printed import Printed, read_printed
from experiments.protocol import folder_of
from experiments.results import Table

__all__ = ["finished", "numbers_of"]


@cache
def _printed() -> dict[tuple[str, ...], Printed]:
    return read_printed(folder_of("bsgd") / "printed.csv")


def numbers_of(experiment: str) -> dict[tuple[str, str], Printed]:
    """Printed numbers of an experiment by row and column."""
    return {(row, column): number for (name, row, column), number in _printed().items() if name == experiment}


def finished(table: Table, experiment: str) -> Table:
    """The table with explanations in those cells that are worse than the paper's."""
    explain(table.cells, folder_of("bsgd") / "explanations.toml", experiment)
    return table
