"""The compiled engine does what the oracle does, example after example.

For many k the engine learns the first k rows from the beginning, in one go: so that the state after these
examples is seen, and the rows still come in blocks, with their products computed ahead.
"""

from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from support import COVERING, Setting, blobs

from frugalsvm.core.expansion import (
    coefficients,
)

N_ROWS = 150
# All examples at first and around the end of the first block, and some of the others: what went wrong is still seen.
SEEN_AFTER = (*range(1, 20), *range(20, 60, 3), *range(60, 70), *range(70, N_ROWS, 5), N_ROWS)


class State(NamedTuple):
    """What the oracle knew after an example."""

    rows: np.ndarray
    coef: np.ndarray
    births: list
    squared_norm: float
    error_sum: float
    n_seen: int
    n_updates: int
    n_maintenance: int
    n_kernel_evals: int
    decisions: np.ndarray
    average_decisions: np.ndarray | None


def kernel_evals(setting, n_before, step):
    """Kernel values that a step needs: scores, a row for a dropped that is not the newcomer, a projection."""
    n = n_before
    if step.violated and setting.maintenance == "project":
        n += n_before
    if setting.maintenance == "merge" and step.dropped not in (None, n_before):
        n += n_before + 1
    return n


def oracle_states(setting, X, labels, weights, probes):
    """The oracle's states after each row, and its steps."""
    oracle = setting.oracle()
    states, steps = [], []
    n_updates = n_maintenance = n_evals = 0
    for i, (x, label) in enumerate(zip(X, labels, strict=True)):
        n_before = len(oracle.rows)
        weight = 1.0 if weights is None else weights[i]
        step = oracle.learn_one(x, setting.oracle_label(label), weight)
        n_updates += step.violated
        n_maintenance += step.dropped is not None
        n_evals += kernel_evals(setting, n_before, step) if weight > 0 else 0
        averaging = setting.average_from is not None and oracle.t > setting.average_from
        states.append(
            State(
                rows=np.array(oracle.rows),
                coef=oracle.coef.copy(),
                births=list(oracle.births),
                squared_norm=oracle.squared_norm,
                error_sum=oracle.gradient_error_sum,
                n_seen=oracle.t,
                n_updates=n_updates,
                n_maintenance=n_maintenance,
                n_kernel_evals=n_evals,
                decisions=oracle.decision(probes).reshape(len(probes), -1),
                average_decisions=oracle.average_decision(probes).reshape(len(probes), -1) if averaging else None,
            )
        )
        steps.append(step)
    return states, steps


def assert_same(setting, model, state, probes):
    n = len(state.rows)
    counts = model.counts
    assert counts[0]["n_slots"] == n
    assert counts[0]["n_seen"] == state.n_seen
    assert counts[0]["n_updates"] == state.n_updates
    assert counts[0]["n_maintenance"] == state.n_maintenance
    if setting.radius is None:
        assert counts[0]["n_kernel_evals"] == state.n_kernel_evals
    else:
        squared_norm = model.scalars[0]["scale"] ** 2 * model.scalars[0]["raw_norm"]
        np.testing.assert_allclose(squared_norm, state.squared_norm, rtol=1e-8)
    assert model.births[:n].tolist() == state.births
    np.testing.assert_allclose(model.rows[:n], state.rows, rtol=1e-8, atol=1e-10)
    size = max(1e-300, np.abs(state.decisions).max())
    # The coefficients of a projection are the solution of a linear system that may be ill-conditioned.
    if setting.maintenance != "project":
        np.testing.assert_allclose(coefficients(model), state.coef, rtol=1e-8, atol=1e-10 * size)
    np.testing.assert_allclose(setting.decisions(model, probes), state.decisions, atol=1e-8 * size, rtol=0)
    if state.average_decisions is not None:
        averaged = setting.decisions(model, probes, averaged=True)
        np.testing.assert_allclose(averaged, state.average_decisions, atol=1e-8 * size, rtol=0)
    # A vector in the span of the others loses nothing but the square root of a rounding error.
    atol = 1e-4 if setting.maintenance == "project" else 1e-9
    np.testing.assert_allclose(model.scalars[0]["error_sum"], state.error_sum, rtol=1e-6, atol=atol)


def assert_follows_the_oracle(setting, n_features, seed, weights=None):
    X, labels = blobs(N_ROWS, n_features, setting.n_classes, seed)
    probes = blobs(8, n_features, setting.n_classes, seed)[0]
    states, steps = oracle_states(setting, X, labels, weights, probes)
    # What is compared must happen, and must not hang on the last digit.
    assert states[-1].n_maintenance >= 20
    assert min(abs(step.margin - 1.0) for step in steps if step.margin == step.margin) > 1e-7
    assert all(step.runner_up > step.degradation * (1 + 1e-7) for step in steps if step.partner is not None)
    for k in SEEN_AFTER:
        model = setting.trained(X[:k], labels[:k], weights)
        assert_same(setting, model, states[k - 1], probes)
    return states, steps


def by_speed(*combination):
    return pytest.param(*combination, marks=() if combination in COVERING else pytest.mark.slow)


ALL = list(product(("pegasos", "norma", "perceptron"), ("remove", "project", "merge"), (1, 4)))


@pytest.mark.parametrize(("learner", "maintenance", "n_outputs"), [by_speed(*each) for each in ALL])
def test_learners_and_maintenances(learner, maintenance, n_outputs):
    setting = Setting(learner, maintenance, n_outputs)
    assert_follows_the_oracle(setting, n_features=3, seed=1)


@pytest.mark.parametrize("left_out", range(3))
def test_every_pair_is_compared(left_out):
    def pairs(combinations):
        return {each[:left_out] + each[left_out + 1 :] for each in combinations}

    assert pairs(COVERING) == pairs(ALL)


# From here on, few combinations of parts that are compiled for this module alone: compiling takes seconds.


@pytest.mark.parametrize("budget", [10, 30])
def test_rows_with_many_features_in_blocks(budget):
    """Blocks hold 64 rows, but end where the model outgrows the next multiple of 16 slots."""
    setting = Setting("pegasos", "merge", 1, gamma=0.05, budget=budget)
    assert_follows_the_oracle(setting, n_features=12, seed=2)


@pytest.mark.parametrize("n_features", [2, 5, 8])
@pytest.mark.parametrize(
    "setting",
    [
        Setting("pegasos", "merge", 1, budget=15, alpha=0.003),
        Setting("norma", "merge", 4, budget=8, eta0=2.0),
        Setting("norma", "project", 4, budget=12, alpha=0.1),
        Setting("perceptron", "remove", 4, budget=9),
    ],
    ids=str,
)
def test_other_streams(setting, n_features):
    setting = replace(setting, gamma=1.0 / n_features)  # where all are far from each other, partners are tied
    assert_follows_the_oracle(setting, n_features, seed=n_features)


@pytest.mark.parametrize(
    ("setting", "n_features"),
    [
        (Setting("norma", "project", 1, kernel="poly", eta0=0.05), 3),
        (Setting("norma", "remove", 4, kernel="poly", eta0=0.05), 3),
        (Setting("pegasos", "project", 1, kernel="linear", budget=5), 8),
        (Setting("pegasos", "project", 1, kernel="linear", budget=5), 3),
        (Setting("perceptron", "remove", 1, kernel="linear"), 8),
        (Setting("pegasos", "remove", 1, kernel="laplacian"), 12),
        (Setting("pegasos", "remove", 1, kernel="laplacian"), 3),
        pytest.param(Setting("pegasos", "project", 4, kernel="laplacian"), 5, marks=pytest.mark.slow),
        pytest.param(Setting("norma", "remove", 1, kernel="matern12"), 12, marks=pytest.mark.slow),
        (Setting("pegasos", "project", 1, kernel="matern32"), 5),
        pytest.param(Setting("pegasos", "remove", 4, kernel="matern52"), 12, marks=pytest.mark.slow),
    ],
    ids=str,
)
@pytest.mark.slow
def test_kernels_without_merging(setting, n_features):
    _, steps = assert_follows_the_oracle(setting, n_features, seed=5)
    if setting.maintenance == "project" and n_features == 3:  # few independent vectors: 3 for linear, 10 for poly
        assert sum(step.dependent for step in steps) > 20


@pytest.mark.parametrize(
    "setting",
    [
        pytest.param(Setting("perceptron", "remove", 1, radius=1.5), marks=pytest.mark.slow),
        Setting("perceptron", "remove", 4, radius=1.5),
        Setting("norma", "project", 1, radius=0.8),
        Setting("pegasos", "merge", 4, radius=2.0),
    ],
    ids=str,
)
def test_in_a_ball(setting):
    states, _ = assert_follows_the_oracle(setting, n_features=3, seed=4)
    on_the_sphere = [abs(state.squared_norm - setting.radius**2) < 1e-9 for state in states]
    assert sum(on_the_sphere) > 30


@pytest.mark.parametrize(
    ("setting", "clock"),
    [
        (Setting("pegasos", "merge", 1), 40.5),
        (Setting("pegasos", "merge", 1), 3.0),  # the scale is folded into coefficients again and again
        (Setting("pegasos", "merge", 4), 40.5),  # many are of equal size, up to rounding
        (Setting("pegasos", "project", 1, radius=0.8), 20.0),
    ],
    ids=str,
)
def test_forgetting(setting, clock):
    assert_follows_the_oracle(replace(setting, clock=clock), n_features=3, seed=1)


@pytest.mark.parametrize("average_from", [0, 60])
@pytest.mark.parametrize(
    "setting",
    [
        Setting("pegasos", "merge", 1),
        Setting("norma", "project", 4),
        Setting("perceptron", "remove", 4, radius=1.5),
    ],
    ids=str,
)
def test_average(setting, average_from):
    setting = replace(setting, average_from=average_from)
    assert_follows_the_oracle(setting, n_features=3, seed=1)


@pytest.mark.parametrize(
    "setting",
    [
        Setting("pegasos", "merge", 4),
        Setting("norma", "project", 4),
        Setting("perceptron", "remove", 4, radius=1.5),
    ],
    ids=str,
)
def test_sample_weights(setting):
    rng = np.random.default_rng(0)
    weights = rng.exponential(size=N_ROWS)
    weights[rng.random(N_ROWS) < 0.2] = 0.0
    assert_follows_the_oracle(setting, n_features=3, seed=1, weights=weights)
