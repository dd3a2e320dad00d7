"""Rounds: candidates on the same rows in the same cells, judged by exact leave-one-out errors."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from frugalsvm.cells.choosing import STEPS, Choice, SomeCells, best_choice
from frugalsvm.cells.solver import Examples
from frugalsvm.selection.judging import Judgment, better_by, judged, optimism
from frugalsvm.selection.task import CELLS, Candidate, Clock, Task, cell_work

_GROUPS = 5  # of rows, for the spread of scores


class Entry(NamedTuple):
    """How a candidate did in a round."""

    candidate: Candidate
    C: float
    judgment: Judgment
    round: "Round"
    seconds: float
    n_components: int = 0  # landmarks of a low-rank machine; 0 for machines of all rows of a cell
    scores: np.ndarray | None = None  # (n_outputs, n) of the rows that count, of a low-rank machine

    @property
    def rank_key(self) -> float:
        """What is to be small: squared errors tell candidates apart that are wrong equally often."""
        return self.judgment.squared_error


class Round:
    """Cells in which candidates are compared, and the rows whose errors count."""

    def __init__(
        self,
        task: Task,
        number: int,
        members: Sequence[np.ndarray],
        unseen: np.ndarray,
        clock: Clock,
        tell: Callable[[Entry], None],
    ):
        self.task, self.number, self.members, self.clock, self.tell = task, number, list(members), clock, tell
        self.index = np.concatenate(self.members)
        counted = np.flatnonzero(unseen[self.index])
        self.counted = counted[np.argsort(self.index[counted])]  # whatever the cells, so that rounds can be compared
        self._cells: dict[str, SomeCells] = {}

    @property
    def n_rows(self) -> int:
        return len(self.index)

    @property
    def n_rows_of_cell(self) -> int:
        """In the largest of them."""
        return max(map(len, self.members))

    @property
    def seconds_each(self) -> float:
        """What a candidate takes, about."""
        return self.clock.seconds_for(CELLS, self._work)

    _work = property(lambda self: sum(cell_work(len(each), len(each)) for each in self.members))

    def best(
        self,
        candidate: Candidate,
        C: float = 100.0,
        steps: Sequence[tuple[float, float]] = STEPS,
        *,
        may_go_on: Callable[[], bool] = lambda: True,
    ) -> Entry:
        """The best of the entries downhill from a gamma and a C; one at least that can be solved, however late."""
        found: dict[Choice, Entry | None] = {}

        def judge(points: list[Choice]) -> list[float]:
            if any(found.values()) and not may_go_on():
                return [np.inf] * len(points)
            found.update(zip(points, self.entries(candidate, points), strict=True))
            return [np.inf if entry is None else entry.rank_key for entry in map(found.get, points)]

        choice = best_choice(candidate.part(), judge, gamma=True, C=None, start_C=C, steps=tuple(steps))
        entry = found.get(choice) or min(filter(None, found.values()), key=lambda each: each.rank_key, default=None)
        if entry is None:
            raise np.linalg.LinAlgError("No machine can be solved for these rows.")
        return entry

    def entry(self, like: Entry) -> Entry:
        """The candidate of another round, in float64 where float32 is too coarse."""
        (found,) = self.entries(like.candidate, [Choice(like.candidate.gamma, like.C)], may_fall_back=True)
        assert found is not None
        return found

    def entries(
        self, candidate: Candidate, points: Sequence[Choice], *, may_fall_back: bool = False
    ) -> list[Entry | None]:
        """A candidate with several values of gamma and C; None where float32 is too coarse for one."""
        start, place = self.clock.spent, self.task.machinery.place
        cells = self._cells_of(candidate.view)
        found = place.left_out(candidate.part(), cells, list(points), may_fall_back=may_fall_back)
        seconds = (self.clock.spent - start) / len(points)
        self.clock.measure(CELLS, self._work, seconds)
        entries = [
            None if scores is None else self._entry(candidate._replace(gamma=point.gamma), point.C, scores, seconds)
            for point, scores in zip(points, found, strict=True)
        ]
        for entry in entries:
            if entry is not None:
                self.tell(entry)
        return entries

    def _entry(self, candidate, C, scores, seconds):
        return Entry(candidate, C, judged_rows(self.task, scores[:, self.counted], self.judged_index), self, seconds)

    @property
    def judged_index(self) -> np.ndarray:
        """The rows that count."""
        return self.index[self.counted]

    def _cells_of(self, view: str) -> SomeCells:
        if view not in self._cells:
            task, rows = self.task, self.task.views[view].dense(self.index)
            weights = task.weights[self.index].astype(np.float64)
            given = np.empty(0) if (weights == 1.0).all() else weights
            examples = Examples(rows, np.ascontiguousarray(task.targets[:, self.index]), given)
            self._cells[view] = SomeCells.of(task.machinery.place, self.members, examples)
        return self._cells[view]


def judged_rows(task: Task, scores: np.ndarray, index: np.ndarray) -> Judgment:
    """What scores (n_outputs, n) of some rows are worth."""
    groups = np.arange(len(index)) % _GROUPS
    return judged(scores, task.targets[:, index], task.weights[index], groups, classes=task.classes)


def in_order(entries: Sequence[Entry]) -> list[Entry]:
    """From the best to the worst."""
    return sorted(entries, key=lambda entry: entry.rank_key)


def best_of(entries: Sequence[Entry]) -> Entry:
    return in_order(entries)[0]


def is_better(one: Entry, other: Entry, margin: float) -> bool:
    """Whether an entry has smaller squared errors than another of the same round, by ``margin`` standard errors."""
    gain, error = better_by(one.judgment, other.judgment, squares=True)
    return gain > margin * error


def optimism_of(entries: Sequence[Entry]) -> float:
    """The largest of all rounds: a later one chooses among winners of those before, by the same rows again."""
    rounds = {entry.round.number for entry in entries}
    return max(optimism([e.judgment for e in entries if e.round.number == number]) for number in rounds)
