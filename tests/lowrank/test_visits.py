"""One visit of rows gives what plain products with them do."""

import numpy as np
import pytest

from frugalsvm.lowrank.backends.compiled import StoredRows
from frugalsvm.lowrank.losses import EpsilonInsensitive, Hinge, SquaredHinge
from frugalsvm.lowrank.problem import Problem
from frugalsvm.lowrank.visits import visited
from frugalsvm.lowrank.whitening import NoWhitening

SMOOTHING, CUT = 0.1, 1e-4


def problem(loss, n_rows, width, n_outputs):
    rng = np.random.default_rng(n_rows)
    rows = rng.uniform(size=(n_rows, width)).astype(np.float32)
    targets = rng.choice([-1.0, 1.0], size=(n_outputs, n_rows)).astype(np.float32)
    weights = rng.uniform(0.0, 2.0, n_rows).astype(np.float32)
    weights[::5] = 0.0
    return Problem(StoredRows(rows), targets, weights, loss, 0.0, NoWhitening(width), True)


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize(("n_rows", "width"), [(1, 7), (3, 7), (1003, 20), (600, 3000)])
@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge(), EpsilonInsensitive(0.1)], ids=["hinge", "square", "tube"])
def test_a_visit_is_two_products_and_the_slopes_between_them(loss, n_rows, width, n_outputs):
    task = problem(loss, n_rows, width, n_outputs)
    rng = np.random.default_rng(1)
    vectors, shifts = rng.normal(size=(n_outputs, width)) / np.sqrt(width), rng.normal(size=n_outputs)
    scores, slopes, curvatures, gradient = visited(task, vectors, shifts, SMOOTHING, CUT)
    rows = task.rows.block.astype(np.float64)
    expected = vectors @ rows.T + shifts[:, None]
    np.testing.assert_allclose(scores, expected, atol=2e-5)
    first, second = (each * task.weights for each in loss.derivatives(np, SMOOTHING, task.targets, scores))
    first[np.abs(first) <= CUT * task.weights] = 0.0
    np.testing.assert_allclose(slopes, first, atol=2e-4)
    np.testing.assert_allclose(curvatures, second, atol=2e-3)
    np.testing.assert_allclose(gradient, slopes.astype(np.float64) @ rows, rtol=1e-4, atol=1e-4 * n_rows)
