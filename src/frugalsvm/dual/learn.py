"""Driving a dual learner from Python: blocks, growth of the store, the kernel cache."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from frugalsvm._stored import stored
from frugalsvm.core.cache import KernelRows, new_rows, resized_rows
from frugalsvm.core.sources import current_columns, new_source, rows_at_a_time
from frugalsvm.dual.online import finish, run
from frugalsvm.dual.state import Dual, new_dual, resized_dual

__all__ = ["DualWork", "Machine", "finished", "learn", "machine_of", "new_machine", "new_work", "remembered"]

FIRST_SLOTS = 1024
MANY_SLOTS = 4096
MANY_ROWS = 1000
DENSE = 0.25  # part of the values other than zero above which sparse rows do not pay
FEW_FEATURES = 16  # likewise, up to so many features
BLOCK_ROWS = 32  # shorter than for budgeted learners: the products with thousands of members should stay in cache


class DualWork(NamedTuple):
    kernel_row: np.ndarray  # kernel values of the example at hand with the slots
    gains: np.ndarray
    sizes: np.ndarray  # float64


@stored("dual-machine")
class Machine(NamedTuple):
    """The state of a learner and its cache of kernel rows."""

    dual: Dual
    rows: KernelRows


def new_work(dual):
    capacity, dtype = dual.members.rows.shape[0], dual.members.rows.dtype
    return DualWork(np.zeros(capacity, dtype), np.zeros(capacity, dtype), np.zeros(capacity))


def new_machine(n_features, n_outputs, dtype, cache_bytes, n_slots=FIRST_SLOTS):
    dual = new_dual(n_slots, n_features, n_outputs, dtype)
    return Machine(dual, new_rows(cache_bytes, dual.members.rows.shape[0], dtype))


def machine_of(dual, cache_bytes):
    """A machine with the state of another one, and an empty cache."""
    n = int(dual.members.counts[0]["n_slots"])
    filled = np.flatnonzero((dual.bound[:, :n] != 0.0).any(axis=0))
    return Machine(dual, new_rows(cache_bytes, dual.members.rows.shape[0], dual.members.rows.dtype, filled=filled))


def grown(machine):
    """A machine with room for more members: twice as many, or a quarter more where that is much memory."""
    capacity = machine.dual.members.rows.shape[0]
    capacity = capacity * 2 if capacity < MANY_SLOTS else capacity * 5 // 4
    dual = resized_dual(machine.dual, capacity)
    return Machine(dual, resized_rows(machine.rows, dual.members.rows.shape[0]))


def learn(learner, machine, X, labels, boxes, order=None, slot_of_row=None):
    """Learn the rows of ``X`` in ``order``; returns the machine, a new one if it had to grow.

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
        dual, rows = machine
        source = new_source(X, order, dual.members, BLOCK_ROWS, stays=True)
        block_rows = rows_at_a_time(source)
        work = new_work(dual)
        rows = rows._replace(columns=current_columns(source))
        position = run(learner, source, labels, boxes, order, slot_of_row, position, block_rows, dual, rows, work)
        if position == order.size:
            return machine
        machine = grown(machine)


def _is_sparse(X):
    """Whether most values are zero, so that members kept feature by feature need less work than matrix products."""
    return X.shape[1] > FEW_FEATURES and np.count_nonzero(X) <= DENSE * X.size


def remembered(n_rows):
    """For ``learn``: no row is a member yet."""
    return np.full(n_rows, -1, np.int64)


def finished(learner, machine, tol, max_steps=10**9):
    """Make all steps that are left until no violation is above ``tol``; returns the number of steps."""
    return finish(learner, float(tol), max_steps, machine.dual, machine.rows, new_work(machine.dual))
