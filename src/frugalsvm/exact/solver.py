"""A state with its cache of kernel rows: made, enlarged, saved and brought back."""

from typing import NamedTuple

import numpy as np

from frugalsvm._stored import stored
from frugalsvm.core.cache import KernelRows, new_rows, resized_rows
from frugalsvm.exact.state import ExactState, new_state, resized_state

FIRST_SLOTS, FIRST_ROOM = 256, 64


_RENAMED = {"exact": "state", "rows": "cache"}


@stored("exact-machine", earlier=lambda fields: {_RENAMED.get(name, name): each for name, each in fields.items()})
class ExactSolver(NamedTuple):
    """The state of an exact SVM and its cache of kernel rows."""

    state: ExactState
    cache: KernelRows


class Saved(NamedTuple):
    """What a solver was, but for the factor."""

    state: ExactState
    arrays: list


def new_solver(n_features, cache_bytes, n_slots=FIRST_SLOTS, room=FIRST_ROOM):
    state = new_state(n_slots, n_features, room)
    return ExactSolver(state, new_rows(cache_bytes, state.points.rows.shape[0], np.float64))


def solver_of(state, cache_bytes, buffer=None):
    """A solver with the state of another one, and an empty cache."""
    n = int(state.points.counts[0]["n_slots"])
    filled = np.setdiff1d(np.arange(n), state.free_slots[: state.counts[0]["n_free"]])
    return ExactSolver(state, new_rows(cache_bytes, state.points.rows.shape[0], np.float64, buffer, filled))


def capacity_of(solver):
    """Number of points that there is room for."""
    return solver.state.points.rows.shape[0]


def enlarged(solver, n_slots):
    """The solver with room for ``n_slots`` points."""
    state = resized_state(solver.state, n_slots)
    return ExactSolver(state, resized_rows(solver.cache, state.points.rows.shape[0]))


def doubled(room):
    """How a margin set that has no room grows."""
    return 2 * room


def model_arrays(state, *, factor):
    """All arrays that a change of the solution may change, with or without the factor, which is the largest."""
    own = [array for array in state[1:] if factor or array is not state.R]
    return [*own, state.points.coef, state.points.weights, state.points.counts["n_slots"]]


def saved(solver):
    """What is needed to undo changes."""
    return Saved(solver.state, [array.copy() for array in model_arrays(solver.state, factor=False)])
