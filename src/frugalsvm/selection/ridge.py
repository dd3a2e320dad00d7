"""Out-of-fold scores of ridge machines, for several ridges and all folds, from one product of the features.

With features F of all rows and weights D, a machine without a fold has ``H = F'DF - F_k'D_k F_k + ridge w I``: sums of
products over folds give all of them, and each ridge costs one factorization. In float64, with an intercept that is not
penalized.
"""

from typing import Any

import numpy as np

from frugalsvm.metric_learning.machine import solver, squares

__all__ = ["ridge_scores"]

_JITTER = 1e-10


def ridge_scores(problem: Any, folds: np.ndarray, ridges: tuple[float, ...]) -> np.ndarray:
    """Scores ``(n_ridges, n_outputs, n_rows)`` of all rows, each from the machines that have not seen its fold.

    Rows of fold -1 are in no fold: all machines see them, and their scores are not a number. A ridge is the penalty
    ``lambda`` of ``lambda |f|^2 + mean squared error``.
    """
    arrays, n_rows = problem.arrays, problem.n_rows
    F = _features(problem)
    targets, weights = arrays.double(problem.targets), arrays.double(problem.weights)
    out = np.full((len(ridges), problem.n_outputs, n_rows), np.nan)
    members = {int(fold): arrays.asarray(np.flatnonzero(folds == fold)) for fold in np.unique(folds)}
    sums = {fold: _sums(F, targets, weights, index) for fold, index in members.items()}
    for fold, index in members.items():
        if fold < 0:
            continue
        others = [each for other, each in sums.items() if other != fold]
        total, right, weight = (sum(parts) for parts in zip(*others, strict=True))
        for k, ridge in enumerate(ridges):
            scores = F[index] @ _solved(arrays, total, right, ridge * weight)
            out[k][:, folds == fold] = arrays.host(scores).T
    return out


def _features(problem):
    """Whitened features of all rows and a column of ones, in float64."""
    arrays = problem.arrays
    made = arrays.double(problem.whitening.features(problem.rows.block))
    return arrays.xp.concat((made, arrays.ones((made.shape[0], 1), "float64")), axis=1)


def _sums(F, targets, weights, index):
    own, of_rows = F[index], weights[index]
    return squares(own, of_rows), own.T @ (of_rows * targets[:, index]).T, float(of_rows.sum())


def _solved(arrays, total, right, penalty):
    H = arrays.xp.asarray(total, copy=True)
    diagonal = arrays.xp.arange(H.shape[0] - 1, device=arrays.device)
    H[diagonal, diagonal] += penalty
    return solver(H, _JITTER)(right)
