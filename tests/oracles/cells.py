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


def landmark_machine(K_zz, K_xz, targets, ridge, weights):
    """Coefficients (m, n_outputs) and intercepts that minimize ``ridge a'K_zz a + sum_i w_i (y_i - K_xz a - b)^2``."""
    m = len(K_zz)
    design = np.hstack([K_xz, np.ones((len(K_xz), 1))])
    penalty = np.zeros((m + 1, m + 1))
    penalty[:m, :m] = ridge * K_zz
    solution = np.linalg.solve(
        design.T @ (weights[:, None] * design) + penalty, design.T @ (weights[:, None] * targets)
    )
    return solution[:m], solution[m]


def landmark_left_out(K_zz, K_xz, targets, ridge, weights, own):
    """Predictions (n, n_outputs) of each row by a machine without it; ``own[i]`` is its landmark, or -1."""
    predictions = np.empty_like(targets)
    for i in range(len(K_xz)):
        rest, others = np.arange(len(K_xz)) != i, np.arange(len(K_zz)) != own[i]
        K = K_zz[np.ix_(others, others)]
        coef, intercept = landmark_machine(K, K_xz[np.ix_(rest, others)], targets[rest], ridge, weights[rest])
        predictions[i] = K_xz[i, others] @ coef + intercept
    return predictions


def decoded(coded, cell):
    """Rows and coefficients (m, n_outputs) of a cell, read bit by bit."""
    bits = "".join(format(int(word), "064b")[::-1] for word in coded.words[coded.firsts[cell] :])
    widths, position, codes = coded.widths[cell].tolist(), 0, []
    for _ in range(coded.tree.sizes[cell]):
        for width in widths:
            codes.append(int(bits[position : position + width][::-1] or "0", 2))
            position += width
    values = coded.lows[cell] + coded.steps[cell].astype(float) * np.reshape(codes, (-1, len(widths)))
    n_features = coded.tree.directions.shape[1]
    return values[:, :n_features], values[:, n_features:]
