"""Coefficients that are learned once more on a sample, against the oracle; and which model they are learned for."""

import numpy as np
import pytest

pytest.importorskip("distributed")

from oracles.refit import best_coefficients, objective

from frugalsvm import BSGDClassifier
from frugalsvm.core.expansion import coefficients
from frugalsvm.dask._preparing import Rows
from frugalsvm.dask._refit import Refit, rows_for
from frugalsvm.datasets import make_checkerboard

KERNEL = {"kernel": "rbf", "gamma": 4.0}


@pytest.fixture(scope="module")
def sample():
    X, y = make_checkerboard(600, random_state=1)
    return Rows(-1, X.astype(np.float32), (y > 0).astype(np.int64), None, 0)


def learner(n_rows, seed=0):
    X, y = make_checkerboard(n_rows, random_state=seed)
    model = BSGDClassifier(budget=30, gamma=4.0, alpha=1e-3, random_state=0, shuffle=False)
    return model.fit(X.astype(np.float32), y).learners[0]


def test_the_objective_is_that_of_the_oracle(sample):
    before = learner(2000)
    after = Refit(sample, 2, 1e-3)(before)
    n = int(after.expansion.counts[0]["n_slots"])
    vectors = after.expansion.rows[:n].astype(np.float64)
    np.testing.assert_array_equal(vectors, before.expansion.rows[:n])
    signs, rows = 2.0 * sample.labels - 1.0, sample.X.astype(np.float64)
    _, best = best_coefficients(vectors, rows, signs, 1e-3, **KERNEL)
    reached, begun = (
        objective(coefficients(each.expansion)[:, 0], vectors, rows, signs, 1e-3, **KERNEL) for each in (after, before)
    )
    assert best * (1 - 1e-6) <= reached <= 1.01 * best
    assert reached < begun


def test_weights_count_as_often_as_rows(sample):
    weights = np.where(sample.X[:, 0] > np.median(sample.X[:, 0]), 2.0, 0.0)
    kept = weights > 0
    twice = Rows(-1, sample.X[kept], sample.labels[kept], None, 0)
    before = learner(2000)
    a, b = (Refit(rows, 2, 1e-3)(before).scores(sample.X) for rows in (sample._replace(weights=weights), twice))
    # Half of the rows with a weight of two have the same mean loss as these rows alone.
    np.testing.assert_allclose(a, b, atol=0.1)


def test_the_better_support_vectors_are_told(sample):
    good, poor = learner(4000), learner(40)
    refit = Refit(sample, 2, 1e-3)
    assert refit.better(good, poor) is good
    assert refit.better(poor, good) is good


def test_rows_for_coefficients():
    assert rows_for(100, 10**6, 8) == 20_000
    assert rows_for(100, 20 * 10**6, 8) == 100_000
    assert rows_for(100, 5000, 8) == 5000
    assert rows_for(4096, 10**9, 8) == 2**28 // (4 * 4096)
    assert rows_for(100, 10**7, 2**14) == 2**14
