"""One-vs-one: a solver for each pair of classes, and one model of all of them.

Of each pair, the second class is the positive one. An example is in the solvers of its class, one for each other class,
in a slot of its own there. Lists of solvers are changed in place.
"""

from typing import Annotated, NamedTuple

import numpy as np

from frugalsvm._stored import stored
from frugalsvm.compiling.threads import ONE_THREAD
from frugalsvm.core.expansion import new_expansion
from frugalsvm.core.predict import decision_values
from frugalsvm.exact.incremental import learn, left_out
from frugalsvm.exact.kkt import is_pinned, optimal_bias


def pairs_of(n_classes):
    """The pairs of classes in the order of their solvers."""
    return [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]


def solvers_of(c, n_classes):
    """The solvers of class c, in the order of the other classes."""
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


@stored("examples")
class Examples(NamedTuple):
    """The examples that a classifier has learned and not unlearned, in the order of their ids."""

    ids: Annotated[np.ndarray, "i n"]  # (n,)
    labels: Annotated[np.ndarray, "i n"]  # (n,) the indices of their classes
    slots: Annotated[np.ndarray, "i nk"]  # (n, n_classes - 1) their slots in the solvers of their class

    def and_also(self, other):
        return Examples(*(np.concatenate(parts) for parts in zip(self, other, strict=True)))

    def at(self, indices):
        return Examples(*(part[indices] for part in self))

    def but(self, indices):
        return Examples(*(np.delete(part, indices, axis=0) for part in self))

    def by_solver(self):
        """Solver by solver: which it is, the indices of its examples of one class, and their slots."""
        n_classes = self.slots.shape[1] + 1
        for c in range(n_classes):
            indices = np.flatnonzero(self.labels == c)
            for column, m in enumerate(solvers_of(c, n_classes)):
                yield m, indices, self.slots[indices, column]

    def at_home(self):
        """Class by class: the first of its solvers, the indices of its examples, and their slots there."""
        n_classes = self.slots.shape[1] + 1
        for c in range(n_classes):
            indices = np.flatnonzero(self.labels == c)
            yield solvers_of(c, n_classes)[0], indices, self.slots[indices, 0]


def no_examples(n_classes):
    return Examples(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, n_classes - 1), np.int64))


def learn_pairs(kernel, solvers, X, labels, boxes, n_classes, next_room, threads=ONE_THREAD):
    """Learn rows, each in the solvers of its class; returns their slots there, ``(n_rows, n_classes - 1)``.

    ``next_room(m)`` is how the margin set of solver m grows (see `frugalsvm.exact.incremental.learn`).
    """
    slots, pairs = np.zeros((len(labels), n_classes - 1), np.int64), pairs_of(n_classes)

    def learn_pair(m):
        first, second = pairs[m]
        rows = np.flatnonzero((labels == first) | (labels == second))
        if len(rows) > 0:
            here, positive = X if len(rows) == len(labels) else X[rows], labels[rows] == second
            signs, taken = np.where(positive, 1, -1), np.zeros(len(rows), np.int64)
            solvers[m] = learn(kernel, solvers[m], here, signs, boxes[rows], taken, next_room(m))
            slots[rows, np.where(positive, first, second - 1)] = taken

    threads.run(learn_pair, range(len(pairs)))
    return slots


def support_of(examples, solvers):
    """The indices of the examples that have a coefficient, and all coefficients, a row for each solver."""
    coef = np.zeros((len(solvers), len(examples.ids)))
    for m, indices, slots in examples.by_solver():
        coef[m, indices] = solvers[m].state.points.coef[0, slots]
    indices = np.flatnonzero(coef.any(axis=0))
    return indices, coef[:, indices]


def expansion_of(examples, solvers, n_learned):
    """One expansion with the support vectors of all solvers, each once, and an output for each solver."""
    indices, coef = support_of(examples, solvers)
    n = len(indices)
    whole = new_expansion(max(n, 1), solvers[0].state.points.rows.shape[1], len(solvers), np.float64)
    whole.coef[:, :n] = coef
    for m, here, slots in examples.at(indices).at_home():
        points = solvers[m].state.points
        whole.rows[here], whole.norms[here] = points.rows[slots], points.norms[slots]
    whole.counts[0]["n_slots"], whole.counts[0]["n_seen"] = n, n_learned
    for name in ("n_updates", "n_kernel_evals"):
        whole.counts[0][name] = sum(int(solver.state.points.counts[0][name]) for solver in solvers)
    return whole


def _pair_values(kernel, expansion, bias, X):
    """The decision values of all pairs."""
    return decision_values(kernel, expansion, X, in_float64=True) + bias


def left_out_values(kernel, examples, solvers, next_room, threads=ONE_THREAD):
    """The decision values of all pairs for each example, by the model that has learned all but this one."""
    values = np.zeros((len(examples.ids), len(solvers)))
    if len(solvers) > 1:  # those that do not know the class of an example
        expansion, bias = expansion_of(examples, solvers, 0), [optimal_bias(solver.state) for solver in solvers]
        for m, indices, slots in examples.at_home():
            values[indices] = _pair_values(kernel, expansion, bias, solvers[m].state.points.rows[slots])
    both_classes = [[] for _ in solvers]
    for m, indices, slots in examples.by_solver():
        both_classes[m].append((indices, slots))

    def leave_out(m):
        solver, room = solvers[m], next_room(m)
        state = solver.state
        for indices, slots in both_classes[m]:
            values[indices, m] = state.scores[slots] + state.scalars[0]["bias"]
            matters = (state.points.coef[0, slots] != 0.0) | (not is_pinned(state))
            for index, slot in zip(indices[matters], slots[matters], strict=True):
                values[index, m] = left_out(kernel, solver, slot, room)

    threads.run(leave_out, range(len(solvers)))
    return values
