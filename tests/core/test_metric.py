"""Rows in a metric, and back."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from frugalsvm.compiling.threads import Threads
from frugalsvm.core import seen_rows as module
from frugalsvm.core.seen_rows import Directions, Factors, in_metric, new_metric, out_of_metric

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 4)) + 1e4
CENTER, SCALES = X.mean(axis=0), np.ones(4)
FACTORS, MATRIX = np.array([2.0, 0.5, 0.0, 1.0]), RNG.normal(size=(3, 4))


@pytest.mark.parametrize("A", [FACTORS, MATRIX, RNG.normal(size=(4, 4))], ids=["factors", "low-rank", "matrix"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_centered_and_mapped_in_float64(A, dtype, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK_VALUES", 40)  # several blocks
    metric = new_metric(A, CENTER, SCALES)
    rows = in_metric(X.astype(np.float64), metric, dtype)
    expected = (X - CENTER) * A if A.ndim == 1 else (X - CENTER) @ A.T
    assert rows.dtype == dtype
    np.testing.assert_allclose(rows, expected, rtol=1e-6 if dtype == np.float32 else 1e-12)
    np.testing.assert_array_equal(in_metric(X, metric, dtype, threads=Threads(3)), rows)


def test_rows_may_be_written_where_they_were(monkeypatch):
    monkeypatch.setattr(module, "_BLOCK_VALUES", 40)
    rows, metric = X.copy(), new_metric(FACTORS, CENTER, SCALES)
    assert in_metric(rows, metric, np.float64, out=rows) is rows
    np.testing.assert_array_equal(rows, in_metric(X, metric, np.float64))
    assert in_metric(X, metric, np.float32, out=rows) is not rows


@pytest.mark.parametrize("A", [FACTORS, MATRIX], ids=["factors", "matrix"])
@pytest.mark.parametrize("center", [np.zeros(4), CENTER], ids=["at zero", "elsewhere"])
def test_sparse_rows_are_mapped_like_dense_ones(A, center):
    dense = np.where(RNG.random((20, 4)) < 0.5, 0.0, RNG.normal(size=(20, 4)))
    metric = new_metric(A, center, SCALES)
    rows = in_metric(csr_matrix(dense), metric, np.float64)
    stays_sparse = isinstance(metric, Factors) and not center.any()
    assert hasattr(rows, "toarray") == stays_sparse
    np.testing.assert_allclose(
        rows.toarray() if stays_sparse else rows, in_metric(dense, metric, np.float64), atol=1e-11
    )


@pytest.mark.parametrize("A", [FACTORS, MATRIX], ids=["factors", "matrix"])
def test_rows_come_back_as_ones_that_the_kernel_cannot_tell_apart(A):
    metric = new_metric(A, CENTER, SCALES)
    rows = in_metric(X, metric, np.float64)
    np.testing.assert_allclose(in_metric(out_of_metric(rows, metric), metric, np.float64), rows, atol=1e-9)


def test_width_is_that_of_what_the_kernel_sees():
    assert (new_metric(FACTORS, CENTER, SCALES).width, new_metric(MATRIX, CENTER, SCALES).width) == (4, 3)
    assert isinstance(new_metric(MATRIX, CENTER, SCALES), Directions)
