"""How many accuracies reach the printed ones."""

from dataclasses import dataclass

from experiments.data import UNAVAILABLE
from experiments.results import Cell, Table
from experiments.significance import findings

__all__ = ["Counts", "Findings", "counted_cells", "state_of", "worse_cells"]


def state_of(cell: Cell) -> str:
    """What a cell is: ``better``, ``within``, ``worse``; ``part`` if it was computed on a part of the data; ``alone``
    if the paper prints nothing to compare with; ``missing`` if it was not computed; ``unavailable`` if it cannot be,
    for want of the data.
    """
    if cell.verdict is not None:
        return cell.verdict.word
    if cell.values:
        return "alone" if cell.printed is None else "part"
    return "unavailable" if any(reason in cell.note for reason in UNAVAILABLE.values()) else "missing"


@dataclass
class Counts:
    """Accuracies with a printed number, by how ours stand beside them."""

    better: int = 0
    within: int = 0
    worse: int = 0
    missing: int = 0
    unavailable: int = 0
    part: int = 0

    @classmethod
    def of(cls, tables: list[Table]) -> "Counts":
        counts = cls()
        for table in tables:
            for cell in table.cells.values():
                if cell.counted and cell.printed is not None:
                    state = state_of(cell)
                    setattr(counts, state, getattr(counts, state) + 1)
        return counts

    @classmethod
    def total(cls, parts: "list[Counts]") -> "Counts":
        return cls(*(sum(getattr(part, name) for part in parts) for name in cls.__dataclass_fields__))

    @property
    def compared(self) -> int:
        return self.better + self.within + self.worse

    @property
    def held(self) -> int:
        """Cells of data that we hold."""
        return self.compared + self.missing + self.part

    @property
    def percent(self) -> float | None:
        """Better or within the spread, of those compared."""
        return 100 * (self.better + self.within) / self.compared if self.compared else None


@dataclass
class Findings:
    """Accuracies by what a test with error bars says of them."""

    better: int = 0
    alike: int = 0
    worse: int = 0

    @classmethod
    def of(cls, cells: list[Cell]) -> "Findings":
        return cls._of_words([cell.finding for cell in cells])

    @classmethod
    def without_their_scatter(cls, cells: list[Cell]) -> "Findings":
        """As if runs of a paper that prints no deviations had none."""
        return cls._of_words([word for _, word, _ in findings(cells, their_scatter=False)])

    @classmethod
    def _of_words(cls, words: list[str]) -> "Findings":
        return cls(*(words.count(word) for word in cls.__dataclass_fields__))

    @property
    def looked_at(self) -> int:
        return self.better + self.alike + self.worse

    @property
    def percent_worse(self) -> float | None:
        return 100 * self.worse / self.looked_at if self.looked_at else None


def counted_cells(papers) -> list[Cell]:
    return [
        cell
        for paper in papers
        for experiment in paper.experiments
        for table in experiment.items
        if isinstance(table, Table)
        for cell in table.cells.values()
        if cell.counted
    ]


def worse_cells(papers) -> list[dict]:
    """The counted cells that are worse by the strict rule or with error bars, with where they are on the page."""
    found = []
    for paper in papers:
        for experiment in paper.experiments:
            for view in experiment.views:
                if view["kind"] == "table":
                    found += [{"experiment": experiment, **line} for line in view["worse"]]
    return found
