"""Average gradient outer products against plain numpy, and gradients in it against differences of predictions."""

import numpy as np
import pytest

from frugalsvm.core.kernels import KERNELS, RBF
from frugalsvm.core.seen_rows import mapped
from frugalsvm.metric_learning.agop import agop, average_outer_product, leading_root
from frugalsvm.metric_learning.machine import Rows, median_distance
from tests.oracles import metric as oracle

GAMMA, RIDGE, N_ROWS = 0.7, 1e-3, 40
ALL = np.arange(N_ROWS)[None]
each_name = pytest.mark.parametrize("name", ["rbf", "matern12", "matern32", "matern52"])


def rows_of(n_outputs=1, n=N_ROWS, n_features=4):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, n_features))
    targets = np.sin(X @ rng.normal(size=(n_features, n_outputs)))
    return Rows(X, targets, rng.uniform(0.5, 2.0, n))


@each_name
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("A", [np.array([0.5, 0.4, 0.3, 0.2]), np.linspace(-1, 1, 12).reshape(3, 4)], ids=["1d", "2d"])
def test_products_are_those_of_the_oracle(name, n_outputs, A):
    rows = rows_of(n_outputs)
    found = average_outer_product(KERNELS[name](GAMMA), A, RIDGE, rows, ALL)
    matrix = np.diag(A) if A.ndim == 1 else A
    expected = oracle.average_outer_product(name, GAMMA, matrix, RIDGE, rows)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["rbf", "matern32", "matern52"])
def test_gradients_are_those_of_predictions(name):
    rows, A, step = rows_of(2), np.diag([0.5, 0.4, 0.3, 0.2]), 1e-5
    found = average_outer_product(KERNELS[name](GAMMA), A, RIDGE, rows, ALL)
    up, down = (
        np.stack([oracle.predictions(name, GAMMA, A, RIDGE, rows, rows.X + move) for move in moves])
        for moves in (step * np.eye(4), -step * np.eye(4))
    )
    gradients = (up - down) / (2 * step)  # feature, row, output
    expected = np.einsum("fno,gno,n->fg", gradients, gradients, rows.weights) / rows.weights.sum()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7 * np.abs(expected).max())


def test_a_direction_is_found_and_distances_stay():
    rng = np.random.default_rng(0)
    X, direction = rng.normal(size=(1500, 5)), np.array([1.0, -1.0, 1.0, 0.0, 0.0]) / np.sqrt(3)
    rows, A = Rows(X, np.sin(2 * X @ direction)[:, None], np.ones(1500)), np.full(5, 0.4)
    batches = np.arange(1500).reshape(5, 300)
    found = agop(RBF(1.0), A, 1e-5, rows, batches, np.random.default_rng(1))
    assert abs(np.linalg.svd(found)[2][0] @ direction) > 0.98
    before, after = (median_distance(RBF(1.0), mapped(X, each), np.random.default_rng(2)) for each in (A, found))
    assert after == pytest.approx(before, rel=0.1)


def test_batches_are_averaged():
    rows, A = rows_of(n=2 * N_ROWS), np.ones(4)
    rows = rows._replace(weights=np.ones(2 * N_ROWS))
    halves = np.arange(2 * N_ROWS).reshape(2, -1)
    found, first, second = (
        average_outer_product(RBF(GAMMA), A, RIDGE, rows, each) for each in (halves, halves[:1], halves[1:])
    )
    np.testing.assert_allclose(found, (first + second) / 2)


class TestRoots:
    def test_few_features_keep_all_directions(self):
        B = np.random.default_rng(0).normal(size=(6, 6))
        root = leading_root(B.T @ B)
        np.testing.assert_allclose(root.T @ root, B.T @ B)
        np.testing.assert_allclose(root, root.T)

    def test_many_features_keep_those_that_count(self):
        B = np.random.default_rng(0).normal(size=(3, 100))
        root = leading_root(B.T @ B + 1e-7 * np.eye(100))
        assert root.shape == (3, 100)
        np.testing.assert_allclose(root.T @ root, B.T @ B, atol=1e-5)

    def test_there_is_a_limit(self):
        assert leading_root(np.eye(100)).shape == (64, 100)
