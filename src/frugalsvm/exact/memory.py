"""What the solvers of a one-vs-one classifier take of memory, and room for them within a limit.

Lists of solvers are changed in place.
"""

from typing import NamedTuple

import numpy as np

from frugalsvm.core.cache import FEWEST_ROWS
from frugalsvm.core.dense_sources import FEW_FEATURES, ODD_SLOTS
from frugalsvm.core.expansion import padded
from frugalsvm.core.lookahead import LONG_BLOCK_ROWS, SHORT_BLOCK_ROWS
from frugalsvm.core.sparse_source import PACKED_BYTES, WHOLE_BYTES
from frugalsvm.exact.one_vs_one import pairs_of
from frugalsvm.exact.solver import capacity_of, enlarged


class TooLittleMemoryError(MemoryError):
    """Something needs more bytes than the limit."""

    def __init__(self, what, n_bytes):
        super().__init__(f"{what} needs about {n_bytes} bytes.")
        self.what, self.n_bytes = what, n_bytes


class MemoryLimit(NamedTuple):
    n_bytes: float  # of all arrays; infinite where there is no limit
    n_features: int
    cache_bytes: int  # of each solver
    example_bytes: int  # what is known of the examples besides

    def taken(self, capacities, rooms):
        """About what all arrays take if the solvers have room for given numbers of points and margin vectors."""
        sizes = zip(capacities, rooms, strict=True)
        return sum(solver_bytes(*size, self.n_features, self.cache_bytes) for size in sizes) + self.example_bytes

    def taken_by(self, solvers):
        """What they take now."""
        return self.taken(*_sizes(solvers))

    def reserve(self, solvers, X, labels, n_classes, n_known):
        """Give solvers room for a batch on top of ``n_known`` examples: twice what they had, or what is needed."""
        old, rooms = _sizes(solvers)
        counts = np.bincount(labels, minlength=n_classes)
        kept = [int(s.state.points.counts[0]["n_slots"] - s.state.counts[0]["n_free"]) for s in solvers]
        needed = [n + int(counts[list(pair)].sum()) for n, pair in zip(kept, pairs_of(n_classes), strict=True)]
        least = [max(sizes) for sizes in zip(old, needed, strict=True)]
        ample = [size if size == had else max(size, 2 * had) for size, had in zip(least, old, strict=True)]
        beside = (n_classes + 1) * labels.nbytes + X.data.nbytes
        beside += 8 * max(old) * self.n_features  # points are copied when they get more room
        for sizes in (ample, least):
            n_bytes = self.taken(sizes, rooms) + beside + learning_bytes(max(sizes), X)
            if n_bytes <= self.n_bytes:
                for m, solver in enumerate(solvers):
                    if sizes[m] > old[m]:
                        solvers[m] = enlarged(solver, sizes[m])
                return
        raise TooLittleMemoryError(f"Learning {len(labels)} examples on top of {n_known}", n_bytes)

    def next_room(self, solvers, m):
        """How much room the margin set of solver m gets when it is full: a function of its present room."""

        def next_room(room):
            capacities, rooms = _sizes(solvers)
            for larger in (2 * room, room + room // 4, room + 16):
                rooms[m] = larger
                n_bytes = self.taken(capacities, rooms) + 8 * room * room  # the old factor is copied
                if n_bytes <= self.n_bytes:
                    return larger
            raise TooLittleMemoryError(f"Having more than {room} margin vectors", n_bytes)

        return next_room


def _sizes(solvers):
    """Room for points and for margin vectors, of each solver."""
    return [capacity_of(solver) for solver in solvers], [solver.state.margin_slots.size for solver in solvers]


def solver_bytes(n_slots, room, n_features, cache_bytes):
    """What the arrays of a solver take: those of its points and what was saved of them, the factor, the cache."""
    capacity = padded(n_slots)
    per_point = 8 * (n_features + 5) + (8 * 8 + 1 + 8 + 8) + (8 + 16 + 8 + 8 + 3 * 8) + (8 * 8 + 1 + 8 + 8 + 2 * 8)
    cached = min(max(cache_bytes, 8 * FEWEST_ROWS * capacity), 8 * capacity**2)
    return capacity * per_point + 8 * room * (room + 5) + cached


def learning_bytes(n_slots, X):
    """What learning the rows of ``X`` takes besides, at most, for the products with points (``core/sources.py``)."""
    n_rows, n_features = X.shape
    column = 8 * (padded(n_slots) + ODD_SLOTS)
    if isinstance(X, np.ndarray):
        return column * (n_features + (0 if n_features <= FEW_FEATURES else SHORT_BLOCK_ROWS) + 2)
    return min(column * n_features, WHOLE_BYTES if n_rows > LONG_BLOCK_ROWS else PACKED_BYTES)
