"""Rows of features: stored, computed when they are needed, and whitened."""

import numpy as np
import pytest
from newton_support import Case, each_loss
from oracles.low_rank import objective, optimum
from scipy.sparse import csr_array

from frugalsvm.core.kernels import RBF, Poly
from frugalsvm.lowrank.backends.compiled import (
    BLOCK_ROWS,
    CompiledStorage,
    ComputedRows,
    StoredRows,
    stored_rows,
)
from frugalsvm.lowrank.continuation import solve
from frugalsvm.lowrank.fourier import new_fourier
from frugalsvm.lowrank.losses import Hinge
from frugalsvm.lowrank.nystroem import new_nystroem
from frugalsvm.lowrank.options import Options
from frugalsvm.lowrank.problem import Sample
from frugalsvm.lowrank.training import Data, new_training
from frugalsvm.lowrank.whitening import NoWhitening


class TestWhitening:
    @each_loss
    def test_whitened_rows_are_the_same_task(self, loss):
        problem = Case(loss, 1000, 40)
        task = problem.task(1.0)
        white = stored_rows(problem.map, problem.X, np.arange(1000), problem.map.whitening)
        np.testing.assert_allclose(white.block, problem.V, atol=2e-3)
        narrow = task._replace(rows=white, whitening=NoWhitening(white.width))
        best = problem.optimum(task).value
        for each in (task, narrow):
            found = problem.solve(each)
            assert problem.objective(task, found.parameters) <= best * (1 + 3e-3)
            assert found.bounds[0] <= best * (1 + 1e-3)

    def test_narrow_maps_are_whitened_at_once(self):
        problem = Case("hinge", 1000, 40)
        data = Data(lambda: iter((problem.X,)), problem.X, problem.targets, problem.weights)
        for rank, narrow in ((13, True), (14, False)):
            feature_map = new_nystroem(RBF(0.5), problem.X[:40], rank=rank)
            training = new_training(
                CompiledStorage(feature_map, 1e9), data, Hinge(), True, 0.0, np.random.default_rng(0)
            )
            assert isinstance(training.problem.whitening, NoWhitening) == narrow
            assert training.problem.rows.width == (rank if narrow else 40)
            task = training.problem._replace(penalty=1e-3)
            found = solve(task, training.sample, Options(), np.random.default_rng(0))
            V = (problem.rows.block @ feature_map.whitening).astype(np.float64)
            best = optimum(V, problem.targets[0], problem.weights, 1e-3, "hinge", True).value
            w, b = found.parameters[0, :-1], found.parameters[0, -1]
            reached = objective(V, problem.targets[0], problem.weights, w, b, 1e-3, "hinge")
            assert best * (1 - 1e-5) <= reached <= best * (1 + 3e-3)

    @pytest.mark.parametrize("memory", [1e9, 1e4], ids=["in memory", "beyond"])
    def test_held_rows_are_not_learned(self, memory):
        problem = Case("hinge", 1000, 20)
        weights = np.arange(1, 1001, dtype=np.float32)  # as names of the rows
        data = Data(lambda: iter((problem.X,)), problem.X, problem.targets, weights)
        training = new_training(
            CompiledStorage(problem.map, memory), data, Hinge(), True, 0.1, np.random.default_rng(0)
        )
        held = set(training.validation.weights)
        assert len(held) == (100 if memory > 1e5 else 15)
        assert not held & set(training.problem.weights)
        assert not held & set(training.sample.weights)
        assert set(training.whole.weights) == set(weights)
        assert len(set(training.problem.weights) - {0}) == 1000 - len(held)
        for part in (training.validation, training.sample):
            places = part.weights.astype(int) - 1
            np.testing.assert_allclose(part.rows.block, problem.rows.block[places], atol=1e-6)
            np.testing.assert_array_equal(part.targets, problem.targets[:, places])


MAPS = {
    "rbf": lambda X: new_nystroem(RBF(0.3), X[:17]),
    "poly": lambda X: new_nystroem(Poly(0.5, 1.0, 2), X[:17]),
    "fourier": lambda X: new_fourier(X.shape[1], 19, 0.3, np.random.default_rng(0), False),
    "structured": lambda X: new_fourier(X.shape[1], 19, 0.3, np.random.default_rng(0), True),
}


class TestRows:
    @pytest.mark.parametrize("kind", MAPS)
    @pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
    @pytest.mark.parametrize("sizes", [(5000,), (1, 4999), (777, 4097, 126)], ids=str)
    @pytest.mark.parametrize("n_outputs", [1, 3])
    def test_computed_rows_are_stored_rows(self, kind, sparse, sizes, n_outputs):
        assert sum(sizes) == 5000 > BLOCK_ROWS
        rng = np.random.default_rng(0)
        X = rng.normal(size=(5000, 4)) * (rng.random((5000, 4)) < 0.6)
        feature_map = MAPS[kind](X)
        parts = np.split(X, np.cumsum(sizes)[:-1])
        blocks = [csr_array(part) for part in parts] if sparse else parts
        stored = stored_rows(feature_map, X, np.arange(5000))
        computed = ComputedRows(feature_map, lambda: iter(blocks), 5000)
        assert (computed.n_rows, computed.width) == (stored.n_rows, stored.width)

        coefficients = rng.normal(size=(n_outputs, stored.width))
        scores = [stored.scores(coefficients), computed.scores(coefficients)]
        scale = np.abs(scores[0]).max()
        np.testing.assert_allclose(scores[0], coefficients @ stored.block.T, atol=1e-5 * scale)
        np.testing.assert_allclose(scores[1], scores[0], atol=1e-5 * scale)

        for share in (0.0, 0.1, 0.9):
            weights = (rng.normal(size=(n_outputs, 5000)) * (rng.random(5000) < share)).astype(np.float32)
            exact = weights.astype(np.float64) @ stored.block.astype(np.float64)
            for rows in (stored, computed):
                np.testing.assert_allclose(rows.gradient(weights), exact, rtol=1e-4, atol=1e-3 * np.abs(X).max())

        for index in (np.array([0, 4095, 4096, 4999]), np.arange(0, 5000, 7), np.array([], int)):
            np.testing.assert_allclose(computed.take(index), stored.take(index), rtol=1e-5, atol=1e-5)
            np.testing.assert_array_equal(stored.take(index), stored.block[index])

    def test_order_and_given_memory(self):
        problem = Case("hinge", 5000, 20)
        order = np.random.default_rng(0).permutation(5000)
        memory = np.empty(5000 * 20 + 5, np.float32)
        rows = stored_rows(problem.map, problem.X, order, out=memory)
        assert np.shares_memory(rows.block, memory)
        np.testing.assert_allclose(rows.block, problem.rows.block[order], atol=1e-6)
        assert not np.shares_memory(stored_rows(problem.map, problem.X, order, out=memory[:10]).block, memory)
        head = rows.subsample(7)
        assert head.n_rows == 7
        np.testing.assert_array_equal(head.block, rows.block[:7])

    def test_solving_on_computed_rows(self):
        problem = Case("hinge", 1000, 20)
        task = problem.task()
        rows = ComputedRows(problem.map, lambda: iter(np.array_split(problem.X, 7)), 1000)
        sample = Sample(StoredRows(problem.rows.block[:400]), task.targets[:, :400], task.weights[:400])
        found = solve(task._replace(rows=rows), sample, Options(), np.random.default_rng(0))
        best = problem.optimum(task).value
        assert best * (1 - 1e-6) <= problem.objective(task, found.parameters) <= best * (1 + 3e-3)
