"""The way down to a good metric: steps along gradients of leave-one-out losses, each of new batches.

First a factor for each feature, by their logarithms: features that are noise lose theirs. Then, from there, a matrix:
directions across features. Steps are Adam's; the metric is the mean of the last third of them, when they have become
short. What it costs hardly depends on the number of rows.

D. P. Kingma and J. Ba, "Adam: a method for stochastic optimization", 2015.
"""

from typing import Any, NamedTuple

import numpy as np

from frugalsvm.arrays.namespace import arrays_of
from frugalsvm.compiling.threads import ONE_THREAD, Threads
from frugalsvm.metric_learning.batches import some_leaves
from frugalsvm.metric_learning.leave_one_out import judged
from frugalsvm.metric_learning.machine import Rows

__all__ = ["Plan", "Point", "descend"]

_MOMENTS = 0.9, 0.99
_TINY = 1e-12
_RIDGES = 1e-7, 1.0  # the smallest and the largest
_RIDGE_RATE = 0.15  # of its logarithm
_STEPS_PER_TREE = 8  # it is one of the metric when it was grown


class Plan(NamedTuple):
    rate: float  # length of a step: of logarithms of factors; for a matrix, in units of the largest number of a column
    n_steps: int
    n_rows: int = 256  # of a batch
    n_batches: int = 4  # of a step

    def share_at(self, step: int) -> float:
        """The length of a step, in full ones: 1 for the first half, then falling to zero."""
        return min(1.0, 2.0 * (1.0 - step / self.n_steps))


class _Batches:
    """The batches of each step: leaves of a tree, each of them once, and then those of another one."""

    def __init__(self, rows, plan, rng):
        self.rows, self.plan, self.rng, self._waiting = rows, plan, rng, []

    def at(self, A):
        """Neighbors in a metric."""
        plan = self.plan
        if len(self._waiting) == 0:
            self._waiting = some_leaves(self.rows.X, A, plan.n_rows, _STEPS_PER_TREE * plan.n_batches, self.rng)
        found, self._waiting = self._waiting[: plan.n_batches], self._waiting[plan.n_batches :]
        return found


class Point(NamedTuple):
    """A metric, as factors of features (d,) or as a matrix (d, d), and the ridge that goes with it."""

    A: Any
    ridge: float


class _Adam:
    """Steps of about the same length for all parameters, whatever the sizes of their gradients."""

    def __init__(self):
        self._mean = self._square = 0.0
        self._n_steps = 0

    def step(self, gradient):
        self._n_steps += 1
        fast, slow = _MOMENTS
        self._mean = fast * self._mean + (1 - fast) * gradient
        self._square = slow * self._square + (1 - slow) * gradient**2
        mean, square = self._mean / (1 - fast**self._n_steps), self._square / (1 - slow**self._n_steps)
        return mean / (square**0.5 + _TINY)


def descend(
    kernel: Any, rows: Rows, start: Point, plan: Plan, rng: np.random.Generator, threads: Threads = ONE_THREAD
) -> Point:
    """A better metric than the one at the start, of the same kind."""
    walk, batches = (_Factors if start.A.ndim == 1 else _Matrix)(start.A), _Batches(rows, plan, rng)
    xp = arrays_of(start.A).xp
    log_ridge, (least, most) = xp.log(_number(start.A, start.ridge)), np.log(_RIDGES)
    steps, ridge_steps, last = _Adam(), _Adam(), []
    for step in range(plan.n_steps):
        found = judged(kernel, walk.A, xp.exp(log_ridge), rows, batches.at(walk.A), threads)
        share = plan.share_at(step)
        walk.move(plan.rate * share * steps.step(walk.gradient(found.gradient)))
        log_ridge = xp.clip(log_ridge - _RIDGE_RATE * share * ridge_steps.step(found.ridge_slope), least, most)
        if step >= 2 * plan.n_steps // 3:
            last.append((walk.parameters, log_ridge))
    parameters, log_ridges = zip(*last, strict=True)
    walk.parameters = sum(parameters) / len(parameters)
    return Point(walk.A, float(xp.exp(sum(log_ridges) / len(log_ridges))))


def _number(A, value):
    """A number where A is: on a device, none is waited for then."""
    return arrays_of(A).asarray(np.array(value, np.float64))


class _Factors:
    def __init__(self, A):
        self._xp = arrays_of(A).xp
        self.parameters = self._xp.log(A)

    @property
    def A(self):
        return self._xp.exp(self.parameters)

    def gradient(self, gradient):
        return self.A * gradient

    def move(self, step):
        self.parameters = self.parameters - step


class _Matrix:
    def __init__(self, A):
        xp = arrays_of(A).xp
        self.parameters, self._units = A, xp.max(xp.abs(A), axis=0)  # of each feature: so its unit does not matter

    @property
    def A(self):
        return self.parameters

    def gradient(self, gradient):
        return gradient

    def move(self, step):
        self.parameters = self.parameters - self._units * step
