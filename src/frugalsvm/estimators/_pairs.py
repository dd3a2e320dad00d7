"""The examples of a one-vs-one classifier (`frugalsvm.exact.one_vs_one`)."""

from typing import NamedTuple

import numpy as np

from frugalsvm.exact.one_vs_one import solvers_of

__all__ = ["Examples", "no_examples"]


class Examples(NamedTuple):
    """The examples that a classifier has learned and not unlearned, in the order of their ids."""

    ids: np.ndarray  # (n,)
    labels: np.ndarray  # (n,) the indices of their classes
    slots: np.ndarray  # (n, n_classes - 1) their slots in the machines of their class

    def and_also(self, other):
        return Examples(*(np.concatenate(parts) for parts in zip(self, other, strict=True)))

    def at(self, indices):
        return Examples(*(part[indices] for part in self))

    def but(self, indices):
        return Examples(*(np.delete(part, indices, axis=0) for part in self))

    def by_solver(self):
        """Machine by machine: which it is, the indices of its examples of one class, and their slots."""
        n_classes = self.slots.shape[1] + 1
        for c in range(n_classes):
            indices = np.flatnonzero(self.labels == c)
            for column, m in enumerate(solvers_of(c, n_classes)):
                yield m, indices, self.slots[indices, column]

    def at_home(self):
        """Class by class: the first of its machines, the indices of its examples, and their slots there."""
        n_classes = self.slots.shape[1] + 1
        for c in range(n_classes):
            indices = np.flatnonzero(self.labels == c)
            yield solvers_of(c, n_classes)[0], indices, self.slots[indices, 0]


def no_examples(n_classes):
    return Examples(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, n_classes - 1), np.int64))
