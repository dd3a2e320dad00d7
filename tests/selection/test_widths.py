"""Widths of metrics for machines with landmarks."""

import numpy as np
import pytest

from frugalsvm.core.kernels import RBF
from frugalsvm.metric_learning.candidates import Point
from frugalsvm.metric_learning.machine import Rows
from frugalsvm.selection.widths import Resources, with_best_width


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_the_width_is_found(factor):
    """From a metric that is too wide or too narrow."""
    X = np.random.default_rng(0).normal(size=(500, 2))
    rows = Rows(X, np.sin(2 * X[:, :1]) * X[:, 1:], np.ones(500))

    def found_from(point):
        return with_best_width(RBF(1.0), point, Resources(300, 60), rows[:300], rows[300:])

    fitting = found_from(Point(np.ones(2), 1e-4))
    found = found_from(fitting._replace(A=fitting.A * factor))
    np.testing.assert_allclose(found.A, fitting.A)
