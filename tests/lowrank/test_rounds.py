"""Newton rounds over partitions are Newton steps on all rows, and means of iterates are means."""

import numpy as np
import pytest

from frugalsvm.lowrank.backends.compiled import StoredRows
from frugalsvm.lowrank.backends.partition_sums import Iterate, mean_iterates, moments_of, summed
from frugalsvm.lowrank.backends.partitions import OPTIONS, PartitionedProblem
from frugalsvm.lowrank.continuation import solve
from frugalsvm.lowrank.losses import Hinge, SquaredHinge
from frugalsvm.lowrank.newton import line_search, newton_step
from frugalsvm.lowrank.options import ALL_ROWS, Options
from frugalsvm.lowrank.problem import Problem, Sample
from frugalsvm.lowrank.whitening import MatrixWhitening

PENALTY = 1e-2
LONGEST = OPTIONS.longest
WITH_ALL_ROWS = OPTIONS._replace(sample=ALL_ROWS)


def problem(loss, n_rows=400, n_outputs=2, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, 6)).astype(np.float32)
    targets = np.where(rows @ rng.normal(size=(6, n_outputs)) + 0.5 * rng.normal(size=(n_rows, n_outputs)) > 0.3, 1, -1)
    weights = rng.uniform(0.5, 2.0, n_rows).astype(np.float32)
    targets = np.ascontiguousarray(targets.T, np.float32)
    return Problem(StoredRows(rows), targets, weights, loss, PENALTY, MatrixWhitening(rng.normal(size=(6, 4))), True)


def part_of(task, chosen):
    return task._replace(
        rows=StoredRows(np.ascontiguousarray(task.rows.block[chosen])),
        targets=np.ascontiguousarray(task.targets[:, chosen]),
        weights=task.weights[chosen],
    )


def divided(task, n_parts):
    return [part_of(task, chosen) for chosen in np.array_split(np.arange(task.n_rows), n_parts)]


def asked(parts):
    """What asks these parts, one after the other."""
    return lambda function, iterate: summed([function([part], iterate, np.random.default_rng(0)) for part in parts])


def partitioned(parts, sample=None, penalty=PENALTY):
    n_rows = sum(part.n_rows for part in parts)
    return PartitionedProblem(parts[0] if sample is None else sample, asked(parts), n_rows, penalty)


def told(parts, parameters):
    return asked(parts)(moments_of, Iterate(0, parameters, 0.1, Options(), 1.0, True))


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()], ids=["hinge", "squared"])
def test_sums_of_parts_are_those_of_all_rows(loss):
    task = problem(loss)
    parameters = np.random.default_rng(1).normal(size=(2, 5))
    for n_parts in (1, 3, 7):
        moments = told(divided(task, n_parts), parameters)
        point = task.point_at(parameters)
        np.testing.assert_allclose(moments.objectives(parameters, PENALTY), task.objectives(point), rtol=1e-5)
        gradients = partitioned([task]).gradient(parameters, moments)
        expected = task.gradient(parameters, task.slopes(point, 0.1, Options(cut=1e-4)))
        np.testing.assert_allclose(gradients, expected, rtol=1e-4, atol=1e-6)
        # which rows have too little curvature to count depends on the part: a thousandth of it
        curvatures = told([task], parameters).curvatures
        np.testing.assert_allclose(moments.curvatures, curvatures, atol=1e-3 * np.abs(curvatures).max())


def steps(parts, n_steps):
    whole = partitioned(parts)
    point = whole.point_at(np.zeros((2, 5)))
    for _ in range(n_steps):
        newton_step(whole, point, 0.1, None, WITH_ALL_ROWS, None)
    return point.parameters


def test_rounds_come_to_the_optimum_however_rows_are_divided():
    task = problem(SquaredHinge())
    best = solve(task, Sample(task.rows, task.targets, task.weights), Options(1e-6, 50), np.random.default_rng(0))
    for n_parts in (1, 5):
        reached = task.objectives(task.point_at(steps(divided(task, n_parts), 12)))
        np.testing.assert_allclose(reached, best.objectives, rtol=1e-4)


def test_no_intercept_stays_none():
    task = problem(SquaredHinge())._replace(intercept=False)
    assert not steps(divided(task, 3), 3)[:, -1].any()


def lengths_along(task, sample, parameters):
    """Lengths by a sample, and how steep the smoothed objective of all rows is there and at the beginning."""
    whole = partitioned([task], sample)
    step, _ = newton_step(whole, whole.point_at(parameters), 0.1, None, WITH_ALL_ROWS, None)

    def slopes(length):
        at = parameters + length[:, None] * step.directions
        first = task.slopes(task.point_at(at), 0.1, Options(cut=0.0))
        return (task.gradient(at, first) * step.directions).sum(axis=1)

    np.testing.assert_allclose(slopes(np.zeros(2)), -step.decrements, rtol=1e-3)
    return step.lengths, np.abs(slopes(step.lengths)) / step.decrements


def test_lengths_are_where_the_slope_is_zero():
    """To a few percent where the sample is all rows; a tenth of the rows come near it."""
    task = problem(Hinge(), n_rows=4000)
    parameters = np.random.default_rng(1).normal(size=(2, 5))
    for sample, tolerance in ((task, 0.03), (divided(task, 10)[0], 0.2)):
        lengths, steepness = lengths_along(task, sample, parameters)
        assert ((lengths > 0) & (lengths < LONGEST)).all()
        assert (steepness < tolerance).all()


def test_a_sample_without_curvature_makes_no_endless_step():
    task = problem(Hinge())
    far = partitioned([task._replace(weights=0 * task.weights)], penalty=1e-9)
    point, directions = far.point_at(np.zeros((2, 5))), np.ones((2, 5))
    lengths = line_search(far, point, 0.1, directions, far.scores(directions), -np.array([1.0, 0.0]), OPTIONS)
    assert lengths.tolist() == [LONGEST, 0.0]


@pytest.mark.parametrize("line_slope", [0.0, 0.1])
@pytest.mark.parametrize("length", [1.0, 1e3, 1e12])
def test_a_step_never_leads_uphill(line_slope, length):
    """A direction may be far too long where no row has curvature: from zero, all slopes change within a small part."""
    task = problem(Hinge(), n_rows=4000)._replace(penalty=1e-3)
    point, options = task.point_at(np.zeros((2, 5))), Options(line_slope=line_slope)
    gradients = task.gradient(point.parameters, task.slopes(point, 0.1, options))
    directions = -length / task.penalty * gradients
    start, before = (gradients * directions).sum(axis=1), task.objectives(point)
    lengths = line_search(task, point, 0.1, directions, task.scores(directions), start, options)
    reached = task.objectives(task.point_at(lengths[:, None] * directions))
    assert (lengths > 0).all()
    assert (reached < 0.9 * before).all()


def test_the_smoothed_objective_is_above_the_hinge_and_that_of_a_smooth_loss_is_its_own():
    parameters = np.random.default_rng(1).normal(size=(2, 5))
    hinge, squared = (told([problem(loss)], parameters) for loss in (Hinge(), SquaredHinge()))
    assert (hinge.excess > 0).all()
    np.testing.assert_array_equal(squared.excess, 0)


def test_a_sample_of_the_curvature_is_scaled_to_all_rows():
    task = problem(SquaredHinge(), n_rows=4000, n_outputs=1)
    whole, some = (
        moments_of(
            divided(task, 4), Iterate(0, np.zeros((1, 5)), 0.1, Options(), share, True), np.random.default_rng(0)
        )
        for share in (1.0, 0.25)
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
