"""The race between metrics: who wins where, and that nothing wins by chance."""

import numpy as np
import pytest

from frugalsvm.core.kernels import RBF
from frugalsvm.metric_learning.descent import FACTORS, MATRIX
from frugalsvm.metric_learning.held_out import Rows
from frugalsvm.metric_learning.race import race

KERNEL = RBF(1.0)
FEW = {"n_steps": 60, "n_fitted": 400, "n_held_out": 200, "n_landmarks": 60}
PLANS = {"factors": FACTORS._replace(**FEW), "matrix": MATRIX._replace(**FEW, rate=0.03)}


def outcome_of(function, n_features, kinds=("plain", "factors", "matrix"), n=1500):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, n_features))
    y = function(X, rng)
    rows = Rows(X, (y - y.mean())[:, None], np.ones(n))
    return race(KERNEL, rows, np.random.default_rng(1), kinds=kinds, plans=PLANS)


def test_factors_win_where_features_are_noise():
    outcome = outcome_of(lambda X, rng: np.sin(2 * X[:, 0]) * X[:, 1], 8, kinds=("plain", "factors"))
    assert outcome.kind == "factors"
    assert outcome.errors["factors"] < 0.3 * outcome.errors["plain"]
    weights = outcome.point.A**2
    assert weights[:2].sum() > 0.98 * weights.sum()


def test_a_matrix_wins_where_a_direction_matters():
    outcome = outcome_of(lambda X, rng: np.sin(1.7 * (X[:, 0] - X[:, 1] + X[:, 2])), 4)
    assert outcome.kind == "matrix"
    assert outcome.point.A.shape == (4, 4)


def test_the_plain_metric_stays_where_nothing_can_be_learned():
    assert outcome_of(lambda X, rng: rng.normal(size=len(X)), 5).kind == "plain"


def test_the_plain_metric_stays_where_all_features_are_alike():
    outcome = outcome_of(lambda X, rng: np.sin(np.linalg.norm(X, axis=1) * 2), 3, kinds=("plain", "factors"))
    assert outcome.errors[outcome.kind] <= 1.05 * outcome.errors["plain"]


@pytest.mark.parametrize("kinds", [("plain",), ("plain", "matrix")])
def test_only_those_who_take_part_are_judged(kinds):
    outcome = outcome_of(lambda X, rng: X[:, 0], 3, kinds=kinds, n=300)
    assert tuple(outcome.errors) == kinds
