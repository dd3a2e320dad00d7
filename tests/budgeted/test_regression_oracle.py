"""Regression on the engine does what its oracle does, example after example."""

import numpy as np
import pytest
from oracles.bsgd_regression import DERIVATIVES, BSGDRegressionOracle, implicit_step
from support import ORACLE_NAMES

from frugalsvm.budgeted.maintenance import new_policy
from frugalsvm.budgeted.norm_constraint import Unconstrained
from frugalsvm.budgeted.sgd import Parts, learn
from frugalsvm.core.expansion import averaged_coefficients, coefficients, new_expansion
from frugalsvm.core.kernels import RBF, Linear
from frugalsvm.core.residuals import LOSSES, loss_of_residuals
from frugalsvm.core.schedules import Norma, Pegasos

N_ROWS, BUDGET, EPSILON, ALPHA, ETA0, GAMMA = 120, 8, 0.15, 0.01, 2.0, 0.3
QUANTILES = np.array([0.1, 0.5, 0.9])
SEEN_AFTER = (*range(1, 20), *range(20, N_ROWS, 9), N_ROWS)


def stream(n_outputs, n_features=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_ROWS, n_features))
    noise = 0.3 * rng.normal(size=(N_ROWS, n_outputs))
    return X, np.sin(X[:, :1] + np.arange(n_outputs)) + noise


def quantiles_of(n_outputs):
    return QUANTILES if n_outputs == 3 else np.array([0.2])


def oracle_of(loss, maintenance, n_outputs, learner, kernel="rbf", average_from=None):
    machine = {"learner": learner, "maintenance": ORACLE_NAMES[maintenance], "budget": BUDGET, "n_outputs": n_outputs}
    steps = {"alpha": ALPHA, "eta0": ETA0, "gamma": GAMMA, "kernel": kernel, "average_from": average_from}
    return BSGDRegressionOracle(loss, epsilon=EPSILON, quantiles=quantiles_of(n_outputs), **machine, **steps)


def engine_of(loss, maintenance, n_outputs, learner, kernel=None, average_from=None):
    schedule = Norma(ALPHA, ETA0) if learner == "norma" else Pegasos(ALPHA, True)
    part = loss_of_residuals(loss, np.full(n_outputs, EPSILON), quantiles_of(n_outputs))
    kernel = RBF(GAMMA) if kernel is None else kernel  # one without parameters is false
    parts = Parts(part, kernel, schedule, new_policy(maintenance, BUDGET), Unconstrained())
    return parts, lambda n_features: new_expansion(BUDGET + 1, n_features, n_outputs, np.float64, average_from)


def assert_follows(X, targets, oracle, engine, weights=None):
    """The engine learns the first k rows from the beginning, for many k, and has the oracle's model then."""
    steps = []
    for k in range(1, len(X) + 1):
        steps.append(oracle.learn_one(X[k - 1], targets[k - 1], 1.0 if weights is None else weights[k - 1]))
        if k not in SEEN_AFTER:
            continue
        parts, empty = engine()
        model = learn(parts, empty(X.shape[1]), X[:k], targets[:k], weights if weights is None else weights[:k])[1]
        n = int(model.counts[0]["n_slots"])
        assert n == len(oracle.rows)
        assert model.counts[0]["n_updates"] == sum(step.violated for step in steps)
        rows = np.array(oracle.rows).reshape(n, X.shape[1])
        np.testing.assert_allclose(model.rows[:n], rows, rtol=1e-7, atol=1e-9)
        averages = oracle.average_from is not None and oracle.t > oracle.average_from
        found = averaged_coefficients(model) if averages else coefficients(model)
        expected = oracle.average_coef if averages else oracle.coef
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(model.scalars[0]["error_sum"], oracle.gradient_error_sum, rtol=1e-5, atol=1e-6)
    assert sum(step.dropped is not None for step in steps) >= 20
    return steps


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("loss", LOSSES)
def test_losses(loss, n_outputs):
    X, targets = stream(n_outputs)
    machine = (loss, "merge", n_outputs, "norma")
    assert_follows(X, targets, oracle_of(*machine), lambda: engine_of(*machine))


@pytest.mark.slow  # machine code of their own
@pytest.mark.parametrize("loss", ["squared", "pinball"])
@pytest.mark.parametrize(
    ("maintenance", "n_outputs", "learner"),
    [("remove", 1, "norma"), ("project", 3, "norma"), ("project", 1, "pegasos"), ("merge", 3, "pegasos")],
)
def test_other_parts(loss, maintenance, n_outputs, learner):
    X, targets = stream(n_outputs)
    machine = (loss, maintenance, n_outputs, learner)
    assert_follows(X, targets, oracle_of(*machine), lambda: engine_of(*machine))


@pytest.mark.slow
def test_a_kernel_whose_vectors_are_not_of_length_one():
    X, targets = stream(1)
    machine = ("squared", "remove", 1, "norma")
    assert_follows(X, targets, oracle_of(*machine, kernel="linear"), lambda: engine_of(*machine, kernel=Linear()))


def test_weights_and_averages():
    X, targets = stream(1)
    weights = np.random.default_rng(1).exponential(size=N_ROWS)
    weights[::5] = 0.0
    machine = ("huber", "merge", 1, "norma")
    oracle = oracle_of(*machine, average_from=30)
    assert_follows(X, targets, oracle, lambda: engine_of(*machine, average_from=30), weights)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("step", [0.01, 1.0, 1e5])
def test_implicit_steps_minimize_what_they_should(loss, step):
    """No other step has a smaller ``1/2 tau^2 K + step L(r - tau K)``, by integrals of the derivative."""
    own, residual = 1.7, 0.8

    def derivative(r):
        return DERIVATIVES[loss](r, EPSILON, 0.2)

    tau = implicit_step(derivative, residual, step, own)
    grid = np.linspace(-2.0, 2.0, 4001)
    inside = residual - grid * own
    losses = np.concatenate([[0.0], np.cumsum([-own * derivative(r) * 1e-3 for r in inside[:-1]])])
    best = grid[np.argmin(0.5 * grid**2 * own + step * losses)]
    assert abs(tau - best) < 5e-3


def test_a_step_does_not_overshoot():
    """However long it is, the prediction of the example does not go beyond its target."""
    X, targets = stream(1)
    for loss in LOSSES:
        parts, empty = engine_of(loss, "merge", 1, "norma")
        parts = parts._replace(schedule=Norma(0.0, 1e9))
        model = learn(parts, empty(3), X[:1], targets[:1])[1]
        reached = abs(float(coefficients(model)[0, 0]))
        assert reached <= abs(targets[0, 0]) * (1 + 1e-6)
        assert reached > 0.5 * abs(targets[0, 0]) - EPSILON
