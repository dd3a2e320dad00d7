"""How good metrics are, told by rows that none of them saw, and whether one is better than another by more than chance.

Judges and other rows are divided into leaves of a tree in the metric, and each judge is predicted by a machine of the
other rows of its leaf: a leave-one-out error. Metrics are compared by what counts: wrong classes, or squared errors.
"""

from typing import Any, NamedTuple

import numpy as np

from frugalsvm.arrays.namespace import on_host
from frugalsvm.compiling.threads import ONE_THREAD, Threads
from frugalsvm.core.metric import mapped
from frugalsvm.metric_learning.batches import leaves
from frugalsvm.metric_learning.descent import Point
from frugalsvm.metric_learning.leave_one_out import for_each, machine_of
from frugalsvm.metric_learning.machine import Rows, kernel_values

__all__ = ["OVER_LEARNED", "OVER_PLAIN", "Judgment", "is_better", "judge"]

_LEAF_ROWS = 512
# Standard errors. On mere noise, one of two other metrics passes the plain one in about a tenth of races; with one
# standard error, in a quarter.
OVER_PLAIN, OVER_LEARNED = 2.0, 1.0


class Judgment(NamedTuple):
    point: Point
    squares: np.ndarray  # squared errors of the judges, all outputs together
    losses: np.ndarray  # what counts: the same, or 1 for each wrong class
    weights: np.ndarray  # of the judges

    @property
    def squared_error(self) -> float:
        return float(np.average(self.squares, weights=self.weights))

    @property
    def error(self) -> float:
        return float(np.average(self.losses, weights=self.weights))


def judge(
    kernel: Any,
    point: Point,
    rows: Rows,
    n_judges: int,
    rng: np.random.Generator,
    *,
    classes: bool,
    most_leaves: int | None = None,
    threads: Threads = ONE_THREAD,
) -> Judgment:
    """The errors of machines with a metric on the judges, which are the first rows, or on those in some leaves."""
    U = mapped(rows.X, point.A)
    index = leaves(U, _LEAF_ROWS, rng)
    index = index[rng.permutation(len(index))[:most_leaves]]

    def errors_of(part):
        return on_host(machine_of(kernel_values(kernel, part.X, part.X), point.ridge, part).errors)

    errors = np.empty(rows.targets.shape)
    found = for_each(errors_of, rows._replace(X=U), index, threads)
    index = on_host(index)
    errors[index] = np.reshape(found, (*index.shape, -1))
    judges = np.sort(index[index < n_judges])
    errors, targets, weights = errors[judges], on_host(rows.targets)[judges], on_host(rows.weights)[judges]
    squares = (errors**2).sum(axis=1)
    losses = _is_wrong(targets - errors, targets) if classes else squares
    return Judgment(point, squares, losses, weights)


def _is_wrong(scores, targets) -> np.ndarray:
    """1 for a row whose class is not that of its largest score, or of the sign of its only one."""
    if targets.shape[1] == 1:
        wrong = ((scores > 0) != (targets > 0))[:, 0]
    else:
        wrong = scores.argmax(axis=1) != targets.argmax(axis=1)
    return wrong.astype(float)


def is_better(one: Judgment, other: Judgment, margin: float = OVER_PLAIN) -> bool:
    """Whether losses are smaller by more than the margin: standard errors of the mean difference, row by row."""
    gains, weights = other.losses - one.losses, one.weights
    mean = np.average(gains, weights=weights)
    spread = np.average((gains - mean) ** 2, weights=weights)
    return bool(mean > margin * np.sqrt(spread * np.square(weights).sum()) / weights.sum())
