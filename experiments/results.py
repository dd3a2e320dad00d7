"""What an experiment shows: tables of ours beside the paper's, and figures drawn again."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from experiments.printed import Printed, Verdict, verdict
from experiments.tasks import Task

__all__ = ["Cell", "Experiment", "Figure", "Table"]

Outcome = list[tuple[Task, "dict[str, Any] | None"]]


@dataclass
class Cell:
    """One number of a table: our values, the paper's, and why ours is worse if it is."""

    values: list[float] = field(default_factory=list)
    printed: Printed | None = None
    note: str = ""  # an explanation, or why there is nothing
    lower_is_better: bool = False
    counted: bool = True  # an accuracy that the counts at the top of the report include
    finding: str = ""  # better, alike or worse in a test with error bars (see `experiments.significance`)
    p_value: float | None = None  # of that test
    part: bool = False  # computed on a part of the data: shown, but not held against the paper

    @property
    def mean(self) -> float | None:
        return float(np.mean(self.values)) if self.values else None

    @property
    def spread(self) -> float | None:
        return float(np.std(self.values)) if len(self.values) > 1 else None

    @property
    def verdict(self) -> Verdict | None:
        """None where there is nothing to compare."""
        if self.mean is None or self.printed is None or self.part:
            return None
        return verdict(self.mean, self.printed, lower_is_better=self.lower_is_better)

    @property
    def is_within_own_spread(self) -> bool:
        """Whether the difference is no more than the deviation of our repetitions: one more of them could undo it."""
        return self.verdict is not None and self.spread is not None and abs(self.verdict.difference) <= self.spread


@dataclass
class Table:
    """Cells by the names of rows and columns, which are shown in the order given."""

    title: str
    rows: list[str]
    columns: list[str]
    cells: dict[tuple[str, str], Cell]
    unit: str = "%"
    digits: int = 2
    note: str = ""


@dataclass
class Figure:
    """A drawing: ``draw(figure)`` gets an empty matplotlib figure of the size given, in inches."""

    title: str
    draw: Callable[[Any], None]
    size: tuple[float, float] = (7.0, 4.0)
    note: str = ""


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper.

    ``plan(profile, choices)`` gives the tasks of a profile (a dictionary, see `experiments.protocol`), with parameters
    from a `Choices`; ``show(outcome)`` makes tables and figures of those that are done: pairs of a task and its result,
    or None.
    """

    name: str  # "bsgd-table3"
    title: str
    plan: Callable[[dict[str, Any], Any], list[Task]]
    show: Callable[[Outcome], list["Table | Figure"]]
