"""Metrics that are learned from tensors are those of arrays."""

import numpy as np
import pytest

from frugalsvm.arrays.namespace import arrays_of
from frugalsvm.core.kernels import KERNELS
from frugalsvm.metric_learning.agop import average_outer_product
from frugalsvm.metric_learning.candidates import Plan, Schedule
from frugalsvm.metric_learning.machine import Rows, judged, mean_losses
from frugalsvm.selection.best_metric import best_metric

EUCLIDEAN = ("rbf", "matern12", "matern32", "matern52")
GAMMA, RIDGE = 0.7, 1e-3
BATCHES = np.arange(90).reshape(2, 45)
STEPS = Plan(0.15, 12, 80, 2)
SCHEDULE = Schedule(factors=STEPS, last=Plan(0.1, 6, 80, 2), matrix=Plan(0.01, 6, 80, 2), n_batches=4)


def rows_of(n, n_outputs=3, n_features=4):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, n_features))
    return Rows(X, np.sin(X @ rng.normal(size=(n_features, n_outputs))), rng.uniform(0.5, 2.0, n))


def on(arrays, rows):
    return Rows(*(arrays.asarray(each) for each in tuple(rows)))


def test_arrays_know_their_device(arrays):
    found = arrays_of(arrays.zeros((2,)))
    assert (found.is_torch, found.device) == (arrays.is_torch, arrays.device)


@pytest.mark.parametrize(
    ("name", "is_matrix"),
    [*((name, is_matrix) for name in EUCLIDEAN for is_matrix in (False, True)), ("laplacian", False)],
)
def test_loss_and_gradient(arrays, name, is_matrix):
    kernel, rows = KERNELS[name](GAMMA), rows_of(90)
    A = np.random.default_rng(1).normal(size=(3, 4)) if is_matrix else np.array([0.5, 0.4, 0.3, 0.2])
    expected = judged(kernel, A, RIDGE, rows, BATCHES)
    moved, on_device = on(arrays, rows), arrays.asarray(A)
    found = judged(kernel, on_device, RIDGE, moved, BATCHES)
    assert float(found.loss) == pytest.approx(expected.loss, rel=1e-9)
    assert mean_losses(kernel, on_device, [RIDGE], moved, BATCHES) == pytest.approx([expected.loss], rel=1e-9)
    assert float(found.ridge_slope) == pytest.approx(expected.ridge_slope, rel=1e-6)
    np.testing.assert_allclose(arrays.host(found.gradient), expected.gradient, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", EUCLIDEAN)
def test_average_outer_products(arrays, name):
    kernel, rows, A = KERNELS[name](GAMMA), rows_of(90), np.random.default_rng(1).normal(size=(3, 4))
    expected = average_outer_product(kernel, A, RIDGE, rows, BATCHES)
    found = arrays.host(average_outer_product(kernel, arrays.asarray(A), RIDGE, on(arrays, rows), BATCHES))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("name", "n_features", "classes"),
    [("rbf", 4, False), ("rbf", 4, True), ("matern32", 4, False), ("laplacian", 4, True), ("rbf", 70, False)],
)
def test_the_best_metric(arrays, name, n_features, classes):
    rows, scales = rows_of(400, n_features=n_features), np.linspace(0.5, 2.0, n_features)
    rows = rows._replace(targets=np.sign(rows.targets)) if classes else rows
    found, expected = (
        best_metric(
            KERNELS[name](1.0), each, np.random.default_rng(1), scales=scales, classes=classes, schedule=SCHEDULE
        )
        for each in (on(arrays, rows), rows)
    )
    assert found.kind == expected.kind
    assert found.errors == pytest.approx(expected.errors, rel=1e-3)
    assert isinstance(found.point.A, np.ndarray)
    M, expected_M = (A.T @ A if A.ndim == 2 else A**2 for A in (found.point.A, expected.point.A))
    np.testing.assert_allclose(M, expected_M, atol=1e-3 * np.abs(expected_M).max())


def test_tensors_in_float32_are_learned_from_in_float64(arrays):
    rows = on(arrays, rows_of(200))
    single = Rows(*(arrays.single(each) for each in tuple(rows)))
    found = best_metric(KERNELS["rbf"](1.0), single, np.random.default_rng(1), kinds=("plain",), schedule=SCHEDULE)
    assert found.point.A.dtype == np.float64
