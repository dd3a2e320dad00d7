"""The last pass of a regression comes close to the optimum on fixed support vectors, for every loss."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from frugalsvm.budgeted.post_pass import refitted
from frugalsvm.core.expansion import new_expansion
from frugalsvm.core.kernels import RBF
from frugalsvm.core.residuals import LOSSES, loss_of_residuals

GAMMA, N_VECTORS, EPSILON = 0.5, 25, 0.1


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(8000, 2))
    return X, (np.sin(2 * X[:, :1]) * X[:, 1:] + 0.3 * rng.normal(size=(8000, 1)))


def vectors_of(X, n_outputs=1, n_vectors=N_VECTORS):
    """A model with the first rows as vectors and coefficients of zero."""
    expansion = new_expansion(n_vectors, X.shape[1], n_outputs, np.float64)
    expansion.rows[:n_vectors] = X[:n_vectors]
    expansion.norms[:n_vectors] = np.square(X[:n_vectors]).sum(axis=1)
    expansion.counts[0]["n_slots"] = n_vectors
    return expansion


def kernel_matrix(A, B):
    return np.exp(-GAMMA * np.square(A[:, None] - B).sum(axis=2))


def refit(loss, X, y, weights=None, quantile=0.5, n_passes=1, vectors=None):
    part = loss_of_residuals(loss, [EPSILON], [quantile])
    expansion = vectors_of(X) if vectors is None else vectors
    return refitted(RBF(GAMMA), part, expansion, X, y, weights, np.random.default_rng(0), n_passes)


def test_squared_errors_are_those_of_the_ridge_solution(rows):
    X, y = rows
    K, G = kernel_matrix(X, X[:N_VECTORS]), kernel_matrix(X[:N_VECTORS], X[:N_VECTORS])
    best = np.linalg.solve(K.T @ K + 0.1 * G, K.T @ y)
    least = np.mean(np.square(y - K @ best))
    assert np.mean(np.square(y - K @ refit("squared", X, y))) < 1.01 * least


@pytest.mark.parametrize("quantile", [0.05, 0.5, 0.9])
def test_as_many_rows_are_below_a_quantile_as_it_says(rows, quantile):
    X, y = rows
    predicted = kernel_matrix(X, X[:N_VECTORS]) @ refit("pinball", X, y, quantile=quantile, n_passes=4)
    assert np.mean(y <= predicted) == pytest.approx(quantile, abs=0.012)


@pytest.mark.parametrize("loss", LOSSES)
def test_an_outlier_with_a_vector_of_its_own_does_no_harm(rows, loss):
    """The second moment knows hardly anything of the vector: a full step of the block with the row would overshoot."""
    X, y = rows[0].copy(), rows[1].copy()
    X[0], y[0] = 50.0, 100.0
    coef = refit(loss, X, y)
    assert abs(coef[0, 0]) <= 110.0
    inside = slice(1, None)
    error = np.sqrt(np.mean(np.square(y - kernel_matrix(X, X[:N_VECTORS]) @ coef)[inside]))
    assert error < 0.36


def test_weights_and_sparse_rows(rows):
    X, y = rows
    wrong, weights = y.copy(), np.ones(len(y))
    wrong[::3], weights[::3] = 99.0, 0.0
    coef = refit("squared", X, wrong, weights)
    assert np.sqrt(np.mean(np.square(y - kernel_matrix(X, X[:N_VECTORS]) @ coef))) < 0.36
    sparse = refitted(
        RBF(GAMMA), loss_of_residuals("squared", [0.0], [0.5]), vectors_of(X), csr_matrix(X), wrong, weights,
        np.random.default_rng(0),
    )  # fmt: skip
    np.testing.assert_allclose(sparse, coef, atol=1e-8)


@pytest.mark.parametrize("n_rows", [1, 3, 30])
def test_few_rows(rows, n_rows):
    X, y = rows
    coef = refit("squared", X[:n_rows], y[:n_rows], vectors=vectors_of(X, n_vectors=5))
    assert np.isfinite(coef).all()
    error = np.mean(np.square(y[:n_rows] - kernel_matrix(X[:n_rows], X[:5]) @ coef))
    assert error < np.mean(np.square(y[:n_rows]))


def test_a_model_without_vectors_stays_empty(rows):
    X, y = rows
    assert refit("squared", X, y, vectors=new_expansion(4, 2, 1, np.float64)).shape == (0, 1)
