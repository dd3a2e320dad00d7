"""Low-rank machines as candidates: of all rows, with some of them as landmarks, judged by rows that are held out.

They see all rows where cells see their own, and have the loss of a support vector machine: pixels, and classes that
overlap widely, may want them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.arrays.namespace import HOST
from frugalsvm.arrays.sources import dense_rows
from frugalsvm.compiling.threads import ONE_THREAD, Threads, blas_threads, row_blocks
from frugalsvm.lowrank.backends.compiled import CompiledStorage
from frugalsvm.lowrank.backends.torch import TorchStorage
from frugalsvm.lowrank.cross_validation import cross_validated
from frugalsvm.lowrank.nystroem import bare_nystroem, new_nystroem
from frugalsvm.lowrank.options import Options
from frugalsvm.lowrank.passes import Passes
from frugalsvm.lowrank.problem import Problem
from frugalsvm.lowrank.training import Data
from frugalsvm.metric_learning.machine import solver, squares
from frugalsvm.selection.rounds import Entry, Round, judged_rows
from frugalsvm.selection.task import LOW_RANK, Candidate, Machinery, Task, divided, fit_work, largest_within

THRESHOLD = 1e-7  # share of the largest eigenvalue that is kept, as in estimators


class Examples(NamedTuple):
    """Rows in a random order: the first of them become landmarks."""

    X: Any  # (n, d) array or CSR matrix, as a kernel sees it
    targets: np.ndarray  # (n_outputs, n) float32: signs of classes, or values
    weights: np.ndarray  # (n,) float32


def new_problem(
    kernel: Any, examples: Examples, n_landmarks: int, loss: Any, machinery: Machinery
) -> tuple[Problem, Options]:
    """A problem whose penalty is yet to be set, and the options of its solver."""
    X, targets, weights = examples
    arrays = machinery.arrays
    storage = _storage(machinery, kernel, dense_rows(X[:n_landmarks]))
    rows, whitening = storage.stored(Data(lambda: iter((X,)), X, targets, weights), np.arange(X.shape[0]))
    targets, weights = (arrays.asarray(each, "float32") for each in (targets, weights))
    return Problem(rows, targets, weights, loss, 0.0, whitening, True), storage.options(True)


def _storage(machinery: Machinery, kernel, landmarks):
    if machinery.arrays is HOST:
        feature_map = new_nystroem(kernel, landmarks, THRESHOLD, None, Passes(machinery.threads))
        return CompiledStorage(feature_map, machinery.memory, threads=machinery.threads)
    feature_map, memory = bare_nystroem(kernel, landmarks), machinery.arrays.free_bytes()
    return TorchStorage(machinery.arrays, feature_map, threshold=THRESHOLD, rank=None, memory=memory, dtype="float32")


_SIZES = (64, 128, 256, 512, 1024, 2048, 4096, 8192)  # of landmarks
_NEXT = 0.4  # of a fit, for the next value of a path
_FEW_ROWS, _FEW_LANDMARKS, _JUDGE_SHARE = 8192, 512, 4  # that tell whether a low-rank machine is worth a try
_WIDER = (1.0, 4.0, 16.0, 64.0)  # factors of squared widths
_RIDGES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
_STEPS = ((4.0, 10.0),)
_LEVEL = 1.2  # times the squared errors of cells may be what a low-rank machine has
_LEAST_LANDMARKS = 512  # whatever the memory: kernel values that do not fit are computed again in every pass
# Machines that only tell which C is best need not be as near to the optimum as the one that is kept.
_TO_CHOOSE: dict[str, Any] = {"tolerance": 1e-2, "together": True, "narrower": 0}


def affordable_landmarks(task: Task, n_rows: int, work: float) -> int:
    """The number of landmarks that so much work and the memory allow."""
    room = max(_LEAST_LANDMARKS, task.machinery.memory // (4 * n_rows))
    sizes = tuple(size for size in _SIZES if size <= min(n_rows, room)) or (n_rows,)
    if sizes[-1] < n_rows <= min(2 * sizes[-1], room, _SIZES[-1]):
        sizes = (*sizes, n_rows)
    return largest_within(sizes, lambda size: fit_work(n_rows, size, task.n_outputs), work)


class Start(NamedTuple):
    """A candidate that is good for a number of landmarks."""

    candidate: Candidate
    C: float
    n_landmarks: int


def global_start(like: Entry, order: np.ndarray) -> Start | None:
    """A low-rank machine, where some landmarks of all rows do as well as cells of as many rows.

    Both are ridge machines here, of the first rows of an order, of which the very first judge.
    """
    task, view = like.round.task, like.round.task.views[like.candidate.view]
    rows = order[:_FEW_ROWS]
    n_judges = len(rows) // _JUDGE_SHARE
    judging = np.zeros(task.n_rows, bool)
    judging[rows[:n_judges]] = True
    cells = divided(task, view, np.sort(rows), _FEW_LANDMARKS)
    in_cells = Round(task, like.round.number, cells, judging, like.round.clock, lambda entry: None)
    local = in_cells.best(like.candidate, like.C, _STEPS).rank_key
    held_out = _HeldOut.of(task, like.candidate.view, rows[n_judges:], rows[:n_judges])
    tried = [_best_ridge(like.candidate.narrower(1.0 / factor), held_out) for factor in _WIDER]
    error, start = min(tried, key=lambda each: each[0])
    return start if error <= _LEVEL * local else None


def _best_ridge(candidate: Candidate, held_out: "_HeldOut") -> tuple[float, Start]:
    task, threads = held_out.task, held_out.task.machinery.threads
    with held_out.products():
        problem, _ = held_out.problem(candidate, _FEW_LANDMARKS)
        scores = ridge_scores(problem, held_out.folds, _RIDGES, threads)
    errors = [judged_rows(task, each[:, held_out.n_fitted :], held_out.judges).squared_error for each in scores]
    best = int(np.argmin(errors))
    # The penalty of half the squared norm is twice the ridge.
    return errors[best], Start(candidate, 1.0 / (2.0 * _RIDGES[best] * len(held_out.index)), _FEW_LANDMARKS)


class _HeldOut(NamedTuple):
    """Rows in a view, of which the last judge machines of the others; the first become landmarks."""

    task: Task
    index: np.ndarray
    n_fitted: int
    examples: Examples

    @classmethod
    def of(cls, task: Task, view: str, fitted: np.ndarray, judges: np.ndarray) -> "_HeldOut":
        index = np.concatenate([fitted, judges])
        examples = Examples(task.views[view].take(index), task.targets[:, index], task.weights[index])
        return cls(task, index, len(fitted), examples)

    @property
    def judges(self) -> np.ndarray:
        return self.index[self.n_fitted :]

    @property
    def folds(self) -> np.ndarray:
        return np.where(np.arange(len(self.index)) < self.n_fitted, -1, 0)

    @contextmanager
    def products(self) -> Iterator[None]:
        """Where machines are solved."""
        with blas_threads(None), self.task.machinery.arrays.products():
            yield

    def problem(self, candidate: Candidate, n_landmarks: int) -> tuple[Any, Any]:
        return new_problem(candidate.part(), self.examples, n_landmarks, self.task.loss, self.task.machinery)


def low_rank_entries(start_at: Start, round_: Round, n_landmarks: int, path: list[float]) -> list[Entry]:
    """A candidate with the loss that the machine will have, for all values of C, in increasing order.

    The round has one cell, whose rows that count are held out of the machines.
    """
    task, clock, n_rows = round_.task, round_.clock, round_.n_rows
    start = clock.spent
    others = np.setdiff1d(np.arange(n_rows), round_.counted)
    fitted = round_.index[task.rng.permutation(others)]
    candidate = start_at.candidate.narrower(np.sqrt(max(n_landmarks / start_at.n_landmarks, 1.0)))
    held_out = _HeldOut.of(task, candidate.view, fitted, round_.judged_index)
    scores = _scores_along(path, held_out, candidate, n_landmarks)
    seconds = clock.spent - start
    clock.measure(LOW_RANK, (1.0 + _NEXT * (len(path) - 1)) * fit_work(n_rows, n_landmarks, task.n_outputs), seconds)
    return [
        Entry(
            candidate, C, judged_rows(task, each, round_.judged_index), round_, seconds / len(path), n_landmarks, each
        )
        for C, each in zip(path, scores, strict=True)
    ]


def _scores_along(path: list[float], held_out: _HeldOut, candidate: Candidate, n_landmarks: int) -> list[np.ndarray]:
    """Scores (n_outputs, n) of the judges, for each C."""
    task, (_, targets, _) = held_out.task, held_out.examples
    with held_out.products():
        problem, options = held_out.problem(candidate, n_landmarks)
        unit = 1.0 if task.classes else float(targets.std()) or 1.0  # in units of it, losses are smoothed
        options = options._replace(unit=unit, **_TO_CHOOSE)
        penalties = [1.0 / (C * len(held_out.index)) for C in path]
        found = cross_validated(problem, options, held_out.folds, penalties, task.rng, task.machinery.threads)
    return [each[:, held_out.n_fitted :] for each in found]


# --- ridge machines --------------------------------------------------------------------------------------------------

# With features F of all rows and weights D, a machine without a fold has ``H = F'DF - F_k'D_k F_k + ridge w I``: sums
# of products over folds give all of them, and each ridge costs one factorization. In float64, with an intercept that
# is not penalized.

_JITTER = 1e-10
_PART_ROWS = 1024  # that are summed at a time


def ridge_scores(
    problem: Any, folds: np.ndarray, ridges: tuple[float, ...], threads: Threads = ONE_THREAD
) -> np.ndarray:
    """Scores ``(n_ridges, n_outputs, n_rows)`` of all rows, each from the machines that have not seen its fold.

    Rows of fold -1 are in no fold: all machines see them, and their scores are not a number. A ridge is the penalty
    ``lambda`` of ``lambda |f|^2 + mean squared error``.

    Sums over rows and machines run side by side on threads: one product or factorization of this size takes longer on
    many threads than on one.
    """
    arrays, n_rows = problem.arrays, problem.n_rows
    run = threads.run if arrays is HOST else ONE_THREAD.run
    F = _features(problem, run)
    targets, weights = arrays.double(problem.targets), arrays.double(problem.weights)
    out = np.full((len(ridges), problem.n_outputs, n_rows), np.nan)
    members = {int(fold): np.flatnonzero(folds == fold) for fold in np.unique(folds)}
    sums = _sums_of_folds(arrays, F, targets, weights, members, run)
    left_out = [fold for fold in members if fold >= 0]
    totals = {fold: _total(each for other, each in sums.items() if other != fold) for fold in left_out}

    def score(machine):
        fold, k = machine
        total, right, weight = totals[fold]
        scores = F[arrays.asarray(members[fold])] @ _solved(arrays, total, right, ridges[k] * weight)
        out[k][:, members[fold]] = arrays.host(scores).T

    run(score, [(fold, k) for fold in left_out for k in range(len(ridges))])
    return out


def _features(problem, run):
    """Whitened features of all rows and a column of ones, in float64."""
    arrays, block = problem.arrays, problem.rows.block
    out = arrays.empty((block.shape[0], problem.n_features + 1), "float64")
    out[:, -1] = 1.0

    def fill(rows):
        out[rows, :-1] = problem.whitening.features(block[rows])

    run(fill, row_blocks(block.shape[0], 1, most=_PART_ROWS))
    return out


def _sums_of_folds(arrays, F, targets, weights, members, run):
    """Products over the rows of each fold, from those of parts of it."""
    parts = [
        (fold, index[rows]) for fold, index in members.items() for rows in row_blocks(len(index), 1, most=_PART_ROWS)
    ]
    found = run(lambda part: _sums(F, targets, weights, arrays.asarray(part[1])), parts)
    each = list(zip(parts, found, strict=True))
    return {fold: _total(sums for (owner, _), sums in each if owner == fold) for fold in members}


def _total(parts):
    return tuple(sum(each) for each in zip(*parts, strict=True))


def _sums(F, targets, weights, index):
    own, of_rows = F[index], weights[index]
    return squares(own, of_rows), own.T @ (of_rows * targets[:, index]).T, float(of_rows.sum())


def _solved(arrays, total, right, penalty):
    H = arrays.xp.asarray(total, copy=True)
    diagonal = arrays.xp.arange(H.shape[0] - 1, device=arrays.device)
    H[diagonal, diagonal] += penalty
    return solver(H, _JITTER)(right)
