"""Heats: candidates on the same rows, folds and landmarks; the best of many on few rows go on to more of them."""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from frugalsvm._threads import Threads, blas_threads
from frugalsvm.arrays.namespace import HOST
from frugalsvm.lowrank.cross_validation import cross_validated
from frugalsvm.selection.candidates import Candidate, View, gamma_for, width_step
from frugalsvm.selection.judging import Judgment, better_by, judged
from frugalsvm.selection.problems import Examples, Machinery, new_problem
from frugalsvm.selection.ridge import ridge_scores
from frugalsvm.selection.sampling import folds_of
from frugalsvm.selection.work import Clock, fit_work, ridge_work

__all__ = [
    "NEXT",
    "RIDGE",
    "SOLVED",
    "Entry",
    "Heat",
    "Task",
    "best_of",
    "best_widths",
    "in_order",
    "is_better",
    "median_width",
    "new_heat",
    "path_work",
    "solved_entries",
]

RIDGES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
_SMOOTHNESS = 0.05  # share of squared errors in the order: they tell candidates apart that err equally often
_MOST_STEPS = 5  # on the grid of widths, in one direction
_BYTES_EACH = 20  # of a row and a landmark: a kernel value in float32, and a feature and its copy in float64
NEXT = 0.4  # of a fit, for the next value of a path
SOLVED, RIDGE = "solved", "ridge"  # kinds of work


class Task(NamedTuple):
    """What there is to learn."""

    views: dict[str, View]
    targets: np.ndarray  # (n_outputs, n) float32: signs of classes, or values
    labels: np.ndarray | None  # (n,) indices of classes
    weights: np.ndarray  # (n,) float32
    loss: Any
    machinery: Machinery
    rng: np.random.Generator

    @property
    def classes(self) -> bool:
        return self.labels is not None

    @property
    def n_outputs(self) -> int:
        return len(self.targets)

    @property
    def n_rows(self) -> int:
        return len(self.weights)


class Entry(NamedTuple):
    """How a candidate did in a heat."""

    candidate: Candidate
    C: float
    judgment: Judgment
    heat: "Heat"
    seconds: float
    scores: np.ndarray | None = None  # (n_outputs, n) out of fold, in the last heat

    @property
    def next_ridges(self) -> tuple[float, ...]:
        """For more rows and landmarks: the best one here, and smaller ones."""
        ridge = 1.0 / (2.0 * self.C * len(self.heat.index))
        return ridge / 10.0, ridge / 3.0, ridge

    @property
    def rank_key(self) -> float:
        return _key(self.judgment, classes=self.heat.task.classes)


class Heat(NamedTuple):
    """Rows that candidates are compared on: the same for all."""

    task: Task
    index: np.ndarray  # of rows, in a random order
    folds: np.ndarray  # of these
    n_landmarks: int
    number: int
    clock: Clock
    tell: Callable[[Entry], None]

    def examples(self, view: str) -> Examples:
        task, index = self.task, self.index
        return Examples(task.views[view].take(index), task.targets[:, index], task.weights[index])

    @property
    def n_folds(self) -> int:
        return len(np.unique(self.folds[self.folds >= 0]))

    @property
    def ridge_seconds(self) -> float:
        """What a candidate takes, about."""
        return self.clock.seconds_for(RIDGE, self._ridge_work(len(RIDGES)))

    def _ridge_work(self, n_ridges):
        return ridge_work(len(self.index), self.n_landmarks, self.n_folds * n_ridges)

    def ridge_entry(self, candidate: Candidate, ridges: tuple[float, ...] = RIDGES) -> Entry:
        """A candidate as a ridge machine, at the best ridge."""
        start = self.clock.spent
        task, n_rows = self.task, len(self.index)
        problem, _ = self.problem(candidate)
        with blas_threads(None):
            scores = ridge_scores(problem, self.folds, ridges, task.machinery.threads)
        judgments = [self.judged(each) for each in scores]
        best = int(np.argmin([_key(each, classes=task.classes) for each in judgments]))
        seconds = self.clock.spent - start
        self.clock.measure(RIDGE, self._ridge_work(len(ridges)), seconds)
        # The penalty of half the squared norm is twice the ridge.
        return Entry(candidate, 1.0 / (2.0 * ridges[best] * n_rows), judgments[best], self, seconds)

    def side_by_side(self, entries_of: Callable[[Any], list[Entry]], items: Sequence) -> list[list[Entry]]:
        """``[entries_of(item) for item in items]``, on threads where there is memory for it; all entries are told."""
        machinery = self.task.machinery
        room = machinery.memory // (_BYTES_EACH * len(self.index) * self.n_landmarks)
        n_threads = min(machinery.threads.count, room, len(items)) if machinery.arrays is HOST else 1
        if n_threads < 2:
            return [self._told(entries_of(item)) for item in items]
        with blas_threads(None), self.clock.shared_by(n_threads):
            found = Threads(n_threads).run(entries_of, items, shares=True)
        return [self._told(each) for each in found]

    def all_entries(self, entries_of: Callable[[Any], list[Entry]], items: Sequence) -> list[Entry]:
        """The same in one list."""
        return list(chain.from_iterable(self.side_by_side(entries_of, items)))

    def _told(self, entries):
        for entry in entries:
            self.tell(entry)
        return entries

    def problem(self, candidate: Candidate):
        examples = self.examples(candidate.view)
        task = self.task
        with blas_threads(None), task.machinery.arrays.products():
            return new_problem(candidate.part(), examples, self.n_landmarks, task.loss, task.machinery)

    def judged(self, scores: np.ndarray) -> Judgment:
        task, index = self.task, self.index
        return judged(scores, task.targets[:, index], task.weights[index], self.folds, classes=task.classes)


# Machines that only tell which C is best need not be as near to the optimum as the one that is kept.
_TO_CHOOSE: dict[str, Any] = {"tolerance": 1e-2, "together": True, "narrower": 0}


def _key(judgment, *, classes):
    return judgment.error + (_SMOOTHNESS if classes else 0.0) * judgment.squared_error


def new_heat(task, index, n_folds, n_landmarks, number, clock, tell) -> Heat:
    """Of rows in a random order."""
    labels = None if task.labels is None else task.labels[index]
    folds = folds_of(labels, len(index), n_folds)
    return Heat(task, index, folds, min(n_landmarks, len(index)), number, clock, tell)


def in_order(entries: list[Entry]) -> list[Entry]:
    """From the best to the worst."""
    return sorted(entries, key=lambda entry: entry.rank_key)


def best_of(entries: list[Entry]) -> Entry:
    return in_order(entries)[0]


def is_better(one: Entry, other: Entry, margin: float) -> bool:
    """Whether an entry has smaller losses than another of the same heat, by so many standard errors."""
    gain, error = better_by(one.judgment, other.judgment)
    return gain > margin * error


def median_width(heat: Heat, view: str, kernel: str) -> Candidate:
    """A kernel about as wide as the median distance."""
    rows = heat.task.views[view].take(heat.index[: 2**11])
    return Candidate(view, kernel, gamma_for(kernel, rows, heat.task.rng))


def best_widths(heat: Heat, starts: Sequence[Candidate], reserve: float, least: int = 0) -> list[list[Entry]]:
    """Entries on a grid of widths, uphill from each start, as long as there is time.

    From a start for which there is not even time for ``least`` entries, there are none.
    """
    return heat.side_by_side(lambda start: _uphill(heat, start, reserve, least), starts)


def _uphill(heat, start, reserve, least):
    if least and not heat.clock.fits(least * heat.ridge_seconds, reserve):
        return []
    entries = [heat.ridge_entry(start)]
    for up in (True, False):
        best = entries[0]
        for _ in range(_MOST_STEPS):
            if not heat.clock.fits(heat.ridge_seconds, reserve):
                return entries
            entry = heat.ridge_entry(width_step(best.candidate, up))
            entries.append(entry)
            if entry.rank_key >= best.rank_key:
                break
            best = entry
        if best is not entries[0]:
            break
    return entries


def solved_entries(heat: Heat, candidate: Candidate, path: list[float], rng: np.random.Generator) -> list[Entry]:
    """A candidate with the loss that the machine will have, for all values of C, with out-of-fold scores."""
    start, task, n_rows = heat.clock.spent, heat.task, len(heat.index)
    problem, options = heat.problem(candidate)
    options = options._replace(unit=_unit(task, heat.index), **_TO_CHOOSE)
    with blas_threads(None), task.machinery.arrays.products():
        penalties = [1.0 / (C * n_rows) for C in path]
        found = cross_validated(problem, options, heat.folds, penalties, rng, task.machinery.threads)
    seconds = heat.clock.spent - start
    heat.clock.measure(SOLVED, path_work(heat, len(path)), seconds)
    return [
        Entry(candidate, C, heat.judged(scores), heat, seconds / len(path), scores)
        for C, scores in zip(path, found, strict=True)
    ]


def path_work(heat: Heat, n_values: int) -> float:
    """The work of a path of C in all folds: each value after the first starts near its solution."""
    return (
        heat.n_folds * (1.0 + NEXT * (n_values - 1)) * fit_work(len(heat.index), heat.n_landmarks, heat.task.n_outputs)
    )


def _unit(task, index):
    """Of targets: in units of it, losses are smoothed."""
    return 1.0 if task.classes else float(task.targets[:, index].std()) or 1.0
