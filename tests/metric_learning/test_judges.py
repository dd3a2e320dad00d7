"""Judges: their errors with machines of their neighbors, and who is better."""

import numpy as np
import pytest

from frugalsvm.core.kernels import RBF
from frugalsvm.metric_learning.descent import Point
from frugalsvm.metric_learning.judges import Judgment, is_better, judge
from frugalsvm.metric_learning.machine import Rows

POINT = Point(np.ones(2), 1e-4)


def judgment(losses, weights=None):
    losses = np.asarray(losses, float)
    return Judgment(POINT, losses, losses, np.ones(len(losses)) if weights is None else weights)


class TestComparison:
    def test_fewer_errors_by_more_than_two_standard_errors(self):
        worse, better = np.zeros(100), np.zeros(100)
        worse[:6], better[:2] = 1.0, 1.0  # a mean difference of 0.04, with a standard error of 0.0196
        assert is_better(judgment(better), judgment(worse))
        assert not is_better(judgment(worse), judgment(better))

    def test_not_by_less(self):
        one, other = np.zeros(100), np.zeros(100)
        one[:10], other[10:21] = 1.0, 1.0  # 0.01, with 0.046
        assert not is_better(judgment(one), judgment(other))

    def test_nor_are_equal_ones(self):
        assert not is_better(judgment(np.ones(10)), judgment(np.ones(10)))

    def test_rows_without_weight_do_not_count(self):
        worse, better = np.r_[np.ones(9), np.zeros(90), 0.0], np.r_[np.zeros(99), 50.0]
        weights = np.r_[np.ones(99), 0.0]
        assert is_better(judgment(better, weights), judgment(worse, weights))
        assert not is_better(judgment(better), judgment(worse))


@pytest.fixture(scope="module")
def rows():
    X = np.random.default_rng(0).normal(size=(1000, 2))
    return Rows(X, np.sin(2 * X[:, :1]) * X[:, 1:], np.ones(1000))


class TestErrors:
    def test_each_judge_is_predicted_by_its_neighbors(self, rows):
        """As if it was not there: another target of its own changes its error by as much."""
        found = judge(RBF(1.0), POINT, rows, 200, np.random.default_rng(0), classes=False)
        targets = rows.targets.copy()
        targets[7] += 0.5
        moved = judge(RBF(1.0), POINT, rows._replace(targets=targets), 200, np.random.default_rng(0), classes=False)
        assert found.squared_error < 0.05 * rows.targets.var()
        assert moved.squares[7] == pytest.approx(0.25, rel=0.3)
        assert len(moved.squares) == 200

    @pytest.mark.parametrize("n_outputs", [1, 3])
    def test_wrong_classes_are_counted(self, rows, n_outputs):
        y = np.digitize(rows.targets[:, 0], [-0.5, 0.5])
        targets = np.where(y[:, None] == np.arange(3), 1.0, -1.0)[:, :n_outputs]
        found = judge(RBF(1.0), POINT, rows._replace(targets=targets), 200, np.random.default_rng(0), classes=True)
        assert set(np.unique(found.losses)) <= {0.0, 1.0}
        assert 0.0 < found.error < 0.3
        assert len(found.losses) == 200
