"""What the tests of devices share: namespaces of arrays, and rows of a noisy wave."""

import numpy as np

from frugalsvm.lowrank.losses import (
    EpsilonInsensitive,
    Hinge,
    Huber,
    Pinball,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)

EPSILON = 0.1
LOSSES = {
    "hinge": Hinge(),
    "squared_hinge": SquaredHinge(),
    "epsilon_insensitive": EpsilonInsensitive(EPSILON),
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive(EPSILON),
}

# Those of regression that the oracle of optima does not have; quantiles are those of two outputs.
FURTHER_LOSSES = {"huber": Huber(0.3), "squared": Squared(), "pinball": Pinball(np.array([0.1, 0.6]))}


class Wave:
    """Rows, targets of one output or several, and weights, some of them zero if wanted."""

    def __init__(self, loss="hinge", n_rows=1500, *, n_outputs=1, weighted=False, seed=0):
        rng = np.random.default_rng(seed)
        self.X = rng.normal(size=(n_rows, 3)).astype(np.float32)
        waves = np.stack([np.sin(2 * self.X[:, k % 3]) + self.X[:, (k + 1) % 3] for k in range(n_outputs)])
        values = waves + 0.3 * rng.normal(size=waves.shape) + 0.2
        self.targets = (np.where(values > 0, 1, -1) if "hinge" in loss else values).astype(np.float32)
        self.weights = (rng.integers(0, 4, n_rows) if weighted else np.ones(n_rows)).astype(np.float32)
        self.unit = 1.0 if "hinge" in loss else float(self.targets.std())
