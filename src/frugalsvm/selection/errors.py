"""Errors of the machine that a search has found, on rows left out: what intervals are made of.

The last heat has such errors, but of machines that know fewer rows and may have fewer landmarks than the one that is
fitted to all rows at last: intervals would be too wide. And the winner has the smallest errors there because it was
chosen by them: with few rows, intervals would be too narrow.
"""

from collections.abc import Sequence

import numpy as np

from frugalsvm.selection.heats import SOLVED, Entry, Heat, Task, solved_entries
from frugalsvm.selection.judging import optimism
from frugalsvm.selection.search import SIZES, Found
from frugalsvm.selection.work import Clock, fit_work

__all__ = ["errors_left_out", "is_fair"]

_MOST_ROWS = 2**14
_LEAST_LEFT_OUT, _MOST_LEFT_OUT = 200, 2000
_SHARE = 10  # machines know all but one of so many rows
_WORK = 16.0  # without a limit of time, in seconds of a usual core
_CAUTION = 1.25  # times as long as estimated may be what it takes


def is_fair(entry: Entry, found: Found) -> np.ndarray:
    """Which rows were left out when they were scored, and out of the learning of the metric."""
    assert entry.scores is not None
    fair = ~np.isnan(entry.scores[0])
    if found.learned_from is not None:  # scores of rows that the metric has seen look too good
        fair &= ~np.isin(entry.heat.index, found.learned_from)
    return fair


def errors_left_out(task: Task, found: Found, entries: Sequence[Entry], clock: Clock) -> np.ndarray:
    """Sizes of the errors of some rows, in increasing order and in units of the targets, as new rows would have them.

    Where there is no time to leave rows out of the machine as it was fitted, they are those of the last heat.
    """
    entry = _as_fitted(task, found, clock) or found.best
    assert entry.scores is not None
    sizes = np.abs(task.targets[0][entry.heat.index] - entry.scores[0])[is_fair(entry, found)]
    return np.sort(sizes).astype(np.float64) * np.sqrt(_optimism(entries))


def _optimism(entries):
    """That of all heats in which the best of several candidates was chosen, one after another."""
    heats = {entry.heat.number for entry in entries}
    return np.prod([optimism([each.judgment for each in entries if each.heat.number == heat]) for heat in heats])


def _as_fitted(task, found, clock) -> Entry | None:
    """The machine as it was fitted, or nearly, with scores of rows left out; None if there is no time."""
    best = found.best
    others = task.rng.permutation(np.setdiff1d(np.arange(task.n_rows), best.heat.index))
    # The first rows become landmarks. Rows that no metric was learned from come last, and are left out.
    index = np.concatenate([best.heat.index, others])[:_MOST_ROWS][::-1]
    folds = _folds(index, found.learned_from)
    size = _affordable(task, folds, best.heat.n_landmarks, found.n_components, clock)
    if size is None:
        return None
    n_landmarks, n_folds = size
    folds = np.where(folds < n_folds, folds, -1)
    heat = Heat(task, index, folds, n_landmarks, best.heat.number + 1, clock, lambda entry: None)
    candidate = best.candidate.narrower(np.sqrt(n_landmarks / best.heat.n_landmarks))
    # The penalty is that of the fit to all rows.
    (entry,) = solved_entries(heat, candidate, [best.C * task.n_rows / len(index)], task.rng)
    return entry


def _folds(index, learned_from):
    """Folds of rows that may be left out, a small share of all rows each; -1 for rows that are in all machines."""
    may = np.arange(len(index)) if learned_from is None else np.flatnonzero(~np.isin(index, learned_from))
    may = may[-_MOST_LEFT_OUT:]
    folds = np.full(len(index), -1)
    folds[may] = np.arange(len(may)) % max(1, -(-_SHARE * len(may) // len(index)))
    return folds


def _affordable(task, folds, least, most, clock):
    """Landmarks, as many as there is time and memory for, and then folds to leave out; None without time for any."""
    n_rows, n_folds = len(folds), folds.max() + 1
    if not n_folds:
        return None
    limit = _WORK if clock.limit is None else max(clock.left, 0.0) / (_CAUTION * clock.ratio(SOLVED))
    room = max(least, min(most, n_rows, task.machinery.memory // (4 * n_rows)))
    sizes = sorted({size for size in (*SIZES, least, most) if least <= size <= room}, reverse=True)
    least_folds = min(n_folds, -(-_LEAST_LEFT_OUT * n_folds // np.count_nonzero(folds >= 0)))
    for size in sizes:
        for some in range(n_folds, least_folds - 1, -1):
            if some * fit_work(n_rows, size, task.n_outputs) <= limit:
                return size, some
    return None
