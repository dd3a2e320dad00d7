"""How predictions of some rows change without each of the rows that were learned, exactly and without training.

With ``z = (a, b)``, the solution of the system M of a cell (``cells/solver.py``), the solution without row i is
``z - M^-1 e_i a_i / (M^-1)_ii``. So the machine without row i predicts, of a row x with ``m = (K(x, x_j), 1)``,

    f_i(x) = f(x) - (m' M^-1)_i a_i / (M^-1)_ii.
"""

from typing import Any

import numpy as np
from scipy.linalg import inv
from scipy.sparse import csr_array

from frugalsvm.cells.changes.mending import Staged
from frugalsvm.cells.solver import Cells
from frugalsvm.cells.tree import cells_of
from frugalsvm.core.blocks import kernel_matrix

_AT_A_TIME = 2**24  # changes of predictions


def losses_without(kernel: Any, staged: Staged, trees: list[Cells], ridge: float, X: np.ndarray, targets: np.ndarray):
    """Sums of squared errors (n_outputs, n_rows) of rows without each row that was learned, minus those with all.

    Parameters
    ----------
    kernel : NamedTuple
    staged : Staged
        The rows that were learned.
    trees : list of Cells
    ridge : float
        ``1 / C``.
    X : ndarray of shape (n, n_features)
        Rows as the kernel sees them.
    targets : ndarray of shape (n, n_outputs)

    Returns
    -------
    ndarray of shape (n_outputs, n_rows)
    """
    found = np.zeros((targets.shape[1], len(staged.rows)))
    cells = [cells_of(each.tree, X) for each in trees]
    order = np.argsort(cells[0], kind="stable")  # so that each cell of the first tree is inverted once
    step = max(1, _AT_A_TIME // sum(int(each.tree.sizes.max()) for each in trees))
    for start in range(0, len(X), step):
        some = order[start : start + step]
        parts = [
            _changes(kernel, staged, each, ridge, X[some], number[some])
            for each, number in zip(trees, cells, strict=True)
        ]
        for o in range(len(found)):
            scores = sum(scores for scores, _ in parts)[:, o] / len(trees)
            changes = sum(changes[o] for _, changes in parts) / len(trees)
            errors = targets[some, o] - scores
            found[o] += changes.multiply(changes).sum(axis=0) - 2.0 * (changes.T @ errors)
    return found


def _changes(kernel: Any, staged: Staged, cells: Cells, ridge: float, X: np.ndarray, numbers: np.ndarray):
    """Scores (n, n_outputs) of rows in one tree, and how they change without each row, (n, n_rows) for each output."""
    scores, n_outputs = np.empty((len(X), len(cells.coef))), len(cells.coef)
    rows, columns, values = [], [], [[] for _ in range(n_outputs)]
    for cell in np.unique(numbers).tolist():
        own, members = np.flatnonzero(numbers == cell), cells.tree.members_of(cell)
        examples = staged.examples(members)
        if len(members) > cells.size or len(members) == 1:
            scores[own], changes = _mean_without(examples, len(own))
        else:
            scores[own], changes = _machine_without(kernel, examples, cells.centers[cell], ridge, X[own])
        rows.append(np.repeat(own, len(members)))
        columns.append(np.tile(members, len(own)))
        for o in range(n_outputs):
            values[o].append(changes[o].ravel())
    place = (np.concatenate(rows), np.concatenate(columns))
    shape = (len(X), len(staged.rows))
    return scores, [csr_array((np.concatenate(each), place), shape=shape) for each in values]


def _machine_without(kernel: Any, examples: Any, center: np.ndarray, ridge: float, X: np.ndarray):
    """Scores of some rows, and how they change without each row of their cell, (n_outputs, n, n_members)."""
    n = len(examples.rows)
    Z = examples.rows.astype(np.float64) - center
    weights = examples.weights if len(examples.weights) else np.ones(n)
    system = np.ones((n + 1, n + 1))
    system[:n, :n] = kernel_matrix(kernel, Z, Z)
    system[np.arange(n), np.arange(n)] += ridge / weights
    system[n, n] = 0.0
    inverse = inv(system, overwrite_a=True, check_finite=False)
    solution = inverse[:, :n] @ examples.targets.T.astype(np.float64)
    between = np.ones((len(X), n + 1))
    between[:, :n] = kernel_matrix(kernel, X.astype(np.float64) - center, Z)
    left_out = solution[:n].T / np.diagonal(inverse)[:n]
    return between @ solution, -(between @ inverse)[None, :, :n] * left_out[:, None, :]


def _mean_without(examples: Any, n: int):
    """The same of a cell whose machine is the mean of its targets; 0 is what there would be without the only row."""
    targets = examples.targets.astype(np.float64)
    weights = examples.weights if len(examples.weights) else np.ones(targets.shape[1])
    mean = targets @ weights / weights.sum()
    rest = weights.sum() - weights
    if targets.shape[1] == 1:
        changes = -mean[:, None]
    else:
        changes = weights * (mean[:, None] - targets) / rest
    return np.tile(mean, (n, 1)), np.repeat(changes[:, None, :], n, axis=1)
