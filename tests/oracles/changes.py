"""Cells that change, straight from what is promised: a table of rows, and a training from scratch on those left."""

import numpy as np

from tests.oracles.cells import cell_machine, descend, left_out_predictions


class Table:
    """Rows by their ids: they are added, forgotten and replaced in a dict."""

    def __init__(self, X, targets, weights):
        self.rows = {i: (X[i], targets[i], weights[i]) for i in range(len(X))}

    def forget(self, ids):
        for i in ids:
            del self.rows[i]

    def put(self, ids, X, targets, weights):
        for i, *row in zip(ids, X, targets, weights, strict=True):
            self.rows[i] = tuple(row)

    def arrays(self):
        """Ids in order, and rows, targets and weights in that order."""
        ids = sorted(self.rows)
        return np.array(ids), *(np.array([self.rows[i][k] for i in ids]) for k in range(3))


def from_scratch(table, trees, kernel, ridge):
    """Leave-one-out scores of all rows, in the order of their ids, and a function that scores new rows.

    ``kernel`` makes a matrix of two arrays of rows; only directions, cuts and children of the trees are used.
    """
    _, X, targets, weights = table.arrays()
    left_out, machines = np.zeros(targets.shape), []
    for tree in trees:
        cells = np.array([descend(tree, row) for row in X])
        found = {}
        for cell in np.unique(cells):
            own = cells == cell
            K = kernel(X[own], X[own])
            found[cell] = (X[own], *cell_machine(K, targets[own], ridge, weights[own]))
            left_out[own] += left_out_predictions(K, targets[own], ridge, weights[own]) / len(trees)
        machines.append((tree, found))

    def scores(new):
        total = np.zeros((len(new), targets.shape[1]))
        for tree, found in machines:
            for i, row in enumerate(new):
                Z, coef, intercept = found[descend(tree, row)]
                total[i] += kernel(row[None], Z)[0] @ coef + intercept
        return total / len(machines)

    return left_out, scores
