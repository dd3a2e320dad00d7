"""Newton rounds over parts are Newton steps on all rows, and means of iterates are means."""

import numpy as np
import pytest

from frugalsvm.asset.losses import Hinge, SquaredHinge
from frugalsvm.asset.rounds import (
    LONGEST,
    lengths_by_sample,
    mean_iterates,
    moments_of,
    newton_step,
    objective_of,
    smoothed_objective_of,
    summed,
)
from frugalsvm.asset.rows import StoredRows
from frugalsvm.asset.solve import Sample, Settings, solve
from frugalsvm.asset.task import Task, gradient, objectives, point_at, slopes_at

PENALTY = 1e-2


def problem(loss, n_rows=400, n_outputs=2, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, 6)).astype(np.float32)
    targets = np.where(rows @ rng.normal(size=(6, n_outputs)) + 0.5 * rng.normal(size=(n_rows, n_outputs)) > 0.3, 1, -1)
    weights = rng.uniform(0.5, 2.0, n_rows).astype(np.float32)
    targets = np.ascontiguousarray(targets.T, np.float32)
    return Task(StoredRows(rows), targets, weights, loss, PENALTY, rng.normal(size=(6, 4)), True)


def part_of(task, chosen):
    return task._replace(
        rows=StoredRows(np.ascontiguousarray(task.rows.block[chosen])),
        targets=np.ascontiguousarray(task.targets[:, chosen]),
        weights=task.weights[chosen],
    )


def divided(task, n_parts):
    return [part_of(task, chosen) for chosen in np.array_split(np.arange(task.rows.n_rows), n_parts)]


def all_rows(n_rows):
    return n_rows


def told(parts, unknowns, width=0.1):
    return summed([moments_of([part], unknowns, width, all_rows, np.random.default_rng(0)) for part in parts])


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()], ids=["hinge", "squared"])
def test_sums_of_parts_are_those_of_all_rows(loss):
    task = problem(loss)
    unknowns = np.random.default_rng(1).normal(size=(2, 5))
    for n_parts in (1, 3, 7):
        moments = told(divided(task, n_parts), unknowns)
        np.testing.assert_allclose(
            objective_of(moments, unknowns, PENALTY), objectives(task, point_at(task, unknowns)), rtol=1e-5
        )
        slopes = slopes_at(task, point_at(task, unknowns).scores, 0.1, 1e-4)
        gradients = moments.slopes / moments.n_rows
        gradients[:, :-1] += PENALTY * unknowns[:, :-1]
        np.testing.assert_allclose(gradients, gradient(task, unknowns, slopes.first), rtol=1e-4, atol=1e-6)
        # which rows have too little curvature to count depends on the part: a thousandth of it
        curvatures = told([task], unknowns).curvatures
        np.testing.assert_allclose(moments.curvatures, curvatures, atol=1e-3 * np.abs(curvatures).max())


def steps(parts, n_steps, intercept=True):
    unknowns = np.zeros((2, 5))
    for _ in range(n_steps):
        moments = told(parts, unknowns)
        directions, decrements = newton_step(moments, unknowns, PENALTY, intercept)
        lengths = lengths_by_sample(parts[0], 0.1, unknowns, directions, decrements, PENALTY)
        unknowns = unknowns + lengths[:, None] * directions
    return unknowns


def test_rounds_come_to_the_optimum_however_rows_are_divided():
    task = problem(SquaredHinge())
    best = solve(task, Sample(task.rows, task.targets, task.weights), Settings(1e-6, 50), np.random.default_rng(0))
    for n_parts in (1, 5):
        reached = objectives(task, point_at(task, steps(divided(task, n_parts), 12)))
        np.testing.assert_allclose(reached, best.objectives, rtol=1e-4)


def test_no_intercept_stays_none():
    task = problem(SquaredHinge())._replace(intercept=False)
    assert not steps(divided(task, 3), 3, intercept=False)[:, -1].any()


def lengths_along(task, sample, unknowns):
    """Lengths by a sample, and how steep the smoothed objective of all rows is there and at the beginning."""
    directions, decrements = newton_step(told([task], unknowns), unknowns, PENALTY, True)
    lengths = lengths_by_sample(sample, 0.1, unknowns, directions, decrements, PENALTY)

    def slopes(length):
        at = unknowns + length[:, None] * directions
        first = slopes_at(task, point_at(task, at).scores, 0.1, 0.0).first
        return (gradient(task, at, first) * directions).sum(axis=1)

    np.testing.assert_allclose(slopes(np.zeros(2)), -decrements, rtol=1e-3)
    return lengths, np.abs(slopes(lengths)) / decrements


def test_lengths_are_where_the_slope_is_zero():
    """To a few percent where the sample is all rows; a tenth of the rows come near it."""
    task = problem(Hinge(), n_rows=4000)
    unknowns = np.random.default_rng(1).normal(size=(2, 5))
    for sample, tolerance in ((task, 0.03), (divided(task, 10)[0], 0.2)):
        lengths, steepness = lengths_along(task, sample, unknowns)
        assert ((lengths > 0) & (lengths < LONGEST)).all()
        assert (steepness < tolerance).all()


def test_a_sample_without_curvature_makes_no_endless_step():
    task = problem(Hinge())
    far = task._replace(weights=0 * task.weights)
    directions = np.ones((2, 5))
    lengths = lengths_by_sample(far, 0.1, np.zeros((2, 5)), directions, np.array([1.0, 0.0]), 1e-9)
    assert lengths.tolist() == [LONGEST, 0.0]


def test_the_smoothed_objective_is_above_the_hinge_and_that_of_a_smooth_loss_is_its_own():
    unknowns = np.random.default_rng(1).normal(size=(2, 5))
    hinge, squared = (told([problem(loss)], unknowns) for loss in (Hinge(), SquaredHinge()))
    assert (smoothed_objective_of(hinge, unknowns, PENALTY) > objective_of(hinge, unknowns, PENALTY)).all()
    np.testing.assert_array_equal(
        smoothed_objective_of(squared, unknowns, PENALTY), objective_of(squared, unknowns, PENALTY)
    )


def test_a_sample_of_the_curvature_is_scaled_to_all_rows():
    task = problem(SquaredHinge(), n_rows=4000, n_outputs=1)
    whole, some = (
        moments_of(divided(task, 4), np.zeros((1, 5)), 0.1, limit, np.random.default_rng(0))
        for limit in (all_rows, lambda n_rows: n_rows // 4)
    )
    assert np.linalg.norm(whole.curvatures - some.curvatures) < 0.1 * np.linalg.norm(whole.curvatures)


def test_means_of_iterates():
    rng = np.random.default_rng(0)
    parts, weights = list(rng.normal(size=(3, 2, 4))), [100, 50, 7]
    mean = mean_iterates(parts, weights)
    np.testing.assert_allclose(mean, np.average(parts, axis=0, weights=weights), rtol=1e-14)
    np.testing.assert_allclose(mean_iterates(parts[::-1], weights[::-1]), mean, rtol=1e-12)
    pair = mean_iterates(parts[:2], weights[:2])
    np.testing.assert_allclose(mean_iterates([pair, parts[2]], [150, 7]), mean, rtol=1e-12)
    np.testing.assert_allclose(mean_iterates(parts[:1], [3]), parts[0], rtol=1e-15)


@pytest.mark.parametrize("weights", [[], [0, 0], [1, -1], [1]])
def test_means_need_weights(weights):
    with pytest.raises(ValueError, match="A mean needs a weight"):
        mean_iterates([np.zeros((1, 2))] * 2, weights)
