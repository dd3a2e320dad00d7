"""The compiled perceptrons and passive-aggressive learners do what the oracles do, example after example."""

from dataclasses import dataclass

import numpy as np
import pytest
from oracles.bpa import BPAOracle
from oracles.perceptrons import PerceptronOracle
from support import blobs, kernel_part

from frugalsvm.budgeted.norm_constraint import Unconstrained
from frugalsvm.budgeted.sgd import Parts, learn
from frugalsvm.budgeted.strategies import STRATEGIES, VARIANTS, new_strategy, new_variant
from frugalsvm.core.expansion import coefficients, new_expansion
from frugalsvm.core.losses import hinge_for
from frugalsvm.core.rng import below, new_rng
from frugalsvm.core.schedules import Implicit, PassiveAggressive, Perceptron

N_ROWS = 150
SEED = 3


@dataclass(frozen=True)
class Perceptrons:
    """Parameters of a perceptron, for the engine and for its oracle."""

    strategy: str = "random"
    n_outputs: int = 1
    margin: int = 0
    budget: int | None = 8
    threshold: float | None = None
    kernel: str = "rbf"
    gamma: float = 0.3
    coef0: float = 1.0
    degree: int = 2
    eta: float = 0.5
    lam: float = 0.02

    def __str__(self):
        return f"{self.strategy}-{self.n_outputs}-{self.margin}-{self.kernel}"

    def parts(self, capacity):
        margin = 1 if self.strategy == "projectron++" else self.margin
        schedule = Implicit(self.lam, self.eta) if self.strategy == "silk" else Perceptron(1.0, float(margin))
        policy = new_strategy(self.strategy, self.budget, capacity, threshold=self.threshold, seed=SEED)
        return Parts(hinge_for(self.n_outputs), kernel_part(self), schedule, policy, Unconstrained())

    def oracle(self):
        rng = new_rng(SEED)
        return PerceptronOracle(
            strategy=self.strategy,
            budget=self.budget,
            kernel=self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            margin=self.margin,
            n_outputs=self.n_outputs,
            threshold=self.threshold,
            eta=self.eta,
            lam=self.lam,
            draw_dropped=lambda n: below(rng, n),
        )

    def changed(self, step):
        return step.tau > 0.0

    def made_room(self, step):
        return step.dropped is not None or step.projected


@dataclass(frozen=True)
class PassiveAggressives:
    """Parameters of BPA, for the engine and for its oracle."""

    variant: str = "nn"
    C: float = 0.7
    budget: int | None = 8
    kernel: str = "rbf"
    gamma: float = 0.3
    coef0: float = 1.0
    degree: int = 2
    n_outputs: int = 1

    def __str__(self):
        return f"{self.variant}-{self.kernel}"

    def parts(self, capacity):
        policy = new_variant(self.variant, self.budget, capacity)
        return Parts(hinge_for(1), kernel_part(self), PassiveAggressive(self.C), policy, Unconstrained())

    def oracle(self):
        return BPAOracle(
            self.variant, self.C, self.budget, self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0
        )

    def changed(self, step):
        return step.violated

    def made_room(self, step):
        return step.dropped is not None


def assert_follows_the_oracle(setting, n_features=3, seed=1, n_rows=N_ROWS):
    """For every k the engine learns the first k rows from the beginning; returns the oracle's steps."""
    X, labels = blobs(n_rows, n_features, max(2, setting.n_outputs), seed)
    probes = blobs(8, n_features, 2, seed)[0]
    oracle, steps = setting.oracle(), []
    n_updates = n_room = 0
    for k in range(1, n_rows + 1):
        label = labels[k - 1]
        steps.append(oracle.learn_one(X[k - 1], 2 * int(label) - 1 if setting.n_outputs == 1 else int(label)))
        n_updates += setting.changed(steps[-1])
        n_room += setting.made_room(steps[-1])
        start = new_expansion(
            16 if setting.budget is None else setting.budget + 1, n_features, setting.n_outputs, float
        )
        _, model = learn(setting.parts(start.rows.shape[0]), start, X[:k], labels[:k])
        counts, n = model.counts, len(oracle.rows)
        assert (counts[0]["n_slots"], counts[0]["n_seen"], counts[0]["n_updates"]) == (n, k, n_updates)
        assert counts[0]["n_maintenance"] == n_room
        assert model.births[:n].tolist() == oracle.births
        np.testing.assert_array_equal(model.rows[:n], np.array(oracle.rows).reshape(n, n_features))
        np.testing.assert_allclose(coefficients(model), oracle.coef, rtol=1e-6, atol=1e-8)
        values = oracle._kernel(probes, oracle.rows) @ oracle.coef if n else np.zeros((8, setting.n_outputs))
        ours = oracle._kernel(probes, list(model.rows[:n])) @ coefficients(model) if n else values
        np.testing.assert_allclose(ours, values, rtol=0, atol=1e-9 * max(1.0, np.abs(values).max()))
    return steps


def assert_no_near_ties(steps):
    """What is compared must not hang on the last digit."""
    for step in steps:
        if step.dropped is not None and hasattr(step, "score") and step.runner_up < np.inf:
            distance = abs(step.runner_up - step.score)
            assert distance == 0.0 or distance > 1e-9


@pytest.mark.parametrize("margin", [0, 1])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_strategies(strategy, margin):
    setting = Perceptrons(strategy, margin=margin)
    steps = assert_follows_the_oracle(setting)
    assert_no_near_ties(steps)
    assert strategy == "stop" or sum(setting.made_room(step) for step in steps) >= 20


@pytest.mark.parametrize("margin", [0, 1])
@pytest.mark.parametrize("strategy", ["stop", "random", "projectron", "projectron++"])
def test_several_classes(strategy, margin):
    assert_follows_the_oracle(Perceptrons(strategy, n_outputs=4, margin=margin, budget=12))


@pytest.mark.parametrize("n_outputs", [1, 4])
@pytest.mark.parametrize("budget", [None, 12])
@pytest.mark.parametrize("strategy", ["projectron", "projectron++"])
def test_projectrons_with_a_threshold(strategy, budget, n_outputs):
    setting = Perceptrons(strategy, n_outputs=n_outputs, budget=budget, threshold=0.5)
    steps = assert_follows_the_oracle(setting)
    assert sum(step.projected for step in steps) >= 20
    assert sum(step.added for step in steps) > 8
    if strategy == "projectron++":
        assert any(0.0 < step.tau < 1.0 for step in steps)


# Few combinations from here on: each takes seconds to compile.


@pytest.mark.parametrize(
    ("strategy", "kernel"),
    [
        ("budget", "linear"),
        *(
            pytest.param(strategy, kernel, marks=pytest.mark.slow)  # machine code for everything anew
            for strategy, kernel in (("tightest", "poly"), ("projectron++", "poly"), ("silk", "linear"))
        ),
    ],
)
def test_other_kernels(strategy, kernel):
    assert_follows_the_oracle(Perceptrons(strategy, kernel=kernel, gamma=0.1, budget=6), n_features=8)


def test_many_features():
    """Products come from blocks; those of a support vector that goes, from the vectors feature by feature."""
    assert_no_near_ties(assert_follows_the_oracle(Perceptrons("budget", gamma=0.05), n_features=12))


@pytest.mark.parametrize("C", [0.05, 0.7, 100.0])
@pytest.mark.parametrize("variant", VARIANTS)
def test_passive_aggressive_variants(variant, C):
    steps = assert_follows_the_oracle(PassiveAggressives(variant, C=C))
    assert sum(step.dropped is not None for step in steps) >= 20


@pytest.mark.slow
@pytest.mark.parametrize(("variant", "kernel"), [("simple", "linear"), ("nn", "poly"), ("projecting", "poly")])
def test_passive_aggressive_with_other_kernels(variant, kernel):
    assert_follows_the_oracle(PassiveAggressives(variant, kernel=kernel, gamma=0.1, budget=6), n_features=8)
