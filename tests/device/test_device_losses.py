"""Losses on whole arrays against those of the compiled solver."""

import numpy as np
import pytest
from device_support import FURTHER_LOSSES
from device_support import LOSSES as COMMON_LOSSES

from frugalsvm.compiling.crew import ALONE
from frugalsvm.lowrank.backends.torch import Torch
from frugalsvm.lowrank.duality import balanced, conjugate_sums, sides_of
from frugalsvm.lowrank.losses.compiled import differentiate
from frugalsvm.lowrank.problem import Problem
from frugalsvm.lowrank.targets import class_targets

LOSSES = COMMON_LOSSES | FURTHER_LOSSES
each_loss = pytest.mark.parametrize("name", LOSSES)


@pytest.fixture
def rows():
    """Two outputs; functions are given the loss and the namespace's arrays."""

    def made(name, arrays):
        rng = np.random.default_rng(0)
        targets = rng.choice([-1.0, 1.0], (2, 400)) if "hinge" in name else rng.normal(size=(2, 400))
        host = targets, 1.5 * rng.normal(size=(2, 400)), rng.integers(0, 3, 400) * 0.7, 2 * rng.normal(size=(2, 400))
        host = [each.astype(np.float32) for each in host]
        return host, [arrays.asarray(each) for each in host]

    return made


@each_loss
@pytest.mark.parametrize("width", [0.5, 0.03])
def test_slopes_and_curvatures(arrays, rows, name, width):
    (targets, scores, _, _), there = rows(name, arrays)
    found = [arrays.host(each) for each in LOSSES[name].derivatives(arrays.xp, width, *there[:2])]
    slopes, curvatures = np.empty((2, 2, 400), np.float32)
    weights, edges = np.ones(400, np.float32), np.array([0, 400])
    differentiate(ALONE, LOSSES[name], width, 0.0, targets, scores, weights, edges, slopes, curvatures)
    np.testing.assert_allclose(found[0], slopes, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found[1], curvatures, rtol=1e-4, atol=1e-5 / width)


@each_loss
def test_far_from_the_kink_nothing_overflows(arrays, name):
    targets, scores = (
        arrays.asarray(np.tile(np.float32(each), (2, 1))) for each in ([1, 1, -1, -1], [1e6, -1e6, 1e6, -1e6])
    )
    with np.errstate(all="raise"):
        for each in LOSSES[name].derivatives(arrays.xp, 1e-3, targets, scores):
            assert np.isfinite(arrays.host(each)).all()


@each_loss
def test_totals_and_what_smoothing_adds(arrays, rows, name):
    (targets, scores, weights, _), there = rows(name, arrays)
    problem = Problem(None, there[0], there[2], LOSSES[name], 0.0, None, True)
    found = arrays.host(Torch(arrays).total(problem, there[1]))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, LOSSES[name].values(np, targets, scores) @ weights, rtol=1e-5)
    added = arrays.host(Torch(arrays).excess(problem, there[1], 0.2))
    expected = LOSSES[name].smoothing_excess(np, targets, scores, 0.2) @ weights
    np.testing.assert_allclose(added, expected, rtol=1e-5)


@each_loss
def test_duals(arrays, rows, name):
    (targets, _, weights, duals), there = rows(name, arrays)
    feasible = LOSSES[name].feasible(arrays.xp, there[0], there[3], there[2])
    expected = LOSSES[name].feasible(np, targets, duals, weights)
    np.testing.assert_allclose(arrays.host(feasible), expected, rtol=1e-6)
    found = arrays.host(conjugate_sums(arrays.xp, LOSSES[name], there[0], feasible, there[2]))
    expected = LOSSES[name].conjugates(np, targets, expected.astype(np.float64), weights).sum(axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3)


def balanced_by_themselves(arrays, duals):
    duals = arrays.asarray(duals)
    return arrays.host(balanced(arrays, duals, sides_of(arrays.xp, duals)))


def test_balanced_dual_variables_sum_to_zero_and_stay_inside(arrays, rows):
    (_, _, _, duals), _ = rows("hinge", arrays)
    duals = duals + np.array([[0.5], [-0.5]], np.float32)
    found = balanced_by_themselves(arrays, duals)
    np.testing.assert_allclose(found.sum(axis=1), 0, atol=1e-3)
    assert (found * duals >= 0).all()
    assert (np.abs(found) <= np.abs(duals) * (1 + 1e-6)).all()
    assert (np.abs(found) == np.abs(duals)).any(axis=1).all()  # one side is as it was
    np.testing.assert_array_equal(balanced_by_themselves(arrays, np.abs(duals)), 0)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_targets_of_classes(arrays, n_classes):
    labels = np.random.default_rng(0).integers(0, n_classes, 50)
    found = arrays.host(class_targets(arrays, labels, n_classes))
    expected = [labels == 1] if n_classes == 2 else [labels == k for k in range(4)]
    np.testing.assert_array_equal(found, np.where(expected, 1, -1))
    assert found.dtype == np.float32
