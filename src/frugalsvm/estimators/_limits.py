"""Machines that grow with the data, within a limit of memory."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from frugalsvm.core.expansion import N_SLOTS
from frugalsvm.estimators._online import OnlineClassifier
from frugalsvm.estimators._pairs import Examples
from frugalsvm.exact.machine import Machine, capacity_of, enlarged, learning_bytes, machine_bytes
from frugalsvm.exact.one_vs_one import pairs_of
from frugalsvm.exact.state import N_FREE

__all__ = ["MEGABYTE", "LimitedMemory"]

MEGABYTE = 2**20


class LimitedMemory(OnlineClassifier):
    """The part of a classifier with exact machines that gives them room, or refuses to."""

    _machines: list[Machine]  # changed in place, so that it is the same list after `unchanged_on_error`
    _examples: Examples

    def _bytes(self, capacities, rooms):
        """About what all arrays take if the machines have room for so many points and margin vectors."""
        sizes = zip(capacities, rooms, strict=True)
        total = sum(machine_bytes(*size, self.n_features_in_, self._cache_bytes) for size in sizes)
        return total + sum(part.nbytes for part in self._examples)

    def _sizes(self):
        """Room for points and for margin vectors, of each machine."""
        return [capacity_of(m) for m in self._machines], [m.exact.margin.size for m in self._machines]

    def _fits(self, n_bytes):
        return self.max_memory is None or n_bytes <= self.max_memory * MEGABYTE

    def _refuse(self, n_bytes, what):
        raise MemoryError(
            f"{what} needs about {n_bytes / MEGABYTE:.1f} MB, but max_memory is {self.max_memory} MB. Set a larger "
            f"max_memory, a smaller cache_size (it is {self.cache_size} MB), or unlearn examples."
        )

    def _reserve(self, X, labels):
        """Give the machines room for a batch: twice what they had, or what is needed if that is too much."""
        old, rooms = self._sizes()
        counts = np.bincount(labels, minlength=len(self.classes_))
        pairs = pairs_of(len(self.classes_))
        held = [int(m.exact.points.counts[N_SLOTS] - m.exact.counts[N_FREE]) for m in self._machines]
        needed = [n + int(counts[list(pair)].sum()) for n, pair in zip(held, pairs, strict=True)]
        least = [max(sizes) for sizes in zip(old, needed, strict=True)]
        ample = [size if size == had else max(size, 2 * had) for size, had in zip(least, old, strict=True)]
        beside = (len(self.classes_) + 1) * labels.nbytes + X.data.nbytes
        beside += 8 * max(old) * self.n_features_in_  # points are copied when they get more room
        for sizes in (ample, least):
            n_bytes = self._bytes(sizes, rooms) + beside + learning_bytes(max(sizes), X)
            if self._fits(n_bytes):
                for m, machine in enumerate(self._machines):
                    if sizes[m] > old[m]:
                        self._machines[m] = enlarged(machine, sizes[m])
                return
        self._refuse(n_bytes, f"Learning {len(labels)} examples on top of {len(self._examples.ids)}")

    def _next_room(self, m):
        """How much room the margin set of machine m gets when it is full."""

        def next_room(room):
            capacities, rooms = self._sizes()
            for larger in (2 * room, room + room // 4, room + 16):
                rooms[m] = larger
                n_bytes = self._bytes(capacities, rooms) + 8 * room * room  # the old factor is copied
                if self._fits(n_bytes):
                    return larger
            return self._refuse(n_bytes, f"Having more than {room} margin vectors")

        return next_room

    @property
    def training_bytes_(self):
        """About the bytes of all arrays that learning keeps."""
        check_is_fitted(self)
        return self._bytes(*self._sizes())
