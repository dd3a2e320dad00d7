"""Least-squares machines in cells, straight from the formulas: nothing here is fast."""

import numpy as np


def cell_machine(K, targets, ridge, weights):
    """Coefficients (n, n_outputs) and intercepts of the bordered system ``[K + D, 1; 1', 0] [a; b] = [y; 0]``."""
    n = len(K)
    system = np.ones((n + 1, n + 1))
    system[:n, :n] = K + np.diag(ridge / weights)
    system[n, n] = 0.0
    solution = np.linalg.solve(system, np.vstack([targets, np.zeros((1, targets.shape[1]))]))
    return solution[:n], solution[n]


def left_out_predictions(K, targets, ridge, weights):
    """Predictions (n, n_outputs) of each row by a machine of the others, trained anew for each."""
    predictions = np.empty_like(targets)
    for i in range(len(K)):
        rest = np.arange(len(K)) != i
        coef, intercept = cell_machine(K[np.ix_(rest, rest)], targets[rest], ridge, weights[rest])
        predictions[i] = K[i, rest] @ coef + intercept
    return predictions


def descend(tree, row):
    """The cell of a row."""
    node = 0 if len(tree.cuts) else ~0
    while node >= 0:
        projection = np.float32(tree.directions[node] @ row)
        node = tree.children[node, 0 if projection < tree.cuts[node] else 1]
    return ~node
