"""The bound over parts is that of one machine, and no model is below it."""

import numpy as np
import pytest
from test_rounds import PENALTY, all_rows, divided, problem

from frugalsvm.asset.losses import Hinge, SquaredHinge
from frugalsvm.asset.parted_bound import bounds_of, dual_of, sides_of
from frugalsvm.asset.rounds import (
    LAST_CUT,
    moments_of,
    newton_step,
    objective_of,
    summed,
)
from frugalsvm.asset.solve import Sample, Settings, solve
from frugalsvm.asset.task import lower_bounds, objectives, point_at, scores_of, slopes_at

WIDTH = 0.03


def near_the_optimum(task):
    sample = Sample(task.rows, task.targets, task.weights)
    return solve(task, sample, Settings(1e-6, 50), np.random.default_rng(0)).unknowns


def direction_at(task, unknowns):
    moments = moments_of([task], unknowns, WIDTH, all_rows, np.random.default_rng(0), LAST_CUT)
    return newton_step(moments, unknowns, PENALTY, task.intercept)[0]


def bounds_over(parts, unknowns, directions, lengths):
    sides = summed([sides_of([part], unknowns, directions, WIDTH) for part in parts])
    return summed([dual_of([part], unknowns, directions, WIDTH, sides, lengths) for part in parts])


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()], ids=["hinge", "squared"])
def test_parts_give_the_bound_of_one_machine(loss, intercept):
    task = problem(loss)._replace(intercept=intercept)
    unknowns = near_the_optimum(task) + 0.01
    unknowns[:, -1] *= intercept
    directions, lengths = direction_at(task, unknowns), np.array([0.5, 1.0])
    changes = scores_of(task, directions, np.empty(task.targets.shape, np.float32))
    slopes = slopes_at(task, point_at(task, unknowns).scores, WIDTH, LAST_CUT)
    expected = lower_bounds(task, -(slopes.first + slopes.second * changes))
    after = unknowns + lengths[:, None] * directions
    for n_parts in (1, 4):
        dual = bounds_over(divided(task, n_parts), unknowns, directions, lengths)
        np.testing.assert_allclose(bounds_of(dual, PENALTY), expected, rtol=1e-4)
        reached = objectives(task, point_at(task, after))
        np.testing.assert_allclose(objective_of(dual, after, PENALTY), reached, rtol=1e-5)


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()], ids=["hinge", "squared"])
def test_no_model_is_below_the_bound(loss):
    """Also where it is made far from the optimum; near it, it is tight."""
    task = problem(loss)
    best = near_the_optimum(task)
    least = objectives(task, point_at(task, best))
    for unknowns, is_near in ((np.zeros((2, 5)), False), (best, True)):
        directions = direction_at(task, unknowns)
        bounds = bounds_of(bounds_over(divided(task, 3), unknowns, directions, np.zeros(2)), PENALTY)
        assert (bounds <= least * (1 + 1e-5)).all()
        if is_near:
            assert (bounds >= 0.98 * least).all()
