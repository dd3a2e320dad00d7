"""First results beside their confirmation: what stays, what changes, and the regression to the mean.

Parameters were searched for where first results were worse, and such a search takes some luck for merit. Fresh seeds
show how much: as far as it was luck, cells that were better at first fall on the average, and those that were worse
rise.
"""

from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np

from experiments.report.gathering import ShownPaper
from experiments.results import Cell, Table

__all__ = ["Confirmation", "Pair", "confirmations", "pairs_of"]

REACHED = ("better", "within")


class Pair(NamedTuple):
    """A counted cell, first and again."""

    paper: str
    experiment: str
    row: str
    column: str
    first: Cell
    again: Cell

    @property
    def change(self) -> float:
        """In percentage points, upwards for the better."""
        difference = self.again.mean - self.first.mean
        return -difference if self.first.lower_is_better else difference

    @property
    def reached(self) -> tuple[bool, bool]:
        """Whether the first result and the confirmation are better or within, by the strict rule."""
        return self.first.verdict.word in REACHED, self.again.verdict.word in REACHED


@dataclass
class Confirmation:
    """What fresh seeds make of some cells."""

    title: str
    pairs: list[Pair]

    def _percent(self, held: list[bool]) -> float:
        return 100 * float(np.mean(held))

    @property
    def first_percent(self) -> float:
        return self._percent([pair.reached[0] for pair in self.pairs])

    @property
    def again_percent(self) -> float:
        return self._percent([pair.reached[1] for pair in self.pairs])

    @property
    def both_percent(self) -> float:
        return self._percent([all(pair.reached) for pair in self.pairs])

    @property
    def change(self) -> float:
        return float(np.mean([pair.change for pair in self.pairs]))

    @property
    def error(self) -> float | None:
        """Standard error of the mean change."""
        changes = [pair.change for pair in self.pairs]
        return float(np.std(changes, ddof=1)) / sqrt(len(changes)) if len(changes) > 1 else None

    @property
    def n_alike(self) -> int:
        """Cells without chance in them, such as a batch solver on a fixed split: they confirm nothing."""
        return sum(abs(pair.change) < 1e-4 and len(set(pair.again.values)) == 1 for pair in self.pairs)

    @property
    def turned(self) -> list[Pair]:
        """Cells that one of the two calls worse and the other does not, the largest change first."""
        turned = [pair for pair in self.pairs if pair.reached[0] != pair.reached[1]]
        return sorted(turned, key=lambda pair: -abs(pair.change))


def pairs_of(first: list[ShownPaper], again: list[ShownPaper]) -> list[Pair]:
    """Counted cells that have a printed number, a first result and a confirmation."""
    later = _cells_by_place(again)
    pairs = []
    for (paper, experiment, title, row, column), cell in _cells_by_place(first).items():
        other = later.get((paper, experiment, title, row, column))
        if cell.counted and cell.verdict is not None and other is not None and other.verdict is not None:
            pairs.append(Pair(paper, experiment, row, column, cell, other))
    return pairs


def _cells_by_place(papers: list[ShownPaper]) -> dict[tuple[str, ...], Cell]:
    return {
        (paper.name, experiment.name, table.title, row, column): cell
        for paper in papers
        for experiment in paper.experiments
        for table in experiment.items
        if isinstance(table, Table)
        for (row, column), cell in table.cells.items()
    }


def confirmations(pairs: list[Pair], papers: list[ShownPaper]) -> dict[str, list[Confirmation]]:
    """All cells; those of each paper; and those of each first verdict, where the regression to the mean shows."""
    of_paper = [Confirmation(paper.title, [pair for pair in pairs if pair.paper == paper.name]) for paper in papers]
    of_state = [
        Confirmation(word, [pair for pair in pairs if pair.first.verdict.word == word])
        for word in ("better", "within", "worse")
    ]
    every = [Confirmation("all papers", pairs)]
    parts = {"all": every, "papers": of_paper, "states": of_state}
    return {name: [one for one in found if one.pairs] for name, found in parts.items()}
