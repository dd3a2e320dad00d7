"""Small problems of the batch solver, and their optima by the oracle."""

import numpy as np
import pytest
from oracles.asset import LOSSES as NAMES
from oracles.low_rank import objective, optimum

from frugalsvm.core.kernels import RBF
from frugalsvm.lowrank.backends.compiled import (
    COMPILED,
    stored_rows,
)
from frugalsvm.lowrank.continuation import solve
from frugalsvm.lowrank.losses import EpsilonInsensitive, Hinge, SquaredEpsilonInsensitive, SquaredHinge
from frugalsvm.lowrank.nystroem import new_nystroem
from frugalsvm.lowrank.options import Options
from frugalsvm.lowrank.problem import Problem, Sample, Slopes
from frugalsvm.lowrank.whitening import MatrixWhitening

EPSILON = 0.1
LOSSES = {
    "hinge": Hinge(),
    "squared_hinge": SquaredHinge(),
    "epsilon_insensitive": EpsilonInsensitive(EPSILON),
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive(EPSILON),
}
each_loss = pytest.mark.parametrize("loss", NAMES)


def slopes_at(task, scores, smoothing, cut):
    return Slopes(*COMPILED.slopes(task, scores, smoothing, cut))


with_and_without_intercept = pytest.mark.parametrize("intercept", [False, True], ids=["through zero", "intercept"])


class Case:
    """Rows of a noisy wave, and the Nystroem map of the first ones."""

    def __init__(self, loss, n_rows=300, n_landmarks=20, seed=0, *, n_outputs=1, weighted=False):
        rng = np.random.default_rng(seed)
        self.name, self.n_rows = loss, n_rows
        self.X = rng.normal(size=(n_rows, 3)).astype(np.float32)
        waves = np.stack([np.sin(2 * self.X[:, k % 3]) + self.X[:, (k + 1) % 3] for k in range(n_outputs)])
        values = waves + 0.3 * rng.normal(size=waves.shape) + 0.2
        self.targets = (np.where(values > 0, 1, -1) if "hinge" in loss else values).astype(np.float32)
        self.weights = (rng.integers(0, 4, n_rows) if weighted else np.ones(n_rows)).astype(np.float32)
        self.map = new_nystroem(RBF(0.5), self.X[:n_landmarks])
        self.rows = stored_rows(self.map, self.X, np.arange(n_rows))
        self.V = self.rows.block @ self.map.whitening
        self.unit = 1.0 if "hinge" in loss else float(self.targets.std())

    def task(self, C=1.0, intercept=True, **changes):
        penalty = 1.0 / (C * self.n_rows)
        task = Problem(
            self.rows,
            self.targets,
            self.weights,
            LOSSES[self.name],
            penalty,
            MatrixWhitening(self.map.whitening),
            intercept,
        )
        return task._replace(**changes)

    def solve(self, task, tolerance=5e-3):
        sample = Sample(task.rows, task.targets, task.weights)
        return solve(task, sample, Options(tolerance, unit=self.unit), np.random.default_rng(0))

    def objective(self, task, parameters, output=0):
        """By the oracle, in float64."""
        w, b = parameters[output, :-1], parameters[output, -1]
        return objective(self.V, self.targets[output], self.weights, w, b, task.penalty, self.name, EPSILON)

    def optimum(self, task, output=0):
        found = optimum(self.V, self.targets[output], self.weights, task.penalty, self.name, task.intercept, EPSILON)
        assert found.value - found.bound <= 1e-7 * found.value
        return found
