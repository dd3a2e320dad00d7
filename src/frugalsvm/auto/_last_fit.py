"""The last fit: machines in cells, or a low-rank machine where that has fewer errors on rows left out."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from frugalsvm.estimators.low_rank_machine import NEWTON_STEPS
from frugalsvm.exceptions import PoorFitWarning, warn_caller
from frugalsvm.selection.judging import Judgment
from frugalsvm.selection.rounds import Entry, judged_rows
from frugalsvm.selection.search import Found
from frugalsvm.selection.task import Clock, Task

_MORE_STEPS = (4, 16)  # times as many as usual, where these were not enough
_MOST_JUDGED = 2**17  # rows whose leave-one-out errors tell how good cells are
_SMALLER = 0.25  # times C, if no number of steps is enough


class LastFit(NamedTuple):
    """A machine of all rows, and scores of some of them by machines that had not learned them."""

    model: Any
    entry: Entry  # what it was made for
    judgment: Judgment
    scores: np.ndarray  # (n, n_outputs), targets in their standard deviations
    rows: np.ndarray  # which they are, among those of the task
    warned: list[warnings.WarningMessage]  # what the machine warned of
    compared: tuple[Judgment, Judgment] | None = None  # with the machine that was not taken, on the same rows

    @property
    def is_low_rank(self) -> bool:
        return self.entry.n_components > 0


def last_fit(
    owner: Any,
    task: Task,
    found: Found,
    rows_of: Callable[[], Any],
    known: np.ndarray | None,
    common: dict[str, Any],
    clock: Clock,
) -> LastFit:
    """Fit what was found to all rows, of which ``known`` are those of the task, or None if all are.

    ``rows_of`` makes rows that are shared with nothing else: machines in cells keep them, and overwrite them. Only the
    machine that is taken warns.
    """
    last = _better_machine(owner, task, found, rows_of, known, common, clock)
    for each in last.warned:
        warn_caller(_words(owner, last.model, each), each.category)
    return last


def _better_machine(owner, task, found, rows_of, known, common, clock) -> LastFit:
    if found.rival is None:
        return _in_cells(owner, task, found, rows_of(), known, common)
    if not found.cell_size:
        return _of_low_rank(owner, task, found, rows_of(), common, clock)
    cells = _in_cells(owner, task, found, rows_of(), known, common)
    own = found.rival.round.judged_index
    there = np.searchsorted(cells.rows, own)
    same = judged_rows(task, cells.scores[there].T, own)
    if same.error <= found.rival.judgment.error:
        return cells._replace(compared=(same, found.rival.judgment))
    low_rank = _of_low_rank(owner, task, found, rows_of(), common, clock)
    return low_rank._replace(compared=(found.rival.judgment, same))


def _in_cells(owner, task, found, rows, known, common) -> LastFit:
    """Leave-one-out scores of rows that a metric has seen are too good: they do not count."""
    metric = task.views[found.best.candidate.view].metric
    size = {"cell_size": found.cell_size, "n_trees": found.n_trees, "copy_X": False}
    model = owner._cells_machine().set_params(**_chosen(found.best, metric), **size, **common)
    warned = _fitted(model, rows)
    index = _some(np.flatnonzero(found.unseen), found.rival)
    scores = owner._left_out(model)[index if known is None else known[index]]
    return LastFit(model, found.best, judged_rows(task, scores.T, index), scores, index, warned)


def _some(index: np.ndarray, rival: Entry | None) -> np.ndarray:
    """Enough rows that more would tell nothing new, evenly from all, with those that judge another machine."""
    some = index[:: -(-len(index) // _MOST_JUDGED)]
    return some if rival is None else np.union1d(some, rival.round.judged_index)


def _chosen(entry: Entry, metric) -> dict[str, Any]:
    candidate = entry.candidate
    return {"kernel": candidate.kernel, "gamma": float(candidate.gamma), "C": float(entry.C), "metric": metric}


def _of_low_rank(owner, task, found, rows, common, clock) -> LastFit:
    rival = found.rival
    ratio = found.n_components / rival.n_components
    candidate = rival.candidate.narrower(np.sqrt(max(ratio, 1.0)))
    entry = rival._replace(candidate=candidate, n_components=found.n_components)
    metric = task.views[candidate.view].metric
    model, entry, warned = _converged(_machines(owner, entry, metric, common), rows, clock)
    return LastFit(model, entry, rival.judgment, rival.scores.T, rival.round.judged_index, warned)


def _machines(owner, entry: Entry, metric, common) -> Iterator[tuple[Any, Entry]]:
    """The machine for what was found; the same with more steps; and with smaller values of C."""

    def machine(entry, **steps):
        chosen = {**_chosen(entry, metric), "n_components": entry.n_components}
        return owner._low_rank_machine().set_params(**chosen, **common, **steps), entry

    yield machine(entry)
    for factor in _MORE_STEPS:
        yield machine(entry, max_iter=factor * NEWTON_STEPS)
    for share in (_SMALLER, _SMALLER**2):
        yield machine(entry._replace(C=share * entry.C), max_iter=_MORE_STEPS[0] * NEWTON_STEPS)


def _converged(machines: Iterator[tuple[Any, Entry]], rows: Any, clock: Clock) -> tuple[Any, Entry, list]:
    """The first of some machines that converges, with what it was made for and its warnings, fitted to all rows.

    If none does, or a limit of time is near, the one whose objective is nearest to its bound.
    """
    tried = []
    for model, entry in machines:
        start = clock.spent
        warned = _fitted(model, rows)
        converged = not any(issubclass(each.category, ConvergenceWarning) for each in warned)
        tried.append((0.0 if converged else _above_optimum(model), model, entry, warned))
        if converged or not clock.fits(2 * (clock.spent - start)):
            break
    _, model, entry, warned = min(tried, key=lambda each: each[0])
    return model, entry, warned


def _fitted(model: Any, rows: Any) -> list[warnings.WarningMessage]:
    """Fit a machine to rows; returns what it warns of."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        model.fit(rows.X, rows.y, rows.weights)
    return warned


def _above_optimum(model: Any) -> float:
    """By which share of the optimum, at most, the objective of a low-rank machine is above it."""
    return model.suboptimality_bound_ / max(model.objective_, 1e-300)


def _words(owner: Any, model: Any, warning: warnings.WarningMessage) -> str:
    """A warning of the machine inside, for users who have not chosen its parameters."""
    words = str(warning.message).replace(type(model).__name__, type(owner).__name__)
    if issubclass(warning.category, PoorFitWarning):
        rare = " Where rare classes count, set class_weight='balanced'."
        is_free = getattr(owner, "class_weight", "") is None
        return words.partition(" Scale the features")[0] + (rare if is_free else "")
    if not issubclass(warning.category, ConvergenceWarning):
        return words
    if not hasattr(model, "suboptimality_bound_"):  # coefficients of cells that are very large
        return words.rpartition(": lower C")[0] + "."
    advice = "" if owner.time_budget is None else "; with a longer time budget it takes more steps"
    return (
        f"{type(owner).__name__} stopped before its last fit converged: the objective may be "
        f"{_above_optimum(model):.1%} above the optimum{advice}."
    )
