"""Machines of cells on a device, many at a time: what `solver.py` does, in operations on whole batches.

Cells of a batch are padded with rows whose kernel values are 0, and 1 with themselves: coefficients there are zero, and
those of other rows are what they would be without. With ``M = L^-1`` (`frugalsvm.arrays.factors`), all that is wanted
of ``W = M'M`` are products with few columns and its diagonal, the squared norms of the columns of M. It takes the place
of ``K + D``: of that, products with vectors of random signs are kept, which tell how well systems are solved.

Arrays are those of PyTorch, or of NumPy to test with.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.arrays.factors import invert_factors
from frugalsvm.arrays.kernel_values import kernel_values, own_values
from frugalsvm.arrays.namespace import is_torch
from frugalsvm.cells.batches import Padded, batches_of, near, padded_length, padded_places, taken
from frugalsvm.cells.phases import LARGEST_RESIDUAL
from frugalsvm.cells.solver import FACTOR, Cells
from frugalsvm.cells.tree import Tree
from frugalsvm.compiling.threads import row_blocks
from frugalsvm.core.capabilities import offers
from frugalsvm.core.matern import ROUNDING, Matern12

_MATRICES = 2.0  # as large as that of a cell that are there at a time, at most
_N_STRIPS = 16  # that a matrix is filled in, for which several arrays of that size are needed
_N_SIGNS = 8  # vectors of random signs


class DeviceExamples(NamedTuple):
    """What is learned, on a device."""

    arrays: Any
    rows: Any  # (n_rows, n_features) as the kernel sees them; on the host, if there is no room for them
    targets: Any  # (n_rows, n_outputs) in the type of the rows
    weights: Any  # (n_rows,) float64, or None where all are 1
    memory: int  # bytes for the matrices of cells
    rows_on_host: Callable[[], np.ndarray]

    @property
    def dtype(self) -> Any:
        """The type of the rows, as the device calls it."""
        return self.targets.dtype


class Solutions(NamedTuple):
    """What is found for all cells of a tree, on a device; the last row of each of the first two is for padding."""

    coef: Any  # (n_rows + 1, n_outputs) float64, in the order of the tree's members
    errors: Any  # the same: leave-one-out errors
    intercepts: Any  # (n_cells, n_outputs) float64
    centers: Any  # (n_cells, n_features) float64
    left: np.ndarray  # cells that the type of the rows is too coarse for, and that were not solved in float64
    dtype: Any  # that scores are computed in: float64 if some cells were solved in it


class _Machines(NamedTuple):
    """The parameters of all cells."""

    kernel: Any
    ridges: np.ndarray  # (n_cells,)
    gammas: np.ndarray | None  # (n_cells,), where the kernel's is not that of all

    def kernel_of(self, arrays, cells, dtype):
        """The kernel of some cells, with a gamma for each of their matrices."""
        if self.gammas is None:
            return self.kernel
        return self.kernel._replace(gamma=arrays.cast(arrays.asarray(self.gammas[cells]), dtype)[:, None, None])


class _Problem(NamedTuple):
    """Some cells of a tree, padded."""

    examples: DeviceExamples
    kernel: Any
    ridges: Any  # (n_cells, 1) float64
    numbers: Any  # (n_cells,) those of the cells
    padded: Padded
    least: int  # rows that all of them have
    index: Any  # (n_cells, length) rows of the examples


def to_device(
    arrays: Any, rows: Any, targets: np.ndarray, weights: np.ndarray, memory: int, home: np.ndarray | None = None
) -> DeviceExamples:
    """Examples (`solver.Examples`) on a device; rows may be there already, and targets have their type.

    ``home`` is an array of the host that rows of the device may be written to, for the model.
    """
    on_host = arrays.sent_home(rows, home) if is_torch(rows) else lambda: rows
    columns, weights = arrays.contiguous(arrays.asarray(targets).T), arrays.asarray(weights) if len(weights) else None
    return DeviceExamples(arrays, near(arrays, rows), columns, weights, memory, on_host)


def bytes_on_device(length: int, n_features: int, n_outputs: int, itemsize: int) -> int:
    """About the bytes that a cell of a batch takes while it is solved."""
    return int(length * ((_MATRICES * length + 2 * n_features + 4 * n_outputs) * itemsize + 8 * n_features + 64))


def solved_on_device(
    kernel: Any,
    examples: DeviceExamples,
    tree: Tree,
    size: int,
    ridges: np.ndarray,
    gammas: np.ndarray | None = None,
    *,
    may_fall_back: bool = True,
) -> Solutions:
    """Solve all cells of a tree, each with its own ``ridge = 1 / C``, and its own gamma where they are given."""
    found = _nothing_found(examples, tree)
    is_constant = (tree.sizes > size) | (tree.sizes == 1)  # `solver.has_mean_only`
    _take_means(examples, tree, np.flatnonzero(is_constant), found)
    machines = _Machines(kernel, ridges, gammas)
    left, dtype = _solve(machines, examples, tree, np.flatnonzero(~is_constant), examples.dtype, found), examples.dtype
    if not may_fall_back:
        return found._replace(left=left)
    if len(left) and _fits_in_float64(examples, int(tree.sizes[left].max())):
        dtype = examples.arrays.xp.float64
        left = _solve(machines, examples, tree, left, dtype, found)
    while len(left):
        machines = machines._replace(ridges=FACTOR * machines.ridges)
        left = _solve(machines, examples, tree, left, dtype, found)
    return found._replace(dtype=dtype)


def _fits_in_float64(examples: DeviceExamples, size: int) -> bool:
    """Whether there is memory to solve a cell of that size in it, and the rows are in another type."""
    arrays, n_features, n_outputs = examples.arrays, examples.rows.shape[1], examples.targets.shape[1]
    needed = bytes_on_device(padded_length(size), n_features, n_outputs, 8)
    return examples.dtype != arrays.xp.float64 and needed <= examples.memory


def cells_sent_home(examples: DeviceExamples, tree: Tree, size: int, found: Solutions) -> Callable[[], Cells]:
    """A function that returns the machines as `solver.solved_cells` does; they are on their way."""
    arrays = examples.arrays
    coef = arrays.sent_home(arrays.contiguous(arrays.cast(found.coef[:-1], found.dtype).T))
    intercepts, centers = arrays.host(found.intercepts), arrays.host(found.centers)
    return lambda: Cells(tree, size, coef(), intercepts, centers)


def _nothing_found(examples, tree) -> Solutions:
    arrays, n_outputs = examples.arrays, examples.targets.shape[1]
    n_places = len(tree.members) + 1
    return Solutions(
        arrays.zeros((n_places, n_outputs)),
        arrays.zeros((n_places, n_outputs)),
        arrays.zeros((tree.n_cells, n_outputs)),
        arrays.zeros((tree.n_cells, examples.rows.shape[1])),
        np.empty(0, np.int64),
        examples.dtype,
    )


def _solve(machines: _Machines, examples, tree, left, dtype, found) -> np.ndarray:
    """Solve cells in a type; returns those that it is too coarse for."""
    arrays, members = examples.arrays, examples.arrays.asarray(tree.members)
    n_features, n_outputs = examples.rows.shape[1], examples.targets.shape[1]
    itemsize = 4 if dtype == arrays.xp.float32 else 8

    def bytes_of(length):
        return bytes_on_device(length, n_features, n_outputs, itemsize)

    outcomes = []
    with arrays.products():
        for positions, length in batches_of(tree.sizes[left], bytes_of, examples.memory):
            problem = _problem(machines, examples, tree, members, left[positions], length, dtype)
            outcomes.append((left[positions], _solve_batch(problem, dtype, found)))
    # All batches are under way before the first is waited for.
    again = [cells[~arrays.host(is_solved)] for cells, is_solved in outcomes]
    return np.concatenate(again) if again else left


def _problem(machines: _Machines, examples, tree, members, cells, length, dtype) -> _Problem:
    arrays, sizes = examples.arrays, tree.sizes[cells]
    padded = padded_places(arrays, tree.starts[cells], sizes, length)
    kernel, ridges = machines.kernel_of(arrays, cells, dtype), arrays.asarray(machines.ridges[cells])[:, None]
    return _Problem(examples, kernel, ridges, arrays.asarray(cells), padded, int(sizes.min()), members[padded.places])


def _solve_batch(problem: _Problem, dtype, found: Solutions):
    """Solve cells and keep those for which the type was fine enough; returns which."""
    xp, arrays, is_there = problem.examples.arrays.xp, problem.examples.arrays, problem.padded.is_there
    centers, matrices, is_fine = _systems(problem, dtype)
    signs = _signs(arrays, matrices)
    values = matrices @ signs
    invert_factors(arrays, matrices)
    ones = arrays.cast(is_there, dtype)[:, :, None]
    right = xp.concat((arrays.cast(problem.examples.targets[problem.index], dtype) * ones, ones), axis=2)
    solutions = matrices.mT @ (matrices @ right)
    errors = arrays.double(signs.mT) @ arrays.double(right) - arrays.double(values.mT) @ arrays.double(solutions)
    residuals = xp.sqrt(xp.mean(errors**2, axis=1) / xp.sum(arrays.double(ones), axis=1))
    is_solved = is_fine & xp.all(residuals <= LARGEST_RESIDUAL, axis=1)  # False for NaN
    squares = xp.linalg.vector_norm(matrices, axis=1) ** 2
    _keep(problem, solutions, squares, centers, is_solved, found)
    return is_solved


def _signs(arrays, matrices):
    """Vectors of random signs (1, n, _N_SIGNS), the same each time."""
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (1, matrices.shape[1], _N_SIGNS))
    return arrays.cast(arrays.asarray(signs), matrices.dtype)


def _systems(problem: _Problem, dtype):
    """Centers of cells, their ``K + D``, and whether the type is fine enough for its values."""
    arrays, (places, is_there) = problem.examples.arrays, problem.padded
    xp, rows = arrays.xp, arrays.double(taken(arrays, problem.examples.rows, problem.index))
    centers = xp.zeros_like(rows[:, 0])
    if offers(problem.kernel, "shift_invariant"):
        inside = arrays.double(is_there)
        centers = (inside[:, None, :] @ rows)[:, 0] / xp.sum(inside, axis=1)[:, None]
        rows -= centers[:, None]
    rows = arrays.cast(rows, dtype)
    matrices = _kernel_matrices(arrays, problem.kernel, rows)
    _fill_diagonal(problem, matrices, dtype)
    matrices[:, problem.least :, :] *= is_there[:, problem.least :, None]
    matrices[:, :, problem.least :] *= is_there[:, None, problem.least :]
    padding = xp.arange(problem.least, places.shape[1], device=arrays.device)
    matrices[:, padding, padding] += arrays.cast(~is_there[:, problem.least :], dtype)
    return centers, matrices, problem.ridges[:, 0] >= _value_errors(problem, rows, dtype)


def _kernel_matrices(arrays, kernel, rows):
    """Kernel values of all rows with each other, strip by strip."""
    n_cells, n = rows.shape[:2]
    matrices = arrays.xp.empty((n_cells, n, n), dtype=rows.dtype, device=arrays.device)
    for strip in row_blocks(n, _N_STRIPS, padded_length(1)):
        matrices[:, strip] = kernel_values(arrays, kernel, rows[:, strip], rows)
    return matrices


def _value_errors(problem: _Problem, rows, dtype):
    """`value_error` of cells, for their mean squared norms and weights; padding has copies of rows."""
    arrays, is_there = problem.examples.arrays, problem.padded.is_there
    xp = arrays.xp
    if not isinstance(problem.kernel, Matern12):
        return xp.zeros_like(problem.ridges[:, 0])
    inside = arrays.double(is_there)
    norms = xp.sum(xp.sum(arrays.double(rows) ** 2, axis=2) * inside, axis=1) / xp.sum(inside, axis=1)
    gamma = problem.kernel.gamma
    gamma = gamma if isinstance(gamma, float) else arrays.double(gamma[:, 0, 0])
    rounding = ROUNDING["float32" if dtype == xp.float32 else "float64"]
    weights = problem.examples.weights
    weight = 1.0 if weights is None else xp.sum(weights[problem.index] * inside, axis=1) / xp.sum(inside, axis=1)
    return xp.sqrt(gamma * rounding * 2.0 * norms) * weight


def _fill_diagonal(problem: _Problem, matrices, dtype) -> None:
    examples = problem.examples
    arrays = examples.arrays
    added = problem.ridges if examples.weights is None else problem.ridges / examples.weights[problem.index]
    diagonal = arrays.xp.arange(matrices.shape[1], device=arrays.device)
    own = arrays.double(own_values(arrays, problem.kernel, matrices))
    matrices[:, diagonal, diagonal] = arrays.cast(own + added, dtype)


def _keep(problem: _Problem, solutions, squares, centers, is_solved, found: Solutions) -> None:
    """Coefficients, intercepts and leave-one-out errors of cells that are solved."""
    arrays, (places, is_there) = problem.examples.arrays, problem.padded
    xp, solutions = arrays.xp, arrays.double(solutions)
    own, u = solutions[:, :, :-1], solutions[:, :, -1:]
    totals = xp.sum(u, axis=1)
    intercepts = xp.sum(own, axis=1) / totals
    coef = own - intercepts[:, None, :] * u
    left_out = coef / (arrays.double(squares)[:, :, None] - u * u / totals[:, None, :])
    # What is not solved, or padding, goes to the row that nobody reads.
    nowhere = found.coef.shape[0] - 1
    places = xp.where(is_there & is_solved[:, None], places, xp.full_like(places, nowhere))
    found.coef[places], found.errors[places] = coef, left_out
    found.intercepts[problem.numbers], found.centers[problem.numbers] = intercepts, centers


def _take_means(examples, tree, numbers, found: Solutions) -> None:
    """Cells of one row, once or again and again: means of targets, as in `solver.py`."""
    if not len(numbers):
        return
    arrays, sizes = examples.arrays, tree.sizes[numbers]
    ends = np.cumsum(sizes)
    places = np.arange(ends[-1]) + np.repeat(tree.starts[numbers] - (ends - sizes), sizes)
    there, members = arrays.asarray(places), arrays.asarray(tree.members[places])
    targets = arrays.host(examples.targets[members]).astype(np.float64)
    own = np.ones((len(places), 1)) if examples.weights is None else arrays.host(examples.weights[members])[:, None]
    totals, weights = (np.add.reduceat(each, ends - sizes, axis=0) for each in (own * targets, own))
    rest = np.repeat(weights, sizes, axis=0) - own
    is_alone = np.repeat(sizes == 1, sizes)[:, None]
    without = (np.repeat(totals, sizes, axis=0) - own * targets) / np.where(is_alone, 1.0, rest)
    found.errors[there] = arrays.asarray(targets - np.where(is_alone, 0.0, without))
    found.intercepts[arrays.asarray(numbers)] = arrays.asarray(totals / weights)
