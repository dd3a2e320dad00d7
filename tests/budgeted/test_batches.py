"""How a stream is cut into batches, and whether its rows are sparse, does not matter."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from support import Setting

from frugalsvm import datasets
from frugalsvm.core.expansion import coefficients
from frugalsvm.core.lookahead import BLOCK_ROWS

N_ROWS = 5000
SETTING = Setting("pegasos", "merge", 1, budget=60, alpha=1e-4)
GAMMAS = {"checkerboard": 8.0, "a9a": 0.05, "ijcnn1": 1.0}


@pytest.fixture(scope="module", params=["checkerboard", "a9a", "ijcnn1"])
def stream(request):
    """A setting, dense float32 rows and labels 0 and 1: few features, many that are mostly 0, and some."""
    name = request.param
    if name == "checkerboard":
        X, y = datasets.make_checkerboard(N_ROWS, random_state=0)
    else:
        data_home = request.getfixturevalue("shared_data")
        X, y = datasets.load(name, "train", data_home=data_home)
        X, y = np.ascontiguousarray(X[:N_ROWS]), y[:N_ROWS]
    assert X.dtype == np.float32
    return replace(SETTING, gamma=GAMMAS[name]), X, (y > 0).astype(np.int64)


@pytest.fixture(scope="module")
def at_once(stream):
    setting, X, labels = stream
    return setting.trained(X, labels)


def assert_same_history(model, reference):
    """The same examples were learned, and the same vectors merged with the same partners."""
    n = reference.counts[0]["n_slots"]
    assert n == SETTING.budget
    np.testing.assert_array_equal(model.counts, reference.counts)
    np.testing.assert_array_equal(model.births[:n], reference.births[:n])
    np.testing.assert_allclose(model.rows[:n], reference.rows[:n], atol=1e-4)


def assert_same_bits(model, reference):
    n = reference.counts[0]["n_slots"]
    np.testing.assert_array_equal(model.counts, reference.counts)
    np.testing.assert_array_equal(model.rows[:n], reference.rows[:n])
    np.testing.assert_array_equal(coefficients(model), coefficients(reference))


def assert_same_decisions(setting, model, reference, X):
    expected = setting.decisions(reference, X[:1000])
    size = np.abs(expected).max()
    np.testing.assert_allclose(setting.decisions(model, X[:1000]) / size, expected / size, atol=1e-4)


@pytest.mark.parametrize("batch_rows", [1, 7, 1000])
def test_any_batches(stream, at_once, batch_rows):
    setting, X, labels = stream
    model = setting.trained_in_batches(X, labels, batch_rows)
    assert_same_history(model, at_once)
    assert_same_decisions(setting, model, at_once, X)


@pytest.mark.parametrize("batch_rows", [BLOCK_ROWS, 10 * BLOCK_ROWS])
def test_batches_of_whole_blocks_change_no_bit(stream, at_once, batch_rows):
    setting, X, labels = stream
    assert_same_bits(setting.trained_in_batches(X, labels, batch_rows), at_once)


@pytest.mark.parametrize("batch_rows", [N_ROWS, 123])
def test_same_batches_again_change_no_bit(stream, batch_rows):
    setting, X, labels = stream
    models = [setting.trained_in_batches(X, labels, batch_rows) for _ in range(2)]
    assert_same_bits(*models)


@pytest.mark.parametrize("batch_rows", [N_ROWS, 7])
def test_sparse_rows(stream, at_once, batch_rows):
    setting, X, labels = stream
    sparse = scipy.sparse.csr_matrix(X)
    model = setting.trained_in_batches(sparse, labels, batch_rows)
    assert_same_history(model, at_once)
    assert_same_decisions(setting, model, at_once, X)
    # and prediction from sparse rows
    dense = setting.decisions(model, X[:1000])
    np.testing.assert_allclose(setting.decisions(model, sparse[:1000]), dense, atol=1e-4 * np.abs(dense).max())


def test_sparse_batches_change_no_bit(stream):
    """Sparse products are not computed ahead: no rounding depends on the batches."""
    setting, X, labels = stream
    sparse = scipy.sparse.csr_matrix(X)
    whole = setting.trained(sparse, labels)
    assert_same_bits(setting.trained_in_batches(sparse, labels, 77), whole)
