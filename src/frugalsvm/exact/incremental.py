"""Exact incremental and decremental learning: one example more or less, and the SVM is optimal again.

The solver is in ``active_set.py``. Here is what happens around it: points come from the look-ahead engine, take slots
and free them; the arrays grow.
"""

import numpy as np

from frugalsvm.compiling.functions import entry, larger, separate, smaller
from frugalsvm.core.cache import note_insertion, note_removal
from frugalsvm.core.expansion import whole_groups
from frugalsvm.core.fastmath import float64_sum
from frugalsvm.core.kernels import kernel_row, self_value
from frugalsvm.core.lookahead import SHORT_BLOCK_ROWS, example_norm, load, place_example, products_row
from frugalsvm.core.sources import new_source, rows_at_a_time
from frugalsvm.exact.active_set import DONE, FULL, STUCK, TOLERANCE, repair, withdraw
from frugalsvm.exact.kkt import optimal_bias
from frugalsvm.exact.passes import rescale
from frugalsvm.exact.solver import (
    ExactSolver,
    capacity_of,
    doubled,
    enlarged,
    model_arrays,
    solver_of,
)
from frugalsvm.exact.state import HIGH, LOW, set_box, set_zone, with_margin

REFRESH = 5000  # changes after which rounding errors are removed


def learn(kernel, solver, X, labels, boxes, slots, next_room=doubled):
    """Learn the rows of ``X``, +1 and -1 in ``labels``; their slots go to ``slots``. Returns the solver.

    ``boxes`` are the sizes of the boxes, C times a weight. The rows are taken in order. Where the margin set has no
    room, ``next_room`` says how much it gets next.
    """
    order = np.arange(X.shape[0])
    position, source = 0, None
    while position < order.size:
        if not _has_room(solver.state):
            solver, source = enlarged(solver, 2 * capacity_of(solver)), None
        state, cache = solver
        if source is None:
            source = new_source(kernel, X, order, state.points, SHORT_BLOCK_ROWS, stays=True)
            work, block_rows = np.zeros(capacity_of(solver)), rows_at_a_time(source)
        # Some rows at a time: in between, Ctrl-C is heard.
        some = labels[: position + SHORT_BLOCK_ROWS - position % SHORT_BLOCK_ROWS]
        position = _run(kernel, source, some, boxes, slots, position, block_rows, state, cache, work)
        solver = _completed(kernel, solver, next_room)
    return solver


def unlearn(kernel, solver, slot, next_room=doubled):
    """Take a point out. Returns the solver."""
    _take_out(kernel, *solver, slot)
    solver = _completed(kernel, solver, next_room)
    _free(*solver, slot)
    return solver


def left_out(kernel, solver, slot, next_room=doubled):
    """The decision value of a point without it; the solver stays as it is."""
    state = solver.state
    if state.points.coef[0, slot] == 0.0:
        return float(state.scores[slot]) + optimal_bias(state, without=slot)
    arrays = model_arrays(state, factor=True)
    before = [array.copy() for array in arrays]
    try:
        _take_out(kernel, *solver, slot)
        without = _completed(kernel, solver, next_room).state
        return float(without.scores[slot]) + optimal_bias(without)
    finally:
        for array, old in zip(arrays, before, strict=True):
            array[...] = old


def change_C(kernel, solver, factor, next_room=doubled):
    """All boxes times ``factor``. Returns the solver."""
    _change(kernel, *solver, float(factor))
    return _completed(kernel, solver, next_room)


def restored(kernel, solver, before):
    """The solver that was ``saved`` before, whatever has happened to it since, up to rounding."""
    for array, old in zip(model_arrays(before.state, factor=False), before.arrays, strict=True):
        array[...] = old
    solver = solver_of(before.state, 0, solver.cache.buffer)
    solver.state.counts[0]["n_since_refresh"] = REFRESH
    _resume(kernel, *solver)
    return _completed(kernel, solver, doubled)


def _completed(kernel, solver, next_room):
    """Continue where the margin set had no room."""
    while solver.state.counts[0]["status"] != DONE:
        if solver.state.counts[0]["status"] == FULL:
            room = next_room(solver.state.margin_slots.size)
            solver = ExactSolver(with_margin(solver.state, room), solver.cache)
        elif solver.state.counts[0]["status"] == STUCK and solver.state.counts[0]["n_since_refresh"] == 0:
            raise ArithmeticError("The solver makes no progress: the kernel matrix may not be positive definite.")
        _resume(kernel, *solver)
    n = solver.state.points.counts[0]["n_slots"]
    if not np.isfinite(solver.state.scores[:n].sum() + solver.state.scalars[0]["bias"]):
        raise ArithmeticError("The solver broke down: the kernel matrix is not positive semidefinite.")
    return solver


def _has_room(state):
    return state.counts[0]["n_free"] > 0 or state.points.counts[0]["n_slots"] < state.points.rows.shape[0]


@separate
def _take_slot(state):
    """A free slot, or -1."""
    points = state.points
    if state.counts[0]["n_free"] > 0:
        state.counts[0]["n_free"] -= 1
        return state.free_slots[state.counts[0]["n_free"]]
    if points.counts[0]["n_slots"] == points.rows.shape[0]:
        return -1
    points.counts[0]["n_slots"] += 1
    return points.counts[0]["n_slots"] - 1


@separate
def _visit(kernel, source, i, label, box, state, cache, kernel_values):
    """Learn an example; returns its slot, or -1 if there is none free."""
    points = state.points
    n = points.counts[0]["n_slots"]
    slot = _take_slot(state)
    if slot < 0:
        return slot
    begin = products_row(source, i, points)
    norm = example_norm(source, i)
    kernel_row(kernel, source.products[begin:], points.norms, norm, kernel_values, whole_groups(n))
    points.counts[0]["n_kernel_evals"] += n
    points.counts[0]["n_seen"] += 1
    state.scores[slot] = float64_sum(points.coef, 0, kernel_values, n)
    place_example(source, i, points, slot)
    points.norms[slot] = norm
    kernel_values[slot] = self_value(kernel, norm)
    note_insertion(cache, slot, kernel_values, points.counts[0]["n_slots"], 0.0)
    set_box(state, slot, box, 1.0 if label > 0 else 0.0, 0.0 if label > 0 else 1.0)
    set_zone(state, slot, LOW if label > 0 else HIGH)
    f = state.scores[slot] + state.scalars[0]["bias"]
    if larger(state.min_f[slot] - f, f - state.max_f[slot]) > TOLERANCE:
        points.counts[0]["n_updates"] += 1
        repair(kernel, state, cache, REFRESH)
    return slot


@entry
def _run(kernel, source, labels, boxes, slots, start, block_rows, state, cache, kernel_values):
    """Learn the examples from position ``start``; returns the position reached, before the end if there is no room."""
    points = state.points
    while start < labels.size:
        stop = start + load(source, start, smaller(block_rows - start % block_rows, labels.size - start), points)
        first = start
        while start < stop and (state.counts[0]["n_free"] > 0 or points.counts[0]["n_slots"] < source.state[0]["room"]):
            slot = _visit(kernel, source, start - first, labels[start], boxes[start], state, cache, kernel_values)
            slots[start] = slot
            start += 1
            if state.counts[0]["status"] != DONE:
                return start
        if state.counts[0]["n_free"] == 0 and points.counts[0]["n_slots"] == points.rows.shape[0]:
            return start
    return start


@entry
def _take_out(kernel, state, cache, slot):
    withdraw(kernel, state, cache, slot)
    repair(kernel, state, cache, REFRESH)


@entry
def _change(kernel, state, cache, factor):
    rescale(state, factor)
    repair(kernel, state, cache, REFRESH)


@entry
def _resume(kernel, state, cache):
    repair(kernel, state, cache, REFRESH)


@entry
def _free(state, cache, slot):
    note_removal(cache, slot)
    state.free_slots[state.counts[0]["n_free"]] = slot
    state.counts[0]["n_free"] += 1
