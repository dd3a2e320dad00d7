"""The solver on a device against the compiled one: the same objectives, and bounds that hold."""

import numpy as np
import pytest
from device_support import EPSILON, LOSSES, Wave
from oracles.low_rank import objective, optimum

from frugalsvm.asset.nystroem import new_nystroem
from frugalsvm.asset.rows import stored_rows
from frugalsvm.asset.solve import Sample, Settings
from frugalsvm.asset.solve import solve as compiled_solve
from frugalsvm.asset.task import Task
from frugalsvm.core.kernels import RBF
from frugalsvm.device import factors, training
from frugalsvm.device import solve as device_solve
from frugalsvm.device.maps import kernel_map
from frugalsvm.device.newton import Options, lower_bounds
from frugalsvm.device.training import Rows, coefficients, new_training

KERNEL, N_LANDMARKS = RBF(0.5), 24
each_loss = pytest.mark.parametrize("loss", LOSSES)


def on_device(arrays, wave, loss, *, C=1.0, intercept=True, tolerance=1e-4, memory=2**26, dtype="float32"):
    """The solution, and the coefficients of kernel values."""
    Z = arrays.asarray(wave.X[:N_LANDMARKS])
    rows = Rows(wave.X, wave.targets, wave.weights)
    made = new_training(
        arrays, kernel_map(arrays, KERNEL, Z), Z, rows, threshold=1e-7, rank=None, intercept=intercept, memory=memory,
        dtype=dtype, rng=np.random.default_rng(0),
    )  # fmt: skip
    problem = made.problem._replace(loss=LOSSES[loss], penalty=1.0 / (C * len(wave.X)))
    settings = device_solve.Settings(tolerance, 100, wave.unit, Options(most_sample_numbers=made.most_sample_numbers))
    solution = device_solve.solve(problem, made.sample, settings)
    return solution, *coefficients(made, solution.unknowns)


def compiled(wave, loss, *, C=1.0, intercept=True, tolerance=1e-4):
    nystroem = new_nystroem(KERNEL, wave.X[:N_LANDMARKS])
    rows = stored_rows(nystroem, wave.X, np.arange(len(wave.X)))
    penalty = 1.0 / (C * len(wave.X))
    task = Task(rows, wave.targets, wave.weights, LOSSES[loss], penalty, nystroem.whitening, intercept)
    settings = Settings(tolerance, 100, unit=wave.unit)
    sample = Sample(rows, wave.targets, wave.weights)
    return compiled_solve(task, sample, settings, np.random.default_rng(0)), rows.block @ nystroem.whitening


@each_loss
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_objective_of_the_compiled_solver(arrays, loss, weighted):
    wave = Wave(loss, weighted=weighted)
    found, _, _ = on_device(arrays, wave, loss)
    expected, _ = compiled(wave, loss)
    np.testing.assert_allclose(found.objectives, expected.objectives, rtol=1e-4)


@each_loss
@pytest.mark.parametrize("intercept", [False, True], ids=["through zero", "intercept"])
def test_objective_and_bound_by_the_oracle(arrays, loss, intercept):
    """What is told is the objective of the coefficients, and the optimum is between it and the bound."""
    wave, C = Wave(loss, n_rows=600), 2.0
    found, weights, intercepts = on_device(arrays, wave, loss, C=C, intercept=intercept)
    assert (intercepts[0] != 0) == intercept
    K = np.exp(-0.5 * np.square(wave.X[:, None].astype(np.float64) - wave.X[None, :N_LANDMARKS]).sum(axis=2))
    # features with the kernel as inner product, in which the oracle thinks
    values, vectors = np.linalg.eigh(K[:N_LANDMARKS])
    V, w = K @ vectors / np.sqrt(values), np.sqrt(values) * (weights[0] @ vectors)
    penalty = 1.0 / (C * 600)
    told = objective(V, wave.targets[0], wave.weights, w, intercepts[0], penalty, loss, EPSILON)
    assert found.objectives[0] == pytest.approx(told, rel=1e-4)
    best = optimum(V, wave.targets[0], wave.weights, penalty, loss, intercept, EPSILON)
    assert found.bounds[0] <= best.value * (1 + 1e-5)
    assert found.bounds[0] >= 0.97 * best.value
    assert best.value * (1 - 1e-5) <= found.objectives[0] <= best.value * (1 + 1e-3)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_several_outputs(arrays, loss):
    wave = Wave(loss, n_outputs=4)
    found, _, _ = on_device(arrays, wave, loss, tolerance=1e-5)
    expected, _ = compiled(wave, loss, tolerance=1e-5)
    assert found.objectives.shape == found.bounds.shape == (4,)
    np.testing.assert_allclose(found.objectives, expected.objectives, rtol=1e-3)
    assert found.objectives.sum() == pytest.approx(expected.objectives.sum(), rel=1e-4)
    assert (found.bounds <= np.minimum(found.objectives, expected.objectives * (1 + 1e-6))).all()


@pytest.mark.parametrize("dtype", ["tf32", "float16"])
def test_fewer_bits(arrays, dtype):
    wave = Wave()
    found, _, _ = on_device(arrays, wave, "hinge", dtype=dtype)
    expected, _, _ = on_device(arrays, wave, "hinge")
    assert found.objectives[0] == pytest.approx(expected.objectives[0], rel=1e-4 if dtype == "tf32" else 5e-3)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_features_that_are_computed_again(arrays, loss, monkeypatch):
    wave = Wave(loss)
    expected, _, _ = on_device(arrays, wave, loss)
    monkeypatch.setattr(training, "_FOR_FEATURES", 0.0)
    found, _, _ = on_device(arrays, wave, loss)
    assert found.objectives[0] == pytest.approx(expected.objectives[0], rel=2e-4)


def test_both_factors_give_the_same_decisions(arrays, monkeypatch):
    wave = Wave("squared_hinge")
    _, expected, _ = on_device(arrays, wave, "squared_hinge", tolerance=1e-7)
    monkeypatch.setattr(factors, "_MOST_EIGEN", 0)
    _, found, _ = on_device(arrays, wave, "squared_hinge", tolerance=1e-7)
    K = np.exp(-0.5 * np.square(wave.X[:, None] - wave.X[None, :N_LANDMARKS]).sum(axis=2))
    np.testing.assert_allclose(K @ found[0], K @ expected[0], atol=5e-3)


@each_loss
def test_bounds_hold_for_any_pulls(arrays, loss):
    """Whatever the pulls are, nothing is below their bound."""
    wave = Wave(loss, n_rows=300, weighted=True)
    Z = arrays.asarray(wave.X[:N_LANDMARKS])
    rows = Rows(None, wave.targets, wave.weights, lambda: iter((wave.X,)))
    made = new_training(
        arrays, kernel_map(arrays, KERNEL, Z), Z, rows, threshold=1e-7, rank=None, intercept=True, memory=2**26,
        dtype="float32", rng=np.random.default_rng(0),
    )  # fmt: skip
    problem = made.problem._replace(loss=LOSSES[loss], penalty=1 / 300)
    expected, _ = compiled(wave, loss)
    rng = np.random.default_rng(1)
    pulls = [scale * rng.normal(size=(1, 300)) for scale in (0.01, 0.1, 1.0)]
    bounds = [lower_bounds(problem, arrays.asarray(each.astype(np.float32)))[0] for each in pulls]
    assert max(bounds) <= expected.objectives[0]
    if "hinge" in loss:  # all towards the target: a bound that says something
        towards = arrays.asarray((0.3 * wave.targets).astype(np.float32))
        assert 0 < lower_bounds(problem, towards)[0] <= expected.objectives[0]
