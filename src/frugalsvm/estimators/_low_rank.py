"""Batch training of low-rank machines: rows within a limit of memory, one value of C or several."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.asset.maps import whitening_of, width_of
from frugalsvm.asset.rows import ComputedRows, StoredRows, stored_rows
from frugalsvm.asset.solve import Sample, Settings, Solution, solve, solve_warm
from frugalsvm.asset.task import Task, raw_coefficients

__all__ = ["Data", "Held", "Training", "Watcher", "new_training", "scores_on", "solve_path"]

_NARROW = 1 / 3  # with fewer features than this share of the landmarks, rows are whitened once and for all
_SAMPLE_ROWS = 64  # rows of a sample for each landmark
_LEAST_GAIN = 1e-4  # of a validation score: less is no reason to wait for more, and may come for ever


class Data(NamedTuple):
    """Rows to learn, however they are read: ``blocks()`` goes through them in their order."""

    blocks: Callable
    X: Any  # all rows, or None where they come in blocks only
    targets: np.ndarray  # (n_outputs, n_rows) float32
    weights: np.ndarray  # (n_rows,) float32

    @property
    def n_rows(self):
        return len(self.weights)


class Held(NamedTuple):
    """Rows that are kept apart to tell which model is the best."""

    rows: StoredRows
    targets: np.ndarray
    weights: np.ndarray
    task: dict  # what the task without them has instead


class Training(NamedTuple):
    """Rows in the form in which the solver takes them."""

    task: Task  # without the rows that are held; its penalty is yet to be set
    sample: Sample
    held: Held | None
    whole: Task  # with them


def _is_narrow(feature_map):
    whitening = whitening_of(feature_map)
    return whitening is not None and whitening.shape[1] < _NARROW * whitening.shape[0]


def new_training(feature_map, data, loss, intercept, memory, share_held, rng, *, whiten=False):
    """Compute all features if they fit into ``memory`` bytes; otherwise those of a sample, to begin with.

    ``whiten``: make features of them, with the kernel as inner product, even where that is slow.
    """
    n_rows, n_held = data.n_rows, int(np.ceil(share_held * data.n_rows))
    if n_held >= n_rows:
        raise ValueError(f"validation_fraction={share_held!r} leaves none of the {n_rows} rows to learn from.")
    fits = 4 * n_rows * width_of(feature_map) <= memory
    prepare = _in_memory if fits and data.X is not None else _beyond_memory
    whole, sample, held = prepare(feature_map, data, n_held, memory, whiten, rng)
    whole = whole._replace(loss=loss, intercept=intercept)
    task = whole if held is None else whole._replace(**held.task)
    return Training(task, sample, held, whole)


def _bare_task(rows, data_targets, data_weights, whitening):
    return Task(rows, data_targets, data_weights, None, 0.0, whitening, False)


def _in_memory(feature_map, data, n_held, memory, whiten, rng):
    order = rng.permutation(data.n_rows)
    whitening = whitening_of(feature_map)
    at_once = whiten or _is_narrow(feature_map)
    rows = stored_rows(feature_map, data.X, order, whitening if at_once else None)
    targets, weights = data.targets[:, order], data.weights[order]
    whole = _bare_task(rows, targets, weights, None if at_once else whitening)
    if not n_held:
        return whole, Sample(rows, targets, weights), None
    n = data.n_rows - n_held
    sample = Sample(rows.head(n), targets[:, :n], weights[:n])
    held = Held(StoredRows(rows.block[n:]), targets[:, n:], weights[n:], sample._asdict())
    return whole, sample, held


def _beyond_memory(feature_map, data, n_held, memory, whiten, rng):
    rows = ComputedRows(feature_map, data.blocks, data.n_rows)
    whole = _bare_task(rows, data.targets, data.weights, whitening_of(feature_map))
    row_bytes = 4 * rows.width
    if n_held:
        n_held = int(min(n_held, memory // 8 // row_bytes))
        if not n_held:
            raise ValueError(
                f"memory is too small to hold rows out: a row takes {row_bytes} bytes, and an eighth is for them."
            )
    n_sample = int(min(_SAMPLE_ROWS * rows.width, memory // 8 // row_bytes, data.n_rows - n_held))
    index = np.sort(rng.choice(data.n_rows, n_sample + n_held, replace=False))
    # Samples are taken from the front, so that their order must be random; held rows are the last ones.
    places = rng.permutation(len(index))
    taken = rows.take(index, places)
    index[places] = index.copy()
    targets, weights = data.targets[:, index], data.weights[index]
    sample = Sample(StoredRows(taken[:n_sample]), targets[:, :n_sample], weights[:n_sample])
    if not n_held:
        return whole, sample, None
    others = data.weights.copy()
    others[index[n_sample:]] = 0.0
    held = Held(StoredRows(taken[n_sample:]), targets[:, n_sample:], weights[n_sample:], {"weights": others})
    return whole, sample, held


def scores_on(training, held, unknowns):
    """Scores of rows that were kept apart."""
    scores = np.empty(held.targets.shape, np.float32)
    held.rows.scores(raw_coefficients(training.task, unknowns[:, :-1]), scores)
    return scores + unknowns[:, -1:]


class Watcher:
    """Called with the unknowns of a model in the making; tells when those before did better on the held rows."""

    def __init__(self, training, quality, patience):
        self._training, self._quality, self._patience = training, quality, patience
        self._without_gain, self._mark = 0, -np.inf
        self.best = -np.inf
        self.unknowns: Any = None

    def __call__(self, unknowns):
        held = self._training.held
        value = self._quality(scores_on(self._training, held, unknowns), held.targets, held.weights)
        if value > self.best:
            self.best, self.unknowns = value, unknowns.copy()
        if value > self._mark + _LEAST_GAIN:
            self._mark, self._without_gain = value, 0
        else:
            self._without_gain += 1
        return self.is_done

    @property
    def is_done(self):
        return self._without_gain >= self._patience


def solve_path(training, penalties, settings: Settings, rng, watch=None) -> list[Solution]:
    """Solutions for decreasing penalties, each from the one before."""
    first, *others = (training.task._replace(penalty=penalty) for penalty in penalties)
    solutions = [solve(first, training.sample, settings, rng, watch)]
    for task in others:
        solutions.append(solve_warm(task, solutions[-1].unknowns, settings, rng))
    return solutions
