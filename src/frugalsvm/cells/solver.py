"""The machine of one cell: a least-squares SVM of all its rows, and its exact leave-one-out predictions.

With the kernel matrix K of the cell's n rows, weights w of examples and a regularization ``lam = 1 / C``, the machine
``f(x) = sum_j a_j K(x, x_j) + b`` minimizes ``lam ||f||^2 + sum_i w_i (y_i - f(x_i))^2``, b not penalized (Suykens &
Vandewalle 1999). Its coefficients solve

    (K + D) a = y - b 1,  sum_i a_i = 0,  D = diag(lam / w).

With ``W = (K + D)^-1``, ``u = W 1`` and ``s = 1'W 1`` they are ``b = u'y / s`` and ``a = W y - b u``. The machine that
has not learned row i predicts (the border of the system removed as in Cawley & Talbot 2004)

    f_i(x_i) = y_i - a_i / (W_ii - u_i^2 / s).

One Cholesky factorization ``K + D = L L'`` (``core/factor.py``) serves all outputs and, by the columns of ``L^-1``, the
diagonal of W.

Rows of a cell are shifted to its center first, if the kernel is one of differences: rounding errors are smaller there.
A cell with more rows than the limit has one row again and again (``tree.py``): its machine is the mean of the targets,
and all coefficients cancel, so that they are zero here.

A system is solved in parts: by one thread, or by all that take parts of it; ``phases.py`` says what the parts are. A
thread takes the next part, of whatever phase, waits until all parts of the phases before are done, and does it. So it
does not matter how many threads there are, nor when they come. What a part computes does not depend on them. Who has to
wait for more than a moment does so in Python, asleep: the thread that is waited for may need the processor.
"""

import time
from collections.abc import Callable
from math import inf
from typing import Annotated, Any, NamedTuple

import numpy as np

from frugalsvm._stored import stored
from frugalsvm.cells.phases import (
    AFTER,
    BEFORE,
    BLOCK_ROWS,
    PADDING,
    PANEL_ROWS,
    SWEEP_BLOCK,
    do_part,
    has_mean_only,
    parts_of_phase,
    take_mean,
)
from frugalsvm.cells.tree import Tree
from frugalsvm.compiling.functions import add_to, compiled, entry, value_of
from frugalsvm.compiling.threads import ONE_THREAD, Threads, blas_threads
from frugalsvm.core.capabilities import offers
from frugalsvm.core.factor import Library, library_for, new_integers
from frugalsvm.core.sweep import n_blocks_of

# --- the system of one cell ------------------------------------------------------------------------------------------

NOTHING, MORE, WAIT = range(3)  # what is left for a thread
_MOST_LOOKS = 2**15  # before a thread goes to sleep, in some 50 microseconds


class System(NamedTuple):
    """Memory for a cell, and what threads that solve it tell each other."""

    rows: np.ndarray  # (capacity, n_features) of the cell
    columns: np.ndarray  # the same, panel after panel of PANEL_ROWS, in each of them feature after feature
    norms: np.ndarray
    matrix: np.ndarray  # (capacity^2,)
    panel: np.ndarray  # of a sweep
    right: np.ndarray  # ((n_outputs + 1) * capacity,) right sides, then solutions; u is the last
    half: np.ndarray  # the same, halfway to solutions
    diagonal: np.ndarray  # (capacity,) of W
    values: np.ndarray  # (capacity,) ``(K + D) z``
    signs: np.ndarray  # (capacity,) z
    checks: np.ndarray  # (n_outputs + 1,) products of right sides with z
    plan: np.ndarray  # (3,) the cell, its number of phases, and how many of them are a sweep's
    starts: np.ndarray  # (n_phases + 1,) the number of parts before each phase
    next_part: np.ndarray
    n_done: np.ndarray  # parts
    is_too_coarse: np.ndarray  # 1 where the type is
    is_given_up: np.ndarray  # 1 after an error in a thread


class Room(NamedTuple):
    """Memory of one thread."""

    products: np.ndarray  # (BLOCK_ROWS * PANEL_ROWS,)
    integers: np.ndarray  # for routines of the library
    taken: np.ndarray  # (1,) a part that has to wait, or -1


def capacity_for(size: int) -> int:
    """Rows that there must be memory for, with padding."""
    return -(-size // PADDING) * PADDING


def _random_signs(n: int, dtype: Any) -> np.ndarray:
    return np.random.default_rng(0).choice(np.array([-1.0, 1.0], dtype), n)


def cell_bytes(size: int, n_features: int, n_outputs: int, dtype: Any) -> int:
    """About the bytes that it takes to solve a cell of ``size`` rows."""
    values = size * (size + 2 * n_features + 2 * n_outputs + SWEEP_BLOCK + 8) + BLOCK_ROWS * min(size, PANEL_ROWS)
    return values * np.dtype(dtype).itemsize


def new_system(size: int, n_features: int, n_outputs: int, dtype: Any, *, is_shared: bool) -> System:
    """Memory for cells of up to ``size`` rows."""
    capacity, n_blocks, n_right = capacity_for(size), -(-size // SWEEP_BLOCK), n_outputs + 1
    return System(
        np.zeros((capacity, n_features), dtype),
        np.zeros(n_features * capacity, dtype),
        np.zeros(capacity, dtype),
        np.empty(capacity * capacity, dtype),
        np.empty(n_blocks * SWEEP_BLOCK**2 if is_shared else 0, dtype),
        np.zeros(n_right * capacity, dtype),
        np.zeros(n_right * capacity, dtype),
        np.zeros(capacity),
        np.zeros(capacity, dtype),
        _random_signs(capacity, dtype),
        np.zeros(n_right),
        np.zeros(3, np.int64),
        np.zeros(BEFORE + 2 * n_blocks + AFTER + 1, np.int64),
        *(np.zeros(1, np.int64) for _ in range(4)),
    )


def new_room(size: int, dtype: Any) -> Room:
    """Memory of a thread for cells of up to a number of rows."""
    products = np.zeros(BLOCK_ROWS * min(capacity_for(size), PANEL_ROWS), dtype)
    return Room(products, new_integers(), np.full(1, -1))


# --- parts --------------------------------------------------------------------------------------------------


@entry
def begin_cell(system, cell, n, is_swept):
    """Be ready to solve a cell of n rows."""
    _begin(system, cell, n, is_swept)


@compiled
def _begin(system, cell, n, is_swept):
    n_stages = 2 * n_blocks_of(n, SWEEP_BLOCK) if is_swept else 0
    system.plan[0], system.plan[1], system.plan[2] = cell, BEFORE + n_stages + AFTER, n_stages
    for phase in range(system.plan[1]):
        system.starts[phase + 1] = system.starts[phase] + parts_of_phase(n, phase, n_stages)
    system.next_part[0] = system.n_done[0] = system.is_too_coarse[0] = 0


@entry
def solve_some(task, system, room, n_parts):
    """Do about a given number of parts of a system, and then of cells that no other thread has taken.

    Returns MORE, WAIT where others must do their parts first, or NOTHING if no part is left.
    """
    starts = task.cells.tree.starts
    for _ in range(n_parts):
        outcome = _do_next(task, system, room)
        if outcome == WAIT:
            return WAIT
        if outcome == NOTHING:
            item = add_to(task.next_item, 1)
            if item >= task.numbers.size:
                return NOTHING
            cell = task.numbers[item]
            n = starts[cell + 1] - starts[cell]
            if has_mean_only(n, task.cells.size):
                take_mean(task, cell, starts[cell], n)
                task.left[cell] = 0
            else:
                _begin(system, cell, n, False)
    return MORE


@compiled
def _do_next(task, system, room):
    """Do the next part, if all of the phases before are done."""
    if value_of(system.is_given_up) != 0:
        return NOTHING
    part = room.taken[0] if room.taken[0] >= 0 else add_to(system.next_part, 1)
    phase, n_phases = 0, system.plan[1]
    while phase < n_phases and part >= system.starts[phase + 1]:
        phase += 1
    if phase == n_phases:
        return NOTHING
    room.taken[0] = part
    n_looks = 0
    while value_of(system.n_done) < system.starts[phase]:
        n_looks += 1
        if n_looks == _MOST_LOOKS:
            return WAIT
    if system.is_too_coarse[0] == 0:
        do_part(task, system, room, phase, part - system.starts[phase])
    room.taken[0] = -1
    add_to(system.n_done, 1)
    return MORE


# --- all cells -------------------------------------------------------------------------------------------------------

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
