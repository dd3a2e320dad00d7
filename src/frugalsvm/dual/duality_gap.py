"""The duality gap: kept while learning, over the working set, and of a whole training problem.

What a learner keeps is about the members of its working set (``state.py``): the gap over them is a bound on what more
steps on them could gain. Examples that were never members, or are none any more, have losses too. The gap of the whole
problem is evaluated directly, in float64, from the rows themselves. For all examples, without a bias or with
sum alpha = 0,

    P = |w|^2 / 2 + sum_i c_i max(0, 1 - y_i f(x_i)),    D = sum_i alpha_i y_i - |w|^2 / 2,    0 <= alpha_i y_i <= c_i

and P - D is at least how far P is above the smallest and D below the largest of all: these two are equal.

That needs alpha to be coefficients of the examples given. Equal rows with equal labels count as one with the sum of
their boxes, which changes neither P nor D.
"""

import numpy as np

from frugalsvm.compiling.functions import compiled, larger, separate
from frugalsvm.core.blocks import kernel_matrix

BLOCK_VALUES = 2**20  # kernel values at a time
ROUNDING = 1e-6  # a box may be exceeded by this share of it: boxes of float32 models are rounded


class NotTheProblemError(ValueError):
    """The coefficients are not those of the examples."""


@compiled
def sum_up(gradient, bound, labels, c, n, sums):
    total = total2 = hinge = 0.0
    for k in range(n):
        b, g = np.float64(bound[c, k]), np.float64(gradient[c, k])
        h = b * g
        total += abs(b) * labels[c, k] * g
        total2 += h * h
        hinge += larger(h, 0.0)
    sums[c]["h"] = total
    sums[c]["h_squared"] = total2
    sums[c]["hinge"] = hinge


@separate
def gap_target(state, c, C):
    """``max(C, sqrt(sum h^2 - (sum h)^2 / l))`` with ``h = c y g`` and l support vectors: equation (8)."""
    n_support = state.counts[c]["n_support"]
    if n_support == 0:
        return C
    if state.sums[c]["h_squared"] < 0.0:
        sum_up(state.gradient, state.bound, state.labels, c, state.working_set.counts[0]["n_slots"], state.sums)
    total = state.sums[c]["h"]
    return larger(C, np.sqrt(larger(state.sums[c]["h_squared"] - total * total / n_support, 0.0)))


@separate
def gap_of(state, c):
    return state.sums[c]["hinge"] - state.sums[c]["overlap"]


def member_gap(state):
    """Primal minus dual objective over the members, summed over the outputs, from the gradients that are kept."""
    n = state.working_set.counts[0]["n_slots"]
    gradient, alpha, bound = state.gradient[:, :n], state.working_set.coef[:, :n], state.bound[:, :n]
    hinge = np.maximum(bound * (gradient - state.sums["bias"][:, None]), 0.0)
    return float(np.sum(hinge - alpha * gradient))


def training_gap(kernel, support, bias, X, labels, boxes):
    """Primal minus dual objective, summed over the outputs.

    Parameters
    ----------
    kernel : NamedTuple
    support : Expansion
        Support vectors, all of them among the rows, with their signed coefficients.
    bias : ndarray of shape (n_outputs,)
    X : ndarray or CSR of shape (n_rows, n_features)
        All rows, of the same type as the vectors.
    labels : ndarray of shape (n_outputs, n_rows)
        +1 and -1.
    boxes : ndarray of shape (n_rows,)
        C times the weight of each example.
    """
    n = support.counts[0]["n_slots"]
    vectors, alpha = np.ascontiguousarray(support.rows[:n]), support.coef[:, :n]
    in_float64 = vectors.astype(np.float64)
    index_of = {row.tobytes(): index for index, row in enumerate(vectors + 0.0)}  # there is a zero with a sign
    last_equal = np.array([index_of[row.tobytes()] for row in vectors + 0.0], np.int64)
    room = np.zeros((2, len(labels), len(vectors)))  # boxes of the negative and of the positive examples at each vector
    losses = np.zeros(len(labels))
    block_rows = max(1, BLOCK_VALUES // max(len(vectors), 1))
    for start in range(0, X.shape[0], block_rows):
        part = slice(start, start + block_rows)
        rows = np.ascontiguousarray(X[part] if isinstance(X, np.ndarray) else X[part].toarray())
        f = kernel_matrix(kernel, rows, in_float64) @ alpha.T + bias
        losses += (boxes[part, None] * np.maximum(1.0 - labels[:, part].T * f, 0.0)).sum(axis=0)
        _add_room(room, index_of, rows, labels[:, part], boxes[part])
    _check_boxes(room, last_equal, alpha)
    squared_norms = np.einsum("ov,vo->o", alpha, kernel_matrix(kernel, in_float64, in_float64) @ alpha.T)
    return float(np.sum(losses + squared_norms - _linear_part(room, last_equal, alpha)))


def _add_room(room, index_of, rows, labels, boxes):
    for i, row in enumerate(rows + 0.0):
        index = index_of.get(row.tobytes())
        if index is not None:
            positive = labels[:, i] > 0
            room[1, positive, index] += boxes[i]
            room[0, ~positive, index] += boxes[i]


def _summed(last_equal, alpha):
    """Coefficients of equal vectors together, at the index of the last of them."""
    sums = np.zeros_like(alpha)
    for output, own in enumerate(alpha):
        np.add.at(sums[output], last_equal, own)
    return sums


def _check_boxes(room, last_equal, alpha):
    sums = _summed(last_equal, alpha)
    slack = ROUNDING * room.sum(axis=0)
    lacking = (room[:, :, last_equal] == 0.0).all(axis=(0, 1)) & (alpha != 0.0).any(axis=0)
    if lacking.any():
        raise NotTheProblemError(
            f"{np.count_nonzero(lacking)} of {len(last_equal)} support vectors are not among the rows"
        )
    beyond = (sums > room[1] + slack) | (sums < -room[0] - slack)
    if beyond.any():
        raise NotTheProblemError(
            f"{np.count_nonzero(beyond)} coefficients are larger than C times the weight of their example"
        )


def _linear_part(room, last_equal, alpha):
    """``sum alpha y``.

    Where a row is there with both labels, the model knows the difference of their dual variables only: the sum is made
    as large as the boxes allow.
    """
    sums = _summed(last_equal, alpha)
    return (2.0 * np.minimum(room[1], sums + room[0]) - sums).sum(axis=1)
