"""The machine of one cell with fewer rows than it learned: ridge regression on its landmarks, and exact leave-one-out.

With the kernel matrix ``K_ZZ = L L'`` of m landmarks and ``M = L^-1``, the features of a row x are ``M k(Z, x)``, whose
inner products are the kernel's as far as the landmarks know it. Kernel values are centered, so that the intercept b is
not penalized, and multiplied by the square roots of weights: ``phi_i = sqrt(w_i) M (k(Z, x_i) - mean)``. With

    lam I + sum_i phi_i phi_i' = G G',  N = G^-1,  tau_i = N phi_i,  t = sum_i sqrt(w_i) (y_i - mean) tau_i,

the coefficients are ``a = M'N't``, the fitted value of row i is ``mean + tau_i't / sqrt(w_i)``, and the machine that
has not learned it errs by ``r_i / (1 - h_i)``, where r_i is the residual and
``h_i = |tau_i|^2 + w_i / sum w`` the diagonal of the hat matrix. If the row is landmark j itself, both are left out:
with ``v = N M e_j``, ``c = tau_i'v`` and a weight of 1, it errs by
``(r_i + c a_j / |v|^2) / (1 - h_i + c^2 / |v|^2)``.

All of it is in float64. Landmarks are as `frugalsvm.cells.codes` has them: predictions see the same. Coefficients are
rounded to codes, so that large ones that nearly cancel must not be: ``mu sum_j a_j^2`` is added to what is minimized,
which is ``mu / lam`` on the diagonal of K_ZZ, with a mu that is small beside the kernel values of all rows.

They are rounded one after the other, and those not yet rounded make up for each error (Babai 1986; for networks,
Frantar et al. 2023): rounding adds ``(a - codes)'H (a - codes)`` to what is minimized, and with ``H^-1 = V V'``, V
upper triangular, an error e of coefficient j is followed by ``a_k -= e V_kj / V_jj`` for all k before it.
"""

from typing import Any, NamedTuple

import numpy as np

from frugalsvm.cells.codes import WORD_BITS, CodedCells, bits_of_row, nearest_code, put_code
from frugalsvm.cells.phases import BLOCK_ROWS, padded_size
from frugalsvm.cells.scores import load_rows, new_storage
from frugalsvm.cells.solver import Examples
from frugalsvm.cells.tree import Tree
from frugalsvm.compiling.functions import add_to, compiled, entry
from frugalsvm.compiling.threads import Threads, blas_threads
from frugalsvm.core.factor import (
    Library,
    add_square,
    invert_factor,
    library_for,
    multiply_columns,
    new_integers,
    set_apart,
    set_sizes,
)
from frugalsvm.core.kernels import pairing_of, self_value, values_in_row
from frugalsvm.core.pairing import block_pairs, row_norm

_JITTER = 1e-10  # of K(z, z), added where landmarks may be the same
_MORE = 100.0  # times as much, where that is not enough
# Of K(z, z)^2 times the weight of all rows: errors of codes of 8 bits, some of which others make up for
_MU = 1e-7
_AT_REST = 1e-2  # of the mean diagonal of H, added to it: coefficients stay where they are unless it matters


class LandmarkTask(NamedTuple):
    """Cells that are to be solved, and what they need."""

    kernel: Any
    examples: Examples
    tree: Tree  # of all rows
    places: np.ndarray  # where landmarks are among the members of the tree, cell after cell
    coded: CodedCells
    numbers: np.ndarray  # cells that are to be solved
    errors: np.ndarray  # (n_outputs, n_rows)
    next_item: np.ndarray
    library: Library
    ridge: float


class Room(NamedTuple):
    """Memory of one thread, for n rows and m landmarks of a cell."""

    block: np.ndarray  # (BLOCK_ROWS, n_features)
    center: np.ndarray  # (n_features,)
    weights: np.ndarray  # (n_outputs, capacity) of the codes, not used here
    features: np.ndarray  # (n * m,) kernel values, phi, tau, kernel values again, then V
    whitening: np.ndarray  # (m * m,) K_ZZ, M, H, then V
    system: np.ndarray  # (m * m,) N
    products: np.ndarray  # (m * m,) N M, column by column
    coef: np.ndarray  # (n_outputs * m,) t, then coefficients
    mean: np.ndarray  # (m,) of kernel values
    target_means: np.ndarray  # (n_outputs,)
    integers: np.ndarray


def landmark_bytes(n_rows: int, n_landmarks: int) -> int:
    """About the bytes that a thread needs for a cell."""
    return 8 * n_landmarks * (n_rows + 3 * n_landmarks + BLOCK_ROWS)


def solve_landmarks(
    kernel: Any,
    examples: Examples,
    tree: Tree,
    places: np.ndarray,
    coded: CodedCells,
    ridge: float,
    errors: np.ndarray,
    threads: Threads,
) -> None:
    """Code the rows that are kept, solve the cells that have any, and code their coefficients.

    Parameters
    ----------
    kernel : NamedTuple
    examples : Examples
    tree : Tree
        Of all rows.
    places : ndarray
        Where rows that are landmarks are among the members of the tree, cell after cell.
    coded : CodedCells
        With grids of features and widths of all columns; its words are zero.
    ridge : float
        ``1 / C``.
    errors : ndarray of shape (n_outputs, n_rows)
        Leave-one-out errors of the rows in these cells are added to it.
    threads : Threads
    """
    counts = coded.tree.sizes
    numbers = np.flatnonzero(counts)
    if len(numbers) == 0:
        return
    n_most, m_most = int(tree.sizes[numbers].max()), int(counts.max())
    n_outputs, n_features = len(examples.targets), examples.rows.shape[1]
    task = LandmarkTask(
        kernel, examples, tree, places, coded, numbers, errors, np.zeros(1, np.int64),
        library_for(np.dtype(np.float64)), ridge,
    )  # fmt: skip

    def work(_):
        storage = new_storage(m_most, n_features, np.float64)
        room = _new_room(n_most, m_most, n_features, n_outputs)
        try:
            while _is_one_solved(task, storage, room):
                pass
        except BaseException:  # Ctrl-C: other threads take no more
            task.next_item[0] = len(numbers)
            raise

    n_threads = min(threads.count, len(numbers))
    with blas_threads(max(1, threads.count // n_threads)):
        threads.run(work, range(n_threads))


def _new_room(n: int, m: int, n_features: int, n_outputs: int) -> Room:
    return Room(
        np.zeros((BLOCK_ROWS, n_features)),
        np.zeros(n_features),
        np.zeros((n_outputs, m)),
        np.empty(n * m),
        np.empty(m * m),
        np.empty(m * m),
        np.empty(m * m),
        np.zeros(n_outputs * m),
        np.zeros(m),
        np.zeros(n_outputs),
        new_integers(),
    )


@entry
def _is_one_solved(task, storage, room):
    """Solve a cell that no other thread has taken; False if there is none left."""
    item = add_to(task.next_item, 1)
    if item >= task.numbers.size:
        return False
    cell = task.numbers[item]
    n = task.tree.starts[cell + 1] - task.tree.starts[cell]
    m = task.coded.tree.starts[cell + 1] - task.coded.tree.starts[cell]
    _code_rows(task, cell, m)
    load_rows(task.coded, task.kernel, task.examples.rows, cell, 0, m, storage, room.weights, room.center)
    _whiten(task, storage, room, cell, n, m)
    _take_centered(task, storage, room, cell, n, m)
    multiply_columns(task.library, task.library.no, room.whitening, m, room.features, n, room.integers)
    _take_hat(task, room, n, m)
    _take_fit(task, room, cell, n, m)
    library, n_outputs = task.library, len(task.examples.targets)
    multiply_columns(library, library.yes, room.system, m, room.coef, n_outputs, room.integers)
    multiply_columns(library, library.yes, room.whitening, m, room.coef, n_outputs, room.integers)
    _leave_landmarks_out(task, room, cell, n, m)
    _take_compensation(task, storage, room, cell, n, m)
    _round_coef(task, room, cell, m)
    return True


@compiled
def _code_rows(task, cell, m):
    """Write the rows that are kept."""
    coded, rows, start = task.coded, task.examples.rows, task.coded.tree.starts[cell]
    bits = bits_of_row(coded, cell)
    for i in range(m):
        position = coded.firsts[cell] * WORD_BITS + i * bits
        for f in range(rows.shape[1]):
            value, width = (
                np.float64(rows[task.tree.members[task.places[start + i]], f]),
                np.int64(coded.widths[cell, f]),
            )
            code = nearest_code(value, coded.lows[cell, f], coded.steps[cell, f], width)
            put_code(coded.words, position, width, code)
            position += width


@compiled
def _whiten(task, storage, room, cell, n, m):
    """M; more is added to the diagonal of K_ZZ until there is one."""
    added = _added(task, storage, cell, n, m)
    _fill_kernel(task, storage, room, m, added)
    while not invert_factor(task.library, room.whitening, m, m, room.integers):
        added *= _MORE
        _fill_kernel(task, storage, room, m, added)


@compiled
def _added(task, storage, cell, n, m):
    """What is added to the diagonal of K_ZZ."""
    size, weight, start = 0.0, 0.0, task.tree.starts[cell]
    for i in range(m):
        size += self_value(task.kernel, storage.norms[i]) / m
    for i in range(start, start + n):
        weight += _weight(task, task.tree.members[i])
    size = size if size > 0.0 else 1.0
    return size * (_JITTER + _MU * size * weight / task.ridge)


@compiled
def _fill_kernel(task, storage, room, m, added):
    """K_ZZ, from the diagonal on, and what is added to it."""
    stride, norms, pairing = padded_size(m), storage.norms, pairing_of(task.kernel)
    matrix = room.whitening[: m * m].reshape(m, m)
    for first in range(0, m, BLOCK_ROWS):
        count = min(BLOCK_ROWS, m - first)
        block_pairs(pairing, storage.rows[first : first + count], count, storage.columns, stride, storage.products)
        for i in range(first, first + count):
            products = storage.products[(i - first) * stride + i :]
            values_in_row(task.kernel, products, norms[i:m], norms[i], matrix[i, i:])
    for i in range(m):
        matrix[i, i] = self_value(task.kernel, norms[i]) + added


@compiled
def _take_centered(task, storage, room, cell, n, m):
    """Kernel values of all rows with all landmarks, centered and times the square roots of weights."""
    members, start = task.tree.members, task.tree.starts[cell]
    _fill_values(task, storage, room, start, n, m)
    features, mean, total = room.features[: n * m].reshape(n, m), room.mean, 0.0
    for j in range(m):
        mean[j] = 0.0
    for i in range(n):
        weight = _weight(task, members[start + i])
        total += weight
        for j in range(m):
            mean[j] += weight * features[i, j]
    for j in range(m):
        mean[j] /= total
    for i in range(n):
        root = np.sqrt(_weight(task, members[start + i]))
        for j in range(m):
            features[i, j] = root * (features[i, j] - mean[j])


@compiled
def _fill_values(task, storage, room, start, n, m):
    """Kernel values of all rows with all landmarks."""
    rows, members, block, stride = task.examples.rows, task.tree.members, room.block, padded_size(m)
    pairing, norms = pairing_of(task.kernel), storage.norms[:m]
    for first in range(0, n, BLOCK_ROWS):
        count = min(BLOCK_ROWS, n - first)
        for i in range(count):
            for f in range(rows.shape[1]):
                block[i, f] = np.float64(rows[members[start + first + i], f]) - room.center[f]
        block_pairs(pairing, block, count, storage.columns, stride, storage.products)
        for i in range(count):
            out = room.features[(first + i) * m : (first + i + 1) * m]
            values_in_row(task.kernel, storage.products[i * stride :], norms, row_norm(pairing, block, i), out)


@compiled
def _weight(task, row):
    return task.examples.weights[row] if task.examples.weights.size > 0 else 1.0


@compiled
def _take_hat(task, room, n, m):
    """N and tau; the regularization is raised where it is nothing beside rounding errors."""
    ridge, library, integers = task.ridge, task.library, room.integers
    _fill_system(library, room, n, m, ridge)
    while not invert_factor(library, room.system, m, m, integers):
        ridge *= _MORE
        _fill_system(library, room, n, m, ridge)
    multiply_columns(library, library.no, room.system, m, room.features, n, integers)


@compiled
def _fill_system(library, room, n, m, ridge):
    matrix = room.system[: m * m].reshape(m, m)
    for i in range(m):
        for j in range(i, m):
            matrix[i, j] = 0.0
        matrix[i, i] = ridge
    _add_squares(library, room.features, n, room.system, m, room.integers)


@compiled
def _add_squares(library, features, n, matrix, m, integers):
    """Add the products of all columns of features (n * m,) with each other to a matrix (m * m,)."""
    set_sizes(integers, m, m, n)
    set_apart(integers, m, m, m)
    add_square(library, library.one, features, matrix, integers)


@compiled
def _take_fit(task, room, cell, n, m):
    """The means of targets, t, and leave-one-out errors."""
    targets, members, start = task.examples.targets, task.tree.members, task.tree.starts[cell]
    features = room.features[: n * m].reshape(n, m)
    for o in range(targets.shape[0]):
        own, mean, total = room.coef[o * m : (o + 1) * m], 0.0, 0.0
        for i in range(n):
            row = members[start + i]
            mean += _weight(task, row) * targets[o, row]
            total += _weight(task, row)
        mean /= total
        room.target_means[o] = mean
        for j in range(m):
            own[j] = 0.0
        for i in range(n):
            row = members[start + i]
            factor = np.sqrt(_weight(task, row)) * (targets[o, row] - mean)
            for j in range(m):
                own[j] += factor * features[i, j]
        for i in range(n):
            row = members[start + i]
            fitted, hat = 0.0, _weight(task, row) / total
            for j in range(m):
                fitted += own[j] * features[i, j]
                hat += features[i, j] * features[i, j]
            residual = targets[o, row] - mean - fitted / np.sqrt(_weight(task, row))
            task.errors[o, row] += residual / (1.0 - hat)


@compiled
def _leave_landmarks_out(task, room, cell, n, m):
    """Leave-one-out errors of rows that are landmarks: these are left out as well."""
    library, starts, members = task.library, task.tree.starts, task.tree.members
    M, NM = room.whitening[: m * m].reshape(m, m), room.products[: m * m].reshape(m, m)
    for j in range(m):
        for k in range(m):
            NM[j, k] = M[j, k] if k >= j else 0.0
    multiply_columns(library, library.no, room.system, m, room.products, m, room.integers)
    total = 0.0
    for i in range(starts[cell], starts[cell + 1]):
        total += _weight(task, members[i])
    for j in range(m):
        place = task.places[task.coded.tree.starts[cell] + j]
        tau, row = room.features[(place - starts[cell]) * m :], members[place]
        weight, square, product = _weight(task, row), 0.0, 0.0
        rest = 1.0 - weight / total
        for k in range(m):
            rest -= tau[k] * tau[k]
            square += NM[j, k] * NM[j, k]
            product += NM[j, k] * tau[k]
        for o in range(task.examples.targets.shape[0]):
            residual = np.sqrt(weight) * task.errors[o, row] * rest
            error = (residual + product * room.coef[o * m + j] / square) / (rest + product * product / square)
            task.errors[o, row] = error / np.sqrt(weight)


@compiled
def _take_compensation(task, storage, room, cell, n, m):
    """V, row by row its columns, in the place of features."""
    _fill_kernel(task, storage, room, m, _added(task, storage, cell, n, m))
    _take_centered(task, storage, room, cell, n, m)
    H, trace = room.whitening[: m * m].reshape(m, m), 0.0
    for i in range(m):
        for j in range(i, m):
            H[i, j] *= task.ridge
    _add_squares(task.library, room.features, n, room.whitening, m, room.integers)
    for i in range(m):
        trace += H[i, i]
    for i in range(m):
        H[i, i] += _AT_REST * trace / m
    invert_factor(task.library, room.whitening, m, m, room.integers)  # there is one, since the diagonal is large enough
    V = room.features[: m * m].reshape(m, m)
    for j in range(m):
        for k in range(j + 1):
            V[j, k] = H[k, j]


@compiled
def _round_coef(task, room, cell, m):
    """Codes of coefficients, and intercepts that go with them."""
    coded, n_features = task.coded, task.examples.rows.shape[1]
    for o in range(task.examples.targets.shape[0]):
        intercept, column = room.target_means[o], n_features + o
        if coded.widths[cell, column] > 0:
            _take_grid(coded, cell, column, room.coef[o * m :], m)
            intercept -= _round_output(task, room, cell, o, m)
        coded.intercepts[cell, o] = intercept


@compiled
def _take_grid(coded, cell, column, coef, m):
    low, high = coef[0], coef[0]
    for j in range(m):
        low, high = min(low, coef[j]), max(high, coef[j])
    coded.lows[cell, column] = low
    coded.steps[cell, column] = (high - low) / ((1 << np.int64(coded.widths[cell, column])) - 1)


@compiled
def _round_output(task, room, cell, o, m):
    """Write the codes of an output's coefficients; what they are on average over the rows is returned."""
    coded, coef, V = task.coded, room.coef[o * m :], room.features[: m * m].reshape(m, m)
    column, bits, before, average = task.examples.rows.shape[1] + o, bits_of_row(coded, cell), 0, 0.0
    for c in range(column):
        before += np.int64(coded.widths[cell, c])
    width, low, step = np.int64(coded.widths[cell, column]), coded.lows[cell, column], coded.steps[cell, column]
    for j in range(m - 1, -1, -1):
        code = nearest_code(coef[j], low, step, width)
        value = low + np.float64(step) * code
        put_code(coded.words, coded.firsts[cell] * WORD_BITS + j * bits + before, width, code)
        average += value * room.mean[j]
        error = (coef[j] - value) / V[j, j]
        for k in range(j):
            coef[k] -= error * V[j, k]
    return average
