"""Preconditioners: on all rows, they are the inverse of the Hessian."""

from types import SimpleNamespace

import numpy as np
import pytest

from frugalsvm.lowrank.backends import torch as preconditioner
from frugalsvm.lowrank.backends.torch import OPTIONS, Preconditioner, Torch
from frugalsvm.lowrank.whitening import NoWhitening

N_ROWS, N_FEATURES, PENALTY = 300, 7, 1e-3


class Case:
    """Rows with weights of their own for each output."""

    def __init__(self, arrays, n_outputs, intercept):
        rng = np.random.default_rng(0)
        self.rows = rng.normal(size=(N_ROWS, N_FEATURES))
        self.weights = rng.random((n_outputs, N_ROWS)) / N_ROWS
        self.intercept, self.arrays = intercept, arrays
        self.problem = SimpleNamespace(
            arrays=arrays, backend=Torch(arrays), whitening=NoWhitening(N_FEATURES), n_features=N_FEATURES,
            penalty=PENALTY, intercept=intercept,
        )  # fmt: skip

    def made(self):
        rows, weights = (self.arrays.asarray(each, "float32") for each in (self.rows, self.weights))
        hessian = SimpleNamespace(problem=self.problem, rows=rows, weights=weights)
        return Preconditioner(hessian, OPTIONS._replace(several=1), None)

    def hessian(self, weights):
        rows = np.column_stack([self.rows, np.ones(N_ROWS)])
        matrix = rows.T @ (weights[:, None] * rows)
        matrix[:-1, :-1] += PENALTY * np.eye(N_FEATURES)
        if not self.intercept:
            matrix[-1], matrix[:, -1], matrix[-1, -1] = 0, 0, np.inf
        return matrix


@pytest.fixture(params=["whole", "by parts"])
def form(request, monkeypatch):
    monkeypatch.setattr(preconditioner, "_WHOLE", 10**6 if request.param == "whole" else 0)


@pytest.mark.parametrize("intercept", [False, True], ids=["through zero", "intercept"])
@pytest.mark.parametrize("own", [False, True], ids=["shared", "own"])
@pytest.mark.usefixtures("form")
def test_inverse_of_the_hessian(arrays, monkeypatch, own, intercept):
    monkeypatch.setattr(preconditioner, "_OWN_NUMBERS", 10**6 if own else 0)
    monkeypatch.setattr(preconditioner, "_OWN_ROWS", N_ROWS)
    monkeypatch.setattr(preconditioner, "_ROWS_EACH", ((100, N_ROWS),))
    case = Case(arrays, 3, intercept)
    made = case.made()
    assert made.is_own == own
    vectors = np.random.default_rng(1).normal(size=(3, N_FEATURES + 1))
    found = arrays.host(made.solve(arrays.asarray(vectors, "float32")))
    assert (found[:, -1] != 0).all() == intercept
    for output in range(3):
        matrix = case.hessian(case.weights[output] if own else case.weights.mean(axis=0))
        size = N_FEATURES + intercept
        expected = np.linalg.solve(matrix[:size, :size], vectors[output, :size])
        np.testing.assert_allclose(found[output, :size], expected, rtol=2e-3, atol=1e-3)


def test_fewer_rows_weigh_as_much(arrays, monkeypatch):
    """With a third of the rows, the sums of weights are the same, and so are matrices, about."""
    monkeypatch.setattr(preconditioner, "_ROWS_EACH", ((100, N_ROWS // 3 // (N_FEATURES + 1)),))
    case = Case(arrays, 1, True)
    vectors = arrays.asarray(np.eye(N_FEATURES + 1)[:1], "float32")
    whole = np.linalg.inv(case.hessian(case.weights[0]))[0]
    assert np.abs(arrays.host(case.made().solve(vectors))[0] - whole).max() < 0.3 * np.abs(whole).max()


def test_a_singular_matrix_is_made_regular(arrays):
    case = Case(arrays, 1, True)
    case.rows[:, 1:] = case.rows[:, :1]
    case.problem.penalty = 0.0
    vectors = arrays.asarray(np.ones((1, N_FEATURES + 1)), "float32")
    assert np.isfinite(arrays.host(case.made().solve(vectors))).all()
