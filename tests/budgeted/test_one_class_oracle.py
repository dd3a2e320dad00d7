"""The one-class SVM on the engine does what its oracle does, row after row, in batches of any size."""

from functools import cache

import numpy as np
import pytest
from oracles.one_class import OneClassOracle
from support import ORACLE_NAMES

from frugalsvm import BSGDOneClassSVM

N_ROWS, BUDGET, GAMMA, NU, RATE, WINDOW = 900, 8, 0.4, 0.3, 0.05, 400


def rows(seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N_ROWS, 3)) + 2.0 * rng.integers(0, 2, size=(N_ROWS, 1))


def oracle_after(X, maintenance, weights=None):
    machine = {"maintenance": ORACLE_NAMES[maintenance], "budget": BUDGET, "gamma": GAMMA}
    oracle = OneClassOracle(NU, RATE, WINDOW, **machine)
    learned = [oracle.learn_one(x, 1.0 if weights is None else weights[i])[1] for i, x in enumerate(X)]
    return oracle, sum(learned)


@cache
def oracle_of_rows(maintenance):
    """It takes longer than all models together; they only look at it."""
    return oracle_after(rows(), maintenance)


def new_model(maintenance="merge"):
    return BSGDOneClassSVM(NU, maintenance, BUDGET, alarm_rate=RATE, window=WINDOW, gamma=GAMMA)


def assert_same(model, oracle, n_learned):
    assert model.n_updates_ == n_learned
    np.testing.assert_allclose(model.support_vectors_, np.array(oracle.rows), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(model.dual_coef_.T, oracle.coef, rtol=1e-6, atol=1e-10)
    assert model.threshold_ == pytest.approx(oracle.threshold, rel=1e-7)
    assert model.offset_ == pytest.approx(oracle.offset, rel=1e-7)


@pytest.mark.parametrize(
    "maintenance",
    ["merge", pytest.param("remove", marks=pytest.mark.slow), pytest.param("project", marks=pytest.mark.slow)],
)
def test_rows_one_after_the_other(maintenance):
    X = rows()
    oracle, n_learned = oracle_of_rows(maintenance)
    assert 0.2 * N_ROWS < n_learned < 0.8 * N_ROWS
    assert_same(new_model(maintenance).partial_fit(X), oracle, n_learned)


@pytest.mark.parametrize("batch_rows", [1, 100, 256])
def test_batches_of_any_size(batch_rows):
    X = rows()
    model = new_model()
    for start in range(0, N_ROWS, batch_rows):
        model.partial_fit(X[start : start + batch_rows])
    assert_same(model, *oracle_of_rows("merge"))


def test_weights():
    X = rows()
    weights = np.random.default_rng(1).exponential(size=N_ROWS)
    weights[::4] = 0.0
    present = weights > 0
    oracle, n_learned = oracle_after(X[present], "merge", weights[present])
    assert_same(new_model().partial_fit(X, sample_weight=weights), oracle, n_learned)
