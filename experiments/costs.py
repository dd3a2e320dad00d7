"""How long tasks will take, from how long others took."""

from collections.abc import Iterable
from statistics import median
from typing import Any, NamedTuple

from experiments.kept import KeptResults
from experiments.store import Store
from experiments.tasks import Task

__all__ = ["Cost", "Costs", "duration_in_words"]

LOADING = 0.3  # seconds that even the smallest task takes, beside what its plan says


class Cost(NamedTuple):
    """Tasks that are to be computed, out of how many, and their seconds on one core."""

    n_missing: int
    n_tasks: int
    seconds: float

    def in_words(self, jobs: int = 1) -> str:
        if not self.n_missing:
            return f"All {self.n_tasks} results are there: nothing to compute."
        processes = f"{jobs} processes" if jobs > 1 else "one process"
        about = duration_in_words(self.seconds / jobs)
        return f"{self.n_missing} of {self.n_tasks} results are to be computed: about {about} with {processes}."


class Costs:
    """Estimates for tasks.

    The median of other repetitions of the same task, where there are any; otherwise what the plan says, corrected by
    how wrong it was for tasks of the same kind.

    Parameters
    ----------
    tasks : iterable of Task
    store : Store
        What it holds need not be computed.
    kept : KeptResults, default=None
        Results that tell how long tasks take, though they are to be computed again.
    """

    def __init__(self, tasks: Iterable[Task], store: Store, kept: KeptResults | None = None):
        self._store = store
        self._seconds: dict[str, list[float]] = {}
        known = (KeptResults() if kept is None else kept).by_task | store.everything()
        for (digest, _), one in known.items():
            self._seconds.setdefault(digest, []).append(one.seconds)
        sums: dict[tuple[str, Any], list[float]] = {}
        for task in tasks:
            if task.needs is None and task.digest in self._seconds:
                took, said = sums.setdefault(_kind(task), [0.0, 0.0])
                sums[_kind(task)] = [took + self._usual(task), said + task.seconds + LOADING]
        self._factors = {kind: took / said for kind, (took, said) in sums.items()}

    def _usual(self, task: Task) -> float:
        return median(self._seconds[task.digest])  # the first of several may have compiled

    def of(self, task: Task) -> float:
        """Seconds on one core."""
        if task.needs is None and task.digest in self._seconds:
            return self._usual(task)
        return (task.seconds + LOADING) * self._factors.get(_kind(task), 1.0)

    def missing(self, tasks: Iterable[Task]) -> Cost:
        """What the store does not hold, with the searches that it needs; equal tasks count once."""
        distinct = _distinct(tasks)
        distinct |= _distinct(task.needs for task in distinct.values() if task.needs is not None)
        absent = [task for task in distinct.values() if self._store.get(task) is None]
        return Cost(len(absent), len(distinct), sum(self.of(task) for task in absent))


def _distinct(tasks: Iterable[Task]) -> dict[str, Task]:
    return {task.key if task.needs is None else repr(task): task for task in tasks}


def _kind(task: Task) -> tuple[str, Any]:
    return task.work, task.settings.get("estimator", task.settings.get("variant"))


def duration_in_words(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    if seconds < 5400:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"
