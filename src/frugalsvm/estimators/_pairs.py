"""Pairs of classes and the examples of a one-vs-one classifier.

There is a machine for each pair of classes; the second class is the positive one. An example is in the machines of its
class, one for each other class, in a slot of its own there.
"""

from typing import NamedTuple

import numpy as np

from frugalsvm._stored import stored

__all__ = ["Examples", "machines_of", "no_examples", "pairs_of", "votes"]


def pairs_of(n_classes):
    """The pairs of classes in the order of their machines."""
    return [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]


def machines_of(c, n_classes):
    """The machines of class c, in the order of the other classes."""
    return [m for m, pair in enumerate(pairs_of(n_classes)) if c in pair]


def votes(values, n_classes):
    """Scores of the classes from the decision values of all pairs: votes, and less than a third for their sizes.

    The same as those of `sklearn.svm.SVC`: most votes win, and ties are broken by the sum of the decision values.
    """
    scores, sizes = np.zeros((2, len(values), n_classes))
    for (first, second), value in zip(pairs_of(n_classes), values.T, strict=True):
        scores[:, first] += value < 0
        scores[:, second] += value >= 0
        sizes[:, first] -= value
        sizes[:, second] += value
    return scores + sizes / (3.0 * (np.abs(sizes) + 1.0))


@stored("examples", arrays={"ids": "i n", "labels": "i n", "slots": "i nk"})
class Examples(NamedTuple):
    """The examples that a classifier has learned and not unlearned, in the order of their ids."""

    ids: np.ndarray  # (n,)
    labels: np.ndarray  # (n,) the places of their classes
    slots: np.ndarray  # (n, n_classes - 1) their slots in the machines of their class

    def and_also(self, other):
        return Examples(*(np.concatenate(parts) for parts in zip(self, other, strict=True)))

    def at(self, places):
        return Examples(*(part[places] for part in self))

    def but(self, places):
        return Examples(*(np.delete(part, places, axis=0) for part in self))

    def in_machines(self):
        """Machine by machine: which it is, the places of its examples of one class, and their slots."""
        n_classes = self.slots.shape[1] + 1
        for c in range(n_classes):
            places = np.flatnonzero(self.labels == c)
            for column, m in enumerate(machines_of(c, n_classes)):
                yield m, places, self.slots[places, column]

    def at_home(self):
        """Class by class: the first of its machines, the places of its examples, and their slots there."""
        n_classes = self.slots.shape[1] + 1
        for c in range(n_classes):
            places = np.flatnonzero(self.labels == c)
            yield machines_of(c, n_classes)[0], places, self.slots[places, 0]


def no_examples(n_classes):
    return Examples(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, n_classes - 1), np.int64))
