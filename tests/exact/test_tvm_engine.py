"""The Twin Vector Machine against its oracle, and what is true of it after every example."""

import numpy as np
import pytest
from oracles.exact import kkt_violation
from oracles.tvm import TVM

from frugalsvm.core.kernels import RBF
from frugalsvm.datasets import make_checkerboard
from frugalsvm.exact.tvm import learn, new_cache
from frugalsvm.exact.twins import TVM as Parameters
from frugalsvm.exact.twins import new_twins

GAMMA = 1.35
ACTIONS = {"passed over": "n_passed", "replaced": "n_removed", "merged": "n_merged", "ignored": "n_ignored"}


def stream(n_rows, seed):
    X, y = make_checkerboard(n_rows, noise=0.15, random_state=seed)
    X = np.asarray((X - X.mean(axis=0)) / X.std(axis=0), np.float64)
    return X, np.where(y > 0, 1.0, -1.0)


class Engine:
    """A learner that is given one example at a time."""

    def __init__(self, budget, C0, *, m1=1.0, m2=2.0, reject=0.2, one_sided=True, in_features=False):
        self.parameters = Parameters(RBF(GAMMA), budget, C0 * budget, m1, m2, reject, one_sided, in_features)
        self.twins = new_twins(budget, 2)
        self.cache = new_cache(self.twins)

    def learn(self, x, y, weight=1.0):
        learn(self.parameters, self.twins, self.cache, x[None], np.array([y]), np.array([weight]))

    @property
    def boxes(self):
        n, state = self.twins.state.points.counts[0]["n_slots"], self.twins.state
        return state.lower[:n], state.kink[:n], state.upper[:n]

    @property
    def rows(self):
        return self.twins.state.points.rows[: self.twins.state.points.counts[0]["n_slots"]]

    @property
    def weights(self):
        n = self.twins.state.points.counts[0]["n_slots"]
        return self.twins.plus[:n], self.twins.minus[:n]

    @property
    def violation(self):
        distances = ((self.rows[:, None] - self.rows[None]) ** 2).sum(axis=2)
        beta = self.twins.state.points.coef[0, : len(self.rows)]
        return kkt_violation(np.exp(-GAMMA * distances), beta, self.twins.state.scalars[0]["bias"], *self.boxes)


@pytest.mark.parametrize(
    ("settings", "oracle_settings"),
    [
        ({}, {}),
        ({"in_features": True}, {"merge_space": "feature"}),
        ({"one_sided": False}, {"one_sided": False}),
        ({"reject": -1.0}, {"reject": None}),
        ({"m1": 1.5, "m2": 1.5}, {"m1": 1.5, "m2": 1.5}),
        ({"m2": 1.0}, {"m2": 1.0}),
    ],
    ids=repr,
)
def test_follows_the_oracle(settings, oracle_settings):
    X, y = stream(160, seed=3)
    engine = Engine(14, 20.0, **settings)
    oracle = TVM(14, 20.0, gamma=GAMMA, all_pairs=False, **oracle_settings)
    seen = dict.fromkeys(ACTIONS, 0)
    for x, label in zip(X, y, strict=True):
        engine.learn(x, label)
        step = oracle.learn(x, int(label))
        if step.action in seen:
            seen[step.action] += 1
        assert {action: engine.twins.counts[0][place] for action, place in ACTIONS.items()} == seen
        np.testing.assert_allclose(engine.rows, oracle.rows, atol=1e-9)
        np.testing.assert_array_equal(engine.weights, (oracle.s_plus, oracle.s_minus))
        assert engine.twins.sums[0]["C"] == pytest.approx(oracle.C)
        np.testing.assert_allclose(
            engine.twins.state.points.coef[0, : len(engine.rows)], oracle.beta, atol=1e-6 * max(1.0, oracle.C)
        )
    assert seen["merged"] > 35


@pytest.mark.parametrize("C0", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("seed", range(3))
def test_optimal_after_every_example(C0, seed):
    X, y = stream(600, seed)
    X[100:130] = X[:30]  # the same again, half of them with the other label
    y[100:115] = -y[:15]
    engine = Engine(20, C0)
    rng = np.random.default_rng(seed)
    total = 0.0
    for x, label in zip(X, y, strict=True):
        engine.learn(x, label, weight=rng.choice([0.5, 1.0, 2.0]))
        assert engine.violation <= 1e-6
        total = engine.twins.sums[0]["total"]
        assert sum(each.sum() for each in engine.weights) == pytest.approx(total)
        assert engine.twins.sums[0]["C"] * total == pytest.approx(C0 * 20)
    assert engine.twins.counts[0]["n_merged"] + engine.twins.counts[0]["n_removed"] > 20


@pytest.mark.parametrize("order", ["one class first", "one class only"])
def test_one_class_at_a_time(order):
    X, y = stream(300, seed=1)
    rows = np.argsort(y, kind="stable")
    rows = rows if order == "one class first" else rows[y[rows] < 0]
    engine = Engine(15, 10.0)
    for row in rows:
        engine.learn(X[row], y[row])
        assert engine.violation <= 1e-6
    assert len(engine.rows) == 15


def test_in_blocks_as_one_by_one():
    X, y = stream(2000, seed=5)
    one_by_one, at_once = Engine(20, 50.0), Engine(20, 50.0)
    for x, label in zip(X, y, strict=True):
        one_by_one.learn(x, label)
    learn(at_once.parameters, at_once.twins, at_once.cache, X, y, np.ones(2000))
    np.testing.assert_array_equal(at_once.rows, one_by_one.rows)
    np.testing.assert_array_equal(at_once.twins.state.points.coef, one_by_one.twins.state.points.coef)
