"""Online learning in the dual: what a learner does with an example, and the loop that shows it one after the other.

A learner is a NamedTuple of parameters (``lasvm.py``, ``lasvm_nc.py``, ``tracking.py``) with a body of ``visit``, which
learns an example (PROCESS it, then REPROCESS as often as the algorithm asks for), and one of ``reprocess``, which is a
step on the members; FINISH makes such steps until no violation is left. Around the compiled loop are the blocks of
examples, the growth of the arrays, and the cache of kernel rows.
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from frugalsvm._stored import stored
from frugalsvm.compiling.functions import entry, generic, separate, smaller
from frugalsvm.core.cache import KernelRows, new_rows, resized_rows
from frugalsvm.core.expansion import whole_groups
from frugalsvm.core.kernels import kernel_row
from frugalsvm.core.lookahead import SHORT_BLOCK_ROWS, example_norm, load, products_row
from frugalsvm.core.sources import current_columns, new_source, rows_at_a_time
from frugalsvm.dual.state import DualState, new_state, resized_state
from frugalsvm.dual.working_set import has_room, release

FIRST_SLOTS = 1024
MANY_SLOTS = 4096
MANY_ROWS = 1000
DENSE = 0.25  # part of the values other than zero above which sparse rows do not pay
FEW_FEATURES = 16  # likewise, up to this number of features


# --- what a learner does ------------------------------------------------------------------------------------


@generic
def visit(learner, source, i, label, box, row, known, state, cache, work):
    """Show an example to the learner; ``known`` is its slot if it is a member already, or -1."""


@generic
def reprocess(learner, tau, state, cache, c, work):
    """One step of REPROCESS for output c; returns whether there was a violation above tau."""


@separate
def newcomers_row(kernel, source, i, state, work):
    """Leave the kernel values of example i with all slots in the workspace."""
    working_set = state.working_set
    n = working_set.counts[0]["n_slots"]
    begin = products_row(source, i, working_set)
    kernel_row(
        kernel, source.products[begin:], working_set.norms, example_norm(source, i), work.kernel_row, whole_groups(n)
    )
    working_set.counts[0]["n_kernel_evals"] += n
    working_set.counts[0]["n_seen"] += 1


# --- the loop -----------------------------------------------------------------------------------------------


@separate
def _fits(state, source):
    """Whether the loaded block has room for one more member."""
    return state.pool[0]["n_free"] > 0 or state.working_set.counts[0]["n_slots"] < source.state[0]["room"]


@separate
def _slot_of(state, slot_of_row, row):
    """The slot of an example of an earlier pass, or -1."""
    if slot_of_row.size == 0:
        return -1
    slot = slot_of_row[row]
    return slot if slot >= 0 and state.row[slot] == row else -1


@entry
def _run(learner, source, labels, boxes, ids, slot_of_row, start, block_rows, state, cache, work):
    """Learn the examples from position ``start``; returns the position reached: the end, unless there is no free slot.

    ``ids`` are the numbers of the examples' rows. Where there is to be a later pass, ``slot_of_row`` remembers their
    slots.
    """
    while start < labels.size and has_room(state):
        stop = start + load(
            source, start, smaller(block_rows - start % block_rows, labels.size - start), state.working_set
        )
        first = start
        while start < stop and has_room(state) and _fits(state, source):
            if boxes[start] > 0.0:
                row = ids[start]
                known = _slot_of(state, slot_of_row, row)
                state.pool[0]["current"] = known
                visit(learner, source, start - first, labels[start], boxes[start], row, known, state, cache, work)
                slot = state.pool[0]["current"]
                state.pool[0]["current"] = -1
                if slot >= 0:
                    release(state, cache, slot)
                    if slot_of_row.size > 0:
                        slot_of_row[row] = slot
            start += 1
    return start


@entry
def _finish(learner, tol, max_steps, state, cache, work):
    """REPROCESS until no violation is above ``tol``; returns the number of steps."""
    n_steps = 0
    for c in range(state.bound.shape[0]):
        while n_steps < max_steps and reprocess(learner, tol, state, cache, c, work):
            n_steps += 1
    return n_steps


# --- driving it from Python ---------------------------------------------------------------------------------


class Work(NamedTuple):
    kernel_row: np.ndarray  # kernel values of the example at hand with the slots
    gains: np.ndarray
    sizes: np.ndarray  # float64


_RENAMED = {"dual": "state", "rows": "cache"}


@stored("dual-machine", earlier=lambda fields: {_RENAMED.get(name, name): each for name, each in fields.items()})
class DualSolver(NamedTuple):
    """The state of a learner and its cache of kernel rows."""

    state: DualState
    cache: KernelRows


def new_work(state):
    capacity, dtype = state.working_set.rows.shape[0], state.working_set.rows.dtype
    return Work(np.zeros(capacity, dtype), np.zeros(capacity, dtype), np.zeros(capacity))


def new_solver(n_features, n_outputs, dtype, cache_bytes, n_slots=FIRST_SLOTS):
    state = new_state(n_slots, n_features, n_outputs, dtype)
    return DualSolver(state, new_rows(cache_bytes, state.working_set.rows.shape[0], dtype))


def solver_of(state, cache_bytes, buffer=None):
    """A solver with the state of another one, and an empty cache, in the memory of another cache if there is one."""
    n = int(state.working_set.counts[0]["n_slots"])
    filled = np.flatnonzero((state.bound[:, :n] != 0.0).any(axis=0))
    capacity, dtype = state.working_set.rows.shape[0], state.working_set.rows.dtype
    return DualSolver(state, new_rows(cache_bytes, capacity, dtype, buffer, filled))


def grown(solver):
    """A solver with room for more members: twice as many, or a quarter more where that is much memory."""
    capacity = solver.state.working_set.rows.shape[0]
    capacity = capacity * 2 if capacity < MANY_SLOTS else capacity * 5 // 4
    state = resized_state(solver.state, capacity)
    return DualSolver(state, resized_rows(solver.cache, state.working_set.rows.shape[0]))


def learn(learner, solver, X, labels, boxes, order=None, slot_of_row=None):
    """Learn the rows of ``X`` in ``order``; returns the solver, a new one if it had to grow.

    ``boxes`` are the sizes of the boxes, C times a weight. For several passes over the same rows, pass the same
    ``slot_of_row`` (``remembered(n_rows)``) every time.
    """
    order = np.arange(X.shape[0]) if order is None else order
    if isinstance(X, np.ndarray) and order.size >= MANY_ROWS and _is_sparse(X[order[:MANY_ROWS]]):
        X = csr_array(X)
    labels, boxes = labels[order], boxes[order]
    slot_of_row = np.empty(0, np.int64) if slot_of_row is None else slot_of_row
    position = 0
    while True:
        state, cache = solver
        source = new_source(learner.kernel, X, order, state.working_set, SHORT_BLOCK_ROWS, stays=True)
        block_rows = rows_at_a_time(source)
        work = new_work(state)
        cache = cache._replace(columns=current_columns(source))
        position = _run(learner, source, labels, boxes, order, slot_of_row, position, block_rows, state, cache, work)
        if position == order.size:
            return solver
        solver = grown(solver)


def _is_sparse(X):
    """Whether most values are zero, so that members kept feature by feature need less work than matrix products."""
    return X.shape[1] > FEW_FEATURES and np.count_nonzero(X) <= DENSE * X.size


def remembered(n_rows):
    """For ``learn``: no row is a member yet."""
    return np.full(n_rows, -1, np.int64)


def finish(learner, solver, tol, max_steps=10**9):
    """Make all steps that are left until no violation is above ``tol``; returns the number of steps."""
    return _finish(learner, float(tol), max_steps, solver.state, solver.cache, new_work(solver.state))
