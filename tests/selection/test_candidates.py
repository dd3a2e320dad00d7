"""Candidates: widths of kernels, and rows as kernels see them."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from frugalsvm.selection.task import Candidate, gamma_for, new_view, similar_gamma

KERNELS = ("rbf", "laplacian", "matern12", "matern32")


def mean_value(kernel, gamma, X):
    """Of kernel values between rows."""
    squares = np.square(X[:100, None] - X[None, 100:200]).sum(axis=2)
    s = np.sqrt(gamma * squares)
    if kernel == "laplacian":
        return np.exp(-gamma * np.abs(X[:100, None] - X[None, 100:200]).sum(axis=2)).mean()
    if kernel == "matern32":
        return ((1 + np.sqrt(3) * s) * np.exp(-np.sqrt(3) * s)).mean()
    return np.exp(-gamma * squares).mean() if kernel == "rbf" else np.exp(-s).mean()


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_begin_with_middling_values(kernel):
    X = 50.0 * np.random.default_rng(0).normal(size=(400, 6))
    assert 0.2 < mean_value(kernel, gamma_for(kernel, X, np.random.default_rng(0)), X) < 0.8


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("other", KERNELS)
def test_similar_kernels_have_middling_values_together(kernel, other):
    X = 50.0 * np.random.default_rng(0).normal(size=(400, 6))
    candidate = Candidate("scaled", kernel, gamma_for(kernel, X, np.random.default_rng(0)))
    assert 0.2 < mean_value(other, similar_gamma(candidate, other, 6), X) < 0.8
    assert similar_gamma(candidate, kernel, 6) == pytest.approx(candidate.gamma)


def test_a_factor_is_of_squared_distances():
    assert Candidate("scaled", "rbf", 3.0).narrower(4.0).gamma == 12.0
    assert Candidate("scaled", "laplacian", 3.0).narrower(4.0).gamma == 6.0
    assert Candidate("scaled", "matern12", 3.0).narrower(0.25).gamma == 0.75


def test_views_take_rows_in_a_metric():
    X = np.arange(12.0).reshape(4, 3)
    view = new_view("scaled", X.__getitem__)._replace(metric=np.array([1.0, 0.0, 2.0]))
    assert np.diff(view.take([0, 2]), axis=0).tolist() == [[6.0, 0.0, 12.0]]
    sparse = new_view("scaled", csr_matrix(X).__getitem__)._replace(metric=np.array([1.0, 0.0, 2.0]))
    assert sparse.take([1]).toarray().tolist() == [[3.0, 0.0, 10.0]]


def test_columns_of_zeros_are_left_out_of_arrays():
    X = np.zeros((3, 1_000_000 // 8))
    X[0, 7], X[1, 70_000] = 2.0, 3.0
    view = new_view("scaled", csr_matrix(X).__getitem__)
    assert view.dense([0, 1]).tolist() == [[0.0, 2.0, 0.0], [0.0, 0.0, 3.0]]  # with one of them, if there is none else
    assert view.dense([2]).tolist() == [[0.0]]
