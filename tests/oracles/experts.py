"""Several half-lives on the same support vectors, in plain numpy: the oracle of ``half_life="auto"``.

Expert k is a machine of ``learner="pegasos"`` whose clock stops at ``clocks[k]``: its step is

    eta_k(t) = 1 / (lambda_k min(t, clocks[k])),        w_k <- (1 - eta_k(t) lambda_k) w_k

Everything is kept as it is defined: the true coefficients of each expert, with no lazy factor. Support vectors are
compared, removed and merged by their coefficients in steps, ``alpha_jk / eta_k(t)``, so that no expert counts for more
than another.

The vote: after every example, the share of each expert that was wrong shrinks by ``e^-rate``; shares are made to sum to
one; then each gives the part ``share`` away, in equal parts to all.
"""

import numpy as np

from .bsgd import BSGDOracle


class ExpertsOracle:
    """Experts of ``n_outputs`` outputs each; 1 is for labels -1 and +1, more are Crammer-Singer."""

    def __init__(self, *, strengths, clocks, maintenance, budget, n_outputs, gamma, rate=0.3, share=0.001, memory=1000):
        self.strengths, self.clocks = np.array(strengths, float), np.array(clocks, float)
        self.n_outputs, self.rate, self.share, self.memory = n_outputs, rate, share, memory
        n_experts = len(self.clocks)
        # Rows, births and budget maintenance are those of the oracle of BSGD; its coefficients are those in steps.
        self.table = BSGDOracle(
            learner="perceptron", maintenance=maintenance, budget=budget, n_outputs=n_experts * n_outputs, gamma=gamma
        )
        self.steps = np.ones(n_experts)
        self.shares = np.full(n_experts, 1.0 / n_experts)
        self.sizes = np.zeros(n_experts)
        self.t = 0

    def decisions(self, X):
        """Decision values of all experts, shape (n, n_experts, n_outputs)."""
        in_steps = self.table.decision(X).reshape(len(X), len(self.clocks), self.n_outputs)
        return in_steps * self.steps[:, None]

    def decision(self, X):
        """What they say together, shape (n, n_outputs)."""
        parts = self.shares / np.where(self.sizes > 0, self.sizes, np.inf) * (self.shares @ self.sizes)
        return np.einsum("k,nko->no", parts, self.decisions(X))

    def learn_one(self, x, y, weight=1.0):
        """One example; returns the margins under the models before it."""
        self.t += 1
        margins, directions = zip(*(self._judged(values, y) for values in self.decisions(x[None])[0]), strict=True)
        margins, directions = np.array(margins), np.array(directions)
        self._vote(margins, weight)
        self._age()
        learned = np.where(margins[:, None] < 1.0, weight * directions, 0.0)
        self.table.t = self.t
        if learned.any():
            self.table._add(np.array(x, float), learned.ravel())
            self.table._maintain()
        return margins

    def _judged(self, values, y):
        """The margin, and minus the subgradient of the hinge loss below 1."""
        if self.n_outputs == 1:
            return y * values[0], [float(y)]
        others = values.copy()
        others[y] = -np.inf
        rival = int(np.argmax(others))
        return values[y] - values[rival], np.eye(self.n_outputs)[y] - np.eye(self.n_outputs)[rival]

    def _vote(self, margins, weight):
        self.sizes += (np.abs(margins) - self.sizes) / min(self.t, self.memory)
        shares = self.shares * np.where(margins <= 0, np.exp(-self.rate * weight), 1.0)
        self.shares = (1 - self.share) * shares / shares.sum() + self.share / len(shares)

    def _age(self):
        """Shrink the models, whose coefficients are then written in the steps of now."""
        clocks = np.minimum(self.t, self.clocks)
        steps = 1.0 / (self.strengths * clocks)
        true = self.table.coef * np.repeat(self.steps * (1.0 - 1.0 / clocks), self.n_outputs)
        self.table.coef = true / np.repeat(steps, self.n_outputs)
        self.steps = steps
