"""The machine of one cell: a least-squares SVM of all its rows, and its exact leave-one-out predictions.

With the kernel matrix K of the cell's n rows, weights w of examples and a regularization ``lam = 1 / C``, the machine
``f(x) = sum_j a_j K(x, x_j) + b`` minimizes ``lam ||f||^2 + sum_i w_i (y_i - f(x_i))^2``, b not penalized (Suykens &
Vandewalle 1999). Its coefficients solve

    (K + D) a = y - b 1,  sum_i a_i = 0,  D = diag(lam / w).

With ``W = (K + D)^-1``, ``u = W 1`` and ``s = 1'W 1`` they are ``b = u'y / s`` and ``a = W y - b u``. The machine that
has not learned row i predicts (the border of the system removed as in Cawley & Talbot 2004)

    f_i(x_i) = y_i - a_i / (W_ii - u_i^2 / s).

One Cholesky factorization ``K + D = L L'`` (``core/factor.py``) serves all outputs and, by the columns of ``L^-1``, the
diagonal of W. How a cell is solved, by one thread or several, is in ``system.py``.

Rows of a cell are shifted to its center first, if the kernel is one of differences: rounding errors are smaller there.
A cell with more rows than the limit has one row again and again (``tree.py``): its machine is the mean of the targets,
and all coefficients cancel, so that they are zero here.
"""

import time
from collections.abc import Callable
from math import inf
from typing import Annotated, Any, NamedTuple

import numpy as np

from frugalsvm._stored import stored
from frugalsvm.cells.system import NOTHING, WAIT, Room, System, begin_cell, cell_bytes, new_room, new_system, solve_some
from frugalsvm.cells.tree import Tree
from frugalsvm.compiling.threads import ONE_THREAD, Threads, blas_threads
from frugalsvm.core.capabilities import offers
from frugalsvm.core.factor import Library, library_for

__all__ = ["FACTOR", "Cells", "Examples", "solved_cells"]

FACTOR = 10.0  # times the regularization, where float64 is not enough either
_AT_A_TIME = 256  # parts that a thread does before it looks for Ctrl-C
_PAUSE = 5e-5  # seconds
# Fewer cells than this are shared by all threads, and so is the factorization of those with more rows than this. For
# one thread it takes a bit longer so, but what is learned does not depend on how many there are.
_MANY_CELLS, _LARGE = 32, 2048


class Examples(NamedTuple):
    """What is learned."""

    rows: np.ndarray  # (n_rows, n_features) as the kernel sees them
    targets: np.ndarray  # (n_outputs, n_rows) float32 or float64
    weights: np.ndarray  # (n_rows,) positive, or (0,) where all are 1


@stored("cells")
class Cells(NamedTuple):
    """A tree and the machines in its cells."""

    tree: Tree
    size: Annotated[int, (1, 2**62)]  # most rows of a cell, but for cells of rows that are all the same
    coef: Annotated[np.ndarray, "r on"]  # in the order of the tree's members, in the type of scores
    intercepts: Annotated[np.ndarray, "d ko"]  # (n_cells, n_outputs) float64
    centers: Annotated[np.ndarray, "d kf"]  # what is subtracted from rows before the kernel sees them

    def is_sound(self, sizes) -> bool:
        """Whether there is a machine for every cell, and a coefficient for every row."""
        return sizes["k"] == self.tree.n_cells and sizes["n"] == len(self.tree.members) == self.tree.starts[-1]


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
    memory: float = inf,
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
        Whether cells that the type of the rows is too coarse for are solved in float64. Coefficients and scores of the
        tree are in float64 then, too: in float32, rows that are close would have wrong scores.
    memory : float, default=inf
        Bytes that systems may take: as many cells are solved at a time as there is room for, and one at least. Where
        there is none for float64, they get more regularization instead.

    Returns
    -------
    Cells or None
        None where there are such cells, and it may not.
    """
    n_outputs, n_rows = examples.targets.shape
    n_features = examples.rows.shape[1]
    cells = Cells(
        tree,
        size,
        np.zeros((n_outputs, n_rows), examples.rows.dtype),
        np.zeros((tree.n_cells, n_outputs)),
        np.zeros((tree.n_cells, n_features)),
    )
    left = np.ones(tree.n_cells, np.int64)
    work = _Work(kernel, examples, cells, left, errors, threads, memory)
    dtype = examples.rows.dtype
    _solve(work, ridge, dtype, tell)
    if left.any() and not may_fall_back:
        return None
    if left.any() and dtype != np.float64 and work.bytes_in(np.float64) <= memory:
        dtype = np.dtype(np.float64)
        work = work._replace(cells=cells._replace(coef=cells.coef.astype(dtype)))
        _solve(work, ridge, dtype)
    while left.any():
        ridge *= FACTOR
        _solve(work, ridge, dtype)
    return work.cells


class _Work(NamedTuple):
    """What is to be solved, and with what."""

    kernel: Any
    examples: Examples
    cells: Cells
    left: np.ndarray  # (n_cells,) int64: 0 for cells that are solved
    errors: np.ndarray
    threads: Threads
    memory: float

    @property
    def sizes(self) -> np.ndarray:
        """Rows of the systems of all cells: none where rows are all the same."""
        sizes = self.cells.tree.sizes
        return np.where(sizes > self.cells.size, 0, sizes)

    def is_shared(self) -> np.ndarray:
        """Cells that threads share: this depends on the cells only."""
        return (self.sizes > _LARGE) & (self.cells.tree.n_cells < _MANY_CELLS)

    def dimensions(self) -> tuple[int, int, int]:
        """The largest system that is left: its rows, features and outputs."""
        return int(self.sizes[self.left != 0].max()), self.examples.rows.shape[1], len(self.examples.targets)

    def bytes_in(self, dtype: Any) -> int:
        """What that takes."""
        return cell_bytes(*self.dimensions(), dtype)


class CellTask(NamedTuple):
    """What threads work on."""

    kernel: Any
    examples: Examples
    cells: Cells
    left: np.ndarray
    errors: np.ndarray
    library: Library
    ridge: float
    is_centered: bool
    numbers: np.ndarray  # cells that threads take for themselves
    next_item: np.ndarray


def _solve(work: _Work, ridge: float, dtype: Any, tell: Callable[[int], None] = lambda n_cells: None) -> None:
    """Solve in a type what is left; what is not accurate is left again."""
    is_left, is_shared = work.left != 0, work.is_shared()
    alone, shared = np.flatnonzero(is_left & ~is_shared), np.flatnonzero(is_left & is_shared)
    most = int(max(1, min(work.threads.count, is_left.sum(), work.memory // max(1, work.bytes_in(dtype)))))
    systems = [new_system(*work.dimensions(), dtype, is_shared=len(shared) > 0) for _ in range(most)]
    is_centered = offers(work.kernel, "shift_invariant")
    task = CellTask(*work[:5], library_for(dtype), ridge, is_centered, alone, np.zeros(1, np.int64))
    with blas_threads(1):
        _solve_alone(task, systems[: len(alone)], work.threads, tell)
        for start in range(0, len(shared), most):
            _solve_together(task, shared[start : start + most], systems, work.threads)
            tell(len(alone) + min(start + most, len(shared)))


def _solve_alone(task: CellTask, systems: list[System], threads: Threads, tell: Callable[[int], None]) -> None:
    """A thread for a cell."""

    def work(system):
        room = new_room(len(system.norms), system.norms.dtype)
        try:
            while solve_some(task, system, room, _AT_A_TIME) != NOTHING:
                tell(min(int(task.next_item[0]), len(task.numbers)))
        except BaseException:
            task.next_item[0] = len(task.numbers)  # other threads take no more
            raise

    threads.run(work, systems)


def _solve_together(task: CellTask, cells: np.ndarray, systems: list[System], threads: Threads) -> None:
    """All threads for some cells, each first for one of its own."""
    systems = systems[: len(cells)]
    for system, cell in zip(systems, cells, strict=True):
        begin_cell(system, int(cell), int(task.cells.tree.sizes[cell]), True)

    def work(number):
        room = new_room(len(systems[0].norms), systems[0].norms.dtype)
        try:
            for k in range(len(systems)):
                _help(task, systems[(number + k) % len(systems)], room)
        except BaseException:
            for system in systems:
                system.is_given_up[0] = 1
            raise

    threads.run(work, range(threads.count))


def _help(task: CellTask, system: System, room: Room) -> None:
    """Do parts of a system until there are none left."""
    while (outcome := solve_some(task, system, room, _AT_A_TIME)) != NOTHING:
        if outcome == WAIT:
            time.sleep(_PAUSE)
