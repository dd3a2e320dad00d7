"""The phases in which the system of one cell is solved, and what each of their parts computes.

Rows are gathered, ``K + D`` is filled, factored (by `core/sweep.py`, if threads are to share that), right sides are
solved for, and coefficients and leave-one-out errors are kept. `solver.py` says which thread does which part, and when.
"""

import numpy as np

from frugalsvm.compiling.functions import compiled, inlined
from frugalsvm.core.factor import invert_factor
from frugalsvm.core.kernels import pairing_of, self_value, value_error, values_in_row
from frugalsvm.core.pairing import block_pairs, row_norm
from frugalsvm.core.sweep import (
    is_first_block_inverted,
    is_stage_part_done,
    multiply_block,
    multiply_block_transposed,
    n_blocks_of,
    n_stage_parts,
)

# Root mean square residual, of right sides of about 1, from which on a cell is solved again in float64. So it is where
# kernel values of rows that are nearly the same have larger errors than the regularization can even out.
LARGEST_RESIDUAL = 1e-3
SWEEP_BLOCK = 256  # rows
BLOCK_ROWS = 64  # whose pairs with others are computed at a time
PANEL_ROWS = 2048  # of a cell that these others are: what is computed stays in the cache
PADDING = 16
_CENTER, _GATHER, _COMPARE, _FILL, _SIGNS, _FACTOR, BEFORE = range(7)  # phases, and how many they are
_RIGHT, _FORWARD, _BACKWARD, _CHECK, _SQUARES, _KEEP, AFTER = range(7)  # those after the sweep, if there is one


@compiled
def parts_of_phase(n, phase, n_stages):
    """How many parts a phase has."""
    if phase == _GATHER:
        return (n + PANEL_ROWS - 1) // PANEL_ROWS
    if phase == _FILL:
        return (n + BLOCK_ROWS - 1) // BLOCK_ROWS
    if phase == _SIGNS:
        return n_blocks_of(n, SWEEP_BLOCK)
    if phase < BEFORE:
        return 1
    phase -= BEFORE
    if phase < n_stages:
        return n_stage_parts(n, SWEEP_BLOCK, phase)
    phase -= n_stages
    return n_blocks_of(n, SWEEP_BLOCK) if phase in (_FORWARD, _BACKWARD, _SQUARES) else 1


@compiled
def do_part(task, system, room, phase, part):
    cell, n_stages, starts = system.plan[0], system.plan[2], task.cells.tree.starts
    start, n = starts[cell], starts[cell + 1] - starts[cell]
    if phase >= BEFORE + n_stages:
        _finish(task, system, room, start, n, phase - BEFORE - n_stages, part)
    elif phase >= BEFORE:
        matrix, stage = system.matrix, phase - BEFORE
        if not is_stage_part_done(task.library, matrix, n, SWEEP_BLOCK, system.panel, stage, part, room.integers):
            system.is_too_coarse[0] = 1
    else:
        _prepare(task, system, room, start, n, phase, part)


@compiled
def _prepare(task, system, room, start, n, phase, part):
    """From rows to the factor of their matrix, or of its first block."""
    cells, cell, rows = task.cells, system.plan[0], task.examples.rows
    if phase == _CENTER:
        if task.is_centered:
            _take_center(rows, cells.tree.members, start, n, cells.centers, cell)
    elif phase == _GATHER:
        _gather(task, system, n, part * PANEL_ROWS)
    elif phase == _COMPARE:
        if task.ridge < value_error(task.kernel, _mean(system.norms, n)) * _mean_weight(task, start, n):
            system.is_too_coarse[0] = 1
    elif phase == _FILL:
        _fill_rows(task, system, room, start, n, part * BLOCK_ROWS)
    elif phase == _SIGNS:
        _multiply_by_signs(system, n, part * SWEEP_BLOCK, min((part + 1) * SWEEP_BLOCK, n))
    elif not _is_begun(task, system, room, n):
        system.is_too_coarse[0] = 1


@compiled
def _finish(task, system, room, start, n, phase, part):
    """From the inverse factor to what is kept."""
    n_right, library, last = task.examples.targets.shape[0] + 1, task.library, n_blocks_of(n, SWEEP_BLOCK) - 1
    right, half, integers = system.right, system.half, room.integers
    if phase == _RIGHT:
        _take_right(task, system, start, n)
    elif phase == _FORWARD:  # those that take longest come first
        multiply_block(library, system.matrix, n, SWEEP_BLOCK, right, n_right, last - part, half, integers)
    elif phase == _BACKWARD:
        multiply_block_transposed(library, system.matrix, n, SWEEP_BLOCK, half, n_right, part, right, integers)
    elif phase == _CHECK:
        if not _are_accurate(system, n, n_right):
            system.is_too_coarse[0] = 1
    elif phase == _SQUARES:
        _take_squares(system, n, part * SWEEP_BLOCK, min((part + 1) * SWEEP_BLOCK, n))
    else:
        _keep(task, system, start, n)


@inlined
def has_mean_only(n, size):
    """Whether the machine of a cell is a constant: its rows are all the same, or none was kept."""
    return n > size or n <= 1


@compiled
def take_mean(task, cell, start, n):
    """The mean of the targets; that of all rows, which is about zero, is what there would be without the only row."""
    targets, weights, members = task.examples.targets, task.examples.weights, task.cells.tree.members
    for o in range(targets.shape[0]):
        total, weight = 0.0, 0.0
        for i in range(start, start + n):
            own = weights[members[i]] if weights.size > 0 else 1.0
            total += own * targets[o, members[i]]
            weight += own
        task.cells.intercepts[cell, o] = total / weight
        for i in range(start, start + n):
            row = members[i]
            own = weights[row] if weights.size > 0 else 1.0
            without = (total - own * targets[o, row]) / (weight - own) if n > 1 else 0.0
            task.errors[o, row] += targets[o, row] - without


# --- rows and their matrix ----------------------------------------------------------------------------------


@compiled
def _take_center(rows, members, start, n, centers, cell):
    for f in range(rows.shape[1]):
        centers[cell, f] = 0.0
    for i in range(start, start + n):
        for f in range(rows.shape[1]):
            centers[cell, f] += rows[members[i], f]
    for f in range(rows.shape[1]):
        centers[cell, f] /= n


@compiled
def _gather(task, system, n, first):
    """The rows of a panel."""
    cell, rows, count = system.plan[0], task.examples.rows, min(PANEL_ROWS, n - first)
    columns = system.columns[first * rows.shape[1] :]
    gather_rows(task.kernel, rows, task.cells, cell, first, count, system.rows[first:], columns, system.norms[first:])


@compiled
def _mean(values, n):
    total = 0.0
    for i in range(n):
        total += np.float64(values[i])
    return values.dtype.type(total / n)


@compiled
def _mean_weight(task, start, n):
    weights, total = task.examples.weights, 0.0
    if weights.size == 0:
        return 1.0
    for i in range(start, start + n):
        total += weights[task.cells.tree.members[i]]
    return total / n


@compiled
def _fill_rows(task, system, room, start, n, first):
    """Rows of a block of ``K + D``, from the diagonal on."""
    last = min(first + BLOCK_ROWS, n)
    for panel in range(first // PANEL_ROWS * PANEL_ROWS, n, PANEL_ROWS):
        _fill_panel(task, system, room, n, first, last, panel)
    matrix, weights = system.matrix[: n * n].reshape(n, n), task.examples.weights
    for i in range(first, last):
        weight = weights[task.cells.tree.members[start + i]] if weights.size > 0 else 1.0
        matrix[i, i] = self_value(task.kernel, system.norms[i]) + task.ridge / weight


@compiled
def _fill_panel(task, system, room, n, first, last, panel):
    end, norms, matrix = min(panel + PANEL_ROWS, n), system.norms, system.matrix[: n * n].reshape(n, n)
    stride, columns = padded_size(end - panel), system.columns[panel * system.rows.shape[1] :]
    block_pairs(pairing_of(task.kernel), system.rows[first:last], last - first, columns, stride, room.products)
    for i in range(first, last):
        begin = max(i, panel)
        products = room.products[(i - first) * stride + begin - panel :]
        values_in_row(task.kernel, products, norms[begin:end], norms[i], matrix[i, begin:end])


@compiled
def _is_begun(task, system, room, n):
    """Whether the matrix, or its first block where the others are swept, could be factored."""
    if system.plan[2] > 0:
        return is_first_block_inverted(task.library, system.matrix, n, SWEEP_BLOCK, room.integers)
    return invert_factor(task.library, system.matrix, n, n, room.integers)


# --- solutions ----------------------------------------------------------------------------------------------


@compiled
def _take_right(task, system, start, n):
    """Right sides, and their products with z."""
    targets, right, n_outputs = task.examples.targets, system.right, task.examples.targets.shape[0]
    for o in range(n_outputs):
        for i in range(n):
            right[o * n + i] = targets[o, task.cells.tree.members[start + i]]
    for i in range(n):
        right[n_outputs * n + i] = 1.0
    for o in range(n_outputs + 1):
        system.checks[o] = _product(system.signs, right[o * n :], n)


# A vector z of random signs tells how well systems are solved: z'(y - (K + D) a) is, on average over such vectors, as
# large as the residual. The product (K + D) z is taken before the matrix is overwritten.


@compiled
def _multiply_by_signs(system, n, first, last):
    """Some values: what is right of the diagonal in their rows, and above it in their columns."""
    matrix, values, signs = system.matrix[: n * n].reshape(n, n), system.values, system.signs
    for i in range(first, last):
        values[i] = _row_product(matrix[i, i:], signs[i:])
    for i in range(last):
        begin = max(i + 1, first)
        _add_row(matrix[i, begin:last], signs[i], values[begin:])


@compiled
def _row_product(row, others):
    total = row.dtype.type(0)
    for j in range(row.size):
        total += row[j] * others[j]
    return total


@compiled
def _add_row(row, factor, values):
    for j in range(row.size):
        values[j] += row[j] * factor


@compiled
def _product(a, b, n):
    total = 0.0
    for i in range(n):
        total += np.float64(a[i]) * np.float64(b[i])
    return total


@compiled
def _are_accurate(system, n, n_right):
    for o in range(n_right):
        error = abs(system.checks[o] - _product(system.values, system.right[o * n :], n))
        if not error <= LARGEST_RESIDUAL * np.sqrt(n):
            return False
    return True


# --- what is kept -------------------------------------------------------------------------------------------


@compiled
def _take_squares(system, n, first, last):
    """Some of the diagonal of W."""
    matrix = system.matrix[: n * n].reshape(n, n)
    for i in range(first, last):
        system.diagonal[i] = _row_product(matrix[i, i:], matrix[i, i:])


@compiled
def _keep(task, system, start, n):
    """Coefficients, intercepts and leave-one-out errors, from solutions and the diagonal of W."""
    n_outputs, right, members, cell = (
        task.examples.targets.shape[0],
        system.right,
        task.cells.tree.members,
        system.plan[0],
    )
    u, total = right[n_outputs * n :], 0.0
    for i in range(n):
        total += np.float64(u[i])
    for i in range(n):
        system.diagonal[i] -= np.float64(u[i]) ** 2 / total
    for o in range(n_outputs):
        own = right[o * n :]
        intercept = 0.0
        for i in range(n):
            intercept += np.float64(own[i])
        intercept /= total
        task.cells.intercepts[cell, o] = intercept
        for i in range(n):
            value = np.float64(own[i]) - intercept * np.float64(u[i])
            task.cells.coef[o, start + i] = value
            task.errors[o, members[start + i]] += value / system.diagonal[i]
    task.left[cell] = 0


# --- rows of a cell, one after the other in memory -------------------------------------------------------------------


@inlined
def padded_size(n):
    """How far it is from one feature of n rows to the next."""
    return (n + PADDING - 1) // PADDING * PADDING


@compiled
def gather_rows(kernel, rows, cells, cell, first, n, own, columns, norms):
    """Copy n rows of a cell, relative to its center, from the first one on: also feature by feature, padded."""
    start, centers, members = cells.tree.starts[cell] + first, cells.centers, cells.tree.members
    stride = padded_size(n)
    for i in range(n):
        row = members[start + i]
        for f in range(rows.shape[1]):
            value = np.float64(rows[row, f]) - centers[cell, f]
            own[i, f] = value
            columns[f * stride + i] = value
    for f in range(rows.shape[1]):
        for i in range(n, stride):
            columns[f * stride + i] = 0.0
    for i in range(n):
        norms[i] = row_norm(pairing_of(kernel), own, i)
