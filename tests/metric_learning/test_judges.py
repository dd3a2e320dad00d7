"""Judges: errors of a machine at its best width and ridge, and who is better."""

import numpy as np
import pytest

from frugalsvm.core.kernels import RBF
from frugalsvm.metric_learning.descent import Point
from frugalsvm.metric_learning.judges import Judgment, Trial, is_better, judge
from frugalsvm.metric_learning.machine import Rows

TRIAL = Trial(300, 60, 0.25, 8.0, (0.1, 1.0, 10.0))
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
    X = np.random.default_rng(0).normal(size=(500, 2))
    return Rows(X, np.sin(2 * X[:, :1]) * X[:, 1:], np.ones(500))


class TestErrors:
    @pytest.mark.parametrize("factor", [0.5, 2.0])
    def test_the_width_is_found(self, rows, factor):
        """A metric that is too wide or too narrow is judged at the width that fits."""

        def judged(point):
            return judge(RBF(1.0), point, TRIAL, rows[:300], rows[300:], classes=False)

        fitting = judged(POINT)
        found = judged(fitting.point._replace(A=fitting.point.A * factor))
        np.testing.assert_allclose(found.point.A, fitting.point.A)

    @pytest.mark.parametrize("n_outputs", [1, 3])
    def test_wrong_classes_are_counted(self, rows, n_outputs):
        y = np.digitize(rows.targets[:, 0], [-0.5, 0.5])
        targets = np.where(y[:, None] == np.arange(3), 1.0, -1.0)[:, :n_outputs]
        classes = rows._replace(targets=targets)
        found = judge(RBF(1.0), POINT, TRIAL, classes[:300], classes[300:], classes=True)
        assert set(np.unique(found.losses)) <= {0.0, 1.0}
        assert 0.0 < found.error < 0.3
        assert len(found.losses) == 200
