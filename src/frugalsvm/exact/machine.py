"""A learner's state with its cache: made, enlarged, saved and brought back, and what it takes of memory."""

from typing import NamedTuple

import numpy as np

from frugalsvm._stored import stored
from frugalsvm.core.cache import FEWEST_ROWS, KernelRows, new_rows, resized_rows
from frugalsvm.core.dense_sources import FEW_FEATURES
from frugalsvm.core.expansion import padded
from frugalsvm.core.lookahead import LONG_BLOCK_ROWS
from frugalsvm.core.sparse_source import PACKED_BYTES, WHOLE_BYTES
from frugalsvm.exact.state import N_FREE, Exact, new_exact, resized_exact

__all__ = [
    "Machine",
    "Saved",
    "capacity_of",
    "doubled",
    "enlarged",
    "machine_bytes",
    "machine_of",
    "new_machine",
    "saved",
]

FIRST_SLOTS, FIRST_ROOM = 256, 64
BLOCK_ROWS = 32  # examples whose kernel values are computed together


@stored("exact-machine")
class Machine(NamedTuple):
    """The state of a learner and its cache of kernel rows."""

    exact: Exact
    rows: KernelRows


class Saved(NamedTuple):
    """What a machine was, but for the factor."""

    exact: Exact
    arrays: list


def new_machine(n_features, cache_bytes, n_slots=FIRST_SLOTS, room=FIRST_ROOM):
    exact = new_exact(n_slots, n_features, room)
    return Machine(exact, new_rows(cache_bytes, exact.points.rows.shape[0], np.float64))


def machine_of(exact, cache_bytes, buffer=None):
    """A machine with the state of another one, and an empty cache."""
    n = int(exact.points.counts[0]["n_slots"])
    filled = np.setdiff1d(np.arange(n), exact.free[: exact.counts[N_FREE]])
    return Machine(exact, new_rows(cache_bytes, exact.points.rows.shape[0], np.float64, buffer, filled))


def capacity_of(machine):
    """Number of points that there is room for."""
    return machine.exact.points.rows.shape[0]


def enlarged(machine, n_slots):
    """The machine with room for ``n_slots`` points."""
    exact = resized_exact(machine.exact, n_slots)
    return Machine(exact, resized_rows(machine.rows, exact.points.rows.shape[0]))


def doubled(room):
    """How a margin set that has no room grows."""
    return 2 * room


def model_arrays(exact, *, factor):
    """All arrays that a change of the solution may change, with or without the factor, which is the largest."""
    own = [array for array in exact[1:] if factor or array is not exact.R]
    return [*own, exact.points.coef, exact.points.weights, exact.points.counts["n_slots"]]


def saved(machine):
    """What is needed to undo changes."""
    return Saved(machine.exact, [array.copy() for array in model_arrays(machine.exact, factor=False)])


def machine_bytes(n_slots, room, n_features, cache_bytes):
    """What the arrays of a machine take: those of its points and what was saved of them, the factor, the cache."""
    capacity = padded(n_slots)
    per_point = 8 * (n_features + 5) + (8 * 8 + 1 + 8 + 8) + (8 + 16 + 8 + 8 + 3 * 8) + (8 * 8 + 1 + 8 + 8 + 2 * 8)
    cached = min(max(cache_bytes, 8 * FEWEST_ROWS * capacity), 8 * capacity**2)
    return capacity * per_point + 8 * room * (room + 5) + cached


def learning_bytes(n_slots, X):
    """What learning the rows of ``X`` takes besides, at most, for the products with points (``core/sources.py``)."""
    n_rows, n_features = X.shape
    column = 8 * padded(n_slots)
    if isinstance(X, np.ndarray):
        return column * ((n_features if n_features <= FEW_FEATURES else BLOCK_ROWS) + 2)
    return min(column * n_features, WHOLE_BYTES if n_rows > LONG_BLOCK_ROWS else PACKED_BYTES)
