"""The machine of one cell: a least-squares SVM of all its rows, and its exact leave-one-out predictions.

With the kernel matrix K of the cell's n rows, weights w of examples and a regularization ``lam = 1 / C``, the machine
``f(x) = sum_j a_j K(x, x_j) + b`` minimizes ``lam ||f||^2 + sum_i w_i (y_i - f(x_i))^2``, b not penalized (Suykens &
Vandewalle 1999). Its coefficients solve

    (K + D) a = y - b 1,  sum_i a_i = 0,  D = diag(lam / w).

With ``W = (K + D)^-1``, ``u = W 1`` and ``s = 1'W 1`` they are ``b = u'y / s`` and ``a = W y - b u``. The machine that
has not learned row i predicts (the border of the system removed as in Cawley & Talbot 2004)

    f_i(x_i) = y_i - a_i / (W_ii - u_i^2 / s).

One Cholesky factorization ``K + D = L L'`` (``factor.py``) serves all outputs and, by the columns of ``L^-1``, the
diagonal of W.

Rows of a cell are shifted to its center first, if the kernel is one of differences: rounding errors are smaller there.
A cell with more rows than the limit has one row again and again (``tree.py``): its machine is the mean of the targets,
and all coefficients cancel, so that they are zero here.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from frugalsvm._compile import add_to, compiled, entry, inlined
from frugalsvm._stored import stored
from frugalsvm._threads import ONE_THREAD, Threads, blas_threads
from frugalsvm.cells.factor import Library, invert_factor, library_for, new_integers, solve_factored
from frugalsvm.cells.tree import Tree
from frugalsvm.core.capabilities import offers
from frugalsvm.core.kernels import pairing_of, self_value, value_error, values_in_row
from frugalsvm.core.pairing import block_pairs, row_norm

__all__ = [
    "BLOCK_ROWS",
    "Cells",
    "Examples",
    "cell_bytes",
    "gather_cell",
    "has_mean_only",
    "new_storage",
    "padded_size",
    "solved_cells",
]

BLOCK_ROWS = 64
_PADDING = 16
# Root mean square residual, of right sides of about 1, from which on a cell is solved again in float64. So it is where
# kernel values of rows that are nearly the same have larger errors than the regularization can even out.
LARGEST_RESIDUAL = 1e-3
_AT_A_TIME = 8192  # rows of cells that a thread solves before it looks for Ctrl-C
MORE = 10.0  # times the regularization, where float64 is not enough either


class Examples(NamedTuple):
    """What is learned."""

    rows: np.ndarray  # (n_rows, n_features) as the kernel sees them
    targets: np.ndarray  # (n_outputs, n_rows) float32 or float64
    weights: np.ndarray  # (n_rows,) positive, or (0,) where all are 1


@stored("cells", arrays={"coef": "x on", "intercepts": "d ko", "centers": "d kf"}, ranges={"size": (1, 2**62)})
class Cells(NamedTuple):
    """A tree and the machines in its cells."""

    tree: Tree
    size: int  # most rows of a cell, but for cells of rows that are all the same
    coef: np.ndarray  # (n_outputs, n_rows) in the order of the tree's members, in the type of the rows
    intercepts: np.ndarray  # (n_cells, n_outputs) float64
    centers: np.ndarray  # (n_cells, n_features) float64: what is subtracted from rows before the kernel sees them

    def is_sound(self, sizes) -> bool:
        """Whether there is a machine for every cell, and a coefficient for every row."""
        return sizes["k"] == self.tree.n_cells and sizes["n"] == len(self.tree.members) == self.tree.starts[-1]


class Storage(NamedTuple):
    """Memory of one thread."""

    rows: np.ndarray  # (capacity, n_features) of the cell
    columns: np.ndarray  # the same, feature after feature
    norms: np.ndarray
    products: np.ndarray  # (BLOCK_ROWS * capacity,)
    matrix: np.ndarray  # (capacity^2,)
    right: np.ndarray  # ((n_outputs + 1) * capacity,) right sides, then solutions; u is the last
    diagonal: np.ndarray  # (capacity,) of W, and less where the border counts
    values: np.ndarray  # (capacity,) kernel values, or ``(K + D) z``
    signs: np.ndarray  # (capacity,) z
    checks: np.ndarray  # (n_outputs + 1,) products of right sides with z
    integers: np.ndarray  # (4,) int32, for routines of the library


def _capacity(size: int) -> int:
    return -(-size // _PADDING) * _PADDING


def _random_signs(n: int, dtype: Any) -> np.ndarray:
    return np.random.default_rng(0).choice(np.array([-1.0, 1.0], dtype), n)


def cell_bytes(size: int, n_features: int, n_outputs: int, dtype: Any) -> int:
    """About the bytes that a thread needs to solve a cell of so many rows."""
    values = size * (size + 2 * n_features + BLOCK_ROWS + n_outputs + 4)
    return values * np.dtype(dtype).itemsize


def new_storage(size: int, n_features: int, n_outputs: int, dtype: Any, *, solves: bool = True) -> Storage:
    """Memory for cells of up to so many rows; without a matrix, if nothing is to be solved."""
    capacity = _capacity(size)
    n_values = capacity * capacity if solves else 0
    return Storage(
        np.zeros((capacity, n_features), dtype),
        np.zeros(n_features * capacity, dtype),
        np.zeros(capacity, dtype),
        np.zeros(BLOCK_ROWS * capacity, dtype),
        np.empty(n_values, dtype),
        np.zeros((n_outputs + 1) * capacity, dtype),
        np.zeros(capacity),
        np.zeros(capacity, dtype),
        _random_signs(capacity, dtype),
        np.zeros(n_outputs + 1),
        new_integers(),
    )


def solved_cells(
    kernel: Any,
    examples: Examples,
    tree: Tree,
    size: int,
    ridge: float,
    errors: np.ndarray,
    threads: Threads = ONE_THREAD,
    tell: Callable[[int], None] = lambda n_cells: None,
    *,
    may_fall_back: bool = True,
) -> Cells | None:
    """Solve all cells of a tree.

    Parameters
    ----------
    kernel : NamedTuple
    examples : Examples
    tree : Tree
    size : int
        Most rows of a cell, but for cells of rows that are all the same.
    ridge : float
        ``1 / C``.
    errors : ndarray of shape (n_outputs, n_rows)
        Leave-one-out errors ``y_i - f_i(x_i)`` are added to it.
    threads : Threads, default=ONE_THREAD
    tell : callable
        Called now and then, in any thread, with the number of cells that were taken so far.
    may_fall_back : bool, default=True
        Whether cells that the type of the rows is too coarse for are solved in float64.

    Returns
    -------
    Cells or None
        None where there are such cells, and it may not.
    """
    n_outputs, n_rows = examples.targets.shape
    dtype, n_features = examples.rows.dtype, examples.rows.shape[1]
    cells = Cells(
        tree,
        size,
        np.zeros((n_outputs, n_rows), dtype),
        np.zeros((tree.n_cells, n_outputs)),
        np.zeros((tree.n_cells, n_features)),
    )
    left = np.ones(tree.n_cells, np.int64)
    _solve(kernel, examples, cells, left, ridge, errors, threads, dtype, tell)
    if left.any() and not may_fall_back:
        return None
    while left.any():
        # The second time in float64, and from then on with more regularization.
        _solve(kernel, examples, cells, left, ridge, errors, threads, np.dtype(np.float64))
        ridge *= MORE
    return cells


def _solve(kernel, examples, cells, left, ridge, errors, threads, dtype, tell=lambda n_cells: None) -> None:
    """Solve in a type what is left; what is not accurate is left again."""
    numbers = np.flatnonzero(left)
    n_outputs, n_features = len(examples.targets), examples.rows.shape[1]
    largest = int(min(cells.size, cells.tree.sizes[numbers].max()))
    n_threads = min(threads.count, len(numbers))
    task = CellTask(
        kernel, examples, cells, numbers, left, errors, np.zeros(1, np.int64), library_for(dtype), ridge,
        offers(kernel, "shift_invariant"),
    )  # fmt: skip

    def work(_):
        storage = new_storage(largest, n_features, n_outputs, dtype)
        try:
            while solve_some(task, storage, _AT_A_TIME):
                tell(min(int(task.next_item[0]), len(numbers)))
        except BaseException:
            task.next_item[0] = len(numbers)  # other threads take no more
            raise

    # Cells side by side; and where they are few, each with several threads.
    with blas_threads(max(1, threads.count // n_threads)):
        threads.run(work, range(n_threads))


class CellTask(NamedTuple):
    """Cells that are to be solved, and what they need."""

    kernel: Any
    examples: Examples
    cells: Cells
    numbers: np.ndarray  # those that are to be solved
    left: np.ndarray  # (n_cells,) int64: 0 for those that are
    errors: np.ndarray
    next_item: np.ndarray
    library: Library
    ridge: float
    is_centered: bool


@entry
def solve_some(task, storage, n_rows):
    """Solve cells that no other thread has taken, with about so many rows; False if there are none left."""
    starts, n_solved = task.cells.tree.starts, 0
    while n_solved < n_rows:
        item = add_to(task.next_item, 1)
        if item >= task.numbers.size:
            return False
        cell = task.numbers[item]
        start, n = starts[cell], starts[cell + 1] - starts[cell]
        if has_mean_only(n, task.cells.size):
            _take_mean(task, cell, start, n)
            task.left[cell] = 0
        else:
            task.left[cell] = 0 if _is_solved(task, storage, cell, start, n) else 1
        n_solved += n
    return True


@inlined
def has_mean_only(n, size):
    """Whether the machine of a cell is a constant: its rows are all the same, or none was kept."""
    return n > size or n <= 1


@compiled
def _take_mean(task, cell, start, n):
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


@compiled
def _is_solved(task, storage, cell, start, n):
    cells, rows = task.cells, task.examples.rows
    if task.is_centered:
        _take_center(rows, cells.tree.members, start, n, cells.centers, cell)
    gather_cell(task.kernel, rows, cells, cell, storage)
    if task.ridge < value_error(task.kernel, _mean(storage.norms, n)):
        return False
    _fill_matrix(task, storage, start, n)
    if not _is_factored(task, storage, start, n):
        return False
    _keep(task, storage, cell, start, n)
    return True


@compiled
def _mean(values, n):
    total = 0.0
    for i in range(n):
        total += np.float64(values[i])
    return values.dtype.type(total / n)


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
def gather_cell(kernel, rows, cells, cell, storage):
    """Copy the rows of a cell, relative to its center, into a thread's memory: also feature by feature, padded."""
    start, centers, members = cells.tree.starts[cell], cells.centers, cells.tree.members
    n = cells.tree.starts[cell + 1] - start
    stride = padded_size(n)
    for i in range(n):
        row = members[start + i]
        for f in range(rows.shape[1]):
            value = np.float64(rows[row, f]) - centers[cell, f]
            storage.rows[i, f] = value
            storage.columns[f * stride + i] = value
    for f in range(rows.shape[1]):
        for i in range(n, stride):
            storage.columns[f * stride + i] = 0.0
    for i in range(n):
        storage.norms[i] = row_norm(pairing_of(kernel), storage.rows, i)


@inlined
def padded_size(n):
    """How far it is from one feature of a cell's rows to the next."""
    return (n + _PADDING - 1) // _PADDING * _PADDING


@compiled
def _fill_matrix(task, storage, start, n):
    """``K + D`` of a cell, from the diagonal on."""
    stride, weights, rows, norms = padded_size(n), task.examples.weights, storage.rows, storage.norms
    matrix, pairing = storage.matrix[: n * n].reshape(n, n), pairing_of(task.kernel)
    for first in range(0, n, BLOCK_ROWS):
        count = min(BLOCK_ROWS, n - first)
        block_pairs(pairing, rows[first : first + count], count, storage.columns, stride, storage.products)
        for i in range(first, first + count):
            products = storage.products[(i - first) * stride + i :]
            values_in_row(task.kernel, products, norms[i:n], norms[i], matrix[i, i:])
    for i in range(n):
        weight = weights[task.cells.tree.members[start + i]] if weights.size > 0 else 1.0
        matrix[i, i] = self_value(task.kernel, norms[i]) + task.ridge / weight


@compiled
def _is_factored(task, storage, start, n):
    """Factor the matrix and solve for all right sides; False if the type is too coarse."""
    targets, right = task.examples.targets, storage.right
    n_outputs = targets.shape[0]
    _multiply_by_signs(storage, n)
    if not invert_factor(task.library, storage.matrix, n, storage.integers):
        return False
    for o in range(n_outputs):
        for i in range(n):
            right[o * n + i] = targets[o, task.cells.tree.members[start + i]]
    for i in range(n):
        right[n_outputs * n + i] = 1.0
    for o in range(n_outputs + 1):
        storage.checks[o] = _product(storage.signs, right[o * n :], n)
    solve_factored(task.library, storage.matrix, n, right, n_outputs + 1, storage.integers)
    return _are_accurate(storage, n, n_outputs + 1)


# A vector z of random signs tells how well systems are solved: z'(y - (K + D) a) is, on average over such vectors, as
# large as the residual. The product (K + D) z is taken before the matrix is overwritten.


@compiled
def _multiply_by_signs(storage, n):
    matrix, values, signs = storage.matrix[: n * n].reshape(n, n), storage.values, storage.signs
    for i in range(n):
        values[i] = 0.0
    for i in range(n):
        values[i] += matrix[i, i] * signs[i]
        values[i] += _add_row(matrix[i, i + 1 :], signs[i], signs[i + 1 :], values[i + 1 :])


@compiled
def _add_row(row, factor, others, values):
    """Add a row times a number to values; returns its product with others."""
    total = row.dtype.type(0)
    for j in range(row.size):
        total += row[j] * others[j]
        values[j] += row[j] * factor
    return total


@compiled
def _sum_of_squares(row):
    total = row.dtype.type(0)
    for j in range(row.size):
        total += row[j] * row[j]
    return total


@compiled
def _product(a, b, n):
    total = 0.0
    for i in range(n):
        total += np.float64(a[i]) * np.float64(b[i])
    return total


@compiled
def _are_accurate(storage, n, n_right):
    for o in range(n_right):
        error = abs(storage.checks[o] - _product(storage.values, storage.right[o * n :], n))
        if not error <= LARGEST_RESIDUAL * np.sqrt(n):
            return False
    return True


@compiled
def _keep(task, storage, cell, start, n):
    """Coefficients, intercepts and leave-one-out errors, from solutions and the inverse factor."""
    n_outputs, right, members = task.examples.targets.shape[0], storage.right, task.cells.tree.members
    matrix, u = storage.matrix[: n * n].reshape(n, n), right[n_outputs * n :]
    total = 0.0
    for i in range(n):
        total += np.float64(u[i])
    for i in range(n):
        storage.diagonal[i] = np.float64(_sum_of_squares(matrix[i, i:])) - np.float64(u[i]) ** 2 / total
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
            task.errors[o, members[start + i]] += value / storage.diagonal[i]
