"""Why a machine was taken, in sentences: by how much it is better than others, and how sure that is."""

from collections.abc import Callable
from typing import NamedTuple

from frugalsvm.auto._last_fit import LastFit
from frugalsvm.selection.judging import Judgment, better_by
from frugalsvm.selection.rounds import Entry, best_of
from frugalsvm.selection.search import LARGER, NO_TIME_FOR_LOW_RANK, Found
from frugalsvm.selection.task import Task

__all__ = ["Scores", "reasons"]


class Scores(NamedTuple):
    """What users are told of errors."""

    name: str
    of_error: Callable[[float], float]  # linear

    def difference(self, best: Judgment, other: Judgment) -> tuple[float, float]:
        """By how much the score of the first is larger, and the standard error of that."""
        gain, error = better_by(best, other)
        return self.of_error(0.0) - self.of_error(gain), self.of_error(0.0) - self.of_error(error)


def reasons(scores: Scores, task: Task, found: Found, last: LastFit, entries: list[Entry]) -> list[str]:
    """Why this kernel, and why this machine."""
    return [
        *_next_best(scores, entries, last.entry),
        *_larger_cells(last, entries),
        *_machine(scores, task, found, last),
    ]


def _next_best(scores, entries, best):
    """By how much the best is better than the next kernel or view."""
    for number in sorted({entry.round.number for entry in entries}, reverse=True):
        same = [entry for entry in entries if entry.round.number == number]
        own = [entry for entry in same if entry.candidate[:2] == best.candidate[:2]]
        others = [entry for entry in same if entry.candidate[:2] != best.candidate[:2]]
        if own and others:
            return [_kernels_in_words(scores, best_of(own), best_of(others))]
    return []


def _kernels_in_words(scores, best, other):
    gain, error = scores.difference(best.judgment, other.judgment)
    return (
        f"Next best: {other.candidate.kernel} on {other.candidate.view}. In round {best.round.number}, the "
        f"{scores.name} of the winner is {'larger' if gain >= 0 else 'smaller'} by {abs(gain):.4f} +- {error:.4f} "
        "(standard error)."
    )


def _larger_cells(last, entries):
    """What there is to say about the size of cells."""
    tried = sorted((e for e in entries if e.round.number == LARGER), key=lambda entry: entry.round.n_rows_of_cell)
    if last.is_low_rank or len(tried) < 2 or not tried[0].rank_key > 0:
        return []
    small, large = tried[0], tried[-1]
    saved = 1.0 - large.rank_key / small.rank_key
    return [
        f"Cells of {large.round.n_rows_of_cell} rows have squared errors {'smaller' if saved >= 0 else 'larger'} by "
        f"{abs(saved):.1%} than those of {small.round.n_rows_of_cell} rows."
    ]


def _machine(scores, task, found, last):
    """Why cells, or why a low-rank machine."""
    if last.compared is None:
        return _only_machine(task, found, last)
    low_rank = f"a low-rank machine with {found.rival.n_components} landmarks"
    cells = f"machines in cells of {found.cell_size} rows"
    taken, other = (low_rank, cells) if last.is_low_rank else (cells, low_rank)
    gain, error = scores.difference(*last.compared)
    return [
        f"Taken: {taken}, rather than {other}. On {len(last.compared[0].losses)} rows left out, the {scores.name} is "
        f"larger by {gain:.4f} +- {error:.4f} (standard error)."
    ]


def _only_machine(task, found, last):
    if last.is_low_rank:
        why = "rows are sparse" if task.views[last.entry.candidate.view].is_sparse else "n_components is a number"
        return [f"Taken without a comparison, since {why}: a low-rank machine."]
    if last.model.n_cells_ == 1 or NO_TIME_FOR_LOW_RANK in found.notes:
        return []
    return ["Low-rank machines were left out: one with few landmarks was clearly worse than cells of as many rows."]
