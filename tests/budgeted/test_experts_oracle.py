"""Experts with several half-lives do what their oracle does, example after example."""

import numpy as np
import pytest
from oracles.experts import ExpertsOracle
from support import ORACLE_NAMES, blobs

from frugalsvm.budgeted.maintenance import new_policy
from frugalsvm.budgeted.norm_constraint import Unconstrained
from frugalsvm.budgeted.sgd import Parts, learn
from frugalsvm.core.expansion import new_expansion
from frugalsvm.core.experts import combined_coefficients, new_experts
from frugalsvm.core.kernels import KERNELS
from frugalsvm.core.predict import decision_values
from frugalsvm.core.schedules import Perceptron, clock_of

HALF_LIVES = (40, 9, 3)
BUDGET, GAMMA, ALPHA = 12, 0.3, 0.02
N_ROWS = 150


def pair(maintenance, n_outputs):
    """The parts of the engine, and the oracle."""
    experts = new_experts(n_outputs, ALPHA, HALF_LIVES)
    parts = Parts(
        experts, KERNELS["rbf"](GAMMA), Perceptron(1.0, 1.0), new_policy(maintenance, BUDGET), Unconstrained()
    )
    clocks = [np.inf, *(1 / (1 - 0.5 ** (1 / half_life)) for half_life in HALF_LIVES)]
    np.testing.assert_allclose(experts.clocks[1:], clocks[1:], rtol=1e-12)
    oracle = ExpertsOracle(
        strengths=experts.strengths,
        clocks=clocks,
        maintenance=ORACLE_NAMES[maintenance],
        budget=BUDGET,
        n_outputs=n_outputs,
        gamma=GAMMA,
    )
    return parts, oracle


def decisions(parts, model, X):
    n = model.counts[0]["n_slots"]
    coef = combined_coefficients(parts.loss, model.coef, n)
    weights = np.zeros((coef.shape[1], len(model.rows)))
    weights[:, :n] = coef.T
    return decision_values(parts.kernel, model._replace(weights=weights), X)


# Without weights all new vectors are of the same sizes, and which of them is the smallest may hang on rounding.
@pytest.mark.parametrize(
    ("maintenance", "n_outputs", "weighted"),
    [("merge", 1, False), ("merge", 1, True), ("merge", 3, True), ("remove", 1, True), ("project", 1, True)],
)
def test_experts_follow_their_oracle(maintenance, n_outputs, weighted):
    X, labels = blobs(N_ROWS, 3, max(2, n_outputs), seed=3)
    probes = blobs(8, 3, 2, seed=4)[0]
    weights = np.random.default_rng(5).uniform(0.5, 2.0, N_ROWS) if weighted else None
    parts, oracle = pair(maintenance, n_outputs)
    model = new_expansion(BUDGET + 1, 3, parts.loss.n_outputs, X.dtype)
    n_each_time = [1] * 40 + [22, 48, 40]  # alone, and in blocks that are computed ahead
    start = 0
    for n_rows in n_each_time:
        rows = slice(start, start + n_rows)
        parts, model = learn(parts, model, X[rows], labels[rows], None if weights is None else weights[rows])
        for i in range(start, start + n_rows):
            label = 2 * int(labels[i]) - 1 if n_outputs == 1 else int(labels[i])
            margins = oracle.learn_one(X[i], label, 1.0 if weights is None else weights[i])
            assert np.abs(margins - 1.0).min() > 1e-9  # what is compared does not hang on the last digit
        start += n_rows
        n = len(oracle.table.rows)
        assert model.counts[0]["n_slots"] == n
        np.testing.assert_allclose(model.rows[:n], np.array(oracle.table.rows), rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(parts.loss.standing["share"], oracle.shares, rtol=1e-8)
        np.testing.assert_allclose(parts.loss.standing["size"], oracle.sizes, rtol=1e-6)
        expected = oracle.decision(probes)
        np.testing.assert_allclose(decisions(parts, model, probes), expected, atol=1e-6 * np.abs(expected).max() + 1e-9)
    assert start == N_ROWS
    assert model.counts[0]["n_maintenance"] >= 20
    assert len(set(np.round(oracle.shares, 6))) > 1


def test_a_half_life_halves():
    assert (1 - 1 / clock_of(7.0)) ** 7 == pytest.approx(0.5)
    assert clock_of(1.0) == pytest.approx(2.0)
