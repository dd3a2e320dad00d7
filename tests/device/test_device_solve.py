"""The solver on a device against the compiled one: the same objectives, and bounds that hold."""

import numpy as np
import pytest
from device_support import EPSILON, LOSSES, Wave
from oracles.low_rank import objective, optimum

from frugalsvm.core.kernels import RBF
from frugalsvm.lowrank import whitening
from frugalsvm.lowrank.backends import torch as torch_backend
from frugalsvm.lowrank.backends.compiled import stored_rows
from frugalsvm.lowrank.backends.torch import TorchStorage
from frugalsvm.lowrank.continuation import solve
from frugalsvm.lowrank.duality import lower_bounds
from frugalsvm.lowrank.nystroem import bare_nystroem, new_nystroem
from frugalsvm.lowrank.options import Options
from frugalsvm.lowrank.problem import Problem, Sample
from frugalsvm.lowrank.training import Data, new_training
from frugalsvm.lowrank.whitening import MatrixWhitening

KERNEL, N_LANDMARKS = RBF(0.5), 24
each_loss = pytest.mark.parametrize("loss", LOSSES)


def on_device(arrays, wave, loss, *, C=1.0, intercept=True, tolerance=1e-4, memory=2**26, dtype="float32"):
    """The solution, and the coefficients of kernel values."""
    storage, made = trained_on(arrays, wave, loss, intercept, memory, dtype, X=wave.X)
    problem = made.problem._replace(penalty=1.0 / (C * len(wave.X)))
    options = made.options._replace(tolerance=tolerance, max_iter=100, unit=wave.unit)
    solution = solve(problem, made.sample, options, np.random.default_rng(0))
    published = storage.published(solution.parameters)
    return solution, published[:, :-1], published[:, -1]


def trained_on(arrays, wave, loss, intercept=True, memory=2**26, dtype="float32", X=None):
    feature_map = bare_nystroem(KERNEL, wave.X[:N_LANDMARKS])
    storage = TorchStorage(arrays, feature_map, threshold=1e-7, rank=None, memory=memory, dtype=dtype)
    data = Data(lambda: iter((wave.X,)), X, wave.targets, wave.weights)
    return storage, new_training(storage, data, LOSSES[loss], intercept, 0.0, np.random.default_rng(0))


def compiled(wave, loss, *, C=1.0, intercept=True, tolerance=1e-4):
    nystroem = new_nystroem(KERNEL, wave.X[:N_LANDMARKS])
    rows = stored_rows(nystroem, wave.X, np.arange(len(wave.X)))
    penalty = 1.0 / (C * len(wave.X))
    matrix = MatrixWhitening(nystroem.whitening)
    problem = Problem(rows, wave.targets, wave.weights, LOSSES[loss], penalty, matrix, intercept)
    options = Options(tolerance, 100, unit=wave.unit)
    sample = Sample(rows, wave.targets, wave.weights)
    return solve(problem, sample, options, np.random.default_rng(0)), rows.block @ nystroem.whitening


@each_loss
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_objective_of_the_compiled_solver(arrays, loss, weighted):
    wave = Wave(loss, weighted=weighted)
    found, _, _ = on_device(arrays, wave, loss)
    expected, _ = compiled(wave, loss)
    np.testing.assert_allclose(found.objectives, expected.objectives, rtol=1e-4)


def test_many_rows_without_curvature_at_the_start(arrays):
    """From zero, hinge losses have no curvature: the first direction is too long by far."""
    wave = Wave("hinge")
    found, _, _ = on_device(arrays, wave, "hinge", C=1e3, tolerance=1e-2)
    expected, _ = compiled(wave, "hinge", C=1e3, tolerance=1e-2)
    np.testing.assert_allclose(found.objectives, expected.objectives, rtol=2e-2)


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
    monkeypatch.setattr(torch_backend, "_FOR_FEATURES", 0.0)
    found, _, _ = on_device(arrays, wave, loss)
    assert found.objectives[0] == pytest.approx(expected.objectives[0], rel=2e-4)


def test_both_factors_give_the_same_decisions(arrays, monkeypatch):
    wave = Wave("squared_hinge")
    _, expected, _ = on_device(arrays, wave, "squared_hinge", tolerance=1e-7)
    monkeypatch.setattr(whitening, "_MOST_EIGEN", 0)
    _, found, _ = on_device(arrays, wave, "squared_hinge", tolerance=1e-7)
    K = np.exp(-0.5 * np.square(wave.X[:, None] - wave.X[None, :N_LANDMARKS]).sum(axis=2))
    np.testing.assert_allclose(K @ found[0], K @ expected[0], atol=5e-3)


@each_loss
def test_bounds_hold_for_any_dual_variables(arrays, loss):
    """Whatever the dual variables are, nothing is below their bound."""
    wave = Wave(loss, n_rows=300, weighted=True)
    _, made = trained_on(arrays, wave, loss)
    problem = made.problem._replace(penalty=1 / 300)
    expected, _ = compiled(wave, loss)
    rng = np.random.default_rng(1)
    duals = [scale * rng.normal(size=(1, 300)) for scale in (0.01, 0.1, 1.0)]
    bounds = [lower_bounds(problem, arrays.asarray(each.astype(np.float32)))[0] for each in duals]
    assert max(bounds) <= expected.objectives[0]
    if "hinge" in loss:  # all towards the target: a bound that says something
        towards = arrays.asarray((0.3 * wave.targets).astype(np.float32))
        assert 0 < lower_bounds(problem, towards)[0] <= expected.objectives[0]
