"""The system of one cell, solved in parts: by one thread, or by all that take parts of it.

`solver.py` says what is solved, and `phases.py` what the parts are. A thread takes the next part, of whatever phase,
waits until all parts of the phases before are done, and does it. So it does not matter how many threads there are, nor
when they come. What a part computes does not depend on them. Who has to wait for more than a moment does so in Python,
asleep: the thread that is waited for may need the processor.
"""

from typing import Any, NamedTuple

import numpy as np

from frugalsvm.cells.gathering import BLOCK_ROWS, PANEL_ROWS, capacity_for
from frugalsvm.cells.phases import AFTER, BEFORE, SWEEP_BLOCK, do_part, has_mean_only, parts_of_phase, take_mean
from frugalsvm.compiling.functions import add_to, compiled, entry, value_of
from frugalsvm.core.factor import new_integers
from frugalsvm.core.sweep import n_blocks_of

__all__ = [
    "MORE",
    "NOTHING",
    "WAIT",
    "Room",
    "System",
    "begin_cell",
    "cell_bytes",
    "new_room",
    "new_system",
    "solve_some",
]

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
