"""Out-of-fold scores of ridge machines, for several ridges and all folds, from one product of the features.

With features F of all rows and weights D, a machine without a fold has ``H = F'DF - F_k'D_k F_k + ridge w I``: sums of
products over folds give all of them, and each ridge costs one factorization. In float64, with an intercept that is not
penalized.
"""

from typing import Any

import numpy as np

from frugalsvm.arrays.namespace import HOST
from frugalsvm.compiling.threads import ONE_THREAD, Threads, row_blocks
from frugalsvm.metric_learning.machine import solver, squares

__all__ = ["ridge_scores"]

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
