"""Exact incremental and decremental learning: one example more or less, and the SVM is optimal again.

The solver is in ``active_set.py``. Here is what happens around it: points come from the look-ahead engine, take slots
and free them; the arrays grow.
"""

import numpy as np

from frugalsvm._compile import entry, inlined
from frugalsvm.core.cache import note_insertion, note_removal
from frugalsvm.core.expansion import whole_groups
from frugalsvm.core.fastmath import float64_sum
from frugalsvm.core.kernels import kernel_row, self_value
from frugalsvm.core.lookahead import example_norm, load, place_example, products_row
from frugalsvm.core.sources import new_source, rows_at_a_time
from frugalsvm.exact.active_set import DONE, FULL, STUCK, TOLERANCE, repair, withdraw
from frugalsvm.exact.conditions import optimal_bias
from frugalsvm.exact.machine import (
    BLOCK_ROWS,
    Machine,
    capacity_of,
    doubled,
    enlarged,
    machine_of,
    model_arrays,
    new_machine,
    saved,
)
from frugalsvm.exact.passes import rescale
from frugalsvm.exact.state import HIGH, LEAST, LOW, MOST, N_FREE, N_SINCE, STATUS, B, G, set_ends, stand, with_margin

__all__ = [
    "Machine",
    "change_C",
    "learn",
    "left_out",
    "machine_of",
    "new_machine",
    "restored",
    "saved",
    "unlearn",
]

REFRESH = 5000  # changes after which rounding errors are removed


def learn(kernel, machine, X, labels, boxes, slots, next_room=doubled):
    """Learn the rows of ``X``, +1 and -1 in ``labels``; their slots go to ``slots``. Returns the machine.

    ``boxes`` are the sizes of the boxes, C times a weight. The rows are taken in order. Where the margin set has no
    room, ``next_room`` says how much it gets next.
    """
    order = np.arange(X.shape[0])
    position = 0
    while position < order.size:
        if not _has_room(machine.exact):
            machine = enlarged(machine, 2 * capacity_of(machine))
        exact, rows = machine
        source = new_source(X, order, exact.points, BLOCK_ROWS, stays=True)
        work = np.zeros(capacity_of(machine))
        block_rows = rows_at_a_time(source)
        position = _run(kernel, source, labels, boxes, slots, position, block_rows, exact, rows, work)
        machine = _completed(kernel, machine, next_room)
    return machine


def unlearn(kernel, machine, slot, next_room=doubled):
    """Take a point out. Returns the machine."""
    _take_out(kernel, *machine, slot)
    machine = _completed(kernel, machine, next_room)
    _free(*machine, slot)
    return machine


def left_out(kernel, machine, slot, next_room=doubled):
    """The decision value of a point without it; the machine stays as it is."""
    exact = machine.exact
    if exact.points.coef[0, slot] == 0.0:
        return float(exact.of[G, slot]) + optimal_bias(exact, without=slot)
    arrays = model_arrays(exact, factor=True)
    before = [array.copy() for array in arrays]
    try:
        _take_out(kernel, *machine, slot)
        without = _completed(kernel, machine, next_room).exact
        return float(without.of[G, slot]) + optimal_bias(without)
    finally:
        for array, old in zip(arrays, before, strict=True):
            array[...] = old


def change_C(kernel, machine, factor, next_room=doubled):
    """All boxes times ``factor``. Returns the machine."""
    _change(kernel, *machine, float(factor))
    return _completed(kernel, machine, next_room)


def restored(kernel, machine, before):
    """The machine that was ``saved`` before, whatever has happened to it since, up to rounding."""
    for array, old in zip(model_arrays(before.exact, factor=False), before.arrays, strict=True):
        array[...] = old
    machine = machine_of(before.exact, 0, machine.rows.buffer)
    machine.exact.counts[N_SINCE] = REFRESH
    _resume(kernel, *machine)
    return _completed(kernel, machine, doubled)


def _completed(kernel, machine, next_room):
    """Go on where the margin set had no room."""
    while machine.exact.counts[STATUS] != DONE:
        if machine.exact.counts[STATUS] == FULL:
            room = next_room(machine.exact.margin.size)
            machine = Machine(with_margin(machine.exact, room), machine.rows)
        elif machine.exact.counts[STATUS] == STUCK and machine.exact.counts[N_SINCE] == 0:
            raise ArithmeticError("The solver does not get on: the kernel matrix may not be positive definite.")
        _resume(kernel, *machine)
    return machine


def _has_room(exact):
    return exact.counts[N_FREE] > 0 or exact.points.counts[0]["n_slots"] < exact.points.rows.shape[0]


@inlined
def _take_slot(exact):
    """A free slot, or -1."""
    points = exact.points
    if exact.counts[N_FREE] > 0:
        exact.counts[N_FREE] -= 1
        return exact.free[exact.counts[N_FREE]]
    if points.counts[0]["n_slots"] == points.rows.shape[0]:
        return -1
    points.counts[0]["n_slots"] += 1
    return points.counts[0]["n_slots"] - 1


@inlined
def _visit(kernel, source, i, label, box, exact, rows, kernel_values):
    """Learn an example; returns its slot, or -1 if there is none free."""
    points = exact.points
    n = points.counts[0]["n_slots"]
    slot = _take_slot(exact)
    if slot < 0:
        return slot
    begin = products_row(source, i, points)
    norm = example_norm(source, i)
    kernel_row(kernel, source.products[begin:], points.norms, norm, kernel_values, whole_groups(n))
    points.counts[0]["n_kernel_evals"] += n
    points.counts[0]["n_seen"] += 1
    exact.of[G, slot] = float64_sum(points.coef, 0, kernel_values, n)
    place_example(source, i, points, slot)
    points.norms[slot] = norm
    kernel_values[slot] = self_value(kernel, norm)
    note_insertion(rows, slot, kernel_values, points.counts[0]["n_slots"], 0.0)
    set_ends(exact, slot, box, 1.0 if label > 0 else 0.0, 0.0 if label > 0 else 1.0)
    stand(exact, slot, LOW if label > 0 else HIGH)
    f = exact.of[G, slot] + exact.scalars[B]
    if max(exact.of[LEAST, slot] - f, f - exact.of[MOST, slot]) > TOLERANCE:
        points.counts[0]["n_updates"] += 1
        repair(kernel, exact, rows, REFRESH)
    return slot


@entry
def _run(kernel, source, labels, boxes, slots, start, block_rows, exact, rows, kernel_values):
    """Learn the examples from position ``start``; returns the position reached, before the end if there is no room."""
    points = exact.points
    while start < labels.size:
        stop = start + load(source, start, min(block_rows - start % block_rows, labels.size - start), points)
        first = start
        while start < stop and (exact.counts[N_FREE] > 0 or points.counts[0]["n_slots"] < source.state[0]["room"]):
            slot = _visit(kernel, source, start - first, labels[start], boxes[start], exact, rows, kernel_values)
            slots[start] = slot
            start += 1
            if exact.counts[STATUS] != DONE:
                return start
        if exact.counts[N_FREE] == 0 and points.counts[0]["n_slots"] == points.rows.shape[0]:
            return start
    return start


@entry
def _take_out(kernel, exact, rows, slot):
    withdraw(kernel, exact, rows, slot)
    repair(kernel, exact, rows, REFRESH)


@entry
def _change(kernel, exact, rows, factor):
    rescale(exact, factor)
    repair(kernel, exact, rows, REFRESH)


@entry
def _resume(kernel, exact, rows):
    repair(kernel, exact, rows, REFRESH)


@entry
def _free(exact, rows, slot):
    note_removal(rows, slot)
    exact.free[exact.counts[N_FREE]] = slot
    exact.counts[N_FREE] += 1
