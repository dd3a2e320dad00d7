"""The bound over partitions is that of one machine, and no model is below it."""

import numpy as np
import pytest
from test_rounds import PENALTY, asked, divided, partitioned, problem

from frugalsvm.lowrank.backends.partition_sums import Iterate, dual_of_part, moments_of
from frugalsvm.lowrank.continuation import solve
from frugalsvm.lowrank.duality import lower_bounds
from frugalsvm.lowrank.losses import Hinge, SquaredHinge
from frugalsvm.lowrank.options import Options
from frugalsvm.lowrank.problem import Sample, regularized

SMOOTHING = 0.03
CAREFUL = Options().careful(Hinge())


def near_the_optimum(task):
    sample = Sample(task.rows, task.targets, task.weights)
    return solve(task, sample, Options(1e-6, 50), np.random.default_rng(0)).parameters


def direction_at(task, parameters):
    iterate = Iterate(0, parameters, SMOOTHING, CAREFUL, 1.0, True)
    moments, whole = asked([task])(moments_of, iterate), partitioned([task])
    inverse = whole.hessian(moments, CAREFUL, None).preconditioner(CAREFUL, None)
    return inverse.solve(-whole.gradient(parameters, moments))


def dual_over(parts, parameters, directions, lengths):
    iterate = Iterate(0, parameters, SMOOTHING, CAREFUL, 1.0, True, directions, lengths)
    return asked(parts)(dual_of_part, iterate)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()], ids=["hinge", "squared"])
def test_parts_give_the_bound_of_one_machine(loss, intercept):
    task = problem(loss)._replace(intercept=intercept)
    parameters = near_the_optimum(task) + 0.01
    parameters[:, -1] *= intercept
    directions, lengths = direction_at(task, parameters), np.array([0.5, 1.0])
    slopes = task.slopes(task.point_at(parameters), SMOOTHING, CAREFUL)
    expected = lower_bounds(task, -(slopes.first + slopes.second * task.scores(directions)))
    after = parameters + lengths[:, None] * directions
    for n_parts in (1, 4):
        dual = dual_over(divided(task, n_parts), parameters, directions, lengths)
        bounds = dual.bounds(PENALTY, intercept)
        # Of squares, a part that is scaled down is worth a little more than that share of it.
        np.testing.assert_allclose(bounds, expected, rtol=1e-3 if loss.is_smooth and intercept else 1e-4)
        assert (bounds <= expected * (1 + 1e-6)).all()
        reached = task.objectives(task.point_at(after))
        np.testing.assert_allclose(regularized(dual.losses / dual.n_rows, after, PENALTY), reached, rtol=1e-5)


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()], ids=["hinge", "squared"])
def test_no_model_is_below_the_bound(loss):
    """Also where it is made far from the optimum; near it, it is tight."""
    task = problem(loss)
    best = near_the_optimum(task)
    least = task.objectives(task.point_at(best))
    for parameters, is_near in ((np.zeros((2, 5)), False), (best, True)):
        directions = direction_at(task, parameters)
        bounds = dual_over(divided(task, 3), parameters, directions, np.zeros(2)).bounds(PENALTY, intercept=True)
        assert (bounds <= least * (1 + 1e-5)).all()
        if is_near:
            assert (bounds >= 0.98 * least).all()
