"""A path of C with cross-validation, for FULL SVM without a bias: one working set, one cache of kernel rows for all.

All rows are in the working set, and every fold has outputs of its own (``state.py``), in which the rows that it leaves
out are no members. Their gradients are kept all the same, and tell what the machine of the other rows says of them: ::

    g_k = y_k - f(x_k)    so that    f(x_k) = y_k - g_k    is a value out of fold, which costs nothing

From one C to the next larger one the boxes grow and alphas stay where they are, which is feasible. That
takes far fewer steps than online learners make who begin with nothing, and kernel values are those of one fit.

Steps end when the duality gap is below what LASVM-G asks for (equation (8) of the LASVM-NC paper), or a share of that.
"""

import numpy as np

from frugalsvm.compiling.functions import entry, larger, smaller
from frugalsvm.core.blocks import is_of_products, row_norms, sum_rows
from frugalsvm.core.kernels import kernel_block, self_value
from frugalsvm.dual.duality_gap import gap_of, gap_target, sum_up
from frugalsvm.dual.lasvm_nc import HINGE_LOSS, LASVMNC
from frugalsvm.dual.online import new_solver, new_work, solver_of
from frugalsvm.dual.state import UNKNOWN
from frugalsvm.dual.steps import step_on_worst

BLOCK_ROWS = 256
MOST_STEPS = 10**9
SHARE_OF_GAP = 0.1  # of the gap that LASVM-G leaves


def out_of_fold_values(kernel, X, labels, weights, all_C, folds, cache_bytes, *, tol=1e-3, share=SHARE_OF_GAP):
    """Decision values of rows by machines that have not learned them, for each C.

    Parameters
    ----------
    kernel : NamedTuple
    X : ndarray or CSR of shape (n_rows, n_features)
        As the kernel sees them.
    labels : ndarray of shape (n_outputs, n_rows)
        +1 and -1.
    weights : ndarray of shape (n_rows,) or None
    all_C : list of float
        In increasing order.
    folds : ndarray of int of shape (n_rows,)
        The fold of each row, from 0 on; rows of fold -1 are learned always, and have no values.
    cache_bytes : int
        For kernel values.
    tol : float, default=1e-3
        Violations of the optimality conditions below this are left alone.
    share : float, default=0.1
        Of the duality gap that LASVM-G would leave.

    Returns
    -------
    ndarray of shape (n_C, n_outputs, n_rows)
    """
    n_folds, (n_outputs, n_rows) = int(folds.max()) + 1, labels.shape
    solver = _all_members(kernel, X, np.tile(labels, (n_folds, 1)), cache_bytes)
    state, cache = solver
    is_learned = np.repeat(folds != np.arange(n_folds)[:, None], n_outputs, axis=0)
    boxes = np.where(is_learned, np.tile(labels, (n_folds, 1)), 0.0) * (1.0 if weights is None else weights)
    output = n_outputs * np.maximum(folds, 0)  # the first one of a row's fold
    found = np.zeros((len(all_C), n_outputs, n_rows))
    for k, C in enumerate(all_C):
        _set_boxes(kernel, C * boxes, state)
        learner = LASVMNC(kernel, float(C), HINGE_LOSS, -1.0, 0, float(tol), True, 0, 0, 0)
        _settle(learner, float(share), MOST_STEPS, state, cache, new_work(state))
        for o in range(n_outputs):
            found[k, o] = labels[o] - state.gradient[output + o, np.arange(n_rows)]
    return found


def _all_members(kernel, X, labels, cache_bytes):
    """A solver whose slots are all rows, with coefficients of zero; all kernel values are in its cache, if they fit."""
    n_rows, n_features = X.shape
    solver = new_solver(n_features, len(labels), X.dtype, cache_bytes, n_slots=n_rows)
    working_set = solver.state.working_set
    working_set.rows[:n_rows] = X if isinstance(X, np.ndarray) else X.toarray()
    working_set.norms[:n_rows] = row_norms(kernel, working_set.rows[:n_rows])
    working_set.counts[0]["n_slots"] = n_rows
    solver.state.labels[:, :n_rows] = solver.state.gradient[:, :n_rows] = labels
    solver.state.bound[:, :n_rows] = 1.0  # members: their boxes come later
    solver = solver_of(solver.state, cache_bytes, solver.cache.buffer)
    if len(solver.cache.slot) >= n_rows:
        _fill(kernel, X, working_set.norms[:n_rows], solver.cache)
    return solver


def _fill(kernel, X, norms, cache):
    """Write all kernel values of the rows to a cache that has room for them."""
    n_rows = X.shape[0]
    is_dense, out = isinstance(X, np.ndarray), np.empty((BLOCK_ROWS, n_rows), X.dtype)
    for start in range(0, n_rows, BLOCK_ROWS):
        block = slice(start, min(start + BLOCK_ROWS, n_rows))
        part = X[block]
        if is_of_products(kernel):
            products = part @ X.T if is_dense else (part @ X.T).toarray()
            kernel_block(kernel, np.ascontiguousarray(products), norms, norms[block], out[: part.shape[0]])
        else:
            sum_rows(kernel, part, X if is_dense else X.toarray(), out[: part.shape[0]])
        cache.values[block, :n_rows] = out[: part.shape[0]]
    everyone = np.arange(n_rows)
    cache.place[:n_rows] = cache.slot[:n_rows] = everyone
    cache.values[everyone, everyone] = _own_values(kernel, norms)
    cache.synced[:n_rows] = cache.state[0]["n_logged"]


def _own_values(kernel, norms):
    out = np.empty(norms.size, norms.dtype)
    _write_own_values(kernel, norms, out)
    return out


@entry
def _write_own_values(kernel, norms, out):
    """Rounding would show in values of products."""
    for k in range(norms.size):
        out[k] = self_value(kernel, norms[k])


@entry
def _set_boxes(kernel, boxes, state):
    """Give all outputs boxes from 0 to ``boxes`` (C times weight times label, 0 for rows that are left out)."""
    coef, norms, n = state.working_set.coef, state.working_set.norms, boxes.shape[1]
    for c in range(boxes.shape[0]):
        for k in range(n):
            box, alpha = boxes[c, k], coef[c, k]
            can_move = self_value(kernel, norms[k]) > 0.0
            state.bound[c, k] = box
            state.up[c, k] = larger(box, 0.0) - alpha if can_move else 0.0
            state.down[c, k] = alpha - smaller(box, 0.0) if can_move else 0.0
        sum_up(state.gradient, state.bound, state.labels, c, n, state.sums)
        state.sums[c]["worst"] = UNKNOWN


@entry
def _settle(learner, share, max_steps, state, cache, work):
    """REPROCESS until the gap of every output is small, or no violation above tau is left."""
    n_steps = 0
    for c in range(state.bound.shape[0]):
        target = share * gap_target(state, c, learner.C)
        while gap_of(state, c) > target and n_steps < max_steps:
            if not step_on_worst(learner.kernel, learner.tau, learner.pairs, state, cache, c, work):
                break
            n_steps += 1
            if gap_of(state, c) <= target:  # which was that of an earlier model
                target = share * gap_target(state, c, learner.C)
    return n_steps
